#include "rill/run/plan/deferred_nodes.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "base/sentence.hpp"
#include "rill/graph/prune.hpp"
#include "rill/ops/list/operations.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using std::chrono::seconds;

constexpr auto in_time = timeout(seconds(20));  // what hangs fails

// A vector whose extent the step settles: those of x that are positive.
value positive(value x) {
  auto const zero = constant(*x.graph, 0.f);
  return gather(x, where(less(zero, x)));
}

TEST(deferred_nodes, are_those_that_read_extents_that_the_part_settles_and_all_after_them) {
  graph g;
  value const x = placeholder(g, of<float, 3>, "x"), y = neg(x), some = positive(x), late = neg(some);
  auto const sub = prune(g, {x.endpoint()}, {y.endpoint(), late.endpoint()}, {});
  auto const which = deferred_nodes(sub);
  ASSERT_EQ(which.size(), sub.size());
  for (std::uint32_t i = 0; i < sub.size(); ++i) {
    auto const o = sub.origin[i];
    EXPECT_EQ(which[i], o == some.node || o == late.node) << sub[i].name;
  }
}

TEST(deferred_nodes, are_none_where_all_is_known) {
  graph g;
  value const x = placeholder(g, of<float, 3>, "x"), y = neg(x);
  EXPECT_TRUE(deferred_nodes(prune(g, {x.endpoint()}, {y.endpoint()}, {})).empty());
}

TEST(deferred_nodes, know_where_all_that_waits_does_so) {
  operations::for_each([]<class Op>() {
    auto const& op = definition<Op>();
    // Those of rounds wait at a variable, which they take by reference and are ordered by.
    bool const is_ordered = op.name == "await_round" || op.name == "average_of_round";
    if (op.waits && !is_ordered) {
      EXPECT_FALSE(op.rendezvous.empty()) << op.name;
    }
  });
}

// Runs a model in every execution on one thread: `record` takes a graph, x and a queue of numbers, and returns what to
// fetch and what else to run; `x` is {1, -2, 3, 0}.
template <class Record> void expect_results(std::vector<float> const& wanted, Record const& record) {
  for (auto const wish : {execution::automatic, execution::parallel, execution::tagged}) {
    graph g;
    session s(g, {.threads = 1, .execution = wish});
    auto const x = placeholder<float, 4>(g, "x");
    auto const q = fifo_queue<of<float>>(g, {}, "q");
    auto const [fetched, target] = record(g, x, q);
    s.run({{x, vector<float>({5, 6, 7, 8})}}, q.enqueue(constant(g, 1.f)));
    s.run({{x, vector<float>({5, 6, 7, 8})}}, q.enqueue(constant(g, 2.f)));
    auto const made = s.run({{x, vector<float>({1, -2, 3, 0})}}, fetched, target, in_time);
    auto const got = made.template span<float>();
    EXPECT_EQ(std::vector<float>(got.begin(), got.end()), wanted);
  }
}

TEST(deferred_nodes, serve_what_waits_in_the_same_step) {
  expect_results({8.f}, [](graph& g, auto x, auto) {
    auto const q = fifo_queue<of<float>>(g, {}, "of sums");
    value const taken = dequeue(q);
    return std::pair{reshape(taken * 2.f, {1}), q.enqueue(sum(positive(x)))};
  });
}

TEST(deferred_nodes, serve_what_waits_at_another_queue_than_that_which_settles_extents) {
  expect_results({6.f}, [](graph& g, auto, auto q) {
    auto const sums = fifo_queue<of<float>>(g, {}, "sums");
    value const taken = dequeue(sums);
    return std::pair{reshape(taken * 2.f, {1}), sums.enqueue(sum(value(dequeue_up_to<2>(q))))};
  });
}

TEST(deferred_nodes, serve_what_waits_at_the_queue_that_settles_extents) {
  expect_results({6.f}, [](graph&, auto, auto q) {
    value const two = dequeue_up_to<2>(q), taken = dequeue(q);
    return std::pair{reshape(taken * 2.f, {1}), q.enqueue(sum(two))};
  });
}

TEST(deferred_nodes, do_not_take_along_what_serves_those_that_settle_extents) {
  expect_results({2, 4, 2, -4}, [](graph&, auto x, auto q) {
    auto const more = q.enqueue_many(slice(x, {0}, {2}));
    auto const some = value(dequeue_up_to<4>(q)) * 2.f;
    return std::pair{some, more};
  });
}

TEST(deferred_nodes, are_early_where_others_settle_extents_without_a_wait) {
  expect_results({2, 4, 2, 6}, [](graph&, auto x, auto q) {
    value const some = dequeue_up_to<4>(q);
    return std::pair{some * 2.f, q.enqueue_many(positive(x))};
  });
}

TEST(deferred_nodes, serve_what_waits_in_bodies_and_functions) {
  expect_results({9.f}, [](graph& g, auto x, auto) {
    auto const q = fifo_queue<of<float>>(g, {}, "of sums");
    auto const take = function<"take", of<float>>(g, [&](auto v) { return v + dequeue(q); });
    auto const [k, total] =
        while_loop([](auto i, auto) { return i < 1; }, [&](auto i, auto v) { return std::tuple{i + 1, take(v)}; },
                   constant(g, 0), constant(g, 1.f));
    auto const put = q.enqueue_many(positive(x));
    return std::pair{reshape(value(total) + take(constant(g, 4.f)), {1}), put};
  });
}

TEST(deferred_nodes, let_go_of_a_mutex_that_others_wait_for) {
  expect_results({3.f, 10.f}, [](graph& g, auto x, auto) {
    rill::mutex const m(g, "m");
    auto const v = as<of<float>>(sum(positive(x)));
    auto const first = m.locked([&] { return v * 2.5f; });
    auto const second = m.locked([&] { return identity(constant(g, 3.f)); });
    return std::pair{concat({reshape(value(second), {1}), reshape(value(first), {1})}, 0), operation(value(first))};
  });
}

// The other step gives only when it has what the late nodes give.
TEST(deferred_nodes, are_those_that_wait_for_another_step_which_waits_for_late_nodes) {
  for (auto const wish : {execution::automatic, execution::parallel, execution::tagged}) {
    graph g;
    auto const x = placeholder<float, 4>(g, "x");
    auto const back = fifo_queue<of<float>>(g, {}, "back"), out = fifo_queue<of<float>>(g, {}, "out");
    auto const got = back.dequeue();
    auto const put = out.enqueue(as<of<float>>(sum(positive(x))));
    auto const relay = back.enqueue(out.dequeue());
    session s(g, {.threads = 2, .execution = wish});
    std::thread other([&] { EXPECT_EQ(sentence([&] { s.run(relay, in_time); }), ""); });
    EXPECT_EQ(sentence([&] { EXPECT_EQ(float(s.run({{x, vector<float>({1, -2, 3, 0})}}, got, put, in_time)), 4.f); }),
              "");
    other.join();
  }
}

TEST(deferred_nodes, meet_others_at_a_barrier) {
  expect_results({8.f}, [](graph& g, auto x, auto) {
    auto const late = sum(positive(x));
    auto const there = g.after({operation(late)}, [&] { return arrive(g, "b", 2); });
    auto const here = arrive(g, "b", 2);
    return std::pair{g.after({here}, [&] { return reshape(constant(g, 8.f), {1}); }), there};
  });
}

TEST(deferred_nodes, are_updates_that_were_recorded_after_a_wait_which_is_late) {
  for (auto const wish : {execution::automatic, execution::parallel, execution::sequential}) {
    graph g;
    session s(g, {.threads = 1, .execution = wish});
    auto const x = placeholder<float, 4>(g, "x");
    auto const v = variable(constant(g, 1.f), "v");
    auto const q = fifo_queue<of<float>>(g, {}, "q");
    auto const some = sum(positive(x));
    auto const put = q.enqueue(some);
    auto const update = assign_add(v, constant(g, 1.f));
    s.run(initializer(g));
    s.run(q.close());
    EXPECT_EQ(refusal([&] { s.run({{x, vector<float>({1, 2, 3, 4})}}, update, put, in_time); }), code::cancelled);
    EXPECT_EQ(float(s.run(v)), 1.f);
  }
}

}  // namespace
}  // namespace rill
