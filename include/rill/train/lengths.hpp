// The lengths of the sequences of a padded batch.
#pragma once
#include "rill/ops/array/concat.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/positions.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/table/gather.hpp"

namespace rill::detail {

/// Returns the lengths, integers of any type, as int64. If a length is negative or larger than the extent of that axis
/// of x, the step fails with error(invalid_argument) at a node in the scope "lengths_within_time".
value checked_lengths(value lengths, value x, std::int64_t axis);

#if RILL_RUNTIME

RILL_INLINE value checked_lengths(value lengths, value x, std::int64_t axis) try {
  auto& g = graph_of(x);
  return g.scope("lengths_within_time", [&] {
    // Gathers from 0 to the extent, which checks the range without an effect. `check` has an effect, and loops would
    // have to keep it.
    auto const ends = add(positions(x, axis, dtype::int64), constant(g, tensor(std::int64_t{1})));
    auto const all = concat(std::vector<value>{constant(g, vector<std::int64_t>({0})), ends}, 0);
    return value(gather(all, cast(lengths, dtype::int64)));
  });
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill::detail
