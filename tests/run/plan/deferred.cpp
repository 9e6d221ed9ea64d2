#include "rill/run/plan/deferred.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"
#include "rill/graph/prune.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

// A queue with so many numbers in it, closed: dequeue_up_to brings as many as are left.
queue<of<float>> filled(graph& g, session& s, std::vector<float> const& numbers, std::string name) {
  auto const q = fifo_queue<of<float>>(g, {}, name);
  auto const x = placeholder<float>(g, name + "_x");
  auto const put = q.enqueue(x);
  for (float v : numbers) s.run({{x, tensor(v)}}, put);
  s.run(q.close());
  return q;
}

TEST(deferred, what_depends_on_extents_that_the_step_settles_is_planned_then) {
  graph g;
  session s(g);
  auto const some = dequeue_up_to<4>(filled(g, s, {1, 2, 3, 4, 5, 6}, "q"));
  auto const k = placeholder<float>(g, "k");
  auto const early = k + 1.f;
  auto const scaled = some * k;
  for (auto const& [n, sum_of] : {std::pair{4, 20.f}, {2, 22.f}}) {
    auto const [e, v, total] = s.run({{k, tensor(2.f)}}, early, scaled, sum(scaled));
    EXPECT_EQ(float(e), 3.f);
    EXPECT_EQ(v.shape(), shape{n});
    EXPECT_EQ(float(total), sum_of);
  }
  EXPECT_NE(s.explain({{k, tensor(2.f)}}, scaled).find("planned when they are known"), std::string::npos);
}

TEST(deferred, reads_variables_as_the_step_found_them_and_updates_them) {
  graph g;
  session s(g);
  auto const w = variable(constant(g, 10.f), "w");
  auto const total = sum(dequeue_up_to<3>(filled(g, s, {1, 2, 3, 4}, "q")));
  auto const next = w + total;
  auto const train = assign(w, next);
  s.run(initializer(g));
  auto step = s.prepare(inputs(), outputs(next, w), train);
  for (auto const& [before, after] : {std::pair{10.f, 16.f}, {16.f, 20.f}}) {
    auto const [made, found] = step();
    EXPECT_EQ(float(made), after);
    EXPECT_EQ(float(found), before);
    EXPECT_EQ(float(s.run(w)), after);
  }
}

TEST(deferred, may_settle_extents_again_and_again) {
  graph g;
  session s(g);
  auto const first = dequeue_up_to<3>(filled(g, s, {1, 2, 3, 4}, "first"));
  // The second is recorded after the first, so that it waits for it.
  auto const q = filled(g, s, {5, 6}, "second");
  auto const second = g.after({operation(value(sum(first)))}, [&] { return dequeue_up_to<5>(q); });
  auto const all = concat({value(first), value(second)}, 0);
  EXPECT_TRUE(same_bits(s.run(all), vector<float>({1, 2, 3, 5, 6})));
}

TEST(deferred, an_error_names_its_node_and_a_deadline_ends_it) {
  graph g;
  session s(g);
  auto const some = dequeue_up_to<2>(filled(g, s, {0, 1}, "q"));
  auto const bad = check_numerics(constant(g, 1.f) / some, "a ratio");
  auto const text = sentence([&] { s.run(bad); });
  EXPECT_NE(text.find("node 'check_numerics'"), std::string::npos) << text;
  EXPECT_NE(text.find("a ratio"), std::string::npos) << text;
}

TEST(deferred, cuts_nothing_off_where_all_is_known) {
  graph g;
  value const x = placeholder(g, of<float, 3>, "x"), y = neg(x);
  auto sub = prune(g, {x.endpoint()}, {y.endpoint()}, {});
  EXPECT_FALSE(cut_deferred(sub, deferred_nodes(sub)).has_value());
  EXPECT_EQ(sub.outputs.size(), 1);
}

TEST(deferred, keeps_the_results_in_their_order_and_says_where_each_comes_from) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {}, "q");
  value const x = placeholder(g, of<float>, "x"), early = neg(x), some = q.dequeue_up_to<3>(), late = mul(some, x);
  auto sub = prune(g, {x.endpoint()}, {late.endpoint(), early.endpoint(), some.endpoint()}, {});
  auto const cut = cut_deferred(sub, deferred_nodes(sub));
  ASSERT_TRUE(cut.has_value());
  using origin = deferred_subgraph::origin;
  std::vector<origin> from;
  for (auto const& r : cut->results) from.push_back(r.from);
  EXPECT_EQ(from, (std::vector{origin::deferred, origin::first, origin::first}));
  ASSERT_EQ(cut->inputs.size(), 2);  // the rows, and what was fed
  EXPECT_TRUE((cut->inputs[0].from == origin::feed) != (cut->inputs[1].from == origin::feed));
  verify(sub);
  verify(cut->subgraph);
}

// Something that was compiled, and whether it still fits.
struct form {
  bool fits = true;
  int trimmed = 0;
  bool holds() const { return fits; }
  void trim() { ++trimmed; }
};

TEST(deferred_cache, keeps_so_many_forms_that_still_fit_and_trims_all_but_the_last) {
  deferred_cache<form> all(2);
  int compiled = 0;
  auto const find = [&](std::int64_t n) {
    return all.find(std::vector<tensor>{tensor(dtype::float32, {n})}, [&](std::vector<type> const& types) {
      EXPECT_EQ(types[0].shape(), shape{n});
      ++compiled;
      return std::make_shared<form>();
    });
  };
  auto const one = find(1);
  EXPECT_EQ(find(1), one);
  EXPECT_EQ(one->trimmed, 0);
  auto const two = find(2);
  EXPECT_EQ(one->trimmed, 1);
  EXPECT_EQ(find(1), one);
  EXPECT_EQ(two->trimmed, 1);
  EXPECT_EQ(compiled, 2);
  find(3);  // in the place of 2, which was not asked for as long
  EXPECT_EQ(find(1), one);
  EXPECT_EQ(compiled, 3);
  EXPECT_NE(find(2), two);
  one->fits = false;
  EXPECT_NE(find(1), one);
  EXPECT_EQ(compiled, 5);
}

}  // namespace
}  // namespace rill
