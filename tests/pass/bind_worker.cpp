// What the sessions of different workers run of one graph.
#include "rill/pass/bind_worker.hpp"

#include <gtest/gtest.h>

#include <string>

#include "rill/rill.hpp"

namespace rill {
namespace {

TEST(bind_worker, gives_each_session_its_number) {
  graph g;
  auto const number = worker_number(g) + std::int64_t{10};
  session first(g), third(g, {.worker = 2});
  EXPECT_EQ(std::int64_t(first.run(number)), 10);
  EXPECT_EQ(std::int64_t(third.run(number)), 12);
  local_cluster const cluster({{"worker", 3}});
  session second(g, cluster.target("/job:worker/task:1")), named(g, {.target = cluster.target(), .worker = 2});
  EXPECT_EQ(std::int64_t(second.run(number)), 11);
  EXPECT_EQ(std::int64_t(named.run(number)), 12);
}

TEST(bind_worker, runs_what_one_worker_alone_runs_in_its_sessions) {
  graph g;
  auto v = variable(constant(g, 0.f), "v"), w = variable(constant(g, 0.f), "w");
  auto const mine = assign_add(v, constant(g, 1.f)), ours = assign_add(w, constant(g, 1.f));
  auto const step = group(g, {on_worker(g, 1, {mine, ours}), ours});
  auto const state = std::make_shared<container>();
  session zero(g, {.state = state}), one(g, {.state = state, .worker = 1});
  zero.run(initializer(g));
  zero.run(step);
  EXPECT_EQ(float(zero.run(v)), 0);
  EXPECT_EQ(float(zero.run(w)), 1);
  one.run(step);
  EXPECT_EQ(float(one.run(v)), 1);
  EXPECT_EQ(float(one.run(w)), 2);
}

TEST(bind_worker, is_for_steps_alone) {
  graph g;
  EXPECT_THROW(map([&](auto x) { return x + cast<float>(worker_number(g)); }, constant<float, 2>(g, {1, 2})), error);
}

}  // namespace
}  // namespace rill
