// Gates at which the threads that fill queues stop between two steps, so that a checkpoint has a consistent input.
#pragma once
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "rill/base/deadline.hpp"
#include "rill/state/container.hpp"

namespace rill {

class input_pause;

/// The gates of a container's input threads: a thread passes its gate before each step.
class input_gates {
 public:
  /// Returns the gates of a container.
  static std::shared_ptr<input_gates> of(container& c);

  /// The gate of the threads of one runner.
  class gate {
   public:
    gate(input_gates& all, std::shared_ptr<queue_state> fills, std::uint32_t place);

   private:
    friend input_gates;
    friend class rill::input_pause;
    input_gates& all_;
    std::shared_ptr<queue_state> fills_;
    std::uint32_t
        place_;  // the number of their enqueue node: a thread that reads a queue has a larger one than its fillers
    int inside_ = 0;
    bool closed_ = false;
  };
  std::shared_ptr<gate> add(std::shared_ptr<queue_state> fills, std::uint32_t place);

  /// Counts a thread as inside a step. Its constructor waits until the gate is open, or the thread is to stop.
  class passage {
   public:
    passage(gate& g, std::stop_token const& stop);
    ~passage();
    passage(passage const&) = delete;
    passage& operator=(passage const&) = delete;

   private:
    gate& gate_;
  };

 private:
  friend class input_pause;
  std::mutex mutex_, pausing_;
  std::condition_variable changed_;
  std::vector<std::weak_ptr<gate>> gates_;
  bool paused_ = false;
};

/// Keeps all threads of queue_runners and of start_input between two steps while it lives. All elements that they have
/// made are in the queues, beyond their capacity if necessary, and the positions of their readers agree with that.
class input_pause {
 public:
  /// Waits until the running steps have ended. Throws error(deadline_exceeded) if they take longer than `at_most`, for
  /// instance because they wait for elements that no input thread makes.
  explicit input_pause(container& c, std::chrono::nanoseconds at_most = std::chrono::minutes(1));
  ~input_pause() { open(); }
  input_pause(input_pause const&) = delete;
  input_pause& operator=(input_pause const&) = delete;

 private:
  bool close(input_gates::gate& g, std::chrono::steady_clock::time_point end);
  void open();

  std::shared_ptr<input_gates> gates_;
  std::unique_lock<std::mutex> alone_;
  std::vector<std::shared_ptr<input_gates::gate>> closed_;
};

#if RILL_RUNTIME

RILL_INLINE input_gates::gate::gate(input_gates& all, std::shared_ptr<queue_state> fills, std::uint32_t place)
    : all_(all), fills_(std::move(fills)), place_(place) {}

RILL_INLINE std::shared_ptr<input_gates::gate> input_gates::add(std::shared_ptr<queue_state> fills,
                                                                std::uint32_t place) {
  auto made = std::make_shared<gate>(*this, std::move(fills), place);
  std::lock_guard lock(mutex_);
  made->closed_ = paused_;
  std::erase_if(gates_, [](auto const& g) { return g.expired(); });
  gates_.push_back(made);
  return made;
}

RILL_INLINE input_gates::passage::passage(gate& g, std::stop_token const& stop) : gate_(g) {
  auto& all = g.all_;
  std::stop_callback const wakes(stop, [&] {
    std::lock_guard lock(all.mutex_);
    all.changed_.notify_all();
  });
  std::unique_lock lock(all.mutex_);
  all.changed_.wait(lock, [&] { return !g.closed_ || stop.stop_requested(); });
  ++g.inside_;
}

RILL_INLINE input_pause::input_pause(container& c, std::chrono::nanoseconds at_most)
    : gates_(input_gates::of(c)), alone_(gates_->pausing_) {
  auto const end = deadline_after(at_most);
  {
    std::lock_guard lock(gates_->mutex_);
    for (auto const& g : gates_->gates_)
      if (auto held = g.lock()) closed_.push_back(std::move(held));
    gates_->paused_ = true;
  }
  // Threads that read other threads' queues close first, because their steps need elements from the others.
  std::sort(closed_.begin(), closed_.end(), [](auto const& a, auto const& b) { return a->place_ > b->place_; });
  for (auto const& g : closed_) {
    if (close(*g, end)) continue;
    open();
    throw error(code::deadline_exceeded,
                "a thread that fills the queue '" + g->fills_->name() +
                    "' is in a step that does not end: it waits for something that no other input thread does");
  }
}

RILL_INLINE bool input_pause::close(input_gates::gate& g, std::chrono::steady_clock::time_point end) {
  {
    std::lock_guard lock(gates_->mutex_);
    g.closed_ = true;
  }
  g.fills_->widen(true);
  std::unique_lock lock(gates_->mutex_);
  return gates_->changed_.wait_until(lock, end, [&] { return g.inside_ == 0; });
}

RILL_INLINE void input_pause::open() {
  for (auto const& g : closed_) g->fills_->widen(false);
  std::lock_guard lock(gates_->mutex_);
  gates_->paused_ = false;
  for (auto const& g : gates_->gates_)  // also gates that were added meanwhile
    if (auto const held = g.lock()) held->closed_ = false;
  gates_->changed_.notify_all();
}

RILL_INLINE std::shared_ptr<input_gates> input_gates::of(container& c) {
  return c.other<input_gates>("", [] { return new input_gates; });
}

RILL_INLINE input_gates::passage::~passage() {
  std::lock_guard lock(gate_.all_.mutex_);
  --gate_.inside_;
  gate_.all_.changed_.notify_all();
}

#endif

}  // namespace rill
