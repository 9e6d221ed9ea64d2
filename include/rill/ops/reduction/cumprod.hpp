// Products of the elements up to each place of an axis.
#pragma once
#include "rill/ops/reduction/linear_recurrence.hpp"

namespace rill {

/// Returns the products of the elements up to each place of an axis known only at run time.
value cumprod(value x, std::int64_t axis, cumulative how = {});

namespace ops {

struct cumprod_op : walks_axis<cumprod_op, along_axis> {
  using library = void;
  static constexpr std::string_view
      name = "cumprod",
      doc =
          "the products of the elements up to each place of an axis, or from the end if `reverse`; `exclusive` "
          "products "
          "leave out the element itself; integers wrap; the derivative is exact at zeros, too";
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = dtypes::numbers;
  static constexpr bool wide_gradient = true;
  static constexpr char const *of_others = "cumprod: the operand is not of numbers; cast it",
                              *no_axis = "cumprod: the axis is out of range for the operand's rank";
  static constexpr type infer(along_axis const& a, type const& x, checks expects = {}) { return walked(a, x, expects); }
  // y = y' x, where y' is the product before: with s = dy + x'' s'', where x'' and s'' are of the place after,
  // dx = s y'. Nothing is divided, so that zeros are no exception.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<along_axis>(r.origin().attributes);
    V x = conj(V(r.in(0))), dy = a.exclusive ? V(delayed(r.dy(), a.axis, !a.reverse)) : V(r.dy());
    V s = record_erased<linear_recurrence_op>(rill::detail::graph_of(x), {a.axis, !a.reverse, true}, {x, dy});
    return {s * V(cumprod(value(x), a.axis, {true, a.reverse}))};
  }
#if RILL_KERNELS
  template <class T>
  static void run(rill::kernels::walk const& w, void const* const* in, T* to, parallel const& threads) {
    rill::kernels::accumulate<rill::kernels::along_detail::products>(w, static_cast<T const*>(in[0]), to, threads);
  }
  template <dtypes Set> static constexpr walk_table make_kernels() { return walks<cumprod_op, elements & Set>(); }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const a = decode<along_axis>(r.at.attributes);
    return walk(r, {.exclusive = a.exclusive, .reverse = a.reverse});
  }
#endif
};

}  // namespace ops

inline value cumprod(value x, std::int64_t axis, cumulative how) {
  return record_erased<ops::cumprod_op>(detail::graph_of(x), {axis, how.exclusive, how.reverse}, {x});
}
/// Returns the products of the elements up to each place of an axis: `cumprod<0>(x)`,
/// `cumprod<-1>(x, {.exclusive = true})`. Integers wrap; float16 and bfloat16 are multiplied as float32.
template <std::int64_t Axis, operand X> auto cumprod(X x, cumulative how = {}) {
  if constexpr (detail::is_refused<ops::cumprod_op, ops::along_axis{Axis}, X>())
    return detail::refuse<ops::cumprod_op, ops::along_axis{Axis}, X>();
  else return detail::along<ops::cumprod_op, ops::along_axis{Axis}>(x, [&](value v) { return cumprod(v, Axis, how); });
}

}  // namespace rill
