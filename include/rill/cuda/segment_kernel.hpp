// Sums, means and extremes of segments of rows on a GPU. A segment is a row of the result (sorted_rows.hpp).
#pragma once
#include <string>

#include "rill/cuda/gpu_device.hpp"
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Returns the text of a kernel `keys`, which turns n segment ids into the keys that they are sorted by. Keys are 64
/// bits wide if `wide`, else 32.
std::string segment_keys_text(dtype index, bool wide);
/// Returns the text of a kernel `check`, which finds the first bad segment id, and counts the rows of each segment.
std::string check_segments_text(dtype index);
/// Returns the text of a kernel `take`, which writes for each id the segment's row of x, divided by the number of rows
/// of the segment if they were counted.
std::string take_segments_text(dtype element, dtype index);

/// Return the kernels of these operations.
kernel segment_sum_kernel(kernel_request const& r);
kernel segment_max_kernel(kernel_request const& r);
kernel segment_take_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "rill/cuda/copy_kernel.hpp"
#include "rill/cuda/index_check.hpp"
#include "rill/cuda/launch.hpp"
#include "rill/cuda/sorted_rows.hpp"
#include "rill/cuda/text_parts.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/ops/table/segment_max.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE std::string segment_keys_text(dtype index, bool wide) {
  return text_head_with_cstdint("scatter.cuh") +
         kernel_in_text(detail::keys_parameters(index, wide) + counter_in_text(wide) +
                            " segments, int sorted, global<bad_position> first)",
                        "write_segment_keys(which, keys, n, segments, sorted, first);");
}
RILL_CUDA_INLINE std::string check_segments_text(dtype index) {
  return text_head_with_cstdint("scatter.cuh") +
         kernel_in_text("check(global<" + name_in_text(index) +
                            " const> ids, long n, long segments, int sorted, global<segment_count> counts, "
                            "global<bad_position> first)",
                        "check_segments(ids, n, segments, sorted, counts, first);");
}
RILL_CUDA_INLINE std::string take_segments_text(dtype element, dtype index) {
  auto const t = name_in_text(element);
  return text_head_with_cstdint("scatter.cuh") +
         kernel_in_text("take(global<" + t + " const> x, global<" + name_in_text(index) + " const> ids, global<" + t +
                            "> y, long elements, long width, long segments, global<segment_count const> counts)",
                        "take_segments(x, ids, y, elements, width, segments, counts);");
}

namespace detail {

/// Returns the message for a segment's id.
inline bad_index_message no_segment_of(std::int64_t segments) {
  return [segments](std::int64_t i, index_on_gpu const& ids) {
    auto const id = ids[i];
    auto const words = "segment id " + std::to_string(i) + " is " + std::to_string(id) + ", ";
    if (id >= segments) return words + "and there are " + std::to_string(segments) + " segments";
    if (id < 0) return words + "and sorted ids are not negative; only those of unsorted_segment_… may be";
    return words + "after " + std::to_string(ids[i - 1]) +
           ", and sorted ids ascend; unsorted_segment_… takes any order";
  };
}
/// Returns positions that are sorted by segment ids. If `ascending`, ids must ascend from 0 on.
inline sorted_rows sorted_by_segment(gpu_device const& on, dtype index, row_sizes const& s, bool ascending) {
  return {on, index, s,
          [&on, n = s.n, rows = s.rows, must_ascend = std::int32_t{ascending},
           run = on.find(segment_keys_text(index, s.wide()), "keys")](void const* ids, void* keys, void* first) {
            launch(on, *run, on.shape_for(static_cast<std::size_t>(n)), ids, keys, n, rows, must_ascend, first);
          },
          no_segment_of(s.rows)};
}

/// Returns a join of rows, by `how`, to the rows of output 0 that the ids of input 1 name.
inline joined_rows joined_by_segment(kernel_request const& r, std::string_view how, std::int64_t segments,
                                     bool ascending) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const &y = r.outputs[0], &ids = r.inputs[1];
  row_sizes const s(1, elements(ids.shape()), segments, width_of(y), y.element);
  return {on, sorted_by_segment(on, ids.element, s, ascending), how, y.element};
}

/// Returns the extreme of a segment without rows: the largest number of a type for a minimum (`least`), else the
/// smallest.
inline std::array<std::byte, 16> extreme_of_nothing(dtype element, bool least) {
  std::array<std::byte, 16> word{};
  visit(element, [&]<class T>() {
    if constexpr (dtypes::reals.contains(dtype_of<T>)) {
      T extreme;
      if constexpr (std::is_integral_v<T>)
        extreme = least ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
      else extreme = T(least ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity());
      std::memcpy(word.data(), &extreme, sizeof extreme);
    }
  });
  return word;
}

}  // namespace detail

RILL_CUDA_INLINE kernel segment_sum_kernel(kernel_request const& r) {
  auto const a = decode<ops::segment_sum_attributes>(r.at.attributes);
  return detail::join_kernel(detail::joined_by_segment(r, a.mean ? "row_mean" : "row_sum", a.count, a.sorted),
                             detail::bound_clear(static_cast<gpu_device const&>(*r.on), r.outputs[0].bytes()), 1, 0);
}

RILL_CUDA_INLINE kernel segment_max_kernel(kernel_request const& r) {
  auto const a = decode<ops::segment_max_op::attributes>(r.at.attributes);
  auto const& y = r.outputs[0];
  detail::bound_fill const fill(static_cast<gpu_device const&>(*r.on), size_of(y.element), elements(y.shape()),
                                detail::extreme_of_nothing(y.element, a.least));
  return detail::join_kernel(detail::joined_by_segment(r, a.least ? "row_min" : "row_max", a.count, a.sorted), fill, 1,
                             0);
}

RILL_CUDA_INLINE kernel segment_take_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const a = decode<ops::segment_sum_attributes>(r.at.attributes);
  auto const &x = r.inputs[0], &ids = r.inputs[1];
  detail::row_sizes const s(1, elements(ids.shape()), a.count, detail::width_of(x), x.element);
  if (s.n == 0) return empty_kernel();
  auto const counts = a.mean ? static_cast<std::size_t>(a.count) * sizeof(std::uint64_t) : 0;
  return kernel(
      [&on, s, mean = a.mean, sorted = std::int32_t{a.sorted}, clear = detail::bound_clear(on, counts),
       indices = checked_indices(on, ids.element, detail::no_segment_of(a.count)),
       check = on.find(check_segments_text(ids.element), "check"),
       take = on.find(take_segments_text(real_of(x.element), ids.element), "take")](kernel_call const& call) {
        void* const counted = mean ? behind_checks(call.scratch()) : nullptr;
        indices.begin(call.scratch());
        if (mean) clear(counted);
        launch(on, *check, on.shape_for(static_cast<std::size_t>(s.n)), call.in(1), s.n, s.rows, sorted, counted,
               call.scratch());
        if (auto const n = s.elements(); n > 0)
          launch(on, *take, on.shape_for(static_cast<std::size_t>(n)), call.in(0), call.in(1), call.out(0), n, s.width,
                 s.rows, counted);
        indices.expect_good(call.in(1), call.scratch());
      },
      bytes_for_checks + counts);
}

}  // namespace rill::cuda
#endif
