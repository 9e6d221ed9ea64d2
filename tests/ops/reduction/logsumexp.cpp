#include "rill/ops/reduction/logsumexp.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

static_assert(ops::logsumexp_op::infer({extents{-1}}, of<float, "n", 3>) == of<float, "n">);

std::vector<double> over_rows(tensor const& t) {
  return test::to_doubles(test::run([](auto const& in) { return logsumexp(in[0], extents{1}); }, {t}));
}

TEST(logsumexp, neither_overflows_nor_underflows) {
  auto const y = over_rows(test::from_doubles(dtype::float32, {3, 2}, {1000, 1000, -1000, -1000, 1e30, -1e30}));
  EXPECT_NEAR(y[0], 1000 + std::log(2), 1e-4);
  EXPECT_NEAR(y[1], -1000 + std::log(2), 1e-4);
  EXPECT_FLOAT_EQ(static_cast<float>(y[2]), 1e30f);
}

TEST(logsumexp, of_infinite_numbers_and_of_nothing_is_infinite) {
  double const inf = INFINITY;
  auto const y = over_rows(test::from_doubles(
      dtype::float64, {5, 3}, {-inf, -inf, -inf, -inf, 2, -inf, 1, inf, -inf, 1, NAN, inf, inf, inf, inf}));
  EXPECT_EQ(y[0], -inf);
  EXPECT_EQ(y[1], 2);
  EXPECT_EQ(y[2], inf);
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_EQ(y[4], inf);
  EXPECT_EQ(over_rows(tensor(dtype::float64, shape{2, 0})), (std::vector<double>{-inf, -inf}));
}

TEST(logsumexp, goes_over_any_axes_in_one_order_for_any_number_of_threads) {
  auto const x = test::scattered(dtype::float64, {3, 300, 2, 70});
  for (auto const& axes : {extents{0}, extents{1}, extents{3}, extents{0, 2}, extents{1, 3}, extents{}}) {
    SCOPED_TRACE(axes.text());
    auto const of = [&](int threads, auto f) {
      return test::run([&](auto const& in) { return f(in[0]); }, {x}, threads);
    };
    auto const one = of(1, [&](value v) { return logsumexp(v, axes); });
    EXPECT_TRUE(same_bits(one, of(4, [&](value v) { return logsumexp(v, axes); })));
    auto const plain = test::to_doubles(of(1, [&](value v) { return log(sum(exp(v), axes)); }));
    auto const got = test::to_doubles(one);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], plain[i], 1e-12);
  }
}

TEST(logsumexp, has_softmax_as_its_gradient_also_where_numbers_are_infinite) {
  graph g;
  auto const x = placeholder<double, 3>(g);
  auto const [dx] = gradients(logsumexp(x), x);
  session s{g};
  auto const at = [&](double a, double b, double c) {
    return test::to_doubles(s.run({{x, vector<double>({a, b, c})}}, dx));
  };
  double const inf = INFINITY;
  EXPECT_NEAR(at(1000, 1000, 1000)[1], 1 / 3., 1e-12);
  EXPECT_EQ(at(-inf, 5, -inf), (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(at(-inf, -inf, -inf), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(at(inf, 1, 1000), (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(at(inf, 1, inf), (std::vector<double>{0.5, 0, 0.5}));
}

// The logarithm is rounded as numbers of its size are: by up to 1/2 for 1e7 in float32. Its slopes are not.
TEST(logsumexp, has_derivatives_that_do_not_depend_on_the_size_of_numbers) {
  auto const check = [](dtype d, double size, double near) {
    SCOPED_TRACE(std::string(name(d)) + " " + std::to_string(size));
    for (bool keeping : {false, true}) {
      auto const derivatives = [&](std::size_t order) {
        return test::to_doubles(test::run(
            [&](auto const& in) {
              value const dx = gradients(sum(logsumexp(in[0], extents{0}, keeping)), {in[0]}, true)[0];
              value const first = slice(dx, extents{0, 0}, extents{1, 2});
              return order == 1 ? dx : gradients(sum(first), {in[0]}, true)[0];
            },
            {test::from_doubles(d, {3, 2}, {size, -size, size, -size, size, -2 * size})}));
      };
      auto const dx = derivatives(1), dxx = derivatives(2);
      std::vector<double> const slopes{1 / 3., 0.5, 1 / 3., 0.5, 1 / 3., 0},
          curvatures{2 / 9., 0.25, -1 / 9., -0.25, -1 / 9., 0};
      for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_NEAR(dx[i], slopes[i], near) << i;
        EXPECT_NEAR(dxx[i], curvatures[i], near) << i;
      }
    }
  };
  for (double size : {100., 1e4, 1e7, 1e12, 1e30}) check(dtype::float32, size, 1e-6);
  for (double size : {1e4, 1e16, 1e300}) check(dtype::float64, size, 1e-14);
  for (double size : {100., 1e4, 1e30}) check(dtype::bfloat16, size, 2e-3);
}

}  // namespace
}  // namespace rill
