// Softmax and cross entropy, row by row, on raw pointers. A row's sums have one order, whoever computes it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "rill/ops/share.hpp"
#include "rill/program/elementary.hpp"
#include "rill/type/half.hpp"

namespace rill::kernels {

namespace detail {

/// A row of n numbers, computed with as packets; 16-bit floats are computed with as float.
template <class T> struct softmax_row {
  using V = std::conditional_t<(sizeof(T) < 4), float, T>;
  using P = rill::packet<V>;
  static constexpr std::size_t lanes = P::lanes;

  T const* x;
  std::size_t n;
  V largest = -std::numeric_limits<V>::infinity(), sum = 0;

  /// Elements from `at` on; what lies behind the end is `rest`.
  static P load(T const* from, std::size_t at, std::size_t n, V rest) {
    if constexpr (std::is_same_v<T, V>)
      if (at + lanes <= n) return P::load(from + at);
    V values[lanes];
    for (std::size_t i = 0; i < lanes; ++i) values[i] = at + i < n ? static_cast<V>(from[at + i]) : rest;
    return P::load(values);
  }
  static void store(T* to, std::size_t at, std::size_t n, P value) {
    if constexpr (std::is_same_v<T, V>) {
      if (at + lanes <= n) return value.store(to + at);
      value.store(to + at, n - at);
    } else {
      for (std::size_t i = 0; i < lanes && at + i < n; ++i) to[at + i] = T(value[i]);
    }
  }
  /// Adds up in as many lanes as the widest register has, and then those as a tree: in one order, whatever the width of
  /// this processor's.
  class lane_sums {
   public:
    void add(std::size_t at, P more) { parts_[at / lanes % parts] += more; }
    V total() const {
      V values[line];
      for (std::size_t i = 0; i < parts; ++i) parts_[i].store(values + i * lanes);
      for (std::size_t half = line / 2; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; ++i) values[i] += values[i + half];
      return values[0];
    }

   private:
    static constexpr std::size_t line = 64 / sizeof(V), parts = line / lanes;
    std::array<P, parts> parts_ = [] {
      std::array<P, parts> none;
      none.fill(0);
      return none;
    }();
  };

  /// The largest element and the sum of exp(x - largest).
  softmax_row(T const* row, std::size_t count) : x(row), n(count) {
    P top = largest;
    for (std::size_t i = 0; i < n; i += lanes) {
      P const next = load(x, i, n, largest);
      top = select(next > top, next, top);  // a NaN makes the sum NaN
    }
    V values[lanes];
    top.store(values);
    for (V v : values) largest = v > largest ? v : largest;
    lane_sums all;
    for (std::size_t i = 0; i < n; i += lanes) all.add(i, power(i));
    sum = all.total();
  }

  P shifted(std::size_t at) const { return load(x, at, n, -std::numeric_limits<V>::infinity()) - P(largest); }
  /// exp(x - largest); 0 behind the end.
  P power(std::size_t at) const { return exp(shifted(at)); }
};

}  // namespace detail

/// y = exp(x) / sum of exp(x) for each of `rows` rows of n elements.
template <class T>
void softmax(std::size_t rows, std::size_t n, void const* from, void* to, parallel const& threads) noexcept {
  auto const least = static_cast<std::ptrdiff_t>(8192 / (n + 1) + 1);
  share(threads, static_cast<std::ptrdiff_t>(rows), least, [=](std::ptrdiff_t begin, std::ptrdiff_t end) {
    for (auto r = static_cast<std::size_t>(begin); r < static_cast<std::size_t>(end); ++r) {
      using row = detail::softmax_row<T>;
      row const x(static_cast<T const*>(from) + r * n, n);
      typename row::P const scale = 1 / x.sum;
      for (std::size_t i = 0; i < n; i += row::lanes) row::store(static_cast<T*>(to) + r * n, i, n, x.power(i) * scale);
    }
  });
}

/// For each row the cross entropy of softmax(x) and the class `labels[row]`, which was checked; and its derivative with
/// respect to x: softmax(x), less 1 at the label.
template <class T>
void cross_entropy(std::size_t rows, std::size_t n, void const* from, void const* labels, bool wide, void* losses,
                   void* derivative, parallel const& threads) noexcept {
  auto const least = static_cast<std::ptrdiff_t>(8192 / (n + 1) + 1);
  share(threads, static_cast<std::ptrdiff_t>(rows), least, [=](std::ptrdiff_t begin, std::ptrdiff_t end) {
    for (auto r = static_cast<std::size_t>(begin); r < static_cast<std::size_t>(end); ++r) {
      using row = detail::softmax_row<T>;
      using V = typename row::V;
      row const x(static_cast<T const*>(from) + r * n, n);
      auto const label = static_cast<std::size_t>(wide ? static_cast<std::int64_t const*>(labels)[r]
                                                       : static_cast<std::int32_t const*>(labels)[r]);
      T* const d = static_cast<T*>(derivative) + r * n;
      typename row::P const scale = 1 / x.sum;
      for (std::size_t i = 0; i < n; i += row::lanes) row::store(d, i, n, x.power(i) * scale);
      V const at_label = static_cast<V>(x.x[label]) - x.largest;
      // The label's own share less 1, from its logit: 16-bit floats would round twice.
      d[label] = static_cast<T>(exp(typename row::P(at_label))[0] * scale[0] - 1);
      static_cast<T*>(losses)[r] = static_cast<T>(log(typename row::P(x.sum))[0] - at_label);
    }
  });
}

/// The same for a distribution over the classes: the sum of -p log(softmax(x)), where a p of 0 counts for nothing; and
/// its derivative with respect to x: softmax(x) times the sum of p, less p.
template <class T>
void cross_entropy_dense(std::size_t rows, std::size_t n, void const* from, void const* distributions, void* losses,
                         void* derivative, parallel const& threads) noexcept {
  auto const least = static_cast<std::ptrdiff_t>(8192 / (n + 1) + 1);
  share(threads, static_cast<std::ptrdiff_t>(rows), least, [=](std::ptrdiff_t begin, std::ptrdiff_t end) {
    for (auto r = static_cast<std::size_t>(begin); r < static_cast<std::size_t>(end); ++r) {
      using row = detail::softmax_row<T>;
      using P = typename row::P;
      row const x(static_cast<T const*>(from) + r * n, n);
      T const* const p = static_cast<T const*>(distributions) + r * n;
      P const log_sum = log(P(x.sum));
      typename row::lane_sums mass, loss;
      for (std::size_t i = 0; i < n; i += row::lanes) {
        P const each = row::load(p, i, n, 0);
        mass.add(i, each);
        loss.add(i, select(each == P(0), P(0), each * (log_sum - x.shifted(i))));
      }
      P const scale = mass.total() / x.sum;
      for (std::size_t i = 0; i < n; i += row::lanes)
        row::store(static_cast<T*>(derivative) + r * n, i, n, x.power(i) * scale - row::load(p, i, n, 0));
      static_cast<T*>(losses)[r] = static_cast<T>(loss.total());
    }
  });
}

}  // namespace rill::kernels
