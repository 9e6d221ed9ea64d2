#include "rill/cuda/kernel_stream.hpp"

#include <chrono>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "emulated.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

// How many launches the driver has taken.
unsigned long long launches() { return RILL_EMULATED(rill_emulated_launches)(); }
// Waits until the driver has taken so many launches more than before.
void wait_for_launches(unsigned long long before, unsigned long long n) {
  while (launches() < before + n) std::this_thread::yield();
}

// Launches a kernel, and keeps what became of it.
struct launching_work final : stream_work {
  gpu_device const& on;
  std::shared_ptr<gpu_device::function const> kernel;
  std::vector<int>& ended;
  std::mutex& mutex;
  int number;
  bool throws = false;
  std::promise<failure> end;

  launching_work(gpu_device const& device, std::vector<int>& list, std::mutex& m, int n)
      : on(device),
        kernel(device.find("extern \"C\" __global__ void nothing() {}\n", "nothing")),
        ended(list),
        mutex(m),
        number(n) {}
  void run() override {
    on.launch(*kernel, {1, 32}, nullptr);
    if (throws) throw error(code::out_of_range, "after its launch");
  }
  void done(failure why) noexcept override {
    {
      std::lock_guard const lock(mutex);
      ended.push_back(number);
    }
    end.set_value(std::move(why));
  }
};

struct kernel_streams : test::on_gpu {
  std::shared_ptr<gpu_device> on = gpu(0);
  std::vector<int> ended;
  std::mutex mutex;

  std::vector<std::unique_ptr<launching_work>> works(int n) {
    std::vector<std::unique_ptr<launching_work>> all;
    for (int i = 0; i < n; ++i) all.push_back(std::make_unique<launching_work>(*on, ended, mutex, i));
    return all;
  }
  std::vector<int> ended_so_far() {
    std::lock_guard const lock(mutex);
    return ended;
  }
  void TearDown() override {
    if (!test::on_own_gpu()) RILL_EMULATED(rill_emulated_release_launches)();
    on.reset();
    on_gpu::TearDown();
  }
};
using held_kernel_streams = test::only_emulated<kernel_streams>;

TEST_F(kernel_streams, end_work_in_its_order_and_hand_over_what_it_throws) {
  auto const all = works(20);
  all[7]->throws = true;
  for (auto const& w : all) on->compute().submit(*w);
  std::vector<int> in_order;
  for (auto const& w : all) {
    auto const why = w->end.get_future().get();
    EXPECT_EQ(why != nullptr, w->number == 7);
    in_order.push_back(w->number);
  }
  EXPECT_EQ(ended_so_far(), in_order);
}

TEST_F(held_kernel_streams, launch_the_next_work_while_the_kernels_of_the_last_run) {
  auto const all = works(3);
  auto const before = launches();
  RILL_EMULATED(rill_emulated_hold_launch)(1);
  for (auto const& w : all) on->compute().submit(*w);
  wait_for_launches(before, 3);
  EXPECT_EQ(ended_so_far(), std::vector<int>{});
  RILL_EMULATED(rill_emulated_release_launches)();
  for (auto const& w : all) EXPECT_EQ(w->end.get_future().get(), nullptr);
  EXPECT_EQ(ended_so_far(), (std::vector<int>{0, 1, 2}));
}

TEST_F(held_kernel_streams, give_back_work_that_has_not_begun) {
  auto const all = works(7);
  auto const before = launches();
  RILL_EMULATED(rill_emulated_hold_launch)(1);
  for (auto const& w : all) on->compute().submit(*w);
  wait_for_launches(before, 4);  // more work than that waits
  EXPECT_TRUE(on->compute().withdraw(*all[6]));
  EXPECT_TRUE(on->compute().withdraw(*all[4]));
  EXPECT_FALSE(on->compute().withdraw(*all[4]));
  EXPECT_FALSE(on->compute().withdraw(*all[0]));
  RILL_EMULATED(rill_emulated_release_launches)();
  for (int const i : {0, 1, 2, 3, 5}) EXPECT_EQ(all[static_cast<std::size_t>(i)]->end.get_future().get(), nullptr);
  EXPECT_EQ(ended_so_far(), (std::vector<int>{0, 1, 2, 3, 5}));
}

TEST_F(held_kernel_streams, hand_over_what_work_throws_when_its_kernels_have_ended) {
  auto const all = works(2);
  auto const before = launches();
  all[0]->throws = true;
  RILL_EMULATED(rill_emulated_hold_launch)(1);
  for (auto const& w : all) on->compute().submit(*w);
  wait_for_launches(before, 2);
  EXPECT_EQ(ended_so_far(), std::vector<int>{});
  RILL_EMULATED(rill_emulated_release_launches)();
  auto const why = all[0]->end.get_future().get();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), code::out_of_range);
  EXPECT_EQ(all[1]->end.get_future().get(), nullptr);
}

TEST_F(held_kernel_streams, fail_all_work_from_a_kernel_on_that_fails) {
  auto const all = works(3);
  RILL_EMULATED(rill_emulated_fail_launch)(2);
  for (auto const& w : all) {
    on->compute().submit(*w);
    auto const why = w->end.get_future().get();
    EXPECT_EQ(why != nullptr, w->number > 0);
    if (why) {
      EXPECT_EQ(why->code(), code::unavailable) << why->what();
    }
  }
}

// A session whose variables lie on the GPU, and steps that update them.
struct updates_on_gpu : kernel_streams {
  graph g;
  variable_expr<of<float, 3>> w = g.on("gpu:0", [&] { return variable<float, 3>(g, "w", zeros()); });
  variable_expr<of<float, 3>> v = g.on("gpu:0", [&] { return variable<float, 3>(g, "v", zeros()); });
  std::shared_ptr<container> state = std::make_shared<container>();

  session_options options() const { return {.threads = 1, .state = state, .devices = {on}}; }
  static float first_of(tensor const& t) { return t.to(host).at<float>(0); }
  void TearDown() override {
    state.reset();
    kernel_streams::TearDown();
  }
};
using held_updates = test::only_emulated<updates_on_gpu>;

TEST_F(held_updates, are_waited_for_by_whoever_reads_the_variable) {
  auto const add = assign_add(w, constant<float, 3>(g, {1, 1, 1}));
  session s{g, options()};
  s.run(initializer(g));
  s.run(add);
  auto const launched = launches();
  RILL_EMULATED(rill_emulated_hold_launch)(1);
  auto step = std::async(std::launch::async, [&] { s.run(add); });
  wait_for_launches(launched, 1);
  auto read = std::async(std::launch::async, [&] { return first_of(state->find_variable("w")->read()); });
  // The launch is held, so that this is no race: a read that doesn't wait is over much earlier.
  EXPECT_EQ(read.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  RILL_EMULATED(rill_emulated_release_launches)();
  EXPECT_EQ(read.get(), 2);
  step.get();
}

TEST_F(held_updates, are_launched_without_a_wait_for_those_before) {
  auto const first = assign_add(w, constant<float, 3>(g, {1, 1, 1})),
             second = assign_sub(v, constant<float, 3>(g, {4, 5, 6}));
  session s{g, options()};
  s.run(initializer(g));
  s.run(first, second);
  auto const launched = launches();
  RILL_EMULATED(rill_emulated_hold_launch)(1);
  auto step = std::async(std::launch::async, [&] { s.run(first, second); });
  wait_for_launches(launched, 2);
  RILL_EMULATED(rill_emulated_release_launches)();
  step.get();
  EXPECT_EQ(first_of(s.run(w)), 2);
  EXPECT_EQ(first_of(s.run(v)), -8);
}

TEST_F(updates_on_gpu, of_two_sessions_are_all_made_and_none_is_seen_half) {
  auto const all = g.hogwild([&] {
    auto const ones = constant<float, 3>(g, {1, 1, 1});
    return std::pair(assign_add(w, ones), assign_sub(v, ones));
  });
  auto const [up, down] = all;
  session a{g, options()}, b{g, options()};
  a.run(initializer(g));
  constexpr int times = 30;
  auto const train = [&](session& s) {
    for (int i = 0; i < times; ++i) s.run(up, down);
  };
  auto const look = [&] {
    for (int i = 0; i < times; ++i) {
      auto const t = state->find_variable("w")->read().to(host);
      if (t.at<float>(0) != t.at<float>(2)) return false;
    }
    return true;
  };
  auto first = std::async(std::launch::async, train, std::ref(a)),
       second = std::async(std::launch::async, train, std::ref(b));
  EXPECT_TRUE(look());
  first.get(), second.get();
  EXPECT_EQ(first_of(a.run(w)), 2 * times);
  EXPECT_EQ(first_of(b.run(v)), -2 * times);
}

TEST_F(updates_on_gpu, keep_a_snapshot_that_another_reads) {
  auto const add = assign_add(w, constant<float, 3>(g, {1, 1, 1}));
  session s{g, options()};
  s.run(initializer(g));
  tensor const before_update = state->find_variable("w")->read();
  s.run(add);
  s.run(add);
  EXPECT_EQ(first_of(before_update), 0);
  EXPECT_EQ(first_of(state->find_variable("w")->read()), 2);
}

}  // namespace
}  // namespace rill
