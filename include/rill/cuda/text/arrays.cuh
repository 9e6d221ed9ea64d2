// Arrays that loops write row by row: which rows are written.
#pragma once
#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/index_check.cuh"
#include "rill/cuda/text/scatter.cuh"
#include "rill/cuda/text/threads.cuh"

namespace rill::text {

/// Notes indices of rows that are written, or, if they are `wanted`, of rows that are not. Indices out of range were
/// noted elsewhere.
template <class Index>
void check_written(global<Index const> which, global<bool const> written, long n, long rows, int wanted,
                   global<bad_position> first) {
  for_each_index(n, [&](long i) {
    long const row = which[i];
    if (row >= 0 && row < rows && written[row] != (wanted != 0)) note_bad(first, static_cast<bad_position>(i));
  });
}
/// Notes rows that are not written.
inline void find_missing(global<bool const> written, long rows, global<bad_position> first) {
  for_each_index(rows, [&](long row) {
    if (!written[row]) note_bad(first, static_cast<bad_position>(row));
  });
}
/// Notes indices that occur before them.
template <class Count> void find_repeated(sorted_positions<Count> const& sorted, global<bad_position> first) {
  for_each_index(sorted.n, [&](Count s) {
    if (sorted.keys[s] != sorted.none && !sorted.begins_row(s)) note_bad(first, sorted.positions[s]);
  });
}
/// Marks the rows at n indices as written.
template <class Index> void mark_written(global<Index const> which, global<bool> written, long n) {
  for_each_index(n, [&](long i) { written[which[i]] = true; });
}

}  // namespace rill::text
