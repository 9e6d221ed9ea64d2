// Reductions by states of a few numbers that can be merged: variances, and logarithms of sums of exponentials. On raw
// pointers, in an order that the extents alone decide, and in double.
#pragma once
#include "rill/ops/sum/reduce_kernels.hpp"
#include "rill/program/elementary.hpp"

namespace rill::kernels {

namespace detail {

// Columns that are reduced side by side; a line is as many columns as `line_columns`.
inline constexpr index most_columns = 64, line_columns = 16;

}  // namespace detail

/// How many, their mean, and the sum of their squared distances from it: merged as T. F. Chan, G. H. Golub and R. J.
/// LeVeque do (Updating Formulae and a Pairwise Algorithm for Computing Sample Variances, 1979).
struct moments {
  double count = 0, mean = 0, squares = 0;

  void merge(moments const& b) {
    if (b.count == 0) return;
    double const n = count + b.count, distance = b.mean - mean;
    squares += b.squares + distance * distance * (count * b.count / n);
    mean += distance * (b.count / n);
    count = n;
  }
  /// Of some columns, whose rows are `row` apart: two passes, the second one corrected by what rounding left of the
  /// first (the same authors, Algorithms for Computing the Sample Variance, 1983).
  template <class T> static void of_columns(T const* at, index rows, index row, index columns, moments* to) {
    double mean[detail::most_columns] = {}, rest[detail::most_columns] = {}, squares[detail::most_columns] = {};
    auto const n = static_cast<double>(rows);
    for (index i = 0; i < rows; ++i)
      for (index j = 0; j < columns; ++j) mean[j] += static_cast<double>(at[i * row + j]);
    for (index j = 0; j < columns; ++j) mean[j] /= n;
    for (index i = 0; i < rows; ++i)
      for (index j = 0; j < columns; ++j) {
        double const d = static_cast<double>(at[i * row + j]) - mean[j];
        rest[j] += d;
        squares[j] += d * d;
      }
    for (index j = 0; j < columns; ++j) {
      double const left = squares[j] - rest[j] * rest[j] / n;
      to[j] = {n, mean[j], left < 0 ? 0 : left};
    }
  }
  /// Returns the variance; NaN where there are not more than `given` numbers.
  double result(double given) const { return count > given ? squares / (count - given) : __builtin_nan(""); }
};

/// The largest number, and the sum of exp(x - largest); where the largest is infinite, the sum of exp(x).
struct exponentials {
  double largest = -__builtin_inf(), sum = 0;

  static bool infinite(double x) { return x == __builtin_inf() || x == -__builtin_inf(); }
  static double exp_of(double x) { return rill::exp(rill::packet<double, 16>(x))[0]; }

  void merge(exponentials const& b) {
    double const most = b.largest > largest ? b.largest : largest;
    if (infinite(most)) sum += b.sum;
    else sum = sum * exp_of(largest - most) + b.sum * exp_of(b.largest - most);
    largest = most;
  }
  template <class T> static void of_columns(T const* at, index rows, index row, index columns, exponentials* to) {
    using P = rill::packet<double>;
    constexpr auto lanes = static_cast<index>(P::lanes);
    double largest[detail::most_columns], base[detail::most_columns], sum[detail::most_columns] = {};
    for (double& each : largest) each = -__builtin_inf();
    // Whole packets by a loop of their own: then their conversion needs no memory.
    index const whole = columns / lanes * lanes;
    auto const for_each_packet = [&](auto const& f) {
      for (index i = 0; i < rows; ++i) {
        T const* const from = at + i * row;
        double x[P::lanes];
        for (index j = 0; j < whole; j += lanes) {
          for (index k = 0; k < lanes; ++k) x[k] = static_cast<double>(from[j + k]);
          f(P::load(x), j);
        }
        if (whole == columns) continue;
        for (index k = 0; k < lanes; ++k)
          x[k] = whole + k < columns ? static_cast<double>(from[whole + k]) : -__builtin_inf();
        f(P::load(x), whole);
      }
    };
    for_each_packet([&](P x, index j) {
      P const most = P::load(largest + j);
      select(x > most, x, most).store(largest + j);
    });
    for (index j = 0; j < detail::most_columns; ++j) base[j] = infinite(largest[j]) ? 0 : largest[j];
    for_each_packet([&](P x, index j) { (P::load(sum + j) + rill::exp(x - P::load(base + j))).store(sum + j); });
    for (index j = 0; j < columns; ++j) to[j] = {largest[j], sum[j]};
  }
  /// Returns the logarithm of the sum of exp(x): NaN if there is one, -infinity for no elements.
  double result(double) const {
    if (sum != sum || infinite(largest)) return sum != sum ? sum : largest;
    return largest + rill::log(rill::packet<double, 16>(sum))[0];
  }
};

namespace detail {

// One state of a line, from columns side by side, which are merged as a tree.
template <class State, class T> inline State state_of_line(T const* at, index count) {
  State states[line_columns];
  index const rows = count / line_columns, rest = count % line_columns;
  if (rows > 0) State::of_columns(at, rows, line_columns, line_columns, states);
  if (rest > 0) {
    State last[line_columns];
    State::of_columns(at + rows * line_columns, 1, line_columns, rest, last);
    for (index j = 0; j < rest; ++j) states[j].merge(last[j]);
  }
  for (index half = line_columns / 2; half > 0; half /= 2)
    for (index j = 0; j < half; ++j) states[j].merge(states[j + half]);
  return states[0];
}

// The states of a part: of numbers, or of states that an earlier pass left.
template <class State, class T> inline void states_of(T const* at, index rows, index row, index columns, State* to) {
  if constexpr (std::is_same_v<State, T>) {
    for (index j = 0; j < columns; ++j) to[j] = at[j];
    for (index i = 1; i < rows; ++i)
      for (index j = 0; j < columns; ++j) to[j].merge(at[i * row + j]);
  } else if (row == 1) to[0] = state_of_line<State>(at, rows);
  else State::of_columns(at, rows, row, columns, to);
}

}  // namespace detail

/// Returns how many states a pass leaves in its scratch, its own results first.
inline constexpr index states_of_pass(reduce_shape const& s) noexcept { return s.outer * s.parts() * s.inner; }

/// Computes a pass over the middle extent, of numbers or of the states of an earlier pass: a state for each of [outer,
/// inner].
template <class State, class T>
void reduce_states(reduce_shape const& s, T const* from, State* to, parallel const& threads) noexcept {
  if (s.outer <= 0 || s.inner <= 0) return;
  index const parts = s.parts(), blocks = detail::divide_up(s.inner, detail::most_columns);
  index const size = detail::upper(1, detail::lower(s.part(), s.middle) * detail::lower(detail::most_columns, s.inner));
  share(threads, s.outer * parts * blocks, detail::divide_up(1 << 13, size), [&](index begin, index end) {
    for (index unit = begin; unit < end; ++unit) {
      index const column = unit % blocks * detail::most_columns, part = unit / blocks % parts;
      index const outer = unit / blocks / parts, first = part * s.part();
      index const rows = detail::lower(s.part(), s.middle - first);
      State* const result = to + (part * s.outer + outer) * s.inner + column;
      index const columns = detail::lower(detail::most_columns, s.inner - column);
      if (rows <= 0) {
        for (index j = 0; j < columns; ++j) result[j] = {};
      } else {
        detail::states_of(from + (outer * s.middle + first) * s.inner + column, rows, s.inner, columns, result);
      }
    }
  });
  if (parts == 1) return;
  index const results = s.outer * s.inner;
  share(threads, results, 1 + 1024 / parts, [&](index begin, index end) {
    for (index step = 1; step < parts; step *= 2)
      for (index part = 0; part + step < parts; part += 2 * step)
        for (index i = begin; i < end; ++i) to[part * results + i].merge(to[(part + step) * results + i]);
  });
}

/// What the states come to, rounded once.
template <class State, class T>
void finish_states(State const* states, index count, double given, T* to, parallel const& threads) noexcept {
  share(threads, count, 1 << 10, [&](index begin, index end) {
    for (index i = begin; i < end; ++i) to[i] = static_cast<T>(states[i].result(given));
  });
}

}  // namespace rill::kernels
