// Takes elements along an axis, and adds them back.
#pragma once

#if RILL_KERNELS
#include "rill/ops/base/share.hpp"

namespace rill::ops {

// Threads share blocks of columns, within which elements are added in the order of the indices.
template <class T>
void scatter_along_axis_op::add(lines const& l, void* table, void const* from, std::int64_t const* which,
                                parallel const& threads) {
  std::ptrdiff_t const block = 64, blocks = (l.inner + block - 1) / block;
  std::ptrdiff_t const each = l.count * (l.inner < block ? l.inner : block);
  rill::kernels::share(threads, l.outer * blocks, 32768 / (each < 1 ? 1 : each), [&](auto begin, auto end) {
    for (auto unit = begin; unit < end; ++unit) {
      auto const outer = unit / blocks, first = unit % blocks * block;
      auto const last = first + block < l.inner ? first + block : l.inner;
      T* const to = static_cast<T*>(table) + outer * l.rows * l.inner;
      for (std::ptrdiff_t i = 0; i < l.count; ++i) {
        auto const line = (outer * l.count + i) * l.inner;
        T const* const x = static_cast<T const*>(from) + line;
        for (auto j = first; j < last; ++j) {
          T& sum = to[static_cast<std::ptrdiff_t>(which[line + j]) * l.inner + j];
          sum = sum_of(sum, x[j]);
        }
      }
    }
  });
}

template <dtypes Set> constexpr scatter_along_axis_op::kernels scatter_along_axis_op::make_kernels() {
  kernels k;
  for_each_type<elements & Set>([&]<class T>(std::size_t d) { k.add[d] = add<T>; });
  return k;
}

}  // namespace rill::ops
#endif

#if RILL_DEFINITIONS
#include "rill/ops/base/share.hpp"
#include "rill/ops/table/axis_indices.hpp"

namespace rill::ops {

template <class T>
void take_lines(axis_within const& x, std::int64_t count, T const* from, std::int64_t const* which, T* to,
                parallel const& threads) {
  auto const take = [&](std::int64_t first, std::int64_t last) {
    for (auto line = first; line < last; ++line) {
      T const* const source = from + line / count * x.extent * x.inner;
      for (std::int64_t j = 0; j < x.inner; ++j)
        to[line * x.inner + j] = source[which[line * x.inner + j] * x.inner + j];
    }
  };
  if constexpr (std::same_as<T, std::string>) take(0, x.outer * count);  // copying a string may throw
  else rill::kernels::share(threads, x.outer * count, 32768 / std::max<std::int64_t>(1, x.inner), take);
}

inline kernel take_along_axis_op::cpu(kernel_request const& r) {
  auto const& x = r.inputs[0];
  auto const axis =
      checked_axis(decode<attributes>(r.at.attributes).axis, x.rank, "take_along_axis: the axis is out of range");
  axis_within const along(x, axis);
  index_reader const indices(r.inputs[1], along.extent);
  return visit_width(x.element, [&]<class T>() {
    return kernel(
        [along, indices, count = r.inputs[1][axis].extent](kernel_call const& call) {
          auto* const which = static_cast<std::int64_t*>(call.scratch());
          along.read(indices, call.in(1), which);
          if (indices.count() != 0) take_lines(along, count, call.in<T>(0), which, call.out<T>(0), call.threads);
        },
        indices.count() * sizeof(std::int64_t));
  });
}

inline kernel scatter_along_axis_op::cpu(kernel_request const& r) {
  auto const& y = r.outputs[0];
  auto const axis =
      checked_axis(decode<attributes>(r.at.attributes).axis, y.rank, "scatter_along_axis: the axis is out of range");
  axis_within const along(y, axis);
  index_reader const indices(r.inputs[0], along.extent);
  auto const add_all = kernels_of<scatter_along_axis_op>(y.element).add[static_cast<std::size_t>(y.element)];
  lines const l{along.outer, along.extent, along.inner, r.inputs[0][axis].extent};
  return kernel(
      [=, bytes = y.bytes()](kernel_call const& call) {
        auto* const which = static_cast<std::int64_t*>(call.scratch());
        along.read(indices, call.in(0), which);
        if (bytes != 0) std::memset(call.out(0), 0, bytes);
        if (indices.count() != 0) add_all(l, call.out(0), call.in(1), which, call.threads);
      },
      indices.count() * sizeof(std::int64_t));
}

}  // namespace rill::ops
#endif
