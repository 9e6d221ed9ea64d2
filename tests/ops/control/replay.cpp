#include "rill/ops/control/replay.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using values = std::vector<value>;
using detail::replay;

TEST(replay, records_a_bodys_nodes_again_on_other_values) {
  graph g;
  auto const x = placeholder<float>(g, "x"), y = placeholder<float>(g, "y");
  auto const b = record_body(g, "body", {of<float>},
                             [&](values const& in) { return values{mul(neg(in[0]), value(x)), in[0], x}; });
  auto const before = g.size();
  replay const again(g, b.subgraph, {y, x}, {});
  EXPECT_EQ(g.size(), before + 2);
  EXPECT_EQ(g[before].name, "neg");
  EXPECT_EQ(again.of(b.subgraph.outputs[1]).endpoint(), y.endpoint());
  EXPECT_EQ(again.of(b.subgraph.outputs[2]).endpoint(), x.endpoint());
  session s(g);
  EXPECT_EQ(s.run({{x, tensor(3.f)}, {y, tensor(5.f)}}, again.of(b.subgraph.outputs[0])).at<float>(), -15);
}

TEST(replay, has_every_output_of_a_node) {
  graph g;
  auto const p = placeholder<bool>(g, "p");
  auto const x = placeholder<float>(g, "x");
  auto const b = record_body(g, "body", {of<float>}, [&](values const& in) {
    auto const both =
        cond(value(p), [&] { return std::tuple{in[0], neg(in[0])}; }, [&] { return std::tuple{exp(in[0]), in[0]}; });
    return values{std::get<1>(both)};
  });
  EXPECT_EQ(b.subgraph.outputs[0].port, 1);
  replay const again(g, b.subgraph, {x, p}, {});
  session s(g);
  EXPECT_EQ(s.run({{x, tensor(3.f)}, {p, tensor(true)}}, again.of(b.subgraph.outputs[0])).at<float>(), -3);
  EXPECT_EQ(s.run({{x, tensor(3.f)}, {p, tensor(false)}}, again.of(b.subgraph.outputs[0])).at<float>(), 3);
}

TEST(replay, finds_variables_by_name) {
  graph g;
  auto const v = variable(constant(g, 2.f), "v"), w = variable(constant(g, 3.f), "w");
  auto const b = record_body(g, "body", {}, [&](values const&) { return values{sub(value(v), value(w))}; });
  auto const variables = g.initials().size();
  replay const again(g, b.subgraph, {}, {w, v});
  EXPECT_EQ(g.initials().size(), variables);
  session s(g);
  s.run(initializer(g));
  EXPECT_EQ(s.run(again.of(b.subgraph.outputs[0])).at<float>(), -1);
}

TEST(replay, makes_no_update_again_and_has_no_value_for_what_it_returns) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  auto const x = placeholder<float>(g, "x");
  auto const b = record_body(g, "body", {}, [&](values const&) {
    value const updated = assign_add(v, x);
    return values{updated, neg(x)};
  });
  replay const again(g, b.subgraph, {x}, {v});
  session s(g);
  s.run(initializer(g));
  EXPECT_EQ(s.run({{x, tensor(5.f)}}, again.of(b.subgraph.outputs[1])).at<float>(), -5);
  EXPECT_EQ(s.run(value(v)).at<float>(), 1);
  auto const text = sentence([&] { again.of(b.subgraph.outputs[0]); });
  EXPECT_TRUE(text.starts_with("unimplemented: node 'body/assign_add'")) << text;
}

TEST(replay, prints_nothing_again_and_passes_on_what_was_printed) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const b = record_body(g, "body", {}, [&](values const&) { return values{neg(print(value(x), "seen"))}; });
  replay const again(g, b.subgraph, {x}, {});
  std::string log;
  session s(g, {.log = [&](std::string_view line) { log += line; }});
  EXPECT_EQ(s.run({{x, tensor(5.f)}}, again.of(b.subgraph.outputs[0])).at<float>(), -5);
  EXPECT_EQ(log, "");
}

// The sum over the y, which are products of an x and something, of their derivatives times dy.
std::vector<gradient> of_products(values const& y, values const& x, values const& dy) {
  std::vector<gradient> all(x.size());
  for (std::size_t k = 0; k < y.size(); ++k)
    for (std::size_t i = 0; i < x.size(); ++i) {
      auto const& n = y[k].origin();
      if (n.inputs[0] != x[i].endpoint()) continue;
      value const sub = mul(dy[k], value{y[k].graph, n.inputs[1].node, n.inputs[1].port});
      all[i] = all[i] ? gradient(add(all[i].dense, sub)) : gradient(sub);
    }
  return all;
}

TEST(dense_derivatives, add_up_over_results_and_pass_over_those_without_derivative) {
  graph g;
  auto const x = placeholder<double>(g, "x"), z = placeholder<double>(g, "z"), d = placeholder<double>(g, "d");
  auto const times = [&](double k) { return value(x * constant(g, k)); };
  value const whole = cast<std::int32_t>(x);
  values const none;
  std::vector<bool> const wanted;
  gradient_request const r{g, 0, none, wanted, of_products};
  auto const sums = detail::dense_derivatives(r, {times(2), times(3), times(5), whole}, {d, d, {}, whole}, {x, z});
  ASSERT_EQ(sums.size(), 2);
  EXPECT_FALSE(sums[1]);
  session s(g);
  EXPECT_EQ(s.run({{d, tensor(7.)}}, sums[0]).at<double>(), 35);
}

TEST(zeros_like, has_the_type_and_extents_of_a_value) {
  graph g;
  value const x = placeholder(g, type(dtype::float64, {unknown, 2}), "x");
  session s(g);
  auto const zeros = s.run({{x, matrix<double>({{1, 2}, {3, 4}, {5, 6}})}}, detail::zeros_like(x));
  EXPECT_TRUE(same_bits(zeros, matrix<double>({{0, 0}, {0, 0}, {0, 0}})));
}

TEST(refuse_updated_reads, names_the_variable_that_is_read_and_updated) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v"), w = variable(constant(g, 1.f), "w");
  auto const checked = [&](auto&& f) {
    auto const b = record_body(g, "body", {}, [&](values const&) { return values{f()}; });
    return sentence([&] { detail::refuse_updated_reads(b.subgraph, "cond"); });
  };
  auto const read_one_update_other = [&] { return assign(v, constant(g, 1.f)), value(neg(value(w))); };
  EXPECT_EQ(checked(read_one_update_other), "");
  EXPECT_EQ(checked([&] { return assign(v, constant(g, 1.f)), assign_add(v, constant(g, 1.f)), value(w); }), "");
  EXPECT_EQ(checked([&] { return assign(v, constant(g, 1.f)), value(neg(value(v))); }),
            "unimplemented: node 'cond': a body that reads and updates a variable, here 'v', has no gradient");
}

TEST(replay, records_nodes_under_the_constraints_that_they_had) {
  graph g;
  auto const w = variable(constant(g, 1.f), "w");
  auto const x = placeholder<float>(g, "x"), y = placeholder<float>(g, "y");
  auto const b = record_body(g, "body", {of<float>}, [&](values const& in) {
    auto const first = g.on("gpu:1", [&] { return value(exp(in[0])); });
    auto const beside_it = g.near(first, [&] { return value(square(first)); });
    auto const beside_w = g.near(w, [&] { return value(mul(beside_it, value(w))); });
    return values{neg(beside_w)};
  });
  auto const before = g.size();
  replay const again = g.on("cpu:0", [&] { return g.near(x, [&] { return replay(g, b.subgraph, {y}, {w}); }); });
  ASSERT_EQ(g.size(), before + 4);
  EXPECT_EQ(g[before].device, "/device:gpu:1");
  EXPECT_EQ(g[before].colocated, "");
  EXPECT_EQ(g[before + 1].device, "");
  EXPECT_EQ(g[before + 1].colocated, g[before].name);
  EXPECT_EQ(g[before + 2].colocated, "w");
  EXPECT_EQ(g[before + 3].device + g[before + 3].colocated, "");
}

TEST(replay, asks_for_what_neighbours_asked_for_that_are_not_recorded_again) {
  graph g;
  auto const w = variable(constant(g, 1.f), "w");
  auto const x = placeholder<float>(g, "x");
  auto const b = record_body(g, "body", {of<float>}, [&](values const& in) {
    value const update = g.on("gpu:1", [&] { return value(assign(w, in[0])); });
    return values{g.near(update, [&] { return value(neg(in[0])); })};
  });
  replay const again(g, b.subgraph, {x}, {w});
  EXPECT_EQ(again.of(b.subgraph.outputs[0]).origin().device, "/device:gpu:1");
  EXPECT_EQ(again.of(b.subgraph.outputs[0]).origin().colocated, "");
}

}  // namespace
}  // namespace rill
