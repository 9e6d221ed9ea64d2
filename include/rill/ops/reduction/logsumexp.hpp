// The logarithm of a sum of exponentials over axes.
#pragma once
#include <cmath>

#include "rill/ops/control/flow.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/reduction/state_reduction.hpp"

namespace rill::ops {

struct logsumexp_op {
  using library = void;
  static constexpr std::string_view
      name = "logsumexp",
      doc = "log(sum of exp(x)) over some axes, or all, without overflow or underflow; -inf for no elements";
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = dtypes::floats, common = common_floats;
  static constexpr bool wide_gradient = true;
  using attributes = reduction;
  using kernels = state_reduction_table;
  static constexpr type infer(reduction const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "logsumexp: the operand is not of floats; cast it");
    return reduced(a, x, expects);
  }
  static cost work(reduction const&, std::span<type const> in, std::span<type const> out) {
    auto c = reduction_work(in, out);
    c.flops *= 12;
    return c;
  }
  // dx = dy softmax(x) = dy e / sum(e), e = exp(x - y). y is rounded, so sum(e) need not be 1; y cancels in the
  // quotient and is held constant. A row of only -inf has derivatives 0; several inf share equally.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<reduction>(r.origin().attributes);
    auto const axes = a.keep ? extents{} : a.axes;
    auto const beside = [&](V each) { return V(broadcast_like(each, r.in(0), axes)); };
    V x = r.in(0), y = stop_gradient(V(r.out())), none = equal(y, -INFINITY), end = equal(x, INFINITY);
    V below = x - beside(select(none, 0, y)),
      power = exp(select(end, 0, select(beside(equal(y, INFINITY)), -INFINITY, below)));
    V total = sum(power, a.axes, a.keep);
    return {power * beside(V(r.dy()) / select(none, 1, total))};
  }
#if RILL_KERNELS
  template <dtypes Set> static constexpr state_reduction_table make_kernels() {
    state_reduction_table t;
    for_each_type<elements & Set>(
        [&]<class T>(std::size_t d) { t.of[d] = state_reduction_of<rill::kernels::exponentials, T>(); });
    return t;
  }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const& x = r.inputs[0];
    return make_state_reduction(kernels_of<logsumexp_op>(x.element), x,
                                reduced_axes(decode<reduction>(r.at.attributes).axes, x.rank), 0);
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// Returns log(sum of exp(x)) over the given axes, or all, without overflow or underflow: `logsumexp<-1>(x)`. It is
/// -inf for no elements or only -inf, and inf if there is one.
template <std::int64_t... Axes, operand X> auto logsumexp(X x) {
  return record<ops::logsumexp_op, ops::reduction{extents{Axes...}}>(x);
}
/// Returns the same, with the reduced axes left as extents of 1.
template <std::int64_t... Axes, operand X> auto logsumexp(X x, keep_extents) {
  return record<ops::logsumexp_op, ops::reduction{extents{Axes...}, true}>(x);
}
/// Returns the same over axes known only at run time; an empty list means all axes.
inline value logsumexp(value x, extents const& axes, bool keeping = false) {
  return record_erased<ops::logsumexp_op>(detail::graph_of(x), {axes, keeping}, {x});
}

}  // namespace rill
