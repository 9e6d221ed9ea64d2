// Indices along an axis, checked before they are used; and elements moved by their width.
#pragma once
#include <string>

#include "rill/ops/array/index.hpp"

#if RILL_DEFINITIONS
namespace rill::ops {

/// An axis within an array: [outer, extent, inner].
struct axis_within {
  std::int64_t outer = 1, extent = 1, inner = 1, axis = 0;

  axis_within(type const& x, std::size_t which) : extent(x[which].extent), axis(static_cast<std::int64_t>(which)) {
    for (std::size_t i = 0; i < x.rank; ++i)
      if (i != which) (i < which ? outer : inner) *= x[i].extent;
  }
  /// Writes indices along the axis as int64. Throws error(invalid_argument) that names the first one out of range.
  void read(index_reader const& indices, void const* from, std::int64_t* to) const {
    for (std::size_t i = 0; i < indices.count(); ++i) {
      to[i] = indices.at(from, i);
      if (to[i] < 0 || to[i] >= extent)
        throw error(code::invalid_argument, "index " + std::to_string(i) + " is " + std::to_string(to[i]) +
                                                ", and axis " + std::to_string(axis) + " has " +
                                                std::to_string(extent) + " elements");
    }
  }
};

/// Calls `f.template operator()<T>()` with a type that has the width of the elements, or with std::string.
template <class F> auto visit_width(dtype d, F const& f) {
  struct two_words {
    std::uint64_t a, b;
  };
  if (d == dtype::string) return f.template operator()<std::string>();
  switch (size_of(d)) {
    case 1:
      return f.template operator()<std::uint8_t>();
    case 2:
      return f.template operator()<std::uint16_t>();
    case 4:
      return f.template operator()<std::uint32_t>();
    case 8:
      return f.template operator()<std::uint64_t>();
    default:
      return f.template operator()<two_words>();
  }
}

}  // namespace rill::ops
#endif
