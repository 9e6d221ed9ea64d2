// The extents that named axes have in one step.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rill/base/error.hpp"
#include "rill/type/type.hpp"

namespace rill {

/// Names of axes, each with its extent.
using bound_axes = std::vector<std::pair<dim, std::int64_t>>;

/// Returns the extent of an axis; null: its name is not bound.
inline std::int64_t const* find_extent(bound_axes const& bound, dim const& axis) {
  for (auto const& [name, extent] : bound)
    if (name == axis) return &extent;
  return nullptr;
}

/// Returns the type with extents in the place of bound names.
inline type with_extents(type t, bound_axes const& bound) {
  if (t.has_rank())
    for (std::size_t i = 0; i < t.rank; ++i)
      if (t[i].named())
        if (auto const* known = find_extent(bound, t[i])) t[i] = dim(*known);
  return t;
}

/// Binds the names of axes: each has one extent in a step.
class axis_binding {
 public:
  explicit axis_binding(bound_axes bound = {}) : bound_(std::move(bound)) {}
  bound_axes const& bound() const { return bound_; }

  /// Binds the names in `declared` to the extents of the actual type `came`. Throws error(invalid_argument) if a name
  /// is bound to another extent.
  void bind(type const& declared, type const& came, std::string const& node) {
    if (!declared.has_rank()) return;
    for (std::size_t i = 0; i < declared.rank; ++i) {
      if (!declared[i].named() || !came[i].known()) continue;
      if (auto const* known = find_extent(bound_, declared[i]); known == nullptr)
        bound_.emplace_back(declared[i], came[i].extent);
      else if (*known != came[i].extent)
        throw error(code::invalid_argument,
                    "axis '" + declared[i].text() + "' is " + std::to_string(*known) + " elsewhere in this step and " +
                        std::to_string(came[i].extent) + " here",
                    node);
    }
  }
  /// Returns the type with extents in the place of bound names.
  type resolved(type const& t) const { return with_extents(t, bound_); }

 private:
  bound_axes bound_;
};

}  // namespace rill
