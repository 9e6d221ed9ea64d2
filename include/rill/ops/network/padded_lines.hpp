// Patches of an image without their overlap: lines of it, with the zeros beyond it, in which the patches of neighbours
// lie a few numbers apart. Much less to write than the patches are.
#pragma once
#include "rill/ops/network/patches.hpp"

namespace rill::kernels {

/// The lines of some elements of some pixels' patches.
template <class T, class Sum> class padded_lines {
 public:
  padded_lines(patches<T, Sum> const& of, index pixel0, index pixels, index element0, index elements)
      : shape_(of.shape),
        input_(of.input),
        run_(of.run_length()),
        line_(((shape_.out_width - 1) * shape_.stride_x + (shape_.filter_width - 1) * shape_.dilation_x + 1) *
              shape_.channels),
        pixel0_(pixel0),
        pixel_end_(pixel0 + pixels),
        element0_(element0),
        element_end_(element0 + elements) {}

  /// Whether they have room in so many numbers, and are few and long enough to be worth it.
  bool fit(index capacity) const {
    index const rows = last_row() - first_row() + 1, taps = last_tap() - first_tap() + 1;
    index const images = last_row() / shape_.out_height - first_row() / shape_.out_height + 1;
    index const lines = images * lines_of_row() + (rows - images) * (lines_of_row() - shared());
    return shape_.out_width >= least_run && run_ >= least_run && rows <= even_runs::most &&
           taps * runs() <= even_runs::most && lines * line_ <= capacity;
  }
  /// Writes them.
  void write(Sum* to) const {
    for_each_row([&](index image, index y, index skipped) {
      index const first = y * shape_.stride_y - shape_.top + first_tap() * shape_.dilation_y;
      for (index i = skipped; i < lines_of_row(); ++i, to += line_) write_line(to, image, first + i);
    });
  }

  /// Returns where the pixels lie, `pixel_step` apart within a run.
  even_runs pixels() const {
    even_runs all;
    index line = 0, row = first_row();
    for_each_row([&](index, index, index skipped) {
      line -= skipped;
      index const begin = row == first_row() ? pixel0_ % shape_.out_width : 0;
      index const end = row == last_row() ? (pixel_end_ - 1) % shape_.out_width + 1 : shape_.out_width;
      all.add({line * line_ + begin * pixel_step(), end - begin});
      line += lines_of_row();
      ++row;
    });
    return all;
  }
  index pixel_step() const { return shape_.stride_x * shape_.channels; }
  /// Returns where the elements of a patch lie from its pixel on, one beside the other within a run.
  even_runs elements() const {
    even_runs all;
    for (index i = element0_ / run_; i * run_ < element_end_; ++i) {
      index const begin = detail::upper(element0_, i * run_), end = detail::lower(element_end_, (i + 1) * run_);
      index const line = (i / runs() - first_tap()) * shape_.dilation_y;
      all.add({line * line_ + i % runs() * shape_.dilation_x * shape_.channels + begin - i * run_, end - begin});
    }
    return all;
  }

 private:
  static constexpr index least_run = 5;

  index runs() const { return shape_.filter_width * shape_.channels / run_; }
  index first_tap() const { return element0_ / (shape_.filter_width * shape_.channels); }
  index last_tap() const { return (element_end_ - 1) / (shape_.filter_width * shape_.channels); }
  index first_row() const { return pixel0_ / shape_.out_width; }
  index last_row() const { return (pixel_end_ - 1) / shape_.out_width; }
  index lines_of_row() const { return (last_tap() - first_tap()) * shape_.dilation_y + 1; }

  index shared() const { return detail::upper(0, lines_of_row() - shape_.stride_y); }

  // Calls `f(image, y, skipped)` for each row of pixels: so many of its first lines are those of the row before.
  template <class F> void for_each_row(F const& f) const {
    for (index row = first_row(); row <= last_row(); ++row) {
      index const y = row % shape_.out_height;
      f(row / shape_.out_height, y, row == first_row() || y == 0 ? 0 : shared());
    }
  }

  void write_line(Sum* to, index image, index y) const {
    auto const& s = shape_;
    index const columns = line_ / s.channels;
    bool const outside = y < 0 || y >= s.height;
    index const begin = outside ? 0 : detail::lower(columns, detail::upper(0, s.left));
    index const end = outside ? 0 : detail::lower(columns, detail::upper(begin, s.width + s.left));
    clear(to, begin * s.channels);
    if (begin < end)
      detail::copy_line(to + begin * s.channels,
                        input_ + ((image * s.height + y) * s.width + begin - s.left) * s.channels, 1,
                        (end - begin) * s.channels);
    clear(to + end * s.channels, (columns - end) * s.channels);
  }
  static void clear(Sum* to, index count) {
    for (index i = 0; i < count; ++i) to[i] = Sum{};
  }

  convolution_shape const& shape_;
  T const* input_;
  index run_, line_;
  index pixel0_, pixel_end_, element0_, element_end_;
};

/// Patches as the left operand of a product: a pixel a row.
template <class T, class Sum> struct rows_of_patches {
  patches<T, Sum> matrix;

  row_block<Sum> operator()(Sum* scratch, index row0, index rows, index k0, index depth) const {
    index const stride = detail::packed_row<Sum>(depth);
    padded_lines<T, Sum> const lines(matrix, row0, rows, k0, depth);
    if (lines.fit(rows * stride)) {
      lines.write(scratch);
      return {scratch, lines.pixel_step(), 1, lines.pixels(), lines.elements()};
    }
    matrix.write(scratch, stride, row0, rows, k0, depth);
    return {scratch, stride, 1, rows, depth};
  }
};

/// Their transpose as the left operand: an element a row.
template <class T, class Sum> struct columns_of_patches {
  patches<T, Sum> matrix;

  row_block<Sum> operator()(Sum* scratch, index row0, index rows, index k0, index depth) const {
    padded_lines<T, Sum> const lines(matrix, k0, depth, row0, rows);
    if (lines.fit(rows * depth)) {
      lines.write(scratch);
      return {scratch, 1, lines.pixel_step(), lines.elements(), lines.pixels()};
    }
    matrix.write(scratch, rows, k0, depth, row0, rows);
    return {scratch, 1, rows, rows, depth};
  }
};

}  // namespace rill::kernels
