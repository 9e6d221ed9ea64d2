// Handles that the emulated driver gives out: numbers that are never used twice and point to no memory, so that each
// handle that is not alive is known as such.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "failure.hpp"

namespace rill::emulated {

inline std::uintptr_t next_handle() {
  static std::atomic<std::uintptr_t> last{0};
  return std::uintptr_t{0xcda} << 48 | (last += 16);
}

/// Objects that are alive, by their handles. Every function may be called by several threads at a time.
template <class Object, class Handle> class handles {
 public:
  using pointer = std::shared_ptr<Object>;

  Handle add(pointer object) {
    std::lock_guard const lock(mutex_);
    auto const handle = reinterpret_cast<Handle>(next_handle());
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  /// Throws failure{otherwise} if no such object is alive.
  pointer find(Handle handle, status otherwise = invalid_handle) const {
    std::lock_guard const lock(mutex_);
    auto const at = objects_.find(handle);
    expect(at != objects_.end(), otherwise);
    return at->second;
  }
  /// Returns the object, which is no longer found by its handle.
  pointer take(Handle handle, status otherwise = invalid_handle) {
    std::lock_guard const lock(mutex_);
    auto const at = objects_.find(handle);
    expect(at != objects_.end(), otherwise);
    auto object = std::move(at->second);
    objects_.erase(at);
    return object;
  }
  /// Takes all objects that `chosen` returns true for.
  template <class F> std::vector<pointer> take_if(F const& chosen) {
    std::lock_guard const lock(mutex_);
    std::vector<pointer> taken;
    for (auto at = objects_.begin(); at != objects_.end();)
      if (chosen(*at->second)) {
        taken.push_back(std::move(at->second));
        at = objects_.erase(at);
      } else {
        ++at;
      }
    return taken;
  }
  std::size_t size() const {
    std::lock_guard const lock(mutex_);
    return objects_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::map<Handle, pointer> objects_;
};

}  // namespace rill::emulated
