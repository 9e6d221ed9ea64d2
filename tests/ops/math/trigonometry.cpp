#include "rill/ops/math/trigonometry.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill {
namespace {

// Through packets and their rests, and of numbers that no float reduces by hand.
TEST(trigonometry, of_huge_angles_is_that_of_the_standard_library) {
  std::vector<double> v;
  for (int i = 0; i < 37; ++i) v.push_back(std::ldexp(1 + i / 37.0, i * 27 - 10));
  auto const x = test::from_doubles(dtype::float64, {37}, v);
  auto const s = test::to_doubles(test::run([](auto const& in) { return sin(in[0]); }, {x}));
  auto const c = test::to_doubles(test::run([](auto const& in) { return cos(in[0]); }, {x}));
  for (std::size_t i = 0; i < v.size(); ++i) {
    EXPECT_NEAR(s[i], std::sin(v[i]), 3e-16) << v[i];
    EXPECT_NEAR(c[i], std::cos(v[i]), 3e-16) << v[i];
  }
}

TEST(atan2, takes_a_number_on_either_side_and_knows_every_quadrant) {
  graph g;
  auto y = placeholder<double, 3>(g, "y");
  session s{g};
  auto const [a, b, c] = s.run({{y, rill::vector<double>({-1, 0, 1})}}, atan2(y, 1.), atan2(y, -1.), atan2(1., y));
  double const pi = 3.14159265358979324;
  EXPECT_EQ(test::to_doubles(a), (std::vector<double>{-pi / 4, 0, pi / 4}));
  EXPECT_EQ(test::to_doubles(b), (std::vector<double>{-3 * pi / 4, pi, 3 * pi / 4}));
  EXPECT_EQ(test::to_doubles(c), (std::vector<double>{3 * pi / 4, pi / 2, pi / 4}));
}

TEST(trigonometry, inverses_have_infinite_derivatives_at_1_and_none_beyond) {
  auto const slope = [](value (*f)(value)) {
    return test::to_doubles(
        test::run([f](auto const& in) { return gradients(sum(f(in[0]), extents{}), {in[0]}, true)[0]; },
                  {test::from_doubles(dtype::float64, {3}, {1, 0, 2})}));
  };
  auto const s = slope([](value x) { return asin(x); }), c = slope([](value x) { return acos(x); });
  EXPECT_TRUE(std::isinf(s[0]) && s[0] > 0 && s[1] == 1 && std::isnan(s[2]));
  EXPECT_TRUE(std::isinf(c[0]) && c[0] < 0 && c[1] == -1 && std::isnan(c[2]));
}

// The slopes of asin and acos at 1 are infinite, and so is how they change; near 0 that is x, also where 1 + x is 1.
TEST(trigonometry, inverses_have_second_derivatives_near_0_at_1_and_far_out) {
  double const inf = INFINITY;
  auto const at = [](value (*f)(value), std::vector<double> const& x) {
    return test::to_doubles(test::run(
        [f](auto const& in) {
          value const slope = gradients(sum(f(in[0]), extents{}), {in[0]}, true)[0];
          return gradients(sum(slope, extents{}), {in[0]}, true)[0];
        },
        {test::from_doubles(dtype::float32, {static_cast<std::int64_t>(x.size())}, x)}));
  };
  auto const of_asin = at([](value x) { return asin(x); }, {1e-10, -1e-5, 0.5, 1, -1});
  auto const of_acos = at([](value x) { return acos(x); }, {1e-10, -1e-5, 0.5, 1, -1});
  std::vector<double> const wanted{1e-10, -1e-5, 0.5 / std::pow(0.75, 1.5), inf, -inf};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(of_asin[i] / wanted[i], 1, 1e-6);
    EXPECT_NEAR(of_acos[i] / -wanted[i], 1, 1e-6);
  }
  for (std::size_t i : {3u, 4u}) {
    EXPECT_EQ(of_asin[i], wanted[i]);
    EXPECT_EQ(of_acos[i], -wanted[i]);
  }
  auto const of_atan = at([](value x) { return atan(x); }, {1e-10, 1, -1e10, inf});
  EXPECT_NEAR(of_atan[0] * 1e10, -2, 1e-6);
  EXPECT_NEAR(of_atan[1], -0.5, 1e-7);
  EXPECT_NEAR(of_atan[2] * 1e30, 2, 1e-6);
  EXPECT_EQ(of_atan[3], 0);
}

TEST(trigonometry, of_infinite_numbers_are_flat) {
  auto const at = [](auto const& f, std::vector<double> const& x) {
    return test::to_doubles(test::run([&](auto const& in) { return f(in[0]); },
                                      {test::from_doubles(dtype::float64, {static_cast<std::int64_t>(x.size())}, x)}));
  };
  auto const slope = [](auto const& f) {
    return [f](value x) { return gradients(sum(f(x), extents{}), {x}, true)[0]; };
  };
  auto const arc = [](value x) { return atan(x); };
  EXPECT_EQ(at(slope(arc), {-INFINITY, INFINITY}), (std::vector<double>{0, 0}));
  EXPECT_EQ(at(slope(slope(arc)), {-INFINITY, INFINITY, 1e200}), (std::vector<double>{0, 0, 0}));
  for (double const other : std::vector<double>{0, 1, -INFINITY}) {
    auto const angle = [other](value x) { return value(atan2(x, like(x, other)) + atan2(like(x, other), x)); };
    EXPECT_EQ(at(slope(angle), {INFINITY, -INFINITY}), (std::vector<double>{0, 0})) << other;
    EXPECT_EQ(at(slope(slope(angle)), {INFINITY, -INFINITY}), (std::vector<double>{0, 0})) << other;
  }
}

TEST(trigonometry, refuses_integers_and_complex_numbers) {
  graph g;
  for (auto d : {dtype::int32, dtype::complex64}) {
    auto const x = placeholder(g, type(d, {2}));
    for (auto f : {+[](value v) { return sin(v); }, +[](value v) { return cos(v); }, +[](value v) { return tan(v); },
                   +[](value v) { return atan2(v, v); }, +[](value v) { return asin(v); },
                   +[](value v) { return acos(v); }, +[](value v) { return atan(v); }})
      test::expect_error(code::invalid_argument, "does not support this element type", [&] { f(x); });
  }
}

}  // namespace
}  // namespace rill
