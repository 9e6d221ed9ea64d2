// Containers by name, for programs with several of them.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rill/state/container.hpp"

namespace rill {

/// Named containers (white paper §4.7). A program creates one object of this class and gives its containers to
/// sessions: `session s(g, {.state = all.named("training")})`. A container lives as long as this object or a session
/// refers to it.
class containers {
 public:
  /// Returns the container of this name, created if there is none; "" is the default container.
  std::shared_ptr<container> named(std::string const& name = {});
  /// Returns the names of all containers, sorted.
  std::vector<std::string> names() const;
  /// Resets the container of this name; throws error(not_found) if there is none.
  void reset(std::string const& name);
  /// Resets all containers.
  void reset() {
    for (auto const& name : names()) reset(name);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<container>> all_;
};

#if RILL_RUNTIME

RILL_INLINE std::shared_ptr<container> containers::named(std::string const& name) try {
  std::lock_guard lock(mutex_);
  auto& place = all_[name];
  if (!place) place = std::make_shared<container>();
  return place;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::vector<std::string> containers::names() const try {
  std::lock_guard lock(mutex_);
  std::vector<std::string> list;
  for (auto const& [name, c] : all_) list.push_back(name);
  return list;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void containers::reset(std::string const& name) try {
  std::shared_ptr<container> one;
  {
    std::lock_guard lock(mutex_);
    auto const at = all_.find(name);
    if (at == all_.end()) throw error(code::not_found, "there is no container '" + name + "' to reset");
    one = at->second;
  }
  one->reset();
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
