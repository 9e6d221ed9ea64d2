// Variances and logarithms of sums of exponentials, by states that are merged in the order of
// rill/ops/reduction/state_kernels.hpp and with its bits.
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/reduce_form.hpp"
#include "rill/cuda/text/warp.cuh"
#include "rill/program/elementary.hpp"
#include "rill/type/half.hpp"

namespace rill::text {

/// The number, mean, and sum of squared distances from the mean of some numbers (kernels::moments).
struct moments {
  double count = 0, mean = 0, squares = 0;

  void merge(moments const& b) {
    if (b.count == 0) return;
    double const n = count + b.count, distance = b.mean - mean;
    squares += b.squares + distance * distance * (count * b.count / n);
    mean += distance * (b.count / n);
    count = n;
  }
  /// Returns the state of a column, in two passes. Its rows are `row` apart.
  template <class T> static moments of_column(global<T const> at, long rows, long row) {
    double mean = 0, rest = 0, squares = 0;
    auto const n = static_cast<double>(rows);
    for (long i = 0; i < rows; ++i) mean += static_cast<double>(at[i * row]);
    mean /= n;
    for (long i = 0; i < rows; ++i) {
      double const d = static_cast<double>(at[i * row]) - mean;
      rest += d;
      squares += d * d;
    }
    double const left = squares - rest * rest / n;
    return {n, mean, left < 0 ? 0 : left};
  }
  double result(double given) const {
    return count > given ? squares / (count - given) : std::numeric_limits<double>::quiet_NaN();
  }
  /// Returns the state of the thread `by` further among 16.
  moments of_thread_after(int by) const {
    return {__shfl_down_sync(all_threads, count, by, 16), __shfl_down_sync(all_threads, mean, by, 16),
            __shfl_down_sync(all_threads, squares, by, 16)};
  }
};

/// The largest number, and the sum of exp(x - largest), or of exp(x) where the largest is infinite
/// (kernels::exponentials).
struct exponentials {
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  double largest = -infinity, sum = 0;

  static bool infinite(double x) { return x == infinity || x == -infinity; }
  static double exp_of(double x) { return rill::exp(rill::packet<double>(x))[0]; }

  void merge(exponentials const& b) {
    double const most = b.largest > largest ? b.largest : largest;
    if (infinite(most)) sum += b.sum;
    else sum = sum * exp_of(largest - most) + b.sum * exp_of(b.largest - most);
    largest = most;
  }
  template <class T> static exponentials of_column(global<T const> at, long rows, long row) {
    double largest = -infinity, sum = 0;
    for (long i = 0; i < rows; ++i) {
      auto const x = static_cast<double>(at[i * row]);
      largest = x > largest ? x : largest;
    }
    double const base = infinite(largest) ? 0 : largest;
    for (long i = 0; i < rows; ++i) sum += exp_of(static_cast<double>(at[i * row]) - base);
    return {largest, sum};
  }
  double result(double) const {
    if (sum != sum || infinite(largest)) return sum != sum ? sum : largest;
    return largest + rill::log(rill::packet<double>(sum))[0];
  }
  exponentials of_thread_after(int by) const {
    return {__shfl_down_sync(all_threads, largest, by, 16), __shfl_down_sync(all_threads, sum, by, 16)};
  }
};

/// What a pass over [outer, middle, inner] leaves: states [parts, outer, inner], for parts of the middle extent. If
/// these are the last ones, and there is one part, it leaves what they come to: `results` is null otherwise.
template <class State, class R> struct states_of_pass {
  global<State> states;
  global<R> results;
  double given;  // what the result is told

  void put(long i, State const& state) const {
    if (results) results[i] = static_cast<R>(state.result(given));
    else states[i] = state;
  }
};

static_assert(sizeof(moments) == cuda::moments_bytes && sizeof(exponentials) == cuda::exponentials_bytes);
using cuda::column_part_size;
using cuda::line_part_size;

/// Computes a pass over lines of numbers, the inner extent being 1: 16 threads have a part, a column each.
template <class State, class T>
void states_of_lines(global<T const> from, global<State> states, global<T> results, double given, long outer,
                     long middle) {
  states_of_pass<State, T> const to{states, results, given};
  long const parts = middle <= line_part_size ? 1 : (middle + line_part_size - 1) / line_part_size;
  long const all = outer * parts, at_once = blockDim.x / 16, column = threadIdx.x % 16;
  for (long first = blockIdx.x * at_once; first < all; first += gridDim.x * at_once) {
    long const unit = first + threadIdx.x / 16, line = unit / parts, begin = unit % parts * line_part_size;
    long const left = unit < all ? middle - begin : 0, count = left < line_part_size ? left : line_part_size;
    global<T const> const at = from + line * middle + begin;
    long const rows = count / 16;
    State state;
    if (rows > 0) state = State::template of_column<T>(at + column, rows, 16);
    if (column < count % 16) state.merge(State::template of_column<T>(at + rows * 16 + column, 1, 16));
    for (int half = 8; half > 0; half /= 2) state.merge(state.of_thread_after(half));
    if (column == 0 && unit < all) to.put(unit % parts * outer + line, state);
  }
}

/// Computes a pass over columns, of numbers or of the states that an earlier pass left, a thread for each.
template <class State, class From, class R>
void states_of_columns(global<From const> from, global<State> states, global<R> results, double given, long outer,
                       long middle, long inner) {
  states_of_pass<State, R> const to{states, results, given};
  long const part = inner == 1 ? line_part_size : column_part_size,
             parts = middle <= part ? 1 : (middle + part - 1) / part;
  long const all = outer * parts * inner, threads = static_cast<long>(gridDim.x) * blockDim.x;
  for (long unit = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x; unit < all; unit += threads) {
    long const column = unit % inner, begin = unit / inner % parts * part, o = unit / inner / parts;
    long const rows = middle - begin < part ? middle - begin : part;
    global<From const> const at = from + (o * middle + begin) * inner + column;
    State state;
    if constexpr (std::is_same_v<State, From>) {
      if (rows > 0) state = at[0];
      for (long i = 1; i < rows; ++i) state.merge(at[i * inner]);
    } else if (rows > 0) state = State::template of_column<From>(at, rows, inner);
    to.put((begin / part * outer + o) * inner + column, state);
  }
}

/// Merges the parts of a pass as a tree, neighbours first, in part 0. `each` threads of a block share a result.
template <class State, class R>
void join_states(global<State> states, global<R> results, double given, long count, long parts, int each) {
  states_of_pass<State, R> const to{states, results, given};
  long const at_once = blockDim.x / each, part_of_thread = threadIdx.x / at_once;
  for (long first = blockIdx.x * at_once; first < count; first += gridDim.x * at_once) {
    long const i = first + threadIdx.x % at_once;
    for (long step = 1; step < parts; step *= 2) {
      for (long part = 2 * step * part_of_thread; part + step < parts && i < count; part += 2 * step * each) {
        State state = states[part * count + i];
        state.merge(states[(part + step) * count + i]);
        states[part * count + i] = state;
      }
      __syncthreads();
    }
    if (part_of_thread == 0 && i < count && results) to.put(i, states[i]);
  }
}

}  // namespace rill::text
