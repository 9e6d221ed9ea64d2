// Copies of elements that lie at regular distances, by a GPU: what concat, slice, pad, transpose and others do.
#pragma once
#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/threads.cuh"

namespace rill::text {

/// Where elements are read and written, over some axes: the outermost extent isn't needed. Distances may be negative;
/// sums of them wrap and are right in the end.
template <class Index, int Rank> struct copied_part {
  Index from_start, to_start;
  Index extents[Rank], from[Rank], to[Rank];
};

/// Copies `n` elements, counted from the innermost axis outwards.
template <class T, class Index, int Rank>
void copy_part(global<T const> from, global<T> to, Index n, copied_part<Index, Rank> const& part) {
  for_each_index(n, [&](Index i) {
    Index source = part.from_start, target = part.to_start, rest = i;
    for (int axis = Rank - 1; axis > 0; --axis) {
      Index const at = rest % part.extents[axis];
      rest /= part.extents[axis];
      source += at * part.from[axis];
      target += at * part.to[axis];
    }
    to[target + rest * part.to[0]] = from[source + rest * part.from[0]];
  });
}

/// Writes zeros to n bytes, which are aligned as words of 8.
inline void clear(global<unsigned char> to, unsigned long n) {
  auto const words = global<unsigned long>(to);
  for_each_index(n / 8, [&](unsigned long i) { words[i] = 0; });
  for_each_index(n % 8, [&](unsigned long i) { to[n / 8 * 8 + i] = 0; });
}

/// Writes the same element n times.
template <class T> void fill_elements(global<T> to, long n, T with) {
  for_each_index(n, [&](long i) { to[i] = with; });
}

}  // namespace rill::text
