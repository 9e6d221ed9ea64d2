#include "rill/ops/array/reverse.hpp"

#include "../run.hpp"

namespace rill {
namespace {

static_assert(ops::reverse_op::infer({{0, -1}}, of<float, "n", 2, unknown>) == of<float, "n", 2, unknown>);

TEST(reverse, walks_axes_from_their_ends) {
  auto const reversed = [](tensor const& x, extents const& axes) {
    return test::run([&](auto const& in) { return reverse(in[0], axes); }, {x});
  };
  auto const x = matrix<int>({{1, 2, 3}, {4, 5, 6}});
  EXPECT_TRUE(same_bits(reversed(x, {0}), matrix<int>({{4, 5, 6}, {1, 2, 3}})));
  EXPECT_TRUE(same_bits(reversed(x, {1}), matrix<int>({{3, 2, 1}, {6, 5, 4}})));
  EXPECT_TRUE(same_bits(reversed(x, {-1, 0}), matrix<int>({{6, 5, 4}, {3, 2, 1}})));
  EXPECT_TRUE(same_bits(reversed(x, {}), x));
  EXPECT_TRUE(same_bits(reversed(vector<std::string>({"a", "", "long enough to be on the heap"}), {0}),
                        vector<std::string>({"long enough to be on the heap", "", "a"})));
}

TEST(reverse, is_the_same_on_any_number_of_threads) {
  auto const x = test::scattered(dtype::float64, {37, 11, 50, 3});
  for (auto const& axes : {extents{0}, extents{2}, extents{1, 3}, extents{0, 1, 2, 3}}) {
    auto const f = [&](auto const& in) { return reverse(in[0], axes); };
    auto const y = test::run(f, {x}, 1);
    EXPECT_TRUE(same_bits(y, test::run(f, {x}, 4)));
    EXPECT_TRUE(same_bits(x, test::run(f, {y}, 3)));
    auto const turned = [&](std::size_t axis, std::int64_t i) {
      return axes.contains(static_cast<std::int64_t>(axis)) ? x.shape()[axis] - 1 - i : i;
    };
    for (std::int64_t i : {0, 5, 36})
      for (std::int64_t j : {0, 10})
        for (std::int64_t k : {1, 49})
          EXPECT_EQ(y.at<double>(i, j, k, 2), x.at<double>(turned(0, i), turned(1, j), turned(2, k), turned(3, 2)));
  }
}

TEST(reverse, refuses_axes_that_are_none) {
  graph g;
  auto const x = placeholder(g, of<float, 2, 3>);
  test::expect_error(code::invalid_argument, "out of range for the operand's rank", [&] { reverse(x, extents{2}); });
  test::expect_error(code::invalid_argument, "named twice", [&] { reverse(x, extents{1, -1}); });
}

}  // namespace
}  // namespace rill
