// Sorts on the CPU.
#pragma once

#if RILL_KERNELS
#include "rill/ops/sort/sort_kernels.hpp"

namespace rill::ops {

template <class T>
void sort_op::run(rill::kernels::sort_lines const& l, void const* x, void* values, void* indices, void* scratch,
                  parallel const& threads) {
  rill::kernels::sort_all(l, static_cast<T const*>(x), static_cast<T*>(values), indices, scratch, threads);
}

template <dtypes Set> constexpr sort_op::kernels sort_op::make_kernels() {
  kernels k;
  for_each_type<elements & Set>([&]<class T>(std::size_t d) { k.run[d] = run<T>; });
  return k;
}

}  // namespace rill::ops
#endif

#if RILL_DEFINITIONS
#include "rill/ops/sort/sort_kernels.hpp"
#include "rill/ops/table/axis_indices.hpp"

namespace rill::ops {

/// The bytes that a line needs while it is sorted: an index and a key for each element, twice.
inline std::size_t sort_scratch(rill::kernels::sort_lines const& l, dtype element) {
  return 2 * static_cast<std::size_t>(l.threads * l.extent) * 2 * std::max(sizeof(std::uint32_t), size_of(element));
}

inline kernel sort_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  auto const& x = r.inputs[0];
  axis_within const along(x, checked_axis(a.axis, x.rank, "sort: the axis is out of range for the operand's rank"));
  expects(along.extent <= INT32_MAX, "sort: the axis has more than 2147483647 elements");
  auto const count = a.count < 0 ? along.extent : a.count;
  auto const threads = std::min<std::int64_t>(16, along.outer * along.inner);
  rill::kernels::sort_lines const l{along.outer,  along.extent,           along.inner, count, threads,
                                    a.descending, a.index == dtype::int64};
  auto const run = kernels_of<sort_op>(x.element).run[static_cast<std::size_t>(x.element)];
  return kernel(
      [=](kernel_call const& call) {
        if (l.count > 0) run(l, call.in(0), call.out(0), call.out(1), call.scratch(), call.threads);
      },
      sort_scratch(l, x.element));
}

}  // namespace rill::ops
#endif
