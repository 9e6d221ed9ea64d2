#include "rill/base/utf8.hpp"

#include <gtest/gtest.h>

namespace rill {
namespace {

TEST(utf8, returns_every_character) {
  for (char32_t c = 0; c <= 0x10ffff; ++c) {
    if (!is_character(c)) continue;
    std::string bytes;
    append_utf8(bytes, c);
    ASSERT_EQ(decode_utf8(bytes), std::u32string(1, c));
  }
}

TEST(utf8, knows_what_is_no_character) {
  EXPECT_FALSE(is_character(0xd800));
  EXPECT_FALSE(is_character(0x110000));
}

TEST(utf8, refuses_bytes_that_are_cut_overlong_or_surrogates) {
  for (std::string const bytes : {"\xff", "\x80", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xc0\x80", "\xe0\x80\x80",
                                  "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\xc3z"})
    EXPECT_FALSE(decode_utf8(bytes)) << bytes;
  EXPECT_EQ(decode_utf8(""), std::u32string());
}

TEST(utf8, makes_of_any_bytes_what_can_be_shown) {
  using namespace std::string_literals;
  EXPECT_EQ(readable("a line\n\tand \xe2\x82\xac \xf0\x9f\x98\x80\n"), "a line\n\tand \xe2\x82\xac \xf0\x9f\x98\x80\n");
  EXPECT_EQ(readable("\0a\x1b[2J\r\x7f"s), "\\x00a\\x1b[2J\\x0d\\x7f");
  EXPECT_EQ(readable("\xff\xe2\x82 \xc2\x9b\xed\xa0\x80"), "\\xff\\xe2\\x82 \\xc2\\x9b\\xed\\xa0\\x80");
  EXPECT_EQ(readable(""), "");
}

}  // namespace
}  // namespace rill
