// Truth values, each of them true with a given probability.
#pragma once
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/random/uniform.hpp"

namespace rill {

/// Truth values of the extents of `of`, which is a type of bools: each is true with probability p, up to 2^-53.
inline value bernoulli(graph& g, type const& of, double p = 0.5) {
  expects(of.element == dtype::boolean, "bernoulli: only bools are drawn; cast them");
  expects(p >= 0 && p <= 1, "bernoulli: the probability is not from 0 to 1");
  value const drawn = uniform(g, of.with(dtype::float64));
  return less(drawn, like(drawn, p));
}
/// The same with extents that the compiler knows: `bernoulli<3, 4>(g, 0.1)`.
template <dim... Extents> expr<of<bool, Extents...>> bernoulli(graph& g, double p = 0.5) {
  return {bernoulli(g, of<bool, Extents...>, p)};
}

/// A truth value for each element of p, floats, which are the probabilities: a p of 0, less, or NaN is never true, a p
/// of 1 or more always.
template <operand P> auto bernoulli(P p) {
  auto& g = detail::graph_of(p);
  auto const drawn = detail::uniform_attributes(g, p.type().with(dtype::float64), 0., 1.);
  value const u = record_erased<ops::uniform_op>(g, drawn, {p});
  if constexpr (typed<P>) return less(expr<P::static_type.with(dtype::float64)>{u}, cast<double>(p));
  else return less(u, cast(value(p), dtype::float64));
}

}  // namespace rill
