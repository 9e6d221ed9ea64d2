// The versions of a container's variables: which one a step reads, and which ones are still read.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <tuple>
#include <vector>

#include "rill/base/config.hpp"

namespace rill {

/// The version that is read outside of a step: the newest.
inline constexpr std::uint64_t newest_version = UINT64_MAX;

/// Numbers the versions of a container's variables, and counts the steps that read each. Beginning and ending a step
/// takes no lock, only two atomic additions to a counter that few threads share.
class state_versions {
  struct alignas(64) counter {
    std::atomic<std::int64_t> steps{0};
  };

 public:
  /// A version with the number of steps that read it.
  class version {
   public:
    std::uint64_t number() const { return number_; }

   private:
    friend state_versions;
    bool read() const {
      for (auto const& c : counters_)
        if (c.steps.load() != 0) return true;
      return false;
    }
    std::uint64_t number_ = 0;
    std::array<counter, 16> counters_;
  };

  /// A step's registration at the version that it reads.
  struct ticket {
    version* of;
    std::size_t counter;
    bool counted_twice;  ///< whether the step was briefly counted at an earlier version, which then appeared to be read
  };

  state_versions();
  state_versions(state_versions const&) = delete;
  state_versions& operator=(state_versions const&) = delete;

  /// Registers a step at the newest version.
  ticket enter() noexcept {
    auto const at = counter_of_thread();
    for (bool again = false;; again = true) {
      auto* const v = current_.load();
      v->counters_[at].steps.fetch_add(1);
      // If it is still the newest after the addition, a thread that replaces it will see the step there.
      if (current_.load() == v) return {v, at, again};
      v->counters_[at].steps.fetch_sub(1);
    }
  }
  /// Unregisters a step; returns whether `forget_unread` may find a version to forget.
  bool leave(ticket const& t) noexcept {
    t.of->counters_[t.counter].steps.fetch_sub(1);
    return t.counted_twice || current_.load() != t.of;
  }

  // Only one thread at a time may call the functions below.

  /// Returns the next version, which no step reads before it is published.
  version& prepare();
  /// Makes `next` the newest version.
  void publish(version& next) noexcept;
  /// Forgets the versions before the newest that no step reads. Returns the numbers of the newest version and of the
  /// versions that are still read.
  std::vector<std::uint64_t> forget_unread();

 private:
  static std::size_t counter_of_thread() noexcept {
    static std::atomic<std::size_t> threads{0};
    thread_local std::size_t const mine = threads.fetch_add(1, std::memory_order_relaxed);
    return mine % std::tuple_size_v<decltype(version::counters_)>;
  }

  // Forgotten versions are reused and never freed, because `enter` may still briefly count a step there.
  std::deque<version> all_;
  std::vector<version*> unused_, earlier_;
  std::atomic<version*> current_;
};

#if RILL_RUNTIME

RILL_INLINE state_versions::state_versions() : current_(&all_.emplace_back()) {}

RILL_INLINE state_versions::version& state_versions::prepare() {
  earlier_.reserve(all_.size() + 1);
  unused_.reserve(all_.size() + 1);
  if (unused_.empty()) unused_.push_back(&all_.emplace_back());
  unused_.back()->number_ = current_.load()->number_ + 1;
  return *unused_.back();
}

RILL_INLINE void state_versions::publish(version& next) noexcept {
  unused_.pop_back();  // the prepared version
  earlier_.push_back(current_.load());
  current_.store(&next);
}

RILL_INLINE std::vector<std::uint64_t> state_versions::forget_unread() {
  std::vector<std::uint64_t> left;
  left.reserve(earlier_.size() + 1);
  left.push_back(current_.load()->number_);
  std::size_t kept = 0;
  for (auto* const v : earlier_)
    if (v->read()) {
      left.push_back(v->number_);
      earlier_[kept++] = v;
    } else unused_.push_back(v);
  earlier_.resize(kept);
  return left;
}

#endif

}  // namespace rill
