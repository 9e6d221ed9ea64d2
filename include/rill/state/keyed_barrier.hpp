// Barriers that join the components of elements by key: each component may come in a step of its own, and a take gets
// only complete elements (white paper §4.6).
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

/// A complete element.
struct keyed_element {
  std::string key;
  std::vector<tensor> parts;
};

/// A request to take elements.
struct keyed_request {
  std::size_t wanted = 0;
  bool fewer = false;  ///< whether fewer suffice at the end of a closed barrier
  std::vector<keyed_element> elements = {};
  /// Called once, on any thread, without the barrier's lock; the failure is null for success. Must not throw.
  std::function<void(keyed_request&, failure)> finished = {};
};

/// Elements by key, ordered by the arrival of their first components. A caller that has to wait leaves a request and is
/// notified; no thread is blocked.
class keyed_barrier_state {
 public:
  keyed_barrier_state(std::string name, std::vector<type> components);
  std::string const& name() const { return name_; }
  std::vector<type> const& components() const { return components_; }
  using request = std::shared_ptr<keyed_request>;

  /// Inserts component `which` of each key. Throws error(invalid_argument) if a key has this component already, and
  /// error(cancelled) for new keys once the barrier is closed, or for all keys once it was closed with `cancel`; then
  /// nothing is inserted.
  void insert(std::size_t which, std::vector<std::string> const& keys, std::vector<tensor> const& values);
  /// Takes the oldest complete elements, as many as the request wants, waiting for them if necessary. Fails with
  /// error(out_of_range), and takes nothing, if the closed barrier can no longer get as many.
  void take(request const& r);
  /// Closes the barrier to new keys. Existing keys still get their other components, unless `cancel`. A closed barrier
  /// may be closed again.
  void close(bool cancel = false);
  /// Ends a request that still waits with the failure `why`; no element is lost.
  void give_up(keyed_request const& r, failure why);

  /// Returns the number of complete elements, or of incomplete ones.
  std::int64_t ready() const;
  std::int64_t incomplete() const;
  /// Removes all elements and returns to the initial state; waiting requests fail with error(aborted).
  void reset();

 private:
  struct entry {
    std::string key;
    std::vector<std::optional<tensor>> parts;
    std::size_t missing;
  };
  void check(std::size_t which, std::vector<std::string> const& keys) const;
  /// Moves the requests that can finish to `done`, which has room for all. A request whose elements can't be allocated
  /// fails, and its elements stay in the barrier.
  void serve(std::vector<std::pair<request, failure>>& done) noexcept;
  failure fill(keyed_request& r) noexcept;
  static void notify(std::vector<std::pair<request, failure>> const& done);

  std::string name_;
  std::vector<type> components_;
  mutable std::mutex mutex_;
  std::list<entry> line_;  // in the order of their first components' arrival
  std::map<std::string, std::list<entry>::iterator> by_key_;
  std::size_t ready_ = 0;
  bool closed_ = false, cancelled_ = false;
  std::deque<request> takers_;
};

#if RILL_RUNTIME

RILL_INLINE void keyed_barrier_state::check(std::size_t which, std::vector<std::string> const& keys) const {
  if (cancelled_) throw error(code::cancelled, "the barrier '" + name_ + "' is closed");
  std::set<std::string_view> seen;
  for (auto const& key : keys) {
    auto const at = by_key_.find(key);
    if (at == by_key_.end() && closed_)
      throw error(code::cancelled, "the barrier '" + name_ + "' is closed to new keys, but got '" + key + "'");
    if ((at != by_key_.end() && at->second->parts[which]) || !seen.insert(key).second)
      throw error(code::invalid_argument, "the barrier '" + name_ + "' already has component " + std::to_string(which) +
                                              " of key '" + key + "'");
  }
}

RILL_INLINE void keyed_barrier_state::insert(std::size_t which, std::vector<std::string> const& keys,
                                             std::vector<tensor> const& values) {
  if (which >= components_.size())
    throw error(code::invalid_argument, "the barrier '" + name_ + "' has " + std::to_string(components_.size()) +
                                            " components, but component " + std::to_string(which) + " was inserted");
  std::vector<std::pair<request, failure>> done;
  {
    std::lock_guard lock(mutex_);
    done.reserve(takers_.size());
    check(which, keys);
    std::list<entry> line;
    decltype(by_key_) by_key;
    for (auto const& key : keys)
      if (!by_key_.contains(key)) {
        line.push_back({key, std::vector<std::optional<tensor>>(components_.size()), components_.size()});
        by_key.emplace(key, std::prev(line.end()));
      }
    // The code below allocates nothing, so either all components are inserted or none.
    line_.splice(line_.end(), line);
    by_key_.merge(by_key);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      auto& e = *by_key_.find(keys[i])->second;
      e.parts[which] = values[i];
      ready_ += --e.missing == 0;
    }
    serve(done);
  }
  notify(done);
}

RILL_INLINE void keyed_barrier_state::serve(std::vector<std::pair<request, failure>>& done) noexcept {
  while (!takers_.empty()) {
    auto const& r = takers_.front();
    // The most elements that can become complete: no more after a close with `cancel`, and only existing keys after
    // another close.
    bool const over = closed_ && (cancelled_ || line_.size() == ready_);
    auto const may_come = cancelled_ ? ready_ : closed_ ? line_.size() : SIZE_MAX;
    if (ready_ < r->wanted && !over && (r->fewer || may_come >= r->wanted)) return;
    failure why;
    if (ready_ < r->wanted && (!r->fewer || ready_ == 0))
      why = failed(code::out_of_range, {"the barrier '", name_, "' is closed and has too few elements"});
    else why = fill(*r);
    done.emplace_back(r, why);
    takers_.pop_front();
  }
}

RILL_INLINE failure keyed_barrier_state::fill(keyed_request& r) noexcept try {
  std::vector<keyed_element> elements(std::min(r.wanted, ready_));
  for (auto& e : elements) e.parts.reserve(components_.size());
  // The code below allocates nothing.
  auto at = line_.begin();
  for (auto& e : elements) {
    at = std::find_if(at, line_.end(), [](entry const& each) { return each.missing == 0; });
    by_key_.erase(at->key);
    e.key = std::move(at->key);
    for (auto& part : at->parts) e.parts.push_back(std::move(*part));
    at = line_.erase(at);
  }
  ready_ -= elements.size();
  r.elements = std::move(elements);
  return {};
} catch (...) {
  return caught_failure();
}

RILL_INLINE void keyed_barrier_state::take(request const& r) {
  std::vector<std::pair<request, failure>> done;
  {
    std::lock_guard lock(mutex_);
    done.reserve(takers_.size() + 1);
    takers_.push_back(r);
    serve(done);
  }
  notify(done);
}

RILL_INLINE void keyed_barrier_state::close(bool cancel) {
  std::vector<std::pair<request, failure>> done;
  {
    std::lock_guard lock(mutex_);
    done.reserve(takers_.size());
    closed_ = true;
    cancelled_ = cancelled_ || cancel;
    serve(done);
  }
  notify(done);
}

RILL_INLINE void keyed_barrier_state::give_up(keyed_request const& wanted, failure why) {
  std::vector<std::pair<request, failure>> done;
  {
    std::lock_guard lock(mutex_);
    auto const at = std::find_if(takers_.begin(), takers_.end(), [&](auto const& r) { return r.get() == &wanted; });
    if (at == takers_.end()) return;
    done.reserve(takers_.size());
    done.emplace_back(*at, std::move(why));
    takers_.erase(at);
    serve(done);
  }
  notify(done);
}

RILL_INLINE std::int64_t keyed_barrier_state::ready() const {
  std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(ready_);
}
RILL_INLINE std::int64_t keyed_barrier_state::incomplete() const {
  std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(line_.size() - ready_);
}

RILL_INLINE void keyed_barrier_state::reset() {
  std::vector<std::pair<request, failure>> done;
  {
    std::lock_guard lock(mutex_);
    done.reserve(takers_.size());
    auto const why = failed(code::aborted, {"the barrier '", name_, "' was reset with its container"});
    for (auto const& r : takers_) done.emplace_back(r, why);
    takers_.clear();
    line_.clear();
    by_key_.clear();
    ready_ = 0;
    closed_ = cancelled_ = false;
  }
  notify(done);
}

RILL_INLINE keyed_barrier_state::keyed_barrier_state(std::string name, std::vector<type> components)
    : name_(std::move(name)), components_(std::move(components)) {
  expects(!components_.empty(), "a keyed barrier needs at least one component");
}

RILL_INLINE void keyed_barrier_state::notify(std::vector<std::pair<request, failure>> const& done) {
  for (auto const& [r, why] : done) r->finished(*r, why);
}

#endif

}  // namespace rill
