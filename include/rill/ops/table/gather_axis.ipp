// Copies elements along an axis, and adds them back.
#pragma once

#if RILL_DEFINITIONS
#include "rill/ops/base/share.hpp"
#include "rill/ops/table/axis_indices.hpp"
#include "rill/tensor/elements.hpp"

namespace rill::ops {

/// Copies lines of `inner` elements: line (o, i) of the result is line (o, which[i]) of x.
template <class T>
void copy_lines(axis_within const& x, std::int64_t count, T const* from, std::int64_t const* which, T* to,
                parallel const& threads) {
  auto const copy = [&](std::int64_t first, std::int64_t last) {
    for (auto line = first; line < last; ++line) {
      auto const outer = line / count;
      T const* const source = from + (outer * x.extent + which[line % count]) * x.inner;
      std::copy_n(source, x.inner, to + line * x.inner);
    }
  };
  auto const scalars = [&](std::int64_t first, std::int64_t last) {  // of which copy_n would be slow
    for (auto outer = first; outer < last; ++outer)
      for (std::int64_t i = 0; i < count; ++i) to[outer * count + i] = from[outer * x.extent + which[i]];
  };
  constexpr std::int64_t least = 32768;                                  // enough elements for one thread
  if constexpr (std::same_as<T, std::string>) copy(0, x.outer * count);  // copying a string may throw
  else if (x.inner == 1) rill::kernels::share(threads, x.outer, least / std::max<std::int64_t>(1, count), scalars);
  else rill::kernels::share(threads, x.outer * count, least / std::max<std::int64_t>(1, x.inner), copy);
}

inline kernel gather_axis_op::cpu(kernel_request const& r) {
  auto const& x = r.inputs[0];
  axis_within const along(
      x, checked_axis(decode<attributes>(r.at.attributes).axis, x.rank, "gather: the axis is out of range"));
  index_reader const indices(r.inputs[1], along.extent);
  return visit_width(x.element, [&]<class T>() {
    return kernel(
        [along, indices, empty = elements(r.outputs[0].shape()) == 0](kernel_call const& call) {
          auto* const which = static_cast<std::int64_t*>(call.scratch());
          along.read(indices, call.in(1), which);
          if (!empty)
            copy_lines(along, static_cast<std::int64_t>(indices.count()), call.in<T>(0), which, call.out<T>(0),
                       call.threads);
        },
        indices.count() * sizeof(std::int64_t));
  });
}

// Threads share the outer positions, or, where these are few, the rows of each: either way the sums have one order.
inline kernel scatter_axis_op::cpu(kernel_request const& r) {
  auto const& y = r.outputs[0];
  axis_within const along(
      y, checked_axis(decode<attributes>(r.at.attributes).axis, y.rank, "scatter: the axis is out of range"));
  index_reader const indices(r.inputs[0], along.extent);
  auto const element = y.element;
  auto const add = kernels_of<scatter_like_op>(element).add[static_cast<std::size_t>(element)];
  return kernel(
      [along, indices, add, element, size = size_of(y.element), bytes = y.bytes()](kernel_call const& call) {
        auto* const which = static_cast<std::int64_t*>(call.scratch());
        along.read(indices, call.in(0), which);
        if (bytes == 0) return;
        order_rows(element, which, indices.count());
        std::memset(call.out(0), 0, bytes);
        auto const rows = static_cast<std::size_t>(along.extent), width = static_cast<std::size_t>(along.inner);
        auto const one = [&](std::int64_t outer, parallel const& threads) {
          auto const o = static_cast<std::size_t>(outer);
          add(static_cast<std::byte*>(call.out(0)) + o * rows * width * size, rows, width,
              static_cast<std::byte const*>(call.in(1)) + o * indices.count() * width * size, which, indices.count(),
              false, threads);
        };
        if (along.outer < 8)
          for (std::int64_t o = 0; o < along.outer; ++o) one(o, call.threads);
        else
          rill::kernels::share(call.threads, along.outer, 1, [&](std::int64_t first, std::int64_t last) {
            for (auto o = first; o < last; ++o) one(o, {});
          });
      },
      scatter_indices(element, indices.count()) * sizeof(std::int64_t));
}

}  // namespace rill::ops
#endif
