// Random numbers of the Poisson distribution.
#pragma once
#include "rill/ops/random/parameter.hpp"

#if RILL_KERNELS
#include "rill/ops/random/poisson_kernels.hpp"
#endif

namespace rill::ops {

struct poisson_op : drawn_by_parameter<poisson_op> {
  using library = void;
  static constexpr std::string_view
      name = "poisson",
      doc = "for each rate a random count of the Poisson distribution, as a float; NaN if the rate is negative";
  static constexpr double flops = 60;
  static constexpr char const* of_others = "poisson: the rates are not floats; cast them";
  // Counts are constant in the rate almost everywhere.
  template <class V> static std::vector<gradient> grad(gradient_request const&) { return std::vector<gradient>(1); }
#if RILL_KERNELS
  template <dtypes Set> static constexpr parameter_table make_kernels() {
    parameter_table t;
    for_each_type<elements & Set>([&]<class T>(std::size_t d) {
      t.run[d] = [](random_stream const& s, void const* rates, void* to, std::size_t n, parallel const& threads) {
        rill::kernels::fill_poisson(s, static_cast<T const*>(rates), static_cast<T*>(to), n, threads);
      };
    });
    return t;
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// Returns a random count of the Poisson distribution for each rate, as a float of the rates' type: cast it where
/// integers are needed. 0 for a rate of 0, NaN for negative ones. It has no derivative with respect to the rates.
template <operand X> X poisson(X rate) { return detail::draw_by<ops::poisson_op>(rate); }
/// Returns such counts of type `of`, whose extents are known, with one rate.
inline value poisson(graph& g, type const& of, double rate) {
  expects(rate >= 0, "poisson: the rate must not be negative");
  return cast(poisson(detail::equal_parameters(g, of.with(detail::wide_element(of.element)), rate)), of.element);
}
/// Returns the same with static extents: `poisson<float, 3, 4>(g, 2.5)`.
template <element T, dim... Extents> expr<of<T, Extents...>> poisson(graph& g, double rate) {
  using wide = detail::wide_of<T>;
  detail::provide_kernels<ops::poisson_op, dtype_of<wide>>();
  return cast<T>(expr<of<wide, Extents...>>(poisson(g, of<wide, Extents...>, rate)));
}

}  // namespace rill
