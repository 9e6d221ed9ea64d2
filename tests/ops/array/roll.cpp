#include "rill/ops/array/roll.hpp"

#include "../run.hpp"

namespace rill {
namespace {

TEST(roll, moves_elements_round_an_axis) {
  auto const rolled = [](tensor const& x, extents const& shifts, extents const& axes) {
    return test::run([&](auto const& in) { return roll(in[0], shifts, axes); }, {x});
  };
  auto const x = matrix<int>({{1, 2, 3}, {4, 5, 6}});
  EXPECT_TRUE(same_bits(rolled(x, {1}, {1}), matrix<int>({{3, 1, 2}, {6, 4, 5}})));
  EXPECT_TRUE(same_bits(rolled(x, {-1}, {-1}), matrix<int>({{2, 3, 1}, {5, 6, 4}})));
  EXPECT_TRUE(same_bits(rolled(x, {1, 1}, {0, 1}), matrix<int>({{6, 4, 5}, {3, 1, 2}})));
  EXPECT_TRUE(same_bits(rolled(x, {}, {}), x));
  EXPECT_TRUE(same_bits(rolled(tensor(5), {}, {}), tensor(5)));
  EXPECT_TRUE(same_bits(rolled(x, {INT64_MAX}, {0}), rolled(x, {1}, {0})));
  EXPECT_TRUE(same_bits(rolled(x, {-INT64_MAX}, {1}), rolled(x, {-(INT64_MAX % 3)}, {1})));
  EXPECT_TRUE(same_bits(rolled(vector<std::string>({"a", "", "long enough to be on the heap"}), {1}, {0}),
                        vector<std::string>({"long enough to be on the heap", "a", ""})));
  graph g;
  static_assert(decltype(roll<2, 1>(std::declval<expr<of<float, "n", 3>>>()))::static_type == of<float, "n", 3>);
}

TEST(roll, is_the_same_on_any_number_of_threads) {
  auto const x = test::scattered(dtype::float32, {37, 11, 50});
  auto const f = [](auto const& in) { return roll(in[0], extents{5, -7}, extents{0, 2}); };
  EXPECT_TRUE(same_bits(test::run(f, {x}, 1), test::run(f, {x}, 4)));
}

TEST(roll, refuses_axes_and_shifts_that_do_not_fit) {
  graph g;
  auto const x = placeholder(g, of<float, 2, 3>);
  auto const refuses = [](char const* why, auto f) { test::expect_error(code::invalid_argument, why, f); };
  refuses("out of range for the operand's rank", [&] { roll(x, extents{1}, extents{2}); });
  refuses("named twice", [&] { roll(x, extents{1, 1}, extents{1, -1}); });
  refuses("a shift for each axis", [&] { roll(x, extents{1, 1}, extents{1}); });
  refuses("does not fit in 64 bits", [&] { roll(x, extents{INT64_MIN}, extents{1}); });
}

}  // namespace
}  // namespace rill
