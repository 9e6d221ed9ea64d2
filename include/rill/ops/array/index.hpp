// Indices as values, checked before they are used.
#pragma once
#include <string>

#include "rill/dsl/expr.hpp"

namespace rill::ops {

/// Returns the type of the rows of `table` at the indices `which`.
constexpr type gathered(type const& table, type const& which, checks expects = {}) {
  expects(!table.has_rank() || table.rank > 0, "gather: a scalar has no rows");
  if (!table.has_rank() || !which.has_rank()) return type::of_unknown_rank(table.element);
  type y = which.with(table.element);
  for (std::size_t i = 1; i < table.rank; ++i) y.push_back(table[i], expects);
  return y;
}

#if RILL_DEFINITIONS
/// Reads int32 or int64 indices; each must lie in [0, rows).
class index_reader {
 public:
  index_reader(type const& which, std::int64_t rows)
      : count_(static_cast<std::size_t>(elements(which.shape()))), rows_(rows), wide_(which.element == dtype::int64) {}

  std::size_t count() const { return count_; }
  /// Returns index i unchecked.
  std::int64_t at(void const* which, std::size_t i) const {
    return wide_ ? static_cast<std::int64_t const*>(which)[i] : static_cast<std::int32_t const*>(which)[i];
  }
  /// Throws error(invalid_argument) that names the first index out of range.
  void check(void const* which) const {
    for (std::size_t i = 0; i < count_; ++i)
      if (auto const row = at(which, i); row < 0 || row >= rows_)
        throw error(code::invalid_argument, "index " + std::to_string(i) + " is " + std::to_string(row) +
                                                ", and there are " + std::to_string(rows_) + " rows");
  }
  /// Checks the indices and writes them as int64.
  void operator()(void const* which, std::int64_t* to) const {
    check(which);
    for (std::size_t i = 0; i < count_; ++i) to[i] = at(which, i);
  }

 private:
  std::size_t count_;
  std::int64_t rows_;
  bool wide_;
};
#endif

}  // namespace rill::ops
