#include "rill/ops/network/losses.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/network/softmax.hpp"

namespace rill {
namespace {

using row = expr<of<float, "n", 3>>;
static_assert(decltype(squared_error(row{}, row{}))::static_type == of<float, "n", 3>);
static_assert(decltype(huber(row{}, row{}))::static_type == of<float, "n", 3>);
static_assert(decltype(hinge(row{}, row{}))::static_type == of<float, "n", 3>);
static_assert(decltype(kl_divergence(row{}, row{}))::static_type == of<float, "n">);
static_assert(decltype(mse(row{}, row{}))::static_type == of<float>);
static_assert(decltype(mae(row{}, row{}))::static_type == of<float>);

// A loss of x against y, and its derivative with respect to x.
std::pair<std::vector<double>, std::vector<double>> loss_and_slope(std::vector<double> const& x,
                                                                   std::vector<double> const& y,
                                                                   std::function<value(value, value)> const& loss) {
  graph g;
  auto const n = static_cast<std::int64_t>(x.size());
  auto const a = placeholder(g, {dtype::float64, {n}}), b = placeholder(g, {dtype::float64, {n}});
  auto const l = loss(a, b);
  auto const d = gradients(sum(l, {}), {a})[0];
  session s{g};
  auto const at = test::from_doubles(dtype::float64, {n}, x), of = test::from_doubles(dtype::float64, {n}, y);
  return {test::to_doubles(s.run({{a, at}, {b, of}}, l)), test::to_doubles(s.run({{a, at}, {b, of}}, d))};
}

using numbers_of = std::vector<double>;

TEST(losses, squared_and_absolute_errors_and_their_means) {
  numbers_of const x{1, 5, 2, -1}, y{1, 2, 4, -1};
  auto const [squares, slopes] = loss_and_slope(x, y, [](value a, value b) { return squared_error(a, b); });
  EXPECT_EQ(squares, (numbers_of{0, 9, 4, 0}));
  EXPECT_EQ(slopes, (numbers_of{0, 6, -4, 0}));
  auto const [errors, signs] = loss_and_slope(x, y, [](value a, value b) { return absolute_error(a, b); });
  EXPECT_EQ(errors, (numbers_of{0, 3, 2, 0}));
  EXPECT_EQ(signs, (numbers_of{0, 1, -1, 0}));  // 0 where both are equal
  EXPECT_EQ(loss_and_slope(x, y, [](value a, value b) { return mse(a, b); }).first, numbers_of{3.25});
  EXPECT_EQ(loss_and_slope(x, y, [](value a, value b) { return mae(a, b); }).first, numbers_of{1.25});
}

TEST(losses, huber_is_a_parabola_that_goes_on_as_a_line) {
  auto const [l, d] = loss_and_slope({0, 0.5, -0.5, 2, -2, 10, -1e200}, {0, 0, 0, 0, 0, 0, 0},
                                     [](value a, value b) { return huber(a, b, 2); });
  EXPECT_EQ(l, (numbers_of{0, 0.125, 0.125, 2, 2, 18, 2e200}));
  EXPECT_EQ(d, (numbers_of{0, 0.5, -0.5, 2, -2, 2, -2}));
  graph g;
  value const x = placeholder(g, of<float, 3>);
  for (double bad : {0., -1., static_cast<double>(NAN)})
    test::expect_error(code::invalid_argument, "delta must be positive", [&] { huber(x, x, bad); });
}

TEST(losses, hinge_is_0_and_flat_from_the_margin_on) {
  auto const [l, d] =
      loss_and_slope({0.5, 1, 3, -1, -1, 0}, {1, 1, 1, 1, -1, -1}, [](value a, value b) { return hinge(a, b); });
  EXPECT_EQ(l, (numbers_of{0.5, 0, 0, 2, 0, 1}));
  EXPECT_EQ(d, (numbers_of{-1, 0, 0, -1, 0, 1}));
}

TEST(losses, kl_divergence_counts_nothing_where_p_is_0) {
  graph g;
  auto const p = placeholder<double, 2, 3>(g), x = placeholder<double, 2, 3>(g);
  auto const loss = kl_divergence(p, log_softmax(x));
  auto const [dp, dx] = gradients(sum(loss), p, x);
  auto const [ddp] = gradients(sum(dp), p);
  session s{g};
  auto const [l, a, b, c] =
      s.run({{p, tensor_of<of<double, 2, 3>>(test::from_doubles(dtype::float64, {2, 3}, {0, 0.25, 0.75, 1, 0, 0}))},
             {x, tensor_of<of<double, 2, 3>>(test::from_doubles(dtype::float64, {2, 3}, {1, 1, 1, 0, 0, -INFINITY}))}},
            loss, dp, dx, ddp);
  EXPECT_NEAR(test::to_doubles(l)[0], 0.25 * std::log(0.75) + 0.75 * std::log(2.25), 1e-15);
  EXPECT_NEAR(test::to_doubles(l)[1], std::log(2), 1e-15);
  EXPECT_EQ(test::to_doubles(a)[0], 0);
  EXPECT_NEAR(test::to_doubles(a)[1], std::log(0.75) + 1, 1e-15);
  EXPECT_EQ(test::to_doubles(a)[5], 0);
  EXPECT_NEAR(test::to_doubles(b)[0], 1 / 3., 1e-15);  // softmax less p
  EXPECT_NEAR(test::to_doubles(b)[2], 1 / 3. - 0.75, 1e-15);
  EXPECT_EQ(test::to_doubles(c), (numbers_of{0, 4, 1 / 0.75, 1, 0, 0}));
}

}  // namespace
}  // namespace rill
