#include "rill/type/type.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"

namespace rill {
namespace {

TEST(type, has_an_element_and_extents) {
  constexpr auto t = of<float, "batch", unknown, 64>;
  static_assert(t.element == dtype::float32 && t.rank == 3 && !t.is_known() && !t.is_scalar());
  static_assert(t[0] == dim("batch") && t[1] == unknown && t[2] == dim(64));
  static_assert(of<int>.is_scalar() && of<int>.is_known());
  EXPECT_EQ(t.text(), "float32[batch, ?, 64]");
  EXPECT_EQ(of<bool>.text(), "bool[]");
  EXPECT_EQ(type::of_unknown_rank(dtype::string).text(), "string[...]");
}

TEST(type, has_the_article_that_its_name_is_spoken_with) {
  EXPECT_EQ(with_article(of<std::int32_t, 2>), "an int32[2]");
  EXPECT_EQ(with_article(of<std::uint8_t, 2>), "a uint8[2]");
  EXPECT_EQ(with_article(of<float, "n", 3>), "a float32[n, 3]");
}

TEST(type, knows_its_shape_only_when_all_extents_are_numbers) {
  EXPECT_EQ((of<float, 2, 3>.shape()), (shape{2, 3}));
  EXPECT_THROW((of<float, "n">.shape()), error);
  EXPECT_THROW(type::of_unknown_rank(dtype::int8).shape(), error);
  EXPECT_EQ(type(dtype::int8, shape{2, 0}), (of<std::int8_t, 2, 0>));
}

TEST(type, has_a_rank_of_at_most_eight) {
  type t(dtype::float32, {1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_THROW(t.push_back(1), error);
}

TEST(type, changes_its_element_alone) { static_assert(of<float, "n", 2>.with(dtype::boolean) == of<bool, "n", 2>); }

TEST(broadcasting, takes_equal_extents_and_ones_from_the_right) {
  static_assert(broadcast(of<float, 2, 3>, of<float, 3>) == of<float, 2, 3>);
  static_assert(broadcast(of<float, 2, 1>, of<float, 1, 3>) == of<float, 2, 3>);
  static_assert(broadcast(of<float>, of<float, 4>) == of<float, 4>);
  static_assert(broadcast(of<float, 0>, of<float, 1>) == of<float, 0>);
  static_assert(broadcast(of<float, "n", 1>, of<float, "n", 5>) == of<float, "n", 5>);
}

TEST(broadcasting, leaves_open_what_only_the_run_can_know) {
  static_assert(broadcast(of<float, unknown>, of<float, 3>) == of<float, 3>);
  static_assert(broadcast(of<float, unknown>, of<float, "n">) == of<float, unknown>);
  static_assert(broadcast(of<float, unknown>, of<float, 1>) == of<float, unknown>);
  static_assert(!broadcast(type::of_unknown_rank(dtype::float32), of<float, 3>).has_rank());
}

TEST(broadcasting, refuses_extents_that_differ) {
  EXPECT_THROW(broadcast(of<float, 2>, of<float, 3>), error);
  EXPECT_THROW(broadcast(of<float, "n">, of<float, "m">), error);
  EXPECT_THROW(broadcast(of<float, "n">, of<float, 3>), error);
  EXPECT_THROW(broadcast(of<float, 0>, of<float, 2>), error);
}

TEST(agreement, gives_the_more_specific_extent) {
  static_assert(agree(3, 3, "") == dim(3));
  static_assert(agree(unknown, 3, "") == dim(3));
  static_assert(agree("n", unknown, "") == dim("n"));
  EXPECT_THROW(agree(3, 4, "no"), error);
  EXPECT_THROW(agree("n", 4, "no"), error);
}

TEST(acceptance, asks_for_the_element_and_extents_that_may_be_equal) {
  static_assert(accepts(of<float, "n", 2>, of<float, 7, 2>));
  static_assert(accepts(type::of_unknown_rank(dtype::float32), of<float, 7, 2>));
  static_assert(!accepts(of<float, 7, 2>, of<double, 7, 2>));
  static_assert(!accepts(of<float, 7, 2>, of<float, 7, 3>));
  static_assert(!accepts(of<float, 7>, of<float, 7, 1>));
}

TEST(axes, count_from_the_end_when_negative) {
  static_assert(checked_axis(0, 2, "") == 0);
  static_assert(checked_axis(-1, 2, "") == 1);
  EXPECT_THROW(checked_axis(2, 2, "no"), error);
  EXPECT_THROW(checked_axis(-3, 2, "no"), error);
  EXPECT_THROW(checked_axis(0, 0, "no"), error);
  EXPECT_THROW(checked_axis(std::numeric_limits<std::int64_t>::min(), 2, "no"), error);
}

TEST(rows, are_what_is_left_without_the_first_axis) {
  static_assert(row_of(of<float, "n", 2, 3>) == of<float, 2, 3>);
  static_assert(row_of(of<float, 2>) == of<float>);
  static_assert(without_axis(of<float, "n", 2, 3>, 1) == of<float, "n", 3>);
  static_assert(stacked(of<float, 2>, "n") == of<float, "n", 2>);
  EXPECT_EQ(sentence([] { row_of(of<float>); }), "invalid_argument: a scalar has no rows");
  EXPECT_EQ(sentence([] { row_of(type::of_unknown_rank(dtype::float32)); }),
            "invalid_argument: a value of unknown rank can't be split into rows: reshape it to a known rank first");
}

TEST(type, knows_the_bytes_of_a_tensor_of_known_extents) {
  static_assert(of<double, 2, 3>.bytes() == 48);
  static_assert(of<double, 0, 3>.bytes() == 0);
  EXPECT_THROW((of<double, "n">.bytes()), error);
}

}  // namespace
}  // namespace rill
