// An input function that batches sequences of similar lengths, to reduce padding.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "rill/ops/array/constant.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/queues/batch.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill {

/// Options of `batch_by_length`.
struct length_options {
  std::vector<std::int64_t> bounds;  ///< ascending: an example's bucket is the first whose bound is not less than its
                                     ///< length; those that are longer than the last have a bucket, too
  std::int64_t threads = 1;          ///< as in batch_options
  std::int64_t capacity = 0;         ///< 0: as in batch_options; of examples whose batch is complete
  std::string name = {};
};

namespace detail {

/// Returns the number of bounds that are less than a length.
template <operand L> expr<of<std::int64_t>> bucket_of(L length, std::vector<std::int64_t> const& bounds) try {
  static_assert(typed<L> && dtypes::integers.contains(L::static_type.element) && L::static_type.rank == 0,
                "batch_by_length: the first value of an example is its length, a scalar integer");
  auto const count = static_cast<std::int64_t>(bounds.size());
  auto const all = constant<std::int64_t, unknown>(*length.graph, tensor::copy<std::int64_t>(bounds, {count}));
  return sum(cast<std::int64_t>(all < cast<std::int64_t>(length)));
} catch (...) {
  rethrow_as_error();
}

/// Returns an example with its bucket before it.
template <class L, class... X> auto with_bucket(length_options const& s, std::tuple<L, X...> const& example) {
  return std::tuple_cat(std::tuple{bucket_of(std::get<0>(example), s.bounds)}, example);
}
template <std::int64_t N, class... X> auto bucketed_queue(length_options const& s, X const&... x) try {
  expects(!s.bounds.empty() && s.bounds[0] >= 0 && std::is_sorted(s.bounds.begin(), s.bounds.end()),
          "batch_by_length: the bounds are not ascending lengths");
  auto const fill = [&](auto const&... source) {
    return filled_queue("batch_by_length", queue_order::bucketed, {.capacity = s.capacity, .together = N}, N, s.threads,
                        s.name, with_bucket(s, source)...);
  };
  if constexpr ((operand<X> && ...)) return fill(std::tuple{x...});
  else return fill(x...);
} catch (...) {
  rethrow_as_error();
}
/// Returns a batch without the numbers of its bucket.
template <class B, class... X> auto without_bucket(std::tuple<B, X...> const& batch) {
  return std::apply([](auto const&, auto const&... rest) { return std::tuple{rest...}; }, batch);
}

}  // namespace detail

/// Returns batches of N examples of similar lengths: the first value of an example is its length; its other values are
/// padded with zeros to the longest of the batch. `auto [lengths, words, labels] = batch_by_length<32>({.bounds = {10,
/// 20, 40}}, length, word_numbers, label)`. Batches are returned in the order in which they become complete; with one
/// thread, it is the same in each run. Incomplete batches at the end are dropped. Sources are the same as for `batch`.
template <std::int64_t N, class... X>
  requires detail::sources<X...>
auto batch_by_length(length_options const& s, X const&... x) {
  return detail::without_bucket(dequeue_many<N>(detail::bucketed_queue<N>(s, x...)));
}
/// Returns the same, but the remaining examples of each bucket at the end make a smaller batch; the first extent is
/// unknown.
template <std::int64_t N, class... X>
  requires detail::sources<X...>
auto batch_by_length_up_to(length_options const& s, X const&... x) {
  return detail::without_bucket(dequeue_up_to<N>(detail::bucketed_queue<N>(s, x...)));
}

}  // namespace rill
