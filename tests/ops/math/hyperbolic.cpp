#include "rill/ops/math/hyperbolic.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/list/fuse.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill {
namespace {

tensor at(value (*f)(value), std::vector<double> const& x) {
  return test::run([f](auto const& in) { return f(in[0]); },
                   {test::from_doubles(dtype::float64, {static_cast<std::int64_t>(x.size())}, x)});
}

std::vector<double> slope_at(value (*f)(value), std::vector<double> const& x) {
  return test::to_doubles(
      test::run([f](auto const& in) { return gradients(sum(f(in[0]), extents{}), {in[0]}, true)[0]; },
                {test::from_doubles(dtype::float64, {static_cast<std::int64_t>(x.size())}, x)}));
}

std::vector<double> curvature_at(value (*f)(value), std::vector<double> const& x, dtype d = dtype::float64) {
  return test::to_doubles(test::run(
      [f](auto const& in) {
        value const slope = gradients(sum(f(in[0]), extents{}), {in[0]}, true)[0];
        return gradients(sum(slope, extents{}), {in[0]}, true)[0];
      },
      {test::from_doubles(d, {static_cast<std::int64_t>(x.size())}, x)}));
}

TEST(hyperbolic, second_derivatives_keep_small_and_large_numbers_and_the_ends_of_a_domain) {
  auto const inf = std::numeric_limits<double>::infinity();
  auto const of_atanh = curvature_at([](value x) { return atanh(x); }, {1e-10, -1e-30, 1, -1});
  EXPECT_DOUBLE_EQ(of_atanh[0], 2e-10);
  EXPECT_DOUBLE_EQ(of_atanh[1], -2e-30);
  EXPECT_EQ(of_atanh[2], inf);
  EXPECT_EQ(of_atanh[3], -inf);
  EXPECT_EQ(curvature_at([](value x) { return acosh(x); }, {1, inf}), (std::vector{-inf, 0.}));
  auto const of_asinh = curvature_at([](value x) { return asinh(x); }, {1e15, -1e18}, dtype::float32);
  EXPECT_NEAR(of_asinh[0] * 1e30, -1, 1e-6);
  EXPECT_NEAR(of_asinh[1] * 1e36, 1, 1e-6);
}

TEST(hyperbolic, derivatives_are_finite_where_squares_overflow) {
  auto const s = slope_at([](value x) { return asinh(x); }, {1e200, -1e200, 0});
  EXPECT_DOUBLE_EQ(s[0], 1e-200);
  EXPECT_DOUBLE_EQ(s[1], 1e-200);
  EXPECT_EQ(s[2], 1);
  EXPECT_DOUBLE_EQ(slope_at([](value x) { return acosh(x); }, {1e200})[0], 1e-200);
}

TEST(hyperbolic, inverses_undo_the_functions) {
  for (double x : {-3., -1e-9, 0., 0.25, 1., 40.}) {
    EXPECT_NEAR(at([](value v) { return asinh(sinh(v)); }, {x}).data<double>()[0], x, 1e-14 * std::abs(x));
    EXPECT_NEAR(at([](value v) { return acosh(cosh(v)); }, {x}).data<double>()[0], std::abs(x), 1e-8);
  }
}

TEST(hyperbolic, derivatives_at_the_ends_of_a_domain_are_infinite) {
  auto const inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(slope_at([](value x) { return acosh(x); }, {1}), std::vector{inf});
  EXPECT_EQ(slope_at([](value x) { return atanh(x); }, {1, -1}), (std::vector{inf, inf}));
}

TEST(hyperbolic, is_what_a_lambda_of_fuse_may_use) {
  graph g;
  auto x = placeholder<float, 5>(g, "x");
  auto const f = [](auto v) {
    return asinh(sinh(v)) + acosh(cosh(v)) + atanh(tanh(v)) + log2(exp2(v)) + asin(sin(v)) + acos(cos(v)) +
           atan(tan(v)) + log10(exp(v));
  };
  auto const together = fuse(f, x);
  auto const apart = f(x);
  session s{g};
  auto const [a, b] = s.run({{x, rill::vector<float>({0.125f, 0.5f, 0.75f, 1.f, 1.25f})}}, together, apart);
  EXPECT_TRUE(same_bits(a, b));
}

TEST(hyperbolic, refuses_integers_and_complex_numbers) {
  graph g;
  for (auto d : {dtype::int32, dtype::complex64}) {
    auto const x = placeholder(g, type(d, {2}));
    for (auto f :
         {+[](value v) { return sinh(v); }, +[](value v) { return cosh(v); }, +[](value v) { return asinh(v); },
          +[](value v) { return acosh(v); }, +[](value v) { return atanh(v); }})
      test::expect_error(code::invalid_argument, "does not support this element type", [&] { f(x); });
  }
}

}  // namespace
}  // namespace rill
