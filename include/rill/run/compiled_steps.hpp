// The steps that a session has compiled, by what was asked for.
#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rill/run/compiled_step.hpp"
#include "rill/run/run_request.hpp"

#if RILL_RUNTIME
namespace rill::detail {

using step_key_type = std::vector<std::int64_t>;
/// Returns the key of a request: what is fed, fetched and run, and the extents of what is fed.
inline step_key_type step_key(run_request const& r) {
  std::vector<std::int64_t> k{static_cast<std::int64_t>(r.feeds.size()), static_cast<std::int64_t>(r.fetches.size()),
                              static_cast<std::int64_t>(r.targets.size())};
  auto const add = [&](endpoint e) { k.push_back(static_cast<std::int64_t>(std::uint64_t{e.node} << 32 | e.port)); };
  for (auto e : r.feeds) add(e);
  for (auto e : r.fetches) add(e);
  for (auto t : r.targets) k.push_back(t);
  for (auto const& t : r.with) {
    k.push_back(static_cast<std::int64_t>(t.rank()));
    for (auto e : t.shape()) k.push_back(e);
  }
  return k;
}

/// A cache of compiled steps, of which the one used longest ago goes first. Several threads may use it.
class compiled_steps {
 public:
  /// Returns the step with a key, or null if there is none.
  std::shared_ptr<compiled_step> find(step_key_type const& k) {
    std::lock_guard lock(mutex_);
    auto const at = steps_.find(k);
    if (at == steps_.end()) return nullptr;
    uses_.splice(uses_.begin(), uses_, at->second.use);
    return at->second.step;
  }
  /// Keeps a step. The one that was used longest ago goes, if there are more than `most`.
  void keep(step_key_type k, std::shared_ptr<compiled_step> made, std::size_t most) {
    std::lock_guard lock(mutex_);
    auto const [at, fresh] = steps_.try_emplace(std::move(k));
    at->second.step = std::move(made);
    if (fresh) try {
        at->second.use = uses_.insert(uses_.begin(), &at->first);
      } catch (...) {
        steps_.erase(at);
        throw;
      }
    else uses_.splice(uses_.begin(), uses_, at->second.use);
    while (uses_.size() > most) forget_least_recently_used();
  }
  /// Gives back the memory that the steps keep for their next runs, also those that only a prepared step still has.
  void trim() {
    std::lock_guard lock(mutex_);
    for (auto& [key, kept] : steps_) kept.step->trim();
    for (auto const& each : forgotten_)
      if (auto const step = each.lock()) step->trim();
  }

 private:
  struct hash {
    std::size_t operator()(std::vector<std::int64_t> const& k) const {
      std::uint64_t h = 14695981039346656037u;  // FNV-1a, a word at a time
      for (auto v : k) h = (h ^ static_cast<std::uint64_t>(v)) * 1099511628211u;
      return static_cast<std::size_t>(h ^ h >> 32);
    }
  };
  struct entry {
    std::shared_ptr<compiled_step> step;
    std::list<step_key_type const*>::iterator use;
  };

  void forget_least_recently_used() {
    std::erase_if(forgotten_, [](auto const& step) { return step.expired(); });
    auto const last = steps_.find(*uses_.back());
    if (last->second.step.use_count() > 1) forgotten_.push_back(last->second.step);
    uses_.pop_back();
    steps_.erase(last);
  }

  std::mutex mutex_;
  std::unordered_map<step_key_type, entry, hash> steps_;
  std::list<step_key_type const*> uses_;                 // keys, most recently used first
  std::vector<std::weak_ptr<compiled_step>> forgotten_;  // steps that went, which prepared steps may still hold
};

}  // namespace rill::detail
#endif
