// Maxima and means over windows of images, and their derivatives, in the order of
// rill/ops/network/pooling_kernels.hpp: a thread computes one element of the result.
#pragma once
#include <limits>
#include <type_traits>

#include "rill/cuda/text/accumulate.cuh"
#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/image_form.hpp"
#include "rill/cuda/text/threads.cuh"

namespace rill::text {

using cuda::image_windows;
using cuda::pixel;

/// Calls f(number) for each element of x in the window of an element of y, row by row.
template <class Index, class F>
void for_each_in_window(image_windows<Index> const& w, pixel<Index> const& of, F const& f) {
  auto const rows = w.rows.pixels_in(of.row, w.x.height), columns = w.columns.pixels_in(of.column, w.x.width);
  for (Index p = rows.begin; p < rows.end; ++p)
    for (Index q = columns.begin; q < columns.end; ++q) f(w.x.number(of.image, p, q, of.channel));
}
/// Calls f(number, row, column) for each element of y in whose window an element of x lies, row by row.
template <class Index, class F>
void for_each_window_over(image_windows<Index> const& w, pixel<Index> const& of, F const& f) {
  auto const rows = w.rows.windows_over(of.row, w.y.height), columns = w.columns.windows_over(of.column, w.y.width);
  for (Index p = rows.begin; p < rows.end; ++p)
    for (Index q = columns.begin; q < columns.end; ++q) f(w.y.number(of.image, p, q, of.channel), p, q);
}

template <class V> constexpr V least_value() {
  if constexpr (std::is_floating_point_v<V>) return -std::numeric_limits<V>::infinity();
  else return std::numeric_limits<V>::min();
}
/// The first of the largest elements of a window, or its first NaN. Of no elements: `number` is -1, the value the
/// least.
template <class V, class Index> struct largest_element {
  Index number = -1;
  V value = least_value<V>();

  void look_at(Index i, V x) {
    if (number < 0 || x > value || (x != x && value == value)) number = i, value = x;
  }
};
template <class T, class Index>
largest_element<accumulated<T>, Index> largest_in_window(global<T const> x, image_windows<Index> const& w, Index of) {
  largest_element<accumulated<T>, Index> best;
  for_each_in_window(w, w.y.place(of), [&](Index i) { best.look_at(i, static_cast<accumulated<T>>(x[i])); });
  return best;
}

/// Each function below computes `n` elements.
template <class T, class Index> void max_pool(global<T const> x, global<T> y, Index n, image_windows<Index> const& w) {
  for_each_index(n, [&](Index i) { y[i] = static_cast<T>(largest_in_window(x, w, i).value); });
}
/// Finds the numbers of the largest elements of windows.
template <class T, class Index>
void max_pool_places(global<T const> x, global<Index> places, Index n, image_windows<Index> const& w) {
  for_each_index(n, [&](Index i) { places[i] = largest_in_window(x, w, i).number; });
}
template <class T, class Index>
void max_pool_gradient(global<Index const> places, global<T const> dy, global<T> dx, Index n,
                       image_windows<Index> const& w) {
  for_each_index(n, [&](Index i) {
    accumulated<T> sum = 0;
    for_each_window_over(w, w.x.place(i), [&](Index from, Index, Index) {
      if (places[from] == i) sum += static_cast<accumulated<T>>(dy[from]);
    });
    dx[i] = static_cast<T>(sum);
  });
}
/// Takes elements of another array at the places of the largest elements of x; 0 for windows without elements.
template <class T, class Index>
void max_pool_pick(global<T const> x, global<T const> from, global<T> y, Index n, image_windows<Index> const& w) {
  for_each_index(n, [&](Index i) {
    Index const place = largest_in_window(x, w, i).number;
    y[i] = place < 0 ? static_cast<T>(0) : from[place];
  });
}

/// Returns what the sum over a window is divided by.
template <class V, class Index> V elements_in_window(image_windows<Index> const& w, Index row, Index column) {
  auto const rows = w.rows.pixels_in(row, w.x.height), columns = w.columns.pixels_in(column, w.x.width);
  long const count = w.counts_padding ? static_cast<long>(w.rows.size) * w.columns.size
                                      : static_cast<long>(rows.end - rows.begin) * (columns.end - columns.begin);
  return static_cast<V>(count < 1 ? 1 : count);
}
template <class T, class Index> void avg_pool(global<T const> x, global<T> y, Index n, image_windows<Index> const& w) {
  using V = accumulated<T>;
  for_each_index(n, [&](Index i) {
    auto const of = w.y.place(i);
    V sum = 0;
    for_each_in_window(w, of, [&](Index from) { sum += static_cast<V>(x[from]); });
    y[i] = static_cast<T>(sum / elements_in_window<V>(w, of.row, of.column));
  });
}
template <class T, class Index>
void avg_pool_gradient(global<T const> dy, global<T> dx, Index n, image_windows<Index> const& w) {
  using V = accumulated<T>;
  for_each_index(n, [&](Index i) {
    V sum = 0;
    for_each_window_over(w, w.x.place(i), [&](Index from, Index row, Index column) {
      sum += static_cast<V>(dy[from]) / elements_in_window<V>(w, row, column);
    });
    dx[i] = static_cast<T>(sum);
  });
}

}  // namespace rill::text
