// Arrays copied along their axes: tile, repeat, and pad with what lies at the border.
#pragma once
#include "rill/ops/arrange/pad.hpp"
#include "rill/ops/array/source_positions.hpp"
#include "rill/ops/table/gather_axis.hpp"

namespace rill {

namespace ops {

/// The types of tile, repeat and pad with a border, which are made of other operations.
struct tiled {
  static constexpr std::string_view name = "tile";
  static constexpr std::int8_t arity = 1;
  using attributes = extents;
  static constexpr type infer(extents const& times, type const& x, checks expects = {}) {
    for (auto each : times) expects(each >= 0, "tile: a number of copies is negative");
    if (!x.has_rank()) return x;
    if (!expects(times.size() == x.rank, "tile: there must be a number of copies for each axis")) return x;
    type y = x;
    for (std::size_t i = 0; i < x.rank; ++i)
      if (times[i] != 1) y[i] = x[i].known() && times[i] >= 0 ? dim(checked_product(x[i].extent, times[i])) : unknown;
    return y;
  }
};
struct repeated {
  static constexpr std::string_view name = "repeat";
  static constexpr std::int8_t arity = 1;
  struct attributes {
    std::int64_t times = 1, axis = 0;
  };
  static constexpr type infer(attributes const& a, type const& x, checks expects = {}) {
    expects(a.times >= 0, "repeat: the number of copies is negative");
    if (!x.has_rank()) return x;
    extents times;
    for (std::size_t i = 0; i < x.rank; ++i) times.push_back(1);
    times[checked_axis(a.axis, x.rank, "repeat: the axis is out of range for the operand's rank", expects)] = a.times;
    return tiled::infer(times, x, expects);
  }
};
struct bordered {
  static constexpr std::string_view name = "pad";
  static constexpr std::int8_t arity = 1;
  using attributes = margins;
  static constexpr type infer(margins const& a, type const& x, checks expects = {}) { return a.around(x, expects); }
};

}  // namespace ops

/// Returns x with `times[i]` copies of it one after the other along axis i.
inline value tile(value x, extents const& times) {
  (void)ops::tiled::infer(times, x.type());
  for (std::size_t i = 0; i < times.size(); ++i) {
    auto const axis = static_cast<std::int64_t>(i);
    if (times[i] != 1) x = gather(x, source_positions(x, {.axis = axis, .times = times[i]}), axis);
  }
  return x;
}
/// Returns the same for numbers of copies known at compile time: `tile<2, 3>(x)`.
template <std::int64_t... Times, operand X>
  requires(sizeof...(Times) > 0)
auto tile(X x) {
  value const y = tile(value(x), extents{Times...});
  if constexpr (typed<X>) {
    detail::provide_kernels<ops::scatter_like_op, X::static_type.element>();
    return expr<detail::result_types<ops::tiled, extents{Times...}, X>()>{y};
  } else return y;
}

/// Returns x with each position of an axis `times` times in a row.
inline value repeat(value x, std::int64_t times, std::int64_t axis = 0) {
  (void)ops::repeated::infer({times, axis}, x.type());
  return gather(x, source_positions(x, {.axis = axis, .each = times}), axis);
}
/// Returns the same for a number known at compile time: `repeat<3>(x)` along axis 0, `repeat<2, -1>(x)` along the last.
template <std::int64_t Times, std::int64_t Axis = 0, operand X> auto repeat(X x) {
  value const y = repeat(value(x), Times, Axis);
  if constexpr (typed<X>) {
    detail::provide_kernels<ops::scatter_like_op, X::static_type.element>();
    return expr<detail::result_types<ops::repeated, ops::repeated::attributes{Times, Axis}, X>()>{y};
  } else return y;
}

/// Returns x with `before[i]` elements before and `after[i]` elements after axis i, copied from x as the border says:
/// `pad(x, {0, 1}, {0, 1}, border::reflect)`.
inline value pad(value x, extents const& before, extents const& after, border beyond) {
  (void)ops::margins{before, after}.around(x.type());
  for (std::size_t i = 0; i < before.size(); ++i) {
    auto const axis = static_cast<std::int64_t>(i);
    if (before[i] == 0 && after[i] == 0) continue;
    x = gather(x, source_positions(x, {axis, beyond, before[i], after[i]}), axis);
  }
  return x;
}
/// Returns the same for numbers known at compile time: `pad<extents{0, 1}, extents{0, 1}>(x, border::edge)`.
template <extents Before, extents After, operand X> auto pad(X x, border beyond) {
  value const y = pad(value(x), Before, After, beyond);
  if constexpr (typed<X>) {
    detail::provide_kernels<ops::scatter_like_op, X::static_type.element>();
    return expr<detail::result_types<ops::bordered, ops::margins{Before, After}, X>()>{y};
  } else return y;
}

}  // namespace rill
