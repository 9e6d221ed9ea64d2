#include "rill/pass/inline_functions.hpp"

#include <gtest/gtest.h>

#include "pass/subgraphs.hpp"
#include "rill/pass/passes.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

bool inlined(subgraph& sub, pass_report* report = nullptr) {
  container state;
  bool const changed = inline_functions(sub, state, report);
  verify(sub);
  return changed;
}

// A function of so many nodes and its argument.
auto long_function(graph& g, int nodes) {
  return rill::function<"long", of<float>>(g, [&](auto a) {
    for (int i = 0; i < nodes; ++i) a = exp(a * 0.f) * a;
    return a;
  });
}

TEST(inline_functions, puts_small_ones_where_they_are_called_and_says_so) {
  graph g;
  value const x = placeholder(g, of<float, 3>, "x");
  auto const f = rill::function<"f", of<float, 3>>(g, [](auto a) { return exp(a) * a; });
  value const y = f(f(x));
  auto sub = part_of(g, {y}, {}, {x});
  EXPECT_EQ(count(sub, "call"), 2);
  pass_report report;
  EXPECT_TRUE(inlined(sub, &report));
  EXPECT_EQ(report.text(), "functions: small: f\nfunctions: small: f_1\n");
  EXPECT_EQ(count(sub, "call"), 0);
  EXPECT_EQ(count(sub, "exp"), 2);
  EXPECT_EQ(sub.type_of(sub.outputs[0]), (of<float, 3>));
  EXPECT_EQ(sub[sub.outputs[0].node].name, "f_1/mul");
  EXPECT_FALSE(inlined(sub));
}

TEST(inline_functions, puts_long_ones_where_they_are_called_once) {
  graph g;
  value const x = placeholder(g, of<float>, "x");
  auto const f = long_function(g, 20);
  value const once = f(x), twice = f(once);
  auto one = part_of(g, {once}, {}, {x}), two = part_of(g, {twice}, {}, {x});
  pass_report report;
  EXPECT_TRUE(inlined(one, &report));
  EXPECT_EQ(report.text(), "functions: called once: long\n");
  EXPECT_FALSE(inlined(two));
  EXPECT_EQ(count(two, "call"), 2);
}

TEST(inline_functions, follows_calls_within_and_gives_results_that_are_arguments) {
  graph g;
  value const x = placeholder(g, of<float>, "x"), y = placeholder(g, of<float>, "y");
  auto const swap = rill::function<"swap", of<float>, of<float>>(g, [](auto a, auto b) { return std::tuple{b, a}; });
  rill::function<"back", of<float>, of<float>>(g, [&](auto a, auto b) {
    auto const [c, d] = swap(a, b);
    return swap(c, -d);
  });
  auto const results = call(g, "back", x, y);
  auto sub = part_of(g, {results[0], results[1]}, {}, {x, y});
  EXPECT_TRUE(inlined(sub));
  EXPECT_EQ(sub.size(), 3);
  EXPECT_EQ(sub[sub.outputs[0].node].op->name, "neg");
  EXPECT_EQ(sub.outputs[1], (endpoint{sub.inputs[1], 0}));
}

TEST(inline_functions, leaves_those_that_call_themselves_update_or_draw_and_those_that_wait) {
  graph g;
  value const x = placeholder(g, of<float>, "x");
  auto const v = variable(constant(g, 1.f), "v");
  auto const again = rill::function<"again", of<float>(of<float>)>(
      g, [](auto self, auto a) { return cond(a < 1.f, [&] { return a; }, [&] { return self(a - 1.f); }); });
  auto const update = rill::function<"update", of<float>>(g, [&](auto a) {
    assign(v, a);
    return a;
  });
  auto const draw = rill::function<"draw", of<float>>(
      g, [&](auto a) { return cond(a < 1.f, [&] { return a; }, [&] { return uniform<float>(g) + a; }); });
  auto const nested = rill::function<"nested", of<float>>(g, [&](auto a) { return draw(a); });
  auto const plain = rill::function<"plain", of<float>>(g, [&](auto a) { return -a; });
  auto const first = no_op(g);
  for (value const& y :
       {value(again(as<of<float>>(x))), value(update(as<of<float>>(x))), value(draw(as<of<float>>(x))),
        value(nested(as<of<float>>(x))), g.after({first}, [&] { return value(plain(as<of<float>>(x))); })}) {
    auto sub = part_of(g, {y}, {}, {x});
    EXPECT_FALSE(inlined(sub)) << y.name();
  }
}

TEST(inline_functions, reads_a_variable_with_what_is_around_unless_that_updates_it) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  auto const f = rill::function<"f">(g, [&] { return v * 2.f; });
  value const y = f();
  auto const update = assign(v, constant(g, 3.f));
  auto alone = part_of(g, {y, v}), with = part_of(g, {y}, {update});
  EXPECT_TRUE(inlined(alone));
  EXPECT_EQ(count(alone, "variable"), 1);
  EXPECT_EQ(count(alone, "reading_call"), 0);
  EXPECT_FALSE(inlined(with));
}

TEST(inline_functions, lets_a_derivative_use_what_the_call_has_computed) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const f = rill::function<"f", of<float>>(g, [](auto a) { return exp(a); });
  auto const y = f(x);
  auto const [d] = gradients(y, x);
  auto sub = part_of(g, {y, d}, {}, {x});
  container state;
  rewrite(sub, {.fuse = false}, state, nullptr);
  EXPECT_EQ(count(sub, "exp"), 1);
}

TEST(inline_functions, settles_what_is_known_only_when_a_loop_in_a_function_has_run) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const f = rill::function<"f", of<float>>(g, [&](auto a) {
    value const halves = while_loop([](auto b) { return b > 1.f; }, [](auto b) { return b * 0.5f; }, a);
    return std::tuple{value{halves.graph, halves.node, 1}, as<of<float>>(halves)};
  });
  auto const [steps, rest] = f(x);
  session s(g);
  EXPECT_EQ(s.run({{x, tensor(8.f)}}, steps).template at<std::int64_t>(), 3);
}

TEST(inline_functions, settles_what_reads_a_result_that_has_the_extents_of_a_variable) {
  graph g;
  auto const v = variable(g, of<float, unknown>, "v");
  value const x = placeholder(g, of<float, unknown>, "x");
  operation const set = assign(v, x);
  function(g, "negated", {}, [&](auto const&) { return std::vector{neg(value(v))}; });
  value const y = add(call(g, "negated", {})[0], x);
  for (auto const& passes : {pass_options(), pass_options::none()}) {
    session s(g, {.passes = passes});
    for (int n : {3, 1}) {
      s.run({{x, tensor(dtype::float32, {n})}}, set);
      EXPECT_EQ(s.run({{x, tensor(dtype::float32, {3})}}, y).shape(), (shape{3}));
    }
  }
}

TEST(inline_functions, changes_no_bits_and_can_be_switched_off) {
  graph g;
  auto const x = placeholder<float, 2, 3>(g, "x");
  auto const w = variable(constant<float, 3, 3>(g, {1, 2, 3, 4, 5, 6, 7, 8, 9}), "w");
  auto const layer = rill::function<"layer", of<float, 2, 3>>(g, [&](auto a) { return tanh(matmul(a, w) * 0.1f); });
  auto const y = sum(layer(layer(layer(x))));
  auto const [dx, dw] = gradients(y, x, w);
  session with(g), without(g, {.passes = {.functions = false}});
  with.run(initializer(g)), without.run(initializer(g));
  auto const fed = matrix<float>({{0.1f, 0.2f, 0.3f}, {0.4f, 0.5f, 0.6f}});
  auto const [a, b, c] = with.run({{x, fed}}, y, dx, dw);
  auto const [p, q, r] = without.run({{x, fed}}, y, dx, dw);
  EXPECT_TRUE(same_bits(a, p) && same_bits(b, q) && same_bits(c, r));
  EXPECT_NE(with.explain({{x, fed}}, dw).find("functions: small: layer"), std::string::npos);
  EXPECT_EQ(without.explain({{x, fed}}, dw).find("functions: "), std::string::npos);
}

TEST(inline_functions, keeps_the_devices_of_nodes_and_takes_the_calls_where_they_are_open) {
  graph g;
  value const x = placeholder(g, of<float>, "x");
  auto const f = rill::function<"f", of<float>>(
      g, [&](auto a) { return g.on("gpu:1", [&] { return exp(a); }) + g.on("/device:cpu", [&] { return neg(a); }); });
  value const y = g.on("/job:worker/device:gpu:0", [&] { return f(x); });
  auto sub = part_of(g, {y}, {}, {x});
  EXPECT_TRUE(inlined(sub));
  std::map<std::string, std::string> devices;
  for (auto const& n : sub.nodes) devices[n.name] = n.device;
  EXPECT_EQ(devices["f/exp"], "/job:worker/device:gpu:1");
  EXPECT_EQ(devices["f/neg"], "/job:worker/device:cpu");
  EXPECT_EQ(devices["f/add"], "/job:worker/device:gpu:0");
}

TEST(inline_functions, does_not_ask_for_the_calls_device_where_a_node_is_near_another) {
  graph g;
  value const x = placeholder(g, of<float>, "x");
  auto const w = g.on("cpu:0", [&] { return variable(constant(g, 1.f), "w"); });
  auto const f =
      rill::function<"f", of<float>>(g, [&](auto a) { return exp(a) + g.near(w, [&] { return square(value(w)); }); });
  f(x);
  value const y = g.on("gpu:0", [&] { return f(x); });
  auto sub = part_of(g, {y, w}, {}, {x});
  EXPECT_TRUE(inlined(sub));
  for (auto const& n : sub.nodes) {
    if (n.op->name == "square") {
      EXPECT_EQ(n.device, "");
      EXPECT_EQ(n.colocated, "w");
    }
    if (n.op->name == "exp") {
      EXPECT_EQ(n.device, "/device:gpu:0");
    }
  }
}

TEST(inline_functions, keeps_neighbours_together) {
  graph g;
  value const x = placeholder(g, of<float>, "x");
  auto const w = variable(constant(g, 1.f), "w");
  auto const f = rill::function<"f", of<float>>(g, [&](auto a) {
    auto const first = g.scope("one", [&] { return exp(a); });
    auto const second = g.scope("two", [&] { return exp(first); });
    auto const third = g.near(second, [&] { return neg(a) + second; });
    return g.near(w, [&] { return square(third); }) * third;
  });
  value const y = g.near(x, [&] { return f(x); });
  value const z = g.near(y, [&] { return neg(y); });
  auto sub = part_of(g, {z, w}, {}, {x});
  EXPECT_TRUE(inlined(sub));
  std::map<std::string, std::string> beside;
  for (auto const& n : sub.nodes) beside[n.name] = n.colocated;
  EXPECT_EQ(beside.size(), sub.size()) << "names are told apart";
  EXPECT_EQ(beside["f/exp"], "x");
  EXPECT_EQ(beside["f/neg"], "f/exp_1");
  EXPECT_EQ(beside["f/add"], "f/exp_1");
  EXPECT_EQ(beside["f/square"], "w");
  EXPECT_EQ(beside["neg"], "f/mul");
}

}  // namespace
}  // namespace rill
