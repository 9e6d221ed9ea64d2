#include "rill/ops/math/smooth_units.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/list/fuse.hpp"
#include "rill/ops/math/activations.hpp"
#include "rill/ops/math/complex.hpp"

namespace rill {
namespace {

using list = std::vector<double>;

double const inf = INFINITY;

// The value and both derivatives of f at numbers.
struct course {
  list values, slopes, curvatures;

  course(value (*f)(value), dtype d, list const& numbers) {
    graph g;
    auto const x = placeholder(g, {d, {static_cast<std::int64_t>(numbers.size())}});
    auto const y = f(x), dx = gradients(sum(y), {x}, true)[0], dxx = gradients(sum(dx), {x}, true)[0];
    session s{g};
    auto const at = [&](value v) {
      return test::to_doubles(s.run({{x, test::from_doubles(d, x.type().shape(), numbers)}}, v));
    };
    values = at(y), slopes = at(dx), curvatures = at(dxx);
  }
};

// Far out an activation is 0, x, or another line, and so are its derivatives: none is infinite times 0.
TEST(activations, have_their_limits_and_derivatives_at_infinity_and_at_the_largest_numbers) {
  struct {
    char const* name;
    value (*f)(value);
    double low, slope_low, high, slope_high;
  } const all[] = {{"silu", [](value x) { return silu(x); }, 0, 0, inf, 1},
                   {"gelu", [](value x) { return gelu(x); }, 0, 0, inf, 1},
                   {"gelu_tanh", [](value x) { return gelu_tanh(x); }, 0, 0, inf, 1},
                   {"mish", [](value x) { return mish(x); }, 0, 0, inf, 1},
                   {"normal_cdf", [](value x) { return normal_cdf(x); }, 0, 0, 1, 0},
                   {"erf", [](value x) { return erf(x); }, -1, 0, 1, 0},
                   {"relu", [](value x) { return relu(x); }, 0, 0, inf, 1},
                   {"relu6", [](value x) { return relu6(x); }, 0, 0, 6, 0},
                   {"leaky_relu", [](value x) { return leaky_relu(x, 0.5); }, -inf, 0.5, inf, 1},
                   {"elu", [](value x) { return elu(x, 2); }, -2, 0, inf, 1},
                   {"celu", [](value x) { return celu(x, 2); }, -2, 0, inf, 1},
                   {"selu", [](value x) { return selu(x) / 2; }, -0.87904967042368843, 0, inf, 0.52535049367774025},
                   {"hardtanh", [](value x) { return hardtanh(x); }, -1, 0, 1, 0},
                   {"hardsigmoid", [](value x) { return hardsigmoid(x); }, 0, 0, 1, 0},
                   {"hardswish", [](value x) { return hardswish(x); }, 0, 0, inf, 1},
                   {"sigmoid", [](value x) { return sigmoid(x); }, 0, 0, 1, 0},
                   {"log_sigmoid", [](value x) { return log_sigmoid(x); }, -inf, 1, 0, 0},
                   {"softplus", [](value x) { return softplus(x); }, 0, 0, inf, 1},
                   {"softsign", [](value x) { return softsign(x); }, -1, 0, 1, 0},
                   {"tanh", [](value x) { return tanh(x); }, -1, 0, 1, 0}};
  for (auto d : {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64}) {
    double const largest = d == dtype::float16    ? 65504
                           : d == dtype::bfloat16 ? 0x1.fep127
                           : d == dtype::float32  ? 0x1.fffffep127
                                                  : 0x1.fffffffffffffp1023;
    double const near = d == dtype::float64 ? 1e-15 : d == dtype::float32 ? 1e-6 : 1e-2;
    for (auto const& a : all) {
      SCOPED_TRACE(std::string(a.name) + " of " + std::string(name(d)));
      course const c(a.f, d, {-inf, inf, -largest, largest});
      for (std::size_t i : {0u, 1u}) {
        double const end = i == 0 ? a.low : a.high, slope = i == 0 ? a.slope_low : a.slope_high;
        if (std::isinf(end)) {
          EXPECT_EQ(c.values[i], end);
          EXPECT_GT(c.values[i + 2] * std::copysign(1, end), 3e4);
        }
        for (auto at : {i, i + 2}) {
          if (!std::isinf(end)) {
            EXPECT_NEAR(c.values[at], end, near);
          }
          EXPECT_NEAR(c.slopes[at], slope, near);
          EXPECT_EQ(c.curvatures[at], 0);
        }
      }
    }
  }
}

TEST(gelu, keeps_its_tail_and_its_derivatives_tail) {
  course const c([](value x) { return gelu(x); }, dtype::float32, {-5, -9, -13});
  list const values{-1.4332578594e-6, -1.01572956536e-18, -7.95231371941e-38},
      slopes{-7.14694600179e-6, -9.13893737391e-18, -1.03373044401e-36};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(c.values[i] / values[i], 1, 1e-6);
    EXPECT_NEAR(c.slopes[i] / slopes[i], 1, 1e-3);
  }
}

// Far out a slope is 1 plus little, or little, and a curvature is as small: neither comes from a difference of numbers
// near 1, which float32 rounds to 0.
TEST(activations, keep_the_tails_of_their_derivatives) {
  struct {
    char const* name;
    value (*f)(value);
    list at, curvatures;
  } const all[] = {{"mish",
                    [](value x) { return mish(x); },
                    {10, 20, 30, -20},
                    {-1.48371621785e-7, -6.4574984071e-16, -2.03151049694e-24, -3.71007650425e-8}},
                   {"softsign",
                    [](value x) { return softsign(x); },
                    {0.5, 17, -1000, 1e7, 1e10},
                    {-2 / 3.375, -3.4293552812e-4, 1.9940119760e-9, -1.9999994e-21, -2e-30}}};
  for (auto const& a : all) {
    course const c(a.f, dtype::float32, a.at);
    for (std::size_t i = 0; i < a.at.size(); ++i)
      EXPECT_NEAR(c.curvatures[i] / a.curvatures[i], 1, 1e-5) << a.name << " of " << a.at[i];
  }
  // Within 10 %, as sigmoid's own slope is y (1 - y).
  course const unit([](value x) { return gelu_tanh(x); }, dtype::float32, {5});
  EXPECT_NEAR(unit.slopes[0] - 1, 1.546362e-6, 1.2e-7);
  EXPECT_NEAR(unit.curvatures[0] / -9.934132e-6, 1, 0.1);
  course const weighted([](value x) { return silu(x); }, dtype::float32, {14, 20, 40});
  EXPECT_NEAR(weighted.slopes[0] - 1, 1.080985e-5, 1.2e-7);
  EXPECT_NEAR(weighted.curvatures[1] / -3.710076e-8, 1, 0.1);
  EXPECT_NEAR(weighted.curvatures[2] / -1.614375e-16, 1, 0.1);
}

// (1 + |x|)^-2 as a difference would be 0 from 1e8 on.
TEST(softsign, has_the_slope_of_large_numbers) {
  for (auto d : {dtype::float32, dtype::float64, dtype::bfloat16}) {
    double const near = d == dtype::bfloat16 ? 0x1p-8 : 1e-6;
    list const at{-0x1p60, -0x1p30, -0x1p10, -1, -0.5, 0, 0.5, 1, 0x1p10, 0x1p30, 0x1p60};
    course const c([](value x) { return softsign(x); }, d, at);
    for (std::size_t i = 0; i < at.size(); ++i) {
      double const size = 1 + std::abs(at[i]);
      EXPECT_NEAR(c.values[i], at[i] / size, near) << name(d) << at[i];
      EXPECT_NEAR(c.slopes[i] * size * size, 1, near) << name(d) << at[i];
    }
  }
  course const c([](value x) { return softsign(x); }, dtype::float16, {240});
  EXPECT_NEAR(c.slopes[0] * 241 * 241, 1, 2e-3);
}

TEST(silu, keeps_subnormal_results) {
  course const c([](value x) { return silu(x); }, dtype::float32, {-95, -103});
  EXPECT_NEAR(c.values[0], -95 * std::exp(-95.), 0x1p-149);
  EXPECT_NEAR(c.values[1], -103 * std::exp(-103.), 0x1p-149);
}

// Which are no single operations there.
TEST(smooth_units, take_complex_numbers_as_they_are_composed) {
  using number = std::complex<double>;
  number const at{0.5, -1.25}, step = 1. / (1. + std::exp(-at));
  number const u = 1.5957691216057308 * (at + 0.044715 * at * at * at), tanh_step = 1. / (1. + std::exp(-u));
  auto const expect_near = [](tensor const& found, number wanted) {
    EXPECT_NEAR(std::abs(found.data<number>()[0] - wanted), 0, 1e-15);
  };
  graph g;
  auto const x = placeholder<number, 1>(g, "x");
  auto const erased = placeholder(g, type(dtype::complex128, {1}));
  auto const y = silu(x), z = gelu_tanh(x);
  auto const [dx] = gradients(real(sum(y)), x);
  auto const lambda = fuse([](auto a) { return silu(a) - gelu_tanh(a); }, x);
  auto const program = fuse([d = 2.](auto a) { return silu(a) - gelu_tanh(a) * (d - 1); }, x);
  session s{g};
  auto const fed = rill::vector<number>({at});
  auto const [a, b, c, d, e] = s.run({{x, fed}}, y, z, dx, lambda, program);
  expect_near(a, at * step);
  expect_near(b, at * tanh_step);
  expect_near(c, std::conj(step + at * step * (1. - step)));
  expect_near(d, at * step - at * tanh_step);
  expect_near(e, at * step - at * tanh_step);
  expect_near(s.run({{erased, fed}}, silu(value(erased)) + gelu_tanh(value(erased))), at * step + at * tanh_step);
}

TEST(softsign, refuses_integers_and_complex_numbers) {
  graph g;
  for (auto d : {dtype::int32, dtype::complex64})
    test::expect_error(code::invalid_argument, "softsign: the operand is not of floats; cast it",
                       [&] { softsign(placeholder(g, type(d, {2}))); });
}

TEST(prelu, has_no_derivative_of_its_slope_from_infinite_numbers_above_0) {
  graph g;
  auto const x = placeholder<float, 2>(g, "x");
  auto const slope = placeholder<float>(g, "slope");
  auto const [ds] = gradients(sum(prelu(x, slope)), slope);
  session s{g};
  auto const found = s.run({{x, rill::vector<float>({INFINITY, -2})}, {slope, tensor(0.5f)}}, ds);
  EXPECT_EQ(test::to_doubles(found), (list{-2}));
}

}  // namespace
}  // namespace rill
