// Decodes JPEG images. Needs libjpeg or libjpeg-turbo.
#pragma once
#if !__has_include(<jpeglib.h>)
#error "rill: JPEG images need libjpeg or libjpeg-turbo; on Debian and Ubuntu: apt-get install libjpeg-dev"
#endif
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>  // needed before jpeglib.h
#include <functional>
#include <string>
#include <string_view>

#include <jerror.h>
#include <jpeglib.h>

#include "rill/io/jump.hpp"
#include "rill/io/pixels.hpp"

namespace rill {

/// Whether `bytes` begin as a JPEG image does.
inline bool is_jpeg(std::string_view bytes) { return bytes.starts_with("\xff\xd8\xff"); }

namespace jpeg {

/// Handles libjpeg's errors, and its warnings about lost pixels, which it would fill with grey.
struct error_manager : jpeg_error_mgr {
  files::jump jump;

  error_manager() : jpeg_error_mgr{} {
    jpeg_std_error(this);
    error_exit = [](j_common_ptr image) { leave(image); };
    emit_message = [](j_common_ptr image, int level) {
      auto const what = image->err->msg_code;
      bool const harmless = what == JWRN_EXTRANEOUS_DATA || what == JWRN_JFIF_MAJOR || what == JWRN_ADOBE_XFORM;
      if (level < 0 && !harmless) leave(image);
    };
  }

 private:
  [[noreturn]] static void leave(j_common_ptr image) {
    char words[JMSG_LENGTH_MAX] = "";
    image->err->format_message(image, words);
    static_cast<error_manager*>(image->err)->jump.leave(words);
  }
};

/// Returns the most scans that an image of `pixels` pixels may have. A scan of a few bytes can cover the whole image,
/// so that a file of 300 kB could take minutes. Encoders write about 10, at most 20; libjpeg-turbo recommends 500 for
/// untrusted files.
inline int max_scans(std::uint64_t pixels) {
  constexpr std::uint64_t pixels_passed = std::uint64_t{1} << 27;  // about a second
  return static_cast<int>(std::clamp<std::uint64_t>(pixels_passed / std::max<std::uint64_t>(pixels, 1), 20, 500));
}

/// Decodes one image.
class decoder {
 public:
  decoder(std::string_view bytes, std::function<void()> const& check) : bytes_(bytes), progress_(check) {
    if (!is_jpeg(bytes)) throw error(code::invalid_argument, "these bytes are not a JPEG image");
    image_.err = &errors_;
  }
  decoder(decoder const&) = delete;
  decoder& operator=(decoder const&) = delete;
  ~decoder() { jpeg_destroy_decompress(&image_); }

  tensor decode(int channels, std::uint64_t most) {
    step([&] {
      jpeg_create_decompress(&image_);
      jpeg_mem_src(&image_, reinterpret_cast<unsigned char const*>(bytes_.data()),
                   static_cast<unsigned long>(bytes_.size()));
      image_.progress = &progress_;
      jpeg_read_header(&image_, TRUE);
    });
    std::uint64_t const pixels = std::uint64_t{image_.image_height} * image_.image_width;
    progress_.max_scans = max_scans(pixels);
    bool const inks = image_.num_components == 4;
    if (inks && channels == 1)
      throw error(code::unimplemented, "a JPEG image in four inks (CMYK) can't be decoded to grey: ask for 3 channels");
    auto const wanted = static_cast<unsigned>(channels > 0 ? channels : image_.num_components == 1 ? 1 : 3);
    pixels::check_bound(image_.image_height, image_.image_width, wanted, most);
    // Each block of 8 x 8 pixels takes at least one bit, except with arithmetic coding.
    if (image_.arith_code == FALSE && pixels / 512 > bytes_.size())
      throw error(code::data_loss, "a JPEG image claims more pixels than its bytes can encode");
    auto result = pixels::room(image_.image_height, image_.image_width, wanted);
    image_.out_color_space = inks ? JCS_CMYK : wanted == 1 ? JCS_GRAYSCALE : JCS_RGB;
    // libjpeg returns rows of three or four bytes a pixel, which are converted to the requested channels.
    std::string row(std::size_t{image_.image_width} * 4, '\0');
    step([&] {
      jpeg_start_decompress(&image_);
      auto* to = result.mutable_data<std::uint8_t>();
      for (; image_.output_scanline < image_.output_height; to += std::size_t{image_.output_width} * wanted) {
        auto* line = reinterpret_cast<JSAMPLE*>(row.data());
        jpeg_read_scanlines(&image_, &line, 1);
        copy_row(line, to, wanted, inks);
      }
      jpeg_finish_decompress(&image_);
    });
    return result;
  }

 private:
  /// libjpeg's progress report, where the work is ended if the callback asks for it or the image has too many scans.
  struct progress : jpeg_progress_mgr {
    files::interruption interruption;
    int max_scans = 0;
    bool too_many_scans = false;

    explicit progress(std::function<void()> const& check) : jpeg_progress_mgr{}, interruption(check) {
      progress_monitor = [](j_common_ptr image) {
        auto& p = *static_cast<progress*>(image->progress);
        p.too_many_scans = reinterpret_cast<j_decompress_ptr>(image)->input_scan_number > p.max_scans;
        if (p.too_many_scans || p.interruption.requested()) static_cast<error_manager*>(image->err)->jump.leave("");
      };
    }
  };

  template <class F> void step(F const& f) {
    if (files::attempt(errors_.jump, f)) return;
    progress_.interruption.rethrow();
    if (progress_.too_many_scans)
      throw error(code::resource_exhausted, "a JPEG image of " + std::to_string(image_.image_height) + " x " +
                                                std::to_string(image_.image_width) + " pixels has more than the " +
                                                std::to_string(progress_.max_scans) + " scans allowed");
    throw error(code::data_loss, std::string("a JPEG image is damaged: ") + errors_.jump.words);
  }

  void copy_row(JSAMPLE const* from, std::uint8_t* to, unsigned channels, bool inks) const noexcept {
    auto const given = static_cast<unsigned>(image_.output_components);
    auto const kept = channels == 1 ? 1u : 3u;
    for (JDIMENSION x = 0; x < image_.output_width; ++x, from += given, to += channels) {
      for (unsigned c = 0; c < kept; ++c) to[c] = inks ? light(from[c], from[3]) : from[c];
      if (channels == 4) to[3] = 0xff;
    }
  }
  /// Returns the light that a coloured ink and black leave of white; Adobe's programs store inverted inks.
  std::uint8_t light(unsigned ink, unsigned black) const noexcept {
    if (image_.saw_Adobe_marker == FALSE) ink = 255 - ink, black = 255 - black;
    return static_cast<std::uint8_t>(ink * black / 255);
  }

  std::string_view bytes_;
  error_manager errors_;
  progress progress_;
  jpeg_decompress_struct image_{};
};

}  // namespace jpeg

/// Decodes a JPEG image to uint8 [height, width, channels]: 1 or 3 channels as in the file, or 1, 3 or 4 (with full
/// opacity) as requested. CMYK images become RGB. Throws error(invalid_argument) for other bytes, error(data_loss) if
/// the image is damaged or truncated, and error(resource_exhausted) if it would take more than `most` bytes, before
/// they are allocated, or has more scans than `jpeg::max_scans`. `check` is called for each row of blocks of each scan;
/// an exception from it ends the work.
inline tensor decode_jpeg(std::string_view bytes, int channels = 0, std::uint64_t most = max_image_bytes,
                          std::function<void()> const& check = {}) try {
  pixels::check_channels(channels);
  return jpeg::decoder(bytes, check).decode(channels, most);
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill
