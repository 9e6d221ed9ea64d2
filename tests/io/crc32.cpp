#include "rill/io/crc32.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rill {
namespace {

TEST(crc32, gives_the_published_check_value) {
  static_assert(crc32("123456789") == 0xcbf43926u);
  EXPECT_EQ(crc32(""), 0u);
}

TEST(crc32, goes_on_from_what_came_before) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += static_cast<char>(i * 7);
  for (std::size_t cut : {0u, 1u, 7u, 8u, 500u, 1000u})
    EXPECT_EQ(crc32(std::string_view(bytes).substr(cut), crc32(std::string_view(bytes).substr(0, cut))), crc32(bytes));
}

}  // namespace
}  // namespace rill
