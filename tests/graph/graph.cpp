#include "rill/graph/graph.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/state/assign.hpp"

namespace rill {
namespace {

template <class F> error thrown(F&& f) {
  try {
    f();
  } catch (error const& e) {
    return e;
  }
  return error(code::internal, "nothing was thrown");
}

TEST(graph, records_nodes_in_order_with_inferred_types) {
  graph g;
  value const x = constant(g, 2.f), y = neg(x);
  EXPECT_EQ(g.size(), 2);
  EXPECT_EQ(g[1].op->name, "neg");
  EXPECT_EQ(g[1].inputs, (std::vector<endpoint>{{0, 0}}));
  EXPECT_EQ(y.type(), type(dtype::float32));
  EXPECT_EQ(y.origin().name, "neg");
}

TEST(graph, numbers_names_that_are_taken) {
  graph g;
  EXPECT_EQ(no_op(g, "a").origin().name, "a");
  EXPECT_EQ(no_op(g, "a").origin().name, "a_1");
  EXPECT_EQ(no_op(g, "a_1").origin().name, "a_1_1");
  EXPECT_EQ(no_op(g, "a").origin().name, "a_2");
  EXPECT_EQ(g.fresh_name("a"), "a_3");
  EXPECT_EQ(no_op(g).origin().name, "no_op");
}

TEST(graph, refuses_names_that_could_not_be_looked_up) {
  graph g;
  EXPECT_EQ(thrown([&] { no_op(g, "a:0"); }).code(), code::invalid_argument);
  EXPECT_EQ(g.size(), 0);
}

TEST(graph, puts_names_into_scopes_that_nest_and_are_numbered) {
  graph g;
  auto const inner = g.scope("a", [&] { return g.scope("b", [&] { return no_op(g, "c"); }); });
  EXPECT_EQ(inner.origin().name, "a/b/c");
  EXPECT_EQ(g.scope("a", [&] { return no_op(g, "c"); }).origin().name, "a_1/c");
  EXPECT_EQ(no_op(g, "c").origin().name, "c");
}

TEST(graph, leaves_a_scope_by_an_exception_too) {
  graph g;
  EXPECT_THROW(g.scope("a", [&] { throw 1; }), int);
  EXPECT_THROW(g.on("/device:cpu:0", [&] { throw 1; }), int);
  auto const b = no_op(g, "b");
  auto const& n = b.origin();
  EXPECT_EQ(n.name, "b");
  EXPECT_EQ(n.device, "");
}

TEST(graph, finds_values_by_name_and_port) {
  graph g;
  value const x = g.scope("s", [&] { return constant(g, tensor(1.f), "x"); });
  EXPECT_EQ(g.find("s/x").node, x.node);
  EXPECT_EQ(g.find("s/x:0").endpoint(), x.endpoint());
  EXPECT_EQ(g.find("s/x").name(), "s/x");
}

TEST(graph, writes_what_a_handle_is_of) {
  graph g;
  auto const x = g.scope("layer", [&] { return placeholder<float, "batch", 2>(g, "x"); });
  std::ostringstream text;
  text << x << "; " << value(x < 0.f) << "; " << value{} << "; " << value{&g, no_op(g, "all").node, 0};
  EXPECT_EQ(text.str(), "layer/x: float32[batch, 2]; less: bool[batch, 2]; an empty handle; all");
  text.str("");
  text << g.find("less").origin().op->name << "; " << no_op(g, "both") << "; " << operation();
  EXPECT_EQ(text.str(), "less; both; an empty handle");
}

TEST(graph, says_not_found_for_names_and_ports_that_are_not_there) {
  graph g;
  constant(g, tensor(1.f), "x");
  for (auto const* name : {"y", "", ":", "x:", "x:1", "x:-1", "x:a", "x:99999999999999999999", "x:0:0"})
    EXPECT_EQ(thrown([&] { g.find(name); }).code(), code::not_found) << name;
}

TEST(graph, refuses_handles_of_another_graph_and_empty_ones) {
  graph g, other;
  value const x = constant(g, 1.f), y = constant(other, 1.f);
  EXPECT_EQ(thrown([&] { add(x, y); }).message(), "an input belongs to another graph");
  EXPECT_EQ(thrown([&] { add(x, value()); }).message(), "an input, or what a lambda returned, is an empty handle");
  EXPECT_EQ(thrown([&] { neg(value()); }).code(), code::invalid_argument);
  EXPECT_EQ(thrown([&] { value().type(); }).code(), code::invalid_argument);
  EXPECT_THROW(g.after({operation(y)}, [] {}), error);
  EXPECT_EQ(thrown([&] { g.near(y, [] {}); }).code(), code::invalid_argument);
  EXPECT_EQ(thrown([&] { g.near(value(), [] {}); }).code(), code::invalid_argument);
}

TEST(graph, refuses_outputs_that_a_node_does_not_have) {
  graph g;
  no_op(g, "nothing");
  EXPECT_EQ(thrown([&] { neg(g.find("nothing")); }).code(), code::invalid_argument);
  EXPECT_EQ(thrown([&] { neg(value{&g, 0, 3}); }).code(), code::invalid_argument);
  EXPECT_EQ(thrown([&] { neg(value{&g, 77, 0}); }).code(), code::invalid_argument);
}

TEST(graph, says_which_node_and_types_an_inference_refused_and_stays_as_it_was) {
  graph g;
  value const x = constant(g, matrix<float>({{1, 2}})), y = constant(g, vector<float>({1, 2, 3}));
  auto const e = thrown([&] { g.add(definition<ops::add_op>(), {}, {x, y}, "sum"); });
  EXPECT_EQ(e.code(), code::invalid_argument);
  EXPECT_EQ(e.node(), "sum");
  EXPECT_NE(e.message().find("float32[1, 2], float32[3]"), std::string::npos) << e.what();
  EXPECT_EQ(g.size(), 2);
  EXPECT_EQ(g.add(definition<ops::add_op>(), {}, {x, x}, "sum").name(), "sum");
}

TEST(graph, checks_the_number_of_inputs) {
  graph g;
  value const x = constant(g, 1.f);
  EXPECT_NE(thrown([&] { g.add(definition<ops::add_op>(), {}, {x}); }).message().find("takes 2 inputs, not 1"),
            std::string::npos);
  EXPECT_EQ(thrown([&] { g.add(definition<ops::add_op>(), {}, {x, x, x}); }).code(), code::invalid_argument);
}

TEST(graph, keeps_control_edges_once_each) {
  graph g;
  auto const a = no_op(g), b = no_op(g);
  auto const c = g.after({a, a}, [&] { return g.after({b, a}, [&] { return no_op(g); }); });
  EXPECT_EQ(c.origin().controls, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(no_op(g).origin().controls.empty());
}

TEST(graph, keeps_devices_and_neighbours) {
  graph g;
  value const w = constant(g, tensor(1.f), "w");
  auto const n = g.near(w, [&] { return g.on("/device:gpu:0", [&] { return no_op(g); }); });
  EXPECT_EQ(n.origin().device, "/device:gpu:0");
  EXPECT_EQ(n.origin().colocated, "w");
}

TEST(graph, lifts_what_is_asked_for_around_a_near) {
  graph g;
  value const w = constant(g, tensor(1.f), "w"), v = constant(g, tensor(1.f), "v");
  auto const beside_w = [&] { return g.near(w, [&] { return no_op(g); }).origin(); };
  EXPECT_EQ(g.on("/device:gpu:0", beside_w).device, "");
  EXPECT_EQ(g.near(v, beside_w).colocated, "w");
  auto const open = g.on(
      "/job:ps", [&] { return g.near(w, [&] { return g.on("/device:gpu:0", [&] { return no_op(g); }).origin(); }); });
  EXPECT_EQ(open.device, "/device:gpu:0");
  EXPECT_EQ(open.colocated, "w");
  EXPECT_EQ(g.near(w, [&] { return g.on("", [&] { return no_op(g); }).origin(); }).colocated, "w");
  g.on("/device:gpu:0", [&] {
    beside_w();
    EXPECT_EQ(no_op(g).origin().device, "/device:gpu:0") << "what is recorded behind it asks for that again";
  });
}

TEST(graph, takes_from_the_device_around_what_a_device_leaves_open) {
  graph g;
  auto const device = [&](char const* outer, char const* inner) {
    return g.on(outer, [&] { return g.on(inner, [&] { return no_op(g); }); }).origin().device;
  };
  EXPECT_EQ(device("/job:worker/task:1", "gpu:0"), "/job:worker/task:1/device:gpu:0");
  EXPECT_EQ(device("/job:worker/task:1/device:gpu:0", "/device:cpu"), "/job:worker/task:1/device:cpu");
  EXPECT_EQ(device("/device:gpu:0", "/device:*"), "/device:gpu:0");
  EXPECT_EQ(device("/device:gpu:0", ""), "");
  EXPECT_EQ(g.on("GPU:1", [&] { return no_op(g); }).origin().device, "/device:gpu:1");
}

TEST(graph, refuses_what_is_no_device_and_records_on_as_before) {
  graph g;
  g.on("/device:gpu:0", [&] {
    auto const refused = thrown([&] { g.on("/gpu:0", [&] { no_op(g); }); });
    EXPECT_EQ(refused.code(), code::invalid_argument);
    EXPECT_NE(refused.message().find("'/gpu:0' is no device's name"), std::string::npos) << refused.message();
    EXPECT_EQ(no_op(g).origin().device, "/device:gpu:0");
  });
  EXPECT_EQ(g.size(), 1);
}

TEST(graph, lists_initial_assignments_in_order) {
  graph g;
  auto const a = variable(constant(g, 1.f), "a");
  variable(constant(g, 2.f), "b");
  ASSERT_EQ(g.initials().size(), 2);
  EXPECT_EQ(g.initials()[0].variable, a.node);
  EXPECT_EQ(g[g.initials()[1].assignment].name, "b/assign");
  EXPECT_THROW(g.add_initial({99, 0}), error);
}

TEST(graph, adopts_a_node_as_it_stood_elsewhere) {
  graph from, to;
  value const x = from.on("/device:cpu:1", [&] { return constant(from, tensor(1.f), "x"); });
  value const y = neg(x);
  to.adopt(x.origin());
  auto const again = to.adopt(y.origin());
  EXPECT_EQ(again.name(), "neg");
  EXPECT_EQ(again.type(), y.type());
  EXPECT_EQ(to[0].device, "/device:cpu:1");
}

TEST(graph, believes_nothing_of_a_node_that_it_adopts) {
  graph from, to;
  node n = neg(value(constant(from, 1.f))).origin();
  EXPECT_THROW(to.adopt(n), error);  // its input is not there
  n = constant(from, 1.f).origin();
  n.controls = {0};
  EXPECT_THROW(to.adopt(n), error);
  n.controls = {};
  n.colocated = "nobody";
  EXPECT_THROW(to.adopt(n), error);
  n.colocated = "";
  n.device = "gpu zero";
  EXPECT_THROW(to.adopt(n), error);
  n.device = "gpu:0";
  EXPECT_EQ(thrown([&] { to.adopt(n); }).message(), "expected a device's name in full, '/device:gpu:0', got 'gpu:0'");
  n.device = "/device:gpu:0";
  n.outputs = {type(dtype::string)};
  auto const adopted = to.adopt(n);
  EXPECT_EQ(adopted.type(), type(dtype::float32));
  EXPECT_EQ(adopted.origin().device, "/device:gpu:0");
  EXPECT_THROW(to.adopt(n), error);  // the name is taken
  n.op = nullptr;
  n.name = "other";
  EXPECT_THROW(to.adopt(n), error);
  EXPECT_EQ(to.size(), 1);
}

TEST(graph, can_be_read_while_it_grows) {
  graph g;
  constant(g, 1.f);
  std::thread reader([&] {
    while (g.size() < 2000)
      for (std::size_t i = 0, n = g.size(); i < n; i += 97) EXPECT_FALSE(g[i].name.empty());
    EXPECT_EQ(g.find("no_op_1000").node, 1001);
  });
  while (g.size() < 2000) no_op(g);
  reader.join();
}

}  // namespace
}  // namespace rill
