// Page-locked memory of the host: copies use it when their stream reaches them, and kernels reach it by its address.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "text/interface.hpp"

namespace rill::emulated {

class context;

/// All functions may be called by several threads at a time.
class page_locked_memory {
 public:
  /// Returns memory that is filled with 0xff and lies between pages without access. Throws failure{out_of_memory}.
  void* allocate(std::size_t bytes, context const& owner);
  /// Waits until nothing uses page-locked memory. Throws failure{invalid_value} if `at` is no begin of an allocation.
  void free(void* at);
  void free_all(context const& owner);

  /// Returns the allocation in which an address lies, or an empty range.
  memory_range find(std::uintptr_t at) const;
  /// While it is held, nothing is freed.
  std::shared_lock<std::shared_mutex> in_use() const { return std::shared_lock(freeing_); }

  std::size_t allocations() const;
  std::size_t bytes() const;

 private:
  struct allocation {
    std::size_t bytes;
    context const* owner;
  };
  using iterator = std::map<std::uintptr_t, allocation>::iterator;

  iterator remove(iterator at);

  mutable std::shared_mutex freeing_;  // locked before mutex_
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, allocation> allocations_;
};

/// Returns that of the process, which all devices reach.
page_locked_memory& page_locked();

}  // namespace rill::emulated
