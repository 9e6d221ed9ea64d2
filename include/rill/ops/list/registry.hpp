// Every operation of rill as a list at run time, as `graph_from_bytes` needs it.
#pragma once
#include <array>
#include <span>

#include "rill/ops/list/operations.hpp"

namespace rill {

namespace detail {

template <class List> struct definitions_of;
template <class... Op> struct definitions_of<type_list<Op...>> {
  static std::array<op_def const*, sizeof...(Op)> make() { return {&definition<Op>()...}; }
};

}  // namespace detail

/// Returns every operation of rill that needs only the standard library, and the operations of more lists: from
/// rill/io.hpp, or a program's own. `all_operations<io_operations, type_list<my_op>>()`.
template <class... More> std::span<op_def const* const> all_operations() {
  static auto const all = detail::definitions_of<join<operations, More...>>::make();
  return all;
}

}  // namespace rill
