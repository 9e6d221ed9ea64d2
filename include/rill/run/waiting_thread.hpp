// A thread that waits with a kernel: where the straight gear meets a queue.
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "rill/device/continuation.hpp"
#include "rill/device/step.hpp"

namespace rill {

/// Sleeps until the kernel resumes; asks it to give up when the step is to end.
class waiting_thread final : public continuation {
 public:
  explicit waiting_thread(step_context const& step) : step_(step) {}

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
    if (resumed()) {
      // at once: nobody has to be told
    } else if (step_.stop) {
      cancellation::listener const ear(*step_.stop, [this] { end(step_cancelled()); });
      sleep();
    } else {
      sleep();
    }
    if (failure_) throw error(*failure_);
  }

 private:
  bool resumed() {
    std::lock_guard lock(mutex_);
    return resumed_;
  }
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
  void end(error why) { give_up_(std::make_shared<error const>(std::move(why))); }

  step_context const& step_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool resumed_ = false;
  failure failure_;
  std::vector<std::function<void()>> offers_;
};

}  // namespace rill
