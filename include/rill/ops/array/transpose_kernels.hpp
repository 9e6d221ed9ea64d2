// Permutations of axes on raw pointers, by the size of an element.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "rill/base/parallel.hpp"
#include "rill/ops/base/strided_view.hpp"

namespace rill::kernels {

namespace detail {

// A permutation as lines of the result; or as tiles, whose sides are the axis along which the operand is contiguous
// (`turned`) and the axis along which the result is contiguous (the last one).
template <class T> class permuting {
 public:
  permuting(strided_view const& p, void* to, void const* from)
      : p_(p), to_(static_cast<T*>(to)), from_(static_cast<T const*>(from)), last_(p.rank - 1), turned_(last_) {
    std::int64_t apart = 1;
    for (std::size_t i = p.rank; i-- > 0; apart *= p.extents[i]) {
      apart_[i] = apart;
      if (p.strides[i] == 1) turned_ = i;
    }
    units_ = apart / p.extents[last_];
    if (turned_ != last_) units_ = units_ / p.extents[turned_] * blocks();
  }

  std::int64_t units() const { return units_; }

  void run(std::int64_t unit) const {
    bool const lines = turned_ == last_;
    std::int64_t rest = unit, from = 0, to = 0, first = 0;
    if (!lines) {
      first = rest % blocks() * side;
      rest /= blocks();
    }
    for (std::size_t i = last_; i-- > 0;) {
      if (i == turned_) continue;
      auto const at = rest % p_.extents[i];
      rest /= p_.extents[i];
      from += at * p_.strides[i];
      to += at * apart_[i];
    }
    if (lines) line(to, from);
    else tiles(to, from, first, std::min(first + side, p_.extents[turned_]));
  }

 private:
  static constexpr std::int64_t side = sizeof(T) < 8 ? 64 / static_cast<std::int64_t>(sizeof(T)) : 8;  // a cache line
  std::int64_t blocks() const { return (p_.extents[turned_] + side - 1) / side; }

  void line(std::int64_t to, std::int64_t from) const {
    auto const n = static_cast<std::size_t>(p_.extents[last_]);
    if (n * sizeof(T) < 64) std::copy_n(from_ + from, n, to_ + to);
    else std::memcpy(to_ + to, from_ + from, n * sizeof(T));
  }

  // A tile is read and written line by line: with lines a power of two apart, a cache could not hold all of them until
  // they are complete.
  void tiles(std::int64_t to, std::int64_t from, std::int64_t first, std::int64_t end) const {
    auto const step = p_.strides[last_], apart = apart_[turned_];
    for (std::int64_t column = 0; column < p_.extents[last_]; column += side) {
      auto const columns = std::min(side, p_.extents[last_] - column);
      T const* const x = from_ + from + first + column * step;
      T* const y = to_ + to + first * apart + column;
      if (columns == side && end - first == side) tile(y, apart, x, step, side, side);
      else tile(y, apart, x, step, end - first, columns);
    }
  }
  [[gnu::always_inline]] static void tile(T* y, std::int64_t apart, T const* x, std::int64_t step, std::int64_t rows,
                                          std::int64_t columns) {
    T held[side][side];
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t i = 0; i < rows; ++i) held[j][i] = x[j * step + i];
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) y[i * apart + j] = held[j][i];
  }

  strided_view const& p_;
  T* to_;
  T const* from_;
  std::size_t last_, turned_;
  std::int64_t units_ = 0;
  std::int64_t apart_[max_rank] = {};
};

}  // namespace detail

/// Writes the permuted elements; nothing overlaps.
template <class T> void permute(strided_view const& p, void* to, void const* from, parallel const& threads) noexcept {
  auto const n = p.elements();
  if (n == 0) return;
  if (p.rank <= 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
    return;
  }
  detail::permuting<T> const work(p, to, from);
  constexpr std::int64_t chunk = 32768;  // enough elements for one thread
  auto const each = std::max<std::int64_t>(1, chunk * work.units() / n);
  threads(static_cast<std::size_t>((work.units() + each - 1) / each), [&](std::size_t c) {
    auto const first = static_cast<std::int64_t>(c) * each;
    for (auto u = first; u < std::min(first + each, work.units()); ++u) work.run(u);
  });
}

}  // namespace rill::kernels
