// Random numbers of the gamma distribution.
#pragma once
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/random/parameter.hpp"

#if RILL_KERNELS
#include "rill/ops/random/gamma_kernels.hpp"
#endif

namespace rill::ops {

struct gamma_op : drawn_by_parameter<gamma_op> {
  using library = void;
  static constexpr std::string_view
      name = "gamma",
      doc = "for each shape parameter a random number of the gamma distribution with scale 1; NaN if it is negative";
  static constexpr double flops = 60;
  static constexpr char const* of_others = "gamma: the shape parameters are not floats; cast them";
  // The numbers are drawn by rejection, so they are constant in the parameter.
  template <class V> static std::vector<gradient> grad(gradient_request const&) { return std::vector<gradient>(1); }
#if RILL_KERNELS
  template <dtypes Set> static constexpr parameter_table make_kernels() {
    parameter_table t;
    for_each_type<elements & Set>([&]<class T>(std::size_t d) {
      t.run[d] = [](random_stream const& s, void const* shapes, void* to, std::size_t n, parallel const& threads) {
        rill::kernels::fill_gamma(s, static_cast<T const*>(shapes), static_cast<T*>(to), n, threads);
      };
    });
    return t;
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// Returns a random number of the gamma distribution for each shape parameter, with scale 1: multiply it by a scale, or
/// divide it by a rate. 0 for a parameter of 0, NaN for negative ones. It has no derivative with respect to the
/// parameters.
template <operand X> X gamma(X shape) { return detail::draw_by<ops::gamma_op>(shape); }
/// Returns such numbers of type `of`, whose extents are known, with one shape parameter and one scale.
inline value gamma(graph& g, type const& of, double shape, double scale = 1) {
  expects(shape > 0 && scale > 0, "gamma: shape and scale must be above 0");
  value const drawn = gamma(detail::equal_parameters(g, of.with(detail::wide_element(of.element)), shape));
  return cast(scale == 1 ? drawn : drawn * like(drawn, scale), of.element);
}
/// Returns the same with static extents: `gamma<float, 3, 4>(g, 2.5)`.
template <element T, dim... Extents> expr<of<T, Extents...>> gamma(graph& g, double shape, double scale = 1) {
  using wide = detail::wide_of<T>;
  detail::provide_kernels<ops::gamma_op, dtype_of<wide>>();
  return cast<T>(expr<of<wide, Extents...>>(gamma(g, of<wide, Extents...>, shape, scale)));
}

}  // namespace rill
