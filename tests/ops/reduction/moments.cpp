#include "rill/ops/reduction/moments.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

using list = std::vector<double>;

TEST(moments, are_mean_and_variance_together) {
  graph g;
  auto x = placeholder<double, 2, 2>(g, "x");
  auto [m, v] = moments<0>(x);
  auto [n, w] = moments(x, keep, ddof{1});
  static_assert(decltype(v)::static_type == of<double, 2>);
  static_assert(decltype(n)::static_type == of<double, 1, 1>);
  session s{g};
  auto const [a, b, c, d] = s.run({{x, matrix<double>({{1, 10}, {3, 14}})}}, m, v, n, w);
  EXPECT_EQ(test::to_doubles(a), (list{2, 12}));
  EXPECT_EQ(test::to_doubles(b), (list{1, 4}));
  EXPECT_EQ(test::to_doubles(c), (list{7}));
  EXPECT_DOUBLE_EQ(test::to_doubles(d)[0], 110. / 3);
}

TEST(standard_deviation, has_a_derivative_of_0_where_all_elements_are_equal) {
  auto const x = test::from_doubles(dtype::float64, {2, 2}, {5, 5, 1, 3});
  auto const y = test::run([](auto const& in) { return standard_deviation(in[0], extents{1}); }, {x});
  EXPECT_EQ(test::to_doubles(y), (list{0, 1}));
  auto const slope = test::run(
      [](auto const& in) { return gradients(sum(standard_deviation(in[0], extents{1}), extents{}), {in[0]}, true)[0]; },
      {x});
  EXPECT_EQ(test::to_doubles(slope), (list{0, 0, -0.5, 0.5}));
}

TEST(average, weighs_elements_and_broadcasts_weights) {
  graph g;
  auto x = placeholder<float, 2, 3>(g, "x");
  auto w = placeholder<float, 3>(g, "w");
  auto y = average<1>(x, w);
  auto all = average(x, w);
  static_assert(decltype(y)::static_type == of<float, 2>);
  static_assert(decltype(all)::static_type == of<float>);
  session s{g};
  auto const [a, b] = s.run({{x, matrix<float>({{1, 2, 3}, {5, 5, 9}})}, {w, rill::vector<float>({1, 0, 3})}}, y, all);
  EXPECT_EQ(test::to_doubles(a), (list{2.5, 8}));
  EXPECT_EQ(b.item<float>(), 5.25f);
  auto const i = placeholder(g, of<int, 3>), far = placeholder(g, of<float, 4>);
  test::expect_error(code::invalid_argument, "average: the operand is not of floats",
                     [&] { average(i, i, extents{}); });
  test::expect_error(code::invalid_argument, "broadcast", [&] { average(value(x), far, extents{}); });
}

}  // namespace
}  // namespace rill
