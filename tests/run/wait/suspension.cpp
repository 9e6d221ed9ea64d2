#include "rill/run/wait/suspension.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace rill {
namespace {

// A kernel that leaves a request, of which one is served: by its server, or because it was asked to give up.
struct kernel_request_left {
  std::atomic<bool> served = false;
  std::atomic<int> asked = 0;
};

// A step with one kernel that waits. It counts who goes on.
struct waiting_step {
  struct wait final : suspension {
    explicit wait(waiting_step& s) : step(s) {}
    void continue_step() noexcept override { step.gone_on_by_resumer(); }
    waiting_step& step;
  };
  std::shared_ptr<kernel_request_left> left = std::make_shared<kernel_request_left>();
  std::optional<wait> here{std::in_place, *this};
  std::atomic<int> by_caller = 0, by_resumer = 0;
  std::atomic<bool> in_call = true;
  std::string heard;  // written by who goes on, once: the thread sanitizer sees it if it is twice

  // What the kernel does within its call.
  void suspend() {
    here->on_give_up([this, r = left](failure why) {
      EXPECT_FALSE(in_call) << "it was asked within its call";
      ++r->asked;
      serve(std::move(why));
    });
  }
  void serve(failure why) {
    if (!left->served.exchange(true)) here->resume(std::move(why));
  }
  void call_returns() {
    in_call = false;
    if (here->returned()) return;
    ++by_caller;
    hear();
  }
  void give_up(char const* reason) { here->give_up(failed(code::cancelled, reason))(); }
  void gone_on_by_resumer() {
    ++by_resumer;
    hear();
  }
  void hear() { heard += here->cause() ? here->cause()->message() : "served"; }

  void expect_that_one_went_on() const {
    EXPECT_EQ(by_caller + by_resumer, 1);
    EXPECT_LE(left->asked, 1);
  }
};

enum class event { returns, served, first, second };

void happens(waiting_step& step, event e) {
  switch (e) {
    case event::returns:
      return step.call_returns();
    case event::served:
      return step.serve(nullptr);
    case event::first:
      return step.give_up("first");
    case event::second:
      return step.give_up("second");
  }
}

TEST(suspension, goes_on_once_in_whatever_order_things_happen) {
  std::array all{event::returns, event::served, event::first, event::second};
  int orders = 0;
  do {
    SCOPED_TRACE("order " + std::to_string(orders++));
    waiting_step step;
    step.suspend();
    std::vector<event> before;
    for (auto e : all) {
      happens(step, e);
      before.push_back(e);
      auto const seen = [&](event x) { return std::find(before.begin(), before.end(), x) != before.end(); };
      bool const over = seen(event::returns) && (seen(event::served) || seen(event::first) || seen(event::second));
      EXPECT_EQ(step.by_caller + step.by_resumer, over);
    }
    step.expect_that_one_went_on();
    auto const at = [&](event x) { return std::find(all.begin(), all.end(), x); };
    auto const reason = at(event::first) < at(event::second) ? event::first : event::second;
    // It was asked when its call had returned, or when the reason came after that, unless it was served by then.
    bool const asked = std::max(at(event::returns), at(reason)) < at(event::served);
    EXPECT_EQ(step.left->asked, asked);
    EXPECT_EQ(step.heard, !asked ? "served" : reason == event::first ? "first" : "second");
    EXPECT_EQ(step.by_caller, at(event::served) < at(event::returns));
  } while (std::next_permutation(all.begin(), all.end()));
  EXPECT_EQ(orders, 24);
}

TEST(suspension, asks_nobody_when_the_kernel_has_not_said_how) {
  waiting_step step;
  EXPECT_FALSE(step.here->give_up(failed(code::cancelled, "why")));
  step.call_returns();
  EXPECT_EQ(step.by_caller + step.by_resumer, 0);
  step.serve(nullptr);
  EXPECT_EQ(step.heard, "served");
}

TEST(suspension, keeps_what_the_kernel_failed_with) {
  waiting_step step;
  step.suspend();
  step.serve(failed(code::data_loss, "damaged"));
  step.call_returns();
  EXPECT_EQ(step.heard, "damaged");
  EXPECT_EQ(step.by_caller, 1);
}

// Four threads, one for each event, begin at once; some are held up a little, so that every order comes up.
TEST(suspension, goes_on_once_when_threads_meet_at_it) {
  constexpr int rounds = 2000;
  std::vector<std::unique_ptr<waiting_step>> steps;
  for (int i = 0; i < rounds; ++i) {
    steps.push_back(std::make_unique<waiting_step>());
    steps.back()->suspend();
  }
  std::atomic<int> round = -1, ready = 0;
  std::vector<std::thread> threads;
  for (auto e : {event::returns, event::served, event::first, event::second})
    threads.emplace_back([&, e] {
      unsigned random = static_cast<unsigned>(e) * 7919 + 1;
      for (int r = 0; r < rounds; ++r) {
        ++ready;
        while (round < r) std::this_thread::yield();
        random = random * 1664525 + 1013904223;
        for (unsigned spin = random >> 25; spin > 0; --spin) std::atomic_signal_fence(std::memory_order_seq_cst);
        happens(*steps[static_cast<std::size_t>(r)], e);
      }
    });
  for (int r = 0; r < rounds; ++r) {
    while (ready < 4 * (r + 1)) std::this_thread::yield();
    round = r;
  }
  for (auto& t : threads) t.join();
  for (auto const& step : steps) {
    step->expect_that_one_went_on();
    EXPECT_TRUE(step->heard == "served" || step->heard == "first" || step->heard == "second") << step->heard;
  }
}

// Who goes on destroys it at once: nobody else may touch it after that.
TEST(suspension, may_be_destroyed_by_who_goes_on) {
  struct wait final : suspension {
    explicit wait(std::atomic<int>& n) : gone(n) {}
    ~wait() override { ++gone; }
    void continue_step() noexcept override { delete this; }
    std::atomic<int>& gone;
  };
  constexpr int rounds = 2000;
  std::atomic<int> gone = 0;
  for (int r = 0; r < rounds; ++r) {
    auto* const here = new wait(gone);
    here->on_give_up([](failure) {});
    if (r % 3 == 0) (void)here->give_up(failed(code::cancelled, "why"));  // the owner keeps it alive meanwhile
    std::thread resumer([here] { here->resume(nullptr); });
    if (!here->returned()) delete here;
    resumer.join();
    ASSERT_EQ(gone, r + 1);
  }
}

}  // namespace
}  // namespace rill
