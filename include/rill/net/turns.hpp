// A thread pool that is fair between askers: one who asks for much delays mostly itself.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rill/base/thread.hpp"

namespace rill::net {

/// Runs pieces of work on a few threads, which start with the first pieces. At most one piece of an asker runs at a
/// time, in order of arrival; askers take turns.
class turns {
 public:
  using piece = std::function<void()>;

  /// `threads`: how many there are at most.
  explicit turns(std::size_t threads) : most_(threads) {}
  /// Waits for all pieces. Not on a thread of its own.
  ~turns() { finish(); }
  turns(turns const&) = delete;
  turns& operator=(turns const&) = delete;

  /// Runs `f` for an asker, then destroys it. On any thread, without waiting. `f` must not throw.
  void post(std::string const& asker, piece f) {
    std::lock_guard lock(mutex_);
    if (is_over_) return;
    auto& q = askers_.try_emplace(asker, queue{.turn = count_++}).first->second;
    q.waiting.push_back(std::move(f));
    if (q.waiting.size() == 1 && !q.runs) ++ready_;
    if (ready_ > idle_ && threads_.size() < most_) start();
    changed_.notify_one();
  }
  /// Waits for all pieces, and takes no more. Not on a thread of its own.
  void finish() {
    std::vector<rill::detail::thread> all;
    {
      std::lock_guard lock(mutex_);
      is_over_ = true;
      all.swap(threads_);
      changed_.notify_all();
    }
    for (auto& t : all) t.join();
  }
  /// Whether the caller is one of the threads.
  bool is_own_thread() const { return here() == this; }

 private:
  struct queue {
    std::deque<piece> waiting = {};
    bool runs = false;
    std::uint64_t turn = 0;  // the lowest comes next
    bool is_ready() const { return !runs && !waiting.empty(); }
  };

  static turns const*& here() {
    static thread_local turns const* of = nullptr;
    return of;
  }
  // The caller holds the lock.
  void start() try {
    threads_.emplace_back([this] { work(); });
  } catch (error const&) {
    if (threads_.empty()) throw;  // otherwise the threads that were started do it
  }
  // The caller holds the lock, and one is ready.
  std::map<std::string, queue>::iterator next() {
    auto best = askers_.end();
    for (auto at = askers_.begin(); at != askers_.end(); ++at)
      if (at->second.is_ready() && (best == askers_.end() || at->second.turn < best->second.turn)) best = at;
    return best;
  }
  void work() {
    here() = this;
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      changed_.wait(lock, [&] { return is_over_ || ready_ > 0; });
      --idle_;
      if (ready_ == 0) return;
      auto const at = next();
      auto& q = at->second;
      auto f = std::move(q.waiting.front());
      q.waiting.pop_front();
      q.runs = true;
      --ready_;
      lock.unlock();
      f();
      f = {};  // lets go of what it owns without the lock
      lock.lock();
      q.runs = false;
      q.turn = count_++;
      if (q.waiting.empty()) askers_.erase(at);
      else ++ready_;
    }
  }

  std::size_t const most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<rill::detail::thread> threads_;
  std::size_t idle_ = 0;   // threads that wait
  std::size_t ready_ = 0;  // askers with waiting pieces and none running
  std::uint64_t count_ = 0;
  bool is_over_ = false;
  std::map<std::string, queue> askers_;
};

}  // namespace rill::net
