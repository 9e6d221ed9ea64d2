// Sums of the elements up to each place of an axis.
#pragma once
#include "rill/ops/reduction/cumulative.hpp"

namespace rill {

/// Returns the sums of the elements up to each place of an axis known only at run time.
value cumsum(value x, std::int64_t axis, cumulative how = {});

namespace ops {

struct cumsum_op : walks_axis<cumsum_op, along_axis> {
  using library = void;
  static constexpr std::string_view
      name = "cumsum",
      doc =
          "the sums of the elements up to each place of an axis, or from the end if `reverse`; `exclusive` sums leave "
          "out the element itself; integers wrap";
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = dtypes::numbers;
  static constexpr char const *of_others = "cumsum: the operand is not of numbers; cast it",
                              *no_axis = "cumsum: the axis is out of range for the operand's rank";
  static constexpr type infer(along_axis const& a, type const& x, checks expects = {}) { return walked(a, x, expects); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<along_axis>(r.origin().attributes);
    return {cumsum(value(r.dy()), a.axis, {a.exclusive, !a.reverse})};
  }
#if RILL_KERNELS
  template <class T>
  static void run(rill::kernels::walk const& w, void const* const* in, T* to, parallel const& threads) {
    rill::kernels::accumulate<rill::kernels::along_detail::sums>(w, static_cast<T const*>(in[0]), to, threads);
  }
  template <dtypes Set> static constexpr walk_table make_kernels() { return walks<cumsum_op, elements & Set>(); }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const a = decode<along_axis>(r.at.attributes);
    return walk(r, {.exclusive = a.exclusive, .reverse = a.reverse});
  }
#endif
};

}  // namespace ops

inline value cumsum(value x, std::int64_t axis, cumulative how) {
  return record_erased<ops::cumsum_op>(detail::graph_of(x), {axis, how.exclusive, how.reverse}, {x});
}

namespace detail {
// The result of an operation along an axis has its operand's type.
template <class Op, auto Attributes, class X, class F> auto along(X x, F f) {
  if constexpr (stands_for_number<X>) return record<Op>(x);
  else if constexpr (typed<X>) {
    constexpr type result = result_types<Op, Attributes, X>();
    provide_kernels<Op, X::static_type.element>();
    return expr<result>{f(value(x))};
  } else return f(value(x));
}
}  // namespace detail

/// Returns the sums of the elements up to each place of an axis: `cumsum<0>(x)`, `cumsum<-1>(x, {.exclusive = true})`,
/// `cumsum<1>(x, {.reverse = true})`. Integers wrap; float16 and bfloat16 are added as float32.
template <std::int64_t Axis, operand X> auto cumsum(X x, cumulative how = {}) {
  if constexpr (detail::is_refused<ops::cumsum_op, ops::along_axis{Axis}, X>())
    return detail::refuse<ops::cumsum_op, ops::along_axis{Axis}, X>();
  else return detail::along<ops::cumsum_op, ops::along_axis{Axis}>(x, [&](value v) { return cumsum(v, Axis, how); });
}

}  // namespace rill
