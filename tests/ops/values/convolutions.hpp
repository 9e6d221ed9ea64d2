// How the cases of record_convolutions.py are recorded in a graph.
#pragma once
#include "recorded.hpp"
#include "rill/ops/image/upsample.hpp"
#include "rill/ops/network/adaptive_pool.hpp"
#include "rill/ops/network/conv1d.hpp"
#include "rill/ops/network/grouped_conv2d.hpp"
#include "rill/ops/network/pooling1d.hpp"

namespace rill::test {

inline recorder_map convolution_recorders() {
  recorder_map r;
  for (auto const& [words, how] : {std::pair<std::string, convolution>{"", {}},
                                   {" valid", {.stride = {2, 1}, .pad = padding::valid}},
                                   {" dilated", {.stride = {2, 2}, .dilation = {2, 2}}},
                                   {" given", {.stride = {1, 3}, .pad = padding::given, .pads = {1, 0, 2, 1}}}}) {
    convolution const a = how;
    r["depthwise_conv2d" + words] = [=](call const& c) { return depthwise_conv2d(c.x[0], c.x[1], a); };
    r["depthwise_conv2d with a multiplier" + words] = r["depthwise_conv2d" + words];
    r["depthwise_conv2d_input_gradient" + words] = [=](call const& c) {
      return depthwise_conv2d_input_gradient(c.x[0], c.x[1], c.x[2], a);
    };
    r["depthwise_conv2d_filter_gradient" + words] = [=](call const& c) {
      return depthwise_conv2d_filter_gradient(c.x[0], c.x[1], c.x[2], a);
    };
    r["grouped_conv2d" + words] = [=](call const& c) { return grouped_conv2d(c.x[0], c.x[1], 2, a); };
  }
  r["conv2d_transpose"] = [](call const& c) { return conv2d_transpose(c.x[0], c.x[1]); };
  r["conv2d_transpose valid"] = [](call const& c) {
    return conv2d_transpose(c.x[0], c.x[1], {.stride = {2, 3}, .pad = padding::valid});
  };
  r["conv2d_transpose given"] = [](call const& c) {
    return conv2d_transpose(c.x[0], c.x[1],
                            {.stride = {2, 2}, .dilation = {2, 1}, .pad = padding::given, .pads = {1, 1, 1, 1}});
  };
  r["conv2d_transpose larger"] = [](call const& c) {
    return conv2d_transpose(c.x[0], c.x[1], {.stride = {2, 2}, .pad = padding::valid, .size = {8, 9}});
  };
  r["separable_conv2d"] = [](call const& c) { return separable_conv2d(c.x[0], c.x[1], c.x[2], {}); };
  r["conv1d"] = [](call const& c) { return conv1d(c.x[0], c.x[1], {.stride = 2, .pad = padding::valid}); };
  r["conv1d causal"] = [](call const& c) {
    return conv1d(c.x[0], c.x[1], {.dilation = 2, .pad = padding::given, .before = 4});
  };
  r["max_pool1d"] = [](call const& c) { return max_pool1d(c.x[0], {.window = 3, .stride = 2}); };
  r["avg_pool1d"] = [](call const& c) {
    return avg_pool1d(c.x[0], {.window = 2, .pad = padding::given, .before = 1, .after = 1, .count_padding = true});
  };
  struct size {
    std::string words;
    std::int64_t height, width;
  };
  for (auto const& [words, height, width] :
       {size{" to 2 x 3", 2, 3}, size{" to 3 x 2", 3, 2}, size{" to 7 x 1", 7, 1}}) {
    auto const h = height, w = width;
    r["adaptive_avg_pool" + words] = [=](call const& c) { return adaptive_avg_pool(c.x[0], h, w); };
    r["adaptive_max_pool" + words] = [=](call const& c) { return adaptive_max_pool(c.x[0], h, w); };
  }
  r["upsample_nearest"] = [](call const& c) { return upsample_nearest(c.x[0], 3); };
  r["upsample_bilinear"] = [](call const& c) { return upsample_bilinear(c.x[0], 2); };
  return r;
}

}  // namespace rill::test
