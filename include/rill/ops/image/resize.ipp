// Maps pixels of resized images to pixels of the originals, and chooses the kernels.
#pragma once

#if RILL_KERNELS
#include "rill/ops/image/resize_kernels.hpp"

namespace rill::ops {

template <class Op> template <dtypes Set> constexpr resize_table resizing_by_weights<Op>::make_kernels() {
  resize_table t;
  for_each_type<elements & Set>([&]<class T>(std::size_t d) { t.run[d] = Op::template run<T>; });
  return t;
}

template <class T>
void resize_bilinear_op::run(rill::kernels::resizing const& how, void const* x, void* y, parallel const& threads) {
  rill::kernels::resize_linear(how, static_cast<T const*>(x), static_cast<T*>(y), threads);
}

template <class T>
void resize_gradient_op::run(rill::kernels::resizing const& how, void const* dy, void* dx, parallel const& threads) {
  rill::kernels::resize_gradient(how, static_cast<T const*>(dy), static_cast<T*>(dx), threads);
}

}  // namespace rill::ops
#endif

#if RILL_DEFINITIONS
#include <cstring>
#include "rill/ops/image/resize_kernels.hpp"

namespace rill::ops {

/// Returns for each pixel of the result its source pixels along an axis.
inline std::vector<rill::kernels::between> source_pixels(std::int64_t from, std::int64_t to, interpolation method) {
  std::vector<rill::kernels::between> all;
  for (std::int64_t i = 0; i < to; ++i) {
    if (method == interpolation::nearest) {
      auto const at = (2 * i + 1) * from / (2 * to);
      all.push_back({at, at, 0});
      continue;
    }
    auto const twice = (2 * i + 1) * from - to;  // 2 * to times the position among the centres
    auto const lower = twice < 0 ? 0 : twice / (2 * to);
    auto const upper = std::min(lower + 1, from - 1);
    auto const weight = static_cast<double>(twice - lower * 2 * to) / static_cast<double>(2 * to);
    all.push_back({lower, upper, twice < 0 || lower == upper ? 0 : weight});
  }
  return all;
}
/// Returns for each pixel of the image the range of result pixels that it contributes to.
inline std::vector<rill::kernels::reach> reached_pixels(std::vector<rill::kernels::between> const& sources,
                                                        std::int64_t from) {
  std::vector<rill::kernels::reach> all(static_cast<std::size_t>(from));
  for (std::size_t i = 0; i < sources.size(); ++i)
    for (auto at : {sources[i].lower, sources[i].upper}) {
      auto& r = all[static_cast<std::size_t>(at)];
      if (r.last == 0) r.first = static_cast<std::int64_t>(i);
      r.last = static_cast<std::int64_t>(i) + 1;
    }
  return all;
}

template <class Op>
kernel resizing_by_weights<Op>::make(type const& x, type const& y, interpolation method, type const& result_of) {
  image_extents const from(x), to(y);
  auto rows = source_pixels(from.height, to.height, method), columns = source_pixels(from.width, to.width, method);
  auto from_rows = reached_pixels(rows, from.height), from_columns = reached_pixels(columns, from.width);
  auto const run = kernels_of<Op>(x.element).run[static_cast<std::size_t>(x.element)];
  if (rill::elements(result_of.shape()) == 0) return kernel([](kernel_call const&) {});
  return kernel([=, rows = std::move(rows), columns = std::move(columns), from_rows = std::move(from_rows),
                 from_columns = std::move(from_columns)](kernel_call const& call) {
    run({from.count, from.height, from.width, from.channels, to.height, to.width, rows.data(), columns.data(),
         from_rows.data(), from_columns.data()},
        call.in(call.inputs - 1), call.out(0), call.threads);
  });
}

inline kernel resize_nearest_op::cpu(kernel_request const& r) {
  image_extents const x(r.inputs[0]), y(r.outputs[0]);
  auto const pixel = static_cast<std::size_t>(x.channels) * size_of(r.inputs[0].element);
  if (pixel == 0) return kernel([](kernel_call const&) {});
  auto const method = interpolation::nearest;
  return kernel([=, rows = source_pixels(x.height, y.height, method),
                 columns = source_pixels(x.width, y.width, method)](kernel_call const& call) {
    call.threads(static_cast<std::size_t>(y.count * y.height), [&](std::size_t line) {
      auto const height = static_cast<std::size_t>(y.height), width = static_cast<std::size_t>(y.width);
      auto const row = static_cast<std::int64_t>(line / height) * x.height + rows[line % height].lower;
      auto const* const from = call.in<std::byte>(0) + static_cast<std::size_t>(row * x.width) * pixel;
      auto* to = call.out<std::byte>(0) + line * width * pixel;
      for (auto const& column : columns) {
        std::memcpy(to, from + static_cast<std::size_t>(column.lower) * pixel, pixel);
        to += pixel;
      }
    });
  });
}

inline kernel resize_bilinear_op::cpu(kernel_request const& r) {
  return make(r.inputs[0], r.outputs[0], interpolation::bilinear, r.outputs[0]);
}

inline kernel resize_gradient_op::cpu(kernel_request const& r) {
  auto const method = decode<resized_by>(r.at.attributes).method;
  return make(r.outputs[0], r.inputs[1], method, r.outputs[0]);
}

}  // namespace rill::ops
#endif
