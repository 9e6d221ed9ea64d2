#include "rill/io/idx.hpp"

#include <gtest/gtest.h>

#include "scratch.hpp"

namespace rill {
namespace {

std::string const two_pixels{0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 7, -1};

TEST(idx, reads_images_as_mnist_stores_them) {
  auto const t = parse_idx(two_pixels);
  EXPECT_EQ(t.type(), (of<std::uint8_t, 1, 1, 2>));
  EXPECT_EQ(t.at<std::uint8_t>(0, 0, 1), 255);
}

TEST(idx, reads_the_highest_byte_first) {
  std::string const bytes{0, 0, 0x0b, 1, 0, 0, 0, 2, 1, 2, -1, -2};
  EXPECT_TRUE(same_bits(parse_idx(bytes), vector<std::int16_t>({0x0102, -2})));
}

TEST(idx, returns_every_type_and_rank_that_it_writes_plain_and_compressed) {
  scratch dir;
  std::vector<tensor> const each{vector<std::uint8_t>({1, 2}),    vector<std::int8_t>({-1}),
                                 vector<std::int16_t>({-300, 5}), matrix<std::int32_t>({{1, -70000}}),
                                 matrix<float>({{1.5f}, {-2}}),   tensor(2.25),
                                 tensor(dtype::uint8, {0, 28})};
  for (auto const& t : each) {
    EXPECT_TRUE(same_bits(parse_idx(idx_bytes(t)), t));
    for (auto const* name : {"a.idx", "a.idx.gz"}) {
      write_idx(dir / name, t);
      EXPECT_TRUE(same_bits(read_idx(dir / name), t));
    }
  }
}

TEST(idx, refuses_types_that_the_format_does_not_have) {
  EXPECT_EQ(refusal([] { idx_bytes(vector<std::int64_t>({1})); }), code::unimplemented);
  EXPECT_EQ(refusal([] { idx_bytes(tensor(std::string("a"))); }), code::unimplemented);
  auto unknown = two_pixels;
  unknown[2] = 0x0a;
  EXPECT_EQ(refusal([&] { parse_idx(unknown); }), code::invalid_argument);
}

TEST(idx, refuses_what_is_longer_or_shorter_than_its_header_says) {
  EXPECT_EQ(refusal([] { parse_idx(two_pixels + "x"); }), code::data_loss);
  EXPECT_EQ(refusal([] { parse_idx(gzip(two_pixels + "x")); }), code::resource_exhausted);
  EXPECT_EQ(refusal([] { parse_idx(gzip(two_pixels.substr(0, 17))); }), code::data_loss);
  EXPECT_EQ(refusal([] { parse_idx(""); }), code::invalid_argument);
}

TEST(idx, refuses_hostile_sizes_before_it_allocates) {
  std::string huge{0, 0, 14, 3};
  huge += std::string(12, -1);
  std::string deep{0, 0, 8, 9};
  deep += std::string(36, 1);
  std::string const large = std::string{0, 0, 8, 1, 127, 0, 0, 0};
  host_allocator().reset_peak();
  auto const before = host_allocator().usage().peak;
  EXPECT_EQ(refusal([&] { parse_idx(huge); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { parse_idx(gzip(huge)); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { parse_idx(deep); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { parse_idx(large); }), code::data_loss);
  EXPECT_EQ(refusal([&] { parse_idx(gzip(large), 1000); }), code::resource_exhausted);
  EXPECT_EQ(refusal([&] { parse_idx(gzip(std::string(10'000'000, '\0'))); }), code::invalid_argument);
  EXPECT_EQ(host_allocator().usage().peak, before);
}

TEST(idx, ends_with_an_error_or_a_tensor_on_damaged_files) {
  EXPECT_GE(damage(two_pixels, [](auto const& b) { parse_idx(b); }), two_pixels.size());
  EXPECT_GE(damage(gzip(two_pixels), [](auto const& b) { parse_idx(b, 1 << 20); }), two_pixels.size());
}

}  // namespace
}  // namespace rill
