// Walks over the host and devices: who goes on with a step when a device is done.
#include "rill/run/parallel_walk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/limit.hpp"
#include "rill/rill.hpp"
#include "run/wait/late_wait.hpp"
#include "run/wait/many_steps.hpp"

namespace rill {
namespace {

// A stream that counts what is submitted to it.
class counted_stream final : public stream {
 public:
  void submit(stream_work& work) override {
    inner_.submit(work);
    std::lock_guard const lock(mutex_);
    ++submitted_;
    more_.notify_all();
  }
  bool withdraw(stream_work& work) override { return inner_.withdraw(work); }
  // Waits until n pieces of work were submitted; returns false if they do not come.
  bool wait_for_submitted(int n) {
    std::unique_lock lock(mutex_);
    return more_.wait_for(lock, std::chrono::seconds(60), [&] { return submitted_ >= n; });
  }
  std::thread::id own_thread() {
    struct question final : stream_work {
      void run() override { id = std::this_thread::get_id(); }
      void done(failure) noexcept override { asked.set_value(); }
      std::thread::id id;
      std::promise<void> asked;
    } ask;
    inner_.submit(ask);
    ask.asked.get_future().wait();
    return ask.id;
  }

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  int submitted_ = 0;
  thread_stream inner_;
};

class counted_device final : public device {
 public:
  explicit counted_device(std::string name) : name_(std::move(name)) {}
  std::string const& name() const noexcept override { return name_; }
  allocator& memory() noexcept override { return memory_; }
  counted_stream& compute() noexcept override { return stream_; }

 private:
  std::string name_;
  host_memory memory_;
  counted_stream stream_;
};

// Adds 1 n times, by turns on two devices.
template <class X> X by_turns(graph& g, X x, int n) {
  for (int i = 0; i < n; ++i) x = g.on("/device:accelerator:" + std::to_string(i % 2), [&] { return x + 1.f; });
  return x;
}

// Holds the thread that runs it until `hold` returns.
struct holding_op {
  static constexpr std::string_view name = "holding";
  static constexpr std::int8_t arity = 1;
  static constexpr rill::type infer(no_attributes, rill::type const& x, checks = {}) { return x; }
  static cost work(no_attributes, std::span<rill::type const>, std::span<rill::type const>) { return {0, 0}; }
  static kernel cpu(kernel_request const&) {
    return kernel([](kernel_call const& call) {
      hold();
      std::copy_n(call.in<float>(0), 4, call.out<float>(0));
    });
  }
  static inline std::function<void()> hold;
};

TEST(parallel_walk, devices_hand_over_to_each_other_while_the_steps_only_thread_is_held) {
  auto const one = std::make_shared<counted_device>("accelerator:0"),
             two = std::make_shared<counted_device>("accelerator:1");
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  auto const y = by_turns(g, x, 20);
  auto const held = record<holding_op>(x);
  session s{g, {.threads = 1, .passes = pass_options::none(), .execution = execution::parallel, .devices = {one, two}}};
  bool came = false;
  holding_op::hold = [&] { came = two->compute().wait_for_submitted(10); };
  auto const [sum, same] = s.run({{x, vector<float>({1, 2, 3, 4})}}, y + 0.f, held);
  EXPECT_TRUE(came);
  EXPECT_EQ(sum.template at<float>(0), 21);
  EXPECT_EQ(same.template at<float>(3), 4);
}

constexpr timeout soon{std::chrono::seconds(60)};

code code_of(std::function<void()> const& step) {
  try {
    step();
  } catch (error const& e) {
    return e.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return code::internal;
}

// A step of three nodes: one waits, one fails, and one begins to wait when the step has failed.
struct failing_step {
  graph g;
  expr<of<float>> x = placeholder<float>(g, "x"), early = record<test::early_op>(x), bad = record<test::failing_op>(x),
                  late = record<test::late_op>(x);
  session s{g, {.threads = 2, .execution = execution::parallel}};
};

TEST(parallel_walk, a_kernel_that_begins_to_wait_when_the_step_has_failed_is_told) {
  failing_step t;
  for (int i = 0; i < 20; ++i) {
    test::late_wait::reset();
    EXPECT_EQ(code_of([&] { t.s.run({{t.x, 1.f}}, t.early, t.bad, t.late, soon); }), code::aborted);
  }
}

TEST(parallel_walk, a_kernel_that_begins_to_wait_after_a_failure_and_a_stop_or_deadline_is_told) {
  failing_step t;
  for (int i = 0; i < 20; ++i) {
    std::stop_source stop;
    test::late_wait::reset([&](auto const&) { stop.request_stop(); });
    EXPECT_EQ(code_of([&] { t.s.run({{t.x, 1.f}}, t.early, t.bad, t.late, stop.get_token()); }), code::aborted);
  }
  test::late_wait::reset([](step_context const& step) { test::late_wait::wait_for_end(step); });
  auto const c = code_of([&] { t.s.run({{t.x, 1.f}}, t.early, t.bad, t.late, timeout(std::chrono::seconds(1))); });
  EXPECT_TRUE(c == code::aborted || c == code::deadline_exceeded);  // whichever came first
}

TEST(parallel_walk, a_kernel_that_begins_to_wait_when_the_step_was_stopped_is_told) {
  failing_step t;
  for (int i = 0; i < 20; ++i) {
    test::late_wait::reset();
    std::stop_source stop;
    std::thread other([&] {
      test::late_wait::wait_for(test::late_wait::late_runs);
      stop.request_stop();
    });
    EXPECT_EQ(code_of([&] { t.s.run({{t.x, 1.f}}, t.early, t.late, stop.get_token()); }), code::cancelled);
    other.join();
  }
}

TEST(parallel_walk, a_kernel_that_begins_to_wait_past_the_deadline_is_told) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const one = record<test::ended_op>(x), two = record<test::ended_op>(x);
  for (int threads : {1, 2}) {
    session s{g, {.threads = threads, .execution = execution::parallel}};
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(code_of([&] { s.run({{x, 1.f}}, one, two, timeout(std::chrono::milliseconds(2))); }),
                code::deadline_exceeded);
  }
}

TEST(parallel_walk, steps_that_fail_beside_waits_all_end) {
  test::allow(300);
  graph g;
  auto const q = fifo_queue<of<float>>(g);
  auto const x = placeholder<float, 64, 64>(g, "x");
  auto const bad = check(sum(matmul(x, x)) < 0.f, "it must be negative");
  std::vector<value> taken;  // the one thread begins these while the other finds that the check fails
  for (int i = 0; i < 32; ++i) taken.push_back(dequeue(q));
  auto const all = add_n(taken);
  auto const fed = tensor::adopt(std::vector<float>(4096, 1.f), {64, 64});
  session s{g, {.threads = 2, .execution = execution::parallel}};
  for (int i = 0; i < test::many_steps; ++i)
    ASSERT_EQ(code_of([&] { s.run({{value(x), fed}}, all, bad, soon); }), code::failed_precondition);
  EXPECT_EQ(q.in(s.state())->waiting(), 0u);
}

TEST(parallel_walk, an_observer_is_told_of_regions_by_no_thread_of_a_device) {
  struct noting final : observer {
    void node_ran(node_record const& r) override {
      if (r.operation == "device_region") by.push_back(std::this_thread::get_id());
    }
    std::vector<std::thread::id> by;
  } seen;
  auto const one = std::make_shared<counted_device>("accelerator:0"),
             two = std::make_shared<counted_device>("accelerator:1");
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  session s{g, {.threads = 2, .passes = pass_options::none(), .devices = {one, two}}};
  s.run({{x, vector<float>({1, 2, 3, 4})}}, by_turns(g, x, 6) + 0.f, observe(seen));
  EXPECT_EQ(seen.by.size(), 6u);
  for (auto id : seen.by) {
    EXPECT_NE(id, one->compute().own_thread());
    EXPECT_NE(id, two->compute().own_thread());
  }
}

struct over_devices : testing::TestWithParam<execution> {
  std::vector<std::shared_ptr<emulated_accelerator>> devices;
  over_devices() {
    for (int i = 0; i < 3; ++i) devices.push_back(emulated("accelerator:" + std::to_string(i), {.memory = 1 << 20}));
  }
  ~over_devices() override {
    for (auto const& d : devices) EXPECT_EQ(d->memory().usage().count, 0);
  }
  session_options options() const {
    return {.threads = 2,
            .passes = pass_options::none(),
            .execution = GetParam(),
            .devices = {devices[0], devices[1], devices[2]}};
  }
};

using floats = expr<of<float, 16>>;

// Nodes that read one or two of those before them, here and there.
floats scattered(graph& g, floats const& x, int n, bool on_devices) {
  std::vector<floats> all{x};
  unsigned random = 12345;
  auto const draw = [&](std::size_t most) { return (random = random * 1664525 + 1013904223) / 65536 % most; };
  for (int i = 0; i < n; ++i) {
    auto const a = all[all.size() - 1 - draw(std::min<std::size_t>(all.size(), 8))];
    auto const b = all[all.size() - 1 - draw(std::min<std::size_t>(all.size(), 8))];
    auto const place = draw(4);
    auto const make = [&]() -> floats { return i % 3 == 0 ? a + b : i % 3 == 1 ? a - b * 0.5f : tanh(a) + b; };
    all.push_back(on_devices && place < 3 ? g.on("/device:accelerator:" + std::to_string(place), make) : make());
  }
  floats total = all[0];
  for (auto const& each : all) total = total + each;
  return total;
}

tensor sixteen() {
  std::vector<float> v;
  for (int i = 0; i < 16; ++i) v.push_back(static_cast<float>(i) / 8 - 1);
  return tensor::copy<float>(v, shape{16});
}

TEST_P(over_devices, a_step_has_the_bits_of_the_host_run_or_started) {
  auto const result = [&](bool on_devices, session_options o) {
    graph g;
    auto const x = placeholder<float, 16>(g, "x");
    auto const y = scattered(g, x, 60, on_devices);
    session s{g, o};
    std::vector<tensor> all;
    for (int i = 0; i < 5; ++i) all.push_back(s.run({{x, sixteen()}}, y));
    std::vector<std::promise<tensor>> started(5);
    for (auto& each : started) s.start({{x, sixteen()}}, y, [&](auto made) { each.set_value(*made); });
    for (auto& each : started) all.push_back(each.get_future().get());
    return all;
  };
  auto const here = result(false, {.threads = 2, .passes = pass_options::none()});
  auto const there = result(true, options());
  for (auto const& t : there) EXPECT_TRUE(same_bits(t, here[0]));
}

TEST_P(over_devices, a_failure_at_any_device_ends_the_step_and_nothing_else) {
  graph g;
  auto const x = placeholder<float, 16>(g, "x");
  auto const y = by_turns(g, by_turns(g, x, 4) * 2.f, 4);
  auto const z = scattered(g, x, 20, true) + y;
  session s{g, options()};
  auto const well = s.run({{x, sixteen()}}, z);
  int failures = 0;
  for (auto const& d : devices)
    for (auto* const each : {&d->copies_in(), &d->compute(), &d->copies_out()})
      for (std::uint64_t n = 1; n <= 12; ++n) {
        each->fail_at(n, failed(code::internal, "planned"));
        try {
          s.run({{x, sixteen()}}, z);
        } catch (error const& e) {
          EXPECT_EQ(e.message(), "planned");
          ++failures;
        }
        each->fail_at(0, nullptr);
        EXPECT_TRUE(same_bits(s.run({{x, sixteen()}}, z), well));
      }
  EXPECT_GT(failures, 30);
}

TEST_P(over_devices, a_cancelled_step_ends_wherever_it_is) {
  graph g;
  auto const x = placeholder<float, 16>(g, "x");
  auto const y = scattered(g, by_turns(g, x, 40), 20, true);
  session s{g, options()};
  auto const well = s.run({{x, sixteen()}}, y);
  for (int i = 0; i < 20; ++i) {
    std::stop_source stop;
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(60 * i));
      stop.request_stop();
    });
    try {
      EXPECT_TRUE(same_bits(s.run({{x, sixteen()}}, y, stop.get_token()), well));
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::cancelled) << e.what();
    }
    later.join();
  }
}

INSTANTIATE_TEST_SUITE_P(parallel_walk, over_devices, testing::Values(execution::automatic, execution::parallel));

}  // namespace
}  // namespace rill
