#include "rill/pass/trim_loops.hpp"

#include <gtest/gtest.h>

#include "rill/graph/prune.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

// The subgraph that fetches some values and runs some nodes, bound and trimmed.
struct trimmed {
  subgraph sub;
  container state;
  bool changed;

  trimmed(value x, type const& of, std::vector<value> const& fetched, std::vector<std::uint32_t> const& targets = {})
      : sub([&] {
          std::vector<endpoint> ends;
          for (auto const& v : fetched) ends.push_back(v.endpoint());
          return prune(*x.graph, {x.endpoint()}, ends, targets);
        }()) {
    bind_extents(sub, {of}, state);
    changed = trim_loops(sub, state, nullptr);
    verify(sub);
  }
  node const& loop() const { return *std::find_if(sub.nodes.begin(), sub.nodes.end(), ops::is_loop); }
  ops::loop_rules::attributes about() const { return decode<ops::loop_rules::attributes>(loop().attributes); }
};

TEST(trim_loops, leaves_rows_unmade_that_nobody_reads) {
  graph g;
  auto const x = placeholder<float, 5>(g, "x");
  auto const states = scan([](auto s, auto e) { return s * 0.5f + e; }, constant(g, 0.f), x);
  value const node = states, last{node.graph, node.node, 0};
  trimmed const alone(x, of<float, 5>, {last}), both(x, of<float, 5>, {last, states});
  EXPECT_TRUE(alone.changed);
  EXPECT_EQ(alone.about().made_rows(), 0);
  EXPECT_EQ(alone.loop().outputs.size(), 2);
  EXPECT_FALSE(both.changed);
  EXPECT_EQ(both.about().made_rows(), 1);
}

TEST(trim_loops, hands_a_body_nothing_of_which_it_reads_the_extents_alone) {
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  value const large = exp(x);
  auto const y = map([&](value row) { return sum(broadcast_like(row, large)); }, value(x));
  trimmed const t(x, of<float, 4>, {y});
  EXPECT_TRUE(t.changed);
  EXPECT_EQ(t.loop().inputs.size(), 1);  // the rows
  for (auto const& n : t.sub.nodes) EXPECT_NE(n.op->name, "exp");
  session s(g);
  EXPECT_TRUE(same_bits(s.run({{x, vector<float>({1, 2, 3, 4})}}, y), vector<float>({4, 8, 12, 16})));
}

TEST(trim_loops, leaves_uncomputed_what_only_such_rows_need) {
  graph g;
  auto const x = placeholder<float, 3>(g, "x");
  auto const v = variable(constant(g, 0.f), "v");
  value const y = map([&](auto e) { return assign_add(v, e), exp(tanh(e)); }, x);
  trimmed const t(x, of<float, 3>, {}, {y.node});
  auto const body = t.about().body;
  for (auto const& n : body->nodes) EXPECT_TRUE(n.op->name != "exp" && n.op->name != "tanh");
  session s(g);
  s.run(initializer(g));
  s.run({{x, vector<float>({1, 2, 3})}}, operation(y));
  EXPECT_EQ(s.run(v), 6.f);
}

// The body takes what another loop has made, of extents that only the run knows.
TEST(trim_loops, leaves_the_other_rows_in_their_places_where_extents_are_open) {
  graph g;
  auto const x = placeholder<double, 3>(g, "x");
  auto const open = while_loop([](auto v) { return sum(v) < 2.0; }, [](auto v) { return concat<0>(v, v); },
                               as<of<double, unknown>>(fill<2>(constant(g, 0.3))));
  auto const states = scan([&](auto s, auto e) { return tanh(s * e + sum(open)) * e; }, constant(g, 0.5), x);
  value const all = states, last{all.graph, all.node, 0};
  auto const d = gradients(last, {x})[0];
  session s(g), plain(g, {.passes = pass_options::none()});
  std::vector<feed> const feeds{{x, vector<double>({0.3, -0.2, 0.7})}};
  EXPECT_TRUE(same_bits(s.run(feeds, d), plain.run(feeds, d)));
}

TEST(trim_loops, keeps_rows_that_count_though_nobody_reads_them) {
  graph g;
  auto const x = placeholder<float, 3>(g, "x");
  auto const y = map([&](auto) { return constant(g, 1.f); }, x);
  trimmed const t(x, of<float, 3>, {y});
  EXPECT_EQ(t.about().rows, 1);
  session s(g);
  EXPECT_TRUE(same_bits(s.run({{x, vector<float>({7, 8, 9})}}, y), vector<float>({1, 1, 1})));
}

}  // namespace
}  // namespace rill
