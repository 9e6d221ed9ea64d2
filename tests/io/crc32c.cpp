#include "rill/io/crc32c.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rill {
namespace {

TEST(crc32c, gives_the_published_check_values) {
  static_assert(crc32c("123456789") == 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(crc32c, goes_on_from_what_came_before) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += static_cast<char>(i * 7);
  for (std::size_t cut : {0u, 1u, 7u, 8u, 50u, 100u})
    EXPECT_EQ(crc32c(std::string_view(bytes).substr(cut), crc32c(std::string_view(bytes).substr(0, cut))),
              crc32c(bytes));
}

TEST(crc32c, is_masked_as_tensorflow_masks_it) {
  // The four bytes behind the length 3 of a record in a file that TensorFlow wrote.
  EXPECT_EQ(masked_crc32c(std::string_view("\3\0\0\0\0\0\0\0", 8)), 0x0e4999b0u);
}

}  // namespace
}  // namespace rill
