// Dropout (N. Srivastava et al., Dropout: A Simple Way to Prevent Neural Networks from Overfitting, JMLR 15, 2014).
#pragma once
#include <concepts>
#include <string>

#include "rill/ops/control/cond.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/select.hpp"
#include "rill/ops/random/uniform.hpp"
#include "rill/tensor/print.hpp"

namespace rill {

namespace detail {
/// Drops elements of x if `training`, else returns x. Both functions check x and the rate.
value drop(value x, double rate, bool training);
value drop_if(value training, value x, double rate);

template <class... X> inline constexpr bool rate_and_mode = false;
template <class Rate, class Training>
inline constexpr bool rate_and_mode<Rate, Training> = std::convertible_to<Rate, double> && layer_mode<Training>;
}  // namespace detail

/// In training, sets each element of x to 0 with probability `rate` and divides the others by 1 - rate; every step
/// draws anew. Otherwise returns x. `training` is a bool of the program, or a bool of the graph, so that one graph does
/// both: `dropout(x, 0.5, placeholder<bool>(g, "training"))`. Throws error(invalid_argument) unless x has floats and 0
/// <= rate < 1.
template <operand X> X dropout(X x, double rate, std::same_as<bool> auto training) {
  return X{detail::drop(x, rate, training)};
}
template <operand X, operand T>
  requires detail::layer_mode<T>
X dropout(X x, double rate, T training) {
  return X{detail::drop_if(training, x, rate)};
}
/// Other arguments are refused while the program compiles.
template <operand X, class... Rest>
  requires(!detail::rate_and_mode<Rest...>)
X dropout(X x, Rest const&...) {
  constexpr bool has_rate_and_mode = detail::rate_and_mode<Rest...>;
  static_assert(has_rate_and_mode,
                "dropout: expected dropout(x, rate, training), where training is a bool of the program or the graph: "
                "true in a step that trains");
  return x;
}

#if RILL_RUNTIME
namespace detail {

inline void check_dropout(value x, double rate) try {
  if (!is_float(x.type().element))
    throw error(code::invalid_argument, "dropout: expected floats, got " + x.type().text(), x.name());
  if (!(rate >= 0 && rate < 1))
    throw error(code::invalid_argument,
                "dropout: expected a rate from 0 to below 1, got " + printing::number_text(rate, ""), x.name());
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE value drop(value x, double rate, bool training) {
  check_dropout(x, rate);
  if (!training) return x;
  auto const wide = widened(x);  // 16-bit random numbers are too coarse
  auto const kept = less(uniform_like(wide), like(wide, 1 - rate));
  return select(kept, narrowed_to(x, mul(wide, like(wide, 1 / (1 - rate)))), zero(x));
}

RILL_INLINE value drop_if(value training, value x, double rate) {
  check_dropout(x, rate);
  return cond(training, [&] { return drop(x, rate, true); }, [&] { return x; });
}

}  // namespace detail
#endif

}  // namespace rill
