// Rows that are added at indices, and those of segments, in the host's order: positions are sorted by row (sort.cuh),
// and each row takes its own one after the other, a thread for each column.
#pragma once
#include <limits>

#include "rill/cuda/text/accumulate.cuh"
#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/index_check.cuh"
#include "rill/cuda/text/threads.cuh"
#include "rill/cuda/text/words.cuh"

namespace rill::text {

// Keys to sort by. A bad index is noted, and has a key of its own behind all others, like one that is left out.

/// Writes the rows that n indices name.
template <class Index, class Count>
void write_row_keys(global<Index const> which, global<Count> keys, Count n, Count rows, global<bad_position> first) {
  for_each_index(n, [&](Count i) {
    bool const good = which[i] >= 0 && which[i] < static_cast<long>(rows);
    keys[i] = good ? static_cast<Count>(which[i]) : rows;
    if (!good) note_bad(first, i);
  });
}

/// Writes the elements of y, [outer, extent, inner], that indices [outer, count, inner] along its middle axis name.
template <class Index, class Count>
void write_element_keys(global<Index const> which, global<Count> keys, Count n, Count count, Count extent, Count inner,
                        Count elements, global<bad_position> first) {
  for_each_index(n, [&](Count i) {
    long const k = which[i];
    bool const good = k >= 0 && k < static_cast<long>(extent);
    keys[i] = good ? (i / inner / count * extent + static_cast<Count>(k)) * inner + i % inner : elements;
    if (!good) note_bad(first, i);
  });
}

/// Whether an id of a segment is one that the host refuses.
template <class Index> bool is_bad_id(global<Index const> ids, long i, long segments, bool sorted) {
  long const id = ids[i];
  return id >= segments || (sorted && (id < 0 || (i > 0 && id < ids[i - 1])));
}
/// Writes the segments of n rows.
template <class Index, class Count>
void write_segment_keys(global<Index const> ids, global<Count> keys, Count n, Count segments, int sorted,
                        global<bad_position> first) {
  for_each_index(n, [&](Count i) {
    long const id = ids[i];
    bool const bad = is_bad_id(ids, static_cast<long>(i), static_cast<long>(segments), sorted != 0);
    keys[i] = bad || id < 0 ? segments : static_cast<Count>(id);
    if (bad) note_bad(first, i);
  });
}

// How an element of y takes elements of x, one after the other in the order of positions. join() takes the next one;
// finish() returns the result, given how many were taken.

template <class T> struct row_sum {
  using sum = accumulated<T>;
  static sum join(sum a, sum b) { return plus(a, b); }
  static sum finish(sum a, long) { return a; }
};
template <class T> struct row_difference : row_sum<T> {
  using sum = accumulated<T>;
  static sum join(sum a, sum b) { return minus(a, b); }
};
template <class T> struct row_mean : row_sum<T> {
  using sum = accumulated<T>;
  static sum finish(sum a, long count) { return count > 1 ? a / static_cast<sum>(count) : a; }
};
// NaN if there is one.
template <class T> struct row_max : row_sum<T> {
  using sum = accumulated<T>;
  static sum join(sum best, sum x) { return x > best || x != x ? x : best; }
};
template <class T> struct row_min : row_sum<T> {
  using sum = accumulated<T>;
  static sum join(sum best, sum x) { return x < best || x != x ? x : best; }
};

/// Positions that are sorted by the row to which each belongs; `none` is the key of those that belong to no row.
template <class Count> struct sorted_positions {
  global<Count const> keys, positions;
  Count n, none;

  bool begins_row(Count s) const { return keys[s] != none && (s == 0 || keys[s - 1] != keys[s]); }
  bool ends_row(Count s) const { return keys[s] != none && (s + 1 == n || keys[s + 1] != keys[s]); }
};

/// Rows x, [outer, n, width], that rows of y, [outer, rows, width], take. Others of y stay as they are.
template <template <class> class How, class T, class Count>
void join_rows(sorted_positions<Count> const& sorted, global<T const> x, global<T> y, Count elements, Count rows,
               Count width) {
  using sum_type = typename How<T>::sum;
  constexpr int ahead = 8;  // elements that are read before they are added
  for_each_index(elements, [&](Count i) {
    Count const j = i % width, s = i / width % sorted.n, outer = i / width / sorted.n;
    if (!sorted.begins_row(s)) return;
    Count const key = sorted.keys[s];
    global<T> const to = y + ((outer * rows + key) * width + j);
    auto sum = static_cast<sum_type>(*to);
    int found = ahead;
    Count count = 0;
    for (; found == ahead; count += found) {
      sum_type terms[ahead];
      found = 0;
      for (int k = 0; k < ahead; ++k) {
        Count const at = s + count + k;
        if (at >= sorted.n || sorted.keys[at] != key) break;
        terms[k] = static_cast<sum_type>(x[(outer * sorted.n + sorted.positions[at]) * width + j]);
        ++found;
      }
      for (int k = 0; k < found; ++k) sum = How<T>::join(sum, terms[k]);
    }
    *to = static_cast<T>(How<T>::finish(sum, static_cast<long>(count)));
  });
}

/// Assigns rows x to rows of y: of those with the same index the last one stays.
template <class T, class Count>
void assign_rows(sorted_positions<Count> const& sorted, global<T const> x, global<T> y, Count elements, Count width) {
  for_each_index(elements, [&](Count i) {
    Count const j = i % width, s = i / width;
    if (sorted.ends_row(s)) y[sorted.keys[s] * width + j] = x[sorted.positions[s] * width + j];
  });
}

/// The number of a segment's rows.
using segment_count = unsigned long long;
/// Checks the ids of n rows, and counts the rows of each segment unless `counts` is null. Counts begin as zeros.
template <class Index>
void check_segments(global<Index const> ids, long n, long segments, int sorted, global<segment_count> counts,
                    global<bad_position> first) {
  for_each_index(n, [&](long i) {
    if (is_bad_id(ids, i, segments, sorted != 0)) note_bad(first, static_cast<bad_position>(i));
    else if (counts && ids[i] >= 0) atomicAdd(&counts[ids[i]], segment_count(1));
  });
}
/// Writes for each id the row of its segment, divided by the segment's count if there are counts; zeros for ids below
/// 0. Bad ids have been noted.
template <class T, class Index>
void take_segments(global<T const> x, global<Index const> ids, global<T> y, long elements, long width, long segments,
                   global<segment_count const> counts) {
  using A = accumulated<T>;
  for_each_index(elements, [&](long i) {
    long const id = ids[i / width];
    if (id >= segments) return;
    if (id < 0) return void(y[i] = T(0));
    T const v = x[id * width + i % width];
    long const count = counts ? static_cast<long>(counts[id]) : 1;
    y[i] = count > 1 ? static_cast<T>(static_cast<A>(v) / static_cast<A>(count)) : v;
  });
}

}  // namespace rill::text
