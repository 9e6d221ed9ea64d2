// Operation that decodes PNG and JPEG images. Needs libpng and libjpeg.
#pragma once
#include "rill/io/image.hpp"
#include "rill/ops/image/decoding.hpp"

namespace rill::ops {

struct decode_image_op : image_decoding {
  static constexpr std::string_view name = "decode_image",
                                    doc = "the pixels of a PNG or JPEG image, uint8 [height, width, channels]";
  static kernel cpu(kernel_request const& r) { return decoding(r, rill::decode_image); }
};

}  // namespace rill::ops

namespace rill {

/// Returns the pixels of a PNG or JPEG image in a scalar string, uint8 [height, width, channels]: with Channels 1, 3 or
/// 4, or as many as the image has (0). A step fails as `decode_image` of bytes does.
template <std::int64_t Channels = 0, operand X> auto decode_image(X bytes) {
  return record<ops::decode_image_op, ops::image_decoding::attributes{Channels}>(bytes);
}

}  // namespace rill
