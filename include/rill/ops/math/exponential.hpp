// exp, log and related functions: expm1, log1p, exp2, log2, log10, tanh, sigmoid, softplus, erf.
#pragma once
#include "rill/ops/math/arithmetic.hpp"

namespace rill::ops {

/// Returns x limited to [-most, most], for derivatives of functions that are linear beyond these bounds, up to
/// rounding: so they are computed from finite numbers, where infinite ones would be multiplied by 0.
template <class V> V within(V x, double most) {
  return select(less(x, like(x, -most)), like(x, -most), select(less(like(x, most), x), like(x, most), x));
}

struct exp_op : elementwise<exp_op, 1> {
  using library = void;
  using then = mul_op;
  static constexpr std::string_view name = "exp", doc = "e to the power of x";
  static constexpr dtypes elements = dtypes::floats | dtypes::complexes;
  static constexpr double flops = 10;
  template <class S> static S apply(S x) { return exp(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {V(r.dy()) * conj(V(r.out()))};
  }
};

struct log_op : elementwise<log_op, 1> {
  using library = void;
  static constexpr std::string_view name = "log", doc = "the natural logarithm; NaN of negative numbers, -inf at 0";
  static constexpr dtypes elements = dtypes::floats | dtypes::complexes;
  static constexpr double flops = 10;
  template <class S> static S apply(S x) { return log(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {V(r.dy()) / conj(V(r.in(0)))};
  }
};

struct expm1_op : elementwise<expm1_op, 1> {
  using library = void;
  static constexpr std::string_view name = "expm1", doc = "e to the power of x, minus 1, accurate near 0";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 12;
  template <class S> static S apply(S x) { return expm1(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {V(r.dy()) * exp(V(r.in(0)))};
  }
};

struct log1p_op : elementwise<log1p_op, 1> {
  using library = void;
  static constexpr std::string_view name = "log1p",
                                    doc = "the natural logarithm of 1 + x, accurate near 0; NaN below -1, -inf at -1";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 12;
  template <class S> static S apply(S x) { return log1p(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {V(r.dy()) / (1 + V(r.in(0)))};
  }
};

struct tanh_op : elementwise<tanh_op, 1> {
  using library = void;
  using then = mul_op;
  static constexpr std::string_view name = "tanh", doc = "the hyperbolic tangent";
  static constexpr dtypes elements = dtypes::floats | dtypes::complexes;
  static constexpr double flops = 12;
  template <class S> static S apply(S x) { return tanh(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V y = conj(V(r.out())), dy = r.dy();  // dy (1 - y²)
    return {dy * (1 - y * y)};
  }
};

struct sigmoid_op : elementwise<sigmoid_op, 1> {
  using library = void;
  using then = mul_op;
  static constexpr std::string_view name = "sigmoid", doc = "1 / (1 + exp(-x))";
  static constexpr dtypes elements = dtypes::floats | dtypes::complexes;
  static constexpr double flops = 12;
  template <class S> static S apply(S x) { return sigmoid(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V y = conj(V(r.out())), dy = r.dy();  // dy y (1 - y)
    return {dy * (y * (1 - y))};
  }
};

// One operation: as max(x, 0) + log(1 + exp(-|x|)) its second derivative at 0 would be lost.
struct softplus_op : elementwise<softplus_op, 1> {
  using library = void;
  static constexpr std::string_view name = "softplus", doc = "log(1 + exp(x)), without overflow";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 25;
  template <class S> static S apply(S x) { return softplus(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {V(r.dy()) * sigmoid(V(r.in(0)))};
  }
};

struct erf_op : elementwise<erf_op, 1> {
  using library = void;
  static constexpr std::string_view name = "erf", doc = "the error function";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 25;
  template <class S> static S apply(S x) { return erf(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = within(V(r.in(0)), 28), dy = r.dy();  // dy 2 / sqrt(pi) exp(-x²), which is 0 from 28 on
    return {dy * (exp(-(x * x)) * 1.1283791670955126)};
  }
};

struct exp2_op : elementwise<exp2_op, 1> {
  using library = void;
  static constexpr std::string_view name = "exp2", doc = "2 to the power of x";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 10;
  template <class S> static S apply(S x) { return exp2(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V y = r.out(), dy = r.dy();
    return {dy * (y * 0.69314718055994531)};  // ln 2
  }
};

struct log2_op : elementwise<log2_op, 1> {
  using library = void;
  static constexpr std::string_view name = "log2",
                                    doc = "the logarithm to the base 2; NaN of negative numbers, -inf at 0";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 12;
  template <class S> static S apply(S x) { return log2(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = r.in(0), dy = r.dy();
    return {dy * 1.4426950408889634 / x};  // 1 / ln 2
  }
};

struct log10_op : elementwise<log10_op, 1> {
  using library = void;
  static constexpr std::string_view name = "log10",
                                    doc = "the logarithm to the base 10; NaN of negative numbers, -inf at 0";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 12;
  template <class S> static S apply(S x) { return log10(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = r.in(0), dy = r.dy();
    return {dy * 0.43429448190325183 / x};  // 1 / ln 10
  }
};

}  // namespace rill::ops

namespace rill {

/// Returns e to the power of x.
template <operand X> auto exp(X x) { return record<ops::exp_op>(x); }
/// Returns the natural logarithm; NaN of negative numbers, -inf at 0.
template <operand X> auto log(X x) { return record<ops::log_op>(x); }
/// Returns e to the power of x, minus 1; accurate near 0.
template <operand X> auto expm1(X x) { return record<ops::expm1_op>(x); }
/// Returns the natural logarithm of 1 + x; accurate near 0; NaN below -1, -inf at -1.
template <operand X> auto log1p(X x) { return record<ops::log1p_op>(x); }
/// Returns 2 to the power of x.
template <operand X> auto exp2(X x) { return record<ops::exp2_op>(x); }
/// Returns the logarithm to the base 2; exact for powers of two; NaN of negative numbers, -inf at 0.
template <operand X> auto log2(X x) { return record<ops::log2_op>(x); }
/// Returns the logarithm to the base 10; NaN of negative numbers, -inf at 0.
template <operand X> auto log10(X x) { return record<ops::log10_op>(x); }
/// Returns the hyperbolic tangent.
template <operand X> auto tanh(X x) { return record<ops::tanh_op>(x); }
/// Returns 1 / (1 + exp(-x)).
template <operand X> auto sigmoid(X x) { return record<ops::sigmoid_op>(x); }

/// Returns log(1 + exp(x)): a smooth relu, without overflow.
template <operand X> auto softplus(X x) { return record<ops::softplus_op>(x); }
/// Returns the error function: 2 / sqrt(pi) times the integral of exp(-t²) from 0 to x.
template <operand X> auto erf(X x) { return record<ops::erf_op>(x); }

}  // namespace rill
