// What all elementwise operations share: tile functions, inference and kernel, all from one function `apply`.
#pragma once
#include <array>
#include <string_view>
#include <utility>

#include "rill/dsl/expr.hpp"
#include "rill/ops/base/kernels.hpp"
#include "rill/program/formula.hpp"
#include "rill/program/program.hpp"

#include "rill/ops/base/program_kernel.hpp"
#include "rill/ops/base/tile_table.hpp"

#if RILL_KERNELS
#include "rill/ops/base/elementwise_kernels.hpp"
#endif

namespace rill {

namespace detail {

template <class Op> dtype result_of(dtype const* operands, dtype) {
  if constexpr (requires { Op::result; }) return Op::result;
  else if constexpr (requires { Op::result_of(dtype{}); }) return Op::result_of(operands[Op::arity - 1]);
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

/// Whether `apply` can be traced: by default true for rill's operations and false for a user's.
template <class Op> constexpr bool has_formula() {
  if constexpr (requires { Op::has_formula; }) return Op::has_formula;
  else return in_library<Op>;
}
template <class Op> std::string formula_of(std::string_view const* operands) {
  return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return Op::apply(formula(operands[Index])...).text();
  }(std::make_index_sequence<static_cast<std::size_t>(Op::arity)>{});
}

template <class Op> constexpr scalar_function make_function() {
  scalar_function f{Op::name, static_cast<std::uint8_t>(Op::arity), result_of<Op>, tile_of<Op>};
  if constexpr (has_formula<Op>()) f.formula = formula_of<Op>;
  f.operation = &defined<Op>;
  if constexpr (leads_to_another<Op>) f.then = Op::then::name, f.joined = joined_of<Op>;
  return f;
}
template <class Op> inline constexpr scalar_function function_of = make_function<Op>();

// Whether this translation unit defines an operation: one of rill::compiled is defined in the library, a user's own
// operation here.
#if RILL_DEFINITIONS
template <class Op>
concept defined_here = true;
#else
template <class Op>
concept defined_here = !in_library<Op>;
#endif
#if RILL_KERNELS
template <class Op>
concept makes_kernels_here = true;
#else
template <class Op>
concept makes_kernels_here = !in_library<Op>;
#endif

}  // namespace detail

/// The rules that elementwise operations share. `Op` names `elements` (the types it takes) and `apply`, generic over
/// packets, scalars and symbols; operands have one element type and broadcast. An operation of a user's whose `apply`
/// is generic over formulas too (formula.hpp), because it only calls functions of numbers and does not depend on
/// their type, says `has_formula = true`.
template <class Op, std::int8_t Arity> struct elementwise {
  static constexpr std::int8_t arity = Arity;
  static constexpr double flops = 1;
  static constexpr bool wide_gradient = true;  // most rules are several operations
  using kernels = tile_table;

  static constexpr type infer(no_attributes, type const& x, checks expects = {})
    requires(Arity == 1)
  {
    expects(Op::elements.contains(x.element), "the operation does not support this element type");
    return x;
  }
  static constexpr type infer(no_attributes, type const& x, type const& y, checks expects = {})
    requires(Arity == 2)
  {
    expects(x.element == y.element, "the operands have different element types; cast one of them");
    expects(Op::elements.contains(x.element), "the operation does not support this element type");
    return broadcast(x, y, expects);
  }
  template <dtypes Set>
    requires detail::makes_kernels_here<Op>
  static constexpr tile_table make_kernels() {
    static_assert(rill::kernels::have_loops<Op>,
                  "an elementwise operation of your own needs rill/ops/base/elementwise_kernels.hpp before it");
    return rill::kernels::tiles<Op, Set>();
  }
  static constexpr scalar_function const& function()
    requires detail::defined_here<Op>
  {
    return detail::function_of<Op>;
  }
  static kernel cpu(kernel_request const& r)
    requires detail::defined_here<Op>
  {
    return detail::make_kernel(detail::function_of<Op>, r);
  }
};

}  // namespace rill
