// Matrix products on raw pointers: any transposition, any element type, the same bits from any number of threads.
#pragma once
#include <atomic>
#include <cstdint>

#include "rill/base/parallel.hpp"
#include "rill/ops/matrix/gemm_plan.hpp"

namespace rill::kernels {

namespace detail {

// What products of T are summed in: floats for the 16-bit floats, which convert to float, and for integers the unsigned
// ones of their size, which wrap.
template <class T> constexpr auto sum_of() {
  if constexpr (std::is_integral_v<T>) {
    return std::make_unsigned_t<T>{};
  } else if constexpr (std::is_class_v<T> && std::is_convertible_v<T, float>) {
    return float{};
  } else {
    return T{};
  }
}

}  // namespace detail

/// The type in which products of `T` are summed.
template <class T> using sum_type = decltype(detail::sum_of<T>());

/// Some rows and columns of C.
struct tile_range {
  index row0, rows, column0, columns;
};

/// C as a matrix of `T` with contiguous rows: summed in place, or in a worker's tile and rounded once.
template <class T, class Sum> struct matrix_result {
  T* data;
  index row;

  /// Returns where the sums of the rows and columns of `r` are stored; sets the stride of their rows.
  Sum* open(Sum* tile, tile_range r, index& sum_row) const {
    if constexpr (std::is_same_v<T, Sum>) {
      sum_row = row;
      return data + r.row0 * row + r.column0;
    } else {
      sum_row = r.columns;
      return tile;
    }
  }
  /// Takes the sums over when they are complete.
  void close([[maybe_unused]] Sum const* tile, [[maybe_unused]] tile_range r) const {
    if constexpr (!std::is_same_v<T, Sum>) {
      for (index i = 0; i < r.rows; ++i) {
        T* const to = data + (r.row0 + i) * row + r.column0;
        for (index j = 0; j < r.columns; ++j) to[j] = static_cast<T>(tile[i * r.columns + j]);
      }
    }
  }
};

namespace detail {

template <class Sum>
inline void multiply_block(row_block<Sum> const& a, column_block<Sum> b, Sum* c, index c_row, index columns, bool add) {
  constexpr index width = tile_shape<Sum>::columns;
  for (index j = 0; j < columns; j += width) {
    bool const last = j + width >= columns;
    auto work = tile_work<Sum>{.runs = a.depth.begin(),
                               .runs_end = a.depth.end(),
                               .a = a.data,
                               .a_row = a.row,
                               .a_step = a.step,
                               .b = last ? b.last : b.data + j / width * b.panel,
                               .b_step = last ? b.last_step : b.step,
                               .c = c + j,
                               .c_row = c_row,
                               .columns = last ? columns - j : width,
                               .add = add};
    for (auto const& run : a.rows) {
      index const strips = divide_up(run.count, tile_shape<Sum>::rows);
      for (index s = 0, i = 0; s < strips; ++s) {
        index const next = (s + 1) * run.count / strips;
        work.a = a.data + run.offset + i * a.row;
        multiply_tile(static_cast<int>(next - i), work);
        work.c += (next - i) * c_row;
        i = next;
      }
    }
  }
}

// One product: its operands, its plan and its scratch.
template <class Sum, class Rows, class Columns, class Result> struct product {
  gemm_plan<Sum> plan;
  Rows const& a;
  Columns const& b;
  Result const& c;
  Sum* scratch;

  void run(parallel const& threads) const noexcept {
    work_off(threads, plan.units(), [this](index unit, Sum* own) { run_unit(unit, own); });
    if (plan.parts > 1) {
      work_off(threads, plan.units() / plan.parts, [this](index tile, Sum* own) { add_parts(range_of(tile), own); });
    }
  }

 private:
  // Each worker has scratch of its own and takes the next unit until none is left.
  template <class F> void work_off(parallel const& threads, index units, F const& f) const noexcept {
    std::atomic<index> next = 0;
    threads(static_cast<std::size_t>(lower(plan.workers, units)), [&](std::size_t worker) {
      Sum* const own = scratch + static_cast<index>(worker) * plan.scratch_of_worker();
      for (index unit; (unit = next.fetch_add(1, std::memory_order_relaxed)) < units;) f(unit, own);
    });
  }

  tile_range range_of(index tile) const {
    index const row0 = tile % plan.row_units() * plan.rows, column0 = tile / plan.row_units() * plan.columns;
    return {row0, lower(plan.rows, plan.m - row0), column0, lower(plan.columns, plan.n - column0)};
  }

  Sum* tile_of(Sum* own) const { return own + plan.scratch_of_a() + plan.scratch_of_b(); }
  Sum* partial(index part) const { return scratch + plan.workers * plan.scratch_of_worker() + part * plan.m * plan.n; }

  void run_unit(index unit, Sum* own) const {
    index const part = unit % plan.parts;
    auto const r = range_of(unit / plan.parts);
    if (plan.parts > 1) {
      sum_blocks(part, r, own, partial(part) + r.row0 * plan.n + r.column0, plan.n);
      return;
    }
    index row = 0;
    Sum* const to = c.open(tile_of(own), r, row);
    sum_blocks(0, r, own, to, row);
    c.close(to, r);
  }

  void sum_blocks(index part, tile_range r, Sum* own, Sum* to, index to_row) const {
    index const begin = part * plan.part_blocks * plan.depth;
    index const end = lower(plan.k, begin + plan.part_blocks * plan.depth);
    for (index k0 = begin; k0 < end; k0 += plan.depth) {
      index const depth = lower(plan.depth, end - k0);
      multiply_block<Sum>(a(own, r.row0, r.rows, k0, depth),
                          b(own + plan.scratch_of_a(), r.column0, r.columns, k0, depth), to, to_row, r.columns,
                          k0 > begin);
    }
    if (begin >= end) clear(to, to_row, r);
  }

  static void clear(Sum* to, index to_row, tile_range r) {
    for (index i = 0; i < r.rows; ++i) {
      for (index j = 0; j < r.columns; ++j) to[i * to_row + j] = Sum{};
    }
  }

  static void add_line(Sum* to, Sum const* from, index count) {
    for (index j = 0; j < count; ++j) to[j] = static_cast<Sum>(to[j] + from[j]);
  }

  void add_parts(tile_range r, Sum* own) const {
    index row = 0;
    Sum* const to = c.open(tile_of(own), r, row);
    for (index i = 0; i < r.rows; ++i) {
      Sum* const line = to + i * row;
      index const from = (r.row0 + i) * plan.n + r.column0;
      copy_line(line, partial(0) + from, r.columns);
      for (index part = 1; part < plan.parts; ++part) add_line(line, partial(part) + from, r.columns);
    }
    c.close(to, r);
  }
};

template <class Sum> inline Sum* aligned(void* scratch) {
  auto const address = reinterpret_cast<std::uintptr_t>(scratch);
  return reinterpret_cast<Sum*>((address + 63) / 64 * 64);
}

}  // namespace detail

/// Returns the plan of a product of matrices of `T`.
template <class T> constexpr gemm_plan<sum_type<T>> gemm_plan_of(index m, index n, index k, int threads) noexcept {
  return {m, n, k, threads, !std::is_integral_v<T> && !std::is_same_v<T, sum_type<T>>};
}

/// Returns the bytes of scratch that `gemm` needs for C[m, n] = A[m, k] B[k, n] of `T` with that many threads, neither
/// more nor fewer.
template <class T> constexpr std::size_t gemm_scratch_bytes(index m, index n, index k, int threads) noexcept {
  return static_cast<std::size_t>(gemm_plan_of<T>(m, n, k, threads).scratch()) * sizeof(sum_type<T>) + 64;
}

/// Computes C = A B by `plan` from any operands: `a(scratch, row0, rows, k0, depth)` returns a row_block, `b(scratch,
/// column0, columns, k0, depth)` a column_block; `c` is a matrix_result or the like. `scratch` holds plan.scratch()
/// elements of `Sum` and 64 bytes more.
template <class Sum, class Rows, class Columns, class Result>
void gemm_of(gemm_plan<Sum> const& plan, Rows const& a, Columns const& b, Result const& c, void* scratch,
             parallel const& threads) noexcept {
  if (plan.m <= 0 || plan.n <= 0) return;
  detail::product<Sum, Rows, Columns, Result>{plan, a, b, c, detail::aligned<Sum>(scratch)}.run(threads);
}

/// Computes C[m, n] = A[m, k] B[k, n], summed over pairs of matrices if there are `others` than the first: rows of C
/// are contiguous, `c_row` elements apart; A and B may lie anyhow. Integers wrap; 16-bit floats are summed as floats
/// and rounded once. `scratch` holds gemm_scratch_bytes<T>(m, n, k * others.count, threads.threads). C overlaps neither
/// A nor B.
template <class T>
void gemm(index m, index n, index k, matrix_view<T> a, matrix_view<T> b, T* c, index c_row, void* scratch,
          parallel const& threads, batch_axes const& others = {}) noexcept {
  using sum = sum_type<T>;
  using element = std::conditional_t<std::is_integral_v<T>, sum, T>;
  auto const plan = gemm_plan_of<T>(m, n, k * others.count, threads.threads);
  auto const unsigned_view = [](matrix_view<T> view) {
    return matrix_view<element>{reinterpret_cast<element const*>(view.data), view.row, view.column};
  };
  bool const copy_a = n > 2 * tile_shape<sum>::columns, copy_b = m > 2 * tile_shape<sum>::rows;
  gemm_of(plan, rows_of_matrices<element, sum>{{unsigned_view(a), copy_a}, k, others},
          columns_of_matrices<element, sum>{{unsigned_view(b), copy_b}, k, others},
          matrix_result<element, sum>{reinterpret_cast<element*>(c), c_row}, scratch, threads);
}

}  // namespace rill::kernels
