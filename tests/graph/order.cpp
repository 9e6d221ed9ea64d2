#include "rill/graph/order.hpp"

#include <gtest/gtest.h>

#include <stop_token>

#include "base/sentence.hpp"
#include "rill/graph/prune.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/reshape.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/queues/queue.hpp"
#include "rill/ops/state/assign.hpp"
#include "rill/ops/table/scatter.hpp"

namespace rill {
namespace {

/// The names of the nodes that a run of `targets` needs, in order.
std::vector<std::string> ordered(graph& g, std::vector<operation> const& targets) {
  std::vector<std::uint32_t> nodes;
  for (auto const& t : targets) nodes.push_back(t.node);
  auto const sub = prune(g, {}, {}, nodes);
  std::vector<std::string> names;
  for (auto i : order(sub).nodes) names.push_back(sub[i].name);
  return names;
}
std::size_t place(std::vector<std::string> const& names, std::string const& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

TEST(order, puts_nodes_after_their_inputs_and_what_must_run_first) {
  graph g;
  value const x = constant(g, tensor(1.f), "x");
  auto const first = no_op(g, "first");
  value const y = g.after({first}, [&] { return neg(x); });
  auto const names = ordered(g, {y});
  EXPECT_EQ(names.size(), 3);
  EXPECT_EQ(place(names, "neg"), 2);
}

TEST(order, puts_reads_of_a_variable_before_its_update) {
  graph g;
  auto const v = variable(g, of<float>, "v");
  auto const update = assign_add(v, constant(g, 1.f));
  value const later = neg(value(v));
  auto const names = ordered(g, {update, later});
  EXPECT_LT(place(names, "v"), place(names, "assign_add"));
  EXPECT_LT(place(names, "neg"), place(names, "assign_add"));
}

TEST(order, puts_a_read_after_an_update_where_a_control_edge_says_so) {
  graph g;
  auto const v = variable(g, of<float>, "v");
  auto const update = assign(v, constant(g, 1.f));
  value const now = g.after({update}, [&] { return read(v); });
  auto const names = ordered(g, {now});
  EXPECT_LT(place(names, "assign"), place(names, "read"));
}

TEST(order, puts_what_waits_behind_all_that_does_not_depend_on_it) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {}, "q");
  auto const v = variable(g, of<float>, "v");
  value const x = constant(g, tensor(1.f), "x");
  auto const first = g.scope("first", [&] { return q.dequeue(); });
  value const doubled = g.scope("then", [&] { return neg(first); });
  auto const second = g.scope("second", [&] { return q.dequeue(); });
  value const apart = neg(x);
  auto const names = ordered(g, {doubled, second, apart, value(v)});
  EXPECT_EQ(names, (std::vector<std::string>{"v", "x", "neg", "first/q/dequeue", "then/neg", "second/q/dequeue"}));
}

TEST(order, keeps_updates_behind_the_waits_that_they_were_recorded_after_and_those_who_use_the_snapshot) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {}, "q");
  auto const v = variable(g, of<float>, "v"), w = variable(g, of<float>, "w");
  auto const before = assign_add(v, constant(g, 1.f)), of_snapshot = assign_add(w, constant(g, 1.f));
  value const got = q.dequeue();
  value const product = mul(got, w);
  auto const after = assign_add(variable(g, of<float>, "u"), constant(g, 1.f));
  auto const names = ordered(g, {before, of_snapshot, product, after});
  EXPECT_LT(place(names, "assign_add"), place(names, "q/dequeue"));
  EXPECT_LT(place(names, "mul"), place(names, "assign_add_1"));
  EXPECT_LT(place(names, "q/dequeue"), place(names, "assign_add_2"));
}

TEST(order, puts_what_gives_at_a_queue_before_what_waits_there_for_it) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {}, "q");
  auto const v = variable(g, of<float>, "v");
  value const got = q.dequeue();
  value const seen = g.after({operation(got)}, [&] { return add(value(v), constant(g, 0.f)); });
  auto const update = assign(v, constant(g, 5.f));
  auto const put = g.after({update}, [&] { return q.enqueue(constant(g, 0.f)); });
  auto const names = ordered(g, {seen, put});
  EXPECT_LT(place(names, "q/enqueue"), place(names, "q/dequeue"));
  EXPECT_LT(place(names, "assign"), place(names, "add")) << "which has the snapshot";
}

TEST(order, refuses_a_reader_that_waits_for_what_comes_after_the_update_it_is_to_come_before) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {}, "q");
  auto const v = variable(g, of<float>, "v");
  auto const in_time = g.scope("in_time", [&] { return read(v); });
  auto const seen = g.after({operation(q.dequeue())}, [&] { return read(v); });
  auto const update = assign(v, constant(g, 5.f));
  auto const put = g.after({update}, [&] { return q.enqueue(constant(g, 0.f)); });
  try {
    ordered(g, {in_time, seen, put});
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::failed_precondition);
    EXPECT_EQ(e.node(), "read");
    EXPECT_NE(e.message().find("before 'assign' updates it"), std::string::npos) << e.what();
  }
  auto const after = g.after({operation(q.dequeue()), update}, [&] { return read(v); });
  EXPECT_NO_THROW(ordered(g, {in_time, after, put}));
}

// What takes a token out of a queue and puts one back waits for no other token.
TEST(order, keeps_reads_before_updates_where_an_element_is_taken_before_another_is_given) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {}, "q");
  auto const v = variable(g, of<float>, "v");
  auto const token = q.dequeue();
  auto const seen = g.after({operation(token)}, [&] { return read(v); });
  auto const update = g.after({operation(token)}, [&] { return assign(v, constant(g, 5.f)); });
  auto const put = g.after({update}, [&] { return q.enqueue(constant(g, 0.f)); });
  auto const names = ordered(g, {seen, put});
  EXPECT_LT(place(names, "read"), place(names, "assign"));
}

TEST(order, refuses_two_updates_that_nothing_orders) {
  graph g;
  auto const v = variable(g, of<float>, "v");
  auto const a = assign(v, constant(g, 1.f)), b = assign_add(v, constant(g, 2.f));
  try {
    ordered(g, {a, b});
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::failed_precondition);
    EXPECT_NE(e.message().find("'v'"), std::string::npos) << e.what();
    EXPECT_NE(e.message().find("control edge"), std::string::npos);
  }
  auto const c = g.after({a}, [&] { return assign_sub(v, constant(g, 3.f)); });
  EXPECT_NO_THROW(ordered(g, {a, c}));
}

TEST(order, allows_updates_that_may_race_with_each_other_alone) {
  graph g;
  auto const v = variable(g, of<float>, "v");
  auto const [a, b] =
      g.hogwild([&] { return std::pair{assign_add(v, constant(g, 1.f)), assign_add(v, constant(g, 2.f))}; });
  EXPECT_NO_THROW(ordered(g, {a, b}));
  auto const c = assign_add(v, constant(g, 3.f));
  EXPECT_THROW(ordered(g, {a, b, c}), error);
}

TEST(order, allows_updates_that_are_ordered_through_other_nodes) {
  graph g;
  auto const v = variable(g, of<float>, "v");
  auto const a = assign(v, constant(g, 1.f));
  value const between = neg(value(a));
  auto const b = assign_add(v, between);
  auto const names = ordered(g, {b});
  EXPECT_LT(place(names, "assign"), place(names, "assign_add"));
}

TEST(order, puts_what_writes_over_a_value_behind_its_other_readers) {
  graph g;
  value const x = constant(g, vector<float>({1, 2}), "x"), i = constant(g, vector<std::int32_t>({1}), "i");
  value const over = add_rows(x, i, value(constant(g, vector<float>({5}), "v")));
  value const flat = reshape(x, extents{1, 2}), reader = neg(flat), late = x * over;
  auto const names = ordered(g, {over, reader, late});
  EXPECT_LT(place(names, reader.origin().name), place(names, over.origin().name));
  EXPECT_LT(place(names, over.origin().name), place(names, late.origin().name));
}

TEST(order, puts_thousands_of_updates_behind_each_other_and_reads_between_them) {
  constexpr std::size_t updates = 20'000;
  graph g;
  auto const v = variable(g, of<float>, "v");
  std::vector<operation> all;
  for (std::size_t i = 0; i < updates; ++i) {
    auto const last = all.empty() ? std::vector<operation>{} : std::vector<operation>{all.back()};
    all.push_back(g.after(last, [&] { return assign_add(v, constant(g, 1.f)); }));
  }
  auto const now = g.after({all[updates / 2]}, [&] { return read(v); });
  auto const names = ordered(g, {all.back(), now});
  EXPECT_LT(place(names, all[updates / 2].origin().name), place(names, "read"));
  EXPECT_LT(place(names, "read"), place(names, all[updates / 2 + 1].origin().name));
  EXPECT_LT(place(names, "v"), place(names, all[0].origin().name));
}

TEST(order, lets_updates_race_of_which_each_comes_before_a_read_that_the_other_comes_after) {
  graph g;
  auto const v = variable(g, of<float>, "v");
  auto const [a, b] =
      g.hogwild([&] { return std::pair{assign_add(v, constant(g, 1.f)), assign_add(v, constant(g, 2.f))}; });
  auto const behind_a = g.after({a}, [&] { return read(v); }), behind_b = g.after({b}, [&] { return read(v); });
  auto const names = ordered(g, {behind_a, behind_b});
  EXPECT_LT(place(names, a.origin().name), place(names, "read"));
  EXPECT_LT(place(names, b.origin().name), place(names, "read_1"));
}

TEST(order, ends_with_the_step_that_it_is_for) {
  graph g;
  value const x = neg(value(constant(g, 1.f)));
  auto const sub = prune(g, {}, {}, {x.node});
  step_context step;
  EXPECT_EQ(order(sub, &step).nodes.size(), 2u);
  std::stop_source stop;
  step.stop = stop.get_token();
  stop.request_stop();
  EXPECT_EQ(refusal([&] { order(sub, &step); }), code::cancelled);
}

TEST(order, names_a_node_that_waits_for_itself) {
  subgraph sub;
  for (auto const* name : {"a", "b"}) {
    node n;
    n.op = &definition<ops::no_op_op>();
    n.name = name;
    sub.nodes.push_back(n);
  }
  sub.nodes[0].controls = {1};
  sub.nodes[1].controls = {0};
  try {
    order(sub);
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::invalid_argument);
    EXPECT_EQ(e.node(), "a");
  }
}

}  // namespace
}  // namespace rill
