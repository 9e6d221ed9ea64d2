#include "rill/grad/products.hpp"

#include <gtest/gtest.h>

#include <complex>

#include "../ops/executions.hpp"
#include "base/sentence.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

/// Numbers between -1 and 1 without much of a pattern.
tensor numbers(shape const& extents, unsigned salt) {
  tensor t(dtype::float64, extents);
  for (std::int64_t i = 0; i < t.elements(); ++i)
    t.mutable_data<double>()[i] = static_cast<double>((i * 7919 + salt * 104729) % 2003) / 1001.5 - 1;
  return t;
}
double dot(tensor const& a, tensor const& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) sum += a.data<double>()[i] * b.data<double>()[i];
  return sum;
}

/// A direction along which `y` is moved: its derivative by central differences.
tensor difference(session& s, value y, value x, tensor const& at, tensor const& along) {
  auto const moved = [&](double by) {
    auto t = at.clone();
    for (std::int64_t i = 0; i < t.elements(); ++i) t.mutable_data<double>()[i] += by * along.data<double>()[i];
    return tensor(s.run({{x, t}}, y));
  };
  auto const up = moved(1e-5), down = moved(-1e-5);
  auto d = up.clone();
  for (std::int64_t i = 0; i < d.elements(); ++i)
    d.mutable_data<double>()[i] = (up.data<double>()[i] - down.data<double>()[i]) / 2e-5;
  return d;
}
void expect_close(tensor const& got, tensor const& wanted, double tolerance = 1e-7) {
  ASSERT_EQ(got.shape(), wanted.shape());
  for (std::int64_t i = 0; i < got.elements(); ++i)
    EXPECT_NEAR(got.data<double>()[i], wanted.data<double>()[i], tolerance) << "element " << i;
}

/// Functions of x [3, 4] with values of other extents, through operations of every kind: elementwise, reductions,
/// products, lookups, branches, loops, calls.
using function_of_x = value (*)(value);
function_of_x const functions[] = {
    [](value x) { return value(tanh(x) * x); },
    [](value x) { return value(sum(exp(x), extents{1})); },
    [](value x) { return value(matmul(x, transpose(x, {1, 0}))); },
    [](value x) { return value(softmax(x)); },
    [](value x) { return value(gather(x * x, value(constant<std::int32_t, 3>(*x.graph, {2, 0, 2})))); },
    [](value x) { return cond(value(sum(x) > 0), [&] { return x * x * x; }, [&] { return sin(x); }); },
    [](value x) { return map([](value row) { return value(sum(row * row)); }, x); },
    [](value x) {
      return scan([](value state, value row) { return tanh(state * row + row); },
                  gather(x, value(constant(*x.graph, 0))), x);
    },
    [](value x) {
      return while_loop([](value const& v) { return value(sum(v * v) < 50); },
                        [](value const& v) { return v * 1.5 + 1; }, x);
    },
};

TEST(jvp, is_the_derivative_along_a_direction) {
  for (std::size_t k = 0; k < std::size(functions); ++k) {
    SCOPED_TRACE(k);
    graph g;
    value const x = placeholder(g, of<double, 3, 4>), dx = placeholder(g, of<double, 3, 4>);
    auto const y = functions[k](x);
    auto const dy = jvp(y, x, dx);
    EXPECT_EQ(dy.type(), y.type());
    session s(g);
    auto const at = numbers({3, 4}, 1), along = numbers({3, 4}, 2);
    expect_close(s.run({{x, at}, {dx, along}}, dy), difference(s, y, x, at, along));
  }
}

TEST(vjp, is_the_transpose_of_jvp) {
  for (std::size_t k = 0; k < std::size(functions); ++k) {
    SCOPED_TRACE(k);
    graph g;
    value const x = placeholder(g, of<double, 3, 4>), dx = placeholder(g, of<double, 3, 4>);
    auto const y = functions[k](x);
    value const dy = placeholder(g, y.type());
    session s(g);
    auto const at = numbers({3, 4}, 1), along = numbers({3, 4}, 2), back = numbers(y.type().shape(), 3);
    auto const [pulled, pushed] = s.run({{x, at}, {dx, along}, {dy, back}}, vjp(y, x, dy), jvp(y, x, dx));
    EXPECT_NEAR(dot(pulled, along), dot(pushed, back), 1e-9);
  }
}

TEST(hvp, is_the_change_of_the_gradient_along_a_direction) {
  for (std::size_t k = 0; k < std::size(functions); ++k) {
    SCOPED_TRACE(k);
    graph g;
    value const x = placeholder(g, of<double, 3, 4>), v = placeholder(g, of<double, 3, 4>);
    auto const y = functions[k](x);
    auto const slope = gradients(y, std::vector<value>{x})[0];
    session s(g);
    auto const at = numbers({3, 4}, 1), along = numbers({3, 4}, 2);
    expect_close(s.run({{x, at}, {v, along}}, hvp(y, x, v)), difference(s, slope, x, at, along), 1e-6);
  }
}

TEST(products, have_the_types_of_their_values) {
  graph g;
  auto const w = constant<double, 2, 3>(g, {1, 2, 3, 4, 5, 6});
  auto const x = constant<double, 2>(g, {1, 2});
  auto const y = sum<0>(w * expand_dims<1>(x));  // [3]
  static_assert(std::same_as<decltype(vjp(y, w, y)), expr<of<double, 2, 3>>>);
  static_assert(
      std::same_as<decltype(vjp(y, std::tuple{w, x}, y)), std::tuple<expr<of<double, 2, 3>>, expr<of<double, 2>>>>);
  static_assert(std::same_as<decltype(jvp(y, w, w)), expr<of<double, 3>>>);
  static_assert(std::same_as<decltype(jvp(std::tuple{y, x}, std::tuple{w, x}, std::tuple{w, x})),
                             std::tuple<expr<of<double, 3>>, expr<of<double, 2>>>>);
  static_assert(std::same_as<decltype(hvp(y, x, x)), expr<of<double, 2>>>);
  static_assert(std::same_as<decltype(jvp(y, value(w), w)), expr<of<double, 3>>>);
  static_assert(std::same_as<decltype(vjp(value(y), w, 1)), expr<of<double, 2, 3>>>);
  session s(g);
  auto const [dw, dx] = vjp(y, std::tuple{w, x}, 2);
  auto const [moved, same] = jvp(std::tuple{y, x}, std::tuple{w, x}, std::tuple{w, x});
  auto const [at_w, at_x, at_y, x_itself] = s.run(dw, dx, moved, same);
  EXPECT_TRUE(same_bits(at_w, matrix<double>({{2, 2, 2}, {4, 4, 4}})));
  EXPECT_TRUE(same_bits(at_x, vector<double>({12, 30})));
  EXPECT_TRUE(same_bits(at_y, vector<double>({18, 24, 30})));  // y is bilinear: twice its value
  EXPECT_TRUE(same_bits(x_itself, vector<double>({1, 2})));
}

TEST(products, are_zeros_where_nothing_depends) {
  graph g;
  auto const x = constant<double, 2>(g, {1, 2});
  auto const other = constant<double, 3>(g, {1, 2, 3});
  auto const count = cast<double>(argmax<0>(x));
  session s(g);
  EXPECT_TRUE(same_bits(s.run(vjp(square(x), other, x)), vector<double>({0, 0, 0})));
  EXPECT_TRUE(same_bits(s.run(jvp(square(x), other, other)), vector<double>({0, 0})));
  EXPECT_TRUE(same_bits(s.run(hvp(sum(x * 2.), x, x)), vector<double>({0, 0})));
  EXPECT_EQ(double(s.run(jvp(count, x, x))), 0);
}

TEST(products, take_values_of_extents_that_only_the_step_knows) {
  graph g;
  auto const x = placeholder<double, "n">(g, "x"), dx = placeholder<double, "n">(g, "dx");
  auto const y = x * sum(x);
  auto const moved = jvp(y, x, dx), pulled = vjp(y, x, dx), second = hvp(y, x, dx);
  static_assert(std::same_as<decltype(moved), expr<of<double, "n">> const>);
  session s(g);
  for (std::int64_t n : {3, 0, 1}) {
    auto const at = numbers({n}, 1), along = numbers({n}, 2);
    auto const [m, p, h] = s.run({{x, at}, {dx, along}}, moved, pulled, second);
    double sum = 0, sum_along = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += at.data<double>()[i], sum_along += along.data<double>()[i];
    for (std::int64_t i = 0; i < n; ++i) {
      double const a = at.data<double>()[i], d = along.data<double>()[i];
      EXPECT_NEAR(m.data<double>()[i], d * sum + a * sum_along, 1e-12);
      EXPECT_NEAR(p.data<double>()[i], d * sum + dot(at, along), 1e-12);
      EXPECT_NEAR(h.data<double>()[i], 2 * sum_along, 1e-12);
    }
  }
}

TEST(products, of_complex_values_are_the_adjoint_and_the_derivative) {
  using complex = std::complex<double>;
  graph g;
  auto const z = constant(g, complex(1, 2));
  auto const u = constant(g, complex(3, -1));
  session s(g);
  auto const [moved, pulled] = s.run(jvp(z * z, z, u), vjp(z * z, z, u));
  EXPECT_EQ(moved.item<complex>(), 2. * complex(1, 2) * complex(3, -1));
  EXPECT_EQ(pulled.item<complex>(), 2. * std::conj(complex(1, 2)) * complex(3, -1));
}

TEST(products, within_a_body_differentiate_by_values_from_outside) {
  graph g;
  auto const x = constant<double, 2>(g, {1, 2});
  auto const rows = map(
      [&](auto row) {
        auto const y = x * x * row;
        return jvp(y, x, row) + vjp(y, x, row);
      },
      constant<double, 2, 2>(g, {1, 1, 2, 3}));
  test::each_execution s(g);
  EXPECT_TRUE(same_bits(tensor(s.run(rows)), matrix<double>({{4, 8}, {16, 72}})));
}

TEST(products, refuse_directions_of_other_types) {
  graph g;
  value const x = constant<double, 2>(g, {1, 2}), y = square(x), short_one = constant<double, 1>(g, {1}),
              narrow = constant<float, 2>(g, {1, 2});
  EXPECT_NE(sentence([&] {
              vjp(y, x, short_one);
            }).find("vjp: expected a direction of the value's type, float64[2], got float64[1]"),
            std::string::npos);
  EXPECT_NE(sentence([&] { jvp(y, x, narrow); }).find("jvp: expected a direction of the value's type"),
            std::string::npos);
  EXPECT_NE(sentence([&] {
              hvp(y, std::vector<value>{x}, {});
            }).find("hvp: expected a direction for each of 1 values, got 0"),
            std::string::npos);
  EXPECT_EQ(refusal([&] { vjp(value(cast<std::int32_t>(x)), x, value(cast<std::int32_t>(x))); }),
            code::invalid_argument);
}

}  // namespace
}  // namespace rill
