// Random bools with a given probability.
#pragma once
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/random/uniform.hpp"

namespace rill {

/// Returns random bools of type `of`, each true with probability p, up to 2^-53.
inline value bernoulli(graph& g, type const& of, double p = 0.5) {
  expects(of.element == dtype::boolean, "bernoulli: only bools are drawn; cast them");
  expects(p >= 0 && p <= 1, "bernoulli: the probability must be from 0 to 1");
  value const drawn = uniform(g, of.with(dtype::float64));
  return less(drawn, like(drawn, p));
}
/// Returns the same with static extents: `bernoulli<3, 4>(g, 0.1)`.
template <dim... Extents> expr<of<bool, Extents...>> bernoulli(graph& g, double p = 0.5) {
  return {bernoulli(g, of<bool, Extents...>, p)};
}

/// Returns a random bool for each probability in p, which are floats. The bool is never true if p <= 0 or NaN, and
/// always if p >= 1.
template <operand P> auto bernoulli(P p) {
  auto& g = detail::graph_of(p);
  auto const drawn = detail::uniform_attributes(g, p.type().with(dtype::float64), 0., 1.);
  value const u = record_erased<ops::uniform_op>(g, drawn, {p});
  if constexpr (typed<P>) return less(expr<P::static_type.with(dtype::float64)>{u}, cast<double>(p));
  else return less(u, cast(value(p), dtype::float64));
}

}  // namespace rill
