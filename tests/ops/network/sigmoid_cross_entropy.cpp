#include "rill/ops/network/sigmoid_cross_entropy.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/math/relu.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill {
namespace {

static_assert(decltype(sigmoid_cross_entropy(expr<of<float, "n", 3>>{}, expr<of<float, 3>>{}))::static_type ==
              of<float, "n", 3>);

std::vector<double> loss_of(tensor const& x, tensor const& z) {
  return test::to_doubles(test::run([](auto const& in) { return sigmoid_cross_entropy(in[0], in[1]); }, {x, z}));
}

TEST(sigmoid_cross_entropy, is_stable_for_logits_of_any_size) {
  double const inf = INFINITY;
  auto const x = test::from_doubles(dtype::float32, {8}, {1e4, -1e4, 1e4, -1e4, inf, -inf, 30, 0});
  auto const z = test::from_doubles(dtype::float32, {8}, {1, 1, 0, 0, 1, 1, 1, 0.5});
  auto const y = loss_of(x, z);
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], 1e4);
  EXPECT_EQ(y[2], 1e4);
  EXPECT_EQ(y[3], 0);
  EXPECT_EQ(y[4], 0);
  EXPECT_EQ(y[5], inf);
  EXPECT_NEAR(y[6], std::exp(-30), 1e-19);  // 1 + e rounds to 1
  EXPECT_NEAR(y[7], std::log(2), 1e-7);
}

// A graph of max(x, 0) - x z + log(1 + exp(-|x|)) has the derivatives of its relu and its |x| at 0.
TEST(sigmoid_cross_entropy, has_the_gradient_sigmoid_less_label_also_at_0) {
  graph g;
  auto const x = placeholder<double, 4>(g), z = placeholder<double, 4>(g);
  auto const [dx, dz] = gradients(sum(sigmoid_cross_entropy(x, z)), x, z);
  auto const [ddx] = gradients(sum(dx), x);
  session s{g};
  auto const at = vector<double>({0, 0, 0, 3}), labels = vector<double>({0, 1, 0.25, 1});
  auto const [a, b, c] = s.run({{x, at}, {z, labels}}, dx, dz, ddx);
  double const p = 1 / (1 + std::exp(-3.));
  auto const near = [](auto const& got, std::vector<double> const& wanted) {
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(test::to_doubles(got)[i], wanted[i], 1e-15) << i;
  };
  near(a, {0.5, -0.5, 0.25, p - 1});
  near(b, {0, 0, 0, -3});
  near(c, {0.25, 0.25, 0.25, p * (1 - p)});
}

TEST(sigmoid_cross_entropy, weighs_what_holds) {
  graph g;
  auto const x = placeholder<double, 2, 3>(g), z = placeholder<double, 2, 3>(g);
  auto const w = constant<double, 3>(g, {1, 2, 5});
  session s{g};
  auto const logits = tensor_of<of<double, 2, 3>>(test::scattered(dtype::float64, {2, 3}));
  auto const labels = tensor_of<of<double, 2, 3>>(test::from_doubles(dtype::float64, {2, 3}, {0, 1, 1, 1, 0, 1}));
  auto const [plain, weighted, tripled] = s.run({{x, logits}, {z, labels}}, sigmoid_cross_entropy(x, z),
                                                sigmoid_cross_entropy(x, z, w), sigmoid_cross_entropy(x, z, 3));
  for (std::size_t i = 0; i < 6; ++i) {
    bool const holds = test::to_doubles(labels)[i] == 1;
    double const each[] = {1, 2, 5};
    EXPECT_NEAR(test::to_doubles(weighted)[i], test::to_doubles(plain)[i] * (holds ? each[i % 3] : 1), 1e-15);
    EXPECT_NEAR(test::to_doubles(tripled)[i], test::to_doubles(plain)[i] * (holds ? 3 : 1), 1e-15);
  }
}

TEST(sigmoid_cross_entropy, of_an_infinite_logit_without_weight_has_derivatives) {
  graph g;
  value const x = placeholder<double, 1>(g, "x"), z = placeholder<double, 1>(g, "z"),
              w = placeholder<double, 1>(g, "w");
  auto const d = gradients(sum(sigmoid_cross_entropy(x, z, w), extents{}), {z, w}, true);
  session s{g};
  auto const by = [&](double logit, double label, double weight) {
    auto const one = [](double v) { return rill::vector<double>({v}); };
    auto const [by_label, by_weight] = s.run({{x, one(logit)}, {z, one(label)}, {w, one(weight)}}, d[0], d[1]);
    return std::vector<double>{by_label.item<double>(), by_weight.item<double>()};
  };
  EXPECT_EQ(by(-INFINITY, 0, 0), (std::vector<double>{0, 0}));
  EXPECT_EQ(by(-INFINITY, 0, 2), (std::vector<double>{INFINITY, 0}));
  EXPECT_EQ(by(-INFINITY, 1, 0), (std::vector<double>{0, INFINITY}));
}

TEST(sigmoid_cross_entropy, refuses_labels_of_another_element_type) {
  graph g;
  value const x = placeholder(g, of<float, 3>), z = placeholder(g, of<int, 3>);
  test::expect_error(code::invalid_argument, "different element types", [&] { sigmoid_cross_entropy(x, z); });
  test::expect_error(code::invalid_argument, "different element types", [&] { sigmoid_cross_entropy(x, x, z); });
  test::expect_error(code::invalid_argument, "do not broadcast",
                     [&] { sigmoid_cross_entropy(x, value(placeholder(g, of<float, 2>))); });
}

}  // namespace
}  // namespace rill
