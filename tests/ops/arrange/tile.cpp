#include "rill/ops/arrange/tile.hpp"

#include "../run.hpp"

namespace rill {
namespace {

TEST(tile, copies_an_array_along_its_axes) {
  graph g;
  auto const x = placeholder<int, "n", 2>(g);
  auto const y = tile<1, 2>(x);
  static_assert(decltype(y)::static_type == of<int, "n", 4>);
  static_assert(decltype(tile<2, 1>(x))::static_type == of<int, unknown, 2>);
  auto const twice = tile(x, {2, 1}), empty = tile(x, {0, 1});
  session s{g};
  auto const [a, b, c] = s.run({{x, matrix<int>({{1, 2}})}}, y, twice, empty);
  EXPECT_TRUE(same_bits(a, matrix<int>({{1, 2, 1, 2}})));
  EXPECT_TRUE(same_bits(b, matrix<int>({{1, 2}, {1, 2}})));
  EXPECT_EQ(c.shape(), (shape{0, 2}));
}

TEST(repeat, copies_each_position_of_an_axis) {
  graph g;
  auto const x = placeholder<int, 2, 2>(g);
  auto const y = repeat<2, -1>(x);
  static_assert(decltype(y)::static_type == of<int, 2, 4>);
  auto const rows = repeat(x, 2);
  session s{g};
  auto const [a, b] = s.run({{x, matrix<int>({{1, 2}, {3, 4}})}}, y, rows);
  EXPECT_TRUE(same_bits(a, matrix<int>({{1, 1, 2, 2}, {3, 3, 4, 4}})));
  EXPECT_TRUE(same_bits(b, matrix<int>({{1, 2}, {1, 2}, {3, 4}, {3, 4}})));
}

TEST(pad_with_a_border, copies_what_lies_there) {
  graph g;
  auto const x = placeholder<int, "n", 3>(g);
  auto const y = pad<extents{1, 0}, extents{0, 2}>(x, border::reflect);
  static_assert(decltype(y)::static_type == of<int, unknown, 5>);
  session s{g};
  EXPECT_TRUE(same_bits(s.run({{x, matrix<int>({{1, 2, 3}, {4, 5, 6}})}}, y),
                        matrix<int>({{4, 5, 6, 5, 4}, {1, 2, 3, 2, 1}, {4, 5, 6, 5, 4}})));
}

TEST(tile, and_its_like_refuse_numbers_and_axes_that_do_not_fit) {
  graph g;
  value const x = placeholder(g, of<float, 2, 3>);
  auto const refuses = [](char const* why, auto f) { test::expect_error(code::invalid_argument, why, f); };
  refuses("a number of copies for each axis", [&] { tile(x, {2}); });
  refuses("a number of copies is negative", [&] { tile(x, {2, -1}); });
  refuses("more elements than 64 bits can count", [&] { tile(x, {INT64_MAX, 1}); });
  refuses("the number of copies is negative", [&] { repeat(x, -1); });
  refuses("out of range for the operand's rank", [&] { repeat(x, 1, 2); });
  refuses("must have a number for each axis", [&] { pad(x, {1}, {1}, border::edge); });
  refuses("an axis without elements can't be padded",
          [&] { pad(placeholder(g, of<float, 0>), {1}, {0}, border::edge); });
}

}  // namespace
}  // namespace rill
