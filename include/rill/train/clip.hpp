// Gradient clipping: bounds the norm or the elements of gradients, so that one bad batch moves variables only a little
// (Pascanu et al., ICML 2013).
#pragma once
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "rill/ops/array/as.hpp"
#include "rill/ops/math/activations.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/select.hpp"
#include "rill/ops/reduction/norm.hpp"
#include "rill/ops/sum/sum.hpp"
#include "rill/tensor/print.hpp"
#include "rill/train/optimizer.hpp"

namespace rill {

namespace detail {

/// Returns the factor that scales elements if the sum of their squares overflows. A power of two loses no digits (Blue,
/// ACM TOMS 1978).
constexpr double small_unit(dtype element) { return element == dtype::float64 ? 0x1p-600 : 0x1p-90; }

/// Returns 1 if the sum of squares is finite, else the small unit.
inline value unit_for(value squares, double small) {
  value const fits = less(squares, like(squares, std::numeric_limits<double>::infinity()));
  return select(fits, like(squares, 1), like(squares, small));
}

/// Throws error(invalid_argument) unless max_norm > 0.
inline void check_max_norm(std::string_view who, double max_norm) try {
  if (!(max_norm > 0))
    throw error(code::invalid_argument,
                std::string(who) + ": expected a norm above 0, got " + printing::number_text(max_norm, ""));
} catch (...) {
  rethrow_as_error();
}

/// Returns x * max_norm / max(norm, max_norm), computed in float32 if x's type is narrower. The norm's derivative at 0
/// is 0.
inline value clipped(value x, double max_norm) {
  value const y = widened(x);
  auto const small = small_unit(y.type().element);
  value const scaled = y * like(y, small), squares = sum(y * y), unit = unit_for(squares, small);
  // The norm and its bound, in this unit.
  value const one = like(squares, 1);
  auto const least = y.type().element == dtype::float64 ? 0x1p-1022 : 0x1p-126;
  value const norm = sqrt(maximum(select(equal(unit, one), squares, sum(scaled * scaled)), like(squares, least)));
  value const bound = like(squares, max_norm);
  return cast(y * unit * (bound / maximum(norm, bound * unit)), x.type().element);
}

}  // namespace detail

/// Returns x, scaled down to the norm `max_norm` if its norm is larger. The norm is the root of the sum of the
/// elements' squares. Throws error(invalid_argument) unless max_norm > 0.
template <operand X> auto clip_by_norm(X x, double max_norm) {
  detail::check_max_norm("clip_by_norm", max_norm);
  if constexpr (typed<X>) return as<X::static_type>(detail::clipped(x, max_norm));
  else return detail::clipped(x, max_norm);
}

/// Returns the root of the sum of the squares of all elements of all gradients: float64 if one gradient is float64 or
/// complex128, else float32. The rows of a sparse gradient count separately, even if two belong to one row of the
/// variable. Where the norm is 0, so is its derivative. Throws error(invalid_argument) if the list is empty.
value global_norm(std::vector<variable_gradient> const& all);

/// Returns all gradients, scaled down by one factor so that their `global_norm` is at most `max_norm`:
/// `optimizer.apply(clip_by_global_norm(variable_gradients(loss), 1))`. Throws error(invalid_argument) if the list is
/// empty or max_norm <= 0.
std::vector<variable_gradient> clip_by_global_norm(std::vector<variable_gradient> all, double max_norm);

/// Returns all gradients, with each element brought between -limit and limit: `optimizer.apply(clip_by_value(
/// variable_gradients(loss), 0.5))`. The rows of a sparse gradient are clipped separately, even if two belong to one
/// row of the variable. For values, there is `clamp`. Throws error(invalid_argument) unless limit > 0, or if a gradient
/// is of complex numbers.
std::vector<variable_gradient> clip_by_value(std::vector<variable_gradient> all, double limit);

#if RILL_RUNTIME

namespace detail {

inline value const& elements_of(gradient const& g) { return g.sparse() ? g.rows : g.dense; }

/// Returns the gradient times max_norm / max(norm, max_norm), computed in float32 if its type is narrower: a norm of
/// 80,000 is infinite in float16.
inline gradient scaled_down(gradient const& g, value norm, double max_norm) {
  value const x = widened(elements_of(g)), bound = like(x, max_norm);
  value const y = narrowed_to(elements_of(g), x * (bound / maximum(cast(norm, x.type().element), bound)));
  return g.sparse() ? gradient(g.indices, y) : gradient(y);
}

}  // namespace detail

RILL_INLINE value global_norm(std::vector<variable_gradient> const& all) try {
  expects(!all.empty(), "global_norm: expected at least one gradient, got an empty list");
  auto wide = dtype::float32, narrow = dtype::float64;
  for (auto const& each : all) {
    auto const element = detail::elements_of(each.gradient).type().element;
    bool const doubles = element == dtype::float64 || element == dtype::complex128;
    (doubles ? wide : narrow) = doubles ? dtype::float64 : dtype::float32;
  }
  auto const small = detail::small_unit(narrow);
  std::vector<value> squares, scaled;
  for (auto const& each : all) {
    value const x = detail::widened(detail::elements_of(each.gradient)), y = x * like(x, small);
    squares.push_back(cast(sum(x * conj(x)), wide));
    scaled.push_back(cast(sum(y * conj(y)), wide));
  }
  value const sum = add_n(squares), unit = detail::unit_for(sum, small);
  return detail::root(value(select(equal(unit, like(sum, 1)), sum, add_n(scaled))), 0.5) / unit;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::vector<variable_gradient> clip_by_global_norm(std::vector<variable_gradient> all,
                                                               double max_norm) try {
  detail::check_max_norm("clip_by_global_norm", max_norm);
  auto const norm = global_norm(all);
  for (auto& each : all) each.gradient = detail::scaled_down(each.gradient, norm, max_norm);
  return all;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::vector<variable_gradient> clip_by_value(std::vector<variable_gradient> all, double limit) try {
  if (!(limit > 0))
    throw error(code::invalid_argument,
                "clip_by_value: expected a limit above 0, got " + printing::number_text(limit, ""));
  for (auto& [g, v] : all) {
    if (!g) throw error(code::invalid_argument, "clip_by_value: expected a gradient, got an empty one", v.name());
    if (is_complex(detail::elements_of(g).type().element))
      throw error(code::invalid_argument, "clip_by_value: expected gradients of floats, got complex numbers", v.name());
    value const clipped = clamp(detail::elements_of(g), -limit, limit);
    g = g.sparse() ? gradient(g.indices, clipped) : gradient(clipped);
  }
  return all;
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
