// A thread that waits with a kernel: where sequential execution meets a queue.
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

#include "rill/device/continuation.hpp"
#include "rill/device/step.hpp"

namespace rill {

/// Sleeps until a kernel that was suspended resumes; asks it to give up when the step is to end.
class waiting_thread final : public suspendable, public continuation {
 public:
  explicit waiting_thread(step_context const& step) : step_(step) {}

  continuation& suspend() override {
    suspended_ = true;
    return *this;
  }
  bool sleeps() const override { return true; }

  void resume(failure why) noexcept override {
    std::lock_guard lock(mutex_);
    failure_ = std::move(why);
    resumed_ = true;
    wake_.notify_all();  // under the lock: this is gone as soon as it has woken
  }

  void offer(std::function<void()> f) override {
    std::lock_guard lock(mutex_);
    offers_.push_back(std::move(f));
    wake_.notify_all();
  }

  /// Throws the kernel's failure.
  void wait() {
    if (!suspended_) return;
    {
      std::stop_callback const wakes(step_.stop, [this] { end(step_cancelled()); });
      sleep();
    }
    if (failure_) throw error(*failure_);
  }

 private:
  void sleep() {
    std::unique_lock lock(mutex_);
    for (bool told = false; !resumed_;) {
      auto const something = [&] { return resumed_ || !offers_.empty(); };
      if (told || !step_.deadline) wake_.wait(lock, something);
      else if (!wake_.wait_until(lock, *step_.deadline, something)) {
        told = true;
        lock.unlock();
        end(step_too_late());
        lock.lock();
      }
      for (auto& each : std::exchange(offers_, {})) {
        lock.unlock();
        each();
        lock.lock();
      }
    }
  }
  void end(error why) { (*give_up_)(as_failure(std::move(why))); }

  step_context const& step_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool suspended_ = false, resumed_ = false;
  failure failure_;
  std::vector<std::function<void()>> offers_;
};

}  // namespace rill
