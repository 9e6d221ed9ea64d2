// Parts of a value by subscripts, as in NumPy: x[i], x(all(), 2), x(seq{.step = 2}); and their derivative.
#pragma once
#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "rill/dsl/expr.hpp"

namespace rill {

/// The positions begin, begin + step, … before `end` along an axis. Numbers below 0 count from the end of the axis, and
/// those beyond it are moved to it, as in Python. Left out: from the first position to the last, or the other way where
/// `step` is negative: `seq{1, 3}`, `seq{.begin = -2}`, `seq{.step = -1}`.
struct seq {
  /// Stands for the end of the axis at which the positions begin, or end.
  static constexpr std::int64_t open = std::numeric_limits<std::int64_t>::min();
  std::int64_t begin = open, end = open, step = 1;
};
/// A subscript that stands for all positions of an axis.
struct whole_axis {};
/// Returns the subscript of all positions of an axis: `x(all(), 2)` is column 2.
constexpr whole_axis all() { return {}; }

/// What a value is subscripted by: a number, `seq`, or `all()`.
template <class Index>
concept fixed_subscript = std::integral<Index> || std::same_as<Index, seq> || std::same_as<Index, whole_axis>;

namespace ops {

/// A subscript for each of the first axes: positions as `seq` has them, or, where `step` is 0, the one position
/// `begin`, whose axis the result does not have.
struct subscripts {
  extents begin, end, step;
  static constexpr auto fields(auto const& take) {
    return take(field{"begin", &subscripts::begin}, field{"end", &subscripts::end}, field{"step", &subscripts::step});
  }

  constexpr void add(seq s) {
    expects(s.step != 0, "subscript: a step is 0");
    begin.push_back(s.begin), end.push_back(s.end), step.push_back(s.step);
  }
  constexpr void add(whole_axis) { add(seq{}); }
  constexpr void add(std::integral auto i) {
    begin.push_back(static_cast<std::int64_t>(i)), end.push_back(0), step.push_back(0);
  }

  /// The positions along an axis: `count` of them from `first` on.
  struct positions {
    std::int64_t first = 0, step = 1, count = 0;
  };
  constexpr bool is_index(std::size_t axis) const { return axis < step.size() && step[axis] == 0; }
  constexpr bool is_whole(std::size_t axis) const {
    return axis >= step.size() ||
           (begin[axis] == seq::open && end[axis] == seq::open && (step[axis] == 1 || step[axis] == -1));
  }
  /// Whether the index of an axis lies within `n`.
  constexpr bool is_within(std::size_t axis, std::int64_t n) const { return begin[axis] >= -n && begin[axis] < n; }
  /// Returns the positions along an axis of extent `n`, within which an index lies.
  constexpr positions along(std::size_t axis, std::int64_t n) const {
    if (axis >= step.size()) return {0, 1, n};
    auto const from_end = [n](std::int64_t i) { return i < 0 ? i + n : i; };
    if (is_index(axis)) return {from_end(begin[axis]), 1, 1};
    bool const up = step[axis] > 0;
    auto const limited = [&](std::int64_t i, std::int64_t otherwise) {
      if (i == seq::open) return otherwise;
      std::int64_t const lowest = up ? 0 : -1, highest = up ? n : n - 1;
      return std::clamp<std::int64_t>(from_end(i), lowest, std::max<std::int64_t>(lowest, highest));
    };
    auto const first = limited(begin[axis], up ? 0 : n - 1), last = limited(end[axis], up ? n : -1);
    auto const span = up ? last - first : first - last;
    if (span <= 0) return {0, 1, 0};
    auto const apart = up ? static_cast<std::uint64_t>(step[axis]) : 0 - static_cast<std::uint64_t>(step[axis]);
    return {first, step[axis], 1 + static_cast<std::int64_t>(static_cast<std::uint64_t>(span - 1) / apart)};
  }

  /// Returns the type of this part of x.
  constexpr type of(type const& x, checks expects = {}) const {
    if (!expects(begin.size() == end.size() && begin.size() == step.size(),
                 "subscript: begin, end and step have different lengths") ||
        !x.has_rank())
      return type::of_unknown_rank(x.element);
    if (!expects(begin.size() <= x.rank, "subscript: there are more subscripts than the operand has axes")) return x;
    type y{x.element};
    for (std::size_t i = 0; i < x.rank; ++i) {
      if (!is_index(i)) y.push_back(is_whole(i) ? x[i] : x[i].known() ? dim(along(i, x[i].extent).count) : unknown);
      else if (x[i].known()) {
        dim at;
        at.extent = begin[i];
        expects(is_within(i, x[i].extent), "subscript: an index is out of range for its axis", at, x[i]);
      }
    }
    return y;
  }
};

struct subscript_op {
  using library = void;
  static constexpr std::string_view
      name = "subscript",
      doc = "the part of x at the given positions of its first axes; NumPy's basic indexing";
  static constexpr std::int8_t arity = 1;
  using attributes = subscripts;
  static constexpr type infer(subscripts const& a, type const& x, checks expects = {}) { return a.of(x, expects); }
  static cost work(subscripts const&, std::span<type const>, std::span<type const> out) {
    return {0, 2 * rill::detail::bytes_of(out)};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {subscript_gradient(V(r.dy()), r.in(0), decode<subscripts>(r.origin().attributes))};
  }
  static kernel cpu(kernel_request const& r);
};

struct subscript_gradient_op {
  using library = void;
  static constexpr std::string_view name = "subscript_gradient",
                                    doc = "zeros of the second operand's extents, with x at the given positions";
  static constexpr std::int8_t arity = 2;
  static constexpr std::uint32_t shape_only = 0b10;
  using attributes = subscripts;
  static constexpr type infer(subscripts const& a, type const& x, type const& other, checks expects = {}) {
    type const part = a.of(other, expects);
    bool fits = !x.has_rank() || !part.has_rank() || x.rank == part.rank;
    for (std::size_t i = 0; fits && x.has_rank() && part.has_rank() && i < x.rank; ++i) fits = may_equal(x[i], part[i]);
    expects(fits, "subscript_gradient: the value does not have the extents of the part");
    return other.with(x.element);
  }
  static cost work(subscripts const&, std::span<type const>, std::span<type const> out) {
    return {0, 2 * rill::detail::bytes_of(out)};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(2);
    if (r.wanted[0]) all[0] = subscript(V(r.dy()), decode<subscripts>(r.origin().attributes));
    return all;
  }
  static kernel cpu(kernel_request const& r);
};

}  // namespace ops

/// Returns the part of x that the subscripts say.
inline value subscript(value x, ops::subscripts const& at) {
  return record_erased<ops::subscript_op>(detail::graph_of(x), at, {x});
}
/// Returns zeros of `other`'s extents, with x at the positions that the subscripts say.
inline value subscript_gradient(value x, value other, ops::subscripts const& at) {
  return record_erased<ops::subscript_gradient_op>(detail::graph_of(x), at, {x, other});
}

namespace detail {

template <class... Index> constexpr ops::subscripts subscripts_of(Index... each) {
  ops::subscripts all;
  (all.add(each), ...);
  return all;
}

/// Returns the type of a part as far as the kinds of its subscripts say.
template <class... Index> constexpr type part_of(type const& x, checks expects = {}) {
  if (!x.has_rank() ||
      !expects(sizeof...(Index) <= x.rank, "subscript: there are more subscripts than the operand has axes"))
    return type::of_unknown_rank(x.element);
  constexpr std::array<int, sizeof...(Index)> kinds{(std::integral<Index>              ? 0
                                                     : std::same_as<Index, whole_axis> ? 1
                                                                                       : 2)...};
  type y{x.element};
  for (std::size_t i = 0; i < x.rank; ++i)
    if (i >= kinds.size() || kinds[i] == 1) y.push_back(x[i]);
    else if (kinds[i] == 2) y.push_back(unknown);
  return y;
}

}  // namespace detail

/// Returns the part of x at the given positions of its first axes: a number takes one position, and the axis goes;
/// `seq` takes several; `all()` takes all. Numbers below 0 count from the end. Axes without a subscript stay as they
/// are. Also spelled x(…), and x[i] for one subscript. A number out of range is error(invalid_argument).
template <operand X, fixed_subscript... Index>
  requires(sizeof...(Index) > 0)
auto subscript(X x, Index... at) {
  if constexpr (typed<X>) {
    constexpr auto rank = X::static_type.has_rank() ? X::static_type.rank : max_rank;
    static_assert(sizeof...(Index) <= rank, "subscript: there are more subscripts than the operand has axes");
    detail::provide_kernels<ops::subscript_op, dtypes{X::static_type.element}>();
    return expr<detail::part_of<Index...>(X::static_type)>{subscript(value(x), detail::subscripts_of(at...))};
  } else return subscript(value(x), detail::subscripts_of(at...));
}
/// Returns the same with subscripts that the compiler checks, and all extents that it can know:
/// `subscript<all(), seq{0, 3}>(x)`.
template <auto... At, operand X>
  requires(sizeof...(At) > 0 && (fixed_subscript<std::remove_cv_t<decltype(At)>> && ...))
auto subscript(X x) {
  return record<ops::subscript_op, detail::subscripts_of(At...)>(x);
}

}  // namespace rill

#include "rill/ops/array/subscript.ipp"
