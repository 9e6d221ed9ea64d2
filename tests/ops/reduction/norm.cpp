#include "rill/ops/reduction/norm.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

using list = std::vector<double>;

TEST(norm, has_a_static_type_of_real_numbers) {
  graph g;
  auto x = placeholder<float, "n", 2>(g, "x");
  auto z = placeholder<std::complex<double>, 2>(g, "z");
  auto a = norm(x);
  auto b = norm<1>(x, keep, 1);
  auto c = norm<0>(x, INFINITY);
  auto e = norm(z), h = norm(z, 3);
  auto k = norm<1>(x, keep, 3);
  static_assert(decltype(norm<1>(x))::static_type == of<float, "n">);
  static_assert(decltype(b)::static_type == of<float, "n", 1>);
  static_assert(decltype(e)::static_type == of<double>);
  static_assert(decltype(k)::static_type == of<float, "n", 1>);
  session s{g};
  auto const [p, q, r, t, u, v] =
      s.run({{x, matrix<float>({{3, -4}, {0, 12}})}, {z, rill::vector<std::complex<double>>({{3, 4}, {0, 12}})}}, a, b,
            c, e, h, k);
  EXPECT_EQ(p.item<float>(), 13);
  EXPECT_EQ(test::to_doubles(q), (list{7, 12}));
  EXPECT_EQ(test::to_doubles(r), (list{3, 12}));
  EXPECT_EQ(t.item<double>(), 13);
  EXPECT_NEAR(u.item<double>(), std::cbrt(125. + 1728), 1e-14);
  EXPECT_NEAR(test::to_doubles(v)[0], std::cbrt(27. + 64), 1e-6);
  EXPECT_NEAR(test::to_doubles(v)[1], 12, 1e-6);
}

TEST(norm, has_derivatives_of_0_where_it_is_0) {
  for (double p : {1., 2., 2.5, static_cast<double>(INFINITY)})
    for (auto d : {dtype::float64, dtype::complex128}) {
      tensor zeros(d, shape{2, 2});
      std::memset(zeros.mutable_raw(), 0, zeros.bytes());
      auto const slope = test::run(
          [&](auto const& in) {
            return cast(gradients(sum(norm(in[0], extents{1}, false, p), extents{}), {in[0]}, true)[0], dtype::float64);
          },
          {zeros});
      EXPECT_EQ(test::to_doubles(slope), list(4, 0)) << p << name(d);
    }
}

// Neither x^p nor its derivatives overflow or underflow: they are what they are for numbers near 1.
TEST(norm, of_any_order_but_2_does_not_depend_on_the_size_of_numbers) {
  struct {
    double order, length, slopes[3];
  } const known[] = {{1, 7, {1, -1, 0}},
                     {1.5, 5.584250376480029, {0.7329564763, -0.8463452376, 0}},
                     {3, 4.497941445275415, {0.4448513516, -0.7908468473, 0}},
                     {10, 4.021974149822839, {0.0714723098, -0.9518893050, 0}},
                     {100, 4.000000000000013, {4.2762695763e-13, -1, 0}},
                     {INFINITY, 4, {0, -1, 0}}};
  for (auto const& k : known)
    for (auto d : {dtype::float32, dtype::float64})
      for (double size : {1., 1e5, 1e30, 1e-30, 1e-36}) {
        SCOPED_TRACE(std::to_string(k.order) + " " + std::string(name(d)) + " " + std::to_string(size));
        auto const of = [&](std::function<value(value, value)> f) {
          return test::to_doubles(
              test::run([&](auto const& in) { return f(in[0], norm(in[0], extents{0}, false, k.order)); },
                        {test::from_doubles(d, {3}, {3 * size, -4 * size, 0})}));
        };
        double const near = d == dtype::float32 ? 2e-6 : 1e-9;
        EXPECT_NEAR(of([](value, value y) { return y; })[0] / size, k.length, near * 5);
        auto const slope = [](value x, value y) { return gradients(y, {x}, true)[0]; };
        auto const slopes = of(slope);
        for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(slopes[i], k.slopes[i], near) << i;
        auto const curvatures =
            of([&](value x, value y) { return gradients(slice(slope(x, y), extents{1}, extents{1}), {x}, true)[0]; });
        double const mixed = std::isinf(k.order) ? 0 : (1 - k.order) * k.slopes[0] * k.slopes[1] / k.length;
        EXPECT_NEAR(curvatures[0] * size, mixed, near * 5);
        EXPECT_NEAR(curvatures[1] * size, mixed * 3 / 4, near * 5);  // so that none comes of scaling 3, -4 and 0
        EXPECT_EQ(curvatures[2], 0);
      }
}

TEST(norm, of_any_order_has_second_derivatives_of_0_where_it_is_0) {
  for (double p : {1., 1.5, 2., 2.5, 3., 10., static_cast<double>(INFINITY)}) {
    auto const curvature = test::run(
        [&](auto const& in) {
          value const dx = gradients(norm(in[0], extents{}, false, p), {in[0]}, true)[0];
          return gradients(sum(dx), {in[0]}, true)[0];
        },
        {test::from_doubles(dtype::float32, {2}, {0, 0})});
    EXPECT_EQ(test::to_doubles(curvature), list(2, 0)) << p;
  }
}

TEST(norm, of_nothing_is_0_and_of_what_is_not_a_number_is_none) {
  for (double p : {1., 2., 2.5, 10.}) {
    auto const of = [&](tensor const& x) {
      return test::run([&](auto const& in) { return norm(in[0], extents{0}, false, p); }, {x}).template item<double>();
    };
    EXPECT_EQ(of(tensor(dtype::float64, shape{0})), 0);
    EXPECT_TRUE(std::isnan(of(test::from_doubles(dtype::float64, {2}, {NAN, 1}))));
    EXPECT_EQ(of(test::from_doubles(dtype::float64, {2}, {-INFINITY, 1})), INFINITY);
  }
}

TEST(norm, refuses_orders_below_1_and_integers) {
  graph g;
  auto const x = placeholder(g, of<float, 2>), i = placeholder(g, of<int, 2>);
  test::expect_error(code::invalid_argument, "order is at least 1", [&] { norm(x, extents{}, false, 0.5); });
  test::expect_error(code::invalid_argument, "order is at least 1", [&] { norm(x, extents{}, false, NAN); });
  test::expect_error(code::invalid_argument, "norm: the operand is not of floats", [&] { norm(i); });
}

}  // namespace
}  // namespace rill
