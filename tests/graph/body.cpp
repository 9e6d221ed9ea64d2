#include "rill/graph/body.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/control/cond.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/state/assign.hpp"

namespace rill {
namespace {

using values = std::vector<value>;

std::vector<std::string> names(subgraph const& sub) {
  std::vector<std::string> all;
  for (auto const& n : sub.nodes) all.push_back(n.name);
  return all;
}

TEST(body, is_a_part_of_its_arguments_then_its_captures) {
  graph g;
  value const x = placeholder(g, of<float, 2>, "x"), y = placeholder(g, of<float, 2>, "y");
  auto const b =
      record_body(g, "body", {of<float, 2>}, [&](values const& in) { return values{add(mul(in[0], y), x)}; });
  EXPECT_EQ(names(b.subgraph), (std::vector<std::string>{"body/argument", "body/y", "body/x", "body/mul", "body/add"}));
  EXPECT_EQ(b.subgraph.inputs, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(b.subgraph.outputs, (std::vector<endpoint>{{4, 0}}));
  ASSERT_EQ(b.captures.size(), 2);
  EXPECT_EQ(b.captures[0].endpoint(), y.endpoint());
  EXPECT_EQ(b.captures[1].endpoint(), x.endpoint());
  EXPECT_EQ(b.effect, effect::none);
  EXPECT_NO_THROW(verify(b.subgraph));
  EXPECT_EQ(g.size(), 2);
}

TEST(body, captures_a_value_once_and_none_that_it_does_not_need) {
  graph g;
  value const x = placeholder(g, of<float>, "x"), y = placeholder(g, of<float>, "y");
  auto const b = record_body(g, "body", {}, [&](values const&) {
    neg(y);
    return values{add(x, x), x};
  });
  ASSERT_EQ(b.captures.size(), 1);
  EXPECT_EQ(b.captures[0].endpoint(), x.endpoint());
  EXPECT_EQ(names(b.subgraph), (std::vector<std::string>{"body/x", "body/add"}));
  EXPECT_EQ(b.subgraph.outputs, (std::vector<endpoint>{{1, 0}, {0, 0}}));
}

TEST(body, keeps_arguments_that_it_does_not_use) {
  graph g;
  auto const b = record_body(g, "body", {of<float>, of<double>}, [&](values const& in) { return values{in[1]}; });
  EXPECT_EQ(b.subgraph.inputs, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(b.subgraph.outputs, (std::vector<endpoint>{{1, 0}}));
  EXPECT_EQ(b.subgraph.type_of({1, 0}), of<double>);
}

TEST(body, refers_to_variables_and_knows_which_it_updates) {
  graph g;
  auto const v = variable(g, of<float>, "v"), w = variable(g, of<float>, "w");
  auto const b = record_body(g, "body", {}, [&](values const&) {
    value const read = neg(v);
    assign(w, expr<of<float>>{read});
    return values{read};
  });
  EXPECT_TRUE(b.captures.empty());
  ASSERT_EQ(b.references.size(), 2);
  EXPECT_EQ(b.references[0].endpoint(), v.endpoint());
  EXPECT_EQ(b.references[1].endpoint(), w.endpoint());
  EXPECT_EQ(b.updated, (std::vector<bool>{false, true}));
  EXPECT_EQ(b.effect, effect::writes);
  auto const read_alone = record_body(g, "body", {}, [&](values const&) { return values{neg(v)}; });
  EXPECT_EQ(read_alone.updated, (std::vector<bool>{false}));
  EXPECT_EQ(read_alone.effect, effect::reads);
}

TEST(body, makes_all_updates_in_the_order_of_recording) {
  graph g;
  auto const v = variable(g, of<float>, "v");
  auto const b = record_body(g, "body", {of<float>}, [&](values const& in) {
    expr<of<float>> const x{in[0]};
    assign(v, x);
    assign_add(v, x);
    assign_sub(v, x);
    return values{};
  });
  std::vector<std::uint32_t> updates;
  for (std::uint32_t i = 0; i < b.subgraph.size(); ++i)
    if (b.subgraph[i].op->effect == effect::writes) updates.push_back(i);
  ASSERT_EQ(updates.size(), 3);
  EXPECT_EQ(b.subgraph[updates[0]].op->name, "assign");
  EXPECT_EQ(b.subgraph[updates[2]].op->name, "assign_sub");
  EXPECT_TRUE(b.subgraph[updates[0]].controls.empty());
  EXPECT_EQ(b.subgraph[updates[1]].controls, std::vector<std::uint32_t>{updates[0]});
  EXPECT_EQ(b.subgraph[updates[2]].controls, std::vector<std::uint32_t>{updates[1]});
  EXPECT_EQ(b.subgraph.targets, updates);
}

TEST(body, takes_a_value_through_the_bodies_around_it) {
  graph g;
  value const x = placeholder(g, of<float>, "x");
  auto const v = variable(g, of<float>, "v");
  recorded_body inner;
  auto const outer = record_body(g, "outer", {of<float>}, [&](values const& in) {
    value const y = neg(in[0]);
    inner = record_body(g, "inner", {}, [&](values const&) {
      value const sum = add(x, y), all = add(sum, in[0]);
      return values{add(all, value(v))};
    });
    return values{inner.captures[0], inner.references[0]};
  });
  ASSERT_EQ(inner.captures.size(), 3);
  for (auto const& c : inner.captures) EXPECT_TRUE(c.graph->is_body());
  EXPECT_EQ(inner.captures[0].name(), "outer/x");
  EXPECT_EQ(inner.captures[1].name(), "outer/neg");
  EXPECT_EQ(inner.captures[2].name(), "outer/argument");
  EXPECT_EQ(inner.references[0].name(), "v");
  EXPECT_NE(inner.references[0].graph, &g);
  ASSERT_EQ(outer.captures.size(), 1);
  EXPECT_EQ(outer.captures[0].graph, &g);
  EXPECT_EQ(outer.captures[0].endpoint(), x.endpoint());
  ASSERT_EQ(outer.references.size(), 1);
  EXPECT_EQ(outer.references[0].endpoint(), v.endpoint());
}

TEST(body, refuses_results_that_are_another_bodys_another_graphs_or_nothing) {
  graph g, other;
  value const x = placeholder(g, of<float>, "x"), foreign = placeholder(other, of<float>, "x");
  value leaked;
  record_body(g, "first", {}, [&](values const&) { return values{leaked = neg(x)}; });
  auto const returned = [&](value v) {
    return sentence([&] { record_body(g, "second", {}, [&](values const&) { return values{v}; }); });
  };
  EXPECT_NE(returned(leaked).find("a value from inside the body 'first/'"), std::string::npos) << returned(leaked);
  EXPECT_NE(returned(foreign).find("another graph"), std::string::npos) << returned(foreign);
  EXPECT_NE(returned({}).find("an empty handle"), std::string::npos) << returned({});
  EXPECT_EQ(returned(x), "");
}

TEST(body, is_closed_by_an_exception_too) {
  graph g;
  value const x = placeholder(g, of<float>, "x");
  EXPECT_THROW(record_body(g, "body", {},
                           [&](values const&) -> values {
                             record_body(g, "inner", {}, [](values const&) -> values { throw 1; });
                             return {};
                           }),
               int);
  EXPECT_EQ(&g.innermost(), &g);
  EXPECT_EQ(value(neg(x)).graph, &g);
}

TEST(body, refuses_to_be_recorded_into_after_it_was_closed) {
  graph g;
  graph* inside = nullptr;
  record_body(g, "body", {of<float>}, [&](values const& in) {
    inside = in[0].graph;
    return in;
  });
  EXPECT_NE(sentence([&] { constant(*inside, 1.f); }).find("from inside the body 'body/'"), std::string::npos);
}

TEST(body, mentions_variables_that_live_beside_others) {
  graph g;
  auto const w = variable(constant(g, 1.f), "w");
  value const beside_w = g.near(w, [&] { return variable(constant(g, 2.f), "slot"); });
  value const beside_that = g.near(beside_w, [&] { return variable(constant(g, 3.f), "slot_of_slot"); });
  for (auto const& v : {beside_w, beside_that}) {
    auto const outer = record_body(g, "body", {of<float>}, [&](values const& in) {
      auto const inner = record_body(g, "inner", {}, [&](values const&) { return values{neg(v)}; });
      EXPECT_EQ(inner.subgraph[0].colocated, v.origin().colocated);
      return values{add(in[0], v)};
    });
    ASSERT_EQ(outer.references.size(), 1);
    EXPECT_EQ(outer.references[0].endpoint(), v.endpoint());
    EXPECT_EQ(outer.subgraph[1].colocated, v.origin().colocated);
  }
}

TEST(body, waits_for_nodes_outside_as_a_whole) {
  graph g;
  auto const first = no_op(g, "first");
  auto const b = record_body(g, "body", {of<float>},
                             [&](values const& in) { return g.after({first}, [&] { return values{neg(in[0])}; }); });
  ASSERT_EQ(b.waits.size(), 1);
  EXPECT_EQ(b.waits[0].node, first.node);
  for (auto const& n : b.subgraph.nodes) EXPECT_TRUE(n.controls.empty());
}

TEST(body, waits_for_nothing_that_only_unused_nodes_of_it_wait_for) {
  graph g;
  auto const first = no_op(g, "first"), second = no_op(g, "second"), third = no_op(g, "third");
  auto const b = record_body(g, "body", {of<float>}, [&](values const& in) {
    g.after({first}, [&] { return neg(in[0]); });
    return g.after({second}, [&] {
      value const used = neg(in[0]);
      record_body(g, "inner", {of<float>},
                  [&](values const& within) { return values{g.after({third}, [&] { return neg(within[0]); })}; });
      return values{used};
    });
  });
  ASSERT_EQ(b.waits.size(), 1);
  EXPECT_EQ(b.waits[0].node, second.node);
}

TEST(body, takes_more_captures_when_it_is_aligned_with_another) {
  graph g;
  value const x = placeholder(g, of<float>, "x"), y = placeholder(g, of<double>, "y");
  auto b = record_body(g, "body", {of<float>}, [&](values const& in) { return values{add(in[0], x)}; });
  b.align(1, {y, x});
  ASSERT_EQ(b.subgraph.inputs.size(), 3);
  EXPECT_EQ(b.subgraph.type_of({b.subgraph.inputs[1], 0}), of<double>);
  EXPECT_EQ(b.subgraph[b.subgraph.inputs[1]].op, &fed_op);
  EXPECT_EQ(b.subgraph[b.subgraph.inputs[2]].name, "body/x");
  EXPECT_EQ(b.captures[0].endpoint(), y.endpoint());
  EXPECT_NO_THROW(verify(b.subgraph));
}

TEST(body, asks_for_the_places_that_are_asked_for_around_it) {
  graph g;
  auto const w = variable(constant(g, 1.f), "w");
  auto const b = g.near(w, [&] {
    return g.on("/job:worker/device:gpu:0", [&] {
      return record_body(g, "body", {of<float>}, [&](values const& in) {
        return values{neg(in[0]), g.on("/device:cpu", [&] { return value(neg(in[0])); })};
      });
    });
  });
  for (auto const& n : b.subgraph.nodes)
    if (n.op != &fed_op) {
      EXPECT_EQ(n.colocated, "w");
    }
  EXPECT_EQ(b.subgraph[b.subgraph.outputs[0].node].device, "/job:worker/device:gpu:0");
  EXPECT_EQ(b.subgraph[b.subgraph.outputs[1].node].device, "/job:worker/device:cpu");
}

TEST(body, asks_for_what_neighbours_asked_for_that_it_does_not_need) {
  graph g;
  auto const w = variable(constant(g, 1.f), "w");
  auto const recorded = [&](char const* wish, char const* own) {
    return record_body(g, "body", {of<float>}, [&](values const& in) {
      value const first = g.near(w, [&] { return g.on(wish, [&] { return value(exp(in[0])); }); });
      value const next = g.near(first, [&] { return value(exp(first)); });
      return values{g.near(next, [&] { return g.on(own, [&] { return value(neg(in[0])); }); })};
    });
  };
  auto const asks = [](recorded_body const& b) { return b.subgraph[b.subgraph.outputs[0].node]; };
  EXPECT_EQ(asks(recorded("/device:gpu:1", "")).device, "/device:gpu:1");
  EXPECT_EQ(asks(recorded("/device:gpu:1", "")).colocated, "w");
  EXPECT_EQ(asks(recorded("/job:worker", "/device:gpu:1")).device, "/job:worker/device:gpu:1");
  auto const why = sentence([&] { recorded("/device:gpu:1", "/device:cpu:0"); });
  EXPECT_NE(why.find("it asks for '/device:cpu:0', and must lie together with 'body_3/exp', which asks for "
                     "'/device:gpu:1': change a constraint"),
            std::string::npos)
      << why;
}

TEST(body, asks_within_other_bodies_for_what_gone_neighbours_asked_for) {
  graph g;
  value const x = placeholder(g, of<float>, "x");
  auto const b = record_body(g, "body", {of<float>}, [&](values const& in) {
    value const gone = g.on("/device:gpu:1", [&] { return value(exp(in[0])); });
    auto const branch = [&] { return g.near(gone, [&] { return value(neg(x)); }); };
    return values{cond(less(x, 1), branch, branch)};
  });
  std::size_t asking = 0;
  for (auto const& n : b.subgraph.nodes)
    for_each_body(n, [&](subgraph const& inner) {
      for (auto const& each : inner.nodes) asking += each.device == "/device:gpu:1" && each.colocated.empty();
    });
  EXPECT_EQ(asking, 2u);
}

TEST(body, stays_near_variables_that_it_does_not_need_and_near_the_nodes_that_its_captures_stand_for) {
  graph g;
  auto const w = g.on("/device:gpu:0", [&] { return variable(constant(g, 1.f), "w"); });
  value const x = placeholder(g, of<float>, "x");
  auto const b = record_body(g, "body", {of<float>}, [&](values const& in) {
    neg(value(w));  // is not needed, so neither is the variable
    auto const captured = g.innermost().inside(x);
    return values{g.near(g.innermost().inside(w), [&] { return value(neg(in[0])); }),
                  g.near(captured, [&] { return value(neg(in[0])); })};
  });
  auto const asks = [&](std::size_t output) { return b.subgraph[b.subgraph.outputs[output].node]; };
  EXPECT_EQ(asks(0).device, "");
  EXPECT_EQ(asks(0).colocated, "w");
  EXPECT_EQ(asks(1).colocated, "x");
}

}  // namespace
}  // namespace rill
