// Batches of sequences of like lengths, so that little of a padded batch is padding.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rill/train/batches.hpp"

namespace rill {

/// Some sequences that are padded to one length.
struct bucket_batch {
  std::int64_t length = 0;          ///< to pad to: the bound of their bucket
  std::vector<std::int64_t> which;  ///< the sequences' numbers
};

/// Puts sequences of these lengths into buckets, the first whose bound is not less than their length, and makes batches
/// of `size` of each: the last of a bucket may be smaller. Which sequences come together, and the order of the batches,
/// are a function of seed and epoch alone; each sequence comes once. `bounds` ascend; error(invalid_argument) for a
/// sequence longer than the last.
std::vector<bucket_batch> bucket_by_length(std::span<std::int64_t const> lengths, std::span<std::int64_t const> bounds,
                                           std::int64_t size, std::uint64_t seed = 0, std::int64_t epoch = 0);

#if RILL_RUNTIME
RILL_INLINE std::vector<bucket_batch> bucket_by_length(std::span<std::int64_t const> lengths,
                                                       std::span<std::int64_t const> bounds, std::int64_t size,
                                                       std::uint64_t seed, std::int64_t epoch) {
  expects(size > 0, "bucket_by_length: a batch has at least one sequence");
  expects(!bounds.empty() && bounds[0] >= 0 && std::is_sorted(bounds.begin(), bounds.end()),
          "bucket_by_length: the bounds are not ascending lengths");
  std::vector<std::int64_t> order(lengths.size());
  detail::shuffle(order, seed, epoch);
  std::vector<bucket_batch> made;
  std::vector<std::size_t> open(bounds.size(), SIZE_MAX);  // the batch of each bucket that is not full
  for (auto const i : order) {
    auto const bound = std::lower_bound(bounds.begin(), bounds.end(), lengths[static_cast<std::size_t>(i)]);
    expects(bound != bounds.end(), "bucket_by_length: a sequence is longer than the last bound");
    auto& at = open[static_cast<std::size_t>(bound - bounds.begin())];
    if (at == SIZE_MAX) at = made.size(), made.push_back({*bound, {}});
    made[at].which.push_back(i);
    if (made[at].which.size() == static_cast<std::size_t>(size)) at = SIZE_MAX;
  }
  order.resize(made.size());
  detail::shuffle(order, seed + 1, epoch);
  std::vector<bucket_batch> shuffled;
  for (auto const i : order) shuffled.push_back(std::move(made[static_cast<std::size_t>(i)]));
  return shuffled;
}
#endif

}  // namespace rill
