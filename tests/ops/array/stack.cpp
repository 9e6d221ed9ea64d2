#include "rill/ops/array/stack.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

TEST(stack, puts_values_beside_each_other_along_any_axis) {
  auto const a = test::counting(dtype::float32, {2, 3}), b = test::scattered(dtype::float32, {2, 3});
  for (std::int64_t axis : {0, 1, 2, -1, -2, -3}) {
    auto const y = test::run([=](auto const& in) { return stack(in, axis); }, {a, b});
    auto const at = axis < 0 ? axis + 3 : axis;
    EXPECT_EQ(y.shape(), at == 0 ? (shape{2, 2, 3}) : at == 1 ? (shape{2, 2, 3}) : (shape{2, 3, 2}));
    for (int which : {0, 1})
      for (int i : {0, 1})
        for (int j : {0, 1, 2}) {
          auto const found = at == 0   ? y.at<float>(which, i, j)
                             : at == 1 ? y.at<float>(i, which, j)
                                       : y.at<float>(i, j, which);
          EXPECT_EQ(found, (which == 0 ? a : b).at<float>(i, j));
        }
  }
}

TEST(stack, of_open_extents_keeps_their_names_and_has_a_gradient) {
  graph g;
  auto a = placeholder<float, "n", unknown>(g, "a"), b = placeholder<float, "n", unknown>(g, "b");
  auto y = stack<1>(a, b);
  static_assert(decltype(y)::static_type == of<float, "n", 2, unknown>);
  static_assert(decltype(stack<-1>(a, b, a))::static_type == of<float, "n", unknown, 3>);
  auto [da, db] = gradients(sum(y * y), a, b);
  session s{g};
  std::vector<feed> const feeds{{a, test::counting(dtype::float32, {2, 1})},
                                {b, test::scattered(dtype::float32, {2, 1})}};
  EXPECT_EQ(test::to_doubles(s.run(feeds, da)), (std::vector<double>{2, 4}));
  EXPECT_EQ(s.run(feeds, db).at<float>(1, 0), 2 * test::scattered(dtype::float32, {2, 1}).at<float>(1, 0));
}

TEST(unstack, takes_slices_that_stack_puts_together_again) {
  auto const x = test::counting(dtype::string, {2, 3, 4});
  for (std::int64_t axis : {0, 1, 2, -1})
    EXPECT_TRUE(same_bits(test::run([=](auto const& in) { return stack(unstack(in[0], axis), axis); }, {x}), x));
  graph g;
  auto p = placeholder<float, "n", 2>(g, "x");
  auto [left, right] = unstack<1>(p);
  static_assert(decltype(left)::static_type == of<float, "n">);
  auto [dx] = gradients(sum(left * right), p);
  session s{g};
  EXPECT_EQ(test::to_doubles(s.run({{p, test::counting(dtype::float32, {2, 2})}}, dx)),
            (std::vector<double>{2, 1, 4, 3}));
}

TEST(unstack, needs_a_known_extent) {
  graph g;
  auto x = placeholder(g, of<float, unknown, 2>);
  test::expect_error(code::invalid_argument, "extent of the axis must be known", [&] { unstack(x); });
  test::expect_error(code::invalid_argument, "is out of range", [&] { unstack(x, 2); });
  EXPECT_TRUE(unstack(placeholder(g, of<float, 0, 2>)).empty());
  test::expect_error(code::invalid_argument, "there are no operands", [&] { stack(std::vector<value>{}); });
}

}  // namespace
}  // namespace rill
