// The stream of a GPU's kernels.
#pragma once
#include <atomic>
#include <cstddef>
#include <iterator>
#include <mutex>

#include "rill/base/thread.hpp"
#include "rill/cuda/card.hpp"
#include "rill/cuda/gpu_memory.hpp"
#include "rill/device/stream.hpp"

namespace rill::cuda {

/// A stream of work that puts kernels on a stream of a card. Its thread, which starts with the first work, goes on to
/// the next work while kernels run, and calls `done` when the kernels of a piece of work have ended.
class kernel_stream final : public stream {
 public:
  /// `kernels`: the card's stream that the work uses; `space`: whose copies the kernels may hold up.
  kernel_stream(card const& on, stream_owner const& kernels, gpu_space& space);
  /// Waits until all work is done.
  ~kernel_stream();

  void submit(stream_work& work) override;
  bool withdraw(stream_work& work) override;

 private:
  /// Work whose kernels are on the card.
  struct running_work {
    event_owner end;  // after its kernels
    bool has_end = false;
    stream_work* work = nullptr;
    failure why = nullptr;  // null: its `run` has succeeded
  };

  void serve();
  void sleep(std::unique_lock<std::mutex>& lock);
  running_work& oldest() { return slots_[first_running_ % std::size(slots_)]; }
  void start(stream_work& work);
  /// Returns whether the kernels of the oldest work have ended, and keeps why they failed.
  bool oldest_has_ended();
  void finish_oldest();

  card const& on_;
  stream_owner const& kernels_;
  gpu_space& space_;
  // Some work more than what runs is enough to keep the card busy. Both are the thread's alone.
  running_work slots_[4];
  std::size_t first_running_ = 0, running_ = 0;
  std::mutex mutex_;                                // guards the following
  stream_work *first_ = nullptr, *last_ = nullptr;  // work that has not begun
  bool ending_ = false;
  std::atomic<int> asleep_{0};  // 1 while the thread has nothing to do
  rill::detail::thread thread_;
};

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <chrono>
#include <thread>
#include <utility>

#include "rill/base/float_environment.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE kernel_stream::kernel_stream(card const& on, stream_owner const& kernels, gpu_space& space)
    : on_(on),
      kernels_(kernels),
      space_(space),
      slots_{{event_owner(on)}, {event_owner(on)}, {event_owner(on)}, {event_owner(on)}} {}

RILL_CUDA_INLINE kernel_stream::~kernel_stream() {
  if (on_.is_of_parent()) return;  // its thread is not in this process
  bool wakes = false;
  {
    std::lock_guard const lock(mutex_);
    ending_ = true;
    wakes = asleep_.exchange(0) != 0;
  }
  if (wakes) asleep_.notify_one();
  if (thread_.joinable()) thread_.join();
}

RILL_CUDA_INLINE void kernel_stream::submit(stream_work& work) {
  on_.expect_own_process();
  bool wakes = false;
  {
    std::lock_guard const lock(mutex_);
    if (!thread_.joinable()) thread_ = rill::detail::thread([this] { serve(); });
    work.next = nullptr;
    (first_ ? last_->next : first_) = &work;
    last_ = &work;
    wakes = asleep_.exchange(0) != 0;  // under the lock: without it the thread may have done the work already
  }
  if (wakes) asleep_.notify_one();
}

RILL_CUDA_INLINE bool kernel_stream::withdraw(stream_work& work) {
  std::lock_guard const lock(mutex_);
  stream_work* before = nullptr;
  for (auto* each = first_; each; before = std::exchange(each, each->next))
    if (each == &work) {
      (before ? before->next : first_) = work.next;
      if (last_ == &work) last_ = before;
      return true;
    }
  return false;
}

RILL_CUDA_INLINE void kernel_stream::serve() {
  unsigned polls = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    bool const starts = first_ && running_ < std::size(slots_);
    if (!starts && running_ == 0) {
      if (ending_) return;
      sleep(lock);
      continue;
    }
    auto* const next = starts ? std::exchange(first_, first_->next) : nullptr;
    lock.unlock();
    if (next) start(*next);
    if (oldest_has_ended()) {
      finish_oldest();
      polls = 0;
    } else if (!next) {
      // Short kernels end while this thread polls; longer ones must not keep a processor busy.
      constexpr unsigned most_polls = 200;
      if (++polls > most_polls) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    lock.lock();
  }
}

// The thread waits for a number, as that of a thread_stream does.
RILL_CUDA_INLINE void kernel_stream::sleep(std::unique_lock<std::mutex>& lock) {
  asleep_.store(1, std::memory_order_relaxed);
  lock.unlock();
  asleep_.wait(1);
  lock.lock();
}

RILL_CUDA_INLINE void kernel_stream::start(stream_work& work) {
  rill::detail::default_float_environment const environment;
  auto& slot = slots_[(first_running_ + running_++) % std::size(slots_)];
  slot.work = &work;
  slot.has_end = false;
  slot.why = nullptr;
  auto const attempt = [&](auto const& f) {
    try {
      f();
    } catch (...) {
      if (!slot.why) slot.why = caught_failure();
    }
  };
  attempt([&] {
    auto const current = on_.use();
    attempt([&] { work.run(); });
    slot.end.record(kernels_.get());  // even if it failed: it may have launched kernels before
    slot.has_end = true;
  });
}

RILL_CUDA_INLINE bool kernel_stream::oldest_has_ended() {
  auto& slot = oldest();
  auto const& call = on_.driver().call();
  auto const result =
      on_.within([&] { return slot.has_end ? call.ask_event(slot.end.get()) : call.wait_for_stream(kernels_.get()); });
  if (result == status::not_ready) return false;
  if (!slot.why) try {
      on_.driver().check(result, slot.has_end ? call.ask_event.symbol : call.wait_for_stream.symbol);
    } catch (...) {
      slot.why = caught_failure();
    }
  return true;
}

RILL_CUDA_INLINE void kernel_stream::finish_oldest() {
  auto& slot = oldest();
  auto& work = *slot.work;
  auto why = std::move(slot.why);
  ++first_running_;
  if (--running_ == 0) space_.kernels_are_done();
  work.done(std::move(why));
}

}  // namespace rill::cuda
#endif
