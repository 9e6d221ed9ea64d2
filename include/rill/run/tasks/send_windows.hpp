// How far the Sends of a loop may run ahead of their receivers.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "rill/base/error.hpp"

namespace rill {

/// A Send that waits until its receiver has taken an earlier value.
struct room_request {
  std::uint32_t edge = 0;
  /// Called once, on any thread, without a lock; the failure is null for success. Must not throw.
  std::function<void(room_request&, failure)> finished = {};
};

/// Counts the values of each edge of a loop that have been sent and not been taken. The Send of an iteration is done
/// when fewer than `window` are left, so that a loop that only sends keeps to the pace of its receiver. More are left
/// only if several iterations run at once: one of each.
///
/// No Sends wait in a circle if `window` is twice the number of iterations that run at once. The oldest iteration that
/// is not over has all those before it over, and so has the receiver all that it needs to take their values; at most
/// as many as run at once have been sent beyond these, and fewer than that are taken and not told of.
class send_windows {
 public:
  /// A value is about to be sent. Returns whether the Send is done then.
  bool add(std::uint32_t edge, std::uint32_t window) {
    std::lock_guard lock(mutex_);
    return ++edges_[edge].left < window;
  }
  /// Finishes the request when fewer than `window` values are left.
  void wait(std::shared_ptr<room_request> const& r, std::uint32_t window) {
    failure why;
    {
      std::lock_guard lock(mutex_);
      auto& mine = edges_[r->edge];
      why = why_;
      if (!why && mine.left >= window) {
        mine.waiting.push_back(r);
        mine.window = window;
        return;
      }
    }
    r->finished(*r, why);
  }
  /// The receiver has taken `n` values more.
  void took(std::uint32_t edge, std::uint64_t n) {
    std::vector<std::shared_ptr<room_request>> done;
    {
      std::lock_guard lock(mutex_);
      auto const at = edges_.find(edge);
      if (at == edges_.end()) return;
      at->second.left -= std::min(n, at->second.left);
      if (at->second.left < at->second.window) done.swap(at->second.waiting);
    }
    for (auto const& r : done) r->finished(*r, nullptr);
  }
  /// Ends a request that still waits with the failure `why`.
  void give_up(room_request const& r, failure why) {
    std::shared_ptr<room_request> mine;
    {
      std::lock_guard lock(mutex_);
      auto& all = edges_[r.edge].waiting;
      auto const at = std::find_if(all.begin(), all.end(), [&](auto const& each) { return each.get() == &r; });
      if (at == all.end()) return;
      mine = std::move(*at);
      all.erase(at);
    }
    mine->finished(*mine, std::move(why));
  }
  /// Ends all that wait, and all that will, for this reason.
  void end(failure const& why) {
    std::map<std::uint32_t, counts> gone;
    {
      std::lock_guard lock(mutex_);
      why_ = why;
      gone.swap(edges_);
    }
    for (auto const& [_, each] : gone)
      for (auto const& r : each.waiting) r->finished(*r, why);
  }

 private:
  struct counts {
    std::uint64_t left = 0;
    std::uint32_t window = 0;
    std::vector<std::shared_ptr<room_request>> waiting;  // of iterations that run at once
  };
  std::mutex mutex_;
  std::map<std::uint32_t, counts> edges_;
  failure why_;
};

/// Counts what a receiver has taken, and says when its sender is to hear of it: not of each value.
class taken_counts {
 public:
  /// Returns how many values the sender is to hear of now; 0: none.
  std::uint64_t took(std::uint32_t edge, std::uint32_t window) {
    auto& n = edges_[edge];
    return ++n < std::max<std::uint64_t>(1, window / 4) ? 0 : std::exchange(n, 0);
  }

 private:
  std::map<std::uint32_t, std::uint64_t> edges_;
};

}  // namespace rill
