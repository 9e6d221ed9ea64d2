#include "rill/run/started_step.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/forked.hpp"
#include "base/limit.hpp"
#include "base/new_threads.hpp"
#include "base/no_threads.hpp"
#include "base/sentence.hpp"
#include "rill/rill.hpp"
#include "run/wait/late_wait.hpp"
#include "run/wait/many_steps.hpp"

namespace rill {
namespace {

using namespace std::chrono_literals;

constexpr timeout soon{60s};

void in_every_execution(auto const& check) {
  for (auto wish : {execution::automatic, execution::sequential, execution::parallel, execution::tagged})
    for (int threads : {1, 2}) {
      SCOPED_TRACE("execution " + std::to_string(static_cast<int>(wish)) + ", threads " + std::to_string(threads));
      check(session_options{.threads = threads, .execution = wish});
    }
}

// The end of a step that was started, for the thread that waits for it.
template <class T> class ending {
 public:
  auto done() {
    return [this](expected<T> result) {
      std::lock_guard lock(mutex_);
      EXPECT_FALSE(result_) << "it has ended twice";
      result_ = std::move(result);
      by_ = std::this_thread::get_id();
      came_.notify_all();
    };
  }
  expected<T>& wait() {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return result_.has_value(); });
    return *result_;
  }
  bool has_come() {
    std::lock_guard lock(mutex_);
    return result_.has_value();
  }
  std::thread::id by() const { return by_; }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::optional<expected<T>> result_;
  std::thread::id by_;
};

template <class T> std::string error_text(ending<T>& e) {
  auto& result = e.wait();
  return result ? "" : result.error().what();
}

TEST(started_step, hands_over_what_run_returns) {
  in_every_execution([](session_options const& options) {
    graph g;
    auto const x = placeholder<float, 2>(g, "x");
    auto const y = x + 1.f;
    auto const z = sum(x * x);
    auto const in = vector<float>({1, 2});
    session s(g, options);
    ending<tensor_of<of<float, 2>>> one;
    s.start({{x, in}}, y, one.done());
    EXPECT_TRUE(same_bits(one.wait().value(), vector<float>({2, 3})));
    EXPECT_NE(one.by(), std::this_thread::get_id());
    ending<std::tuple<tensor_of<of<float, 2>>, tensor>> two;
    s.start(std::vector<feed>{{x, in}}, y, "sum", soon, two.done());
    EXPECT_EQ(std::get<1>(*two.wait()).at<float>(), 5.f);
    ending<void> none;
    s.start(no_op(g), none.done());
    EXPECT_TRUE(none.wait());
    auto step = s.prepare(inputs(x), outputs(y, z));
    ending<std::tuple<tensor_of<of<float, 2>>, tensor_of<of<float>>>> prepared;
    step.start(in, prepared.done());
    EXPECT_EQ(float(std::get<1>(prepared.wait().value())), 5.f);
    auto const b = placeholder<float>(g, "b");
    ending<tensor_of<of<float>>> number;
    s.prepare(inputs(b), outputs(b * 2.f)).start(4.f, number.done());  // which is gone before it has ended, perhaps
    EXPECT_EQ(float(number.wait().value()), 8.f);
    EXPECT_EQ(s.steps(), 5u);
  });
}

TEST(started_step, takes_a_function_that_can_only_be_moved) {
  graph g;
  session s(g);
  ending<tensor_of<of<float>>> e;
  s.start(constant(g, 3.f), [mine = std::make_unique<int>(1), done = e.done()](auto r) { done(std::move(r)); });
  EXPECT_EQ(float(*e.wait()), 3.f);
}

TEST(started_step, ten_thousand_that_wait_at_a_queue_need_one_thread) {
  constexpr std::size_t n = 10'000;
  for (auto wish : {execution::automatic, execution::sequential, execution::parallel, execution::tagged}) {
    graph g;
    auto const q = fifo_queue<of<std::int64_t>>(g, {.capacity = 16});
    auto const taken = dequeue(q) * std::int64_t{2};
    auto const x = placeholder<std::int64_t>(g, "x");
    session s(g, {.threads = 1, .execution = wish});
    std::vector<std::int64_t> got(n);
    std::atomic<std::size_t> ended = 0;
    auto take = s.prepare(inputs(), outputs(taken));
    new_threads const started;
    for (std::size_t i = 0; i < n; ++i)
      take.start([&, i](expected<tensor_of<of<std::int64_t>>> r) {
        if (r) got[i] = std::int64_t(*r);
        ++ended;
      });
    auto const state = q.in(s.state());
    while (state->waiting() != n) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(started.count(), 1u);
    auto put = s.prepare(inputs(x), outputs(), q.enqueue(x));
    for (std::size_t i = 0; i < n; ++i) put(static_cast<std::int64_t>(i));
    while (ended != n) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(started.count(), 1u);
    // The steps took their places in the order in which they were started.
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], static_cast<std::int64_t>(2 * i));
  }
}

TEST(started_step, goes_on_from_each_of_its_waits) {
  in_every_execution([](session_options const& options) {
    graph g;
    auto const a = fifo_queue<of<float>>(g, {}, "a"), b = fifo_queue<of<float>>(g, {}, "b");
    auto const x = placeholder<float>(g, "x");
    auto const first = dequeue(a) + 1.f;
    auto const both = g.after({operation(first)}, [&] { return first * 10.f + exp(dequeue(b)); });
    session s(g, options);
    ending<tensor_of<of<float>>> e;
    s.start(both, e.done());
    while (a.in(s.state())->waiting() != 1) std::this_thread::yield();
    s.run({{x, tensor(3.f)}}, a.enqueue(x));
    while (b.in(s.state())->waiting() != 1) std::this_thread::yield();
    EXPECT_FALSE(e.has_come());
    s.run({{x, tensor(0.f)}}, b.enqueue(x));
    EXPECT_EQ(float(e.wait().value()), 41.f);
  });
}

TEST(started_step, waits_for_another_though_there_is_one_thread) {
  in_every_execution([](session_options const& options) {
    graph g;
    auto const q = fifo_queue<of<float>>(g);
    auto const taken = dequeue(q);
    auto const put = q.enqueue(constant(g, 7.f));
    session s(g, options);
    ending<tensor_of<of<float>>> takes;
    ending<void> gives;
    s.start(taken, takes.done());
    s.start(put, gives.done());
    EXPECT_EQ(float(takes.wait().value()), 7.f);
    EXPECT_TRUE(gives.wait());
  });
}

TEST(started_step, waits_in_a_loop_and_holds_no_thread_of_the_pool) {
  in_every_execution([](session_options const& options) {
    graph g;
    auto const q = fifo_queue<of<float>>(g);
    auto const [i, total] =
        while_loop([](auto k, auto) { return k < 3; },
                   [&](auto k, auto v) { return std::tuple{k + 1, v + dequeue(q)}; }, constant(g, 0), constant(g, 0.f));
    auto const put = q.enqueue(constant(g, 2.f));
    session s(g, options);
    std::vector<ending<tensor_of<of<float>>>> takes(4);
    for (auto& each : takes) s.start(total, each.done());
    for (int k = 0; k < 12; ++k) {
      ending<void> gives;
      s.start(put, gives.done());
      EXPECT_TRUE(gives.wait());
    }
    for (auto& each : takes) EXPECT_EQ(float(each.wait().value()), 6.f);
  });
}

TEST(started_step, plans_what_waits_for_extents_when_they_come) {
  in_every_execution([](session_options const& options) {
    graph g;
    auto const q = fifo_queue<of<float>>(g, {.capacity = 16}, "q");
    auto const more = fifo_queue<of<float>>(g, {.capacity = 16}, "more");
    auto const some = dequeue_up_to<3>(q);
    auto const total = sum(some);
    auto const again = g.after({operation(total)}, [&] { return dequeue_up_to<2>(more); });
    auto const x = placeholder<float>(g, "x");
    session s(g, options);
    for (float v : {1.f, 2.f, 3.f, 4.f}) s.run({{x, tensor(v)}}, q.enqueue(x), more.enqueue(x));
    s.run(q.close());
    for (auto const& [n, expected_total, second] : {std::tuple{3, 6.f, 3.f}, {1, 4.f, 7.f}}) {
      ending<std::tuple<tensor, tensor_of<of<float>>, tensor_of<of<float>>>> e;
      s.start(value(some * 2.f), total, sum(again * again) * 0.f + sum(again), e.done());
      auto const& [rows, t, u] = e.wait().value();
      EXPECT_EQ(rows.shape(), shape{n});
      EXPECT_EQ(float(t), expected_total);
      EXPECT_EQ(float(u), second);
    }
  });
}

TEST(started_step, fails_with_the_words_of_run) {
  in_every_execution([](session_options const& options) {
    graph g;
    auto const x = placeholder<float>(g, "x");
    auto const y = check_numerics(log(x), "checked");
    session s(g, options);
    auto const words = sentence([&] { s.run({{x, tensor(-1.f)}}, y); });
    EXPECT_NE(words.find("checked"), std::string::npos) << words;
    ending<tensor_of<of<float>>> e;
    s.start({{x, tensor(-1.f)}}, y, e.done());
    EXPECT_EQ(error_text(e), words);
    EXPECT_EQ(sentence([&] { e.wait().value(); }), words);
    ending<tensor_of<of<float>>> next;
    s.start({{x, tensor(1.f)}}, y, next.done());
    EXPECT_EQ(float(next.wait().value()), 0.f);
  });
}

TEST(started_step, that_can_not_be_compiled_throws_and_calls_nobody) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  std::optional<session> s(std::in_place, g);
  bool called = false;
  auto const done = [&](auto const&) { called = true; };
  EXPECT_NE(sentence([&] { s->start(x + 1.f, done); }).find("'x'"), std::string::npos);
  EXPECT_EQ(refusal([&] { s->start({{"x", vector<float>({1, 2})}}, x + 1.f, done); }), code::invalid_argument);
  auto step = s->prepare(inputs(value(x)), outputs(x + 1.f));
  EXPECT_EQ(refusal([&] { step.start(tensor(), done); }), code::invalid_argument);
  s.reset();
  EXPECT_FALSE(called);
}

TEST(started_step, ends_by_a_deadline_or_a_stop_and_leaves_nobody_waiting) {
  in_every_execution([](session_options const& options) {
    graph g;
    auto const q = fifo_queue<of<float>>(g);
    auto const taken = dequeue(q);
    auto const [i, total] =
        while_loop([](auto k, auto) { return k < 3; },
                   [&](auto k, auto v) { return std::tuple{k + 1, v + dequeue(q)}; }, constant(g, 0), constant(g, 0.f));
    auto const endless =
        while_loop([](auto k) { return k >= 0; }, [](auto k) { return std::tuple{k * 0}; }, constant(g, 0));
    session s(g, options);
    auto const check = [&](auto const& what, bool waits) {
      ending<std::decay_t<decltype(s.run(what))>> late, stopped, long_stopped;
      s.start(what, timeout{5ms}, late.done());
      EXPECT_EQ(late.wait().error().code(), code::deadline_exceeded) << error_text(late);
      std::stop_source stop;
      s.start(what, stop.get_token(), stopped.done());
      while (waits && q.in(s.state())->waiting() != 1) std::this_thread::yield();
      stop.request_stop();
      EXPECT_EQ(stopped.wait().error().code(), code::cancelled) << error_text(stopped);
      s.start(what, stop.get_token(), long_stopped.done());
      EXPECT_EQ(long_stopped.wait().error().code(), code::cancelled);
      EXPECT_EQ(q.in(s.state())->waiting(), 0u);
    };
    check(taken, true);
    check(total, true);
    check(value(endless), false);
  });
}

TEST(started_step, whose_time_is_over_before_it_is_planned_says_so_to_its_function) {
  graph g;
  auto const y = constant(g, 1.f) + 1.f;
  session s(g);
  auto step = s.prepare(inputs(), outputs(y), timeout{-1s});
  ending<tensor_of<of<float>>> started, prepared;
  s.start(y, timeout{-1s}, started.done());
  EXPECT_EQ(started.wait().error().code(), code::deadline_exceeded);
  step.start(prepared.done());
  EXPECT_EQ(prepared.wait().error().code(), code::deadline_exceeded);
}

TEST(started_step, keeps_the_deadline_that_comes_first) {
  graph g;
  auto const q = fifo_queue<of<float>>(g);
  auto const taken = dequeue(q);
  session s(g, {.threads = 2});
  ending<tensor_of<of<float>>> hours, first, second;
  s.start(taken, timeout{24h}, hours.done());
  while (q.in(s.state())->waiting() != 1) std::this_thread::yield();
  s.start(taken, timeout{20ms}, second.done());
  s.start(taken, timeout{1ms}, first.done());
  EXPECT_EQ(first.wait().error().code(), code::deadline_exceeded);
  EXPECT_EQ(second.wait().error().code(), code::deadline_exceeded);
  EXPECT_FALSE(hours.has_come());
  s.run(q.enqueue(constant(g, 1.f)));
  EXPECT_EQ(float(hours.wait().value()), 1.f);
}

TEST(started_step, is_cancelled_and_waited_for_by_the_sessions_end) {
  in_every_execution([](session_options const& options) {
    graph g;
    auto const q = fifo_queue<of<float>>(g);
    auto const taken = dequeue(q);
    std::atomic<int> cancelled = 0;
    {
      session s(g, options);
      for (int i = 0; i < 100; ++i)
        s.start(taken, [&](auto const& r) { cancelled += !r && r.error().code() == code::cancelled; });
    }
    EXPECT_EQ(cancelled, 100);
  });
}

TEST(started_step, that_is_started_while_the_session_ends_is_cancelled) {
  graph g;
  auto const q = fifo_queue<of<float>>(g);
  auto const taken = dequeue(q);
  std::optional<session> s(std::in_place, g);
  std::atomic<int> cancelled = 0;
  s->start(taken, [&, at = &*s](auto const& r) {
    cancelled += !r;
    at->start(taken, [&](auto const& again) { cancelled += !again && again.error().code() == code::cancelled; });
  });
  s.reset();
  EXPECT_EQ(cancelled, 2);
}

TEST(started_step, may_start_the_next_when_it_has_ended) {
  in_every_execution([](session_options const& options) {
    graph g;
    auto const v = variable(constant(g, 0.f), "v");
    auto const next = assign_add(v, constant(g, 1.f));
    session s(g, options);
    s.run(initializer(g));
    auto step = s.prepare(inputs(), outputs(), operation(next));
    ending<void> all;
    int left = 500;  // each step is started when the one before has ended
    std::function<void(expected<void>)> go_on = [&](expected<void> r) {
      if (r && --left > 0) step.start(go_on);
      else all.done()(r);
    };
    step.start(go_on);
    EXPECT_TRUE(all.wait());
    EXPECT_EQ(float(s.run(v)), 500.f);
  });
}

TEST(started_step, calls_its_function_when_all_of_it_has_ended) {
  // The mutex that the step holds is free, its observer has been told, and memory is given back.
  struct order final : observer {
    void step_begins(std::uint64_t) override { ++begun; }
    void step_ended(std::uint64_t) override { ++ended; }
    void node_ran(node_record const&) override { ++nodes; }
    std::atomic<int> begun = 0, ended = 0, nodes = 0;
  };
  in_every_execution([](session_options const& options) {
    graph g;
    auto const q = fifo_queue<of<float>>(g);
    auto const taken = dequeue(q) + 1.f;
    session s(g, options);
    order seen;
    std::atomic<bool> was_over = false;
    ending<tensor_of<of<float>>> e;
    s.start(taken, observe{seen}, [&, done = e.done()](auto r) {
      was_over = seen.ended == 1;
      done(std::move(r));
    });
    s.run(q.enqueue(constant(g, 1.f)));
    EXPECT_EQ(float(e.wait().value()), 2.f);
    EXPECT_TRUE(was_over);
    EXPECT_EQ(seen.begun, 1);
    EXPECT_GE(seen.nodes, 1);
  });
}

TEST(started_step, draws_what_run_draws) {
  graph g(3);
  auto const x = uniform<float, 4>(g);
  session runs(g), starts(g);
  for (int i = 0; i < 3; ++i) {
    ending<tensor_of<of<float, 4>>> e;
    starts.start(x, e.done());
    EXPECT_TRUE(same_bits(e.wait().value(), runs.run(x)));
  }
}

TEST(started_step, in_which_a_kernel_begins_to_wait_when_it_has_failed_ends) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y = exp(x);  // what is ready by it is for both threads
  auto const early = record<test::early_op>(y), bad = record<test::failing_op>(y), late = record<test::late_op>(y);
  session s(g, {.threads = 2, .execution = execution::parallel});
  using all = std::tuple<tensor_of<of<float>>, tensor_of<of<float>>, tensor_of<of<float>>>;
  for (int i = 0; i < 20; ++i) {
    test::late_wait::reset();
    ending<all> failed;
    s.start({{x, 1.f}}, early, bad, late, soon, failed.done());
    EXPECT_NE(error_text(failed).find("it fails"), std::string::npos) << error_text(failed);
    std::stop_source stop;
    test::late_wait::reset([&](auto const&) { stop.request_stop(); });
    ending<all> stopped;
    s.start({{x, 1.f}}, early, bad, late, stop.get_token(), stopped.done());
    EXPECT_NE(error_text(stopped).find("it fails"), std::string::npos) << error_text(stopped);
  }
}

TEST(started_step, in_which_a_kernel_begins_to_wait_when_it_is_to_end_ends) {
  in_every_execution([](session_options const& options) {
    graph g;
    auto const x = placeholder<float>(g, "x");
    auto const one = record<test::ended_op>(x), two = record<test::ended_op>(x);
    session s(g, options);
    using both = std::tuple<tensor_of<of<float>>, tensor_of<of<float>>>;
    for (int i = 0; i < 10; ++i) {
      test::late_wait::reset();
      std::stop_source stop;
      ending<both> stopped, late;
      s.start({{x, 1.f}}, one, two, stop.get_token(), stopped.done());
      test::late_wait::wait_for(test::late_wait::late_runs);
      stop.request_stop();
      EXPECT_NE(error_text(stopped).find("cancelled"), std::string::npos) << error_text(stopped);
      s.start({{x, 1.f}}, one, two, timeout{2ms}, late.done());
      EXPECT_NE(error_text(late).find("past its deadline"), std::string::npos) << error_text(late);
    }
  });
}

TEST(started_step, of_many_that_fail_beside_a_wait_all_end) {
  test::allow(300);
  graph g;
  auto const q = fifo_queue<of<float>>(g);
  auto const x = placeholder<float, 8, 8>(g, "x");
  auto const taken = dequeue(q);
  auto const bad = check(sum(matmul(x, x)) < 0.f, "it must be negative");
  auto const fed = tensor::adopt(std::vector<float>(64, 1.f), {8, 8});
  session s(g, {.threads = 2, .execution = execution::parallel});
  for (int i = 0; i < test::many_steps; ++i) {
    ending<tensor_of<of<float>>> e;
    s.start({{value(x), fed}}, taken, bad, soon, e.done());
    ASSERT_NE(error_text(e).find("it must be negative"), std::string::npos) << error_text(e);
  }
  EXPECT_EQ(q.in(s.state())->waiting(), 0u);
}

TEST(started_step, of_many_at_random_loses_and_doubles_nothing) {
  in_every_execution([](session_options const& options) {
    constexpr int n = 300;
    graph g;
    auto const q = fifo_queue<of<std::int64_t>>(g, {.capacity = 5});
    auto const x = placeholder<std::int64_t>(g, "x");
    auto const put = q.enqueue(x);
    auto const taken = dequeue(q);
    std::mutex mutex;
    std::set<std::int64_t> certain;
    std::multiset<std::int64_t> out;
    {
      session s(g, options);
      std::vector<std::thread> threads;
      for (unsigned t = 0; t < 2; ++t)
        threads.emplace_back([&, t] {
          std::mt19937 random(t);
          auto give = s.prepare(inputs(x), outputs(), put);
          for (int k = 0; k < n; ++k) {
            auto const number = static_cast<std::int64_t>(t) * n + k;
            give.start(number, [&, number](auto const& r) {
              std::lock_guard lock(mutex);
              if (r) certain.insert(number);
            });
            std::stop_source stop;
            timeout const limit{random() % 4 == 0 ? std::chrono::microseconds(random() % 300) : 60s};
            s.start(taken, stop.get_token(), limit, [&](auto const& r) {
              std::lock_guard lock(mutex);
              if (r) out.insert(std::int64_t(*r));
            });
            if (random() % 4 == 0) stop.request_stop();
          }
        });
      for (auto& t : threads) t.join();
      s.run(q.close(true), timeout{60s});
      for (;;) try {
          auto const last = std::int64_t(s.run(taken));
          std::lock_guard lock(mutex);
          out.insert(last);
        } catch (error const& e) {
          EXPECT_EQ(e.code(), code::out_of_range);
          break;
        }
    }
    std::set<std::int64_t> const once(out.begin(), out.end());
    EXPECT_EQ(once.size(), out.size());
    EXPECT_TRUE(std::includes(once.begin(), once.end(), certain.begin(), certain.end()));
  });
}

TEST(started_step, needs_one_thread_at_least) {
  graph g;
  session s(g, {.threads = 1});
  bool called = false;
  {
    no_threads const guard;
    EXPECT_EQ(refusal([&] { s.start(constant(g, 1.f), [&](auto const&) { called = true; }); }),
              code::resource_exhausted);
  }
  EXPECT_FALSE(called);
  ending<tensor_of<of<float>>> e;
  s.start(constant(g, 1.f), e.done());
  EXPECT_EQ(float(e.wait().value()), 1.f);
}

TEST(started_step, of_the_parent_is_not_there_in_a_child_process) {
  if (!children_start_threads) GTEST_SKIP() << "the thread sanitizer starts no threads in a child process";
  graph g;
  auto const q = fifo_queue<of<float>>(g);
  auto const taken = dequeue(q);
  std::optional<session> s(std::in_place, g);
  ending<tensor_of<of<float>>> parents;
  s->start(taken, parents.done());
  while (q.in(s->state())->waiting() != 1) std::this_thread::yield();
  EXPECT_TRUE(holds_in_a_child([&] {
    ending<tensor_of<of<float>>> childs;
    s->start(constant(g, 2.f), childs.done());
    bool const right = float(childs.wait().value()) == 2.f;
    s.reset();
    return right;
  }));
  s->run(q.enqueue(constant(g, 3.f)));
  EXPECT_EQ(float(parents.wait().value()), 3.f);
}

TEST(started_step_death, a_function_that_throws_ends_the_program) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        graph g;
        session s(g);
        s.start(constant(g, 1.f), [](auto const&) { throw 1; });
        std::this_thread::sleep_for(60s);
      },
      "");
}

}  // namespace
}  // namespace rill
