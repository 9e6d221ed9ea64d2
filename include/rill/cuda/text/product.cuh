// Matrix products in the order of summation of rill/ops/matrix/gemm_plan.hpp: a block's sum starts at zero and takes
// its products in the order of the depth, each rounded once; the sums of blocks are added in their order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/product_form.hpp"
#include "rill/cuda/text/threads.cuh"
#include "rill/type/half.hpp"

namespace rill::text {

using cuda::product_axes;
using cuda::product_form;

/// What products of T are summed in. Integers are unsigned, and wrap.
template <class T>
using sum_of =
    std::conditional_t<std::is_integral_v<T>, std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>,
                       std::conditional_t<std::is_same_v<T, double>, double, float>>;

inline float multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }
inline double multiply_add(double a, double b, double c) { return __fma_rn(a, b, c); }
inline std::uint32_t multiply_add(std::uint32_t a, std::uint32_t b, std::uint32_t c) { return a * b + c; }
inline std::uint64_t multiply_add(std::uint64_t a, std::uint64_t b, std::uint64_t c) { return a * b + c; }

/// Returns the offset, along one of two batches, of the matrix of pair `number` from the first.
inline std::int64_t offset(product_axes const& axes, std::int64_t const* apart, std::int64_t number) {
  std::int64_t at = 0;
#pragma unroll 1  // divisions take many instructions
  for (int i = 0; i < axes.rank; number /= axes.extents[i++]) at += number % axes.extents[i] * apart[i];
  return at;
}

/// How 256 threads compute a square of C, `Side` wide: as 16 x 16 threads with edge x edge sums each.
template <class Sum, int Side> struct square {
  static constexpr int threads = 256, across = 16;
  static constexpr int edge = Side / across;
  static constexpr int slab = 1024 / Side;  // the depth of what is in shared memory: each thread brings 4 numbers
  // Of shared memory a thread reads 16 bytes at once.
  static constexpr int width = edge < 16 / static_cast<int>(sizeof(Sum)) ? edge : 16 / static_cast<int>(sizeof(Sum));
  static constexpr int packs = edge / width;
  struct alignas(width * sizeof(Sum)) pack {
    Sum at[width];
  };
  // One more than there are, so that a column's numbers lie in several banks.
  using slabs = pack[2][slab][Side / width + 1];

  // A thread's rows lie side by side, `width` of them. Its columns are those of its neighbours' turn by turn, so that
  // neighbours write side by side to C.
  static constexpr int row(int y, int i) { return (i / width * across + y) * width + i % width; }
  static constexpr int column(int x, int j) { return j * across + x; }
  // Where a column's number lies in a line of packs, so that a thread finds its own side by side; a row's lies at
  // `row`. It permutes bits: place(a + b) is place(a) + place(b) if a and b have no bit in common.
  static constexpr int place(int column) {
    int const j = column / across;
    return (j / width * across + column % across) * width + j % width;
  }
};

/// The numbers of a tile that a thread brings to shared memory, of A's rows or of B's columns: one step of each slab of
/// the depth, of every `apart`-th line.
template <int Side> class share_of_tile {
 public:
  static constexpr int slab = 1024 / Side, count = 4, apart = Side / count;

  /// `lines`: how many there are from the tile's first on; `along_depth`: whether a line's numbers lie side by side.
  share_of_tile(std::int64_t lines, bool along_depth) {
    // Neighbours read side by side.
    int const thread = static_cast<int>(threadIdx.x);
    step_ = along_depth ? thread % slab : thread / apart;
    line_ = along_depth ? thread / slab : thread % apart;
    lines_ = static_cast<int>(lines < Side ? lines : Side) - line_;
  }

  int step() const { return step_; }
  int line() const { return line_; }
  /// Whether the matrix has the thread's i-th number of a slab that has so many steps.
  bool has(int i, int steps) const { return step_ < steps && i * apart < lines_; }

 private:
  int step_, line_, lines_;
};

/// Reads a thread's share of the lines of a matrix.
template <class T, int Side> class line_reader : public share_of_tile<Side> {
 public:
  using share = share_of_tile<Side>;
  using share::apart, share::count;

  /// `first`: the tile's first line at depth 0; `outside`: what stands for numbers outside of a slab.
  line_reader(global<T const> first, std::int64_t lines, std::int64_t line_step, std::int64_t depth_step, T outside)
      : share(lines, depth_step == 1), next_line_(line_step * apart), outside_(outside) {
    first_ = first + (this->line() * line_step + this->step() * depth_step);
  }

  /// Reads this thread's numbers of the slab at this offset, which has so many steps.
  void read(T (&to)[count], std::int64_t offset, int steps) const {
    auto from = first_ + offset;
    for (int i = 0; i < count; ++i, from += next_line_) {
      to[i] = outside_;
      if (this->has(i, steps)) to[i] = *from;
    }
  }

 private:
  global<T const> first_;
  std::int64_t next_line_;
  T outside_;
};

/// Goes through a piece of the depth slab by slab. Each slab lies in one block, and in one pair of the summed matrices.
template <int Slab> class slab_walk {
 public:
  slab_walk(product_form const& form, std::int64_t begin, std::int64_t end) : form_(form), begin_(begin), end_(end) {
    at_ = slab_end_ = block_end_ = matrix_end_ = begin;
  }

  bool more() const { return slab_end_ < end_; }
  /// Goes to the first slab, or to the next one.
  void next() {
    at_ = slab_end_;
    if (at_ == block_end_) block_end_ = lower(at_ + form_.depth, end_);
    if (at_ == matrix_end_) enter_matrix();
    slab_end_ = lower(lower(at_ + Slab, block_end_), matrix_end_);
  }
  int steps() const { return static_cast<int>(slab_end_ - at_); }
  bool ends_block() const { return slab_end_ == block_end_; }
  bool in_first_block() const { return block_end_ - begin_ <= form_.depth; }
  std::int64_t a_offset() const { return a_matrix_ + at_ * form_.a_column; }
  std::int64_t b_offset() const { return b_matrix_ + at_ * form_.b_row; }

 private:
  static std::int64_t lower(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
  void enter_matrix() {
    auto const& summed = form_.summed;
    matrix_end_ = end_;
    if (summed.rank == 0) return;
    std::int64_t const number = at_ / form_.k, begin = number * form_.k;
    matrix_end_ = begin + form_.k;
    a_matrix_ = offset(summed, summed.a_apart, number) - begin * form_.a_column;
    b_matrix_ = offset(summed, summed.b_apart, number) - begin * form_.b_row;
  }

  product_form const& form_;
  std::int64_t begin_, end_, at_, slab_end_, block_end_, matrix_end_;
  std::int64_t a_matrix_ = 0, b_matrix_ = 0;  // from depth 0 of the first matrix to where it would be in this one
};

/// A piece of a tile of C.
struct product_unit {
  std::int64_t row, column, batch;
  std::int64_t begin, end;  // of the whole depth
  std::int64_t result;      // where its sums begin among those of all pieces

  template <int Side> static product_unit of(product_form const& form, std::int64_t number) {
    std::int64_t const tiles_across = (form.n + Side - 1) / Side, tiles_down = (form.m + Side - 1) / Side;
    std::int64_t const piece = number % form.pieces;
    number /= form.pieces;
    std::int64_t const depth = form.k * form.summed.count;
    std::int64_t const begin = piece * form.piece_depth, end = begin + form.piece_depth;
    std::int64_t const batch = number / tiles_across / tiles_down;
    return {number / tiles_across % tiles_down * Side,
            number % tiles_across * Side,
            batch,
            begin,
            end < depth ? end : depth,
            (piece * form.kept.count + batch) * form.m * form.n};
  }
  template <int Side> static std::int64_t count(product_form const& form) {
    return ((form.m + Side - 1) / Side) * ((form.n + Side - 1) / Side) * form.pieces * form.kept.count;
  }
};

/// Goes through the rows of a matrix C.
template <class R> class row_walk {
 public:
  row_walk(global<R> first, std::int64_t row_step) : at_(first), row_step_(row_step) {}

  /// Returns the walk that begins so many rows and columns further.
  row_walk from(int row, int column) const { return {at_ + (row * row_step_ + column), row_step_}; }
  void next() { at_ += row_step_; }
  global<R> operator*() const { return at_; }

 private:
  global<R> at_;
  std::int64_t row_step_;
};

/// What becomes of an element of C: it is stored.
struct stored {
  template <class R> void operator()(global<R> at, R value) const { *at = value; }
};
/// What becomes of an element of C that a program takes (operands.cuh). `c` is where C would begin: if that holds sums,
/// one of the program's outputs is there.
template <class R, class Sink> struct given_to {
  Sink sink;
  global<R> c;
  void operator()(global<R> at, R value) const { sink[at - c] = value; }
};
template <class R, class Sink> given_to(Sink, global<R>) -> given_to<R, Sink>;

/// A thread's sums of a tile: of the block of the depth that is being read, and of those before. These are in C if that
/// holds sums as they are, because registers are few. `Walk` goes through the rows of C.
template <class R, class Sum, int Side, class Walk> class thread_sums {
 public:
  using shape = square<Sum, Side>;
  using pack = typename shape::pack;
  static constexpr int edge = shape::edge, width = shape::width, packs = shape::packs;

  /// `tile`: at the tile's first number; `rows` and `columns`: how many C has from there on.
  thread_sums(Walk const& tile, std::int64_t rows, std::int64_t columns)
      : first_(tile.from(shape::row(y(), 0), shape::column(x(), 0))),
        rows_(of_thread(rows, shape::row(y(), 0))),
        columns_(of_thread(columns, shape::column(x(), 0))) {
    begin_block();
  }

  /// Adds the products of a step of the depth.
  void add(pack const (&left)[Side / width + 1], pack const (&right)[Side / width + 1]) {
    pack rows[packs], columns[packs];
    for (int p = 0; p < packs; ++p)
      rows[p] = left[p * shape::across + y()], columns[p] = right[p * shape::across + x()];
    for (int i = 0; i < edge; ++i)
      for (int j = 0; j < edge; ++j)
        block_[i][j] = multiply_add(rows[i / width].at[i % width], columns[j / width].at[j % width], block_[i][j]);
  }
  /// Ends a block, the first or another one.
  void end_block(bool first) {
    for_each_row([&](auto const& line, int i) {
      Sum before[edge] = {};
      for (int j = 0; j < edge; ++j) {
        if constexpr (!in_result) before[j] = before_[i][j];
        else if (!first && holds(j)) before[j] = line[shape::column(0, j)];
      }
      for (int j = 0; j < edge; ++j) {
        Sum const now = first ? block_[i][j] : before[j] + block_[i][j];
        if constexpr (!in_result) before_[i][j] = now;
        else if (holds(j)) line[shape::column(0, j)] = now;
      }
    });
    begin_block();
  }
  /// Ends the tile: calls take(where it lies in C, element) for each element.
  template <class Take> void end(Take const& take) {
    if constexpr (!in_result || !std::is_same_v<Take, stored>)
      for_each_row([&](auto const& line, int i) {
        for (int j = 0; j < edge; ++j) {
          if (!holds(j)) continue;
          auto const at = line + shape::column(0, j);
          if constexpr (in_result) take(at, R(*at));
          else take(at, static_cast<R>(before_[i][j]));
        }
      });
  }

 private:
  static constexpr bool in_result = std::is_same_v<R, Sum>;

  static int x() { return static_cast<int>(threadIdx.x) % shape::across; }
  static int y() { return static_cast<int>(threadIdx.x) / shape::across; }
  void begin_block() {
    for (int i = 0; i < edge; ++i)
      for (int j = 0; j < edge; ++j) block_[i][j] = Sum{};
  }
  // Returns how many lines there are from the first of this thread on, or a number above all of a tile.
  static int of_thread(std::int64_t lines, int first) { return static_cast<int>(lines < Side ? lines : Side) - first; }
  bool holds(int j) const { return shape::column(0, j) < columns_; }
  // Calls f(where the row begins in C for this thread, i) for each row that C has.
  template <class F> void for_each_row(F const& f) {
    auto line = first_;
    for (int i = 0, row = 0; i < edge; ++i) {
      for (; row < shape::row(0, i); ++row) line.next();
      if (row < rows_) f(*line, i);
    }
  }

  Walk first_;
  int rows_, columns_;
  Sum block_[edge][edge];
  struct nothing {};
  std::conditional_t<in_result, nothing, Sum[edge][edge]> before_;
};

/// Computes the pieces of C = A B in tiles of `Side`, by blocks of 256 threads. R is the sum's type, or T if there is
/// one piece. For a unit `rows_of` and `columns_of` return what reads A's rows and B's columns, as a line_reader does,
/// and `result_of` returns a walk through C's rows from the tile's first number on. `take` gets C's elements.
template <int Side, class T, class R, class Rows, class Columns, class Result, class Take = stored>
void multiply_tiles(product_form const& form, Rows const& rows_of, Columns const& columns_of, Result const& result_of,
                    Take const& take = {}) {
  using sum = sum_of<T>;
  using shape = square<sum, Side>;
  using reader = share_of_tile<Side>;
  __shared__ typename shape::slabs left, right;
  for (std::int64_t number = blockIdx.x; number < product_unit::count<Side>(form); number += gridDim.x) {
    auto const unit = product_unit::of<Side>(form, number);
    auto const rows = rows_of(unit);
    auto const columns = columns_of(unit);
    slab_walk<shape::slab> walk(form, unit.begin, unit.end);
    T next_left[reader::count], next_right[reader::count];
    auto const read_next = [&] {
      walk.next();
      rows.read(next_left, walk.a_offset(), walk.steps());
      columns.read(next_right, walk.b_offset(), walk.steps());
    };
    auto const put = [&](int place) {
      auto* const to_left = left[place][rows.step()][0].at + rows.line();
      auto* const to_right = right[place][columns.step()][0].at + shape::place(columns.line());
      for (int i = 0; i < reader::count; ++i) {
        to_left[i * reader::apart] = static_cast<sum>(next_left[i]);
        to_right[shape::place(i * reader::apart)] = static_cast<sum>(next_right[i]);
      }
      __syncthreads();
    };
    auto result = result_of(unit);
    thread_sums<R, sum, Side, decltype(result)> sums(result, form.m - unit.row, form.n - unit.column);
    bool more = walk.more();
    if (more) {
      read_next();
      put(0);
    } else {
      sums.end_block(true);
    }
    // While threads multiply a slab, the next one is on its way to registers.
    for (int place = 0; more;) {
      bool const in_first_block = walk.in_first_block();
      for (bool ends_block = false; !ends_block; place ^= 1) {
        ends_block = walk.ends_block(), more = walk.more();
        if (more) read_next();
        for (int step = 0; step < shape::slab; ++step) sums.add(left[place][step], right[place][step]);
        if (more) put(place ^ 1);
      }
      sums.end_block(in_first_block);
    }
    sums.end(take);
    __syncthreads();  // before the next unit's slab
  }
}

/// Returns a walk through the sums of a unit's piece, or through a contiguous C if there is one piece.
template <class R> row_walk<R> contiguous(global<R> c, product_form const& form, product_unit const& unit) {
  return {c + (unit.result + unit.row * form.n + unit.column), form.n};
}

/// Multiplies matrices that lie in memory (multiply_tiles).
template <int Side, class T, class R, class Take = stored>
void multiply(global<T const> a, global<T const> b, global<R> c, product_form const& form, Take const& take = {}) {
  using sum = sum_of<T>;
  // What stands outside of a slab makes products of -0, which change no sum: 0 + -0 is 0, and -0 + -0 is -0.
  multiply_tiles<Side, T, R>(
      form,
      [&](product_unit const& unit) {
        return line_reader<T, Side>(a + (offset(form.kept, form.kept.a_apart, unit.batch) + unit.row * form.a_row),
                                    form.m - unit.row, form.a_row, form.a_column, static_cast<T>(sum{}));
      },
      [&](product_unit const& unit) {
        return line_reader<T, Side>(
            b + (offset(form.kept, form.kept.b_apart, unit.batch) + unit.column * form.b_column), form.n - unit.column,
            form.b_column, form.b_row, static_cast<T>(-sum{}));
      },
      [&](product_unit const& unit) { return contiguous(c, form, unit); }, take);
}

/// Adds the sums of the pieces of `count` elements: those of a part first, `pieces_of_part` of them, then the parts.
/// `place(i)` is where element i lies in C, an array or what takes results (operands.cuh).
template <class T, class Sum, class Sink, class Place>
void add_sums(global<Sum const> sums, Sink const& c, std::int64_t count, std::int64_t pieces,
              std::int64_t pieces_of_part, Place const& place) {
  for_each_index(count, [&](std::int64_t i) {
    Sum all{};
    for (std::int64_t part = 0; part < pieces; part += pieces_of_part) {
      Sum of_part = sums[part * count + i];
      for (std::int64_t p = part + 1; p < pieces && p < part + pieces_of_part; ++p)
        of_part = of_part + sums[p * count + i];
      all = part == 0 ? of_part : all + of_part;
    }
    c[place(i)] = static_cast<T>(all);
  });
}

}  // namespace rill::text
