// Resized images, parts of images, and their derivatives, as rill/ops/image/ has them: a thread computes one element of
// the result.
#pragma once
#include <cstdint>
#include <type_traits>

#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/image_form.hpp"
#include "rill/cuda/text/threads.cuh"
#include "rill/type/half.hpp"

namespace rill::text {

using cuda::image_change;

/// Each pixel is the pixel of x that covers its centre.
template <class Word, class Index>
void resize_nearest(global<Word const> x, global<Word> y, Index n, image_change<Index> const& c) {
  auto const source = [](Index i, Index from, Index to) { return (2 * i + 1) * from / (2 * to); };
  for_each_index(n, [&](Index i) {
    auto const to = c.y.place(i);
    y[i] = x[c.x.number(to.image, source(to.row, c.x.height, c.y.height), source(to.column, c.x.width, c.y.width),
                        to.channel)];
  });
}

/// What pixels are mixed in.
template <class T> using mixed_as = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Where along an axis a pixel of the result is taken from: `weight` of the way from the pixel `lower` to the next one.
template <class A, class Index> struct between {
  Index lower;
  A weight;

  between(Index i, Index from, Index to) : lower(0), weight(0) {
    Index const twice = (2 * i + 1) * from - to;  // 2 * to times the position among the centres
    if (twice < 0) return;
    lower = twice / (2 * to);
    if (lower + 1 < from) weight = quotient(twice - lower * 2 * to, 2 * to);
  }

 private:
  // The host rounds a quotient of doubles to A. Of numbers below 2^24, which have an int as Index, this is the quotient
  // of floats: S. Figueroa, "When is double rounding innocuous?", 1995.
  static A quotient(Index a, Index b) {
    if constexpr (sizeof(Index) == 4) return static_cast<A>(a) / static_cast<A>(b);
    else return static_cast<A>(static_cast<double>(a) / static_cast<double>(b));
  }
};

template <class T, class Index>
void resize_bilinear(global<T const> x, global<T> y, Index n, image_change<Index> const& c) {
  using A = mixed_as<T>;
  for_each_index(n, [&](Index i) {
    auto const to = c.y.place(i);
    between<A, Index> const row(to.row, c.x.height, c.y.height), column(to.column, c.x.width, c.y.width);
    // A pixel of weight 0 is not read: it may be infinite.
    auto const mixed = [](auto const& first, auto const& second, A weight) {
      A const a = first();
      return weight == 0 ? a : a + (second() - a) * weight;
    };
    auto const in_row = [&](Index of) {
      auto const read = [&](Index at) { return static_cast<A>(x[c.x.number(to.image, of, at, to.channel)]); };
      return mixed([&] { return read(column.lower); }, [&] { return read(column.lower + 1); }, column.weight);
    };
    y[i] = static_cast<T>(mixed([&] { return in_row(row.lower); }, [&] { return in_row(row.lower + 1); }, row.weight));
  });
}

/// The shares that two pixels along an axis have in a pixel of the result: the pixel `lower` and the next one.
template <class A> struct shares {
  A of_lower, of_next;
  int lower;

  A of(long at) const { return at == lower ? of_lower : of_next; }
};
/// The pixels of the result, [first, last), in which a pixel has a share.
struct pixels_reached {
  int first, last;
};

/// An axis of an image of `from` pixels that is resized to `to`. Extents are at most 2^24, and products of them have 64
/// bits.
struct resized_axis {
  long from, to;
  bool linear;

  template <class A> shares<A> shares_in(long i) const {
    long const above = (2 * i + 1) * from - (linear ? to : 0), lower = above < 0 ? 0 : above / (2 * to);
    double const weight = !linear || above < 0 || lower + 1 >= from
                              ? 0
                              : static_cast<double>(above - lower * 2 * to) / static_cast<double>(2 * to);
    return {static_cast<A>(1 - weight), static_cast<A>(weight), static_cast<int>(lower)};
  }
  pixels_reached reached_from(long at) const { return {first_from(linear ? at - 1 : at), first_from(at + 1)}; }

 private:
  // The first pixel of the result whose `lower` is at least `at`, or `to`: (2 i + 1) from >= (2 at + linear) to.
  int first_from(long at) const {
    if (at <= 0) return 0;
    long const odd = ((2 * at + (linear ? 1 : 0)) * to + from - 1) / from, i = odd / 2;
    return static_cast<int>(i < to ? i : to);
  }
};

/// Writes for the rows and columns of y which shares pixels of x have in them, and for those of x what they reach.
template <class A>
void find_shares(global<pixels_reached> reached, global<shares<A>> all, image_change<long> const& c, bool linear) {
  resized_axis const down{c.x.height, c.y.height, linear}, across{c.x.width, c.y.width, linear};
  for_each_index(down.to + across.to,
                 [&](long i) { all[i] = i < down.to ? down.shares_in<A>(i) : across.shares_in<A>(i - down.to); });
  for_each_index(down.from + across.from, [&](long i) {
    reached[i] = i < down.from ? down.reached_from(i) : across.reached_from(i - down.from);
  });
}
/// Each pixel of dx sums over the pixels of dy that it has a share in, row by row.
template <class T, class Index>
void resize_gradient(global<pixels_reached const> reached, global<shares<mixed_as<T>> const> all, global<T const> dy,
                     global<T> dx, Index n, image_change<Index> const& c) {
  using A = mixed_as<T>;
  for_each_index(n, [&](Index i) {
    auto const to = c.x.place(i);
    pixels_reached const rows = reached[to.row], columns = reached[c.x.height + to.column];
    A sum = 0;
    for (Index p = rows.first; p < rows.last; ++p) {
      A along = 0;
      for (Index q = columns.first; q < columns.last; ++q)
        along += static_cast<A>(dy[c.y.number(to.image, p, q, to.channel)]) * all[c.y.height + q].of(to.column);
      sum += along * all[p].of(to.row);
    }
    dx[i] = static_cast<T>(sum);
  });
}

/// The first row and column of the part of an image. Positions wrap round: 0 follows the last one.
template <class Index> struct corner {
  Index row, column;

  template <class Position>
  corner(global<Position const> begin, Index image, image_change<Index> const& c)
      : row(wrapped(begin[2 * image], c.x.height - c.y.height)),
        column(wrapped(begin[2 * image + 1], c.x.width - c.y.width)) {}

 private:
  static Index wrapped(long begin, Index last) {
    long const at = begin % (static_cast<long>(last) + 1);
    return static_cast<Index>(at < 0 ? at + last + 1 : at);
  }
};
template <class Word, class Position, class Index>
void crop(global<Word const> x, global<Position const> begin, global<Word> y, Index n, image_change<Index> const& c) {
  for_each_index(n, [&](Index i) {
    auto const to = c.y.place(i);
    corner<Index> const first(begin, to.image, c);
    y[i] = x[c.x.number(to.image, first.row + to.row, first.column + to.column, to.channel)];
  });
}
template <class Word, class Position, class Index>
void crop_gradient(global<Position const> begin, global<Word const> dy, global<Word> dx, Index n,
                   image_change<Index> const& c) {
  for_each_index(n, [&](Index i) {
    auto const to = c.x.place(i);
    corner<Index> const first(begin, to.image, c);
    Index const row = to.row - first.row, column = to.column - first.column;
    bool const inside = row >= 0 && row < c.y.height && column >= 0 && column < c.y.width;
    dx[i] = inside ? dy[c.y.number(to.image, row, column, to.channel)] : Word(0);
  });
}

}  // namespace rill::text
