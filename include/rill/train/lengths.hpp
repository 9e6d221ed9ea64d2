// How long the sequences of a padded batch are.
#pragma once
#include "rill/ops/array/concat.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/gather.hpp"
#include "rill/ops/array/positions.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/cast.hpp"

namespace rill::detail {

/// The lengths, integers of any type, as int64. A step fails with error(invalid_argument) that names
/// "lengths_within_time" if one is negative or larger than the extent of an axis of x.
value checked_lengths(value lengths, value x, std::int64_t axis);

#if RILL_RUNTIME

RILL_INLINE value checked_lengths(value lengths, value x, std::int64_t axis) {
  auto& g = graph_of(x);
  return g.scope("lengths_within_time", [&] {
    // What may be looked up: 0 to the extent. A look-up, as `check` would have an effect, which loops would have to
    // keep.
    auto const ends = add(positions(x, axis, dtype::int64), constant(g, tensor(std::int64_t{1})));
    auto const all = concat(std::vector<value>{constant(g, vector<std::int64_t>({0})), ends}, 0);
    return value(gather(all, cast(lengths, dtype::int64)));
  });
}

#endif

}  // namespace rill::detail
