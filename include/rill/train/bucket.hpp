// Batches of sequences of similar lengths, which need little padding.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rill/train/batches.hpp"

namespace rill {

/// A batch of sequences that are padded to one length.
struct bucket_batch {
  std::int64_t length = 0;          ///< the padded length: the bound of the bucket
  std::vector<std::int64_t> which;  ///< the indices of the sequences
};

/// Puts each sequence into the first bucket whose bound is at least the sequence's length, and splits each bucket into
/// batches of `size`; a bucket's last batch may be smaller. Each sequence comes once. Seed and epoch alone decide which
/// sequences come together and in which order. Throws error(invalid_argument) if `bounds` do not ascend or a sequence
/// is longer than the last bound.
std::vector<bucket_batch> bucket_by_length(std::span<std::int64_t const> lengths, std::span<std::int64_t const> bounds,
                                           std::int64_t size, std::uint64_t seed = 0, std::int64_t epoch = 0);

#if RILL_RUNTIME
RILL_INLINE std::vector<bucket_batch> bucket_by_length(std::span<std::int64_t const> lengths,
                                                       std::span<std::int64_t const> bounds, std::int64_t size,
                                                       std::uint64_t seed, std::int64_t epoch) try {
  if (size <= 0)
    throw error(code::invalid_argument, "bucket_by_length: expected a batch size above 0, got " + std::to_string(size));
  expects(!bounds.empty() && bounds[0] >= 0 && std::is_sorted(bounds.begin(), bounds.end()),
          "bucket_by_length: expected bounds in ascending order, from 0 on");
  std::vector<std::int64_t> order(lengths.size());
  detail::shuffle(order, seed, epoch);
  std::vector<bucket_batch> batches;
  std::vector<std::size_t> open(bounds.size(), SIZE_MAX);  // each bucket's unfilled batch; SIZE_MAX without one
  for (auto const i : order) {
    auto const length = lengths[static_cast<std::size_t>(i)];
    auto const bound = std::lower_bound(bounds.begin(), bounds.end(), length);
    if (bound == bounds.end())
      throw error(code::invalid_argument, "bucket_by_length: sequence " + std::to_string(i) + " has length " +
                                              std::to_string(length) + ", longer than the last bound, " +
                                              std::to_string(bounds.back()) + ": add a bound");
    auto& at = open[static_cast<std::size_t>(bound - bounds.begin())];
    if (at == SIZE_MAX) at = batches.size(), batches.push_back({*bound, {}});
    batches[at].which.push_back(i);
    if (batches[at].which.size() == static_cast<std::size_t>(size)) at = SIZE_MAX;
  }
  order.resize(batches.size());
  detail::shuffle(order, seed + 1, epoch);
  std::vector<bucket_batch> shuffled;
  for (auto const i : order) shuffled.push_back(std::move(batches[static_cast<std::size_t>(i)]));
  return shuffled;
} catch (...) {
  rethrow_as_error();
}
#endif

}  // namespace rill
