// Kernels that wait when their step ends: one that begins to wait when it has failed already, which has to be told, or
// the step never ends; and one that is done when it is asked to give up, whose step has its results.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <rill/rill.hpp>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

namespace rill::test {

/// What the kernels below wait for: how far the step has come.
class late_wait {
 public:
  enum stage { begun, early_waits, late_runs, failed };

  /// Begins anew; `f` is called just before the late kernel begins to wait.
  static void reset(std::function<void(step_context const&)> f = {}) {
    before = std::move(f);
    reach(begun);
  }
  static void reach(stage s) {
    std::lock_guard lock(mutex);
    now = s;
    changed.notify_all();
  }
  static bool wait_for(stage s) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(30), [&] { return now >= s; });
  }
  /// Returns when the step has been stopped, or its time is over.
  static void wait_for_end(step_context const& step) {
    auto const ends = [&] {
      return step.stop.stop_requested() || (step.deadline && std::chrono::steady_clock::now() > *step.deadline);
    };
    while (!ends()) std::this_thread::yield();
  }
  static void before_it_waits(step_context const& step) {
    if (before) before(step);
  }

 private:
  static inline std::mutex mutex;
  static inline std::condition_variable changed;
  static inline stage now = begun;
  static inline std::function<void(step_context const&)> before;
};

struct late_wait_rules {
  static constexpr std::int8_t arity = 1;
  static constexpr type infer(no_attributes, type const& x) { return x; }
  static cost work(no_attributes, std::span<type const>, std::span<type const>) { return {1e6, 0}; }
};
/// Waits; that it is asked to give up says that the step has failed.
struct early_op : late_wait_rules {
  static constexpr bool waits = true;
  static constexpr std::string_view name = "early";
  static kernel cpu(kernel_request const&) {
    return detail::waiting(kernel([](kernel_call const& call) {
                             auto& later = call.from->suspend();
                             later.on_give_up([&later](failure why) {
                               late_wait::reach(late_wait::failed);
                               later.resume(std::move(why));
                             });
                             late_wait::reach(late_wait::early_waits);
                           }),
                           false);
  }
};
/// Begins to wait when the step has failed.
struct late_op : late_wait_rules {
  static constexpr bool waits = true;
  static constexpr std::string_view name = "late";
  static kernel cpu(kernel_request const&) {
    return detail::waiting(kernel([](kernel_call const& call) {
                             late_wait::wait_for(late_wait::early_waits);
                             late_wait::reach(late_wait::late_runs);
                             if (!late_wait::wait_for(late_wait::failed)) throw error(code::internal, "nothing failed");
                             late_wait::before_it_waits(call.step);
                             auto& later = call.from->suspend();
                             later.on_give_up([&later](failure why) { later.resume(std::move(why)); });
                           }),
                           false);
  }
};
/// Fails while the one waits and the other runs. It takes long, so other threads work beside it.
struct failing_op : late_wait_rules {
  static constexpr std::string_view name = "failing";
  static kernel cpu(kernel_request const&) {
    return kernel([](kernel_call const&) {
      late_wait::wait_for(late_wait::late_runs);
      throw error(code::aborted, "it fails");
    });
  }
};
/// Begins to wait when its step has been stopped, or its time is over. It needs none of the others.
struct ended_op : late_wait_rules {
  static constexpr bool waits = true;
  static constexpr std::string_view name = "ended";
  static kernel cpu(kernel_request const&) {
    return detail::waiting(kernel([](kernel_call const& call) {
                             late_wait::reach(late_wait::late_runs);
                             late_wait::wait_for_end(call.step);
                             auto& later = call.from->suspend();
                             later.on_give_up([&later](failure why) { later.resume(std::move(why)); });
                           }),
                           false);
  }
};
/// Waits, and is done at the moment at which it is asked to give up.
struct done_op : late_wait_rules {
  static constexpr bool waits = true;
  static constexpr std::string_view name = "done";
  static kernel cpu(kernel_request const&) {
    return detail::waiting(kernel([](kernel_call const& call) {
                             auto& later = call.from->suspend();
                             later.on_give_up([&later](failure const&) { later.resume(nullptr); });
                             late_wait::reach(late_wait::early_waits);
                           }),
                           false);
  }
};

}  // namespace rill::test
