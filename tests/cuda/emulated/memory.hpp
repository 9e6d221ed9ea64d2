// The memory of an emulated device: ranges of the host's memory between guards, at addresses that are not used again
// for long, named by addresses that the host can't touch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "failure.hpp"
#include "text/interface.hpp"

namespace rill::emulated {

/// Why a kernel, or a copy, may not go on.
struct kernel_fault {
  status why;
  std::string what;  ///< which address, how many bytes, and what lies nearby
};

class device_memory;

/// A pool (cuMemPoolCreate). Its members belong to its memory's mutex.
struct memory_pool {
  device_memory& memory;
  std::size_t most;           ///< bytes, or 0 for as many as the device has
  std::size_t threshold = 0;  ///< bytes that it keeps when a stream or event was waited for
  std::size_t used = 0;
  std::size_t kept = 0;          ///< freed and not given back to the device
  std::set<int> opened_to = {};  ///< the other devices that may access it
};

/// All functions may be called by several threads at a time.
class device_memory {
 public:
  explicit device_memory(std::size_t bytes);
  device_memory(device_memory const&) = delete;
  ~device_memory();

  std::size_t total() const { return total_; }
  std::size_t available() const;

  std::shared_ptr<memory_pool> make_pool(std::size_t most);
  /// Returns the address of a new allocation, which no access may reach before `begin`. Throws failure{out_of_memory}.
  address reserve(std::shared_ptr<memory_pool> const& pool, std::size_t bytes);
  /// Makes the allocation's memory, filled with 0xff.
  void begin(address at);
  /// Says that the allocation's memory will go. Throws failure{invalid_value} if `at` is not the begin of an
  /// allocation, or this was said before.
  void retire(address at);
  /// Unmaps the allocation's memory.
  void end(address at);
  /// Unmaps all.
  void end_all();

  /// Gives back what pools keep: of `pool` all but `bytes` of what it holds, used or not.
  void trim(memory_pool& pool, std::size_t bytes);
  void set_threshold(memory_pool& pool, std::size_t bytes);
  /// Says whether another device may access a pool.
  void set_access(memory_pool& pool, int device, bool may);
  /// Whether another device may access what lies at `at`.
  bool is_open_to(int device, address at) const;
  /// Does what pools do when the host waits: they keep no more than their thresholds.
  void waited();

  /// Returns the allocation that holds all of an access. Throws kernel_fault.
  memory_range find(std::uintptr_t at, std::size_t bytes) const;
  /// Returns where the host reaches an access. Throws kernel_fault.
  void* reach(std::uintptr_t at, std::size_t bytes) const;
  /// While it is held, no memory is unmapped.
  std::shared_lock<std::shared_mutex> in_use() const { return std::shared_lock(unmapping_); }

  std::size_t allocations() const;
  std::size_t bytes() const;

 private:
  enum class phase { reserved, usable, retired };
  struct allocation {
    std::uintptr_t pages, pages_end;  ///< what is mapped, in the host's addresses
    std::size_t bytes;
    std::shared_ptr<memory_pool> pool;
    phase now;
  };
  struct ended {
    std::uintptr_t begin;
    std::size_t bytes;
  };

  std::uintptr_t place(std::size_t pages);
  void remove(std::map<std::uintptr_t, allocation>::iterator at);
  template <class F> void for_each_pool(F const& f) const;
  std::string nearby(std::uintptr_t at) const;

  std::size_t const total_;
  std::size_t arena_bytes_;
  std::uintptr_t arena_;
  mutable std::shared_mutex unmapping_;  // locked before mutex_
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, allocation> allocations_;  // by the address that the program sees
  std::deque<ended> ended_;                           // the last ones, to name them in faults
  std::uintptr_t next_ = 0;                           // where the search for a place begins
  std::size_t used_ = 0;
  std::vector<std::weak_ptr<memory_pool>> pools_;
};

}  // namespace rill::emulated
