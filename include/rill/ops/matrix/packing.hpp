// How blocks of A and B come before the innermost loop: as they lie, or copied so that it reads whole vectors.
#pragma once
#include "rill/ops/matrix/batch_axes.hpp"
#include "rill/ops/matrix/copy.hpp"
#include "rill/ops/matrix/microkernel.hpp"

namespace rill::kernels {

/// A few runs, one after the other.
class even_runs {
 public:
  static constexpr index most = 64;
  even_runs() = default;
  even_runs(index count) : count_(1) { all_[0] = {0, count}; }
  /// There must be fewer than `most` so far.
  void add(even_run r) { all_[count_++] = r; }
  even_run const* begin() const { return all_; }
  even_run const* end() const { return all_ + count_; }

 private:
  even_run all_[most];  // the rest is not written
  index count_ = 0;
};

/// A block of A: element (i, k) lies at data[p + q], where i is row j of a run, p that run's offset + j * row, and q
/// the same for k, with `step`.
template <class T> struct row_block {
  T const* data;
  index row, step;
  even_runs rows, depth;
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

// While a row is copied, one further on is fetched: each is too short for the processor to see that more follow.
inline constexpr index rows_ahead = 4;
template <class T> inline void fetch(T const* from, index count) {
  auto const* const bytes = reinterpret_cast<char const*>(from);
  for (index i = 0; i < count * static_cast<index>(sizeof(T)); i += 64) __builtin_prefetch(bytes + i);
}

}  // namespace detail

/// A from a matrix of `T`: handed on where it lies, or copied line by line in the direction in which it is contiguous.
template <class T, class Sum> struct rows_of_matrix {
  matrix_view<T> matrix;
  bool copy;

  row_block<Sum> operator()(Sum* scratch, index row0, index rows, index k0, index depth) const {
    auto const part = matrix_view<T>{matrix.at(row0, k0), matrix.row, matrix.column};
    if constexpr (std::is_same_v<T, Sum>) {
      if (!copy) return {part.data, part.row, part.column, rows, depth};
    }
    if (part.row == 1) {
      for (index k = 0; k < depth; ++k) detail::copy_line(scratch + k * rows, part.at(0, k), 1, rows);
      return {scratch, 1, rows, rows, depth};
    }
    index const stride = detail::packed_row<Sum>(depth);
    for (index i = 0; i < rows; ++i) {
      if (part.column == 1 && i + detail::rows_ahead < rows) detail::fetch(part.at(i + detail::rows_ahead, 0), depth);
      detail::copy_line(scratch + i * stride, part.at(i, 0), part.column, depth);
    }
    return {scratch, stride, 1, rows, depth};
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
  /// Copies a panel, or what it has of columns, and zeros beyond them.
  static void copy_panel(Sum* to, matrix_view<T> part, index column0, index columns, index depth) {
    if (columns < width) {
      for (index k = 0; k < depth; ++k) __builtin_memset(static_cast<void*>(to + k * width), 0, width * sizeof(Sum));
    }
    if (part.column == 1) {
      for (index k = 0; k < depth; ++k) detail::copy_line(to + k * width, part.at(k, column0), 1, columns);
    } else {
      detail::copy_across(to, width, matrix_view<T>{part.at(0, column0), part.column, part.row}, columns, depth);
    }
  }

 private:
  // All panels at once, so that B is read line by line.
  static void copy_whole_panels(Sum* to, matrix_view<T> part, index columns, index depth) {
    for (index k = 0; k < depth; ++k) {
      if (k + detail::rows_ahead < depth) detail::fetch(part.at(k + detail::rows_ahead, 0), columns);
      for (index j = 0; j < columns; j += width) {
        detail::copy_line(to + j * depth + k * width, part.at(k, j), 1, width);
      }
    }
  }
};

namespace detail {

// Calls `f(number, k, done, depth)` for each part of `depth` of the matrices that lie side by side, `each` wide.
template <class F> void for_each_matrix(index each, index k0, index depth, F const& f) {
  for (index number = k0 / each, k = k0 % each, done = 0; done < depth; ++number, k = 0) {
    index const part = each - k < depth - done ? each - k : depth - done;
    f(number, k, done, part);
    done += part;
  }
}

}  // namespace detail

/// A from matrices of `T` side by side, `each` columns of every one: a block within one as from that matrix alone.
template <class T, class Sum> struct rows_of_matrices {
  rows_of_matrix<T, Sum> first;
  index each;
  batch_axes const& all;

  row_block<Sum> operator()(Sum* scratch, index row0, index rows, index k0, index depth) const {
    if (k0 + depth <= each) return first(scratch, row0, rows, k0, depth);
    index const stride = detail::packed_row<Sum>(depth);
    detail::for_each_matrix(each, k0, depth, [&](index number, index k, index done, index part) {
      auto const& m = first.matrix;
      T const* const from = m.at(row0, k) + all.a_at(number);
      for (index i = 0; i < rows; ++i) detail::copy_line(scratch + i * stride + done, from + i * m.row, m.column, part);
    });
    return {scratch, stride, 1, rows, depth};
  }
};

/// B from matrices of `T` one below the other, `each` rows of every one.
template <class T, class Sum> struct columns_of_matrices {
  static constexpr index width = tile_shape<Sum>::columns;
  columns_of_matrix<T, Sum> first;
  index each;
  batch_axes const& all;

  column_block<Sum> operator()(Sum* scratch, index column0, index columns, index k0, index depth) const {
    if (k0 + depth <= each) return first(scratch, column0, columns, k0, depth);
    detail::for_each_matrix(each, k0, depth, [&](index number, index k, index done, index part) {
      auto const& m = first.matrix;
      matrix_view<T> const from{m.at(k, column0) + all.b_at(number), m.row, m.column};
      for (index j = 0; j < columns; j += width)
        first.copy_panel(scratch + j * depth + done * width, from, j, columns - j < width ? columns - j : width, part);
    });
    index const last = (columns - 1) / width * width;
    return {scratch, width * depth, width, scratch + last * depth, width};
  }
};

}  // namespace rill::kernels
