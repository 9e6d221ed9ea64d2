// Variances over axes.
#pragma once
#include "rill/ops/math/cast.hpp"
#include "rill/ops/reduction/size.hpp"
#include "rill/ops/reduction/state_reduction.hpp"

namespace rill {

/// The number that is subtracted from the number of elements in the divisor of a variance: `variance<0>(x, ddof{1})` is
/// the unbiased variance of a sample.
struct ddof {
  std::int64_t less = 0;
};

namespace ops {

struct variance_op {
  using library = void;
  static constexpr std::string_view name = "variance",
                                    doc =
                                        "the mean squared distance from the mean over some axes, or all, divided by "
                                        "the number of elements minus `ddof`; NaN if that is not positive";
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = dtypes::floats, common = common_floats;
  static constexpr bool wide_gradient = true;
  struct attributes {
    extents axes;
    bool keep = false;
    std::int64_t ddof = 0;
    static constexpr auto fields(auto const& take) {
      using a = attributes;
      return take(field{"axes", &a::axes}, field{"keep", &a::keep}, field{"ddof", &a::ddof});
    }
  };
  using kernels = state_reduction_table;
  static constexpr type infer(attributes const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "variance: the operand is not of floats; cast it");
    expects(a.ddof >= 0, "variance: ddof is negative");
    return reduced({a.axes, a.keep}, x, expects);
  }
  static cost work(attributes const&, std::span<type const> in, std::span<type const> out) {
    auto c = reduction_work(in, out);
    c.flops *= 5;
    return c;
  }
  // dx = dy 2 (x - mean) / (n - ddof); share_like divides by n.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<attributes>(r.origin().attributes);
    V x = r.in(0), far = x - broadcast_like(mean(x, a.axes, true), x);
    V shared = share_like(V(r.dy()), x, a.keep ? extents{} : a.axes);
    if (a.ddof == 0) return {shared * (far + far)};
    V n = rill::cast(V(rill::detail::count_over(x, a.axes)), dtype::float64);
    V scale = rill::cast(V(2 * n / (n - static_cast<double>(a.ddof))), x.type().element);
    return {shared * far * scale};
  }
#if RILL_KERNELS
  template <dtypes Set> static constexpr state_reduction_table make_kernels() {
    state_reduction_table t;
    for_each_type<elements & Set>(
        [&]<class T>(std::size_t d) { t.of[d] = state_reduction_of<rill::kernels::moments, T>(); });
    return t;
  }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const& x = r.inputs[0];
    auto const a = decode<attributes>(r.at.attributes);
    return make_state_reduction(kernels_of<variance_op>(x.element), x, reduced_axes(a.axes, x.rank),
                                static_cast<double>(a.ddof));
  }
#endif
};

}  // namespace ops

/// Returns the variance over axes known only at run time; an empty list means all axes.
inline value variance(value x, extents const& axes, bool keeping = false, ddof by = {}) {
  return record_erased<ops::variance_op>(detail::graph_of(x), {axes, keeping, by.less}, {x});
}

namespace detail {
/// Returns the variance over axes whose result has a type that is known.
template <type Result, class X> expr<Result> typed_variance(X x, ops::reduction const& over, ddof by) {
  provide_kernels<ops::variance_op, X::static_type.element>();
  return {variance(value(x), over.axes, over.keep, by)};
}
template <bool Keep, std::int64_t... Axes>
inline constexpr ops::variance_op::attributes variance_over{extents{Axes...}, Keep, 0};
}  // namespace detail

/// Returns the variance over the given axes, or all: `variance<0>(x)`, `variance(x)`. Accurate for large means; NaN
/// unless there are more elements than ddof.
template <std::int64_t... Axes, operand X> auto variance(X x, ddof by = {}) {
  if constexpr (typed<X>) {
    constexpr auto over = detail::variance_over<false, Axes...>;
    constexpr auto result = detail::inferred_by<ops::variance_op, over, X>();
    if constexpr (result.refused()) return detail::refuse<ops::variance_op, over, X>();
    else return detail::typed_variance<result.types>(x, {over.axes, over.keep}, by);
  } else return variance(value(x), extents{Axes...}, false, by);
}
/// Returns the variance, with the reduced axes left as extents of 1.
template <std::int64_t... Axes, operand X> auto variance(X x, keep_extents, ddof by = {}) {
  if constexpr (typed<X>) {
    constexpr auto over = detail::variance_over<true, Axes...>;
    constexpr auto result = detail::inferred_by<ops::variance_op, over, X>();
    if constexpr (result.refused()) return detail::refuse<ops::variance_op, over, X>();
    else return detail::typed_variance<result.types>(x, {over.axes, over.keep}, by);
  } else return variance(value(x), extents{Axes...}, true, by);
}

}  // namespace rill
