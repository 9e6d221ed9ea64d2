#include "rill/ops/math/power.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill {
namespace {

using list = std::vector<double>;

TEST(pow, takes_a_number_on_either_side) {
  graph g;
  auto x = placeholder<double, 3>(g, "x");
  auto n = placeholder<std::int32_t, 4>(g, "n");
  session s{g};
  auto const [a, b, c] = s.run({{x, rill::vector<double>({-1, 0, 3})}, {n, rill::vector<std::int32_t>({-2, -1, 0, 5})}},
                               pow(x, 2), pow(2., x), pow(n, 3));
  EXPECT_EQ(test::to_doubles(a), (list{1, 0, 9}));
  EXPECT_EQ(test::to_doubles(b), (list{0.5, 1, 8}));
  EXPECT_EQ(test::to_doubles(c), (list{-8, -1, 0, 125}));
}

TEST(pow, of_integers_to_negative_powers_rounds_toward_0_and_of_0_is_0) {
  for (auto d : {dtype::int8, dtype::int16, dtype::int32, dtype::int64}) {
    auto const y = test::run([](auto const& in) { return pow(in[0], in[1]); },
                             {test::from_doubles(d, {5}, {-2, -1, 0, 1, 2}), test::from_doubles(d, {2, 1}, {-1, -2})});
    EXPECT_EQ(test::to_doubles(y), (list{0, -1, 0, 1, 0, 0, 1, 0, 1, 0}));
  }
}

// 0 to the power of what derivatives lower: 0^-1 would be infinite, and 0 times it NaN.
TEST(pow, has_derivatives_where_x_or_y_is_0) {
  graph g;
  auto x = placeholder<double, 4>(g, "x"), y = placeholder<double, 4>(g, "y");
  auto [dx, dy] = gradients(sum(pow(x, y)), x, y);
  auto [dxx] = gradients(sum(dx), x);
  auto [once] = gradients(sum(pow(x, 2.)), x);
  auto [twice] = gradients(sum(once), x);
  auto [cube] = gradients(sum(twice), x);
  session s{g};
  auto const [a, b, c, d] =
      s.run({{x, rill::vector<double>({0, 0, 0, 2})}, {y, rill::vector<double>({0, 1, 2, 0})}}, dx, dy, dxx, cube);
  EXPECT_EQ(test::to_doubles(a), (list{0, 1, 0, 0}));
  EXPECT_EQ(test::to_doubles(b), (list{0, 0, 0, std::log(2.)}));
  EXPECT_EQ(test::to_doubles(c), (list{0, 0, 2, 0}));
  EXPECT_EQ(test::to_doubles(d), (list{0, 0, 0, 0}));
}

// What is infinite times 0 in the formulas has a limit.
TEST(pow, has_derivatives_at_infinity) {
  graph g;
  auto x = placeholder<double, 7>(g, "x"), y = placeholder<double, 7>(g, "y");
  auto [dx, dy] = gradients(sum(pow(x, y)), x, y);
  auto [dxx] = gradients(sum(dx), x);
  session s{g};
  double const inf = INFINITY;
  auto const bases = rill::vector<double>({inf, inf, inf, inf, 2, 0.5, 0}),
             powers = rill::vector<double>({0, 1, 2, -1, -inf, inf, -1});
  auto const [a, b, c] = s.run({{x, bases}, {y, powers}}, dx, dy, dxx);
  EXPECT_EQ(test::to_doubles(a), (list{0, 1, inf, 0, 0, 0, -inf}));
  EXPECT_EQ(test::to_doubles(b), (list{inf, inf, inf, 0, 0, 0, -inf}));
  for (std::size_t i : {0u, 1u, 3u}) EXPECT_EQ(test::to_doubles(c)[i], 0) << i;
}

TEST(pow, has_a_mixed_derivative_where_y_is_0) {
  graph g;
  auto x = placeholder<float, 4>(g, "x"), y = placeholder<float, 4>(g, "y");
  auto [dx] = gradients(sum(pow(x, y)), x);
  auto [dxy] = gradients(sum(dx), y);
  session s{g};
  auto const found =
      s.run({{x, rill::vector<float>({2, 0.25, 0x1p-33f, 0x1p-126f})}, {y, rill::vector<float>({0, 0, 0, 0})}}, dxy);
  EXPECT_EQ(test::to_doubles(found), (list{0.5, 4, 0x1p33, 0x1p126}));
}

TEST(pow, refuses_truth_values_and_complex_numbers) {
  graph g;
  for (auto d : {dtype::boolean, dtype::complex64})
    test::expect_error(code::invalid_argument, "does not support this element type", [&] {
      auto const x = placeholder(g, type(d, {2}));
      pow(x, x);
    });
}

}  // namespace
}  // namespace rill
