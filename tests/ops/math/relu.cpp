#include "rill/ops/math/relu.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill {
namespace {

static_assert(ops::relu_gradient_op::infer({}, of<float, "n", 3>, of<float, "n", 3>) == of<float, "n", 3>);

double const nan = std::numeric_limits<double>::quiet_NaN(), inf = INFINITY;

TEST(relu, is_x_above_0_and_hands_on_nan) {
  auto const y =
      test::to_doubles(test::run([](auto const& in) { return relu(in[0]); },
                                 {test::from_doubles(dtype::float32, {7}, {-inf, -2, -0.0, 0, 3, inf, nan})}));
  EXPECT_EQ(std::vector(y.begin(), y.end() - 1), (std::vector<double>{0, 0, 0, 0, 3, inf}));
  EXPECT_TRUE(std::isnan(y.back()));
}

TEST(relu_gradient, hands_on_what_stands_where_y_is_positive_and_nothing_else) {
  for (auto d : {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64}) {
    auto const dx =
        test::to_doubles(test::run([](auto const& in) { return relu_gradient(in[0], in[1]); },
                                   {test::from_doubles(d, {9}, {0, -0.0, -1, nan, nan, 2, 2, 2, 2}),
                                    test::from_doubles(d, {9}, {nan, inf, -inf, 5, nan, inf, -0.0, -3, nan})}));
    // A product with 0 or 1 would make NaN of the infinities, and -0 of what is negative.
    for (std::size_t i = 0; i < 5; ++i) EXPECT_TRUE(dx[i] == 0 && !std::signbit(dx[i])) << "element " << i;
    EXPECT_EQ(std::vector(dx.begin() + 5, dx.begin() + 8), (std::vector<double>{inf, 0, -3}));
    EXPECT_TRUE(std::signbit(dx[6]));
    EXPECT_TRUE(std::isnan(dx[8]));
  }
}

TEST(relu_gradient, is_recorded_as_one_operation_with_a_gradient_of_its_own) {
  graph g;
  auto x = placeholder<double, 4>(g);
  auto dy = placeholder<double, 4>(g);
  auto [dx] = gradients(sum(relu(x) * dy), x);
  auto [back] = gradients(sum(dx * dx), dy);
  std::size_t found = 0;
  for (std::size_t n = 0; n < g.size(); ++n) found += g[n].op->name == "relu_gradient";
  EXPECT_EQ(found, 2u);
  session s{g};
  auto const t = [](std::vector<double> const& v) {
    return tensor_of<of<double, 4>>(test::from_doubles(dtype::float64, {4}, v));
  };
  EXPECT_EQ(test::to_doubles(s.run({{x, t({-1, 0, 2, 3})}, {dy, t({5, 6, 7, 8})}}, back)),
            (std::vector<double>{0, 0, 14, 16}));
}

}  // namespace
}  // namespace rill
