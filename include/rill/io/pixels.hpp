// Functions shared by image decoders: pixels as uint8 tensors [height, width, channels], in bounded memory.
#pragma once
#include <cstdint>
#include <string>

#include "rill/base/error.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

/// The default bound on the bytes of a decoded image: 256 MiB.
inline constexpr std::uint64_t max_image_bytes = std::uint64_t{1} << 28;

namespace pixels {

inline void check_channels(int channels) {
  expects(channels == 0 || channels == 1 || channels == 3 || channels == 4,
          "the channels of an image must be 0 (as in the file), 1 (grey), 3 (red, green, blue) or 4 (with opacity)");
}

/// Throws for an image without pixels, and for one whose tensor would have more than `most` bytes.
inline void check_bound(std::uint64_t height, std::uint64_t width, std::uint64_t channels, std::uint64_t most) {
  if (height == 0 || width == 0) throw error(code::data_loss, "an image has no pixels");
  if (height > most / channels / width)
    throw error(code::resource_exhausted, "an image of " + std::to_string(height) + " x " + std::to_string(width) +
                                              " pixels takes more than the " + std::to_string(most) + " bytes allowed");
}

/// Allocates the tensor of an image.
inline tensor room(std::uint64_t height, std::uint64_t width, std::uint64_t channels) {
  return tensor(dtype::uint8, {static_cast<std::int64_t>(height), static_cast<std::int64_t>(width),
                               static_cast<std::int64_t>(channels)});
}

}  // namespace pixels

}  // namespace rill
