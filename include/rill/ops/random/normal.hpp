// Normally distributed random numbers, optionally truncated.
#pragma once
#include "rill/ops/random/drawing.hpp"

namespace rill::ops {

/// What normal and truncated_normal share. Numbers lie within `Op::within` standard deviations of the mean; `Op::half`
/// of the normal distribution lies between the mean and that bound.
template <class Op> struct normal_rules : draw_rules {
  static constexpr dtypes elements = dtypes::floats;
  static constexpr std::string_view declared_type = "of";
  struct attributes {
    type of;
    double mean = 0, deviation = 1;
    std::int64_t key = 0;
    static constexpr auto fields(auto const& take) {
      using a = attributes;
      return take(field{"of", &a::of}, field{"mean", &a::mean}, field{"deviation", &a::deviation},
                  field{"key", &a::key});
    }
  };
  static constexpr type infer(attributes const& a, std::span<type const> like, checks expects = {}) {
    expects(elements.contains(a.of.element), "normal: only floats are drawn");
    expects(a.deviation >= 0, "normal: the standard deviation is negative");
    return drawn(a.of, like, expects);
  }
  template <dtypes Set> static constexpr random_table make_kernels();
  static kernel cpu(kernel_request const& r);
};

struct normal_op : normal_rules<normal_op> {
  using library = void;
  static constexpr std::string_view name = "normal", doc = "normally distributed random numbers";
  static constexpr double within = 100, half = 0.5;
};

struct truncated_normal_op : normal_rules<truncated_normal_op> {
  using library = void;
  static constexpr std::string_view
      name = "truncated_normal",
      doc = "normally distributed random numbers within two standard deviations of the mean";
  static constexpr double within = 2, half = 0.47724986805182079279971736;
};

}  // namespace rill::ops

namespace rill {

/// Returns normally distributed numbers of type `of`, whose extents must be known when the step runs.
inline value normal(graph& g, type const& of, double mean = 0, double deviation = 1, std::string_view name = {}) {
  return record_erased<ops::normal_op>(g, {of, mean, deviation, detail::random_key(g)}, {}, name);
}
/// Returns normally distributed numbers: `normal<float, 3, 4>(g)`, `normal<float, 10>(g, 0, 0.1)`.
template <element T, dim... Extents>
expr<of<T, Extents...>> normal(graph& g, double mean = 0, double deviation = 1, std::string_view name = {}) {
  detail::provide_kernels<ops::normal_op, dtype_of<T>>();
  return {normal(g, of<T, Extents...>, mean, deviation, name)};
}
/// Returns such numbers of x's type, one for each element of x.
template <operand X> X normal_like(X x, double mean = 0, double deviation = 1) {
  auto& g = detail::graph_of(x);
  if constexpr (typed<X>) detail::provide_kernels<ops::normal_op, X::static_type.element>();
  return X{record_erased<ops::normal_op>(g, {x.type(), mean, deviation, detail::random_key(g)}, {x})};
}

/// Returns normally distributed numbers within two standard deviations of the mean.
inline value truncated_normal(graph& g, type const& of, double mean = 0, double deviation = 1,
                              std::string_view name = {}) {
  return record_erased<ops::truncated_normal_op>(g, {of, mean, deviation, detail::random_key(g)}, {}, name);
}
/// Returns the same with a static type: `truncated_normal<float, 64, 10>(g, 0, 0.1)`.
template <element T, dim... Extents>
expr<of<T, Extents...>> truncated_normal(graph& g, double mean = 0, double deviation = 1, std::string_view name = {}) {
  detail::provide_kernels<ops::truncated_normal_op, dtype_of<T>>();
  return {truncated_normal(g, of<T, Extents...>, mean, deviation, name)};
}

}  // namespace rill

#if RILL_KERNELS
namespace rill::ops {

template <class Op> template <dtypes Set> constexpr random_table normal_rules<Op>::make_kernels() {
  random_table t;
  for_each_type<dtypes::floats & Set>([&]<class T>(std::size_t d) {
    t.run[d] = [](random_call const& c, parallel const& threads) {
      rill::kernels::fill_normal(c.stream, static_cast<T*>(c.to), c.n, c.a, c.b, Op::half, Op::within, threads);
    };
  });
  return t;
}

}  // namespace rill::ops
#endif

#if RILL_DEFINITIONS
namespace rill::ops {

template <class Op> kernel normal_rules<Op>::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  return make<Op>(r, {{}, nullptr, 0, a.mean, a.deviation, 0, 0}, a.key);
}

}  // namespace rill::ops
#endif
