// Every operation of rill as a list at run time: what `graph_from_bytes` asks for.
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

/// Every operation of rill that needs nothing but the standard library, and those of more lists: of rill/io.hpp, or of
/// the program's own. `all_operations<io_operations, type_list<my_op>>()`.
template <class... More> std::span<op_def const* const> all_operations() {
  static auto const all = detail::definitions_of<join<operations, More...>>::make();
  return all;
}

}  // namespace rill
