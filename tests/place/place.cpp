#include "rill/place/place.hpp"

#include <chrono>
#include <random>

#include "place/targets.hpp"

namespace rill {
namespace {

TEST(place, puts_nodes_where_they_were_asked_to_run_and_says_so) {
  graph g;
  value const x = placeholder<float, 8>(g, "x");
  value const a = g.on("/device:accelerator:0", [&] { return value(exp(as(x, of<float, 8>))); });
  value const b = g.on("/device:cpu", [&] { return value(neg(a)); });
  auto const p = placed(part_of(g, {b}, {}, {x}), machine());
  EXPECT_EQ(p.device(a), accelerator0);
  EXPECT_EQ(p.reason(a), "asked for by g.on");
  EXPECT_EQ(p.device(b), cpu0);
  EXPECT_EQ(p.device(x), cpu0);
  EXPECT_EQ(p.reason(x), "the host alone: it is a value from outside");
}

TEST(place, takes_the_fastest_device_and_stays_beside_the_largest_input) {
  graph g;
  auto const w = variable(constant(g, tensor(dtype::float32, {64, 64})), "w");
  auto const x = placeholder<float, 1, 64>(g, "x");
  auto const small = g.on("accelerator:0", [&] { return exp(x); });
  value const y = matmul(value(small), value(w));
  value const z = neg(y);
  auto const p = placed(part_of(g, {z}, {}, {x}), machine());
  EXPECT_EQ(p.device(w), accelerator1);
  EXPECT_EQ(p.reason(w), "fastest device with a kernel");
  EXPECT_EQ(p.device(small), accelerator0);
  EXPECT_EQ(p.device(y), accelerator1);
  EXPECT_EQ(p.reason(y), "next to its largest input variable 'w'");
  EXPECT_EQ(p.reason(z), "next to its largest input 'matmul'");
}

TEST(place, leaves_what_a_partial_name_leaves_open_to_the_choice) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  auto const any = g.on("/device:accelerator", [&] { return exp(x); });
  auto const p = placed(part_of(g, {any}, {}, {x}), machine());
  EXPECT_EQ(p.device(any), accelerator1);
  EXPECT_EQ(p.reason(any), "asked for by g.on");
}

TEST(place, finds_devices_of_other_tasks) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  auto const a = g.on("/job:worker/task:1", [&] { return exp(x); });
  auto const b = g.on("/job:ps", [&] { return exp(x); });
  std::vector<place_target> const devices{device_at("/job:worker/task:0/device:cpu:0", 3, true),
                                          device_at("/job:worker/task:1/device:cpu:0", 2, true),
                                          device_at("/job:ps/task:0/device:cpu:0", 1, true)};
  auto const p = placed(part_of(g, {a, b}, {}, {x}), devices);
  EXPECT_EQ(p.device(a), 1u);
  EXPECT_EQ(p.device(b), 2u);
}

TEST(place, keeps_a_variable_and_those_that_take_it_by_reference_together) {
  graph g;
  auto const w = g.on("accelerator:0", [&] { return variable(constant(g, tensor(dtype::float32, {16, 4})), "w"); });
  auto const rows = placeholder<std::int32_t, 2>(g, "rows");
  value const some = gather(w, rows);
  auto const update = assign_add(w, constant(g, tensor(dtype::float32, {16, 4})));
  auto const p = placed(part_of(g, {some}, {update}, {rows}), machine());
  EXPECT_EQ(p.device(w), accelerator0);
  EXPECT_EQ(p.device(some), accelerator0);
  EXPECT_EQ(p.device(value(update)), accelerator0);
  EXPECT_EQ(p.reason(some), "beside variable 'w'");
  EXPECT_EQ(p.reason(w), "asked for by g.on");
}

TEST(place, lets_whoever_takes_a_variable_say_where_it_lies) {
  graph g;
  auto const w = variable(constant(g, tensor(dtype::float32, {16})), "w");
  auto const update = g.on("accelerator:0", [&] { return assign_add(w, constant(g, tensor(dtype::float32, {16}))); });
  auto const p = placed(part_of(g, {w}, {update}), machine());
  EXPECT_EQ(p.device(w), accelerator0);
  EXPECT_EQ(p.reason(w), "beside 'assign_add'");
}

TEST(place, leaves_a_variable_where_it_lives) {
  graph g;
  auto const w = variable(constant(g, tensor(dtype::float32, {16})), "w");
  value const y = exp(w);
  place_options options;
  options.around.home = [](std::string_view name) {
    return name == "w" ? std::optional<std::uint32_t>(accelerator0) : std::nullopt;
  };
  auto const p = placed(part_of(g, {y}), machine(), options);
  EXPECT_EQ(p.device(w), accelerator0);
  EXPECT_EQ(p.reason(w), "the variable lives there");
  EXPECT_EQ(p.device(y), accelerator0);
}

TEST(place, keeps_near_nodes_together) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  auto const a = g.on("accelerator:0", [&] { return exp(x); });
  auto const b = g.near(a, [&] { return exp(neg(x)); });
  auto const c = g.near(b, [&] { return square(x); });
  auto const p = placed(part_of(g, {a, b, c}, {}, {x}), machine());
  EXPECT_EQ(p.device(b), accelerator0);
  EXPECT_EQ(p.reason(b), "beside 'exp'");
  EXPECT_EQ(p.device(c), accelerator0);
}

TEST(place, follows_near_to_nodes_that_the_step_does_not_need) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  auto const pruned = g.on("accelerator:0", [&] { return exp(x); });
  auto const next = g.near(pruned, [&] { return square(x); });
  auto const y = g.near(next, [&] { return neg(x); });
  auto const sub = part_of(g, {y}, {}, {x});
  EXPECT_EQ(placed(sub, machine()).device(y), accelerator1) << "nothing is known of the others";
  place_options options;
  options.around.find_node = [&](std::string_view name) { return &g.find(name).origin(); };
  auto const p = placed(sub, machine(), options);
  EXPECT_EQ(p.device(y), accelerator0);
  EXPECT_EQ(p.reason(y), "beside 'square'");
}

TEST(place, follows_near_to_variables_that_live_somewhere) {
  graph g;
  auto const w = variable(constant(g, 1.f), "w");
  auto const slot = g.near(w, [&] { return variable(constant(g, tensor(dtype::float32, {4})), "slot"); });
  place_options options;
  options.around.home = [](std::string_view name) {
    return name == "w" ? std::optional<std::uint32_t>(accelerator0) : std::nullopt;
  };
  auto const p = placed(part_of(g, {slot}), machine(), options);
  EXPECT_EQ(p.device(slot), accelerator0);
  EXPECT_EQ(p.reason(slot), "beside 'w'");
}

TEST(place, takes_the_wish_of_a_neighbour_that_has_no_place_of_its_own) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  auto const c = g.on("accelerator:0", [&] { return constant<float, 8>(g, {1, 2, 3, 4, 5, 6, 7, 8}); });
  auto const y = g.near(c, [&] { return x + c; });
  auto const p = placed(part_of(g, {y}, {}, {x}), machine());
  EXPECT_EQ(p.device(c), cpu0);
  EXPECT_EQ(p.reason(c), "the host alone: it is a constant");
  EXPECT_EQ(p.device(y), accelerator0);
}

TEST(place, puts_a_variable_where_a_node_of_a_body_asks_for_it) {
  graph g;
  auto const w = variable(constant(g, tensor(dtype::float32, {4})), "w");
  auto const x = placeholder<float>(g, "x");
  auto const y = cond(
      x < 1.f, [&] { return g.on("accelerator:0", [&] { return value(read(w)); }); }, [&] { return value(neg(w)); });
  auto const p = placed(part_of(g, {y}, {}, {x}), machine());
  EXPECT_EQ(p.device(w), accelerator0);
  EXPECT_EQ(p.reason(w), "a node of a body that takes it asks for it");
  EXPECT_EQ(p.device(y), cpu0);
  EXPECT_EQ(p.reason(y), "the host alone: it runs subgraphs, whose nodes are placed one by one");
}

TEST(place, places_a_body_with_its_inputs_on_the_host) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  auto const body = record_body(g, "body", {of<float, 8>}, [&](std::vector<value> const& in) {
    return std::vector<value>{g.on("accelerator:0", [&] { return value(neg(in[0])); }), mul(in[0], x)};
  });
  auto const p = placed(body.subgraph, machine());
  for (auto i : body.subgraph.inputs) EXPECT_EQ(p.made.nodes[i].device, cpu0);
  EXPECT_EQ(p.made.nodes[body.subgraph.outputs[0].node].device, accelerator0);
  EXPECT_EQ(p.made.nodes[body.subgraph.outputs[1].node].device, accelerator1);
}

TEST(place, runs_what_a_device_has_no_kernel_for_on_others) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  value const a = exp(x), b = neg(a);
  auto devices = machine();
  std::vector<type> seen;
  devices[accelerator1].has_kernel = [&](node const& n, std::span<type const> inputs) {
    seen.assign(inputs.begin(), inputs.end());
    return n.op->name != "exp";
  };
  auto const p = placed(part_of(g, {b}, {}, {x}), devices);
  EXPECT_EQ(p.device(a), accelerator0);
  EXPECT_EQ(p.device(b), accelerator0);
  EXPECT_EQ(seen, std::vector<type>({of<float, 8>}));
}

TEST(place, goes_where_there_is_room) {
  graph g;
  auto devices = machine();
  devices[accelerator1].room = 1000;
  devices[accelerator0].room = 1000;
  std::vector<value> all;
  for (int i = 0; i < 6; ++i)
    all.push_back(variable(constant(g, tensor(dtype::float32, {100})), std::string("v") + std::to_string(i)));
  auto const p = placed(part_of(g, all), devices);
  std::vector<std::uint32_t> where;
  for (auto const& v : all) where.push_back(p.device(v));
  EXPECT_EQ(where, (std::vector<std::uint32_t>{2, 2, 1, 1, 0, 0}));
}

TEST(place, goes_on_if_no_device_has_room) {
  graph g;
  auto devices = machine();
  for (auto& d : devices) d.room = 8;
  auto const v = variable(constant(g, tensor(dtype::float32, {100})), "v");
  EXPECT_EQ(placed(part_of(g, {v}), devices).device(v), accelerator1);
}

TEST(place, asks_the_choice_that_it_was_given) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  value const a = exp(x), b = neg(a);
  place_options options;
  options.choose = [&](auto candidates, auto group, place_context const& c) {
    EXPECT_EQ(candidates.size(), 3u);
    EXPECT_EQ(group.size(), 1u);
    EXPECT_EQ(c.placed[at(c.sub, "x")].device, cpu0);
    return place_choice{candidates[1], place_reason::fastest};
  };
  auto const p = placed(part_of(g, {b}, {}, {x}), machine(), options);
  EXPECT_EQ(p.device(a), accelerator0);
  EXPECT_EQ(p.device(b), accelerator0);
  options.choose = [](auto, auto, auto const&) { return place_choice{77, place_reason::fastest}; };
  EXPECT_EQ(refusal(part_of(g, {b}, {}, {x}), machine(), options).code(), code::internal);
}

TEST(place, gives_the_same_placement_each_time) {
  graph g;
  auto const x = placeholder<float, 32>(g, "x");
  value h = x;
  for (int i = 0; i < 50; ++i) {
    auto const w = variable(constant(g, tensor(dtype::float32, {32})), "w" + std::to_string(i));
    h = i % 3 ? g.near(w, [&] { return add(mul(h, value(w)), h); }) : add(h, value(w));
  }
  auto const sub = part_of(g, {h}, {}, {x});
  auto const once = place(sub, machine()), twice = place(sub, machine());
  for (std::uint32_t i = 0; i < sub.size(); ++i) {
    EXPECT_EQ(once.nodes[i].device, twice.nodes[i].device);
    EXPECT_EQ(once.reason(sub, i), twice.reason(sub, i));
  }
}

// Every node is placed, whatever is asked for at random: or the error names a node that asks for something.
TEST(place, places_all_of_random_graphs_together_as_they_ask) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    graph g;
    value const x = placeholder<float, 8>(g, "x");
    std::vector<value> all{x};
    for (int i = 0; i < 60; ++i) {
      auto const pick = [&] { return all[random() % all.size()]; };
      auto const record = [&]() -> value {
        if (random() % 6 == 0) return variable(constant(g, tensor(dtype::float32, {8})), "v" + std::to_string(i));
        return add(pick(), pick());
      };
      char const* const wishes[] = {"", "", "", "accelerator", "accelerator:1"};
      auto const wished = [&, wish = wishes[random() % 5]] { return g.on(wish, record); };
      all.push_back(random() % 4 ? wished() : g.near(pick(), wished));
    }
    auto const sub = part_of(g, all, {}, {x});
    auto const p = place(sub, machine());
    for (std::uint32_t i = 0; i < sub.size(); ++i) {
      auto const& n = sub[i];
      ASSERT_LT(p.nodes[i].device, 3u);
      ASSERT_FALSE(p.reason(sub, i).empty());
      if (is_host_alone(p.nodes[i].why)) continue;
      if (n.device == "/device:accelerator:1") {
        EXPECT_EQ(p.nodes[i].device, accelerator1);
      }
      if (!n.device.empty()) {
        EXPECT_NE(p.nodes[i].device, cpu0);
      }
      if (n.colocated.empty()) continue;
      auto const beside = at(sub, n.colocated);
      if (!is_host_alone(p.nodes[beside].why)) {
        EXPECT_EQ(p.nodes[i].device, p.nodes[beside].device) << seed;
      }
    }
  }
}

// 36,000 nodes over 8 devices, in groups small and large.
TEST(place, places_many_nodes) {
  graph g;
  value const x = placeholder<float, 8>(g, "x");
  auto const w = variable(constant(g, tensor(dtype::float32, {8})), "w");
  std::vector<value> ends;
  for (int chain = 0; chain < 8; ++chain) {
    value h = x;
    for (int i = 0; i < 4500; ++i) {
      auto const next = [&] { return add(h, value(w)); };
      h = i % 3 == 0 ? g.near(w, next) : i % 3 == 1 ? g.on("accelerator", [&] { return g.near(h, next); }) : next();
    }
    ends.push_back(h);
  }
  auto const sub = part_of(g, ends, {}, {x});
  std::vector<place_target> devices{device_at("cpu:0", 1, true)};
  for (int d = 0; d < 7; ++d) devices.push_back(device_at(("accelerator:" + std::to_string(d)).c_str(), d + 2));
  auto const begin = std::chrono::steady_clock::now();
  auto const p = place(sub, devices);
  RecordProperty(
      "milliseconds",
      static_cast<int>(
          std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin).count()));
  EXPECT_EQ(p.nodes.size(), sub.size());
  EXPECT_EQ(p.nodes[at(sub, w)].device, 7u);
}

}  // namespace
}  // namespace rill
