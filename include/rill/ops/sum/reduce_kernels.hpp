// Sums, means, products, maxima and minima over a middle extent on raw pointers, in an order that the extents alone
// decide.
#pragma once
#include "rill/ops/base/share.hpp"
#include "rill/ops/matrix/gemm.hpp"

namespace rill::kernels {

/// An array [outer, middle, inner] and how its reduction to [outer, inner] is cut: `middle` into parts, each of which
/// is reduced by itself; their results are reduced as a tree.
struct reduce_shape {
  index outer, middle, inner;

  /// Returns the number of elements of `middle` in a part.
  constexpr index part() const { return inner == 1 ? 4096 : 256; }
  constexpr index parts() const { return detail::upper(1, detail::divide_up(middle, part())); }
  /// Elements of `inner` that are reduced at once.
  static constexpr index block = 1024;
  constexpr index blocks() const { return detail::divide_up(inner, block); }
};

/// What sums and means are made of.
template <class T> struct addition {
  using value = sum_type<T>;
  static constexpr value identity = {};
  template <class X> static X apply(X a, X b) { return static_cast<X>(a + b); }
  static value mean(value sum, index count) { return sum / static_cast<value>(count); }
};

namespace detail {

// What numbers of type T are compared as.
template <class T> constexpr auto ordered_type_of() {
  if constexpr (std::is_same_v<T, bool>) return static_cast<unsigned char>(0);
  else if constexpr (std::is_class_v<T>) return float{};
  else return T{};
}

template <class T> constexpr T least_value() {
  if constexpr (std::is_floating_point_v<T>) return -static_cast<T>(__builtin_inf());
  else if constexpr (std::is_unsigned_v<T>) return T{};
  else return static_cast<T>(T{1} << (8 * sizeof(T) - 1));
}

template <class T> constexpr T greatest_value() {
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(__builtin_inf());
  else return static_cast<T>(~least_value<T>());
}

}  // namespace detail

/// What maxima are made of: NaN, if there is one.
template <class T> struct maximum {
  using value = decltype(detail::ordered_type_of<T>());
  static constexpr value identity = detail::least_value<value>();
  template <class X> static X apply(X a, X b) { return ((b > a) | (b != b)) ? b : a; }
};

/// What minima are made of: NaN, if there is one.
template <class T> struct minimum {
  using value = decltype(detail::ordered_type_of<T>());
  static constexpr value identity = detail::greatest_value<value>();
  template <class X> static X apply(X a, X b) { return ((b < a) | (b != b)) ? b : a; }
};

/// The minimum of bools, which are 0 or 1: whether all are true.
struct conjunction : minimum<unsigned char> {
  static constexpr value identity = 1;
};

/// What products are made of.
template <class T> struct multiplication {
  using value = sum_type<T>;
  static constexpr value identity = 1;
  template <class X> static X apply(X a, X b) {
    if constexpr (std::is_integral_v<X>) return static_cast<X>(1u * a * b);  // a short one would become a signed int
    else return a * b;
  }
};

namespace detail {

// The first lanes of a register, or all.
template <class V, class T> inline typename native<V>::type load_as(T const* from, index count) {
  constexpr index lanes = native<V>::lanes;
  if constexpr (std::is_same_v<V, T>) {
    if (count >= lanes) return native<V>::load(from);
    V values[lanes] = {};
    copy_part(values, from, count);
    return native<V>::load(values);
  } else {
    V values[lanes] = {};
    copy_line(values, from, 1, lower(count, lanes));
    return native<V>::load(values);
  }
}

template <class V, class T> inline void store_as(T* to, typename native<V>::type x, index count) {
  constexpr index lanes = native<V>::lanes;
  V values[lanes];
  native<V>::store(values, x);
  if constexpr (std::is_same_v<V, T>) copy_part(to, values, lower(count, lanes));
  else copy_line(to, values, 1, lower(count, lanes));
}

// Part of one reduction: Op on elements of T, with results of type To.
template <class Op, class T, class To> struct reducer {
  using V = typename Op::value;
  using n = native<V>;
  using lanes_type = typename n::type;
  static constexpr index lanes = n::lanes;

  reduce_shape shape;
  T const* from;
  To* to;
  V* partial;         // [outer, parts, inner]
  bool mean = false;  // of what is summed, rounded once

  void run(parallel const& threads) const noexcept {
    index const units = shape.outer * shape.parts() * shape.blocks();
    index const size = upper(1, lower(shape.part(), shape.middle) * lower(shape.block, shape.inner));
    bool const lines = shape.inner == 1 && shape.parts() == 1;
    share(threads, units, divide_up(1 << 15, size), [&](index begin, index end) {
      for (index unit = begin; unit < end; ++unit) {
        if (lines) to[unit] = finished(reduce_line(from + unit * shape.middle, shape.middle));
        else run_unit(unit);
      }
    });
    if (shape.parts() == 1) return;
    share(threads, shape.outer, 1 + 256 / shape.parts(), [this](index begin, index end) {
      for (index o = begin; o < end; ++o) join(o);
    });
  }

 private:
  void run_unit(index unit) const {
    index const block = unit % shape.blocks(), part = unit / shape.blocks() % shape.parts();
    index const outer = unit / shape.blocks() / shape.parts();
    index const column = block * shape.block, columns = lower(shape.block, shape.inner - column);
    index const row = part * shape.part(), rows = lower(shape.part(), shape.middle - row);
    T const* const at = from + (outer * shape.middle + row) * shape.inner + column;
    V result[reduce_shape::block];
    if (shape.inner == 1) result[0] = reduce_line(at, rows);
    else reduce_rows(at, rows, columns, result);
    if (shape.parts() == 1) finish(result, outer * shape.inner + column, columns);
    else copy_line(partial + (outer * shape.parts() + part) * shape.inner + column, result, columns);
  }

  To finished(V x) const {
    if constexpr (std::is_floating_point_v<V> && requires { Op::mean(x, 1); })
      if (mean) return static_cast<To>(Op::mean(x, shape.middle));
    return static_cast<To>(x);
  }
  void finish(V const* result, index at, index count) const {
    for (index i = 0; i < count; ++i) to[at + i] = finished(result[i]);
  }

  // Lines of 256 bytes, whatever the width of a register, are reduced lane by lane, and the lanes as a tree.
  static V reduce_line(T const* at, index count) {
    if (count < 16) return reduce_few(at, count);
    lanes_type sum[registers];
#pragma GCC unroll 16
    for (index r = 0; r < registers; ++r) sum[r] = n::broadcast(Op::identity);
    index i = 0;
    for (; i + line <= count; i += line) add_line(sum, at + i);
    V values[line];
    if (i < count) {
      for (auto& x : values) x = Op::identity;
      copy_line(values, at + i, 1, count - i);
      add_line(sum, values);
    }
#pragma GCC unroll 16
    for (index r = 0; r < registers; ++r) n::store(values + r * lanes, sum[r]);
    return reduce_lanes(values);
  }

  static constexpr index registers = 256 / register_bytes, line = registers * lanes;

  template <class From> static void add_line(lanes_type (&sum)[registers], From const* at) {
#pragma GCC unroll 16
    for (index r = 0; r < registers; ++r) sum[r] = Op::apply(sum[r], load_as<V>(at + r * lanes, lanes));
  }

  static V reduce_lanes(V* values) {
    index half = line / 2;
    for (; half >= lanes; half /= 2) {
      for (index j = 0; j < half; j += lanes) {
        n::store(values + j, Op::apply(n::load(values + j), n::load(values + j + half)));
      }
    }
    for (; half > 0; half /= 2) {
      for (index j = 0; j < half; ++j) values[j] = Op::apply(values[j], values[j + half]);
    }
    return values[0];
  }

  static V reduce_few(T const* at, index count) {
    V sum = Op::identity;
    for (index i = 0; i < count; ++i) sum = Op::apply(sum, static_cast<V>(at[i]));
    return sum;
  }

  // Rows are reduced in groups of four, and groups in their order. Where the rows stay in the nearest cache that is
  // done strip by strip, the result in a register, and else row by row.
  void reduce_rows(T const* at, index rows, index columns, V* result) const {
    index const whole = rows * shape.inner <= 8192 ? 0 : columns / lanes * lanes;
    for (index j = 0; j < whole; j += lanes) n::store(result + j, n::broadcast(Op::identity));
    for (index i = 0; i < rows; i += 4) {
      for (index j = 0; j < whole; j += lanes) {
        auto const group = reduce_group<true>(at + i * shape.inner + j, lower(4, rows - i), lanes);
        n::store(result + j, Op::apply(n::load(result + j), group));
      }
    }
    index j = whole;
    for (; j + lanes <= columns; j += lanes) reduce_strip<true>(at, j, rows, lanes, result + j);
    if (j < columns) reduce_strip<false>(at, j, rows, columns - j, result + j);
  }

  template <bool Whole> void reduce_strip(T const* at, index first, index rows, index width, V* result) const {
    lanes_type sum = n::broadcast(Op::identity);
    for (index i = 0; i < rows; i += 4) {
      sum = Op::apply(sum, reduce_group<Whole>(at + first + i * shape.inner, lower(4, rows - i), width));
    }
    if constexpr (Whole) n::store(result, sum);
    else store_as<V>(result, sum, width);
  }

  // All lanes of a group, or some: those beyond `width` are read too where there is something to read.
  template <bool Whole> lanes_type reduce_group(T const* at, index count, index width) const {
    [[maybe_unused]] T const* const end = from + shape.outer * shape.middle * shape.inner;
    auto const row = [&](index i) {
      T const* const p = at + i * shape.inner;
      return load_as<V>(p, Whole || end - p >= lanes ? lanes : width);
    };
    if (count == 4) return Op::apply(Op::apply(row(0), row(1)), Op::apply(row(2), row(3)));
    lanes_type sum = row(0);
    for (index i = 1; i < count; ++i) sum = Op::apply(sum, row(i));
    return sum;
  }

  // The parts of one outer index, neighbours first.
  void join(index outer) const {
    V* const first = partial + outer * shape.parts() * shape.inner;
    for (index step = 1; step < shape.parts(); step *= 2) {
      for (index part = 0; part + step < shape.parts(); part += 2 * step) {
        V* const a = first + part * shape.inner;
        V const* const b = a + step * shape.inner;
        for (index i = 0; i < shape.inner; ++i) a[i] = Op::apply(a[i], b[i]);
      }
    }
    finish(first, outer * shape.inner, shape.inner);
  }
};

template <class Op, class T, class To>
void reduce_by(reduce_shape const& s, T const* from, To* to, void* scratch, parallel const& threads,
               bool mean = false) noexcept {
  if (s.outer <= 0 || s.inner <= 0) return;
  reducer<Op, T, To>{s, from, to, aligned<typename Op::value>(scratch), mean}.run(threads);
}

template <class T> struct real_of {
  using type = T;
  static constexpr index count = 1;
};
template <class T> struct real_of<std::complex<T>> {
  using type = T;
  static constexpr index count = 2;
};
template <class T>
using sum_element = std::conditional_t<std::is_integral_v<T>, sum_type<T>, typename real_of<T>::type>;

// Complex numbers are summed as pairs, and integers without a sign, so that they wrap.
template <class T, class To>
void add_up(reduce_shape s, T const* from, To* to, void* scratch, parallel const& threads, bool mean) noexcept {
  using element = sum_element<T>;
  s.inner *= real_of<T>::count;
  reduce_by<addition<element>>(s, reinterpret_cast<element const*>(from), reinterpret_cast<sum_element<To>*>(to),
                               scratch, threads, mean);
}

// Complex numbers are multiplied one by one, a column at a time.
template <class T>
void multiply_columns(reduce_shape const& s, T const* from, T* to, parallel const& threads) noexcept {
  share(threads, s.outer * s.inner, divide_up(1 << 14, upper(1, s.middle)), [&](index begin, index end) {
    for (index unit = begin; unit < end; ++unit) {
      T product = 1;
      for (index i = 0; i < s.middle; ++i) product *= from[(unit / s.inner * s.middle + i) * s.inner + unit % s.inner];
      to[unit] = product;
    }
  });
}

}  // namespace detail

/// Returns the bytes of scratch that the reductions below need: none if the middle extent is one part.
template <class T> constexpr std::size_t reduce_scratch_bytes(reduce_shape const& s) noexcept {
  constexpr std::size_t size = sizeof(T) < 4 && std::is_class_v<T> ? sizeof(float) : sizeof(T);
  index const parts = detail::upper(reduce_shape(s).parts(), reduce_shape{s.outer, s.middle, 2 * s.inner}.parts());
  return parts == 1 ? 0 : static_cast<std::size_t>(s.outer * parts * s.inner) * size + 64;
}

/// Sums over the middle extent; 0 for no elements. Integers wrap; 16-bit floats are summed as floats and rounded once,
/// or not if the results are floats.
template <class T, class To>
void reduce_sum(reduce_shape const& s, T const* from, To* to, void* scratch, parallel const& threads) noexcept {
  detail::add_up(s, from, to, scratch, threads, false);
}

/// Computes means over the middle extent, of floating-point and complex numbers; NaN for no elements.
template <class T, class To>
void reduce_mean(reduce_shape const& s, T const* from, To* to, void* scratch, parallel const& threads) noexcept {
  detail::add_up(s, from, to, scratch, threads, true);
}

/// Computes maxima over the middle extent; NaN if there is one, of bools whether any is true; the smallest value for no
/// elements.
template <class T>
void reduce_max(reduce_shape const& s, T const* from, T* to, void* scratch, parallel const& threads) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    detail::reduce_by<maximum<unsigned char>>(s, reinterpret_cast<unsigned char const*>(from),
                                              reinterpret_cast<unsigned char*>(to), scratch, threads);
  } else {
    detail::reduce_by<maximum<T>>(s, from, to, scratch, threads);
  }
}

/// Computes minima over the middle extent; NaN if there is one, of bools whether all are true; the largest value for no
/// elements.
template <class T>
void reduce_min(reduce_shape const& s, T const* from, T* to, void* scratch, parallel const& threads) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    detail::reduce_by<conjunction>(s, reinterpret_cast<unsigned char const*>(from),
                                   reinterpret_cast<unsigned char*>(to), scratch, threads);
  } else {
    detail::reduce_by<minimum<T>>(s, from, to, scratch, threads);
  }
}

/// Computes products over the middle extent; 1 for no elements. Integers wrap; 16-bit floats are multiplied as floats.
template <class T, class To>
void reduce_prod(reduce_shape const& s, T const* from, To* to, void* scratch, parallel const& threads) noexcept {
  if constexpr (detail::real_of<T>::count == 2) detail::multiply_columns(s, from, to, threads);
  else if constexpr (std::is_integral_v<T>) {
    using element = sum_type<T>;
    detail::reduce_by<multiplication<element>>(s, reinterpret_cast<element const*>(from),
                                               reinterpret_cast<element*>(to), scratch, threads);
  } else {
    detail::reduce_by<multiplication<T>>(s, from, to, scratch, threads);
  }
}

}  // namespace rill::kernels
