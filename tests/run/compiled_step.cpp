#include "rill/run/compiled_step.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "rill/graph/prune.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/pass/bind.hpp"
#include "rill/run/plan/make_plan.hpp"

namespace rill {
namespace {

plan square_of(graph& g, container& state, allocator& memory, std::int64_t n) {
  value const x = placeholder(g, type(dtype::float32, shape{n}), "x"), y = square(neg(x));
  auto sub = prune(g, {x.endpoint()}, {y.endpoint()}, {});
  bind_extents(sub, {x.type()}, state);
  return make_plan(sub, {.state = state, .memory = memory});
}

TEST(compiled_step, is_run_by_several_threads_at_once) {
  graph g;
  container state;
  host_memory memory;
  compiled_step step(square_of(g, state, memory, 1000));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::vector<tensor> fed{tensor(dtype::float32, {1000})};
      std::fill_n(fed[0].mutable_data<float>(), 1000, static_cast<float>(t));
      for (int i = 0; i < 200; ++i) {
        step_context context;
        step.run(fed, {}, context,
                 [&](plan_instance const& a) { EXPECT_EQ(a.result(0, fed).at<float>(i), static_cast<float>(t * t)); });
      }
    });
  for (auto& t : threads) t.join();
}

TEST(compiled_step, keeps_its_memory_for_the_next_run_until_it_is_trimmed) {
  graph g;
  container state;
  host_memory memory;
  compiled_step step(square_of(g, state, memory, 1000));
  std::vector<tensor> const fed{tensor(dtype::float32, {1000})};
  step_context context;
  step.run(fed, {}, context, [](plan_instance const&) {});
  auto const kept = memory.usage();
  EXPECT_GT(kept.current, 0);
  step.run(fed, {}, context, [](plan_instance const&) {});
  EXPECT_EQ(memory.usage().total, kept.total);
  step.trim();
  EXPECT_EQ(memory.usage().current, 0);
}

TEST(compiled_step, gives_its_instance_back_when_the_reader_of_results_throws) {
  graph g;
  container state;
  host_memory memory;
  compiled_step step(square_of(g, state, memory, 10));
  std::vector<tensor> const fed{tensor(dtype::float32, {10})};
  step_context context;
  EXPECT_THROW(step.run(fed, {}, context, [](plan_instance const&) { throw 1; }), int);
  auto const before = memory.usage().total;
  step.run(fed, {}, context, [](plan_instance const&) {});
  EXPECT_EQ(memory.usage().total, before);
}

}  // namespace
}  // namespace rill
