// The arenas of a session: a run of a plan borrows one and gives it back, so that plans which are kept keep none.
#pragma once
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "rill/tensor/buffer.hpp"

namespace rill {

/// Lends memory to runs. It keeps as many arenas as were lent at the same time, and each grows to the largest that was
/// asked for; in the steady state nothing is allocated. Threads may use it at the same time.
class arena_pool {
 public:
  explicit arena_pool(allocator& from) : from_(&from) {}

  /// An arena of at least so many bytes, the smallest that there is; error(resource_exhausted) if there is no memory.
  buffer lend(std::size_t bytes) {
    buffer too_small;
    {
      std::lock_guard lock(mutex_);
      idle_.reserve(idle_.size() + lent_ + 1);
      auto at = std::lower_bound(idle_.begin(), idle_.end(), bytes, smaller);
      ++lent_;
      if (at != idle_.end()) {
        while (std::next(at) != idle_.end() && std::next(at)->bytes() == at->bytes()) ++at;  // what came back last
        auto found = std::move(*at);
        idle_.erase(at);
        return found;
      }
      if (!idle_.empty()) too_small = std::move(idle_.back()), idle_.pop_back();
    }
    too_small = {};
    try {
      return buffer::allocate(bytes, *from_);
    } catch (...) {
      std::lock_guard lock(mutex_);
      --lent_;
      throw;
    }
  }
  void give_back(buffer arena) noexcept {
    std::lock_guard lock(mutex_);
    --lent_;
    auto const bytes = arena.bytes();
    auto const at = std::find_if(idle_.begin(), idle_.end(), [&](auto const& b) { return b.bytes() > bytes; });
    idle_.insert(at, std::move(arena));  // there is room
  }
  /// Frees what is not lent.
  void trim() {
    std::vector<buffer> gone;
    std::lock_guard lock(mutex_);
    idle_.swap(gone);
  }

 private:
  static bool smaller(buffer const& b, std::size_t bytes) { return b.bytes() < bytes; }

  allocator* from_;
  std::mutex mutex_;
  std::vector<buffer> idle_;  // by size
  std::size_t lent_ = 0;
};

}  // namespace rill
