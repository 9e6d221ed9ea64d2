// The type of a value in a graph: element type and extents, one vocabulary for the compiler and the run time.
#pragma once
#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "rill/base/error.hpp"
#include "rill/type/checks.hpp"
#include "rill/type/dim.hpp"
#include "rill/type/dtype.hpp"
#include "rill/type/extents.hpp"
#include "rill/type/shape.hpp"

namespace rill {

template <std::size_t Results, std::size_t Arguments> struct signature;

/// The value of `type::rank` for a rank that is known only at run time.
inline constexpr std::uint8_t unknown_rank = 255;

/// Element type, rank and extents, as a structural value, so that it can be the template argument of `expr`. Unused
/// extents are 0.
struct type {
  /// The element type.
  dtype element = dtype::float32;
  /// The number of axes, or `unknown_rank`.
  std::uint8_t rank = 0;
  /// The extents, of which the first `rank` count.
  std::array<dim, max_rank> dims{};

  constexpr type() = default;
  constexpr type(dtype e) : element(e) {}
  constexpr type(dtype e, std::initializer_list<dim> extents_of) : element(e) {
    for (auto const& d : extents_of) push_back(d);
  }
  constexpr type(dtype e, shape const& s) : element(e) {
    for (auto extent : s) push_back(extent);
  }

  /// Returns a type with element type `e` and unknown rank.
  static constexpr type of_unknown_rank(dtype e) {
    type t{e};
    t.rank = unknown_rank;
    return t;
  }

  /// Whether the number of axes is known.
  constexpr bool has_rank() const { return rank != unknown_rank; }
  /// Whether there are no axes.
  constexpr bool is_scalar() const { return rank == 0; }
  /// Returns an extent. While a program compiles, inference goes on after a failed check, and reads an axis that is not
  /// there as unknown.
  constexpr dim const& operator[](std::size_t i) const {
    return std::is_constant_evaluated() && (i >= rank || i >= max_rank) ? unknown : dims[i];
  }
  constexpr dim& operator[](std::size_t i) {
    return dims[std::is_constant_evaluated() && i >= max_rank ? max_rank - 1 : i];
  }
  /// Adds an axis behind the others; throws error(invalid_argument) for the ninth.
  constexpr void push_back(dim d) {
    expects(rank < max_rank, "a tensor's rank is at most 8");
    dims[rank++] = d;
  }
  /// The same in an operation's inference; refuses the operands for the ninth axis.
  constexpr void push_back(dim d, checks expects) {
    if (expects(rank < max_rank, "a tensor's rank is at most 8")) dims[rank++] = d;
  }
  /// Whether the rank and all extents are known.
  constexpr bool is_known() const {
    if (!has_rank()) return false;
    for (std::size_t i = 0; i < rank; ++i)
      if (!dims[i].known()) return false;
    return true;
  }
  /// Returns the extents; throws error(invalid_argument) unless all of them are known.
  constexpr rill::shape shape() const {
    expects(is_known(), "shape() needs a type whose extents are all known");
    rill::shape s;
    for (std::size_t i = 0; i < rank; ++i) s.push_back(dims[i].extent);
    return s;
  }
  /// Returns the size of a tensor of this type in bytes; throws error(invalid_argument) unless all extents are known.
  constexpr std::size_t bytes() const { return static_cast<std::size_t>(elements(shape())) * size_of(element); }
  /// Returns the same extents with another element type.
  constexpr type with(dtype e) const {
    type t = *this;
    t.element = e;
    return t;
  }
  /// Returns what errors and printed handles show: "float32[n, 3]".
  std::string text() const;
  /// Returns the signature of a function with this result: `of<float>(of<float, "n">)`; see rill/type/signature.hpp.
  template <std::same_as<type>... Arguments>
  constexpr signature<1, sizeof...(Arguments)> operator()(Arguments const&... arguments) const;
  // By hand, as for `extents`.
  friend constexpr bool operator==(type const& a, type const& b) {
    for (std::size_t i = 0; i < max_rank; ++i)
      if (a.dims[i] != b.dims[i]) return false;
    return a.element == b.element && a.rank == b.rank;
  }
};

/// Returns a type's text behind its article: "an int32[2]", "a float32[n, 3]".
std::string with_article(type const& t);

/// Returns a list of types as text: "(float32[2], int32[])".
std::string text_of(std::span<type const> types);

#if RILL_RUNTIME
RILL_INLINE std::string with_article(type const& t) try {
  return (name(t.element).starts_with("int") ? "an " : "a ") + t.text();  // no other name begins with a vowel's sound
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::string text_of(std::span<type const> types) try {
  std::string s = "(";
  for (auto const& t : types) s += (s.size() > 1 ? ", " : "") + t.text();
  return s + ")";
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::string type::text() const try {
  std::string s(name(element));
  if (!has_rank()) return s + "[...]";
  s += "[";
  for (std::size_t i = 0; i < rank; ++i) s += (i ? ", " : "") + dims[i].text();
  return s + "]";
} catch (...) {
  rethrow_as_error();
}
#endif

/// The type with the given element and extents: `of<float, "batch", 64>`.
template <element T, dim... Extents> inline constexpr type of{dtype_of<T>, {Extents...}};

/// Returns the more specific of two extents that must be equal; throws error(invalid_argument) with the sentence `why`
/// if they differ. While a model is recorded, a name equals only itself: an axis "batch" and the number 32 differ.
constexpr dim agree(dim const& a, dim const& b, char const* why, checks expects = {}) {
  if (a == b || b == unknown) return a;
  expects(a == unknown, why, a, b);
  return b;
}

/// Returns the extent that two extents broadcast to, by NumPy's rule: they must be equal, or one of them 1.
constexpr dim broadcast(dim const& a, dim const& b, checks expects = {}) {
  if (a == dim(1)) return b;
  if (b == dim(1)) return a;
  if (a == unknown) return b.known() ? b : unknown;  // a name may be bound to 1, so a name and unknown stay unknown
  if (b == unknown) return a.known() ? a : unknown;
  return agree(a, b, "the operands' extents do not broadcast: they are neither equal nor 1", expects);
}

/// Returns the type that two operands broadcast to; its element type is the first operand's.
constexpr type broadcast(type const& a, type const& b, checks expects = {}) {
  if (!a.has_rank() || !b.has_rank()) return type::of_unknown_rank(a.element);
  type y{a.element};
  y.rank = std::max(a.rank, b.rank);
  for (std::size_t i = 1; i <= y.rank; ++i) {
    dim const p = i <= a.rank ? a[a.rank - i] : dim(1), q = i <= b.rank ? b[b.rank - i] : dim(1);
    y[y.rank - i] = broadcast(p, q, expects);
  }
  return y;
}

/// Whether a value of type `have` may be used where `want` is expected. Named and unknown extents are accepted; the run
/// checks them.
constexpr bool accepts(type const& want, type const& have) {
  if (want.element != have.element) return false;
  if (!want.has_rank() || !have.has_rank()) return true;
  if (want.rank != have.rank) return false;
  for (std::size_t i = 0; i < want.rank; ++i)
    if (!may_equal(want[i], have[i])) return false;
  return true;
}

/// Returns the type without one axis; the rank must be known.
constexpr type without_axis(type const& t, std::size_t axis) {
  type y{t.element};
  for (std::size_t i = 0; i < t.rank; ++i)
    if (i != axis) y.push_back(t[i]);
  return y;
}

/// Returns the type of a tensor's rows; throws error(invalid_argument) for a scalar and for an unknown rank.
constexpr type row_of(type const& t, checks expects = {}) {
  if (!expects(t.has_rank(), "a value of unknown rank can't be split into rows: reshape it to a known rank first") ||
      !expects(t.rank > 0, "a scalar has no rows"))
    return t;
  return without_axis(t, 0);
}
/// Returns the type of a tensor of `count` rows of type `row`; throws error(invalid_argument) for rows of rank 8.
constexpr type stacked(type const& row, dim const& count, checks expects = {}) {
  if (!row.has_rank() ||
      !expects(row.rank < max_rank, "values of rank 8 can't be stacked: a tensor's rank is at most 8"))
    return row;
  type t{row.element};
  t.push_back(count);
  for (std::size_t i = 0; i < row.rank; ++i) t.push_back(row[i]);
  return t;
}

/// Returns the axis, counted from the end if it is negative; throws error(invalid_argument) with the sentence `why`
/// unless -rank <= axis < rank. The rank must be known.
constexpr std::size_t checked_axis(std::int64_t axis, std::size_t rank, char const* why, checks expects = {}) {
  auto const r = static_cast<std::int64_t>(rank);
  bool const there = axis >= -r && axis < r;
  expects.axis(there, why, axis, r);
  return there ? static_cast<std::size_t>(axis < 0 ? axis + r : axis) : 0;
}

}  // namespace rill
