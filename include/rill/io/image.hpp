// PNG and JPEG images, distinguished by their first bytes. Needs libpng and libjpeg.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "rill/io/file.hpp"
#include "rill/io/jpeg.hpp"
#include "rill/io/png.hpp"

namespace rill {

/// Decodes a PNG or JPEG image to uint8 [height, width, channels]; see decode_png and decode_jpeg. Throws
/// error(invalid_argument) for other bytes.
inline tensor decode_image(std::string_view bytes, int channels = 0, std::uint64_t most = max_image_bytes,
                           std::function<void()> const& check = {}) try {
  if (is_png(bytes)) return decode_png(bytes, channels, most, check);
  if (is_jpeg(bytes)) return decode_jpeg(bytes, channels, most, check);
  throw error(code::invalid_argument, "these bytes are neither a PNG nor a JPEG image");
} catch (...) {
  rethrow_as_error();
}

/// Decodes the image in a file; every error names the file.
inline tensor read_image(std::filesystem::path const& path, int channels = 0,
                         std::uint64_t most = max_image_bytes) try {
  auto const bytes = read_file(path);
  return files::naming(path, [&] { return decode_image(bytes, channels, most); });
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill
