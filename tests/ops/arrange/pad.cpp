#include "rill/ops/arrange/pad.hpp"

#include "../run.hpp"

namespace rill {
namespace {

TEST(pad, surrounds_a_value_with_a_number) {
  graph g;
  auto const x = placeholder<float, "n", 2>(g);
  auto const y = pad<extents{0, 1}, extents{1, 0}>(x, 9.f);
  static_assert(decltype(y)::static_type == of<float, unknown, 3>);
  static_assert(decltype(pad<extents{0, 1}, extents{0, 0}>(x))::static_type == of<float, "n", 3>);
  auto const above = pad(x, {1, 0}, {0, 0});
  session s{g};
  auto const [a, b] = s.run({{x, matrix<float>({{1, 2}})}}, y, above);
  EXPECT_TRUE(same_bits(a, matrix<float>({{9, 1, 2}, {9, 9, 9}})));
  EXPECT_TRUE(same_bits(b, matrix<float>({{0, 0}, {1, 2}})));
  auto const words = test::run([](auto const& in) { return pad(in[0], {1}, {1}, in[1]); },
                               {vector<std::string>({"a"}), tensor(std::string("long enough to be on the heap"))});
  EXPECT_EQ(words.at<std::string>(0), "long enough to be on the heap");
  EXPECT_EQ(words.at<std::string>(1), "a");
}

TEST(unpad, takes_away_what_pad_adds) {
  graph g;
  auto const x = placeholder<float, 3, "n">(g);
  auto const y = unpad<extents{1, 0}, extents{0, 2}>(x);
  static_assert(decltype(y)::static_type == of<float, 2, unknown>);
  session s{g};
  EXPECT_TRUE(same_bits(s.run({{x, matrix<float>({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}})}}, y), matrix<float>({{4}, {7}})));
  test::expect_error(code::invalid_argument, "the margins are wider than the operand",
                     [&] { s.run({{x, tensor(dtype::float32, {3, 1})}}, y); });
}

TEST(pad, refuses_what_does_not_fit) {
  graph g;
  value const x = placeholder(g, of<float, 2, 3>);
  auto const refuses = [](char const* why, auto f) { test::expect_error(code::invalid_argument, why, f); };
  refuses("a number of elements is negative", [&] { pad(x, {-1, 0}, {0, 0}); });
  refuses("must have a number for each axis", [&] { pad(x, {1}, {1}); });
  refuses("must have a number for each axis", [&] { pad(x, {1, 1}, {1}); });
  refuses("does not fit in 64 bits", [&] { pad(x, {INT64_MAX, 0}, {0, 0}); });
  refuses("does not fit in 64 bits", [&] { pad(x, {INT64_MAX, 0}, {INT64_MAX, 0}); });
  refuses("another element type", [&] { pad(x, {1, 1}, {1, 1}, value(constant(g, 1))); });
  refuses("not a scalar", [&] { pad(x, {1, 1}, {1, 1}, x); });
  refuses("wider than the operand", [&] { unpad(x, {1, 0}, {2, 0}); });
  refuses("wider than the operand", [&] { unpad(x, {INT64_MAX, 0}, {INT64_MAX, 0}); });
}

}  // namespace
}  // namespace rill
