// Softmax and cross entropy, row by row, on raw pointers. A row's sums have one order, whoever computes it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "rill/ops/base/share.hpp"
#include "rill/program/elementary.hpp"
#include "rill/type/half.hpp"

namespace rill::kernels {

namespace detail {

/// Half of a packet's lanes: those from `From` on.
template <std::size_t From, class V, std::size_t Bytes, std::size_t... Index>
[[gnu::always_inline]] inline rill::packet<V, Bytes / 2> half_of(rill::packet<V, Bytes> a,
                                                                 std::index_sequence<Index...>) {
  return rill::packet<V, Bytes / 2>(__builtin_shufflevector(a.raw, a.raw, int{From + Index}...));
}

/// Returns combines all lanes by `f`, in halves.
template <class V, std::size_t Bytes, class F> [[gnu::always_inline]] inline V fold(rill::packet<V, Bytes> a, F f) {
  if constexpr (Bytes == 2 * sizeof(V)) {
    return f(rill::packet<V, Bytes>(a[0]), rill::packet<V, Bytes>(a[1]))[0];
  } else {
    constexpr std::size_t half = Bytes / sizeof(V) / 2;
    constexpr std::make_index_sequence<half> each;
    return fold(f(half_of<0>(a, each), half_of<half>(a, each)), f);
  }
}

/// Adds up in as many lanes as the widest register has, and then those as a tree: in one order, whatever the width of
/// this processor's.
template <class V> class lane_sums {
 public:
  using P = rill::packet<V>;
  void add(std::size_t at, P more) { parts_[at / P::lanes % parts] += more; }
  V total() const {
    auto sums = parts_;
    for (std::size_t half = parts / 2; half > 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    return fold(sums[0], [](auto a, auto b) { return a + b; });
  }

 private:
  static constexpr std::size_t parts = 64 / sizeof(V) / P::lanes;
  std::array<P, parts> parts_ = [] {
    std::array<P, parts> none;
    none.fill(0);
    return none;
  }();
};

/// A few rows of n numbers at a time: what one step does for each of them does not wait for the others, so each step is
/// a loop over all. Exponentials are computed once and kept, each row's from a place of its own that is whole packets
/// long; those of a row too long for that are kept where its result will be, or computed again if that has 16 bits.
/// 16-bit floats are computed with as float.
template <class T> class softmax_rows {
 public:
  using V = std::conditional_t<(sizeof(T) < 4), float, T>;
  using P = rill::packet<V>;
  static constexpr std::size_t lanes = P::lanes, most = 64;

  alignas(64) V largest[most], sum[most];  ///< of each row: the largest number, and the sum of exp(x - largest)

  /// Rows from `x` on whose results, as many numbers, will be written to `to`.
  softmax_rows(T const* x, std::size_t rows, std::size_t n, T* to)
      : x_(x), end_(x + rows * n), to_(to), n_(n), stride_((n + lanes - 1) / lanes * lanes) {}

  /// Calls `f(first, count)` for runs of [begin, end), the rows of each run having been taken.
  template <class F> void for_each_run(std::size_t begin, std::size_t end, F const& f) {
    std::size_t const fit = stride_ > 0 ? room / stride_ : most, at_once = fit < 1 ? 1 : fit < most ? fit : most;
    for (std::size_t first = begin, count; first < end; first += count) {
      count = end - first < at_once ? end - first : at_once;
      take(first, count);
      f(first, count);
    }
  }

  /// Returns the elements of a row from `at` on, followed by `rest` beyond its end.
  [[gnu::always_inline]] P load(T const* row, T const* end, std::size_t at, V rest) const {
    if constexpr (std::is_same_v<T, V>)
      if (at + lanes <= n_) return P::load(row + at);
    return load_last(row, end, at, rest);
  }
  /// Writes elements of a row of a result from `at` on. Those behind its end belong to a row that is written later, or
  /// lie behind `end`.
  void store(T* row, T const* end, std::size_t at, P value) const {
    if constexpr (std::is_same_v<T, V>) {
      if (static_cast<std::size_t>(end - row) >= at + lanes) return value.store(row + at);
      value.store(row + at, n_ - at);
    } else {
      for (std::size_t i = 0; i < lanes && at + i < n_; ++i) row[at + i] = T(value[i]);
    }
  }

  /// Returns x - largest, of row `r` of the run.
  P shifted(std::size_t r, std::size_t at) const {
    return load(row(r), end_, at, -std::numeric_limits<V>::infinity()) - P(largest[r]);
  }
  /// Returns exp(x - largest); 0 behind the end.
  P power(std::size_t r, std::size_t at) const {
    if (stride_ <= room) return P::load(powers_ + r * stride_ + at);
    if constexpr (in_place) return load(to_ + first_ * n_, to_ + (first_ + 1) * n_, at, 0);
    else return exp(shifted(r, at));
  }
  /// Returns the same of one element.
  V power_at(std::size_t r, std::size_t at) const {
    if (stride_ <= room) return powers_[r * stride_ + at];
    return exp(P(static_cast<V>(row(r)[at]) - largest[r]))[0];
  }

  /// The logarithms of the sums.
  void log_sums(V* to, std::size_t count) const {
    for (std::size_t r = 0; r < count; r += lanes) log(P::load(sum + r)).store(to + r);
  }

 private:
  static constexpr std::size_t room = 2048;
  static constexpr bool in_place = std::is_same_v<T, V>;

  T const *x_, *end_;
  T* to_;
  std::size_t n_, stride_, first_ = 0;
  alignas(64) V powers_[room];

  T const* row(std::size_t r) const { return x_ + (first_ + r) * n_; }

  P load_last(T const* row, T const* end, std::size_t at, V rest) const {
    if constexpr (std::is_same_v<T, V>)
      if (static_cast<std::size_t>(end - row) >= at + lanes) return select(before_end(at), P::load(row + at), P(rest));
    V values[lanes];
    for (std::size_t i = 0; i < lanes; ++i) values[i] = at + i < n_ ? static_cast<V>(row[at + i]) : rest;
    return P::load(values);
  }

  // Which of the lanes from `at` on belong to the row.
  typename P::truth before_end(std::size_t at) const {
    V index[lanes];
    for (std::size_t i = 0; i < lanes; ++i) index[i] = static_cast<V>(i);
    return P::load(index) < P(static_cast<V>(n_ - at));
  }

  void take(std::size_t first, std::size_t count) {
    first_ = first;
    for (std::size_t r = 0; r < count; ++r) largest[r] = largest_of(r);
    if (stride_ <= room || in_place)
      for (std::size_t r = 0; r < count; ++r) keep_powers(r);
    for (std::size_t r = 0; r < count; ++r) sum[r] = sum_of(r);
    for (std::size_t r = count; r % lanes != 0; ++r) sum[r] = 1;
  }

  void keep_powers(std::size_t r) {
    for (std::size_t i = 0; i < n_; i += lanes) {
      P const power = exp(shifted(r, i));
      if (stride_ <= room) power.store(powers_ + r * stride_ + i);
      else store(to_ + first_ * n_, to_ + (first_ + 1) * n_, i, power);
    }
  }

  V largest_of(std::size_t r) const {
    V const least = -std::numeric_limits<V>::infinity();
    P top = least;
    for (std::size_t i = 0; i < n_; i += lanes) {
      P const next = load(row(r), end_, i, least);
      top = select(next > top, next, top);  // a NaN makes the sum NaN
    }
    return fold(top, [](auto a, auto b) { return select(b > a, b, a); });
  }

  V sum_of(std::size_t r) const {
    lane_sums<V> all;
    for (std::size_t i = 0; i < n_; i += lanes) all.add(i, power(r, i));
    return all.total();
  }
};

/// Calls `f(run, first, count)` for runs of rows of n elements, whose results are written to `to`.
template <class T, class F>
void for_each_softmax(T const* x, T* to, std::size_t rows, std::size_t n, parallel const& threads,
                      F const& f) noexcept {
  auto const least = static_cast<std::ptrdiff_t>(8192 / (n + 1) + 1);
  share(threads, static_cast<std::ptrdiff_t>(rows), least, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    softmax_rows<T> run(x, rows, n, to);
    run.for_each_run(static_cast<std::size_t>(begin), static_cast<std::size_t>(end),
                     [&](std::size_t first, std::size_t count) { f(run, first, count); });
  });
}

}  // namespace detail

/// Computes y = exp(x) / sum of exp(x) for each of `rows` rows of n elements.
template <class T>
void softmax(std::size_t rows, std::size_t n, void const* from, void* to, parallel const& threads) noexcept {
  using P = typename detail::softmax_rows<T>::P;
  auto* const all = static_cast<T*>(to);
  detail::for_each_softmax(static_cast<T const*>(from), all, rows, n, threads, [=](auto& x, auto first, auto count) {
    T* y = all + first * n;
    T* const end = y + count * n;
    for (std::size_t r = 0; r < count; ++r, y += n) {
      P const scale = 1 / x.sum[r];
      for (std::size_t i = 0; i < n; i += P::lanes) x.store(y, end, i, x.power(r, i) * scale);
    }
  });
}

/// Computes y = x - log(sum of exp(x)) for each of `rows` rows of n elements. y does not overlap x.
template <class T>
void log_softmax(std::size_t rows, std::size_t n, void const* from, void* to, parallel const& threads) noexcept {
  using P = typename detail::softmax_rows<T>::P;
  using V = typename detail::softmax_rows<T>::V;
  auto* const all = static_cast<T*>(to);
  detail::for_each_softmax(static_cast<T const*>(from), all, rows, n, threads, [=](auto& x, auto first, auto count) {
    V log_sums[detail::softmax_rows<T>::most];
    x.log_sums(log_sums, count);
    T* y = all + first * n;
    T* const end = y + count * n;
    for (std::size_t r = 0; r < count; ++r, y += n)
      for (std::size_t i = 0; i < n; i += P::lanes) x.store(y, end, i, x.shifted(r, i) - P(log_sums[r]));
  });
}

/// Computes for each row the cross entropy of softmax(x) and the class `labels[row]`, which was checked; and its
/// derivative with respect to x: softmax(x), less 1 at the label.
template <class T>
void cross_entropy(std::size_t rows, std::size_t n, void const* from, void const* labels, bool wide, void* losses,
                   void* derivative, parallel const& threads) noexcept {
  using P = typename detail::softmax_rows<T>::P;
  using V = typename detail::softmax_rows<T>::V;
  auto const* const all = static_cast<T const*>(from);
  auto* const to = static_cast<T*>(derivative);
  detail::for_each_softmax(all, to, rows, n, threads, [=](auto& x, auto first, auto count) {
    V log_sums[detail::softmax_rows<T>::most];
    x.log_sums(log_sums, count);
    T* d = to + first * n;
    T* const end = d + count * n;
    for (std::size_t r = 0; r < count; ++r, d += n) {
      auto const row = first + r;
      auto const label = static_cast<std::size_t>(wide ? static_cast<std::int64_t const*>(labels)[row]
                                                       : static_cast<std::int32_t const*>(labels)[row]);
      V const scale = 1 / x.sum[r], at_label = static_cast<V>(all[row * n + label]) - x.largest[r];
      // The label's own share less 1, from its power: 16-bit floats would round twice.
      T const own = static_cast<T>(x.power_at(r, label) * scale - 1);
      for (std::size_t i = 0; i < n; i += P::lanes) x.store(d, end, i, x.power(r, i) * P(scale));
      d[label] = own;
      static_cast<T*>(losses)[row] = static_cast<T>(log_sums[r] - at_label);
    }
  });
}

/// Computes the same for a distribution over the classes: the sum of -p log(softmax(x)), where a p of 0 counts for
/// nothing; and its derivative with respect to x: softmax(x) times the sum of p, less p.
template <class T>
void cross_entropy_dense(std::size_t rows, std::size_t n, void const* from, void const* distributions, void* losses,
                         void* derivative, parallel const& threads) noexcept {
  using P = typename detail::softmax_rows<T>::P;
  using V = typename detail::softmax_rows<T>::V;
  auto const* const all = static_cast<T const*>(distributions);
  auto* const to = static_cast<T*>(derivative);
  detail::for_each_softmax(static_cast<T const*>(from), to, rows, n, threads, [=](auto& x, auto first, auto count) {
    V log_sums[detail::softmax_rows<T>::most];
    x.log_sums(log_sums, count);
    T* d = to + first * n;
    T* const end = d + count * n;
    for (std::size_t r = 0; r < count; ++r, d += n) {
      T const* const p = all + (first + r) * n;
      detail::lane_sums<V> mass, loss;
      for (std::size_t i = 0; i < n; i += P::lanes) {
        P const each = x.load(p, all + rows * n, i, 0);
        mass.add(i, each);
        loss.add(i, select(each == P(0), P(0), each * (P(log_sums[r]) - x.shifted(r, i))));
      }
      P const scale = mass.total() / x.sum[r];
      for (std::size_t i = 0; i < n; i += P::lanes)
        x.store(d, end, i, x.power(r, i) * scale - x.load(p, all + rows * n, i, 0));
      static_cast<T*>(losses)[first + r] = static_cast<T>(loss.total());
    }
  });
}

}  // namespace rill::kernels
