// Convolutions as products of matrices (product.cuh), in the order of summation of
// rill/ops/network/convolution_kernels.hpp. Patches are read from the images when a product needs them, and are not
// stored. `I` is the type of counters: int, or long for large arrays.
#pragma once
#include <cstdint>
#include <type_traits>

#include "rill/cuda/text/convolution_form.hpp"
#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/product.cuh"
#include "rill/cuda/text/threads.cuh"

namespace rill::text {

using cuda::convolution_form;
using cuda::divisor;
using cuda::window_form;

/// A place in an image or beyond it, or a step between two: rows, columns, and elements of the array.
template <class I> struct place {
  I y, x, elements;

  friend place operator+(place a, place b) { return {a.y + b.y, a.x + b.x, a.elements + b.elements}; }
  bool is_in(window_form const& w) const {
    using size = std::make_unsigned_t<I>;
    return static_cast<size>(y) < static_cast<size>(w.height) && static_cast<size>(x) < static_cast<size>(w.width);
  }
};

/// A number of three digits, each but the first below an extent.
template <class I> struct digits {
  I first, second, third;

  digits(I number, divisor const& second_extent, divisor const& third_extent) {
    I const rest = third_extent.divide(number);
    third = number - rest * static_cast<I>(third_extent);
    first = second_extent.divide(rest);
    second = rest - first * static_cast<I>(second_extent);
  }
};

/// Returns where the window of a pixel of the result begins.
template <class I> place<I> window_of(I pixel, window_form const& w) {
  digits<I> const at(pixel, w.out_height, w.out_width);
  I const y = at.second * static_cast<I>(w.stride_y) - static_cast<I>(w.top);
  I const x = at.third * static_cast<I>(w.stride_x) - static_cast<I>(w.left);
  I const row = at.first * static_cast<I>(w.height) + y;
  return {y, x, (row * static_cast<I>(w.width) + x) * static_cast<I>(w.channels)};
}
/// Returns where an element of a window lies from the window's begin on.
template <class I> place<I> in_window(I element, window_form const& w) {
  digits<I> const at(element, w.filter_width, w.channels);
  I const y = at.first * static_cast<I>(w.dilation_y), x = at.second * static_cast<I>(w.dilation_x);
  return {y, x, (y * static_cast<I>(w.width) + x) * static_cast<I>(w.channels) + at.third};
}

/// Reads a thread's share of patches: of lines that are pixels, or of lines that are elements of a window.
template <bool Pixels, class I, class T, int Side> class patch_reader : public share_of_tile<Side> {
 public:
  using share = share_of_tile<Side>;
  using share::apart, share::count;

  /// `first`: the number of the tile's first line; `lines`: how many there are from there on.
  patch_reader(global<T const> images, window_form const& w, std::int64_t first, std::int64_t lines)
      : share(lines, Pixels), images_(images), windows_(w) {
    for (int i = 0; i < count; ++i) lines_[i] = place_of<Pixels>(static_cast<I>(first) + this->line() + i * apart);
  }

  /// Reads this thread's numbers of the slab at this depth, which has so many steps.
  void read(T (&to)[count], std::int64_t depth, int steps) const {
    auto const step = place_of<!Pixels>(static_cast<I>(depth) + this->step());
    for (int i = 0; i < count; ++i) {
      auto const at = lines_[i] + step;
      to[i] = static_cast<T>(sum_of<T>{});
      if (this->has(i, steps) && at.is_in(windows_)) to[i] = images_[at.elements];
    }
  }

 private:
  template <bool Pixel> place<I> place_of(I number) const {
    if constexpr (Pixel) return window_of<I>(number, windows_);
    else return in_window<I>(number, windows_);
  }

  global<T const> images_;
  window_form const& windows_;
  place<I> lines_[count];
};

/// Reads a thread's share of the columns of a filter for a derivative with respect to images: a column is a channel,
/// and goes through the filter's taps from the last one on, with out_channels numbers each.
template <class I, class T, int Side> class tap_reader : public share_of_tile<Side> {
 public:
  using share = share_of_tile<Side>;
  using share::apart, share::count;

  tap_reader(global<T const> filter, convolution_form const& form, std::int64_t first, std::int64_t lines)
      : share(lines, true), form_(form) {
    first_ = filter + (static_cast<I>(first) + this->line()) * static_cast<I>(form.windows.channels);
  }

  void read(T (&to)[count], std::int64_t depth, int steps) const {
    auto const& w = form_.windows;
    digits<I> const at(static_cast<I>(depth) + this->step(), w.filter_width, w.channels);
    I const tap = static_cast<I>(form_.images.last_tap) - at.first * static_cast<I>(form_.images.tap_row) -
                  at.second * static_cast<I>(form_.images.tap_column);
    auto const from = first_ + (tap + at.third);
    for (int i = 0; i < count; ++i) {
      to[i] = static_cast<T>(-sum_of<T>{});
      if (this->has(i, steps)) to[i] = from[i * apart * static_cast<I>(w.channels)];
    }
  }

 private:
  global<T const> first_;
  convolution_form const& form_;
};

/// Returns where a pixel lies in the images that a derivative is with respect to.
template <class I> I pixel_of_images(I pixel, convolution_form const& form) {
  digits<I> const at(pixel, form.windows.out_height, form.windows.out_width);
  auto const& steps = form.images;
  return static_cast<I>(steps.first_pixel) + at.first * static_cast<I>(steps.image) +
         at.second * static_cast<I>(steps.row) + at.third * static_cast<I>(steps.column);
}

/// Goes through pixels of these images, each of which is a row of C.
template <class R, class I> class pixel_walk {
 public:
  pixel_walk(global<R> images, convolution_form const& form, I pixel) : images_(images), form_(form), pixel_(pixel) {}

  pixel_walk from(int row, int column) const { return {images_ + column, form_, pixel_ + row}; }
  void next() { ++pixel_; }
  global<R> operator*() const { return images_ + pixel_of_images<I>(pixel_, form_); }

 private:
  global<R> images_;
  convolution_form const& form_;
  I pixel_;
};

/// Reads B's columns where B is a contiguous matrix.
template <int Side, class T>
line_reader<T, Side> columns_of(global<T const> b, product_form const& form, product_unit const& unit) {
  return {b + unit.column, form.n - unit.column, 1, form.n, static_cast<T>(-sum_of<T>{})};
}

/// Computes the pieces of a convolution of images with a filter, the result's pixels as rows; or, if not `Pixels`,
/// those of the derivative with respect to the filter, its elements as rows, where `other` is the derivative of the
/// result.
template <int Side, bool Pixels, class I, class T, class R, class Take = stored>
void convolve(global<T const> images, global<T const> other, global<R> c, convolution_form const& form,
              Take const& take = {}) {
  auto const& p = form.product;
  multiply_tiles<Side, T, R>(
      p,
      [&](product_unit const& unit) {
        return patch_reader<Pixels, I, T, Side>(images, form.windows, unit.row, p.m - unit.row);
      },
      [&](product_unit const& unit) { return columns_of<Side>(other, p, unit); },
      [&](product_unit const& unit) { return contiguous(c, p, unit); }, take);
}
/// Computes the derivative with respect to the pixels of a phase (kernels::detail::phase) from that of the result,
/// which stands for the images of a convolution; `Apart`: its pieces.
template <int Side, bool Apart, class I, class T, class R>
void convolve_for_images(global<T const> change, global<T const> filter, global<R> c, convolution_form const& form) {
  auto const& p = form.product;
  multiply_tiles<Side, T, R>(
      p,
      [&](product_unit const& unit) {
        return patch_reader<true, I, T, Side>(change, form.windows, unit.row, p.m - unit.row);
      },
      [&](product_unit const& unit) { return tap_reader<I, T, Side>(filter, form, unit.column, p.n - unit.column); },
      [&](product_unit const& unit) {
        if constexpr (Apart) return contiguous(c, p, unit);
        else return pixel_walk<R, I>(c + unit.column, form, static_cast<I>(unit.row));
      });
}
/// Adds the pieces of the derivative with respect to the pixels of a phase.
template <class I, class T>
void add_pixels(global<sum_of<T> const> sums, global<T> images, convolution_form const& form,
                std::int64_t pieces_of_part) {
  auto const& p = form.product;
  add_sums<T, sum_of<T>>(sums, images, p.m * p.n, p.pieces, pieces_of_part, [&](std::int64_t i) {
    auto const pixel = i / p.n;
    return pixel_of_images<I>(static_cast<I>(pixel), form) + static_cast<I>(i - pixel * p.n);
  });
}

}  // namespace rill::text
