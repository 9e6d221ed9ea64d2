// Gradient clipping: bounds the norm or the elements of gradients, so that one bad batch moves variables only a little
// (Pascanu et al., ICML 2013).
#pragma once
#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "rill/ops/array/as.hpp"
#include "rill/ops/math/activations.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/select.hpp"
#include "rill/ops/network/square_units.hpp"
#include "rill/ops/sum/sum.hpp"
#include "rill/tensor/print.hpp"
#include "rill/train/optimizer.hpp"

namespace rill {

namespace detail {

/// Throws error(invalid_argument) unless max_norm > 0.
inline void check_max_norm(std::string_view who, double max_norm) try {
  if (!(max_norm > 0))
    throw error(code::invalid_argument,
                std::string(who) + ": expected a norm above 0, got " + printing::number_text(max_norm, ""));
} catch (...) {
  rethrow_as_error();
}

/// The norm of elements of all given values together: |x unit|, and the unit, which is not 1 if squares overflow. Both
/// are float64 if one value is float64 or complex128, else float32.
struct norm_in_unit {
  value norm, unit;
  norm_in_unit(std::string_view who, std::vector<value> const& all);
};
/// Returns x * max_norm / max(norm, max_norm), computed in the norm's type and rounded to x's. A max_norm beyond the
/// range of the norm's type changes nothing.
value bounded(value x, norm_in_unit const& n, double max_norm);

}  // namespace detail

/// Returns x, scaled down to the norm `max_norm` if its norm is larger; x itself if `max_norm` is infinite. The norm is
/// the root of the sum of the elements' squares; where it is 0, so is its derivative. If any element is
/// infinite, it becomes NaN and all finite elements become 0. Throws error(invalid_argument) unless max_norm > 0.
template <operand X> auto clip_by_norm(X x, double max_norm) try {
  detail::check_max_norm("clip_by_norm", max_norm);
  value const clipped = detail::bounded(x, detail::norm_in_unit("clip_by_norm", {x}), max_norm);
  if constexpr (typed<X>) return as<X::static_type>(clipped);
  else return clipped;
} catch (...) {
  rethrow_as_error();
}

/// Returns the root of the sum of the squares of all elements of all gradients: float64 if one gradient is float64 or
/// complex128, else float32. The rows of a sparse gradient count separately, even if two belong to one row of the
/// variable. A float32 norm below 1e-19 has fewer digits. Where the norm is 0, so is its derivative. Throws
/// error(invalid_argument) if the list is empty.
value global_norm(std::vector<variable_gradient> const& all);

/// Returns all gradients, scaled down by one factor so that their `global_norm` is at most `max_norm`:
/// `optimizer.apply(clip_by_global_norm(variable_gradients(loss), 1))`. An infinite `max_norm` changes nothing. If any
/// element is infinite, it becomes NaN and all finite elements become 0. Throws error(invalid_argument) if the
/// list is empty or max_norm <= 0.
std::vector<variable_gradient> clip_by_global_norm(std::vector<variable_gradient> all, double max_norm);

/// Returns all gradients, with each element brought between -limit and limit: `optimizer.apply(clip_by_value(
/// variable_gradients(loss), 0.5))`. The rows of a sparse gradient are clipped separately, even if two belong to one
/// row of the variable. For values, there is `clamp`. Throws error(invalid_argument) unless limit > 0, or if a gradient
/// is of complex numbers.
std::vector<variable_gradient> clip_by_value(std::vector<variable_gradient> all, double limit);

#if RILL_RUNTIME

namespace detail {

inline value const& elements_of(gradient const& g) { return g.sparse() ? g.rows : g.dense; }

inline std::vector<value> elements_of(std::string_view who, std::vector<variable_gradient> const& all) {
  if (all.empty())
    throw error(code::invalid_argument, std::string(who) + ": expected at least one gradient, got an empty list");
  std::vector<value> elements;
  for (auto const& each : all) elements.push_back(elements_of(each.gradient));
  return elements;
}

/// Returns x in the precision of a norm, which is not lower than x's.
inline value as_exact_as(value x, dtype norm) {
  auto const of_complex = norm == dtype::float64 ? dtype::complex128 : dtype::complex64;
  return cast(x, rill::is_complex(x.type().element) ? of_complex : norm);
}

RILL_INLINE norm_in_unit::norm_in_unit(std::string_view who, std::vector<value> const& all) {
  auto element = dtype::float32;
  for (auto const& x : all)
    if (auto const t = x.type(); !is_differentiable(t.element))
      throw error(code::invalid_argument,
                  std::string(who) + ": expected floats or complex numbers, got " + with_article(t) + ": cast it");
  for (auto const& x : all)
    if (auto const e = x.type().element; e == dtype::float64 || e == dtype::complex128) element = dtype::float64;
  auto const small = square_units_of(element).small;
  std::vector<value> squares, scaled;
  for (auto const& each : all) {
    value const x = as_exact_as(each, element), y = x * like(x, small);
    squares.push_back(cast(sum(x * conj(x)), element));
    scaled.push_back(cast(sum(y * conj(y)), element));
  }
  value const plain = add_n(squares);
  auto const fits = less(plain, like(plain, std::numeric_limits<double>::infinity()));
  unit = select(fits, like(plain, 1), like(plain, small));
  norm = root(value(select(fits, plain, add_n(scaled))), 0.5);
}

RILL_INLINE value bounded(value x, norm_in_unit const& n, double max_norm) {
  bool const doubles = n.norm.type().element == dtype::float64;
  if (max_norm > (doubles ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max())) return x;
  // Not 0, by which a norm of 0 would be divided.
  double const least = doubles ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  value const bound = like(n.norm, std::max(max_norm, least)), share = bound / maximum(n.norm, bound * n.unit);
  value const y = as_exact_as(x, n.norm.type().element);
  auto const wide = y.type().element;
  return cast(value(y * cast(n.unit, wide) * cast(share, wide)), x.type().element);
}

}  // namespace detail

RILL_INLINE value global_norm(std::vector<variable_gradient> const& all) try {
  detail::norm_in_unit const n("global_norm", detail::elements_of("global_norm", all));
  return n.norm / n.unit;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::vector<variable_gradient> clip_by_global_norm(std::vector<variable_gradient> all,
                                                               double max_norm) try {
  detail::check_max_norm("clip_by_global_norm", max_norm);
  detail::norm_in_unit const n("clip_by_global_norm", detail::elements_of("clip_by_global_norm", all));
  for (auto& each : all) {
    auto const& g = each.gradient;
    value const bounded = detail::bounded(detail::elements_of(g), n, max_norm);
    each.gradient = g.sparse() ? gradient(g.indices, bounded) : gradient(bounded);
  }
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
