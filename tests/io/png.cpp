#include "rill/io/png.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <vector>

#include "rill/io/bytes.hpp"
#include "rill/io/crc32.hpp"
#include "rill/io/file.hpp"
#include "scratch.hpp"

namespace rill {
namespace {

std::string bytes_of(char const* name) { return read_file(data_file(name)); }

/// An image of tests/data, decoded; make_images.py prints what TensorFlow gives.
void expect(char const* name, int channels, shape const& s, std::vector<std::uint8_t> const& values) {
  auto const image = decode_png(bytes_of(name), channels);
  EXPECT_EQ(image.type(), type(dtype::uint8, s)) << name;
  EXPECT_EQ(std::vector<std::uint8_t>(image.span<std::uint8_t>().begin(), image.span<std::uint8_t>().end()), values)
      << name << " with " << channels;
}

TEST(png, has_the_channels_of_the_file_or_those_asked_for_as_tensorflow_decodes_them) {
  for (int c : {0, 3})
    expect("rgb.png", c, {2, 3, 3}, {0, 13, 26, 39, 52, 65, 78, 91, 104, 117, 130, 143, 156, 169, 182, 195, 208, 221});
  expect("rgb.png", 1, {2, 3, 1}, {10, 49, 88, 127, 166, 205});
  expect("rgb.png", 4, {2, 3, 4}, {0,   13,  26,  255, 39,  52,  65,  255, 78,  91,  104, 255,
                                   117, 130, 143, 255, 156, 169, 182, 255, 195, 208, 221, 255});
  for (int c : {0, 1}) expect("grey.png", c, {2, 3, 1}, {0, 40, 80, 120, 160, 200});
  expect("grey.png", 3, {2, 3, 3}, {0, 0, 0, 40, 40, 40, 80, 80, 80, 120, 120, 120, 160, 160, 160, 200, 200, 200});
  expect("grey_opacity.png", 0, {2, 2, 2}, {0, 30, 60, 90, 120, 150, 180, 210});
  expect("grey_opacity.png", 1, {2, 2, 1}, {0, 60, 120, 180});
  expect("grey_opacity.png", 3, {2, 2, 3}, {0, 0, 0, 60, 60, 60, 120, 120, 120, 180, 180, 180});
  expect("grey_opacity.png", 4, {2, 2, 4}, {0, 0, 0, 30, 60, 60, 60, 90, 120, 120, 120, 150, 180, 180, 180, 210});
  expect("rgb_opacity.png", 0, {1, 2, 4}, {0, 31, 62, 93, 124, 155, 186, 217});
  expect("rgb_opacity.png", 1, {1, 2, 1}, {25, 149});
  expect("rgb_opacity.png", 3, {1, 2, 3}, {0, 31, 62, 124, 155, 186});
}

TEST(png, knows_palettes_and_samples_of_one_bit_and_of_sixteen) {
  expect("grey_16.png", 0, {2, 2, 1}, {0, 78, 156, 234});
  expect("palette.png", 0, {2, 3, 3}, {255, 0, 0, 0, 255, 0, 10, 20, 30, 10, 20, 30, 0, 255, 0, 255, 0, 0});
  expect("palette.png", 1, {2, 3, 1}, {76, 149, 18, 18, 149, 76});
  expect("palette_opacity.png", 0, {2, 3, 4},
         {255, 0, 0, 128, 0, 255, 0, 64, 10, 20, 30, 255, 10, 20, 30, 255, 0, 255, 0, 64, 255, 0, 0, 128});
  expect("palette_opacity.png", 3, {2, 3, 3}, {255, 0, 0, 0, 255, 0, 10, 20, 30, 10, 20, 30, 0, 255, 0, 255, 0, 0});
  expect("interlaced.png", 0, {3, 3, 1}, {255, 255, 255, 255, 0, 255, 0, 0, 255});
}

TEST(png, gives_full_opacity_to_what_has_none) {
  for (auto const* name : {"grey.png", "grey_16.png", "palette.png", "interlaced.png", "rgb.png"}) {
    auto const image = decode_png(bytes_of(name), 4);
    for (std::int64_t i = 3; i < image.elements(); i += 4) EXPECT_EQ(image.data<std::uint8_t>()[i], 255) << name;
  }
}

/// A chunk of a PNG file.
std::string chunk(std::string const& name, std::string const& data) {
  std::string bytes;
  append_big(bytes, static_cast<std::uint32_t>(data.size()));
  bytes += name + data;
  append_big(bytes, crc32(name + data));
  return bytes;
}

constexpr std::size_t header_end = 33;  // of every PNG file's first chunk

TEST(png, leaves_values_alone_whatever_gamma_the_file_names) {
  expect("gamma.png", 0, {1, 3, 1}, {16, 128, 240});
  auto const rgb = bytes_of("rgb.png");
  std::string gamma;
  append_big(gamma, 100'000u);
  auto const named = std::string(rgb).insert(header_end, chunk("gAMA", gamma));
  EXPECT_TRUE(same_bits(decode_png(named, 1), decode_png(rgb, 1)));
}

TEST(png, passes_over_what_is_no_pixel) {
  auto const rgb = bytes_of("rgb.png");
  for (auto const* name : {"tEXt", "zTXt", "iCCP", "eXIf", "vpAg"}) {
    auto const noted = std::string(rgb).insert(header_end, chunk(name, std::string(100'000, 'x')));
    EXPECT_TRUE(same_bits(decode_png(noted), decode_png(rgb))) << name;
  }
}

TEST(png, returns_what_it_wrote) {
  for (std::int64_t channels = 1; channels <= 4; ++channels) {
    tensor image(dtype::uint8, {37, 53, channels});
    for (std::int64_t i = 0; i < image.elements(); ++i)
      image.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * i * 2654435761u >> 7);
    EXPECT_TRUE(same_bits(decode_png(encode_png(image)), image));
  }
}

TEST(png, is_written_of_images_only) {
  for (auto const& t : {tensor(dtype::uint8, {2, 2}), tensor(dtype::uint8, {2, 0, 3}), tensor(dtype::uint8, {2, 2, 5}),
                        tensor(dtype::float32, {2, 2, 3})})
    EXPECT_EQ(refusal([&] { encode_png(t); }), code::invalid_argument);
}

/// grey.png with a header that claims other extents, and the checksum that belongs to it.
std::string claiming(std::uint32_t width, std::uint32_t height) {
  auto bytes = bytes_of("grey.png");
  std::string head = bytes.substr(12, 4);
  append_big(head, width), append_big(head, height);
  head += bytes.substr(24, 5);
  append_big(head, crc32(head));
  return bytes.replace(12, head.size(), head);
}

TEST(png, refuses_hostile_sizes_before_it_allocates) {
  host_allocator().reset_peak();
  auto const before = host_allocator().usage().peak;
  EXPECT_EQ(refusal([] { decode_png(claiming(0x7fffffff, 0x7fffffff)); }), code::resource_exhausted);
  EXPECT_EQ(refusal([] { decode_png(claiming(0xffffffff, 1)); }), code::data_loss);
  EXPECT_EQ(refusal([] { decode_png(claiming(0, 1)); }), code::data_loss);
  EXPECT_EQ(refusal([] { decode_png(bytes_of("rgb.png"), 0, 17); }), code::resource_exhausted);
  EXPECT_EQ(host_allocator().usage().peak, before);
  EXPECT_EQ(refusal([] { decode_png(claiming(10'000, 10'000)); }), code::data_loss);
}

TEST(png, refuses_wide_rows_before_libpng_takes_memory_for_them) {
  auto const peak = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // in KiB
  };
  auto const before = peak();
  EXPECT_EQ(refusal([] { decode_png(claiming(0x7fffffff, 1)); }), code::resource_exhausted);
  EXPECT_EQ(refusal([] { decode_png(claiming(100'000'000, 1)); }), code::data_loss);
  EXPECT_LT(peak() - before, 64 << 10);
}

TEST(png, ends_where_the_check_throws) {
  auto const bytes = encode_png(tensor(dtype::uint8, {40, 3, 1}));
  int rows = 0;
  auto const check = [&] {
    if (++rows == 17) throw error(code::cancelled, "enough");
  };
  EXPECT_EQ(refusal([&] { decode_png(bytes, 0, max_image_bytes, check); }), code::cancelled);
  EXPECT_EQ(rows, 17);
}

TEST(png, ends_with_an_error_or_an_image_on_damaged_files) {
  for (auto const* name : {"rgb.png", "palette_opacity.png", "interlaced.png", "grey_16.png"}) {
    auto const bytes = bytes_of(name);
    EXPECT_GT(damage(bytes, [](auto const& b) { decode_png(b, 0, 1 << 20); }), bytes.size() * 8) << name;
    EXPECT_GT(damage(bytes, [](auto const& b) { decode_png(b, 1, 1 << 20); }), bytes.size() * 8) << name;
  }
}

TEST(png, says_what_is_wrong) {
  EXPECT_EQ(refusal([] { decode_png("GIF89a"); }), code::invalid_argument);
  EXPECT_EQ(refusal([] { decode_png(bytes_of("rgb.png"), 2); }), code::invalid_argument);
  try {
    decode_png(bytes_of("rgb.png").substr(0, 60));
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.message(), "a PNG image is damaged: it ends too early");
  }
}

}  // namespace
}  // namespace rill
