#include "rill/io/gzip.hpp"

#include <gtest/gtest.h>

#include "scratch.hpp"

namespace rill {
namespace {

TEST(gzip, returns_what_was_compressed) {
  std::string bytes;
  for (unsigned i = 0; i < 100000; ++i) bytes += static_cast<char>(i * i >> 3);
  for (auto const& each : {std::string(), std::string("a"), bytes}) {
    EXPECT_TRUE(is_gzip(gzip(each)));
    EXPECT_EQ(gunzip(gzip(each)), each);
  }
}

TEST(gzip, writes_the_same_file_for_the_same_bytes) { EXPECT_EQ(gzip("rill"), gzip("rill")); }

TEST(gzip, reads_several_files_in_one) { EXPECT_EQ(gunzip(gzip("one ") + gzip("") + gzip("two")), "one two"); }

TEST(gzip, stops_at_the_bound) {
  auto const bomb = gzip(std::string(10'000'000, '\0'));
  EXPECT_LT(bomb.size(), 20'000u);
  EXPECT_EQ(refusal([&] { gunzip(bomb, 1'000'000); }), code::resource_exhausted);
  EXPECT_EQ(gunzip(bomb, 10'000'000).size(), 10'000'000u);
  EXPECT_EQ(gunzip_start(bomb, 10), std::string(10, '\0'));
  EXPECT_EQ(gunzip_start(gzip("abc"), 10), "abc");
}

TEST(gzip, notices_every_lost_byte_and_every_turned_bit_of_its_data) {
  auto const bytes = gzip("a file that is long enough to be worth compressing, compressing, compressing");
  auto const header = 10u;  // whose flags and date may change and say nothing
  EXPECT_GE(damage(bytes, [](auto const& b) { gunzip(b); }), bytes.size() + (bytes.size() - header) * 8);
  EXPECT_EQ(refusal([&] { gunzip(bytes + "x"); }), code::data_loss);
  EXPECT_EQ(refusal([&] { gunzip(bytes.substr(0, 30)); }), code::data_loss);
  EXPECT_EQ(refusal([&] { gunzip(""); }), code::data_loss);
}

}  // namespace
}  // namespace rill
