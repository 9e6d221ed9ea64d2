// Initialisers, which record variables' first values: `variable<float, 784, 10>(g, "w", glorot())`.
#pragma once
#include <algorithm>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>

#include "rill/base/config.hpp"
#include "rill/ops/array/fill.hpp"
#include "rill/ops/random/normal.hpp"
#include "rill/ops/random/uniform.hpp"
#include "rill/ops/state/assign.hpp"

namespace rill {

/// A function, often a lambda, that records a variable's first value; its arguments are the graph and the variable's
/// type.
template <class Initializer>
concept initializer_of_variables = std::is_invocable_r_v<value, Initializer const&, graph&, type const&>;

// The results of the functions below, which document them.
namespace initializers {

struct same {
  double number = 0;
  value operator()(graph& g, type const& t) const;
};
struct uniform {
  double low = -0.05, high = 0.05;
  value operator()(graph& g, type const& t) const;
};
struct normal {
  double mean = 0, deviation = 0.05;
  value operator()(graph& g, type const& t) const;
};
struct truncated_normal {
  double mean = 0, deviation = 0.05;
  value operator()(graph& g, type const& t) const;
};
struct glorot {
  value operator()(graph& g, type const& t) const;
};
struct he {
  value operator()(graph& g, type const& t) const;
};

}  // namespace initializers

/// Returns an initialiser of zeros.
constexpr initializers::same zeros() { return {0}; }
/// Returns an initialiser that sets every element to `number`.
constexpr initializers::same constant(double number) { return {number}; }
/// Returns an initialiser that draws uniformly from [low, high).
constexpr initializers::uniform uniform(double low, double high) { return {low, high}; }
/// Returns an initialiser that draws from the normal distribution.
constexpr initializers::normal normal(double mean, double deviation) { return {mean, deviation}; }
/// Returns an initialiser that draws from the normal distribution, within two deviations of the mean.
constexpr initializers::truncated_normal truncated_normal(double mean, double deviation) { return {mean, deviation}; }
/// Returns an initialiser that draws uniformly from ±√(6 / (in + out)), for layers before tanh, sigmoid and softmax
/// (Glorot and Bengio, AISTATS 2010).
constexpr initializers::glorot glorot() { return {}; }
/// Returns an initialiser that draws from the normal distribution with the deviation √(2 / in), for layers before relu
/// (He et al., ICCV 2015).
constexpr initializers::he he() { return {}; }

namespace detail {
/// Creates a variable with the first value `make(of, g, t)`.
variable_value variable_from(graph& g, type const& t, std::string_view name, variable_options o, void const* of,
                             value (*make)(void const* of, graph& g, type const& t));
}  // namespace detail

/// Creates a variable with the first value that `first` records. Throws error(invalid_argument) if an extent of `t` is
/// not known, or the first value has another type.
template <initializer_of_variables Initializer>
variable_value variable(graph& g, type const& t, std::string_view name, Initializer const& first,
                        variable_options o = {}) {
  return detail::variable_from(g, t, name, o, &first, [](void const* of, graph& to, type const& wanted) {
    return value((*static_cast<Initializer const*>(of))(to, wanted));
  });
}
/// Creates a variable with the first value that `first` records: `variable<float, 784, 10>(g, "w", glorot())`.
template <element T, dim... Extents, initializer_of_variables Initializer>
variable_expr<of<T, Extents...>> variable(graph& g, std::string_view name, Initializer const& first,
                                          variable_options o = {}) {
  static_assert(of<T, Extents...>.is_known(), "variable: an initialiser needs extents that are all numbers");
  return {{variable(g, of<T, Extents...>, name, first, o)}};
}

#if RILL_RUNTIME

namespace initializers {

/// The fan-in and fan-out of weights [in, out] or of filters [height, width, in, out]: how many inputs each output has,
/// and how many outputs each input has.
struct fans {
  double in = 1, out = 1;
  constexpr explicit fans(type const& t) {
    for (std::size_t i = 0; i < t.rank; ++i) {
      auto const extent = static_cast<double>(t[i].extent);
      if (i + 1 != t.rank || t.rank == 1) in *= extent;
      if (i + 2 != t.rank || t.rank == 1) out *= extent;
    }
  }
};

RILL_INLINE value same::operator()(graph& g, type const& t) const {
  return fill(constant(g, detail::number_as(t.element, number)), t.shape());
}

RILL_INLINE value uniform::operator()(graph& g, type const& t) const { return rill::uniform(g, t, low, high); }

RILL_INLINE value normal::operator()(graph& g, type const& t) const { return rill::normal(g, t, mean, deviation); }

RILL_INLINE value truncated_normal::operator()(graph& g, type const& t) const {
  return rill::truncated_normal(g, t, mean, deviation);
}

RILL_INLINE value glorot::operator()(graph& g, type const& t) const {
  fans const n(t);
  auto const limit = std::sqrt(6 / std::max(1.0, n.in + n.out));
  return rill::uniform(g, t, -limit, limit);
}

RILL_INLINE value he::operator()(graph& g, type const& t) const {
  return rill::normal(g, t, 0, std::sqrt(2 / std::max(1.0, fans(t).in)));
}

}  // namespace initializers

RILL_INLINE variable_value detail::variable_from(graph& g, type const& t, std::string_view name, variable_options o,
                                                 void const* of,
                                                 value (*make)(void const* of, graph& g, type const& t)) try {
  if (!t.is_known())
    throw error(code::invalid_argument, "variable: an initialiser needs known extents, got " + t.text(),
                std::string(name));
  g.check_variable_name(name);
  value const first = g.scope(std::string(name) + "/first", [&] { return make(of, g, t); });
  if (!accepts(t, first.type()))
    throw error(code::invalid_argument,
                "variable: expected " + with_article(t) + " as first value, got " + first.type().text(),
                std::string(name));
  return variable(first, name, o);
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
