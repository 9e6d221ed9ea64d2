#include "rill/ops/math/exponential.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill {
namespace {

TEST(softplus, overflows_for_nothing_and_has_both_derivatives_at_0_and_far_from_it) {
  graph g;
  auto x = placeholder<double, 5>(g, "x");
  auto y = softplus(x);
  auto [dx] = gradients(sum(y), x);
  auto [dxx] = gradients(sum(dx), x);
  session s{g};
  auto const [a, b, c] = s.run({{x, rill::vector<double>({-1000, -1, 0, 1, 1000})}}, y, dx, dxx);
  EXPECT_EQ(a.values()[0], 0);
  EXPECT_NEAR(a.values()[2], std::log(2), 1e-16);
  EXPECT_EQ(a.values()[4], 1000);
  EXPECT_EQ(b.values()[0], 0);
  EXPECT_EQ(b.values()[2], 0.5);
  EXPECT_EQ(b.values()[4], 1);
  EXPECT_EQ(c.values()[0], 0);
  EXPECT_EQ(c.values()[2], 0.25);
  EXPECT_EQ(c.values()[4], 0);
}

TEST(log1p, and_expm1_keep_what_1_and_x_would_lose) {
  auto const x = test::from_doubles(dtype::float32, {3}, {1e-10, -1e-20, 1e-30});
  auto const expect = [&](value (*f)(value)) {
    auto const y = test::run([f](auto const& in) { return f(in[0]); }, {x});
    EXPECT_TRUE(same_bits(x, y));
  };
  expect([](value v) { return log1p(v); });
  expect([](value v) { return expm1(v); });
  expect([](value v) { return log1p(expm1(v)); });
}

TEST(erf, has_the_derivatives_of_a_normal_density) {
  graph g;
  auto x = placeholder<double, 3>(g, "x");
  auto [dx] = gradients(sum(erf(x)), x);
  auto [dxx] = gradients(sum(dx), x);
  session s{g};
  auto const [a, b] = s.run({{x, rill::vector<double>({0, 1, 30})}}, dx, dxx);
  double const top = 1.1283791670955126;
  EXPECT_EQ(a.values()[0], top);
  EXPECT_NEAR(a.values()[1], top * std::exp(-1), 1e-15);
  EXPECT_EQ(a.values()[2], 0);
  EXPECT_EQ(b.values()[0], 0);
  EXPECT_NEAR(b.values()[1], -2 * top * std::exp(-1), 1e-15);
  EXPECT_EQ(b.values()[2], 0);
}

}  // namespace
}  // namespace rill
