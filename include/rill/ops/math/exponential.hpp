// exp, log and what is made of them: tanh, sigmoid.
#pragma once
#include "rill/ops/math/arithmetic.hpp"

namespace rill::ops {

struct exp_op : elementwise<exp_op, 1> {
  using library = void;
  using then = mul_op;
  static constexpr std::string_view name = "exp", doc = "e to the power of x", cuda = "exp($0)";
  static constexpr dtypes elements = floats | complexes;
  static constexpr double flops = 10;
  template <class S> static S apply(S x) { return exp(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {V(r.dy()) * conj(V(r.out()))};
  }
};

struct log_op : elementwise<log_op, 1> {
  using library = void;
  static constexpr std::string_view name = "log", doc = "the natural logarithm; NaN below zero, -inf at zero",
                                    cuda = "log($0)";
  static constexpr dtypes elements = floats | complexes;
  static constexpr double flops = 10;
  template <class S> static S apply(S x) { return log(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {V(r.dy()) / conj(V(r.in(0)))};
  }
};

struct tanh_op : elementwise<tanh_op, 1> {
  using library = void;
  using then = mul_op;
  static constexpr std::string_view name = "tanh", doc = "the hyperbolic tangent", cuda = "tanh($0)";
  static constexpr dtypes elements = floats | complexes;
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
  static constexpr std::string_view name = "sigmoid", doc = "1 / (1 + exp(-x))", cuda = "sigmoid($0)";
  static constexpr dtypes elements = floats | complexes;
  static constexpr double flops = 12;
  template <class S> static S apply(S x) { return sigmoid(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V y = conj(V(r.out())), dy = r.dy();  // dy y (1 - y)
    return {dy * (y * (1 - y))};
  }
};

}  // namespace rill::ops

namespace rill {

/// e to the power of x.
template <operand X> auto exp(X x) { return record<ops::exp_op>(x); }
/// The natural logarithm; NaN below zero, -inf at zero.
template <operand X> auto log(X x) { return record<ops::log_op>(x); }
/// The hyperbolic tangent.
template <operand X> auto tanh(X x) { return record<ops::tanh_op>(x); }
/// 1 / (1 + exp(-x)).
template <operand X> auto sigmoid(X x) { return record<ops::sigmoid_op>(x); }

}  // namespace rill
