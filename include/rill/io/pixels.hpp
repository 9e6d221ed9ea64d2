// What image files have in common: pixels as uint8 tensors [height, width, channels], in bounded memory.
#pragma once
#include <cstdint>
#include <string>

#include "rill/base/error.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

/// Decoders make no larger tensor than this unless they are told another bound: 256 MiB.
inline constexpr std::uint64_t most_image_bytes = std::uint64_t{1} << 28;

namespace pixels {

inline void check_channels(int channels) {
  expects(channels == 0 || channels == 1 || channels == 3 || channels == 4,
          "the channels of an image are 0 (as the file has them), 1 (grey), 3 (red, green, blue) or 4 (with opacity)");
}

/// Refuses images without pixels, and those whose tensor would have more than `most` bytes.
inline void check_bound(std::uint64_t height, std::uint64_t width, std::uint64_t channels, std::uint64_t most) {
  if (height == 0 || width == 0) throw error(code::data_loss, "an image has no pixels");
  if (height > most / channels / width)
    throw error(code::resource_exhausted, "an image of " + std::to_string(height) + " x " + std::to_string(width) +
                                              " pixels would take more than the " + std::to_string(most) +
                                              " bytes that it may");
}

/// Room for an image.
inline tensor room(std::uint64_t height, std::uint64_t width, std::uint64_t channels) {
  return tensor(dtype::uint8, {static_cast<std::int64_t>(height), static_cast<std::int64_t>(width),
                               static_cast<std::int64_t>(channels)});
}

}  // namespace pixels

}  // namespace rill
