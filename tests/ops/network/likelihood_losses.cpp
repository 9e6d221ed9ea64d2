#include "rill/ops/network/likelihood_losses.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/network/sigmoid_cross_entropy.hpp"
#include "rill/ops/network/softmax.hpp"
#include "rill/ops/network/softmax_cross_entropy.hpp"

namespace rill {
namespace {

using row = expr<of<float, "n", 3>>;
static_assert(decltype(nll(row{}, expr<of<int, "n">>{}))::static_type == of<float, "n">);
static_assert(decltype(binary_cross_entropy(row{}, row{}))::static_type == of<float, "n", 3>);
static_assert(decltype(poisson_nll(row{}, row{}))::static_type == of<float, "n", 3>);
static_assert(decltype(gaussian_nll(row{}, row{}, row{}))::static_type == of<float, "n", 3>);

using doubles = std::vector<double>;

// A loss of one operand, and its derivative.
std::pair<doubles, doubles> loss_and_slope(doubles const& x, std::function<value(value)> const& loss) {
  graph g;
  auto const in = placeholder(g, {dtype::float64, {static_cast<std::int64_t>(x.size())}});
  auto const l = loss(in);
  auto const d = gradients(sum(l, {}), {in})[0];
  session s{g};
  auto const at = test::from_doubles(dtype::float64, in.type().shape(), x);
  return {test::to_doubles(s.run({{in, at}}, l)), test::to_doubles(s.run({{in, at}}, d))};
}

TEST(nll, of_log_softmax_is_softmax_cross_entropy) {
  graph g;
  auto const x = placeholder<double, 4, 3>(g, "x");
  auto const labels = placeholder<std::int64_t, 4>(g, "labels");
  auto const a = nll(log_softmax(x), labels), b = softmax_cross_entropy(x, labels);
  auto const [da] = gradients(sum(a), x);
  auto const [db] = gradients(sum(b), x);
  session s{g};
  auto const [p, q, dp, dq] =
      s.run({{x, test::scattered(dtype::float64, {4, 3})}, {labels, vector<std::int64_t>({2, 0, 1, 2})}}, a, b, da, db);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(test::to_doubles(p)[i], test::to_doubles(q)[i], 1e-15);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(test::to_doubles(dp)[i], test::to_doubles(dq)[i], 1e-15);
}

TEST(nll, reads_only_the_labels_class) {
  auto const y =
      test::run([](auto const& in) { return nll(in[0], in[1]); },
                {test::from_doubles(dtype::float32, {2, 2}, {-INFINITY, -1, -2, NAN}), vector<std::int32_t>({1, 0})});
  EXPECT_EQ(test::to_doubles(y), (doubles{1, 2}));
}

TEST(nll, refuses_labels_that_are_no_class) {
  auto const x = test::scattered(dtype::float32, {2, 3});
  for (std::int32_t wrong : {-1, 3, INT32_MAX, INT32_MIN})
    test::expect_error(code::invalid_argument, "index 1 is " + std::to_string(wrong) + ", and there are 3 rows", [&] {
      test::run([](auto const& in) { return nll(in[0], in[1]); }, {x, vector<std::int32_t>({0, wrong})});
    });
  graph g;
  auto const refuses = [&](char const* words, type const& t, type const& labels) {
    test::expect_error(code::invalid_argument, words, [&] { nll(placeholder(g, t), placeholder(g, labels)); });
  };
  refuses("x [..., classes] and labels [...]", of<float, 2, 3>, of<int, 3>);
  refuses("x [..., classes] and labels [...]", of<float, 2, 3>, of<int, 4, 2>);
  refuses("x [..., classes] and labels [...]", of<float>, of<int>);
  refuses("not of floats", of<int, 2, 3>, of<int, 2>);
  refuses("neither int32 nor int64", of<float, 2, 3>, of<std::int8_t, 2>);
}

TEST(binary_cross_entropy, of_sigmoid_is_sigmoid_cross_entropy) {
  auto const x = test::scattered(dtype::float64, {9}), z = test::from_doubles(dtype::float64, {9}, doubles(9, 0.3));
  auto const a = test::run([](auto const& in) { return binary_cross_entropy(sigmoid(in[0]), in[1]); }, {x, z});
  auto const b = test::run([](auto const& in) { return sigmoid_cross_entropy(in[0], in[1]); }, {x, z});
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(test::to_doubles(a)[i], test::to_doubles(b)[i], 1e-14);
}

TEST(binary_cross_entropy, is_bounded_and_flat_for_certainties) {
  for (double z : {0., 1.}) {
    auto const [l, d] = loss_and_slope({0, 1}, [&](value p) { return binary_cross_entropy(p, like(p, z)); });
    EXPECT_NEAR(l[z == 1 ? 0 : 1], -std::log(1e-7), 1e-12);
    EXPECT_EQ(l[z == 1 ? 1 : 0], 0);
    EXPECT_EQ(d[z == 1 ? 0 : 1], 0);
  }
  auto const half = test::run([](auto const& in) { return binary_cross_entropy(in[0], 1 - in[0]); },
                              {test::from_doubles(dtype::float16, {2}, {0, 1})});
  for (double l : test::to_doubles(half)) EXPECT_NEAR(l, 16, 0.2);
  graph g;
  auto const p = placeholder(g, of<float, 3>);
  for (double wrong : {0., 1., -1., static_cast<double>(NAN)})
    test::expect_error(code::invalid_argument, "between 0 and 1", [&] { binary_cross_entropy(p, p, wrong); });
}

TEST(poisson_nll, is_least_where_the_rate_is_the_count) {
  auto const [l, d] =
      loss_and_slope({0, std::log(2.), std::log(3.)}, [](value x) { return poisson_nll(x, like(x, 2)); });
  EXPECT_EQ(l[0], 1);
  EXPECT_NEAR(d[1], 0, 1e-15);
  EXPECT_LT(l[1], l[2]);
}

TEST(poisson_nll, of_a_rate_of_0_is_0_where_nothing_is_counted_and_else_infinite) {
  for (double count : {0., 2.}) {
    auto const [l, d] = loss_and_slope({-INFINITY}, [&](value x) { return poisson_nll(x, like(x, count)); });
    EXPECT_EQ(l[0], count == 0 ? 0 : INFINITY);
    EXPECT_EQ(d[0], -count);
  }
}

TEST(poisson_nll, of_a_rate_that_overflows_is_infinite_beside_a_product_that_does) {
  auto const y = test::run([](auto const& in) { return poisson_nll(in[0], in[1]); },
                           {test::from_doubles(dtype::float32, {3}, {1e30, 100, 80}),
                            test::from_doubles(dtype::float32, {3}, {1e30, 2, 1e38})});
  EXPECT_EQ(test::to_doubles(y), (doubles{INFINITY, INFINITY, -INFINITY}));
}

TEST(gaussian_nll, of_numbers_whose_squares_overflow_is_finite) {
  auto const y = test::run([](auto const& in) { return gaussian_nll(in[0], in[0] * 0, in[0]); },
                           {test::from_doubles(dtype::float32, {2}, {1e20, 1e30})});
  EXPECT_NEAR(test::to_doubles(y)[0] / 0.5e20, 1, 1e-6);
  EXPECT_NEAR(test::to_doubles(y)[1] / 0.5e30, 1, 1e-6);
}

TEST(poisson_nll, of_an_infinite_rate_is_infinite_whatever_is_counted) {
  for (double count : {0., 2.}) {
    auto const [l, d] = loss_and_slope({INFINITY}, [&](value x) { return poisson_nll(x, like(x, count)); });
    EXPECT_EQ(l[0], INFINITY);
    EXPECT_EQ(d[0], INFINITY);
  }
}

TEST(gaussian_nll, counts_small_variances_as_the_least) {
  auto const [l, d] = loss_and_slope({0, -1, 4}, [](value v) { return gaussian_nll(like(v, 2), like(v, 0), v, 0.5); });
  EXPECT_NEAR(l[0], 0.5 * std::log(0.5) + 4, 1e-15);
  EXPECT_EQ(l[0], l[1]);
  EXPECT_NEAR(l[2], 0.5 * std::log(4.) + 0.5, 1e-15);
  EXPECT_EQ(d[0], 0);
  EXPECT_EQ(d[1], 0);
  EXPECT_NEAR(d[2], 0.5 * (1 / 4. - 4 / 16.), 1e-15);
  graph g;
  auto const x = placeholder(g, of<float, 3>);
  for (double wrong : {0., -1., static_cast<double>(NAN)})
    test::expect_error(code::invalid_argument, "least variance must be positive",
                       [&] { gaussian_nll(x, x, x, wrong); });
}

}  // namespace
}  // namespace rill
