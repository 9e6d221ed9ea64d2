#include "rill/type/shape.hpp"

#include <gtest/gtest.h>

namespace rill {
namespace {

constexpr auto most = std::numeric_limits<std::int64_t>::max();

TEST(shape, counts_its_elements) {
  static_assert(elements(shape{}) == 1);
  static_assert(elements(shape{2, 3, 4}) == 24);
  static_assert(elements(shape{2, 0, 4}) == 0);
  static_assert(shape{2, 3}.rank() == 2);
}

TEST(shape, has_no_elements_with_a_zero_as_long_as_the_rest_can_be_counted) {
  static_assert(elements(shape{most / 16, 0}) == 0);
  EXPECT_THROW(elements(shape{most, most, 0}), error);  // strides are products of the rest
  EXPECT_THROW(elements(shape{0, most, most}), error);
}

TEST(shape, refuses_a_number_of_elements_beyond_64_bits) {
  EXPECT_EQ(elements(shape{most / 16, 1}), most / 16);  // elements take 16 bytes at most
  EXPECT_THROW(elements(shape{most, 1}), error);
  EXPECT_THROW(elements(shape{most, 2}), error);
  EXPECT_THROW(elements(shape{std::int64_t{1} << 32, std::int64_t{1} << 31}), error);
}

TEST(shape, refuses_negative_extents) {
  EXPECT_THROW(elements(shape{2, -1}), error);
  EXPECT_THROW(elements(shape{0, -1}), error);
}

TEST(shape, multiplies_extents_with_care) {
  static_assert(checked_product(3, 4) == 12);
  static_assert(checked_product(most, 0) == 0);
  static_assert(checked_product(0, most) == 0);
  EXPECT_THROW(checked_product(most, 2), error);
  EXPECT_THROW(checked_product(-1, 2), error);
  EXPECT_THROW(checked_product(2, -1), error);
}

}  // namespace
}  // namespace rill
