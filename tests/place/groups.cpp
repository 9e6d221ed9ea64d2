#include "rill/place/groups.hpp"

#include "place/targets.hpp"
#include "rill/io.hpp"

namespace rill {
namespace {

using detail::host_reason;

std::optional<place_reason> reason_of(value const& v) {
  std::vector<type> inputs;
  for (auto e : v.origin().inputs) inputs.push_back((*v.graph)[e.node].outputs[e.port]);
  return host_reason(v.origin(), inputs);
}

TEST(host_reason, says_what_runs_on_the_host_alone) {
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  auto const words = placeholder<std::string, 4>(g, "words");
  auto q = fifo_queue<of<float, 4>>(g, {.capacity = 3}, "q");
  EXPECT_EQ(reason_of(x), place_reason::fed);
  EXPECT_EQ(reason_of(constant(g, 1.f)), place_reason::constant);
  EXPECT_EQ(reason_of(value{&g, no_op(g).node, 0}), place_reason::orders);
  EXPECT_EQ(reason_of(cond(sum(x) < 1.f, [&] { return x; }, [&] { return -x; })), place_reason::bodies);
  EXPECT_EQ(reason_of(equal(words, words)), place_reason::strings);
  EXPECT_EQ(reason_of(identity(words)), place_reason::strings);
  EXPECT_EQ(reason_of(q.dequeue()), place_reason::outside_state);
  EXPECT_EQ(reason_of(value{&g, q.enqueue(x).node, 0}), place_reason::outside_state);
  EXPECT_EQ(reason_of(where(x < 1.f)), place_reason::open_extents);
}

TEST(host_reason, leaves_the_rest_to_all_devices) {
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  auto const v = variable(constant<float, 4>(g, {1, 2, 3, 4}), "v");
  EXPECT_FALSE(reason_of(exp(x)));
  EXPECT_FALSE(reason_of(v));
  EXPECT_FALSE(reason_of(read(v)));
  EXPECT_FALSE(reason_of(value{&g, assign_add(v, x).node, 0}));
  EXPECT_FALSE(reason_of(uniform<float, 4>(g)));
  EXPECT_FALSE(reason_of(permutation<4>(g)));
  EXPECT_FALSE(reason_of(categorical(x)));
  EXPECT_FALSE(reason_of(identity(x)));
}

TEST(host_reason, leaves_extents_open_in_bodies) {
  graph g;
  auto const x = placeholder<float, "n">(g, "x");
  auto const y = exp(x);
  EXPECT_EQ(reason_of(y), place_reason::open_extents);
  EXPECT_FALSE(host_reason(value(y).origin(), std::vector<type>{value(x).type()}, false));
}

TEST(touches_outside_state, is_of_nodes_that_do_so_themselves) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const q = fifo_queue<of<float>>(g, {}, "q");
  auto const draws = cond(x < 1.f, [&] { return uniform<float>(g) * x; }, [&] { return x; });
  auto const takes = cond(x < 1.f, [&] { return q.dequeue(); }, [&] { return x; });
  auto const [no, yes] = tagged::switch_(x, x > 0.f);
  EXPECT_TRUE(detail::touches_outside_state(value(q.dequeue()).origin()));
  for (value each : {value(draws), value(takes), value(no), value(uniform<float>(g))})
    EXPECT_FALSE(detail::touches_outside_state(each.origin())) << each.name();
}

std::vector<std::vector<std::string>> groups_of(subgraph const& sub) {
  place_surroundings const around;
  detail::place_groups const groups(sub, around);
  std::vector<std::vector<std::string>> all;
  for (auto r : groups.roots()) {
    all.emplace_back();
    for (auto i : groups.members(r)) all.back().push_back(sub[i].name);
  }
  return all;
}

using names = std::vector<std::vector<std::string>>;

TEST(place_groups, join_references_and_neighbours) {
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  auto const v = variable(constant<float, 4>(g, {1, 2, 3, 4}), "v");
  auto const w = variable(constant<float, 4>(g, {1, 2, 3, 4}), "w");
  auto const near = g.near(w, [&] { return exp(x); });
  EXPECT_EQ(groups_of(part_of(g, {near, v * x, w}, {assign(v, x)}, {x})),
            (names{{"v", "assign"}, {"w", "exp"}, {"mul"}}));
}

TEST(place_groups, join_all_variables_that_one_node_takes) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const v = variable(constant(g, 1.f), "v"), w = variable(constant(g, 1.f), "w");
  auto const a = g.near(v, [&] { return exp(x); });
  auto const b = g.near(a, [&] { return assign(w, x); });
  EXPECT_EQ(groups_of(part_of(g, {a, v}, {b}, {x})), (names{{"v", "w", "exp", "assign"}}));
}

TEST(place_groups, do_not_join_variables_by_a_node_whose_body_takes_both) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const v = variable(constant(g, 1.f), "v"), w = variable(constant(g, 1.f), "w");
  auto const y = cond(x < 1.f, [&] { return read(v) + 0.f; }, [&] { return read(w) + 0.f; });
  EXPECT_EQ(groups_of(part_of(g, {y}, {}, {x})), (names{{"v"}, {"w"}, {"less"}}));
}

TEST(place_groups, join_variables_that_a_node_of_a_body_takes_beside_another) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const v = variable(constant(g, 1.f), "v"), w = variable(constant(g, 1.f), "w");
  auto const y =
      cond(x < 1.f, [&] { return g.near(v, [&] { return value(read(w)); }); }, [&] { return value(read(v)); });
  EXPECT_EQ(groups_of(part_of(g, {y}, {}, {x})), (names{{"v", "w"}, {"less"}}));
}

TEST(place_groups, look_into_functions_and_recursive_ones_once) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const w = variable(constant(g, 1.f), "w");
  auto const f = rill::function<"f", of<float>>(
      g, [&](auto a) { return a * g.on("accelerator:0", [&] { return expr<of<float>>(read(w)); }); });
  auto const p = placed(part_of(g, {f(f(x))}, {}, {x}), machine());
  EXPECT_EQ(p.device(w), accelerator0);
}

// ---------------------------------------------------------------------------------------------------------------------
// Over tasks

std::vector<place_target> two_tasks() {
  return {device_at("/job:a/task:0/device:cpu:0", 1, true), device_at("/job:a/task:1/device:cpu:0", 1, true)};
}
// Where what touches state by name lies on task 0.
place_options over_tasks() {
  place_options options;
  options.around.tasks = true;
  options.around.state = [](node const& n) {
    return std::optional(detail::foreign_constraint{.by = n.name, .home = 0});
  };
  return options;
}

TEST(place_groups, of_tasks_put_a_branch_that_draws_where_its_nodes_ask_to_be) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const on1 = [&](auto f) { return g.on("/job:a/task:1", f); };
  auto const y = cond(
      x < 1.f, [&] { return on1([&] { return uniform<float>(g) + x; }); }, [&] { return on1([&] { return -x; }); });
  EXPECT_EQ(placed(part_of(g, {y}, {}, {x}), two_tasks(), over_tasks()).device(y), 1u);
}

TEST(place_groups, of_tasks_take_constraints_around_a_node_for_its_bodies) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const on = [&](int task, auto f) { return g.on("/job:a/task:" + std::to_string(task), f); };
  auto const beside = on(1, [&] { return exp(x); }), other = on(0, [&] { return exp(x + 1.f); });
  auto const branch = on(0, [&] {
    return cond(x < 1.f, [&] { return on(1, [&] { return x * 2.f; }); }, [&] { return on(1, [&] { return -x; }); });
  });
  auto const near = g.near(other, [&] {
    return cond(
        x < 1.f, [&] { return g.near(beside, [&] { return x * 2.f; }); },
        [&] { return g.near(beside, [&] { return -x; }); });
  });
  auto const f = rill::function<"f", of<float>>(g, [&](auto a) { return on(1, [&] { return tanh(a); }); });
  auto const h = rill::function<"h", of<float>>(g, [&](auto a) { return tanh(a); });
  auto const asks = on(0, [&] { return f(x); }), open = on(1, [&] { return h(x); });
  auto const open_near = g.near(beside, [&] { return h(x); });
  auto const p =
      placed(part_of(g, {branch, near, asks, open, open_near, beside, other}, {}, {x}), two_tasks(), over_tasks());
  for (value each : {value(branch), value(near), value(asks), value(open), value(open_near)})
    EXPECT_EQ(p.device(each), 1u) << each.name();
}

TEST(wish_within, leaves_what_is_open_to_the_outer_name) {
  EXPECT_EQ(detail::wish_within("", "gpu:0"), "gpu:0");
  EXPECT_EQ(detail::wish_within("/job:a", ""), "/job:a");
  EXPECT_EQ(detail::wish_within("/job:a/task:1", "/device:gpu:0"), "/job:a/task:1/device:gpu:0");
  EXPECT_EQ(detail::wish_within("/job:a/task:1", "/job:a/task:0"), "/job:a/task:0");
}

TEST(wish_beside, is_the_wish_of_the_first_node_on_the_way_that_has_one) {
  graph g;
  auto const w = g.on("gpu:1", [&] { return variable(constant(g, 1.f), "w"); });
  auto const slot = g.near(w, [&] { return variable(constant(g, 1.f), "slot"); });
  auto const next = g.near(slot, [&] { return variable(constant(g, 1.f), "next"); });
  auto const own = g.near(w, [&] { return g.on("gpu", [&] { return variable(constant(g, 1.f), "own"); }); });
  auto const find = [&](std::string_view name) { return g.find_node(name); };
  EXPECT_EQ(detail::wish_beside(find, &value(next).origin()), "/device:gpu:1");
  EXPECT_EQ(detail::wish_beside(find, &value(own).origin()), "/device:gpu");
  EXPECT_EQ(detail::wish_beside({}, &value(next).origin()), "");
  EXPECT_EQ(detail::wish_beside(find, nullptr), "");
}

}  // namespace
}  // namespace rill
