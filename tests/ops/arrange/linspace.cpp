#include "rill/ops/arrange/linspace.hpp"

#include "../run.hpp"

namespace rill {
namespace {

TEST(linspace, begins_and_ends_exactly_where_it_is_told_to) {
  graph g;
  auto const typed = linspace<float, 4>(g, 0.1f, 0.7f);
  static_assert(decltype(typed)::static_type == of<float, 4>);
  auto const ends = linspace<7>(constant(g, 0.1f), constant(g, 0.7f));
  static_assert(decltype(ends)::static_type == of<float, 7>);
  value const one = linspace(g, 2.0, 3.0, 1), empty = linspace(g, 2.0, 3.0, 0), down = linspace(g, 1.0, -1.0, 5);
  session s{g};
  auto const [a, b, c, d, e] = s.run(typed, ends, one, empty, down);
  EXPECT_EQ(a.at<float>(0), 0.1f);
  EXPECT_EQ(a.at<float>(3), 0.7f);
  EXPECT_EQ(b.at<float>(0), 0.1f);
  EXPECT_EQ(b.at<float>(6), 0.7f);
  EXPECT_NEAR(b.at<float>(1), 0.2f, 1e-7f);
  EXPECT_TRUE(same_bits(c, vector<double>({2})));
  EXPECT_EQ(d.elements(), 0);
  EXPECT_TRUE(same_bits(e, vector<double>({1, 0.5, 0, -0.5, -1})));
}

TEST(linspace, refuses_integers_and_numbers_below_0) {
  graph g;
  auto const refuses = [](char const* why, auto f) { test::expect_error(code::invalid_argument, why, f); };
  refuses("not of floats or complex numbers", [&] { linspace(value(constant(g, 1)), constant(g, 2), 3); });
  refuses("the number of values is negative", [&] { linspace(g, 0.f, 1.f, -1); });
  refuses("the number of values is negative", [&] { linspace(value(constant(g, 1.f)), constant(g, 2.f), -1); });
  refuses("must be scalars", [&] { linspace(value(constant<float, 1>(g, {1})), constant(g, 2.f), 2); });
}

}  // namespace
}  // namespace rill
