// Reductions by a GPU in the order of rill/ops/sum/reduce_kernels.hpp: the lanes that a processor holds in registers
// are threads here, and are joined as the same tree.
#pragma once
#include <limits>
#include <type_traits>

#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/lanes.cuh"
#include "rill/cuda/text/reduce_form.hpp"
#include "rill/cuda/text/threads.cuh"
#include "rill/cuda/text/warp.cuh"

namespace rill::text {

using cuda::column_part_size;
using cuda::line_of_warp;
using cuda::line_part_size;
using cuda::reduced_array;

// In a namespace of their own: programs before and after a reduction call functions of some of these names.
namespace reductions {

/// What sums and means are made of.
template <class V> struct addition {
  static constexpr V identity() { return 0; }
  static V apply(V a, V b) { return static_cast<V>(a + b); }
};
/// What products are made of. A short number would become a signed int.
template <class V> struct multiplication {
  static constexpr V identity() { return 1; }
  static V apply(V a, V b) {
    if constexpr (std::is_integral_v<V>) return static_cast<V>(1u * a * b);
    else return a * b;
  }
};
/// What maxima and minima are made of: NaN, if there is one.
template <class V> struct maximum {
  static constexpr V identity() {
    if constexpr (std::is_floating_point_v<V>) return -std::numeric_limits<V>::infinity();
    else return std::numeric_limits<V>::min();
  }
  static V apply(V a, V b) { return (b > a) | (b != b) ? b : a; }
};
template <class V> struct minimum {
  static constexpr V identity() {
    if constexpr (std::is_floating_point_v<V>) return std::numeric_limits<V>::infinity();
    else return std::numeric_limits<V>::max();
  }
  static V apply(V a, V b) { return (b < a) | (b != b) ? b : a; }
};
/// The minimum of bools as numbers: whether all are true.
template <class V> struct conjunction : minimum<V> {
  static constexpr V identity() { return 1; }
};

}  // namespace reductions

/// Returns the value of the thread that stands `by` places behind this one in its warp.
template <class V> V from_behind(V value, int by) {
  if constexpr (sizeof(V) < 4) return static_cast<V>(__shfl_down_sync(all_threads, static_cast<int>(value), by));
  else return __shfl_down_sync(all_threads, value, by);
}

/// Returns what is left of a line, by a warp, in the warp's first thread: 256 bytes of lanes, then the lanes by halves.
/// `Source`, here and below, is an array, or what a program computes (operands.cuh); `Sink` is where results go.
template <class Op, class V, class Source> V reduce_line(Source const& at, long count) {
  V result = Op::identity();
  if (count < line_of_warp) {  // what is left of a long one
    for (long i = 0; i < count; ++i) result = Op::apply(result, static_cast<V>(at[i]));
    return result;
  }
  constexpr int each = 256 / sizeof(V) / 32, line = 32 * each;
  V lanes[each];
  for (V& lane : lanes) lane = Op::identity();
  for (long begin = threadIdx.x % 32; begin < (count + line - 1) / line * line; begin += line)
    for (int e = 0; e < each; ++e) {
      long const i = begin + 32 * e;
      lanes[e] = Op::apply(lanes[e], i < count ? static_cast<V>(at[i]) : Op::identity());
    }
  for (int half = each / 2; half > 0; half /= 2)
    for (int e = 0; e < half; ++e) lanes[e] = Op::apply(lanes[e], lanes[e + half]);
  result = lanes[0];
  for (int half = 16; half > 0; half /= 2) result = Op::apply(result, from_behind(result, half));
  return result;
}

/// Reduces each part of lines by a warp: to[outer, parts]. Short lines have a thread each.
template <class Op, class V, class Source, class Sink, class Finish>
void reduce_lines(Source const& from, Sink const& to, reduced_array const& a, Finish const& finish) {
  if (a.middle < line_of_warp)
    return for_each_index(a.outer, [&](long line) {
      V result = Op::identity();
      for (long i = 0; i < a.middle; ++i) result = Op::apply(result, static_cast<V>(from[line * a.middle + i]));
      to[line] = finish(result);
    });
  long const units = a.outer * a.parts, warps = static_cast<long>(gridDim.x) * blockDim.x / 32;
  for (long unit = (static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x) / 32; unit < units; unit += warps) {
    long const first = unit % a.parts * line_part_size, rest = a.middle - first;
    V const result =
        reduce_line<Op, V>(from + (unit / a.parts * a.middle + first), rest < line_part_size ? rest : line_part_size);
    if (threadIdx.x % 32 == 0) to[unit] = finish(result);
  }
}

/// Reduces each part of a column by a thread: to[outer, parts, inner]. Rows are taken in groups of four.
template <class Op, class V, class Source, class Sink, class Finish>
void reduce_columns(Source const& from, Sink const& to, reduced_array const& a, Finish const& finish) {
  for_each_index(a.outer * a.parts * a.inner, [&](long unit) {
    long const first = unit / a.inner % a.parts * column_part_size, next = first + column_part_size,
               end = next < a.middle ? next : a.middle;
    auto const at = from + (unit / a.inner / a.parts * a.middle * a.inner + unit % a.inner);
    auto const row = [&](long i) { return static_cast<V>(at[i * a.inner]); };
    V result = Op::identity();
    for (long i = first; i < end; i += 4) {
      V group = row(i);
      if (i + 4 <= end) group = Op::apply(Op::apply(group, row(i + 1)), Op::apply(row(i + 2), row(i + 3)));
      else
        for (long j = i + 1; j < end; ++j) group = Op::apply(group, row(j));
      result = Op::apply(result, group);
    }
    to[unit] = finish(result);
  });
}

/// Joins the parts of each result as a tree, neighbours first. `each` threads of a block share a result.
template <class Op, class V, class Sink, class Finish>
void join_parts(global<V> partial, Sink const& to, reduced_array const& a, int each, Finish const& finish) {
  long const count = a.outer * a.inner, at_once = blockDim.x / each, part_of_thread = threadIdx.x / at_once;
  for (long first = blockIdx.x * at_once; first < count; first += gridDim.x * at_once) {
    long const i = first + threadIdx.x % at_once;
    auto const parts = partial + (i < count ? i / a.inner * a.parts * a.inner + i % a.inner : 0);
    for (long step = 1; step < a.parts; step *= 2) {
      for (long part = 2 * step * part_of_thread; part + step < a.parts && i < count; part += 2 * step * each)
        parts[part * a.inner] = Op::apply(parts[part * a.inner], parts[(part + step) * a.inner]);
      __syncthreads();
    }
    if (part_of_thread == 0 && i < count) to[i] = finish(parts[0]);
  }
}

/// Divides by a number in the type in which the processor does.
template <class T, class Number, class Real> void divide(global<T const> from, global<T> to, long n, double by) {
  for_each_index(n, [&](long i) { to[i] = static_cast<T>(static_cast<Number>(from[i]) / static_cast<Real>(by)); });
}

}  // namespace rill::text
