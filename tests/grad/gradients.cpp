#include "rill/grad/gradients.hpp"

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <map>
#include <string>

#include "base/sentence.hpp"
#include "rill/ops/array/as.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/control/cond.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/control/function.hpp"
#include "rill/ops/control/while_loop.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/matrix/matmul.hpp"
#include "rill/ops/reduction/argmax.hpp"
#include "rill/ops/state/assign.hpp"
#include "rill/ops/table/gather.hpp"
#include "rill/run/session.hpp"

namespace rill {
namespace {

code refusal(auto&& f, std::string const& sub) {
  try {
    f();
  } catch (error const& e) {
    EXPECT_NE(std::string(e.what()).find(sub), std::string::npos) << e.what();
    return e.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return code::internal;
}

graph::rule times(float factor) {
  return [factor](std::vector<value> const& x, value, value dy) {
    return std::vector<value>{mul(mul(dy, x[0]), constant(*dy.graph, tensor(factor)))};
  };
}

template <class... F> auto run(graph& g, F const&... fetches) {
  session s(g);
  return s.run(fetches...);
}

TEST(gradients, have_the_types_of_their_variables) {
  graph g;
  auto const w = constant<double, 2, 3>(g, {1, 2, 3, 4, 5, 6});
  auto const b = constant<double, 3>(g, {1, 1, 1});
  auto const x = constant<double, 1, 2>(g, {1, 2});
  auto const loss = sum(square(matmul(x, w) + b));
  auto const [dw, db] = gradients(loss, w, b);
  static_assert(std::same_as<decltype(dw), expr<of<double, 2, 3>> const>);
  auto const [at_w, at_b] = run(g, dw, db);  // 2 (x w + b) = 2 (10, 13, 16)
  EXPECT_TRUE(same_bits(at_b, vector<double>({20, 26, 32})));
  EXPECT_TRUE(same_bits(at_w, matrix<double>({{20, 26, 32}, {40, 52, 64}})));
}

TEST(gradients, add_up_where_paths_meet) {
  graph g;
  auto const x = constant(g, 3.0);
  auto const y = x * x + x + x;
  auto const [dx] = gradients(y, x);
  EXPECT_EQ(run(g, dx).item<double>(), 8);
}

TEST(gradients, are_part_of_the_graph_and_can_be_differentiated_again) {
  graph g;
  auto const x = constant(g, 2.0);
  auto const [first] = gradients(x * x * x, x);
  auto const [second] = gradients(first, x);
  auto const [third] = gradients(second, x);
  auto const [a, b, c] = run(g, first, second, third);
  EXPECT_EQ(a.item<double>(), 12);
  EXPECT_EQ(b.item<double>(), 12);
  EXPECT_EQ(c.item<double>(), 6);
}

TEST(gradients, of_a_vector_are_those_of_the_sum_of_its_elements) {
  graph g;
  auto const x = constant<double, 3>(g, {1, 2, 3});
  auto const [dx] = gradients(square(x), x);
  EXPECT_TRUE(same_bits(run(g, dx), vector<double>({2, 4, 6})));
}

TEST(gradients, of_a_value_with_respect_to_itself_are_ones) {
  graph g;
  auto const x = constant<float, 2>(g, {5, 6});
  auto const [dx] = gradients(x, x);
  EXPECT_TRUE(same_bits(run(g, dx), vector<float>({1, 1})));
}

TEST(gradients, reach_values_in_the_middle_of_a_graph) {
  graph g;
  auto const x = constant(g, 3.0);
  auto const y = x * x;
  auto const z = exp(y) * 0.0 + y * 5.0;
  auto const [dy] = gradients(z, y);
  EXPECT_EQ(run(g, dy).item<double>(), 5);
}

TEST(gradients, do_not_pass_stop_gradient) {
  graph g;
  auto const x = constant(g, 3.0);
  auto const [dx] = gradients(x * stop_gradient(x), x);
  EXPECT_EQ(run(g, dx).item<double>(), 3);
}

TEST(gradients, do_not_pass_values_that_are_held_constant) {
  graph g;
  auto const x = constant(g, 3.0), w = constant(g, 5.0);
  auto const a = x * x, b = w * x;
  auto const loss = a * b;  // w x³
  auto const [whole] = gradients(loss, x);
  auto const [through_b] = gradients(loss, x, held_constant(a));
  auto const [through_a, at_w] = gradients_or_zeros(loss, x, w, held_constant(b));
  auto const [partial_a, partial_b] = gradients(loss, a, b, held_constant(a, b));
  auto const erased = gradients(value(loss), std::vector<value>{x}, held_constant(std::vector<value>{a}));
  static_assert(std::same_as<decltype(through_b), expr<of<double>> const>);
  auto const [r0, r1, r2, r3, r4, r5, r6] = run(g, whole, through_b, through_a, at_w, partial_a, partial_b, erased[0]);
  EXPECT_EQ(r0.item<double>(), 135);
  EXPECT_EQ(r1.item<double>(), 45);
  EXPECT_EQ(r2.item<double>(), 90);
  EXPECT_EQ(r3.item<double>(), 0);
  EXPECT_EQ(r4.item<double>(), 15);
  EXPECT_EQ(r5.item<double>(), 9);
  EXPECT_TRUE(same_bits(r6, r1));
  EXPECT_EQ(refusal([&] { gradients(loss, w, held_constant(b)); }, "does not depend"), code::invalid_argument);
}

TEST(gradients, with_values_held_constant_are_partial_where_one_of_them_is_asked_for) {
  graph g;
  auto const a = constant(g, 1.0);
  auto const b = a * 2.0;
  auto const [total_a, total_b] = gradients(a + b, a, b);
  auto const [partial_a, partial_b] = gradients(a + b, a, b, held_constant(a, b));
  auto const [r0, r1, r2, r3] = run(g, total_a, total_b, partial_a, partial_b);
  EXPECT_EQ(r0.item<double>(), 3);
  EXPECT_EQ(r1.item<double>(), 1);
  EXPECT_EQ(r2.item<double>(), 1);
  EXPECT_EQ(r3.item<double>(), 1);
}

TEST(gradients, hold_values_of_a_body_and_from_outside_constant) {
  graph g, elsewhere;
  auto const x = constant(g, 2.0), scale = constant(g, 7.0);
  auto const rows = map(
      [&](auto row) {
        auto const y = row * x;
        auto const [d] = gradients(y * row * scale, row, held_constant(y, scale));
        return d;  // y scale = 14 row
      },
      constant<double, 2>(g, {1, 2}));
  EXPECT_TRUE(same_bits(run(g, rows), vector<double>({14, 28})));
  EXPECT_EQ(refusal([&] { gradients(x * scale, x, held_constant(constant(elsewhere, 1.0))); }, "held constant"),
            code::invalid_argument);
}

TEST(gradients, of_an_independent_target_are_an_error_or_zeros) {
  graph g;
  auto const x = constant<float, 2>(g, {1, 2}), other = constant<float, 2>(g, {1, 2});
  auto const y = sum(x);
  EXPECT_EQ(refusal([&] { gradients(y, other); }, "does not depend"), code::invalid_argument);
  EXPECT_EQ(refusal([&] { gradients(sum(stop_gradient(x)), x); }, "does not depend"), code::invalid_argument);
  auto const [zeros] = gradients_or_zeros(y, other);
  EXPECT_TRUE(same_bits(run(g, zeros), vector<float>({0, 0})));
}

TEST(gradients, refuse_values_without_derivatives) {
  graph g, elsewhere;
  auto const n = constant<std::int32_t, 2>(g, {1, 2});
  auto const x = constant<float, 2>(g, {1, 2});
  value const other = constant(elsewhere, 1.f);
  EXPECT_EQ(refusal([&] { gradients(value(n), std::vector<value>{x}); }, "int32"), code::invalid_argument);
  EXPECT_EQ(refusal([&] { gradients(value(x), std::vector<value>{n}); }, "int32"), code::invalid_argument);
  EXPECT_EQ(refusal([&] { gradients(value(x), std::vector<value>{other}); }, "another graph"), code::invalid_argument);
}

TEST(gradients, are_named_within_their_own_scope) {
  graph g;
  auto const x = constant(g, 3.0);
  auto const [dx] = gradients(square(x) * 2.0, x);
  EXPECT_TRUE(dx.name().starts_with("gradients/")) << dx.name();
}

TEST(gradients, of_rows_stay_sparse_until_a_dense_gradient_is_needed) {
  graph g;
  auto const table = constant<float, 3, 2>(g, {1, 2, 3, 4, 5, 6});
  auto const which = constant<std::int32_t, 3>(g, {2, 0, 2});
  value const y = sum(value(gather(table, which)));
  auto const parts = partial_gradients(y, {table});
  EXPECT_TRUE(parts[0].sparse());
  auto const dense = gradients(y, std::vector<value>{table});
  EXPECT_TRUE(same_bits(run(g, dense[0]), matrix<float>({{1, 1}, {0, 0}, {2, 2}})));
}

TEST(gradients, of_rows_added_from_several_places_stay_sparse) {
  graph g;
  auto const table = constant<float, 3, 2>(g, {1, 2, 3, 4, 5, 6});
  auto const a = constant<std::int32_t, 1>(g, {0});
  auto const b = constant<std::int32_t, 2>(g, {1, 0});
  value const y = sum(value(gather(table, a))) + sum(value(gather(table, b)));
  EXPECT_TRUE(partial_gradients(y, {table})[0].sparse());
  auto const dense = gradients(y + sum(value(table)), std::vector<value>{table});
  EXPECT_TRUE(same_bits(run(g, dense[0]), matrix<float>({{3, 3}, {2, 2}, {1, 1}})));
}

TEST(gradients, of_rows_looked_up_by_int32_and_by_int64_add_up) {
  graph g;
  auto const table = constant<double, 3, 1>(g, {1, 2, 3});
  auto const narrow = constant<std::int32_t, 1>(g, {1});
  auto const wide = constant<std::int64_t, 2>(g, {1, 2});
  auto const [dt] = gradients(sum(gather(table, narrow)) + sum(gather(table, wide)), table);
  EXPECT_TRUE(same_bits(run(g, dt), matrix<double>({{0}, {2}, {1}})));
}

TEST(gradients, of_rows_stay_sparse_through_an_identity_of_the_table) {
  graph g;
  value const table = placeholder(g, type(dtype::float32, {unknown, 2}), "table");
  auto const typed = identity(as<of<float, 3, 2>>(table));
  auto const once = sum(gather(typed, constant<std::int32_t, 3>(g, {2, 0, 2})));
  value const y = value(once) + sum(value(gather(table, constant<std::int32_t, 1>(g, {1}))));
  EXPECT_TRUE(partial_gradients(y, {table})[0].sparse());
  auto const dense = gradients(y + sum(value(square(typed))), std::vector<value>{table});
  session s(g);
  EXPECT_TRUE(same_bits(s.run({{table, matrix<float>({{1, 2}, {3, 4}, {5, 6}})}}, dense[0]),
                        matrix<float>({{3, 5}, {7, 9}, {12, 14}})));
  g.set_gradient("identity", times(10));  // a user's rule gets a dense derivative
  EXPECT_FALSE(partial_gradients(value(once), {table})[0].sparse());
}

TEST(gradients, work_with_extents_known_only_when_the_step_runs) {
  graph g;
  auto const x = placeholder<double, "n", 2>(g, "x");
  auto const b = constant<double, 2>(g, {1, 2});
  auto const [dx, db] = gradients(mean(square(x + b)), x, b);
  session s(g);
  auto const [at_x, at_b] = s.run({{x, matrix<double>({{0, 0}, {1, 1}, {2, 2}, {3, 3}})}}, dx, db);
  EXPECT_EQ(at_x.shape(), (shape{4, 2}));
  EXPECT_TRUE(same_bits(at_b, vector<double>({2.5, 3.5})));
}

TEST(gradients, come_from_a_users_rule_for_an_operation) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  g.set_gradient("square", times(10));
  auto const [d] = gradients(square(x) + neg(x), x);
  auto const [second] = gradients(d, x);
  session s(g);
  EXPECT_EQ(float(s.run({{x, tensor(3.f)}}, d)), 29.f);
  EXPECT_EQ(float(s.run({{x, tensor(3.f)}}, second)), 10.f);
}

TEST(gradients, come_from_a_scoped_rule_only_for_nodes_recorded_in_its_scope) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const before = square(x);
  auto const inside = g.with_gradient("square", times(10), [&] { return square(x); });
  auto const after = square(x);
  auto const [a] = gradients(before, x);
  auto const [b] = gradients(inside, x);
  auto const [c] = gradients(after, x);
  session s(g);
  auto const [da, db, dc] = s.run({{x, tensor(3.f)}}, a, b, c);
  EXPECT_EQ(float(da), 6.f);
  EXPECT_EQ(float(db), 30.f);
  EXPECT_EQ(float(dc), 6.f);
}

TEST(gradients, refuse_a_rule_for_an_unknown_operation) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  g.set_gradient("relu", times(10));  // in rill, but not in this graph
  EXPECT_NO_THROW(gradients(square(x), x));
  g.set_gradient("sqare", times(10));
  EXPECT_EQ(refusal([&] { gradients(square(x), x); }, "operation 'sqare'"), code::not_found);
  graph other;
  auto const y = placeholder<float>(other, "y");
  auto const z = other.with_gradient("sqare", times(10), [&] { return square(y); });
  EXPECT_EQ(refusal([&] { gradients(z, y); }, "operation 'sqare'"), code::not_found);
}

TEST(gradients, come_from_a_rule_for_a_users_own_operation_that_is_recorded_later) {
  static op_def const own = [] {
    auto copy = definition<ops::square_op>();
    copy.name = "users_square";
    return copy;
  }();
  graph g;
  auto const x = placeholder<float>(g, "x");
  g.set_gradient("users_square", times(10));
  EXPECT_EQ(refusal([&] { gradients(square(x), x); }, "'users_square'"), code::not_found);
  auto const y = value(cond(
      x > 0.f, [&] { return value(g.innermost().add(own, {}, {g.innermost().inside(x)})); },
      [&] { return value(square(x)); }));
  session s(g);
  EXPECT_EQ(s.run({{x, tensor(3.f)}}, gradients(y, std::vector<value>{x})[0]).item<float>(), 30.f);
}

TEST(gradients, refuse_a_given_rule_that_does_not_fit) {
  graph g;
  auto const x = placeholder<float, 2>(g, "x");
  g.set_gradient("square", [](auto const& in, value, value dy) { return std::vector<value>(2, mul(dy, in[0])); });
  g.set_gradient("exp", [](auto const&, value, value dy) { return std::vector<value>{sum(dy)}; });
  for (value y : {value(square(x)), value(exp(x))}) {
    try {
      gradients(y, std::vector<value>{x});
      FAIL();
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::invalid_argument);
      EXPECT_NE(e.message().find("the gradient rule that was given for it"), std::string::npos) << e.what();
      EXPECT_EQ(e.node(), y.name());
    }
  }
}

TEST(gradients, in_a_body_may_be_with_respect_to_captured_values) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const v = variable(constant(g, 5.f), "v");
  auto const one = [&](auto of, auto by) { return std::get<0>(gradients(of, by)); };
  auto const d = cond(x > 0.f, [&] { return one(x * x * v, x); }, [&] { return one(x * v * v, v); });
  auto const twice = while_loop([](auto i, auto) { return i < 2; },
                                [&](auto i, auto a) { return std::tuple{i + 1, a + one(square(x * v), x)}; },
                                constant(g, 0), constant(g, 0.f));
  auto const deep =
      cond(x > 0.f, [&] { return cond(x > 1.f, [&] { return one(x * x, x); }, [&] { return x; }); }, [&] { return x; });
  session s(g);
  s.run(initializer(g));
  EXPECT_EQ(float(s.run({{x, tensor(3.f)}}, d)), 30.f);
  EXPECT_EQ(float(s.run({{x, tensor(-3.f)}}, d)), -30.f);
  EXPECT_EQ(float(s.run({{x, tensor(3.f)}}, std::get<1>(twice))), 300.f);
  EXPECT_EQ(float(s.run({{x, tensor(3.f)}}, deep)), 6.f);
}

TEST(gradients, in_a_body_say_how_to_get_past_its_edge) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y = square(x);
  auto const by_x = [&](auto const& target) {
    return sentence([&] { cond(x > 0.f, [&] { return std::get<0>(gradients(target(), x)); }, [&] { return x; }); });
  };
  EXPECT_NE(by_x([&] { return y * 2.f; }).find("depends on 'x' through 'square', which is computed outside"),
            std::string::npos);
  EXPECT_NE(by_x([&] { return constant(g, 2.f) * 2.f; }).find("does not depend on"), std::string::npos);
}

// L = Re(sum of y); numerically, dL/d(Re x) + i dL/d(Im x).
TEST(gradients, of_complex_values_are_the_gradients_of_the_real_part) {
  using number = std::complex<double>;
  graph g;
  auto const x = placeholder<number, 2>(g, "x");
  auto const c = constant<number, 2>(g, {number(1, 2), number(-3, 0.5)});
  auto const y = x * x * c + conj(x) / c + sqrt(x);
  auto const [d] = gradients(y, x);
  session s(g);
  std::array<number, 2> const at{number(0.5, -1.5), number(2, 1)};
  auto const loss = [&](std::array<number, 2> const& a) {
    auto const got = s.run({{x, vector<number>({a[0], a[1]})}}, y);
    return (got.data<number>()[0] + got.data<number>()[1]).real();
  };
  auto const got = s.run({{x, vector<number>({at[0], at[1]})}}, d);
  for (std::size_t i = 0; i < 2; ++i) {
    auto const slope = [&](number step) {
      auto up = at, down = at;
      up[i] += step, down[i] -= step;
      return (loss(up) - loss(down)) / 2e-5;
    };
    EXPECT_NEAR(got.data<number>()[i].real(), slope({1e-5, 0}), 1e-6);
    EXPECT_NEAR(got.data<number>()[i].imag(), slope({0, 1e-5}), 1e-6);
  }
}

TEST(gradients, of_no_rows_are_zeros) {
  graph g;
  auto const x = placeholder<double, "n", 2>(g, "x");
  auto const w = constant<double, 2, 2>(g, {1, 2, 3, 4});
  auto const [dw] = gradients(sum(matmul(x, w)), w);
  session s(g);
  EXPECT_TRUE(same_bits(s.run({{value(x), tensor(dtype::float64, {0, 2})}}, dw), matrix<double>({{0, 0}, {0, 0}})));
}

TEST(gradients, run_beside_the_nodes_that_they_are_of_if_they_are_told_to) {
  graph g;
  auto const x = placeholder<float, 3>(g, "x");
  value const y = g.on("gpu:1", [&] { return value(exp(x)); });
  auto const loss = sum(y * y);
  auto const derivatives_of = [&](std::string const& node) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < g.size(); ++i) found += g[i].name.starts_with("gradients") && g[i].colocated == node;
    return found;
  };
  gradients(loss, {value(x)});
  EXPECT_EQ(derivatives_of(y.origin().name), 0u);
  auto const before = g.size();
  auto const dx = g.gradients_beside([&] { return gradients(loss, {value(x)})[0]; });
  EXPECT_GT(derivatives_of(y.origin().name), 0u);
  EXPECT_GT(derivatives_of("mul"), 0u);
  EXPECT_GT(derivatives_of("sum"), 0u);
  EXPECT_EQ(dx.origin().colocated, y.origin().name);
  for (auto i = before; i < g.size(); ++i)
    if (g[i].colocated.empty()) {
      EXPECT_TRUE(g[i].inputs.empty() || g[i].inputs[0].node >= before) << g[i].name;
    }
  session s(g, {.soft_placement = true});
  EXPECT_EQ(tensor(s.run({{x, vector<float>({0, 0, 0})}}, dx)).at<float>(1), 2);
}

TEST(gradients, run_beside_the_nodes_of_bodies_too) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y = cond(x < 1.f, [&] { return value(exp(x)); }, [&] { return value(x); });
  auto const dx = g.gradients_beside([&] { return gradients(y, {value(x)})[0]; });
  auto const& derivative = dx.origin();
  EXPECT_EQ(derivative.colocated, "");
  std::size_t beside = 0;
  for_each_body(derivative, [&](subgraph const& body) {
    for (auto const& n : body.nodes)
      for (auto const& other : body.nodes) beside += !n.colocated.empty() && other.name == n.colocated;
  });
  EXPECT_GT(beside, 0u);
}

TEST(gradients, run_beside_the_nodes_of_a_loop_that_the_derivative_does_not_compute_again) {
  for (bool beside : {false, true}) {
    graph g;
    auto const x = placeholder<float, 4>(g, "x");
    auto const y = while_loop([](auto v) { return sum(v) < 100.f; },
                              [&](auto v) { return g.on("gpu:0", [&] { return square(v); }); }, x);
    auto const before = g.size();
    auto const take = [&] { return gradients(y, {value(x)}); };
    beside ? g.gradients_beside(take) : take();
    std::size_t there = 0;
    for (auto i = before; i < g.size(); ++i)
      for_each_body(g[i], [&](subgraph const& body) {
        for (auto const& n : body.nodes) there += n.device == "/device:gpu:0" && n.op->name != "square";
      });
    EXPECT_EQ(there > 0, beside);
  }
}

TEST(gradients, run_beside_the_nodes_that_they_are_of_whatever_is_asked_for_around_them) {
  graph g;
  auto const x = placeholder<float, 3>(g, "x");
  value const y = g.on("gpu:1", [&] { return value(exp(x)); });
  value const other = g.on("gpu:0", [&] { return value(exp(x)); });
  auto const take = [&] { return g.gradients_beside([&] { return gradients(sum(y * y), {value(x)})[0]; }); };
  for (value const& dx : {g.on("gpu:0", take), g.near(other, take)}) {
    EXPECT_EQ(dx.origin().device, "");
    EXPECT_EQ(dx.origin().colocated, y.origin().name);
  }
}

TEST(gradients, of_a_call_run_beside_the_nodes_of_its_function_also_if_they_were_taken_before) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const f = rill::function<"f", of<float>>(g, [&](auto a) { return g.on("gpu:0", [&] { return square(a); }); });
  auto const y = f(x);
  gradients(y, {value(x)});
  g.gradients_beside([&] { gradients(y, {value(x)}); });
  std::map<std::string, std::size_t> there;
  for (auto const* each : g.functions().defined())
    for (auto const& n : each->body->nodes) there[each->name] += n.device == "/device:gpu:0" && n.op->name != "square";
  EXPECT_EQ(there.at("f/gradient"), 0u);
  EXPECT_GT(there.at("f/gradient/beside"), 0u);
}

}  // namespace
}  // namespace rill
