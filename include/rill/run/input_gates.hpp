// Where the threads that fill queues halt between two steps, so that a checkpoint holds an input as it stands.
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

/// The gates of a container's input threads: each passes its own before a step.
class input_gates {
 public:
  /// Those of that container.
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
    std::uint32_t place_;  // of their enqueue in its graph: who takes from a queue stands behind who fills it
    int inside_ = 0;
    bool closed_ = false;
  };
  std::shared_ptr<gate> add(std::shared_ptr<queue_state> fills, std::uint32_t place);

  /// A step of such a thread: begins when its gate is open, or when the thread is to stop.
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

/// As long as it lives, no thread of a queue_runner or of start_input is within a step: what they have made is in the
/// queues, which take it beyond their capacity, and where their readers stand fits to it.
class input_pause {
 public:
  /// Waits until the steps that run have ended; error(deadline_exceeded) if they don't in that time, because they wait
  /// for what comes from elsewhere.
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
  // Those first that take from the others' queues: their steps need what the others still make.
  std::sort(closed_.begin(), closed_.end(), [](auto const& a, auto const& b) { return a->place_ > b->place_; });
  for (auto const& g : closed_) {
    if (close(*g, end)) continue;
    open();
    throw error(code::deadline_exceeded,
                "a thread that fills the queue '" + g->fills_->name() +
                    "' is in a step that does not end: it waits for what no other input thread makes");
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
  for (auto const& g : gates_->gates_)  // also those that were added meanwhile
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
