// The index of the largest, or of the smallest, element over a middle extent: the first of equal ones, or the first
// NaN, as rill/ops/reduction/argmax_kernels.hpp finds it. The order in which threads look does not matter.
#pragma once
#include <cstdint>

#include "rill/cuda/text/accumulate.cuh"
#include "rill/cuda/text/argmax_form.hpp"
#include "rill/cuda/text/global.cuh"

namespace rill::text {

using cuda::argmax_threads;

/// Which of two is wanted: the larger or the smaller one.
struct wants_larger {
  template <class V> static bool before(V x, V best) { return x > best; }
};
struct wants_smaller {
  template <class V> static bool before(V x, V best) { return x < best; }
};

/// An element and its index; an index below 0 stands for no element.
template <class Wanted, class V> struct place_of_best {
  V value = V(0);
  long place = -1;

  /// Looks at an element, or at what other threads found.
  void look_at(place_of_best other) {
    if (other.place < 0) return;
    bool const same = !comes_before(other.value, value) && !comes_before(value, other.value);
    if (place < 0 || comes_before(other.value, value) || (same && other.place < place)) *this = other;
  }

 private:
  static bool comes_before(V x, V best) { return Wanted::before(x, best) || (x != x && best == best); }
};

/// Finds the best of `count` elements for each of some results, and calls put(result, place). `each` threads, a power
/// of two of at most argmax_threads, share a result. Neighbours among the threads have neighbouring elements: of one
/// result if `lines`, else of as many results. element(result, i) returns an element and its index.
template <class Wanted, class V, class Element, class Put>
void find_best(long results, long count, int each, bool lines, Element const& element, Put const& put) {
  __shared__ V values[argmax_threads];
  __shared__ long places[argmax_threads];
  int const side_by_side = argmax_threads / each, thread = threadIdx.x;
  int const own = lines ? thread / each : thread % side_by_side, part = lines ? thread % each : thread / side_by_side;
  auto const slot = [&](int of_part) { return of_part * side_by_side + own; };
  for (long first = static_cast<long>(blockIdx.x) * side_by_side; first < results;
       first += static_cast<long>(gridDim.x) * side_by_side) {
    long const result = first + own;
    place_of_best<Wanted, V> best;
    for (long i = part; i < count && result < results; i += each) best.look_at(element(result, i));
    values[slot(part)] = best.value, places[slot(part)] = best.place;
    for (int half = each / 2; half > 0; half /= 2) {
      __syncthreads();
      if (part >= half) continue;
      best.look_at({values[slot(part + half)], places[slot(part + half)]});
      values[slot(part)] = best.value, places[slot(part)] = best.place;
    }
    if (part == 0 && result < results) put(result, best.place);
    __syncthreads();
  }
}

/// Finds the indices of the best of parts of [outer, middle, inner], `part` of the middle extent in each:
/// [parts, outer, inner].
template <class Wanted, class T, class Index>
void find_places(global<T const> from, global<Index> to, long outer, long middle, long inner, long part, int each) {
  using V = accumulated<T>;
  long const results = outer * inner, parts = (middle + part - 1) / part;
  find_best<Wanted, V>(
      results * parts, part, each, inner == 1,
      [&](long unit, long i) {
        long const place = unit / results * part + i, result = unit % results;
        if (place >= middle) return place_of_best<Wanted, V>{};
        long const at = (result / inner * middle + place) * inner + result % inner;
        return place_of_best<Wanted, V>{static_cast<V>(from[at]), place};
      },
      [&](long unit, long place) { to[unit] = static_cast<Index>(place); });
}

/// Finds the best of what `find_places` found in parts.
template <class Wanted, class T, class Index>
void find_best_place(global<T const> from, global<std::int64_t const> places, global<Index> to, long outer, long middle,
                     long inner, long parts, int each) {
  using V = accumulated<T>;
  long const results = outer * inner;
  find_best<Wanted, V>(
      results, parts, each, false,
      [&](long result, long i) {
        long const place = places[i * results + result];
        long const at = (result / inner * middle + place) * inner + result % inner;
        return place_of_best<Wanted, V>{static_cast<V>(from[at]), place};
      },
      [&](long result, long place) { to[result] = static_cast<Index>(place); });
}

}  // namespace rill::text
