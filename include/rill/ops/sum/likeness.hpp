// How a value broadcasts to a larger one.
#pragma once
#include "rill/graph/attribute.hpp"

namespace rill {

/// Whether two values have the same extents for certain.
inline bool same_extents(type const& a, type const& b) {
  if (!a.has_rank() || a.rank != b.rank || a.dims != b.dims) return false;
  for (std::size_t i = 0; i < a.rank; ++i)
    if (a[i] == unknown) return false;
  return true;
}

namespace ops {

/// What broadcast_like and sum_like name: the axes of the larger value that the smaller one lacks (negative ones count
/// from the end), and whether an element is shared out among its places, or the mean taken in place of the sum.
struct likeness {
  extents axes;
  bool mean = false;
  static constexpr auto fields(auto const& take) {
    return take(field{"axes", &likeness::axes}, field{"mean", &likeness::mean});
  }

  /// `small` with `axes` put in as extents of 1.
  constexpr type widened(type const& small, checks expects = {}) const {
    type y{small.element};
    std::size_t const rank = small.rank + axes.size();
    for (std::size_t i = 0, from = 0; i < rank; ++i) {
      auto const at = static_cast<std::int64_t>(i);
      bool const put_in = axes.contains(at) || axes.contains(at - static_cast<std::int64_t>(rank));
      if (!expects(put_in || from < small.rank, "an axis lies outside of the larger value's rank, or is named twice"))
        return y;
      y.push_back(put_in ? dim(1) : small[from++]);
    }
    return y;
  }
  /// Refuses a smaller value that does not broadcast to the larger one.
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
