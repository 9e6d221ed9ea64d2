// Kernels that hold their thread where one within them waits, bodies of open extents and functions that call
// themselves, run on a fiber: on a stack of their own, from which the step's thread comes back while they wait.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "rill/base/fiber.hpp"
#include "rill/device/continuation.hpp"
#include "rill/device/kernel.hpp"
#include "rill/device/step.hpp"

namespace rill::detail {

/// One call of such a kernel. It keeps itself until the kernel is done.
class fiber_call final : public std::enable_shared_from_this<fiber_call> {
 public:
  fiber_call(kernel k, kernel_call const& call)
      : kernel_(std::move(k)),
        from_(call.from),
        step_(call.step),
        call_{call.pointers, call.inputs, call.outputs, call.threads, step_, call.owned},
        body_([this] { kernel_(call_); }) {
    step_.fiber = this;
    step_.stack = 0;
  }

  /// Runs it until it waits or is done.
  void run() {
    for (;;) {
      failure failed;
      bool ended = true;
      try {
        ended = body_.resume();
      } catch (error const& e) {
        if (!later_) throw;
        failed = as_failure(e);
      }
      if (ended) {
        if (later_) later_->resume(std::move(failed));  // nothing of the step is touched after it
        return;
      }
      std::lock_guard lock(mutex_);
      if (!done_) {
        parked_ = true;
        return;
      }
    }
  }

  /// A kernel within it is about to wait: by what the whole call does.
  continuation& suspend() {
    if (later_) return *later_;
    later_ = &from_->suspend();
    later_->on_give_up([self = shared_from_this()](failure why) { self->give_up(std::move(why)); });
    return *later_;
  }
  /// It waits; `give_up` asks it not to go on with that.
  void wait(continuation::asking const& give_up) {
    failure why;
    {
      std::lock_guard lock(mutex_);
      why = given_up_;
      give_up_ = give_up;
    }
    if (why && give_up) (*give_up)(std::move(why));
    std::unique_lock lock(mutex_);
    while (!done_) {
      lock.unlock();
      body_.suspend();
      lock.lock();
    }
    done_ = false;
    give_up_ = nullptr;
    if (cause_) throw error(*std::exchange(cause_, nullptr));
  }
  /// It has been served, or not, and why.
  void resume(failure why) noexcept {
    bool parked = false;
    {
      std::lock_guard lock(mutex_);
      cause_ = std::move(why);
      done_ = true;
      std::swap(parked, parked_);
    }
    if (!parked) return;
    try {
      later_->offer([self = shared_from_this()] { self->run(); });
    } catch (...) {  // there is no memory to offer it: this thread goes on with it
      run();
    }
  }

 private:
  void give_up(failure why) {
    continuation::asking ask;
    {
      std::lock_guard lock(mutex_);
      if (std::exchange(given_up_, why)) return;
      ask = give_up_;
    }
    if (ask) (*ask)(std::move(why));
  }

  kernel kernel_;
  suspendable* from_;
  step_context step_;
  kernel_call call_;
  fiber body_;
  continuation* later_ = nullptr;  // none: nothing has waited yet
  std::mutex mutex_;
  bool parked_ = false, done_ = false;  // it is suspended; what it waited for has come
  failure cause_, given_up_;
  continuation::asking give_up_;  // of what it waits for
};

/// A kernel that may wait, called within one that runs on a fiber.
class fiber_suspendable final : public suspendable, public continuation {
 public:
  explicit fiber_suspendable(step_context const& step) : all_(*step.fiber) {}

  continuation& suspend() override {
    outer_ = &all_.suspend();
    return *this;
  }
  void resume(failure why) noexcept override { all_.resume(std::move(why)); }
  void offer(std::function<void()> f) override { outer_->offer(std::move(f)); }
  /// Throws the kernel's failure.
  void wait() {
    if (outer_) all_.wait(give_up_);
  }

 private:
  fiber_call& all_;
  continuation* outer_ = nullptr;
};

/// The same kernel, on a fiber.
inline kernel on_fiber(kernel k) {
  auto const call_it = [k](kernel_call const& call) {
    if (call.from->sleeps()) k(call);
    else std::make_shared<fiber_call>(k, call)->run();
  };
  kernel made(call_it, k.scratch());
  made.waits = true;
  made.allocates_outputs = k.allocates_outputs;
  made.input_output_aliases = std::move(k.input_output_aliases);
  made.updates_in_place = std::move(k.updates_in_place);
  return made;
}

}  // namespace rill::detail
