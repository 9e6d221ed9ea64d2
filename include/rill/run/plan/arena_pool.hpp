// The arenas of a session. A run of a plan borrows one, so that cached plans need no memory.
#pragma once
#include <cstddef>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "rill/tensor/buffer.hpp"

namespace rill {

/// Lends memory to runs. It keeps as many arenas as were lent at the same time, of the sizes asked for last, so that
/// runs allocate nothing in the steady state. Several threads may use it at the same time.
class arena_pool {
 public:
  explicit arena_pool(allocator& from) : from_(&from) {}

  /// Returns the smallest idle arena of at least `bytes` bytes, or a new one. Throws error(resource_exhausted) if there
  /// is no memory.
  buffer lend(std::size_t bytes) {
    buffer too_small;  // freed without the lock, because the allocator may be a user's
    {
      std::lock_guard lock(mutex_);
      auto const enough = idle_.lower_bound(bytes);
      for (auto at = enough; at != idle_.end(); ++at)
        if (!at->second.empty()) return taken(at->second);
      too_small = one_before(enough);
    }
    too_small = {};
    return buffer::allocate(bytes, *from_);
  }
  /// Takes an arena back. Lets go of it if a value in it is still being sent, or there is no memory to keep it.
  void give_back(buffer arena) noexcept {
    if (arena && !arena.unique()) return;
    try {
      std::lock_guard lock(mutex_);
      idle_[arena.bytes()].push_back(std::move(arena));
    } catch (std::bad_alloc const&) {
    }
  }
  /// Frees the idle arenas.
  void trim() {
    sizes gone;
    std::lock_guard lock(mutex_);
    idle_.swap(gone);
  }

 private:
  using sizes = std::map<std::size_t, std::vector<buffer>>;

  static buffer taken(std::vector<buffer>& from) {
    auto last = std::move(from.back());
    from.pop_back();
    return last;
  }
  // Removes the largest arena that is too small: a larger one takes its place.
  buffer one_before(sizes::iterator end) {
    while (end != idle_.begin()) {
      auto const at = std::prev(end);
      auto found = at->second.empty() ? buffer() : taken(at->second);
      if (at->second.empty()) idle_.erase(at);
      if (found) return found;
    }
    return {};
  }

  allocator* from_;
  std::mutex mutex_;
  sizes idle_;  // by bytes; some have none now
};

}  // namespace rill
