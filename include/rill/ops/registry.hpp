// Every operation of rill as a list at run time: what `graph_from_bytes` asks for.
#pragma once
#include <array>
#include <span>

#include "rill/ops/operations.hpp"

namespace rill {

namespace detail {

template <class List> struct definitions_of;
template <class... Op> struct definitions_of<type_list<Op...>> {
  static std::array<op_def const*, sizeof...(Op)> make() { return {&definition<Op>()...}; }
};

}  // namespace detail

/// Every operation of rill. Programs with operations of their own append those to a list.
inline std::span<op_def const* const> all_operations() {
  static auto const all = detail::definitions_of<operations>::make();
  return all;
}

}  // namespace rill
