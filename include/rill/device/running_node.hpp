// The node that each thread runs, of steps that are reported on.
//
// A thread writes the name where others may read it at any time: into atomic words, with a number before and after, so
// that a reader notices what changes meanwhile. That takes a few nanoseconds a node, and no lock. A pointer to the name
// would not do, because its plan may be gone when it is read.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "rill/base/config.hpp"

namespace rill {
class step_progress;
}

namespace rill::detail {

/// Where one thread says which node it runs.
class running_node {
 public:
  /// What another thread has seen of it.
  struct seen {
    step_progress const* of;
    std::uint64_t call;  ///< a number that no other call has
    std::string name;
  };

  running_node(running_node const&) = delete;
  running_node& operator=(running_node const&) = delete;

  /// Returns the calling thread's.
  static running_node& mine() {
    thread_local running_node here;
    return here;
  }
  /// Returns the name that this thread has written last.
  std::string name() const {
    char text[sizeof name_] = {};
    copy_to(text);
    return text;
  }

  /// Sets the node as long as it lives.
  class scope {
   public:
    scope(step_progress const* of, std::string_view name) : at_(mine()) { call_ = at_.begin(of, name); }
    ~scope() { at_.end(call_); }
    scope(scope const&) = delete;
    scope& operator=(scope const&) = delete;

   private:
    running_node& at_;
    std::uint64_t call_;
  };

  /// Calls `f` with what each thread runs.
  template <class F> static void for_each(F const& f) {
    auto& all = list::here();
    std::lock_guard lock(all.mutex);
    for (auto const* each : all.threads) {
      auto const before = each->version_.load(std::memory_order_acquire);
      seen now{each->of_.load(std::memory_order_acquire), each->first_ + before, {}};
      char text[sizeof name_] = {};
      each->copy_to(text);
      now.name = text;
      if (now.of != nullptr && before % 2 == 0 && each->version_.load(std::memory_order_acquire) == before) f(now);
    }
  }

 private:
  static constexpr std::size_t words = 8;

  // The threads that have run nodes.
  struct list {
    static list& here() {
      static auto& all = *new list;  // never destroyed: threads may end later
      return all;
    }
    std::mutex mutex;
    std::set<running_node const*> threads;
    std::uint64_t count = 0;
  };

  running_node() {
    auto& all = list::here();
    std::lock_guard lock(all.mutex);
    all.threads.insert(this);
    first_ = ++all.count << 48;
  }
  ~running_node() {
    auto& all = list::here();
    std::lock_guard lock(all.mutex);
    all.threads.erase(this);
  }

  std::uint64_t begin(step_progress const* of, std::string_view name) {
    std::uint64_t copy[words] = {};
    std::memcpy(copy, name.data(), std::min(name.size(), sizeof copy - 1));
    auto const now = version_.load(std::memory_order_relaxed) + 2;
    version_.store(now - 1, std::memory_order_relaxed);
    of_.store(of, std::memory_order_release);
    for (std::size_t i = 0; i < words; ++i) name_[i].store(copy[i], std::memory_order_release);
    version_.store(now, std::memory_order_release);
    return now;
  }
  // A fiber may have gone to another thread meanwhile, and this one to another node.
  void end(std::uint64_t call) {
    if (version_.load(std::memory_order_relaxed) == call) of_.store(nullptr, std::memory_order_release);
  }
  void copy_to(char* text) const {
    for (std::size_t i = 0; i < words; ++i) {
      auto const word = name_[i].load(std::memory_order_acquire);
      std::memcpy(text + i * sizeof word, &word, sizeof word);
    }
  }

  std::atomic<std::uint64_t> version_{0};  // odd: it is being written
  std::atomic<step_progress const*> of_{nullptr};
  std::atomic<std::uint64_t> name_[words] = {};
  std::uint64_t first_ = 0;  // of the numbers of this thread's calls
};

}  // namespace rill::detail
