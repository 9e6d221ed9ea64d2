// Examples of convolutions by channel, transposed, of groups and of sequences, and of pooling beside windows of images.
#pragma once
#include "example.hpp"
#include "rill/ops/image/upsample.hpp"
#include "rill/ops/network/adaptive_pool.hpp"
#include "rill/ops/network/conv1d.hpp"
#include "rill/ops/network/grouped_conv2d.hpp"
#include "rill/ops/network/pooling1d.hpp"

namespace rill::test {

inline std::vector<example> depthwise_examples() {
  std::vector<example> all;
  struct slide {
    convolution how;
    dim height, width;  // of the result, for an image of 5 x 4 and a filter of 3 x 2
  };
  slide const slides[] = {{{}, 5, 4},
                          {{.stride = {2, 1}, .pad = padding::valid}, 2, 3},
                          {{.stride = {2, 2}, .dilation = {2, 2}}, 3, 2},
                          {{.stride = {1, 3}, .pad = padding::given, .pads = {1, 0, 2, 1}}, 4, 2}};
  for (auto const& [how, height, width] : slides) {
    dim const h = height, w = width;
    convolution const a = how;
    all.push_back({.operation = "depthwise_conv2d",
                   .inputs = [](auto n) { return std::vector{d({n, 5, 4, 3}), d({3, 2, 3})}; },
                   .record = [=](in x) { return depthwise_conv2d(x[0], x[1], a); }});
    all.push_back({.operation = "depthwise_conv2d_input_gradient",
                   .inputs = [=](auto n) { return std::vector{d({n, 5, 4, 3}), d({3, 2, 3}), d({n, h, w, 3})}; },
                   .record = [=](in x) { return depthwise_conv2d_input_gradient(x[0], x[1], x[2], a); }});
    all.push_back({.operation = "depthwise_conv2d_filter_gradient",
                   .inputs = [=](auto n) { return std::vector{d({n, 5, 4, 3}), d({3, 2, 3}), d({n, h, w, 3})}; },
                   .record = [=](in x) { return depthwise_conv2d_filter_gradient(x[0], x[1], x[2], a); }});
  }
  for (auto const& [x, filter] : {std::pair{d({2, 3, 3, 0}), d({2, 2, 0})}, {d({2, 0, 3, 2}), d({2, 2, 2})}})
    all.push_back({.operation = "depthwise_conv2d",
                   .inputs =
                       [x, filter](auto n) {
                         std::vector both{x, filter};  // 0 stands for n
                         for (auto& t : both) std::replace(t.dims.begin(), t.dims.begin() + t.rank, dim(0), dim(n));
                         return both;
                       },
                   .record = [](in operands) { return depthwise_conv2d(operands[0], operands[1], {}); }});
  return all;
}

inline std::vector<example> transposed_examples() {
  std::vector<example> all;
  for (transposed_convolution const& how :
       {transposed_convolution{}, transposed_convolution{.stride = {2, 1}, .pad = padding::valid},
        transposed_convolution{.stride = {2, 2}, .dilation = {2, 2}, .size = {3, 4}},
        transposed_convolution{.stride = {1, 3}, .pad = padding::given, .pads = {1, 0, 1, 1}}})
    all.push_back({.operation = "conv2d_transpose",
                   .inputs = [](auto n) { return std::vector{d({n, 2, 2, 3}), d({3, 2, 2, 3})}; },
                   .record = [=](in x) { return conv2d_transpose(x[0], x[1], how); }});
  all.push_back({.operation = "conv2d_transpose",
                 .inputs = [](auto n) { return std::vector{d({2, 2, 3, n}), d({2, 2, 2, n})}; },
                 .record = [](in x) { return conv2d_transpose(x[0], x[1], {.stride = {2, 2}}); }});
  return all;
}

inline std::vector<example> convolution_examples() {
  auto all = depthwise_examples();
  for (auto const& e : transposed_examples()) all.push_back(e);
  using inputs = std::function<std::vector<type>(std::int64_t)>;
  auto const add = [&](std::string_view name, inputs types, std::function<value(in)> f, bool needs_extents = false,
                       dtypes elements = dtypes::floats) {
    all.push_back({.operation = name,
                   .inputs = std::move(types),
                   .record = std::move(f),
                   .elements = elements,
                   .needs_extents = needs_extents,
                   .composed = true});
  };
  add(
      "depthwise_conv2d with a multiplier", [](auto n) { return std::vector{d({n, 3, 4, 2}), d({2, 2, 2, 2})}; },
      [](in operands) { return depthwise_conv2d(operands[0], operands[1], {}); }, true);
  add(
      "separable_conv2d", [](auto n) { return std::vector{d({n, 3, 4, 2}), d({2, 2, 2}), d({1, 1, 2, 3})}; },
      [](in x) { return separable_conv2d(x[0], x[1], x[2], {.pad = padding::valid}); });
  add(
      "grouped_conv2d", [](auto n) { return std::vector{d({n, 3, 4, 4}), d({2, 2, 2, 6})}; },
      [](in x) { return grouped_conv2d(x[0], x[1], 2, {.stride = {2, 1}}); });
  inputs const sequences = [](auto n) { return std::vector{d({n, 6, 2}), d({3, 2, 3})}; };
  add("conv1d", sequences, [](in x) { return conv1d(x[0], x[1], {.stride = 2}); });
  add("conv1d", sequences,
      [](in x) { return conv1d(x[0], x[1], {.dilation = 2, .pad = padding::given, .before = 4}); });
  inputs const sequence = [](auto n) { return std::vector{d({n, 6, 2})}; };
  add("max_pool1d", sequence, [](in x) { return max_pool1d(x[0], {}); }, false, dtypes::reals);
  add("avg_pool1d", sequence, [](in x) {
    return avg_pool1d(x[0], {.window = 3, .stride = 2, .pad = padding::given, .before = 1, .count_padding = true});
  });
  inputs const images = [](auto n) { return std::vector{d({n, 5, 4, 2})}; };
  for (auto const& [height, width] : {std::pair{2, 3}, {5, 2}, {1, 1}, {7, 4}}) {
    auto const h = height, w = width;
    add("adaptive_avg_pool", images, [=](in x) { return adaptive_avg_pool(x[0], h, w); }, true);
    add("adaptive_max_pool", images, [=](in x) { return adaptive_max_pool(x[0], h, w); }, true, dtypes::reals);
  }
  add("upsample_nearest", images, [](in x) { return upsample_nearest(x[0], 2); }, true, dtypes::reals | dtype::boolean);
  add("upsample_bilinear", images, [](in x) { return upsample_bilinear(x[0], 2); }, true, dtypes::reals);
  return all;
}

}  // namespace rill::test
