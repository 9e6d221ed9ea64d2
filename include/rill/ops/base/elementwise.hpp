// What all elementwise operations share: from `apply`, written once, to tile functions, inference and kernel.
#pragma once
#include <array>
#include <string_view>
#include <utility>

#include "rill/dsl/expr.hpp"
#include "rill/ops/base/kernels.hpp"
#include "rill/program/program.hpp"

#if RILL_DEFINITIONS || RILL_RUNTIME
#include "rill/ops/base/program_kernel.hpp"
#endif
#if RILL_KERNELS
#include "rill/program/scalar.hpp"
#endif

namespace rill {

/// Tile functions by the element type of the last operand; and those that compute what follows in the same pass.
struct tile_table {
  std::array<tile_function, dtype_count> tile{}, joined{};
};

namespace detail {

/// An operation that names another, `then`, which often takes its result: z = x * y + …, tanh(x) * …
template <class Op>
concept leads_to_another = requires { typename Op::then; };

/// Both in one pass, for float and double. Nothing is contracted: the bits are those of two passes.
template <leads_to_another Op> struct in_one_pass {
  static_assert(Op::then::commutes, "either operand may be the one that was computed before");
  static constexpr std::int8_t arity = Op::arity + 1;
  static constexpr dtypes elements = dtypes{dtype::float32} | dtype::float64;
  template <class S> static S apply(S x, S more) { return Op::then::apply(Op::apply(x), more); }
  template <class S> static S apply(S x, S y, S more) { return Op::then::apply(Op::apply(x, y), more); }
};

}  // namespace detail

#if RILL_KERNELS
namespace kernels {

// Operand I of Op for lanes of type Lane: a mask where the operation takes a bool beside numbers.
template <class Op, class Lane, std::size_t I>
[[gnu::always_inline]] inline auto operand(void const* from, std::size_t at, std::size_t n) {
  if constexpr (requires { requires Op::takes_mask(I); }) {
    using Mask = decltype(Lane{} == Lane{});
    auto const* p = static_cast<bool const*>(from) + at;
    return n == Lane::lanes ? Mask::load(p) : Mask::load(p, n);
  } else {
    auto const* p = static_cast<typename Lane::element const*>(from) + at;
    return n == Lane::lanes ? Lane::load(p) : Lane::load(p, n);
  }
}

template <class Op, class Lane, std::size_t... I>
[[gnu::always_inline]] inline void lanes(void* result, void const* const* operands, std::size_t at, std::size_t n,
                                         std::index_sequence<I...>) {
  auto const y = Op::apply(operand<Op, Lane, I>(operands[I], at, n)...);
  using Result = std::remove_const_t<decltype(y)>;
  auto* to = static_cast<typename Result::element*>(result) + at;
  if (n == Lane::lanes) y.store(to);
  else y.store(to, n);
}

/// The contiguous loop of an elementwise operation over elements of type T. A rest shorter than a packet is computed as
/// a whole packet, so that an element's bits don't depend on its place.
template <class Op, class T> void tile(void* result, void const* const* operands, std::size_t n) {
  using Lane = lane_type_t<T>;
  constexpr auto arity = static_cast<std::size_t>(Op::arity);
  constexpr auto each = std::make_index_sequence<arity>{};
  if (n == 1) return lanes<Op, Lane>(result, operands, 0, 1, each);  // a length that the compiler knows: no loops
  void const* from[arity];  // in registers: what is stored might lie among the operands' addresses
  for (std::size_t i = 0; i < arity; ++i) from[i] = operands[i];
  std::size_t at = 0;
  for (; at + Lane::lanes <= n; at += Lane::lanes) lanes<Op, Lane>(result, from, at, Lane::lanes, each);
  if (at < n) lanes<Op, Lane>(result, from, at, n - at, each);
}

template <class Op, dtypes Set> constexpr tile_table tiles() {
  tile_table table;
  [&]<std::size_t... D>(std::index_sequence<D...>) {
    auto const add = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      if constexpr (constexpr auto d = static_cast<dtype>(I); (Op::elements & Set).contains(d) && d != dtype::string)
        table.tile[I] = tile<Op, element_of<d>>;
      if constexpr (rill::detail::leads_to_another<Op>)
        if constexpr (constexpr auto d = static_cast<dtype>(I);
                      (rill::detail::in_one_pass<Op>::elements & Set).contains(d))
          table.joined[I] = tile<rill::detail::in_one_pass<Op>, element_of<d>>;
    };
    (add(std::integral_constant<std::size_t, D>{}), ...);
  }(std::make_index_sequence<dtype_count>{});
  return table;
}

}  // namespace kernels
#endif

#if RILL_DEFINITIONS
namespace detail {

template <class Op> dtype result_of(dtype const* operands, dtype) {
  if constexpr (requires { Op::result; }) return Op::result;
  else return operands[Op::arity - 1];
}
template <class Op> tile_function tile_of(dtype const* operands, dtype result) {
  for (std::size_t k = 0; k < static_cast<std::size_t>(Op::arity); ++k) {
    dtype wanted = operands[Op::arity - 1];
    if constexpr (requires { Op::takes_mask(k); })
      if (Op::takes_mask(k)) wanted = dtype::boolean;
    if (operands[k] != wanted) return nullptr;
  }
  if (result != result_of<Op>(operands, result)) return nullptr;
  dtype const element = operands[Op::arity - 1];
  return kernels_of<Op>(element).tile[static_cast<std::size_t>(element)];
}

template <class Op> tile_function joined_of(dtype element) {
  return kernels_of<Op>(element).joined[static_cast<std::size_t>(element)];
}

template <class Op> constexpr scalar_function make_function() {
  scalar_function f{Op::name, static_cast<std::uint8_t>(Op::arity), result_of<Op>, tile_of<Op>, {}};
  if constexpr (requires { Op::cuda; }) f.cuda = Op::cuda;
  f.operation = &defined<Op>;
  if constexpr (leads_to_another<Op>) f.then = Op::then::name, f.joined = joined_of<Op>;
  return f;
}
template <class Op> inline constexpr scalar_function function_of = make_function<Op>();

}  // namespace detail
#endif

/// The rules that elementwise operations share. `Op` names `elements` (the types it takes) and `apply`, generic over
/// packets, scalars and symbols; operands have one element type and broadcast.
template <class Op, std::int8_t Arity> struct elementwise {
  static constexpr std::int8_t arity = Arity;
  static constexpr double flops = 1;
  using kernels = tile_table;

  static constexpr type infer(no_attributes, type const& x, checks expects = {})
    requires(Arity == 1)
  {
    expects(Op::elements.contains(x.element), "the operation does not take this element type");
    return x;
  }
  static constexpr type infer(no_attributes, type const& x, type const& y, checks expects = {})
    requires(Arity == 2)
  {
    expects(x.element == y.element, "the operands have different element types; cast one of them");
    expects(Op::elements.contains(x.element), "the operation does not take this element type");
    return broadcast(x, y, expects);
  }
#if RILL_KERNELS
  template <dtypes Set> static constexpr tile_table make_kernels() { return rill::kernels::tiles<Op, Set>(); }
#endif
#if RILL_DEFINITIONS
  static constexpr scalar_function const& function() { return detail::function_of<Op>; }
  static kernel cpu(kernel_request const& r) { return detail::make_kernel(detail::function_of<Op>, r); }
#endif
};

}  // namespace rill
