// A number of values at equal distances between two ends.
#pragma once
#include <cstdint>

#include "rill/ops/array/constant.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/cast.hpp"

namespace rill {

namespace detail {

/// Returns the positions of `count` values between 0, at the first, and 1, at the last.
inline tensor shares_of_way(std::int64_t count) {
  expects(count >= 0, "linspace: the number of values is negative");
  tensor all(dtype::float64, {count});
  auto* const to = all.mutable_data<double>();
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = count == 1 ? 0 : static_cast<double>(i) / static_cast<double>(count - 1);
  return all;
}

}  // namespace detail

/// Returns `count` values at equal distances from start to stop, which are the first and the last value. Both are
/// scalars of the graph, of floats or complex numbers.
inline value linspace(value start, value stop, std::int64_t count) {
  expects(is_differentiable(start.type().element),
          "linspace: the ends are not of floats or complex numbers; cast them");
  for (auto const* end : {&start, &stop})
    expects(!end->type().has_rank() || end->type().is_scalar(), "linspace: the ends must be scalars");
  auto& g = detail::graph_of(start);
  auto const element = detail::wide_element(start.type().element);
  value const far = cast(constant(g, detail::shares_of_way(count)), element);
  return detail::in_wide([&](value first, value last) { return first * (1 - far) + last * far; }, start, stop);
}
/// Returns the same for a number of values known at compile time: `linspace<5>(start, stop)`.
template <std::int64_t Count, operand Start, operand Stop> auto linspace(Start start, Stop stop) {
  static_assert(Count >= 0, "linspace: the number of values is negative");
  value const y = linspace(value(start), value(stop), Count);
  if constexpr (typed<Start>) {
    constexpr auto element = Start::static_type.element;
    static_assert(Start::static_type.rank == 0 && detail::may_be<Stop, Start::static_type>,
                  "linspace: the ends must be scalars of one element type");
    constexpr auto wide = detail::wide_element(element);
    detail::provide_kernels<ops::cast_op, element | dtypes{dtype::float64} | wide>();
    detail::provide_kernels<ops::add_op, wide>();
    detail::provide_kernels<ops::sub_op, wide>();
    detail::provide_kernels<ops::mul_op, wide>();
    return expr<type(element, {dim(Count)})>{y};
  } else return y;
}
/// Returns the same between two numbers: `linspace(g, 0.f, 1.f, 5)`, whose element type is theirs, and
/// `linspace<float, 5>(g, 0, 1)`.
template <std::floating_point T> value linspace(graph& g, T start, T stop, std::int64_t count) {
  expects(count >= 0, "linspace: the number of values is negative");
  tensor all(dtype_of<T>, {count});
  auto const step =
      count > 1 ? (static_cast<double>(stop) - static_cast<double>(start)) / static_cast<double>(count - 1) : 0;
  auto* const to = all.template mutable_data<T>();
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = i > 0 && i == count - 1 ? stop : static_cast<T>(static_cast<double>(start) + static_cast<double>(i) * step);
  return constant(g, all);
}
template <std::floating_point T, std::int64_t Count> expr<of<T, Count>> linspace(graph& g, T start, T stop) {
  return {linspace(g, start, stop, Count)};
}

}  // namespace rill
