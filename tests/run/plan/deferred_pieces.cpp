#include "rill/run/plan/deferred_pieces.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "base/sentence.hpp"
#include "rill/graph/prune.hpp"
#include "rill/ops/list/operations.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using std::chrono::seconds;

constexpr auto in_time = timeout(seconds(20));  // what hangs fails

using floats_queue = decltype(fifo_queue<of<float, 4>>(std::declval<graph&>(), {}, "q"));
using sums_queue = decltype(fifo_queue<of<float>>(std::declval<graph&>(), {}, "q"));

// The positive elements, a vector whose extent the step settles.
value positive(value x) { return gather(x, where(less(constant(*x.graph, 0.f), x))); }

// Two pieces of a step wait for extents that come from a queue each; what comes to the second depends, by way of
// another step, on what the first gives.
struct two_pieces {
  graph g;
  floats_queue q1 = fifo_queue<of<float, 4>>(g, {}, "q1"), q3 = fifo_queue<of<float, 4>>(g, {}, "q3");
  sums_queue q2 = fifo_queue<of<float>>(g, {}, "q2");
  expr<of<float, 4>> x = placeholder<float, 4>(g, "x");
  operation fill = q1.enqueue(x);
  operation relay = q3.enqueue(x * q2.dequeue());

  // Runs the step and the other one; the positive elements that came to the second piece.
  template <class Target> std::vector<float> run(session& s, value fetched, Target const& target) {
    auto const in = vector<float>({1, -2, 3, -4});
    s.run({{x, in}}, fill);
    std::thread other([&] { EXPECT_EQ(sentence([&] { s.run({{x, in}}, relay, in_time); }), ""); });
    std::vector<float> all;
    EXPECT_EQ(sentence([&] {
                auto const made = s.run(fetched, target, in_time);
                auto const got = made.template span<float>();
                all.assign(got.begin(), got.end());
              }),
              "");
    other.join();
    return all;
  }
};

// Calls `f` with sessions of every execution in which nodes wait without a thread, with and without passes, on one and
// two threads.
template <class F> void in_each_session(graph& g, F const& f) {
  for (auto const wish : {execution::automatic, execution::parallel, execution::tagged})
    for (auto const& passes : {pass_options(), pass_options::none()})
      for (int threads : {1, 2}) {
        session s(g, {.threads = threads, .passes = passes, .execution = wish});
        f(s);
      }
}

TEST(deferred_pieces, begin_when_their_own_inputs_have_come) {
  for (bool const first : {true, false}) {
    two_pieces p;
    auto const given = [&] { return p.q2.enqueue(as<of<float>>(sum(positive(p.q1.dequeue())))); };
    auto const came = [&] { return positive(p.q3.dequeue()) * 2.f; };
    operation put;
    value got;
    if (first) put = given(), got = came();
    else got = came(), put = given();
    in_each_session(p.g, [&](session& s) { EXPECT_EQ(p.run(s, got, put), (std::vector<float>{8, 24})); });
  }
}

TEST(deferred_pieces, begin_where_each_of_two_steps_waits_for_a_piece_of_the_other) {
  graph g;
  auto const a = fifo_queue<of<float, 4>>(g, {}, "a"), b = fifo_queue<of<float, 4>>(g, {}, "b");
  auto const x = placeholder<float, 4>(g, "x");
  // Each step makes something of what is there, for the other one, and waits for what the other one makes.
  auto const here = fifo_queue<of<float, 4>>(g, {}, "here"), there = fifo_queue<of<float, 4>>(g, {}, "there");
  auto const give = [&](auto from, auto to) { return to.enqueue(x * as<of<float>>(sum(positive(from.dequeue())))); };
  auto const put1 = give(a, there), put2 = give(b, here);
  auto const got1 = as<of<float>>(sum(positive(here.dequeue()))), got2 = as<of<float>>(sum(positive(there.dequeue())));
  auto const in = vector<float>({1, -2, 3, -4});
  in_each_session(g, [&](session& s) {
    s.run({{x, in}}, a.enqueue(x));
    s.run({{x, in}}, b.enqueue(x));
    std::thread other(
        [&] { EXPECT_EQ(sentence([&] { EXPECT_EQ(float(s.run({{x, in}}, got2, put2, in_time)), 16.f); }), ""); });
    EXPECT_EQ(sentence([&] { EXPECT_EQ(float(s.run({{x, in}}, got1, put1, in_time)), 16.f); }), "");
    other.join();
  });
}

TEST(deferred_pieces, update_variables_and_bring_results) {
  two_pieces p;
  auto const v = variable(constant(p.g, 1.f), "v");
  auto const init = initializer(p.g);
  value const some = positive(p.q1.dequeue());
  auto const total = as<of<float>>(sum(some));
  auto const put = p.q2.enqueue(total);
  operation const update = assign_add(v, total);
  value const got = positive(p.q3.dequeue());
  in_each_session(p.g, [&](session& s) {
    s.run(init);
    auto const in = vector<float>({1, -2, 3, -4});
    s.run({{p.x, in}}, p.fill);
    std::thread other([&] { EXPECT_EQ(sentence([&] { s.run({{p.x, in}}, p.relay, in_time); }), ""); });
    EXPECT_EQ(sentence([&] {
                auto const [first, second] = s.run(some, got, put, update, in_time);
                EXPECT_EQ(first.shape(), (shape{2}));
                EXPECT_EQ(second.template at<float>(1), 12.f);
              }),
              "");
    other.join();
    EXPECT_EQ(float(s.run(v)), 5.f);
  });
}

TEST(deferred_pieces, say_which_node_failed) {
  two_pieces p;
  auto const bad = check_numerics(positive(p.q1.dequeue()) / 0.f, "too large");
  auto const put = p.q2.enqueue(as<of<float>>(sum(bad)));
  value const got = positive(p.q3.dequeue());
  in_each_session(p.g, [&](session& s) {
    s.run({{p.x, vector<float>({1, -2, 3, -4})}}, p.fill);
    auto const said = sentence([&] { s.run(got, put, in_time); });
    EXPECT_TRUE(said.starts_with("invalid_argument: node 'check_numerics': ")) << said;
  });
}

// How many nodes of a step are deferred pieces, and whether any node is still deferred.
struct joined {
  int pieces = 0;
  bool late = false;
  friend bool operator==(joined const&, joined const&) = default;
};
joined join(graph& g, std::vector<value> const& fetched, std::vector<operation> const& targets) {
  std::vector<endpoint> outputs;
  for (auto const& v : fetched) outputs.push_back(v.endpoint());
  std::vector<std::uint32_t> nodes;
  for (auto const& t : targets) nodes.push_back(t.node);
  auto sub = prune(g, {}, outputs, nodes);
  auto const late = join_deferred_pieces(sub, nullptr);
  verify(sub);
  return {static_cast<int>(std::count_if(sub.nodes.begin(), sub.nodes.end(), is_deferred_piece)), !late.empty()};
}

TEST(deferred_pieces, are_those_alone_that_others_may_wait_for) {
  two_pieces p;
  value const first = sum(positive(p.q1.dequeue())), second = sum(positive(p.q3.dequeue()));
  auto const put = p.q2.enqueue(as<of<float>>(first));
  EXPECT_EQ(join(p.g, {second}, {put}), (joined{1, true}));
  EXPECT_EQ(join(p.g, {first, second}, {}), (joined{0, true})) << "none gives anything";
  EXPECT_EQ(join(p.g, {}, {put}), (joined{0, true})) << "all that waits early comes before it";
  EXPECT_EQ(join(p.g, {}, {put, p.q2.enqueue(as<of<float>>(second))}), (joined{2, false}));
}

TEST(deferred_pieces, are_none_where_what_settles_extents_is_read_elsewhere) {
  two_pieces p;
  value const which = where(less(constant(p.g, 0.f), p.q1.dequeue()));
  auto const put = p.q2.enqueue(as<of<float>>(sum(cast<float>(which))));
  auto const after = p.g.after({operation(which)}, [&] { return p.q3.dequeue(); });
  EXPECT_EQ(join(p.g, {positive(after)}, {put}), (joined{0, true}));
}

TEST(deferred_pieces, are_none_where_several_waits_in_one_have_no_order) {
  two_pieces p;
  auto const total = as<of<float>>(sum(positive(p.q1.dequeue())));
  auto const put = p.q2.enqueue(total), again = p.q2.enqueue(total * 2.f);
  value const got = sum(positive(p.q3.dequeue()));
  EXPECT_EQ(join(p.g, {got}, {put, again}), (joined{0, true}));
  auto const then = p.g.after({put}, [&] { return p.q2.enqueue(total * 3.f); });
  EXPECT_EQ(join(p.g, {got}, {then}), (joined{1, true}));
}

TEST(deferred_pieces, are_none_where_others_use_a_variable_that_they_update) {
  two_pieces p;
  auto const v = variable(constant(p.g, 1.f), "v");
  auto const total = as<of<float>>(sum(positive(p.q1.dequeue())));
  auto const put = p.q2.enqueue(total);
  value const got = sum(positive(p.q3.dequeue()));
  p.g.hogwild([&] {
    operation const update = assign_add(v, total), other = assign_add(v, constant(p.g, 1.f));
    EXPECT_EQ(join(p.g, {got}, {put, update}), (joined{1, true}));
    EXPECT_EQ(join(p.g, {got}, {put, update, other}), (joined{0, true}));
  });
}

TEST(deferred_pieces, may_wait_for_what_is_late_still) {
  two_pieces p;
  auto const total = as<of<float>>(sum(positive(p.q1.dequeue())));
  auto const put = p.q2.enqueue(total);
  auto const other = as<of<float>>(sum(positive(p.q3.dequeue())));
  auto const first = p.q2.enqueue(other), second = p.q2.enqueue(other * 2.f);
  ASSERT_EQ(join(p.g, {other}, {put, first, second}), (joined{1, true}));
  in_each_session(p.g, [&](session& s) {
    auto const in = vector<float>({1, -2, 3, -4});
    s.run({{p.x, in}}, p.fill);
    s.run({{p.x, in}}, p.q3.enqueue(p.x));
    EXPECT_EQ(sentence([&] { EXPECT_EQ(float(s.run(other, put, first, second, in_time)), 4.f); }), "");
    std::vector<float> all;
    for (int i = 0; i < 3; ++i) all.push_back(float(s.run(p.q2.dequeue(), in_time)));
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, (std::vector<float>{4, 4, 8}));
  });
}

}  // namespace
}  // namespace rill
