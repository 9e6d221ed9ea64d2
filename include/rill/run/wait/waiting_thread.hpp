// Lets a thread sleep while a kernel waits: sequential execution of a kernel that may wait.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

#include "rill/device/step.hpp"
#include "rill/run/wait/suspension.hpp"

namespace rill {

/// Sleeps until a suspended kernel is done. Asks it to give up when the step is cancelled or late.
class waiting_thread final : public suspendable, public suspension {
 public:
  explicit waiting_thread(step_context const& step) : step_(step) {}

  continuation& suspend() override {
    suspended_ = true;
    return *this;
  }
  bool sleeps() const override { return true; }

  void offer(std::function<void()> f) override {
    std::lock_guard lock(mutex_);
    offers_.push_back(std::move(f));
    wake_.notify_all();
  }

  /// Waits if the kernel was suspended, and throws its error.
  void wait() {
    if (!suspended_) return;
    if (returned()) {
      std::stop_callback const cancels(step_.stop, [this] { give_up(as_failure(step_cancelled()))(); });
      sleep();
    }
    if (cause()) throw error(*cause());
  }

 private:
  void continue_step() noexcept override {
    std::lock_guard lock(mutex_);
    awake_ = true;
    wake_.notify_all();  // under the lock, because the waiting thread destroys this object when it wakes
  }
  void sleep() {
    std::unique_lock lock(mutex_);
    for (bool is_late = false; !awake_;) {
      auto const something = [&] { return awake_ || !offers_.empty(); };
      if (is_late || !step_.deadline) wake_.wait(lock, something);
      else if (!wake_.wait_until(lock, *step_.deadline, something)) {
        is_late = true;
        lock.unlock();
        give_up(as_failure(step_too_late()))();
        lock.lock();
      }
      for (auto& each : std::exchange(offers_, {})) {
        lock.unlock();
        each();
        lock.lock();
      }
    }
  }

  step_context const& step_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool suspended_ = false, awake_ = false;
  std::vector<std::function<void()>> offers_;
};

}  // namespace rill
