#include "rill/ops/control/replay.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

// dy/dx at x, and what the variable `count` has become by one step that asks for y and for that.
std::pair<double, double> derivative_and_count(graph& g, value y, value dx, double x,
                                               session_options const& options = {}) {
  session s(g, options);
  s.run(initializer(g));
  auto const both = s.run({{g.find("x"), tensor(x)}}, y, dx);
  return {std::get<1>(both).at<double>(), s.run(g.find("count")).at<double>()};
}

TEST(without_updates, branches_in_a_body_that_is_differentiated_make_theirs_once) {
  graph g;
  auto const x = placeholder<double>(g, "x");
  auto const count = variable(constant(g, 0.), "count");
  auto const y = fold(
      [&](auto s, auto e) {
        return cond(e > 2., [&] { return assign_add(count, e), s * s * e; }, [&] { return s + e * x; });
      },
      x, constant<double, 3>(g, {1, 3, 4}));
  auto const [dx] = gradients(y, x);
  auto const [ddx] = gradients(dx, x);
  for (auto wish : {execution::sequential, execution::tagged})
    for (auto const& passes : {pass_options{.verify = true}, pass_options::none()}) {
      session_options const options{.threads = 2, .passes = passes, .execution = wish};
      // s₁ = 2 x, s₂ = 3 s₁², s₃ = 4 s₂² = 576 x⁴
      EXPECT_EQ(derivative_and_count(g, y, dx, 1.5, options), std::pair(4 * 576 * 3.375, 7.));
      EXPECT_EQ(derivative_and_count(g, y, ddx, 1.5, options), std::pair(12 * 576 * 2.25, 7.));
    }
}

TEST(without_updates, loops_in_a_body_that_is_differentiated_make_theirs_once) {
  graph g;
  auto const x = placeholder<double>(g, "x");
  auto const count = variable(constant(g, 0.), "count");
  auto const y = map(
      [&](auto e) {
        auto const powers = scan([&](auto s, auto) { return assign_add(count, e), s * x; }, e,
                                 constant<double, 3>(g, {0, 0, 0}));  // e x, e x², e x³
        auto const [i, last] = while_loop(
            [](auto k, auto) { return k < 2; },
            [&](auto k, auto v) {
              auto const once = cond(k < 1, [&] { return assign_add(count, e), v * x; }, [&] { return v + e; });
              return std::tuple{k + 1, once};
            },
            constant(g, 0), x);
        return sum(powers) + last;  // … + x² + e
      },
      constant<double, 2>(g, {1, 2}));
  auto const [dx] = gradients(sum(y), x);
  for (auto wish : {execution::sequential, execution::tagged})
    EXPECT_EQ(derivative_and_count(g, y, dx, 2, {.threads = 2, .execution = wish}),
              std::pair(3 * (1 + 2 * 2 + 3 * 4.) + 2 * 4, 3 * 4.));
}

TEST(without_updates, functions_that_a_body_calls_make_theirs_once) {
  graph g;
  auto const x = placeholder<double>(g, "x");
  auto const count = variable(constant(g, 0.), "count");
  auto const square = function<"square", of<double>>(g, [&](auto a) { return assign_add(count, a), a * a * x; });
  // p(a, k) = a xᵏ
  auto const power = function<"power", of<double>(of<double>, of<int>)>(g, [&](auto self, auto a, auto k) {
    return cond(k < 1, [&] { return a; }, [&] { return assign_add(count, constant(g, 1.)), self(a, k - 1) * x; });
  });
  auto const z =
      fold([&](auto s, auto e) { return square(s) + power(e, constant(g, 2)); }, x, constant<double, 2>(g, {1, 3}));
  auto const [dz] = gradients(z, x);
  auto const [ddz] = gradients(dz, x);
  // s₁ = x³ + x², s₂ = s₁² x + 3 x² = x⁷ + 2 x⁶ + x⁵ + 3 x²
  auto const d = [](double v) { return 7 * std::pow(v, 6) + 12 * std::pow(v, 5) + 5 * std::pow(v, 4) + 6 * v; };
  auto const dd = [](double v) { return 42 * std::pow(v, 5) + 60 * std::pow(v, 4) + 20 * std::pow(v, 3) + 6; };
  for (auto wish : {execution::sequential, execution::tagged})
    for (auto const& passes : {pass_options{.verify = true}, pass_options::none()}) {
      session_options const options{.threads = 2, .passes = passes, .execution = wish};
      double const counted = 2 + (8 + 4) + 2 * 2;  // what square was called with, and how often power did more
      EXPECT_EQ(derivative_and_count(g, z, dz, 2, options), std::pair(d(2), counted));
      EXPECT_EQ(derivative_and_count(g, z, ddz, 2, options), std::pair(dd(2), counted));
    }
}

TEST(without_updates, what_an_update_alone_reads_is_no_hindrance) {
  graph g;
  auto const x = placeholder<double>(g, "x");
  auto const average = variable(constant(g, 0.), "count");
  auto const normalized = function<"normalized", of<double>>(g, [&](auto v) {
    assign_sub(average, (average - v) * 0.5);
    return v * v * x;
  });
  auto const y = fold(
      [&](auto s, auto e) {
        assign_sub(average, (average - e) * 0.5);
        return cond(e > 1., [&] { return assign_sub(average, average * 0.5), normalized(s); }, [&] { return s * e; });
      },
      x, constant<double, 2>(g, {1, 3}));
  auto const [dy] = gradients(y, x);  // y = x³
  auto const [whole] = gradients(normalized(x), x);
  for (auto wish : {execution::sequential, execution::tagged}) {
    // 0.5, 1.75, 0.875, (0.875 + 2) / 2
    EXPECT_EQ(derivative_and_count(g, y, dy, 2, {.threads = 2, .execution = wish}), std::pair(12., 1.4375));
    EXPECT_EQ(derivative_and_count(g, y, whole, 2, {.execution = wish}).first, 12.);
  }
}

TEST(without_updates, is_refused_where_a_body_reads_what_it_updates_or_returns_what_an_update_does) {
  graph g;
  auto const x = placeholder<double>(g, "x");
  auto const count = variable(constant(g, 0.), "count");
  auto const of = [&](auto const& branch) {
    auto const y =
        map([&](auto e) { return cond(e > 0., branch, [&] { return x * e; }); }, constant<double, 2>(g, {1, 2}));
    return sentence([&] { gradients(sum(y), x); });
  };
  auto const reading = of([&] { return assign_add(count, x), count * x; });
  EXPECT_NE(reading.find("reads and updates a variable, here 'count', has no gradient"), std::string::npos) << reading;
  auto const returning = of([&] { return assign_add(count, x); });
  EXPECT_NE(returning.find("what an update inside a body returns"), std::string::npos) << returning;
}

TEST(without_updates, a_branch_that_nobody_reads_is_left_out) {
  graph g;
  auto const x = placeholder<double>(g, "x");
  auto const count = variable(constant(g, 0.), "count");
  auto const y = map(
      [&](auto e) {
        cond(e > 1., [&] { assign_add(count, read(count) + 1.); }, [&] { no_op(g); });
        return x * e;
      },
      constant<double, 2>(g, {1, 2}));
  auto const [dx] = gradients(sum(y), x);
  EXPECT_EQ(derivative_and_count(g, y, dx, 2), std::pair(3., 1.));
}

}  // namespace
}  // namespace rill
