#include "rill/place/constraints.hpp"

#include "place/targets.hpp"

namespace rill {
namespace {

place_options const soft{.soft_placement = true};

void expect_refused(error const& e, std::string_view node, std::string_view sentence) {
  EXPECT_EQ(e.code(), code::invalid_argument);
  EXPECT_EQ(e.node(), node);
  EXPECT_EQ(e.message(), sentence);
}

// No device has a kernel of this name but the host.
std::vector<place_target> machine_without(std::string_view operation) {
  auto devices = machine();
  for (auto& d : devices)
    if (!d.is_host) d.has_kernel = [=](node const& n, std::span<type const>) { return n.op->name != operation; };
  return devices;
}

TEST(place_constraints, refuse_devices_that_are_not_there_and_name_those_that_are) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  auto const refused = [&](char const* wish, std::vector<place_target> const& devices) {
    auto const y = g.on(wish, [&] { return exp(x); });
    auto const e = refusal(part_of(g, {y}, {}, {x}), devices);
    EXPECT_EQ(e.code(), code::invalid_argument);
    EXPECT_EQ(e.node(), value(y).name());
    return e.message();
  };
  auto const there =
      ": there are /device:cpu:0, /device:accelerator:0, /device:accelerator:1; name one of them, or permit soft "
      "placement";
  EXPECT_EQ(refused("accelerator:7", machine()),
            std::string("it asks for '/device:accelerator:7', but no device of its type has that number") + there);
  EXPECT_EQ(refused("tpu:0", machine()),
            std::string("it asks for '/device:tpu:0', but no device is of the type 'tpu'") + there);
  EXPECT_EQ(refused("/job:ps/device:cpu:0", machine()),
            std::string("it asks for '/job:ps/device:cpu:0', but no device is of the job 'ps'") + there);
  std::vector<place_target> many;
  for (int t = 0; t < 12; ++t)
    many.push_back(device_at(("/job:worker/task:" + std::to_string(t) + "/device:cpu:0").c_str(), 1, true));
  auto const sentence = refused("/job:worker/task:12", many);
  EXPECT_NE(sentence.find("no device is of the task 12"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("/job:worker/task:7/device:cpu:0 and 4 more;"), std::string::npos) << sentence;
}

TEST(place_constraints, refuse_wishes_that_contradict_each_other_and_name_all) {
  graph g;
  auto const w = g.on("accelerator:0", [&] { return variable(constant(g, tensor(dtype::float32, {4})), "w"); });
  auto const update = g.on("cpu:0", [&] { return assign_add(w, constant(g, tensor(dtype::float32, {4}))); });
  auto const sentence =
      "these nodes must lie together, and ask for different devices: 'w' asks for '/device:accelerator:0', "
      "'assign_add' asks for '/device:cpu:0'; what ties them: 'assign_add' takes 'w': change a constraint";
  expect_refused(refusal(part_of(g, {}, {update}), machine()), "assign_add", sentence);
  expect_refused(refusal(part_of(g, {}, {update}), machine(), soft), "assign_add", sentence);
}

TEST(place_constraints, refuse_near_nodes_with_different_wishes) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  auto const a = g.on("accelerator:0", [&] { return exp(x); });
  auto const b = g.near(a, [&] { return g.on("accelerator:1", [&] { return neg(x); }); });
  expect_refused(
      refusal(part_of(g, {a, b}, {}, {x}), machine()), "neg",
      "these nodes must lie together, and ask for different devices: 'exp' asks for "
      "'/device:accelerator:0', 'neg' asks for '/device:accelerator:1'; what ties them: 'neg' is near 'exp': "
      "change a constraint");
}

TEST(place_constraints, merge_partial_wishes_of_nodes_that_lie_together) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  auto const a = g.on("accelerator", [&] { return exp(x); });
  auto const b = g.near(a, [&] { return g.on("accelerator:0", [&] { return neg(x); }); });
  auto const p = placed(part_of(g, {a, b}, {}, {x}), machine());
  EXPECT_EQ(p.device(a), accelerator0);
  EXPECT_EQ(p.device(b), accelerator0);
}

TEST(place_constraints, refuse_a_wish_that_contradicts_where_a_variable_lives) {
  graph g;
  auto const w = g.on("accelerator:0", [&] { return variable(constant(g, tensor(dtype::float32, {4})), "w"); });
  auto const update = g.on("accelerator:0", [&] { return assign_add(w, constant(g, tensor(dtype::float32, {4}))); });
  place_options options;
  options.around.home = [](std::string_view) { return std::optional<std::uint32_t>(accelerator1); };
  expect_refused(
      refusal(part_of(g, {w}), machine(), options), "w",
      "it asked for '/device:accelerator:0', but lives on '/device:accelerator:1': move the variable, change "
      "the constraint, or permit soft placement");
  options.soft_placement = true;
  auto const p = placed(part_of(g, {w}, {update}), machine(), options);
  EXPECT_EQ(p.device(w), accelerator1);
  EXPECT_EQ(p.device(value(update)), accelerator1);
  EXPECT_EQ(p.reason(value(update)),
            "asked for '/device:accelerator:0', but 'w', with which it must lie together, lives on "
            "'/device:accelerator:1', soft placement");
}

TEST(place_constraints, refuse_variables_that_must_lie_together_and_live_apart) {
  graph g;
  auto const a = variable(constant(g, 1.f), "a"), b = g.near(a, [&] { return variable(constant(g, 1.f), "b"); });
  auto options = soft;
  options.around.home = [](std::string_view name) { return std::optional<std::uint32_t>(name == "a" ? 1 : 2); };
  expect_refused(refusal(part_of(g, {a, b}), machine(), options), "a",
                 "these nodes must lie together, and live on different devices: 'a' lives on '/device:accelerator:0', "
                 "'b' lives on '/device:accelerator:1'; what ties them: 'b' is near 'a': move one of them");
}

TEST(place_constraints, refuse_a_device_without_a_kernel) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  auto const y = g.on("accelerator:0", [&] { return exp(x); });
  auto const sub = part_of(g, {y}, {}, {x});
  expect_refused(refusal(sub, machine_without("exp")), "exp",
                 "no device suits it: 'exp' asks for '/device:accelerator:0', 'exp' has kernels on '/device:cpu:0' "
                 "alone: change a constraint, or permit soft placement");
  auto const p = placed(sub, machine_without("exp"), soft);
  EXPECT_EQ(p.device(y), cpu0);
  EXPECT_EQ(p.reason(y), "asked for '/device:accelerator:0', which has no kernel for it, soft placement");
  ASSERT_EQ(p.made.notes.size(), 1u);
  EXPECT_EQ(p.made.notes[0].node, at(p.sub, y));
}

TEST(place_constraints, refuse_to_run_elsewhere_what_the_host_alone_can_run) {
  graph g;
  auto const words = placeholder<std::string, 2>(g, "words");
  auto const same = g.on("accelerator:0", [&] { return equal(words, words); });
  auto const sub = part_of(g, {same}, {}, {words});
  expect_refused(
      refusal(sub, machine()), "equal",
      "no device suits it: 'equal' asks for '/device:accelerator:0', 'equal' runs on the host alone: it reads "
      "or makes strings: change a constraint, or permit soft placement");
  EXPECT_EQ(placed(sub, machine(), soft).device(same), cpu0);
}

TEST(place_constraints, refuse_a_variables_home_that_has_no_kernel_for_who_takes_it) {
  graph g;
  auto const w = variable(constant(g, tensor(dtype::float32, {4})), "w");
  auto const update = assign_add(w, constant(g, tensor(dtype::float32, {4})));
  auto options = soft;
  options.around.home = [](std::string_view) { return std::optional<std::uint32_t>(accelerator0); };
  expect_refused(refusal(part_of(g, {}, {update}), machine_without("assign_add"), options), "w",
                 "no device suits all of these nodes, which must lie together: 'w' lives on '/device:accelerator:0', "
                 "'assign_add' has kernels on '/device:cpu:0' alone; what ties them: 'assign_add' takes 'w': move the "
                 "variable");
}

TEST(place_constraints, refuse_what_no_device_has_a_kernel_for) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  auto const y = exp(x);
  auto devices = machine_without("exp");
  devices[cpu0].has_kernel = devices[accelerator0].has_kernel;
  expect_refused(refusal(part_of(g, {y}, {}, {x}), devices, soft), "exp",
                 "no device suits it: 'exp' has kernels on no device: no constraint is the reason, so write it with "
                 "other operations");
}

TEST(place_constraints, name_some_of_many_that_contradict_each_other) {
  graph g;
  auto const w = variable(constant(g, tensor(dtype::float32, {4})), "w");
  std::vector<value> all;
  for (int i = 0; i < 20; ++i)
    all.push_back(g.near(w, [&] { return g.on(i == 19 ? "cpu:0" : "accelerator:0", [&] { return exp(w); }); }));
  auto const e = refusal(part_of(g, all), machine());
  EXPECT_EQ(e.node(), "exp_19");
  EXPECT_NE(e.message().find("'exp_7' asks for '/device:accelerator:0' and 12 more; what ties them: 'exp_19' is near "
                             "'w', 'exp' is near 'w': change a constraint"),
            std::string::npos)
      << e.message();
}

TEST(place_constraints, give_way_to_soft_placement_where_a_device_is_not_there) {
  graph g;
  auto const w = g.on("tpu:0", [&] { return variable(constant(g, tensor(dtype::float32, {4})), "w"); });
  auto const y = g.near(w, [&] { return g.on("accelerator:0", [&] { return exp(w); }); });
  auto const alone = placed(part_of(g, {w}), machine(), soft);
  EXPECT_EQ(alone.device(w), cpu0);
  EXPECT_EQ(alone.reason(w), "asked for '/device:tpu:0', which no device is called, soft placement");
  auto const p = placed(part_of(g, {y}), machine(), soft);
  EXPECT_EQ(p.device(w), accelerator0) << "the other wish still counts";
  EXPECT_EQ(p.device(y), accelerator0);
}

TEST(place_constraints, give_way_for_all_nodes_of_a_group) {
  graph g;
  auto const w = g.on("accelerator:0", [&] { return variable(constant(g, tensor(dtype::float32, {4})), "w"); });
  auto const update = assign_add(w, constant(g, tensor(dtype::float32, {4})));
  auto const p = placed(part_of(g, {w}, {update}), machine_without("assign_add"), soft);
  EXPECT_EQ(p.device(w), cpu0);
  EXPECT_EQ(p.reason(w), "asked for '/device:accelerator:0', which has no kernel for 'assign_add', soft placement");
  EXPECT_EQ(p.reason(value(update)), "beside variable 'w'");
}

TEST(place_constraints, refuse_machines_that_are_none) {
  graph g;
  auto const sub = part_of(g, {constant(g, 1.f)});
  EXPECT_NE(refusal(sub, {}).message().find("expected a host"), std::string::npos);
  EXPECT_NE(refusal(sub, {device_at("accelerator:0", 1)}).message().find("expected a host"), std::string::npos);
  EXPECT_NE(refusal(sub, {device_at("cpu", 1, true)}).message().find("with a type and an index"), std::string::npos);
  EXPECT_NE(refusal(sub, {device_at("cpu:0", 1, true), device_at("cpu:0", 1)}).message().find("two devices are called"),
            std::string::npos);
  place_options options;
  options.around.home = [](std::string_view) { return std::optional<std::uint32_t>(3); };
  auto const w = variable(constant(g, 1.f), "w");
  EXPECT_EQ(refusal(part_of(g, {w}), machine(), options).code(), code::internal);
}

TEST(place_constraints, name_what_ties_nodes_that_ask_for_different_devices) {
  graph g;
  auto const v2 = g.on("cpu:0", [&] { return variable(constant(g, 1.f), "v2"); });
  auto const v3 = g.on("accelerator:0", [&] { return variable(constant(g, 1.f), "v3"); });
  operation const tie = g.near(v2, [&] { return operation(assign(v3, constant(g, 1.f))); });
  auto const name = "'" + tie.origin().name + "'";
  auto const asks = std::string("these nodes must lie together, and ask for different devices: ");
  auto const v2_asks = std::string("'v2' asks for '/device:cpu:0'");
  auto const v3_asks = std::string("'v3' asks for '/device:accelerator:0'");
  expect_refused(refusal(part_of(g, {v2}, {tie}), machine()), "v3",
                 asks + v2_asks + ", " + v3_asks + "; what ties them: " + name + " takes 'v3', " + name +
                     " is near 'v2': change a constraint");
  place_options options;  // a step without v2
  options.around.find_node = [&](std::string_view of) { return g.find_node(of); };
  expect_refused(refusal(part_of(g, {}, {tie}), machine(), options), "v2",
                 asks + v3_asks + ", " + v2_asks + "; what ties them: " + name + " is near 'v2', " + name +
                     " takes 'v3': change a constraint");
}

TEST(place_constraints, name_the_node_of_a_body_that_ties_two_variables) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const v = g.on("cpu:0", [&] { return variable(constant(g, 1.f), "v"); });
  auto const w = g.on("accelerator:0", [&] { return variable(constant(g, 1.f), "w"); });
  auto const y =
      cond(x < 1.f, [&] { return g.near(v, [&] { return value(read(w)); }); }, [&] { return value(read(v)); });
  auto const message = refusal(part_of(g, {y, v, w}, {}, {x}), machine()).message();
  EXPECT_NE(message.find("; what ties them: '"), std::string::npos) << message;
  EXPECT_NE(message.find("/read' ties 'w' to 'v': change a constraint"), std::string::npos) << message;
}

}  // namespace
}  // namespace rill
