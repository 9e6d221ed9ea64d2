#include "rill/type/dim.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/sentence.hpp"
#include "rill/type/type.hpp"

namespace rill {
namespace {

TEST(dim, is_a_number_a_name_or_unknown) {
  constexpr dim number = 3, name = "batch";
  static_assert(number.known() && !number.named());
  static_assert(!name.known() && name.named());
  static_assert(!unknown.known() && !unknown.named());
  EXPECT_EQ(number.text(), "3");
  EXPECT_EQ(name.text(), "batch");
  EXPECT_EQ(unknown.text(), "?");
}

TEST(dim, is_no_negative_number_but_minus_one_for_unknown) {
  static_assert(dim(-1) == unknown && dim(std::int8_t{-1}) == unknown);
  for (std::int64_t extent : {std::int64_t{-2}, std::int64_t{-7}, INT64_MIN})
    EXPECT_EQ(refusal([&] { type(dtype::float32, {extent}); }), code::invalid_argument) << extent;
  EXPECT_EQ(refusal([] { dim(UINT64_MAX); }), code::invalid_argument);
  EXPECT_EQ(refusal([] { type(dtype::float32, shape{2, -7}); }), code::invalid_argument);
  EXPECT_EQ(dim(INT64_MAX).extent, INT64_MAX);
}

TEST(dim, equals_only_its_like) {
  static_assert(dim("n") == dim("n"));
  static_assert(dim("n") != dim("m"));
  static_assert(dim("n") != unknown);
  static_assert(dim(3) != dim(4));
}

TEST(dim, may_turn_out_equal_unless_both_are_numbers_that_differ) {
  static_assert(may_equal(3, 3));
  static_assert(!may_equal(3, 4));
  static_assert(may_equal(3, "n"));
  static_assert(may_equal("n", "m"));
  static_assert(may_equal(unknown, 0));
}

TEST(dim, takes_names_of_eleven_characters_and_no_empty_ones) {
  static_assert(dim("elevenchars").named());
  static_assert(!std::is_constructible_v<dim, char const(&)[13]>);
  static_assert(!std::is_constructible_v<dim, char const(&)[1]>);
}

}  // namespace
}  // namespace rill
