#include "rill/ops/network/softmax_cross_entropy.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

static_assert(ops::softmax_cross_entropy_op::infer({}, of<float, "n", 10>, of<int, "n">)[0] == of<float, "n">);
static_assert(ops::softmax_cross_entropy_op::infer({}, of<float, "n", 10>, of<std::int64_t, unknown>)[1] ==
              of<float, "n", 10>);

TEST(softmax_cross_entropy, is_minus_the_logarithm_at_the_label) {
  for (auto d : {dtype::float32, dtype::float64, dtype::float16, dtype::bfloat16})
    for (std::int64_t n : {1, 2, 7, 8, 10, 33, 1000, 5000})
      for (auto index : {dtype::int32, dtype::int64}) {
        auto const x = test::scattered(d, {5, n});
        std::vector<double> labels;
        for (std::int64_t i = 0; i < 5; ++i) labels.push_back(static_cast<double>((i * 37) % n));
        auto const y = test::to_doubles(test::run([](auto const& in) { return softmax_cross_entropy(in[0], in[1]); },
                                                  {x, test::from_doubles(index, {5}, labels)}));
        auto const v = test::to_doubles(x);
        for (std::size_t r = 0; r < 5; ++r) {
          double sum = 0;
          for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
            sum += std::exp(v[r * static_cast<std::size_t>(n) + i]);
          double const wanted =
              std::log(sum) - v[r * static_cast<std::size_t>(n) + static_cast<std::size_t>(labels[r])];
          ASSERT_NEAR(y[r], wanted,
                      (1 + wanted) * (d == dtype::float64   ? 1e-14
                                      : d == dtype::float32 ? 1e-6
                                      : d == dtype::float16 ? 1e-3
                                                            : 8e-3));
        }
      }
}

TEST(softmax_cross_entropy, is_stable_where_softmax_is_0) {
  graph g;
  auto x = placeholder<float, 2, 3>(g);
  auto loss = softmax_cross_entropy(x, constant<int, 2>(g, {0, 2}));
  auto [dx] = gradients(sum(loss), x);
  session s{g};
  auto const fed =
      tensor_of<of<float, 2, 3>>(test::from_doubles(dtype::float32, {2, 3}, {-1000, 0, -INFINITY, 0, 0, 1000}));
  auto const [l, d] = s.run({{x, fed}}, loss, dx);
  EXPECT_EQ(test::to_doubles(l), (std::vector<double>{1000, 0}));
  EXPECT_EQ(test::to_doubles(d), (std::vector<double>{-1, 1, 0, 0, 0, 0}));
}

TEST(softmax_cross_entropy, names_the_row_whose_label_is_no_class) {
  graph g;
  auto x = placeholder<float, "n", 4>(g);
  auto t = placeholder<int, "n">(g);
  auto loss = softmax_cross_entropy(x, t);
  session s{g};
  for (int bad : {-1, 4, INT32_MAX, INT32_MIN})
    test::expect_error(code::invalid_argument, "the label of row 2 is " + std::to_string(bad), [&] {
      s.run({{x, tensor_of<of<float, 3, 4>>(test::scattered(dtype::float32, {3, 4}))}, {t, vector<int>({0, 3, bad})}},
            loss);
    });
  EXPECT_EQ(
      s.run({{x, tensor_of<of<float, 0, 4>>(test::scattered(dtype::float32, {0, 4}))}, {t, vector<int>({})}}, loss)
          .elements(),
      0);
  test::expect_error(code::invalid_argument, "there are 0 classes", [&] {
    test::run([](auto const& in) { return softmax_cross_entropy(in[0], in[1]); },
              {test::counting(dtype::float32, {1, 0}), test::from_doubles(dtype::int32, {1}, {0})});
  });
}

TEST(softmax_cross_entropy, takes_distributions) {
  auto const x = test::scattered(dtype::float64, {2, 3});
  auto const p = test::from_doubles(dtype::float64, {2, 3}, {0.2, 0.3, 0.5, 0, 1, 0});
  auto const y =
      test::to_doubles(test::run([](auto const& in) { return softmax_cross_entropy(in[0], in[1]); }, {x, p}));
  auto const v = test::to_doubles(x), q = test::to_doubles(p);
  for (std::size_t r = 0; r < 2; ++r) {
    double sum = 0, wanted = 0;
    for (std::size_t i = 0; i < 3; ++i) sum += std::exp(v[3 * r + i]);
    for (std::size_t i = 0; i < 3; ++i) wanted += q[3 * r + i] * (std::log(sum) - v[3 * r + i]);
    EXPECT_NEAR(y[r], wanted, 1e-14);
  }
  // What is impossible, and rightly so, costs nothing.
  auto const sure = test::run(
      [](auto const& in) { return softmax_cross_entropy(in[0], in[1]); },
      {test::from_doubles(dtype::float64, {1, 2}, {0, -INFINITY}), test::from_doubles(dtype::float64, {1, 2}, {1, 0})});
  EXPECT_EQ(sure.at<double>(0), 0);
}

TEST(softmax_cross_entropy, of_a_label_is_that_of_a_sure_distribution) {
  for (auto d : {dtype::float32, dtype::float64})
    for (std::int64_t n : {1, 10, 17, 5000}) {
      std::int64_t const rows = n > 100 ? 3 : 70;
      std::vector<double> labels, sure(static_cast<std::size_t>(rows * n));
      for (std::int64_t r = 0; r < rows; ++r) {
        labels.push_back(static_cast<double>(r * 37 % n));
        sure[static_cast<std::size_t>(r * n + r * 37 % n)] = 1;
      }
      auto const x = test::scattered(d, {rows, n});
      auto const entropy = [&](tensor const& of) {
        graph g;
        auto logits = constant(g, x);
        auto loss = softmax_cross_entropy(logits, constant(g, of));
        auto const [l, change] = session{g}.run(loss, gradients(loss, {logits})[0]);
        return std::pair{test::to_doubles(l), test::to_doubles(change)};
      };
      auto const [loss, change] = entropy(test::from_doubles(dtype::int32, {rows}, labels));
      auto const [dense_loss, dense_change] = entropy(test::from_doubles(d, {rows, n}, sure));
      EXPECT_EQ(loss, dense_loss);
      EXPECT_EQ(change, dense_change);
    }
}

TEST(softmax_cross_entropy, refuses_labels_that_do_not_fit) {
  graph g;
  auto const p = [&](type const& t) { return placeholder(g, t); };
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("not one label for each row", [&] { softmax_cross_entropy(p(of<float, 3, 4>), p(of<int, 4>)); });
  refuses("not one label for each row", [&] { softmax_cross_entropy(p(of<float, 3, 4>), p(of<int, 3, 1>)); });
  refuses("not one probability for each logit", [&] { softmax_cross_entropy(p(of<float, 3, 4>), p(of<float, 3, 5>)); });
  refuses("another element type", [&] { softmax_cross_entropy(p(of<float, 3, 4>), p(of<double, 3, 4>)); });
  refuses("neither int32 nor int64", [&] { softmax_cross_entropy(p(of<float, 3, 4>), p(of<std::uint8_t, 3>)); });
  refuses("not floats", [&] { softmax_cross_entropy(p(of<int, 3, 4>), p(of<int, 3>)); });
  refuses("no axis of classes", [&] { softmax_cross_entropy(p(of<float>), p(of<int>)); });
}

TEST(softmax_cross_entropy, of_no_classes_is_0_and_has_empty_derivatives) {
  tensor const none(dtype::float64, {3, 0});
  for (std::size_t k = 0; k < 2; ++k) {
    auto const d = test::run(
        [k](auto const& in) { return gradients(sum(softmax_cross_entropy(in[0], in[1])), {in[k]})[0]; }, {none, none});
    EXPECT_EQ(d.shape(), (shape{3, 0}));
  }
}

// The sum over classes of -w t log softmax(x).
std::vector<double> weighted_losses(tensor const& x, std::vector<std::vector<double>> const& targets,
                                    std::vector<double> const& w) {
  std::vector<double> losses;
  auto const v = test::to_doubles(x);
  auto const n = w.size();
  for (std::size_t r = 0; r < targets.size(); ++r) {
    double sum = 0, loss = 0;
    for (std::size_t c = 0; c < n; ++c) sum += std::exp(v[r * n + c]);
    for (std::size_t c = 0; c < n; ++c) loss += w[c] * targets[r][c] * (std::log(sum) - v[r * n + c]);
    losses.push_back(loss);
  }
  return losses;
}

TEST(softmax_cross_entropy, smooths_labels_and_weighs_classes) {
  auto const logits = test::scattered(dtype::float64, {2, 3});
  std::vector<double> const w{0.5, 2, 3}, none{1, 1, 1};
  double const rest = 0.1 / 3;
  std::vector<std::vector<double>> const sharp{{0, 0, 1}, {0, 1, 0}},
      smooth{{rest, rest, 0.9 + rest}, {rest, 0.9 + rest, rest}}, p{{0.2, 0.3, 0.5}, {0, 1, 0}},
      smooth_p{{0.18 + rest, 0.27 + rest, 0.45 + rest}, {rest, 0.9 + rest, rest}};
  graph g;
  auto const x = placeholder<double, 2, 3>(g);
  auto const labels = constant<int, 2>(g, {2, 1});
  auto const parts = constant<double, 2, 3>(g, {0.2, 0.3, 0.5, 0, 1, 0});
  auto const weights = constant<double, 3>(g, {0.5, 2, 3});
  session s{g};
  auto const check = [&](value loss, std::vector<double> const& wanted) {
    auto const got = test::to_doubles(s.run({{value(x), logits}}, loss));
    ASSERT_EQ(got.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(got[i], wanted[i], 1e-14);
  };
  label_smoothing const how{0.1};
  static_assert(decltype(softmax_cross_entropy(x, labels, weights, how))::static_type.rank == 1);
  check(softmax_cross_entropy(x, labels, how), weighted_losses(logits, smooth, none));
  check(softmax_cross_entropy(x, labels, weights), weighted_losses(logits, sharp, w));
  check(softmax_cross_entropy(x, labels, weights, how), weighted_losses(logits, smooth, w));
  check(softmax_cross_entropy(x, parts, how), weighted_losses(logits, smooth_p, none));
  check(softmax_cross_entropy(x, parts, weights), weighted_losses(logits, p, w));
  check(softmax_cross_entropy(x, parts, weights, how), weighted_losses(logits, smooth_p, w));
  check(softmax_cross_entropy(value(x), value(labels), value(weights), how), weighted_losses(logits, smooth, w));
  for (double bad : {-0.1, 1.1, static_cast<double>(NAN)})
    test::expect_error(code::invalid_argument, "label_smoothing must be from 0 to 1",
                       [&] { softmax_cross_entropy(x, labels, label_smoothing{bad}); });
}

// A masked class has the logit -inf. It costs nothing as long as nothing is expected of it.
TEST(softmax_cross_entropy, leaves_out_what_has_a_factor_of_0) {
  graph g;
  auto const x = placeholder<float, 1, 2>(g);
  auto const first = constant<int, 1>(g, {0}), second = constant<int, 1>(g, {1});
  auto const sure = constant<float, 1, 2>(g, {1, 0});
  auto const weights = constant<float, 2>(g, {3, 0});
  session s{g};
  std::vector<feed> const masked{{value(x), test::from_doubles(dtype::float32, {1, 2}, {2, -INFINITY})}};
  auto const expect = [&](value loss, double wanted) {
    EXPECT_EQ(test::to_doubles(s.run(masked, loss)), std::vector<double>{wanted});
    for (double slope : test::to_doubles(s.run(masked, gradients(sum(loss, extents{}), {x})[0]))) EXPECT_EQ(slope, 0);
  };
  expect(softmax_cross_entropy(x, first, label_smoothing{0}), 0);
  expect(softmax_cross_entropy(x, sure, label_smoothing{0}), 0);
  expect(softmax_cross_entropy(value(x), value(first), label_smoothing{0}), 0);
  expect(softmax_cross_entropy(x, first, weights, label_smoothing{0}), 0);
  expect(softmax_cross_entropy(x, second, weights), 0);
  expect(softmax_cross_entropy(value(x), value(second), value(weights)), 0);
  expect(softmax_cross_entropy(x, first, weights, label_smoothing{0.25}), 0);
  EXPECT_EQ(test::to_doubles(s.run(masked, softmax_cross_entropy(x, second, label_smoothing{1}))),
            std::vector<double>{INFINITY});
  EXPECT_EQ(test::to_doubles(s.run(masked, softmax_cross_entropy(x, first, label_smoothing{0.25}))),
            std::vector<double>{INFINITY});
}

// Far from the other logits, log softmax of a smoothed label's rest is a difference of large numbers.
TEST(softmax_cross_entropy, of_smoothed_labels_is_exact_where_logits_are_large_and_alike) {
  graph g;
  auto const x = placeholder<float, 1, 4>(g);
  auto const loss = softmax_cross_entropy(x, constant<int, 1>(g, {2}), label_smoothing{0.2});
  session s{g};
  auto const at = tensor_of<of<float, 1, 4>>(test::from_doubles(dtype::float32, {1, 4}, {1e6, 1e6, 1e6, 1e6}));
  EXPECT_NEAR(test::to_doubles(s.run({{x, at}}, loss))[0], std::log(4), 1e-6);
}

}  // namespace
}  // namespace rill
