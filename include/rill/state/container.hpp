// What keeps state between steps.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rill/state/variable.hpp"

namespace rill {

/// Variables by name; sessions and graphs that are given the same container share them (white paper §4.7).
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
  /// All variables, by name.
  std::vector<std::shared_ptr<variable_state>> variables() const {
    std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<variable_state>> all;
    for (auto const& [name, v] : variables_) all.push_back(v);
    return all;
  }
  /// Takes every value away; steps that run meanwhile keep the snapshots they have.
  void reset() {
    for (auto const& v : variables()) v->reset();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<variable_state>> variables_;
};

}  // namespace rill
