// What keeps state between steps.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rill/state/queue.hpp"
#include "rill/state/variable.hpp"

namespace rill {

/// Variables and queues by name; sessions and graphs that are given the same container share them (white paper §4.7).
class container {
 public:
  /// The variable of that name, made (without a value) if there is none; error(failed_precondition) if one of another
  /// type has the name already.
  std::shared_ptr<variable_state> variable(std::string const& name, type const& t) {
    std::lock_guard lock(mutex_);
    auto& place = variables_[name];
    if (!place) place = std::make_shared<variable_state>(name, t);
    else if (!accepts(place->type(), t))
      throw error(
          code::failed_precondition,
          "the container already has a variable of that name with type " + place->type().text() + ", not " + t.text(),
          name);
    return place;
  }
  /// The queue of that name, made if there is none; error(failed_precondition) if there is another one of that name.
  std::shared_ptr<queue_state> queue(std::string const& name, queue_options const& options) {
    std::lock_guard lock(mutex_);
    auto& place = queues_[name];
    if (!place) place = std::make_shared<queue_state>(name, options);
    else if (place->options() != options)
      throw error(code::failed_precondition,
                  "the container already has a queue of that name with another capacity, order or other components",
                  name);
    return place;
  }
  /// All variables, by name.
  std::vector<std::shared_ptr<variable_state>> variables() const {
    std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<variable_state>> all;
    for (auto const& [name, v] : variables_) all.push_back(v);
    return all;
  }
  /// Takes every value away; steps that run meanwhile keep the snapshots they have. Queues are as new, and who waits at
  /// one fails with error(aborted).
  void reset() {
    for (auto const& v : variables()) v->reset();
    for (auto const& q : queues()) q->reset();
  }
  /// All queues, by name.
  std::vector<std::shared_ptr<queue_state>> queues() const {
    std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<queue_state>> all;
    for (auto const& [name, q] : queues_) all.push_back(q);
    return all;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<variable_state>> variables_;
  std::map<std::string, std::shared_ptr<queue_state>> queues_;
};

}  // namespace rill
