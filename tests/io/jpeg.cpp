#include "rill/io/jpeg.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "rill/io/file.hpp"
#include "scratch.hpp"

namespace rill {
namespace {

std::string bytes_of(char const* name) { return read_file(data_file(name)); }

/// The values of an image within `tolerance`: libraries may differ by one in the inverse cosine transform.
void expect(tensor const& image, shape const& s, std::vector<int> const& values, int tolerance) {
  ASSERT_EQ(image.type(), type(dtype::uint8, s));
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_LE(std::abs(image.data<std::uint8_t>()[i] - values[i]), tolerance) << i;
}

/// An image as libjpeg compresses it, of the quality 100 and in a space of colours as it stands; in these scans, if
/// any.
std::string compressed(tensor const& image, J_COLOR_SPACE space, std::vector<jpeg_scan_info> const& scans = {}) {
  jpeg_error_mgr errors{};
  jpeg_compress_struct to{};
  to.err = jpeg_std_error(&errors);
  jpeg_create_compress(&to);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&to, &data, &size);
  to.image_height = static_cast<JDIMENSION>(image.shape()[0]),
  to.image_width = static_cast<JDIMENSION>(image.shape()[1]);
  to.input_components = static_cast<int>(image.shape()[2]), to.in_color_space = space;
  jpeg_set_defaults(&to);
  jpeg_set_quality(&to, 100, TRUE);
  if (!scans.empty()) to.scan_info = scans.data(), to.num_scans = static_cast<int>(scans.size());
  jpeg_start_compress(&to, TRUE);
  for (std::int64_t y = 0; y < image.shape()[0]; ++y) {
    auto* row = const_cast<JSAMPLE*>(image.data<std::uint8_t>() + y * image.shape()[1] * image.shape()[2]);
    jpeg_write_scanlines(&to, &row, 1);
  }
  jpeg_finish_compress(&to);
  std::string bytes(reinterpret_cast<char const*>(data), size);
  jpeg_destroy_compress(&to);
  std::free(data);
  return bytes;
}

TEST(jpeg, decodes_to_what_tensorflow_decodes) {
  std::vector<int> const rgb{13,  0,   7,   25,  17,  28,  29,  49,  50,  26,  76,  67,  24,  105, 86, 29,  138, 109,
                             29,  159, 123, 31,  0,   20,  42,  24,  38,  48,  55,  63,  43,  82,  77, 42,  113, 99,
                             47,  145, 120, 47,  166, 136, 63,  8,   39,  73,  33,  57,  79,  65,  82, 76,  91,  96,
                             75,  121, 118, 80,  154, 139, 80,  175, 155, 97,  16,  57,  107, 41,  77, 112, 72,  99,
                             110, 99,  116, 107, 130, 136, 112, 162, 159, 112, 184, 173, 125, 16,  71, 136, 42,  92,
                             141, 73,  114, 139, 100, 131, 136, 131, 151, 140, 162, 173, 141, 185, 188};
  for (int c : {0, 3}) expect(decode_jpeg(bytes_of("rgb.jpg"), c), {5, 7, 3}, rgb, 1);
  expect(decode_jpeg(bytes_of("rgb.jpg"), 1), {5, 7, 1},
         {0,   20,  42,  59, 79, 102, 116, 10,  31,  53,  70, 89, 112, 127, 27,  48,  70, 87,
          107, 130, 144, 44, 65, 87,  104, 123, 146, 160, 55, 75, 98,  114, 134, 157, 171},
         1);
  std::vector<int> const grey{1,  1,  1,  1,   1,   1,   1,   39,  39,  39,  39,  39,  39,  39,  81,  81,  81, 81,
                              81, 81, 81, 123, 123, 123, 123, 123, 123, 123, 157, 157, 157, 157, 157, 157, 157};
  for (int c : {0, 1}) expect(decode_jpeg(bytes_of("grey.jpg"), c), {5, 7, 1}, grey, 1);
}

TEST(jpeg, gives_grey_three_times_and_full_opacity_where_it_is_asked) {
  auto const grey = decode_jpeg(bytes_of("grey.jpg")), rgb = decode_jpeg(bytes_of("grey.jpg"), 3),
             all = decode_jpeg(bytes_of("grey.jpg"), 4);
  ASSERT_EQ(all.type(), (of<std::uint8_t, 5, 7, 4>));
  for (int y = 0; y < 5; ++y)
    for (int x = 0; x < 7; ++x) {
      for (int c = 0; c < 3; ++c) {
        EXPECT_EQ(rgb.at<std::uint8_t>(y, x, c), grey.at<std::uint8_t>(y, x, 0));
        EXPECT_EQ(all.at<std::uint8_t>(y, x, c), grey.at<std::uint8_t>(y, x, 0));
      }
      EXPECT_EQ(all.at<std::uint8_t>(y, x, 3), 255);
    }
}

TEST(jpeg, in_four_inks_becomes_red_green_and_blue) {
  tensor inks(dtype::uint8, {8, 8, 4});
  for (std::int64_t i = 0; i < 64; ++i) {
    std::uint8_t const pixel[] = {255, 128, 0, 128};  // as Adobe stores them: 255 is no ink
    std::copy_n(pixel, 4, inks.mutable_data<std::uint8_t>() + i * 4);
  }
  auto const bytes = compressed(inks, JCS_CMYK);  // with Adobe's marker
  expect(decode_jpeg(bytes), {8, 8, 3}, {128, 64, 0}, 2);
  expect(decode_jpeg(bytes, 4), {8, 8, 4}, {128, 64, 0, 255}, 2);
  EXPECT_EQ(refusal([&] { decode_jpeg(bytes, 1); }), code::unimplemented);
}

TEST(jpeg, refuses_sizes_beyond_the_bound_before_it_allocates) {
  auto huge = bytes_of("rgb.jpg");
  auto const frame = huge.find("\xff\xc0");
  huge.replace(frame + 5, 4, "\xfe\xff\xfe\xff");
  host_allocator().reset_peak();
  auto const before = host_allocator().usage().peak;
  EXPECT_EQ(refusal([&] { decode_jpeg(huge); }), code::resource_exhausted);
  EXPECT_EQ(refusal([] { decode_jpeg(bytes_of("rgb.jpg"), 0, 104); }), code::resource_exhausted);
  EXPECT_EQ(host_allocator().usage().peak, before);
}

/// A grey image whose last scan stands there `more` times more. It says nothing new, which the format allows.
std::string with_scans(std::int64_t height, std::int64_t width, int more) {
  tensor grey(dtype::uint8, {height, width, 1});
  for (std::int64_t i = 0; i < grey.elements(); ++i)
    grey.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i % 251);
  auto bytes = compressed(grey, JCS_GRAYSCALE, {{1, {0}, 0, 0, 0, 0}, {1, {0}, 1, 63, 0, 0}});
  auto const last = bytes.rfind("\xff\xda"), end = bytes.rfind("\xff\xd9");
  auto const scan = bytes.substr(last, end - last);
  bytes.resize(end);
  for (int i = 0; i < more; ++i) bytes += scan;
  return bytes + "\xff\xd9";
}

TEST(jpeg, refuses_more_scans_than_encoders_write) {
  EXPECT_TRUE(same_bits(decode_jpeg(with_scans(8, 8, 498)), decode_jpeg(with_scans(8, 8, 0))));
  auto const e = error_of([] { decode_jpeg(with_scans(8, 8, 499)); });
  EXPECT_EQ(e.code(), code::resource_exhausted);
  EXPECT_EQ(e.message(), "a JPEG image of 8 x 8 pixels has more than the 500 scans allowed");
  EXPECT_NO_THROW(decode_jpeg(with_scans(1000, 700, 189)));
  EXPECT_EQ(refusal([] { decode_jpeg(with_scans(1000, 700, 190)); }), code::resource_exhausted);
  EXPECT_EQ(jpeg::max_scans(std::uint64_t{1} << 26), 20);
}

TEST(jpeg, ends_where_the_check_throws) {
  for (auto const& bytes : {compressed(tensor(dtype::uint8, {400, 3, 1}), JCS_GRAYSCALE), with_scans(400, 3, 5)}) {
    int rows = 0;
    auto const check = [&] {
      if (++rows == 17) throw error(code::cancelled, "enough");
    };
    EXPECT_EQ(refusal([&] { decode_jpeg(bytes, 0, max_image_bytes, check); }), code::cancelled);
    EXPECT_EQ(rows, 17);
  }
}

TEST(jpeg, refuses_more_pixels_than_its_bytes_can_hold_before_it_allocates) {
  auto huge = bytes_of("grey.jpg");
  huge.replace(huge.find("\xff\xc0") + 5, 4, "\x30\x20\x30\x20");
  host_allocator().reset_peak();
  auto const before = host_allocator().usage().peak;
  EXPECT_EQ(refusal([&] { decode_jpeg(huge); }), code::data_loss);
  EXPECT_EQ(host_allocator().usage().peak, before);
}

TEST(jpeg, refuses_what_ends_too_early_or_is_damaged) {
  for (auto const* name : {"rgb.jpg", "grey.jpg"}) {
    auto const bytes = bytes_of(name);
    for (std::size_t n = 0; n + 2 < bytes.size(); ++n)
      EXPECT_THROW(decode_jpeg(bytes.substr(0, n)), error) << name << " " << n;
    EXPECT_GT(damage(bytes, [](auto const& b) { decode_jpeg(b, 0, 1 << 20); }), bytes.size() * 2);
  }
  EXPECT_EQ(refusal([] { decode_jpeg(bytes_of("rgb.jpg").substr(0, 200)); }), code::data_loss);
  EXPECT_EQ(refusal([] { decode_jpeg("\x89PNG"); }), code::invalid_argument);
  EXPECT_EQ(refusal([] { decode_jpeg(bytes_of("rgb.jpg"), 2); }), code::invalid_argument);
}

}  // namespace
}  // namespace rill
