// How a value broadcasts to a larger value.
#pragma once
#include "rill/graph/attribute.hpp"

namespace rill {

/// Whether two values certainly have the same extents.
inline bool same_extents(type const& a, type const& b) {
  if (!a.has_rank() || a.rank != b.rank || a.dims != b.dims) return false;
  for (std::size_t i = 0; i < a.rank; ++i)
    if (a[i] == unknown) return false;
  return true;
}

namespace ops {

/// Attributes of broadcast_like and sum_like: the axes of the larger value that the smaller one lacks (negative ones
/// count from the end), and whether broadcast_like divides by the number of copies and sum_like takes the mean.
struct likeness {
  extents axes;
  bool mean = false;
  static constexpr auto fields(auto const& take) {
    return take(field{"axes", &likeness::axes}, field{"mean", &likeness::mean});
  }

  /// Returns `small` with `axes` inserted as extents of 1.
  constexpr type widened(type const& small, checks expects = {}) const {
    type y{small.element};
    std::size_t const rank = small.rank + axes.size();
    for (std::size_t i = 0, from = 0; i < rank; ++i) {
      auto const at = static_cast<std::int64_t>(i);
      bool const put_in = axes.contains(at) || axes.contains(at - static_cast<std::int64_t>(rank));
      if (!expects(put_in || from < small.rank, "an axis is out of range for the larger value's rank, or occurs twice"))
        return y;
      y.push_back(put_in ? dim(1) : small[from++], expects);
    }
    return y;
  }
  /// Fails with `why` unless the smaller value broadcasts to the larger one.
  constexpr void check(type const& small, type const& large, char const* why, checks expects = {}) const {
    if (!small.has_rank() || !large.has_rank()) return;
    type const wide = widened(small, expects);
    if (!expects(wide.rank <= large.rank, why)) return;
    for (std::size_t i = 1; i <= wide.rank; ++i) {
      dim const &part = wide[wide.rank - i], &whole = large[large.rank - i];
      expects(part == dim(1) || may_equal(part, whole), why);
    }
  }
};

}  // namespace ops

}  // namespace rill
