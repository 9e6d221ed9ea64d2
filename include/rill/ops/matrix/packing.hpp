// How blocks of A and B come before the innermost loop: as they lie, or copied so that it reads whole vectors.
#pragma once
#include "rill/ops/matrix/copy.hpp"
#include "rill/ops/matrix/microkernel.hpp"

namespace rill::kernels {

/// A block of A: element (i, k) lies at data[i * row + k * step].
template <class T> struct row_block {
  T const* data;
  index row, step;
};

/// A block of B in panels of tile_shape<T>::columns: row k of panel p lies at data + p * panel + k * step; that of the
/// last panel, which may be narrower, at last + k * last_step.
template <class T> struct column_block {
  T const* data;
  index panel, step;
  T const* last;
  index last_step;
};

namespace detail {

// A row's distance in a packed block of A: an odd number of cache lines, so that rows spread over the sets of a cache.
template <class T> constexpr index packed_row(index depth) {
  constexpr index line = sizeof(T) < 64 ? 64 / static_cast<index>(sizeof(T)) : 1;
  return ((depth + line - 1) / line | 1) * line;
}

}  // namespace detail

/// A from a matrix of `T`: handed on where it lies, or copied line by line in the direction in which it is contiguous.
template <class T, class Sum> struct rows_of_matrix {
  matrix_view<T> matrix;
  bool copy;

  row_block<Sum> operator()(Sum* scratch, index row0, index rows, index k0, index depth) const {
    auto const part = matrix_view<T>{matrix.at(row0, k0), matrix.row, matrix.column};
    if constexpr (std::is_same_v<T, Sum>) {
      if (!copy) return {part.data, part.row, part.column};
    }
    if (part.row == 1) {
      for (index k = 0; k < depth; ++k) detail::copy_line(scratch + k * rows, part.at(0, k), 1, rows);
      return {scratch, 1, rows};
    }
    index const stride = detail::packed_row<Sum>(depth);
    for (index i = 0; i < rows; ++i) detail::copy_line(scratch + i * stride, part.at(i, 0), part.column, depth);
    return {scratch, stride, 1};
  }
};

/// B from a matrix of `T`: handed on where its rows are contiguous and `copy` is not asked for (but for a last vector
/// that would reach beyond the row), or copied to panels.
template <class T, class Sum> struct columns_of_matrix {
  static constexpr index width = tile_shape<Sum>::columns;
  matrix_view<T> matrix;
  bool copy;

  column_block<Sum> operator()(Sum* scratch, index column0, index columns, index k0, index depth) const {
    auto const part = matrix_view<T>{matrix.at(k0, column0), matrix.row, matrix.column};
    index const last = (columns - 1) / width * width;
    if constexpr (std::is_same_v<T, Sum>) {
      if (!copy && part.column == 1) {
        if (columns % native<Sum>::lanes == 0) return {part.data, width, part.row, part.data + last, part.row};
        copy_panel(scratch, part, last, columns - last, depth);
        return {part.data, width, part.row, scratch, width};
      }
    }
    if (part.column == 1) {
      copy_whole_panels(scratch, part, last, depth);
    } else {
      for (index j = 0; j < last; j += width) copy_panel(scratch + j * depth, part, j, width, depth);
    }
    copy_panel(scratch + last * depth, part, last, columns - last, depth);
    return {scratch, width * depth, width, scratch + last * depth, width};
  }

 private:
  static void copy_panel(Sum* to, matrix_view<T> part, index column0, index columns, index depth) {
    if (columns < width) {
      __builtin_memset(static_cast<void*>(to), 0, static_cast<std::size_t>(depth * width) * sizeof(Sum));
    }
    if (part.column == 1) {
      for (index k = 0; k < depth; ++k) detail::copy_line(to + k * width, part.at(k, column0), 1, columns);
    } else {
      detail::copy_across(to, width, matrix_view<T>{part.at(0, column0), part.column, part.row}, columns, depth);
    }
  }

  // All panels at once, so that B is read line by line.
  static void copy_whole_panels(Sum* to, matrix_view<T> part, index columns, index depth) {
    for (index k = 0; k < depth; ++k) {
      for (index j = 0; j < columns; j += width) {
        detail::copy_line(to + j * depth + k * width, part.at(k, j), 1, width);
      }
    }
  }
};

}  // namespace rill::kernels
