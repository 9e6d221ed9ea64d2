// Convolutions of groups of channels.
#pragma once
#include "rill/ops/array/concat.hpp"
#include "rill/ops/array/split.hpp"
#include "rill/ops/network/conv2d.hpp"

namespace rill {

/// Returns the convolution of images [n, height, width, channels] with a filter [height, width, channels / groups,
/// out_channels], as in PyTorch and TensorFlow: channels and out_channels are cut into groups, and each group of
/// out_channels sees one group of channels. `grouped_conv2d<2>(x, filter)`, `grouped_conv2d<2, convolution{.stride =
/// {2, 2}}>(x, filter)`. For groups of one channel, depthwise_conv2d is faster.
template <std::int64_t Groups, convolution How = convolution{}, operand X, operand F>
auto grouped_conv2d(X x, F filter) {
  auto const images = split<Groups, -1>(x);
  auto const filters = split<Groups, -1>(filter);
  return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return concat<-1>(conv2d<How>(images[Index], filters[Index])...);
  }(std::make_index_sequence<static_cast<std::size_t>(Groups)>{});
}
/// Returns the same for a number of groups and options known only at run time.
inline value grouped_conv2d(value x, value filter, std::int64_t groups, convolution const& how = {}) try {
  auto const images = split(x, groups, -1), filters = split(filter, groups, -1);
  std::vector<value> parts;
  for (std::size_t i = 0; i < images.size(); ++i) parts.push_back(conv2d(images[i], filters[i], how));
  return concat(parts, -1);
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill
