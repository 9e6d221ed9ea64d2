// silu, gelu, gelu_tanh and mish: x times a smooth step from 0 to 1. Each is one operation, because a product with the
// step would lose what the step rounds away, and would be infinite times 0 at the infinities.
#pragma once
#include "rill/ops/math/exponential.hpp"

namespace rill::ops {

struct silu_op : elementwise<silu_op, 1> {
  using library = void;
  static constexpr std::string_view name = "silu", doc = "x / (1 + exp(-x))";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 14;
  template <class S> static S apply(S x) { return silu(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = within(V(r.in(0)), 800);
    return {V(r.dy()) * (sigmoid(x) * (1 + x * sigmoid(-x)))};
  }
};

struct normal_cdf_op : elementwise<normal_cdf_op, 1> {
  using library = void;
  static constexpr std::string_view name = "normal_cdf", doc = "the standard normal distribution function";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 50;
  template <class S> static S apply(S x) { return normal_cdf(x); }
  // The derivative is the density exp(-x² / 2) / sqrt(2 pi).
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = within(V(r.in(0)), 40);
    return {V(r.dy()) * (exp(x * x * -0.5) * 0.39894228040143268)};
  }
};

struct gelu_op : elementwise<gelu_op, 1> {
  using library = void;
  static constexpr std::string_view name = "gelu", doc = "x times the standard normal distribution function of x";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 50;
  template <class S> static S apply(S x) { return gelu(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = within(V(r.in(0)), 40);
    return {V(r.dy()) * (record<normal_cdf_op>(x) + x * (exp(x * x * -0.5) * 0.39894228040143268))};
  }
};

struct gelu_tanh_op : elementwise<gelu_tanh_op, 1> {
  using library = void;
  static constexpr std::string_view name = "gelu_tanh",
                                    doc =
                                        "the approximation of gelu by x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³))) / 2";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 50;
  template <class S> static S apply(S x) { return gelu_tanh(x); }
  // The unit is x sigmoid(u) for u = a (x + b x³), and so the slope is sigmoid(u) (1 + x sigmoid(-u) a (1 + 3 b x²)).
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = within(V(r.in(0)), 24), square = x * x, u = x * (1.5957691216057308 + 0.071354816272600249 * square);
    return {V(r.dy()) * (sigmoid(u) * (1 + x * sigmoid(-u) * (1.5957691216057308 + 0.21406444881780075 * square)))};
  }
};

struct mish_op : elementwise<mish_op, 1> {
  using library = void;
  static constexpr std::string_view name = "mish", doc = "x tanh(log(1 + exp(x)))";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 20;
  template <class S> static S apply(S x) { return mish(x); }
  // With t = tanh(softplus(x)) the slope is t + x (1 - t²) sigmoid(x). With e = exp(-|x|) that is e (2 + e + g) / q for
  // x < 0, with q = 2 + 2 e + e² and g = 4 x (1 + e) / q; from 0 on it is 1 + e² (g - 2) / q, with q = 1 + 2 e + 2 e².
  // Nothing that is near 1 is subtracted from 1, so that second derivatives keep their tails.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = within(V(r.in(0)), 800), below = less(x, 0), e = exp(select(below, x, -x)), more = 1 + e;
    V q = more * more + select(below, 1, e * e), g = 4 * x * more / q;
    return {V(r.dy()) * (select(below, zero(x), like(x, 1)) + e * (select(below, more + 1 + g, e * (g - 2)) / q))};
  }
};

}  // namespace rill::ops

namespace rill {

namespace detail {

/// silu and gelu_tanh as compositions of operations that take complex numbers.
struct composed_silu {
  template <class X> auto operator()(X x) const { return x * sigmoid(x); }
};
struct composed_gelu_tanh {
  template <class X> auto operator()(X x) const {
    return x * sigmoid(1.5957691216057308 * (x + 0.044715 * (x * x * x)));
  }
};

/// Returns Op of x; of complex numbers, which it does not take, a composition.
template <class Op, class Composed, operand X> auto composed_if_complex(X x) {
  if constexpr (stands_for_number<X>) return record<Op>(x);
  else if constexpr (typed<X>) {
    if constexpr (rill::is_complex(X::static_type.element)) return Composed{}(x);
    else return record<Op>(x);
  } else return rill::is_complex(x.type().element) ? Composed{}(value(x)) : record<Op>(value(x));
}

}  // namespace detail

/// Returns x sigmoid(x), also known as swish; complex numbers are taken, too.
template <operand X> auto silu(X x) { return detail::composed_if_complex<ops::silu_op, detail::composed_silu>(x); }
/// Returns x times the standard normal distribution function of x: x (1 + erf(x / sqrt(2))) / 2.
template <operand X> auto gelu(X x) { return record<ops::gelu_op>(x); }
/// Returns the approximation of gelu by tanh, x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³))) / 2; complex numbers are
/// taken, too.
template <operand X> auto gelu_tanh(X x) {
  return detail::composed_if_complex<ops::gelu_tanh_op, detail::composed_gelu_tanh>(x);
}
/// Returns x tanh(softplus(x)) (D. Misra, Mish: A Self Regularized Non-Monotonic Activation Function, BMVC 2020).
template <operand X> auto mish(X x) { return record<ops::mish_op>(x); }
/// Returns the standard normal distribution function, (1 + erf(x / sqrt(2))) / 2, without its cancellation below 0.
template <operand X> auto normal_cdf(X x) { return record<ops::normal_cdf_op>(x); }

}  // namespace rill
