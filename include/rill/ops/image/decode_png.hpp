// Operation that decodes PNG images. Needs libpng.
#pragma once
#include "rill/io/png.hpp"
#include "rill/ops/image/decoding.hpp"

namespace rill::ops {

struct decode_png_op : image_decoding {
  static constexpr std::string_view name = "decode_png",
                                    doc = "the pixels of a PNG image, uint8 [height, width, channels]";
  static kernel cpu(kernel_request const& r) { return decoding(r, rill::decode_png); }
};

}  // namespace rill::ops

namespace rill {

/// Returns the pixels of a PNG image in a scalar string, uint8 [height, width, channels]: with Channels 1, 3 or 4, or
/// as many as the image has (0). A step fails as `decode_png` of bytes does.
template <std::int64_t Channels = 0, operand X> auto decode_png(X bytes) {
  return record<ops::decode_png_op, ops::image_decoding::attributes{Channels}>(bytes);
}

}  // namespace rill
