#include "rill/ops/control/without_updates.hpp"

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
  for (auto wish : {gear::straight, gear::tagged})
    for (auto const& passes : {pass_options{.verify = true}, pass_options::none()}) {
      session_options const options{.threads = 2, .passes = passes, .gear = wish};
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
  for (auto wish : {gear::straight, gear::tagged})
    EXPECT_EQ(derivative_and_count(g, y, dx, 2, {.threads = 2, .gear = wish}),
              std::pair(3 * (1 + 2 * 2 + 3 * 4.) + 2 * 4, 3 * 4.));
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
