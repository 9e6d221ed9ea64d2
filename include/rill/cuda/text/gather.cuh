// Elements at indices, as rill/ops/table copies them. An index out of range is noted, and nothing is read there.
#pragma once
#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/index_check.cuh"
#include "rill/cuda/text/threads.cuh"
#include "rill/cuda/text/words.cuh"

namespace rill::text {

/// Takes n elements of x, [outer, extent, inner], along its middle axis: element (o, i, j) of the result is x(o, k, j).
/// The index k is which[i], or, if each position has its own, which(o, i, j).
template <bool Own, class T, class Index, class Count>
void take_elements(global<T const> x, global<Index const> which, global<T> y, Count n, Count count, Count extent,
                   Count inner, global<bad_position> first) {
  for_each_index(n, [&](Count to) {
    Count const line = to / inner, at = Own ? to : line % count;
    long const k = which[at];
    if (k < 0 || k >= static_cast<long>(extent)) return note_bad(first, at);
    y[to] = x[(line / count * extent + static_cast<Count>(k)) * inner + to % inner];
  });
}

/// Writes for each of n lists of `Axes` indices the number of the element that they name, in an array of these extents.
template <int Axes, class Index>
void number_rows(global<Index const> which, global<long> rows, long n, passed_numbers<Axes> const& extents,
                 global<bad_position> first) {
  for_each_index(n, [&](long i) {
    long row = 0;
    for (int k = 0; k < Axes; ++k) {
      long const at = which[i * Axes + k];
      if (at < 0 || at >= extents.values[k]) return note_bad(first, static_cast<bad_position>(i * Axes + k));
      row = row * extents.values[k] + at;
    }
    rows[i] = row;
  });
}

/// Writes rows of `depth` elements: `one` at a row's index, and zeros elsewhere.
template <class T, class Index> void write_one_hot(global<Index const> which, global<T> to, long n, long depth, T one) {
  for_each_index(n, [&](long i) { to[i] = which[i / depth] == i % depth ? one : T{}; });
}

}  // namespace rill::text
