// Softmax and cross entropies of rows, with the bits of rill/ops/network/softmax_kernels.hpp. Powers are computed again
// where they are needed: to keep them in the memory of a GPU would take longer.
#pragma once
#include "rill/cuda/text/accumulate.cuh"
#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/row_threads.cuh"
#include "rill/program/elementary.hpp"

namespace rill::text {

/// A row of n numbers: the largest one, and the sum of exp(x - largest). `Source`, here and below, is an array, or what
/// a program computes (operands.cuh); `Sink` is where results go.
template <class T, class Threads, class Source> class softmax_row {
 public:
  using V = accumulated<T>;

  softmax_row(Source const& x, long n)
      : x_(x),
        largest_(Threads::largest(n, [&](long i) { return static_cast<V>(x_[i]); })),
        sum_(Threads::sum(n, [&](long i) { return power(i); })) {}

  /// Returns x - largest.
  V shifted(long i) const { return static_cast<V>(x_[i]) - largest_; }
  /// Returns exp(x - largest).
  V power(long i) const { return rill::exp(rill::packet<V>(shifted(i)))[0]; }
  V sum() const { return sum_; }
  V log_sum() const { return rill::log(rill::packet<V>(sum_))[0]; }

 private:
  Source x_;
  V largest_, sum_;
};

/// Computes y = exp(x) / sum of exp(x) for each of `rows` rows of n elements. y may be x.
template <class T, template <class> class Threads, class Source, class Sink>
void softmax(Source const& x, Sink const& y, long rows, long n) {
  using own = Threads<accumulated<T>>;
  for_each_row<own>(rows, n, [&](long row, long count) {
    softmax_row<T, own, Source> const of(x + row * n, count);
    auto const scale = 1 / of.sum();
    own::for_each(count, [&](long i) { y[row * n + i] = static_cast<T>(of.power(i) * scale); });
  });
}

/// Computes y = x - log(sum of exp(x)) for each row. y may be x.
template <class T, template <class> class Threads, class Source, class Sink>
void log_softmax(Source const& x, Sink const& y, long rows, long n) {
  using own = Threads<accumulated<T>>;
  for_each_row<own>(rows, n, [&](long row, long count) {
    softmax_row<T, own, Source> const of(x + row * n, count);
    auto const log_sum = of.log_sum();
    own::for_each(count, [&](long i) { y[row * n + i] = static_cast<T>(of.shifted(i) - log_sum); });
  });
}

/// Computes for each row the cross entropy of softmax(x) and the class `labels[row]`, which was checked; and its
/// derivative with respect to x: softmax(x), less 1 at the label.
template <class T, class Label, template <class> class Threads, class Source>
void cross_entropy(Source const& x, global<Label const> labels, global<T> losses, global<T> derivative, long rows,
                   long n) {
  using own = Threads<accumulated<T>>;
  using V = accumulated<T>;
  for_each_row<own>(rows, n, [&](long row, long count) {
    softmax_row<T, own, Source> const of(x + row * n, count);
    V const scale = 1 / of.sum(), log_sum = of.log_sum();
    long const label = count > 0 ? static_cast<long>(labels[row]) : 0;
    // 16-bit floats would round the label's own share twice if 1 were subtracted from what is stored.
    own::for_each(count, [&](long i) {
      V const share = of.power(i) * scale;
      derivative[row * n + i] = static_cast<T>(i == label ? share - 1 : share);
    });
    if (count > 0 && own::is_first()) losses[row] = static_cast<T>(log_sum - of.shifted(label));
  });
}

/// Computes the same for a distribution p over the classes: the sum of -p log(softmax(x)), where a p of 0 counts for
/// nothing; and its derivative with respect to x: softmax(x) times the sum of p, less p.
template <class T, template <class> class Threads, class Source>
void cross_entropy_dense(Source const& x, global<T const> distributions, global<T> losses, global<T> derivative,
                         long rows, long n) {
  using own = Threads<accumulated<T>>;
  using V = accumulated<T>;
  for_each_row<own>(rows, n, [&](long row, long count) {
    softmax_row<T, own, Source> const of(x + row * n, count);
    auto const p = [&](long i) { return static_cast<V>(distributions[row * n + i]); };
    V const log_sum = of.log_sum(), mass = own::sum(count, p);
    V const loss = own::sum(count, [&](long i) { return p(i) == 0 ? V(0) : p(i) * (log_sum - of.shifted(i)); });
    V const scale = mass / of.sum();
    own::for_each(count, [&](long i) { derivative[row * n + i] = static_cast<T>(of.power(i) * scale - p(i)); });
    if (row < rows && own::is_first()) losses[row] = static_cast<T>(loss);
  });
}

}  // namespace rill::text
