// Operation that decodes JPEG images. Needs libjpeg.
#pragma once
#include "rill/io/jpeg.hpp"
#include "rill/ops/image/decoding.hpp"

namespace rill::ops {

struct decode_jpeg_op : image_decoding {
  static constexpr std::string_view name = "decode_jpeg",
                                    doc = "the pixels of a JPEG image, uint8 [height, width, channels]";
  static kernel cpu(kernel_request const& r) { return decoding(r, rill::decode_jpeg); }
};

}  // namespace rill::ops

namespace rill {

/// Returns the pixels of a JPEG image in a scalar string, uint8 [height, width, channels]: with Channels 1, 3 or 4, or
/// as many as the image has (0). A step fails as `decode_jpeg` of bytes does.
template <std::int64_t Channels = 0, operand X> auto decode_jpeg(X bytes) {
  return record<ops::decode_jpeg_op, ops::image_decoding::attributes{Channels}>(bytes);
}

}  // namespace rill
