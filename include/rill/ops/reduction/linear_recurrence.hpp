// y = a y' + b along an axis, where y' is the result before: moving averages, discounted sums, and the derivative of
// cumprod.
#pragma once
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/reduction/cumsum.hpp"

namespace rill {

/// Returns y = a y' + b along an axis, where y' is the result at the place before, and 0 at the first place, whose
/// factor has no effect. With `reverse` it begins at the end of the axis: then factors of 0.99 and rewards b give
/// discounted returns. Factors and terms are floats or complex numbers of one type.
value linear_recurrence(value factors, value terms, std::int64_t axis, bool reverse = false);
/// Returns x moved by one place along an axis, away from its beginning, or from its end if `reverse`: zeros come in,
/// and the last elements are gone.
value delayed(value x, std::int64_t axis, bool reverse = false);

namespace ops {

struct delayed_op : walks_axis<delayed_op, along_axis> {
  using library = void;
  static constexpr std::string_view name = "delayed",
                                    doc = "x moved by one place along an axis, or back if `reverse`; zeros come in";
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = dtypes::numbers;
  static constexpr char const *of_others = "delayed: the operand is not of numbers; cast it",
                              *no_axis = "delayed: the axis is out of range for the operand's rank";
  static constexpr type infer(along_axis const& a, type const& x, checks expects = {}) { return walked(a, x, expects); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<along_axis>(r.origin().attributes);
    return {delayed(value(r.dy()), a.axis, !a.reverse)};
  }
#if RILL_KERNELS
  template <class T>
  static void run(rill::kernels::walk const& w, void const* const* in, T* to, parallel const& threads) {
    rill::kernels::delay(w, static_cast<T const*>(in[0]), to, threads);
  }
  template <dtypes Set> static constexpr walk_table make_kernels() { return walks<delayed_op, elements & Set>(); }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    return walk(r, {.reverse = decode<along_axis>(r.at.attributes).reverse});
  }
#endif
};

/// The axis of a recurrence. A lagged one multiplies by the factor of the place before: what derivatives need.
struct recurrence_axis {
  std::int64_t axis = 0;
  bool reverse = false, lagged = false;
  static constexpr auto fields(auto const& take) {
    using a = recurrence_axis;
    return take(field{"axis", &a::axis}, field{"reverse", &a::reverse}, field{"lagged", &a::lagged});
  }
};

struct linear_recurrence_op : walks_axis<linear_recurrence_op, recurrence_axis> {
  using library = void;
  static constexpr std::string_view name = "linear_recurrence",
                                    doc =
                                        "y = a y' + b along an axis, or from its end if `reverse`, for operands a and "
                                        "b, where y' is the result at the "
                                        "place before and 0 at first; `lagged` takes a from the place before";
  static constexpr std::int8_t arity = 2;
  static constexpr bool wide_gradient = true;
  static constexpr dtypes elements = dtypes::floats | dtypes::complexes;
  static constexpr char const *of_others =
                                  "linear_recurrence: the operands are not of floats or complex numbers; cast them",
                              *no_axis = "linear_recurrence: the axis is out of range for the operands' rank";
  static constexpr type infer(recurrence_axis const& a, type const& factors, type const& terms, checks expects = {}) {
    expects(factors.element == terms.element,
            "linear_recurrence: factors and terms have different element types; cast one of them");
    if (!factors.has_rank() || !terms.has_rank()) return walked(a, factors.has_rank() ? factors : terms, expects);
    expects(factors.rank == terms.rank, "linear_recurrence: factors and terms have different ranks");
    type y = terms;
    for (std::size_t i = 0; i < y.rank; ++i)
      y[i] = agree(factors[i], terms[i], "linear_recurrence: factors and terms have different extents", expects);
    return walked(a, y, expects);
  }
  // With s = dy + a'' s'', where a'' and s'' are of the place after: db = s, da = s y'.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<recurrence_axis>(r.origin().attributes);
    V factors = conj(V(r.in(0))), y = conj(V(r.out()));
    V s = record_erased<linear_recurrence_op>(rill::detail::graph_of(factors), {a.axis, !a.reverse, !a.lagged},
                                              {factors, r.dy()});
    std::vector<gradient> all(2);
    if (r.wanted[0]) all[0] = a.lagged ? V(delayed(s, a.axis, !a.reverse)) * y : s * V(delayed(y, a.axis, a.reverse));
    if (r.wanted[1]) all[1] = s;
    return all;
  }
#if RILL_KERNELS
  template <class T>
  static void run(rill::kernels::walk const& w, void const* const* in, T* to, parallel const& threads) {
    rill::kernels::recur(w, static_cast<T const*>(in[0]), static_cast<T const*>(in[1]), to, threads);
  }
  template <dtypes Set> static constexpr walk_table make_kernels() {
    return walks<linear_recurrence_op, elements & Set>();
  }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const a = decode<recurrence_axis>(r.at.attributes);
    return walk(r, {.reverse = a.reverse, .lagged = a.lagged});
  }
#endif
};

}  // namespace ops

inline value delayed(value x, std::int64_t axis, bool reverse) {
  return record_erased<ops::delayed_op>(detail::graph_of(x), {axis, false, reverse}, {x});
}
inline value linear_recurrence(value factors, value terms, std::int64_t axis, bool reverse) {
  return record_erased<ops::linear_recurrence_op>(detail::graph_of(factors), {axis, reverse, false}, {factors, terms});
}
/// Returns the same with one number as every factor: `linear_recurrence(0.99, rewards, 0, true)`.
template <number N> value linear_recurrence(N factor, value terms, std::int64_t axis, bool reverse = false) {
  return detail::in_wide(
      [&](value b) { return linear_recurrence(broadcast_like(like(b, factor), b), b, axis, reverse); }, terms);
}
/// Returns the same with a static type: `linear_recurrence<0>(a, b)`.
template <std::int64_t Axis, operand A, operand B> auto linear_recurrence(A factors, B terms, bool reverse = false) {
  using op = ops::linear_recurrence_op;
  if constexpr (typed<A> && typed<B>) {
    constexpr type result = detail::result_types<op, ops::recurrence_axis{Axis}, A, B>();
    detail::provide_kernels<op, result.element>();
    return expr<result>{linear_recurrence(value(factors), value(terms), Axis, reverse)};
  } else return linear_recurrence(value(factors), value(terms), Axis, reverse);
}

}  // namespace rill
