// The type of a value in a graph: element type and extents, one vocabulary for the compiler and the run time.
#pragma once
#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "rill/base/error.hpp"
#include "rill/type/checks.hpp"
#include "rill/type/dim.hpp"
#include "rill/type/dtype.hpp"
#include "rill/type/extents.hpp"
#include "rill/type/shape.hpp"

namespace rill {

template <std::size_t Results, std::size_t Arguments> struct signature;

/// The rank of a type of which only the run will know the rank.
inline constexpr std::uint8_t unknown_rank = 255;

/// Element type, rank and extents; a structural value, so that `expr<type>` can carry it. Unused extents are 0.
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

  /// A type of which only the element is known.
  static constexpr type of_unknown_rank(dtype e) {
    type t{e};
    t.rank = unknown_rank;
    return t;
  }

  /// Whether the number of axes is known.
  constexpr bool has_rank() const { return rank != unknown_rank; }
  /// Whether there are no axes.
  constexpr bool is_scalar() const { return rank == 0; }
  constexpr dim const& operator[](std::size_t i) const { return dims[i]; }
  constexpr dim& operator[](std::size_t i) { return dims[i]; }
  /// Adds an axis behind the others; throws error(invalid_argument) for the ninth.
  constexpr void push_back(dim d) {
    expects(rank < max_rank, "a tensor's rank is at most 8");
    dims[rank++] = d;
  }
  /// Whether rank and all extents are numbers.
  constexpr bool is_known() const {
    if (!has_rank()) return false;
    for (std::size_t i = 0; i < rank; ++i)
      if (!dims[i].known()) return false;
    return true;
  }
  /// The extents as numbers; all must be known.
  constexpr rill::shape shape() const {
    expects(is_known(), "a shape was asked of a type with unknown extents");
    rill::shape s;
    for (std::size_t i = 0; i < rank; ++i) s.push_back(dims[i].extent);
    return s;
  }
  /// What the elements of a tensor take, in bytes; all extents must be known.
  constexpr std::size_t bytes() const { return static_cast<std::size_t>(elements(shape())) * size_of(element); }
  /// Returns the same extents with another element type.
  constexpr type with(dtype e) const {
    type t = *this;
    t.element = e;
    return t;
  }
  /// Returns what errors and printed handles show: "float32[n, 3]".
  std::string text() const;
  /// The signature of a function that returns this: `of<float>(of<float, "n">)`; rill/type/signature.hpp.
  template <std::same_as<type>... Arguments>
  constexpr signature<1, sizeof...(Arguments)> operator()(Arguments const&... arguments) const;
  friend constexpr bool operator==(type const&, type const&) = default;
};

/// "(float32[2], int32[])".
std::string text_of(std::span<type const> types);

#if RILL_RUNTIME
RILL_INLINE std::string text_of(std::span<type const> types) {
  std::string s = "(";
  for (auto const& t : types) s += (s.size() > 1 ? ", " : "") + t.text();
  return s + ")";
}

RILL_INLINE std::string type::text() const {
  std::string s(name(element));
  if (!has_rank()) return s + "[...]";
  s += "[";
  for (std::size_t i = 0; i < rank; ++i) s += (i ? ", " : "") + dims[i].text();
  return s + "]";
}
#endif

/// `of<float, "batch", 64>`: the type with that element and those extents.
template <element T, dim... Extents> inline constexpr type of{dtype_of<T>, {Extents...}};

/// The more specific of two extents that must be equal; an error with the given sentence when they are not. While a
/// model is written, a name equals itself alone: an axis "batch" and the number 32 are two things.
constexpr dim agree(dim const& a, dim const& b, char const* why, checks expects = {}) {
  if (a == b || b == unknown) return a;
  expects(a == unknown, why, a, b);
  return b;
}

/// The extent of two broadcast extents, as NumPy does it: equal, or one of them 1.
constexpr dim broadcast(dim const& a, dim const& b, checks expects = {}) {
  if (a == dim(1)) return b;
  if (b == dim(1)) return a;
  if (a == unknown) return b.known() ? b : unknown;  // a name may be bound to 1, so a name and unknown stay unknown
  if (b == unknown) return a.known() ? a : unknown;
  return agree(a, b, "the operands' extents do not broadcast: they are neither equal nor 1", expects);
}

/// The extents of two broadcast operands; the element type is the first's.
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

/// Whether a tensor of type `have` may stand where `want` is asked; named and unknown extents are settled by the run.
constexpr bool accepts(type const& want, type const& have) {
  if (want.element != have.element) return false;
  if (!want.has_rank() || !have.has_rank()) return true;
  if (want.rank != have.rank) return false;
  for (std::size_t i = 0; i < want.rank; ++i)
    if (!may_equal(want[i], have[i])) return false;
  return true;
}

/// The type without an axis; the rank must be known.
constexpr type without_axis(type const& t, std::size_t axis) {
  type y{t.element};
  for (std::size_t i = 0; i < t.rank; ++i)
    if (i != axis) y.push_back(t[i]);
  return y;
}

/// The type of a tensor's rows; the rank must be known, and not 0.
constexpr type row_of(type const& t, checks expects = {}) {
  expects(t.has_rank(), "the rows of a value of unknown rank can't be taken one by one: reshape gives it a rank");
  expects(t.rank > 0, "a scalar has no rows");
  return without_axis(t, 0);
}
/// The type of a tensor that has so many rows.
constexpr type stacked(type const& row, dim const& count) {
  if (!row.has_rank()) return row;
  type t{row.element};
  t.push_back(count);
  for (std::size_t i = 0; i < row.rank; ++i) t.push_back(row[i]);
  return t;
}

/// A checked axis: negative ones count from the end. `rank` must be known.
constexpr std::size_t checked_axis(std::int64_t axis, std::size_t rank, char const* why, checks expects = {}) {
  auto const r = static_cast<std::int64_t>(rank);
  bool const there = axis >= -r && axis < r;
  expects.axis(there, why, axis, r);
  return there ? static_cast<std::size_t>(axis < 0 ? axis + r : axis) : 0;
}

}  // namespace rill
