#include "rill/run/sequential_walk.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/sentence.hpp"
#include "rill/rill.hpp"
#include "run/wait/late_wait.hpp"

namespace rill {
namespace {

// Which nodes ran, in their order, and on which threads.
struct nodes final : observer {
  void node_ran(node_record const& r) override {
    std::lock_guard lock(mutex);
    names.emplace_back(r.name);
  }
  std::mutex mutex;
  std::vector<std::string> names;
};

TEST(sequential_walk, keeps_the_order_of_the_plan_and_goes_on_behind_each_wait) {
  graph g;
  auto const q = fifo_queue<of<float>>(g);
  auto const x = placeholder<float>(g, "x");
  value all = exp(x);
  for (int k = 0; k < 3; ++k) all = g.after({operation(all)}, [&] { return neg(exp(dequeue(q))); });
  auto const put = q.enqueue(x);
  session s(g, {.threads = 2, .execution = execution::sequential});
  nodes run, started;
  auto const filled = [&] {
    for (float v : {1.f, 2.f, 3.f}) s.run({{x, tensor(v)}}, put);
  };
  filled();
  auto const expected = s.run({{x, tensor(0.f)}}, all, observe{run});
  std::promise<tensor> got;
  s.start({{x, tensor(0.f)}}, all, observe{started}, [&](auto r) { got.set_value(*r); });
  filled();
  EXPECT_TRUE(same_bits(got.get_future().get(), expected));
  EXPECT_EQ(started.names, run.names);
}

TEST(sequential_walk, frees_what_nobody_uses_after_a_wait) {
  graph g;
  auto const q = fifo_queue<of<float, 1000>>(g);
  auto const x = placeholder<float, 1000>(g, "x");
  auto const big = dequeue(q);
  auto const small = sum(big);
  auto const second = g.after({operation(small)}, [&] { return sum(dequeue(q)); });
  auto const put = q.enqueue(x);
  host_memory memory;
  session s(g, {.threads = 1, .memory = &memory, .execution = execution::sequential});
  std::promise<float> got;
  auto const one = tensor::adopt(std::vector<float>(1000, 1.f), {1000});
  s.start(small, second, [&](auto r) { got.set_value(float(std::get<1>(*r))); });
  while (q.in(s.state())->waiting() != 1) std::this_thread::yield();
  s.run({{value(x), one}}, put);
  while (q.in(s.state())->waiting() != 1) std::this_thread::yield();
  EXPECT_LT(memory.usage().current, 4000);  // the first element is gone, though the step waits for the second
  s.run({{value(x), one}}, put);
  EXPECT_EQ(got.get_future().get(), 1000.f);
}

TEST(sequential_walk, names_the_node_that_fails_behind_a_wait) {
  graph g;
  auto const q = fifo_queue<of<float>>(g);
  auto const checked = check_numerics(log(dequeue(q)), "of the logarithm");
  auto const put = q.enqueue(constant(g, -1.f));
  session s(g, {.execution = execution::sequential});
  s.run(put);
  auto const words = sentence([&] { s.run(checked); });
  std::promise<std::string> got;
  s.start(checked, [&](auto const& r) { got.set_value(r.error().what()); });
  s.run(put);
  EXPECT_EQ(got.get_future().get(), words);
  EXPECT_NE(words.find("of the logarithm"), std::string::npos) << words;
}

TEST(sequential_walk, a_kernel_that_begins_to_wait_when_the_step_is_to_end_is_told) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y = record<test::ended_op>(x);
  session s(g, {.threads = 1, .execution = execution::sequential});
  auto const started = [&](auto const& until) {
    std::promise<std::string> got;
    s.start({{x, tensor(1.f)}}, y, until, [&](auto const& r) { got.set_value(r ? "" : r.error().what()); });
    return got.get_future().get();
  };
  for (bool starts : {false, true})
    for (int i = 0; i < 20; ++i) {
      auto const words = [&](auto const& until) {
        return starts ? started(until) : sentence([&] { s.run({{x, tensor(1.f)}}, y, until); });
      };
      test::late_wait::reset();
      std::stop_source stop;
      std::thread other([&] {
        test::late_wait::wait_for(test::late_wait::late_runs);
        stop.request_stop();
      });
      auto const stopped = words(stop.get_token());
      EXPECT_NE(stopped.find("cancelled"), std::string::npos) << stopped;
      other.join();
      auto const late = words(timeout(std::chrono::milliseconds(2)));
      EXPECT_NE(late.find("past its deadline"), std::string::npos) << late;
    }
}

}  // namespace
}  // namespace rill
