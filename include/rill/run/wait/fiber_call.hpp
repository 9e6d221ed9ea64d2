// Some kernels, bodies of open extents and recursive functions, would hold their thread while a kernel within them
// waits. They run on a fiber: a stack of its own, which the step's thread leaves during the wait.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "rill/base/fiber.hpp"
#include "rill/device/kernel.hpp"
#include "rill/device/step.hpp"
#include "rill/run/wait/suspension.hpp"

namespace rill::detail {

class fiber_wait;

/// One call of a kernel on a fiber. It keeps itself alive until the kernel is done.
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

  /// Runs the fiber until a kernel within it waits, or the call is done.
  void run();

  /// Suspends the whole call when a kernel within the fiber is about to wait for the first time.
  continuation& suspend() {
    if (later_) return *later_;
    later_ = &from_->suspend();
    later_->on_give_up([self = shared_from_this()](failure why) { self->give_up(std::move(why)); });
    return *later_;
  }
  /// Leaves the fiber until the kernel that waits is done. Called on the fiber.
  void wait(fiber_wait& w);
  /// Has a thread of the step continue the fiber.
  void continue_fiber() noexcept {
    auto const self = shared_from_this();
    try {
      later_->offer([self] { self->run(); });
    } catch (...) {  // no memory for the offer: this thread continues the fiber
      run();
    }
  }

 private:
  void give_up(failure why);

  kernel kernel_;
  suspendable* from_;
  step_context step_;
  kernel_call call_;
  fiber body_;
  continuation* later_ = nullptr;  // null: no kernel has waited yet
  std::mutex mutex_;
  fiber_wait* wait_ = nullptr;  // null: no kernel within the fiber waits
  failure given_up_;
};

/// The wait of a kernel that is called on a fiber. The fiber leaves the step's thread meanwhile. For the handshake, the
/// kernel's call counts as returned when the fiber has left.
class fiber_wait final : public suspendable, public suspension {
 public:
  explicit fiber_wait(step_context const& step) : all_(*step.fiber) {}

  continuation& suspend() override {
    outer_ = &all_.suspend();
    return *this;
  }
  bool sleeps() const override { return true; }  // the fiber waits here
  void offer(std::function<void()> f) override { outer_->offer(std::move(f)); }
  /// Throws the kernel's failure.
  void wait() {
    if (!outer_) return;
    all_.wait(*this);
    if (cause()) throw error(*cause());
  }

 private:
  void continue_step() noexcept override { all_.continue_fiber(); }

  fiber_call& all_;
  continuation* outer_ = nullptr;
};

inline void fiber_call::run() {
  do {
    failure failed;
    bool ended = true;
    try {
      ended = body_.resume();
    } catch (error const& e) {
      if (!later_) throw;
      failed = as_failure(e);
    }
    if (ended) {
      if (later_) later_->resume(std::move(failed));  // the step may be gone after it
      return;
    }
  } while (!wait_->returned());
}

inline void fiber_call::wait(fiber_wait& w) {
  auto const set = [&](fiber_wait* now) {
    std::lock_guard lock(mutex_);
    wait_ = now;
    if (wait_ && given_up_) (void)wait_->give_up(given_up_);  // `returned` asks the kernel
  };
  set(&w);
  body_.suspend();
  set(nullptr);
}

inline void fiber_call::give_up(failure why) {
  suspension::request ask;
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(given_up_, why)) return;
    if (wait_) ask = wait_->give_up(std::move(why));
  }
  ask();
}

/// Returns a kernel that calls `k` on a fiber, unless its caller sleeps while it waits.
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
