// What sums, means and extremes of segments share: ids that say to which segment each row belongs.
#pragma once
#include <string>

#include "rill/ops/array/index.hpp"
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/base/kernels.hpp"

namespace rill::ops {

/// Returns the type of one row for each of `count` segments, for rows x at ids of any rank: x's extents begin with
/// those of the ids.
constexpr type segmented(std::int64_t count, bool sorted, type const& x, type const& ids, checks expects = {}) {
  expects(dtypes::indices.contains(ids.element), "segments: the ids are neither int32 nor int64");
  if (!expects(count >= 0, "segments: the number of segments is negative") || !x.has_rank() || !ids.has_rank())
    return type::of_unknown_rank(x.element);
  expects(!sorted || ids.rank == 1, "segments: sorted ids are a list; unsorted ids may have any rank");
  if (!expects(ids.rank <= x.rank, "segments: there is not a row for each id")) return x;
  type y{x.element, {count}};
  for (std::size_t i = 0; i < x.rank; ++i) {
    if (i < ids.rank) agree(x[i], ids[i], "segments: there is not a row for each id", expects);
    else y.push_back(x[i], expects);
  }
  return y;
}

#if RILL_DEFINITIONS
/// Reads the ids of rows, and checks that each is below the number of segments. Rows with ids below 0 are left out;
/// sorted ids are neither below 0 nor less than the id before.
class segment_reader {
 public:
  segment_reader(type const& ids, std::int64_t segments, bool sorted)
      : count_(static_cast<std::size_t>(elements(ids.shape()))),
        segments_(segments),
        wide_(ids.element == dtype::int64),
        sorted_(sorted) {}

  std::size_t count() const { return count_; }
  /// Throws error(invalid_argument) that names the first id that is wrong; else writes the ids.
  void operator()(void const* ids, std::int64_t* to) const {
    for (std::size_t i = 0; i < count_; ++i) {
      to[i] = wide_ ? static_cast<std::int64_t const*>(ids)[i] : static_cast<std::int32_t const*>(ids)[i];
      if (to[i] >= segments_) refuse(i, to[i], "and there are " + std::to_string(segments_) + " segments");
      if (!sorted_) continue;
      if (to[i] < 0) refuse(i, to[i], "and sorted ids are not negative; only those of unsorted_segment_… may be");
      if (i > 0 && to[i] < to[i - 1])
        refuse(i, to[i],
               "after " + std::to_string(to[i - 1]) + ", and sorted ids ascend; unsorted_segment_… takes any order");
    }
  }

 private:
  [[noreturn]] static void refuse(std::size_t i, std::int64_t id, std::string const& why) {
    throw error(code::invalid_argument, "segment id " + std::to_string(i) + " is " + std::to_string(id) + ", " + why);
  }

  std::size_t count_;
  std::int64_t segments_;
  bool wide_, sorted_;
};

/// Returns the number of elements in the row of a segment.
inline std::size_t segment_width(type const& segments) {
  std::size_t width = 1;
  for (std::size_t i = 1; i < segments.rank; ++i) width *= static_cast<std::size_t>(segments[i].extent);
  return width;
}
#endif

}  // namespace rill::ops
