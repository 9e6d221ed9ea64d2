// Takes elements along an axis, and adds them back.
#pragma once

#if RILL_KERNELS
#include "rill/ops/base/share.hpp"

namespace rill::ops {

// Threads share blocks of columns, within which elements are added in the order of the indices.
template <class T>
void scatter_along_axis_op::add(lines const& l, void* table, float* sums, void const* from, std::int64_t const* which,
                                parallel const& threads) {
  constexpr bool narrow = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;
  using A = std::conditional_t<narrow, float, T>;
  std::ptrdiff_t const block = 64, blocks = (l.inner + block - 1) / block;
  std::ptrdiff_t const each = l.count * (l.inner < block ? l.inner : block);
  rill::kernels::share(threads, l.outer * blocks, 32768 / (each < 1 ? 1 : each), [&](auto begin, auto end) {
    for (auto unit = begin; unit < end; ++unit) {
      auto const outer = unit / blocks, first = unit % blocks * block;
      auto const last = first + block < l.inner ? first + block : l.inner;
      T* const rows = static_cast<T*>(table) + outer * l.rows * l.inner;
      A* to;
      if constexpr (narrow) to = sums + outer * l.rows * l.inner;
      else to = rows;
      for (std::ptrdiff_t i = 0; i < l.rows; ++i) std::fill(to + i * l.inner + first, to + i * l.inner + last, A(0));
      for (std::ptrdiff_t i = 0; i < l.count; ++i) {
        auto const line = (outer * l.count + i) * l.inner;
        T const* const x = static_cast<T const*>(from) + line;
        for (auto j = first; j < last; ++j) {
          A& sum = to[static_cast<std::ptrdiff_t>(which[line + j]) * l.inner + j];
          sum = sum_of(sum, static_cast<A>(x[j]));
        }
      }
      if constexpr (narrow)
        for (std::ptrdiff_t i = 0; i < l.rows; ++i)
          for (auto j = first; j < last; ++j) rows[i * l.inner + j] = T(to[i * l.inner + j]);
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
  bool const narrow = rill::detail::wide_element(y.element) != y.element;
  auto const bytes_of_sums = narrow ? static_cast<std::size_t>(rill::elements(y.shape())) * sizeof(float) : 0;
  lines const l{along.outer, along.extent, along.inner, r.inputs[0][axis].extent};
  return kernel(
      [=, bytes = y.bytes()](kernel_call const& call) {
        auto* const which = static_cast<std::int64_t*>(call.scratch());
        along.read(indices, call.in(0), which);
        if (bytes == 0) return;
        auto* const sums = reinterpret_cast<float*>(which + indices.count());
        add_all(l, call.out(0), sums, call.in(1), which, call.threads);
      },
      indices.count() * sizeof(std::int64_t) + bytes_of_sums);
}

}  // namespace rill::ops
#endif
