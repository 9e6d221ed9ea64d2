#include "rill/io/bytes.hpp"

#include <gtest/gtest.h>

namespace rill {
namespace {

TEST(bytes, reads_and_writes_numbers_in_either_order) {
  std::string s;
  append_little(s, std::uint32_t{0x01020304});
  append_big(s, std::uint16_t{0xfe01});
  EXPECT_EQ(s, "\x04\x03\x02\x01\xfe\x01");
  EXPECT_EQ(load_little<std::uint32_t>(s.data()), 0x01020304u);
  EXPECT_EQ(load_big<std::uint32_t>(s.data()), 0x04030201u);
  EXPECT_EQ(load_big<std::uint16_t>(&s[4]), 0xfe01);
}

TEST(bytes, turns_each_number_around) {
  char text[] = "abcdefgh";
  reverse_bytes(text, 2, 4);
  EXPECT_STREQ(text, "dcbahgfe");
}

}  // namespace
}  // namespace rill
