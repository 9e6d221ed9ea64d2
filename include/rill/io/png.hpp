// Decodes and encodes PNG images. Needs libpng.
#pragma once
#if !__has_include(<png.h>)
#error "rill: PNG images need libpng; on Debian and Ubuntu: apt-get install libpng-dev"
#endif
#include <png.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rill/io/jump.hpp"
#include "rill/io/pixels.hpp"

namespace rill {

/// Whether `bytes` begin as a PNG image does.
inline bool is_png(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n\x1a\n"); }

namespace png {

/// Decodes one image. libpng's errors arrive through `errors_`; its warnings are ignored, because a program can't act
/// on them.
class decoder {
 public:
  decoder(std::string_view bytes, std::function<void()> const& check)
      : rest_(bytes), size_(bytes.size()), interruption_(check) {
    if (!is_png(bytes)) throw error(code::invalid_argument, "these bytes are not a PNG image");
    png_ = png_create_read_struct(
        PNG_LIBPNG_VER_STRING, &errors_,
        [](png_structp p, png_const_charp what) { static_cast<files::jump*>(png_get_error_ptr(p))->leave(what); },
        [](png_structp, png_const_charp) {});
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, &info_, nullptr);
      throw error(code::resource_exhausted, "libpng has no memory to read an image");
    }
  }
  decoder(decoder const&) = delete;
  decoder& operator=(decoder const&) = delete;
  ~decoder() { png_destroy_read_struct(&png_, &info_, nullptr); }

  tensor decode(int channels, std::uint64_t most) {
    step([&] {
      png_set_read_fn(png_, this, take);
      png_set_read_status_fn(png_, pause);
      png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // the bound is `most`, for the whole image
      leave_out_chunks();
      png_read_info(png_, info_);
    });
    std::uint64_t const width = png_get_image_width(png_, info_), height = png_get_image_height(png_, info_);
    kind const from = kind_of_file(), to = from.with(channels);
    // Checked before libpng allocates memory for its transformations, several times the bytes of a row.
    pixels::check_bound(height, width, to.channels(), most);
    check_claim(height);
    step([&] { transform(from, to); });
    if (png_get_channels(png_, info_) != to.channels())
      throw error(code::internal, "libpng returned an unexpected number of channels");
    auto image = pixels::room(height, width, to.channels());
    std::vector<png_bytep> rows(height);
    auto const row_bytes = static_cast<std::size_t>(image.bytes() / height);
    if (png_get_rowbytes(png_, info_) != row_bytes)
      throw error(code::internal, "libpng returned rows of an unexpected size");
    for (std::size_t i = 0; i < height; ++i) rows[i] = image.mutable_data<std::uint8_t>() + i * row_bytes;
    step([&] {
      png_read_image(png_, rows.data());
      png_read_end(png_, nullptr);
    });
    return image;
  }

 private:
  /// The channels of a pixel.
  struct kind {
    bool colour, opacity;
    unsigned channels() const { return (colour ? 3u : 1u) + (opacity ? 1u : 0u); }
    /// Returns the kind with the given number of channels; unchanged for 0.
    kind with(int channels) const { return channels == 0 ? *this : kind{channels >= 3, channels == 4}; }
  };

  template <class F> void step(F const& f) {
    if (files::attempt(errors_, f)) return;
    interruption_.rethrow();
    throw error(code::data_loss, std::string("a PNG image is damaged: ") + errors_.words);
  }

  /// Of the chunks other than pixels, only palette and transparency are read: texts and profiles may each expand to
  /// megabytes, and a gamma would change how colours become grey.
  void leave_out_chunks() {
    static constexpr char names[] =
        "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0sCAL\0sPLT\0sRGB\0tEXt\0tIME\0zTXt";
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, reinterpret_cast<png_const_bytep>(names),
                                static_cast<int>(sizeof names / 5));
  }
  kind kind_of_file() const {
    int const colours = png_get_color_type(png_, info_);
    return {(colours & PNG_COLOR_MASK_COLOR) != 0,
            (colours & PNG_COLOR_MASK_ALPHA) != 0 || png_get_valid(png_, info_, PNG_INFO_tRNS) != 0};
  }

  /// Converts samples to 8 bits, palettes to colours and a transparent colour to opacity, then adds or removes
  /// channels. Values stay as in the file, whatever its gamma; grey is the luminance of ITU-R BT.601, as in JPEG.
  void transform(kind from, kind to) {
    png_set_expand(png_);
    png_set_strip_16(png_);
    if (to.colour && !from.colour) png_set_gray_to_rgb(png_);
    if (!to.colour && from.colour) png_set_rgb_to_gray(png_, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
    if (!to.opacity && from.opacity) png_set_strip_alpha(png_);
    if (to.opacity && !from.opacity) png_set_add_alpha(png_, 0xff, PNG_FILLER_AFTER);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
  }
  /// Throws if the file is too small for its pixels: deflate encodes at most 258 bytes in two bits.
  void check_claim(std::uint64_t height) const {
    if (png_get_rowbytes(png_, info_) > size_ * 1032 / height)
      throw error(code::data_loss, "a PNG image claims more pixels than its bytes can encode");
  }
  static decoder& of(png_structp p) { return *static_cast<decoder*>(png_get_io_ptr(p)); }
  static void pause(png_structp p, png_uint_32, int) {
    if (of(p).interruption_.requested()) png_error(p, "");
  }
  static void take(png_structp p, png_bytep to, std::size_t n) {
    auto& rest = of(p).rest_;
    if (n > rest.size()) png_error(p, "it ends too early");
    std::memcpy(to, rest.data(), n);
    rest.remove_prefix(n);
  }

  std::string_view rest_;
  std::size_t size_;
  files::interruption interruption_;
  files::jump errors_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace png

/// Decodes a PNG image to uint8 [height, width, channels]: channels as in the file (1 grey, 2 grey with opacity, 3 red,
/// green and blue, 4 with opacity), or 1, 3 or 4 as requested. Opacity that was not requested is dropped, and is full
/// if the file has none; 16-bit samples keep their upper 8 bits. Throws error(invalid_argument) for other bytes,
/// error(data_loss) if the image is damaged, and error(resource_exhausted) if it would take more than `most` bytes,
/// before they are allocated. `check` is called for each row; an exception from it ends the work.
inline tensor decode_png(std::string_view bytes, int channels = 0, std::uint64_t most = max_image_bytes,
                         std::function<void()> const& check = {}) try {
  pixels::check_channels(channels);
  return png::decoder(bytes, check).decode(channels, most);
} catch (...) {
  rethrow_as_error();
}

/// Encodes an image, uint8 [height, width, 1 to 4 channels], to the bytes of a PNG file; throws error(invalid_argument)
/// for other tensors.
inline std::string encode_png(tensor const& image) try {
  expects(image.element() == dtype::uint8 && image.rank() == 3 && image.elements() > 0 && image.shape()[2] <= 4 &&
              std::max(image.shape()[0], image.shape()[1]) <= 1'000'000,
          "encode_png: the image must be uint8 [height, width, channels] with 1 to 4 channels and up to 1000000 pixels "
          "along each side");
  constexpr png_uint_32 formats[] = {PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB, PNG_FORMAT_RGBA};
  png_image about{};
  about.version = PNG_IMAGE_VERSION;
  about.height = static_cast<png_uint_32>(image.shape()[0]);
  about.width = static_cast<png_uint_32>(image.shape()[1]);
  about.format = formats[image.shape()[2] - 1];
  auto size = image.bytes() + image.bytes() / 100 + static_cast<std::size_t>(about.height) * 8 + 4096;
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&about, bytes.data(), &size, 0, image.to(host).raw(), 0, nullptr) == 0)
    throw error(code::internal, std::string("libpng couldn't write an image: ") + about.message);
  bytes.resize(size);
  return bytes;
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill
