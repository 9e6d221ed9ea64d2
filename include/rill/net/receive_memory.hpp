// Memory for large tensors that come from other processes. It is used again: pages that the system hands out for the
// first time take as long as the bytes themselves.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "rill/tensor/tensor.hpp"

namespace rill::net {

/// Makes tensors for what comes, and keeps the memory of large ones for the next. Any thread may let a tensor go.
class receive_memory : public std::enable_shared_from_this<receive_memory> {
 public:
  /// Keeps `most` bytes at most.
  explicit receive_memory(std::size_t most = std::size_t{256} << 20) : most_(most) {}

  /// Returns a tensor with elements of any value.
  tensor make(dtype element, shape const& each) {
    auto const bytes = static_cast<std::size_t>(elements(each)) * size_of(element);
    if (element == dtype::string || bytes < least || bytes > most_) return tensor(element, each);
    auto owner = std::make_shared<owned>(take(bytes), weak_from_this());
    auto* const at = owner->memory.data();
    return tensor(element, each, buffer::adopt(at, bytes, std::move(owner)));
  }
  /// Frees what it keeps.
  void trim() {
    std::vector<buffer> gone;
    std::lock_guard lock(mutex_);
    gone.swap(idle_);
    kept_ = 0;
  }
  /// Returns how many bytes it keeps.
  std::size_t kept() const {
    std::lock_guard lock(mutex_);
    return kept_;
  }

 private:
  static constexpr std::size_t least = std::size_t{1} << 20;  // the C library keeps smaller blocks itself

  struct owned {
    owned(buffer m, std::weak_ptr<receive_memory> o) : memory(std::move(m)), of(std::move(o)) {}
    ~owned() {
      if (auto const still = of.lock()) still->give_back(std::move(memory));
    }
    owned(owned const&) = delete;
    owned& operator=(owned const&) = delete;
    buffer memory;
    std::weak_ptr<receive_memory> of;
  };

  // A block that is kept, at most a quarter larger than is needed, or a new one.
  buffer take(std::size_t bytes) {
    {
      std::lock_guard lock(mutex_);
      for (auto& b : idle_)
        if (b.bytes() >= bytes && b.bytes() - bytes <= bytes / 4) {
          std::swap(b, idle_.back());
          auto found = std::move(idle_.back());
          idle_.pop_back();
          kept_ -= found.bytes();
          return found;
        }
    }
    return buffer::allocate(bytes);
  }
  // Keeps a block in place of the oldest ones.
  void give_back(buffer memory) noexcept try {
    std::vector<buffer> gone;  // outlives the lock
    std::lock_guard lock(mutex_);
    while (!idle_.empty() && kept_ + memory.bytes() > most_) {
      kept_ -= idle_.front().bytes();
      gone.push_back(std::move(idle_.front()));
      idle_.erase(idle_.begin());
    }
    kept_ += memory.bytes();
    idle_.push_back(std::move(memory));
  } catch (std::bad_alloc const&) {  // it is freed
  }

  std::size_t const most_;
  mutable std::mutex mutex_;
  std::vector<buffer> idle_;  // the oldest first
  std::size_t kept_ = 0;
};

}  // namespace rill::net
