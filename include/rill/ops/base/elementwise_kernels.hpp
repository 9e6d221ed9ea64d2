// From an elementwise operation's `apply` to loops over packets. A program that links rill::compiled includes it before
// elementwise operations of its own.
#pragma once
#include <type_traits>
#include <utility>

#include "rill/ops/base/tile_table.hpp"
#include "rill/program/scalar.hpp"

namespace rill {

namespace kernels {

template <class Op>
  requires(sizeof(Op) != 0)
inline constexpr bool have_loops<Op> = true;

// Operand number Index of Op for lanes of type Lane: a mask if the operand is a bool beside numbers.
template <class Op, class Lane, std::size_t Index>
[[gnu::always_inline]] inline auto operand(void const* from, std::size_t at, std::size_t n) {
  if constexpr (requires { requires Op::takes_mask(Index); }) {
    using Mask = decltype(Lane{} == Lane{});
    auto const* p = static_cast<bool const*>(from) + at;
    return n == Lane::lanes ? Mask::load(p) : Mask::load(p, n);
  } else {
    auto const* p = static_cast<typename Lane::element const*>(from) + at;
    return n == Lane::lanes ? Lane::load(p) : Lane::load(p, n);
  }
}

template <class Op, class Lane, std::size_t... Index>
[[gnu::always_inline]] inline void lanes(void* result, void const* const* operands, std::size_t at, std::size_t n,
                                         std::index_sequence<Index...>) {
  auto const y = Op::apply(operand<Op, Lane, Index>(operands[Index], at, n)...);
  using Result = std::remove_const_t<decltype(y)>;
  auto* to = static_cast<typename Result::element*>(result) + at;
  if (n == Lane::lanes) y.store(to);
  else y.store(to, n);
}

/// The contiguous loop of an elementwise operation over elements of type T. A remainder shorter than a packet is
/// computed as a whole packet, so that an element's bits do not depend on its position.
template <class Op, class T> void tile(void* result, void const* const* operands, std::size_t n) {
  using Lane = lane_type_t<T>;
  constexpr auto arity = static_cast<std::size_t>(Op::arity);
  constexpr auto each = std::make_index_sequence<arity>{};
  // A length that the compiler knows: no loops.
  if (n == 1) return lanes<Op, short_lane_type_t<T>>(result, operands, 0, 1, each);
  void const* from[arity];  // in registers: what is stored might lie among the operands' addresses
  for (std::size_t i = 0; i < arity; ++i) from[i] = operands[i];
  std::size_t at = 0;
  for (; at + Lane::lanes <= n; at += Lane::lanes) lanes<Op, Lane>(result, from, at, Lane::lanes, each);
  if (at == n) return;
  using Half = half_lane_type_t<T>;
  if constexpr (!std::is_same_v<Half, Lane>)
    if (n - at <= Half::lanes) return lanes<Op, Half>(result, from, at, n - at, each);
  lanes<Op, Lane>(result, from, at, n - at, each);
}

template <class Op, dtypes Set> constexpr tile_table tiles() {
  tile_table table;
  [&]<std::size_t... D>(std::index_sequence<D...>) {
    auto const add = [&]<std::size_t Index>(std::integral_constant<std::size_t, Index>) {
      if constexpr (constexpr auto d = static_cast<dtype>(Index);
                    (Op::elements & Set).contains(d) && d != dtype::string)
        table.tile[Index] = tile<Op, element_of<d>>;
      if constexpr (rill::detail::leads_to_another<Op>)
        if constexpr (constexpr auto d = static_cast<dtype>(Index);
                      (rill::detail::in_one_pass<Op>::elements & Set).contains(d))
          table.joined[Index] = tile<rill::detail::in_one_pass<Op>, element_of<d>>;
    };
    (add(std::integral_constant<std::size_t, D>{}), ...);
  }(std::make_index_sequence<dtype_count>{});
  return table;
}

}  // namespace kernels

}  // namespace rill
