// sinh, cosh, and the inverses asinh, acosh and atanh. tanh is in exponential.hpp.
#pragma once
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/math/rounding.hpp"

namespace rill {

template <operand X> auto sinh(X x);
template <operand X> auto cosh(X x);

namespace ops {

struct sinh_op : elementwise<sinh_op, 1> {
  using library = void;
  static constexpr std::string_view name = "sinh", doc = "the hyperbolic sine, accurate near 0";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 25;
  template <class S> static S apply(S x) { return sinh(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {V(r.dy()) * cosh(V(r.in(0)))};
  }
};

struct cosh_op : elementwise<cosh_op, 1> {
  using library = void;
  static constexpr std::string_view name = "cosh", doc = "the hyperbolic cosine";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 15;
  template <class S> static S apply(S x) { return cosh(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {V(r.dy()) * sinh(V(r.in(0)))};
  }
};

struct asinh_op : elementwise<asinh_op, 1> {
  using library = void;
  static constexpr std::string_view name = "asinh", doc = "the number whose hyperbolic sine is x";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 25;
  template <class S> static S apply(S x) { return asinh(x); }
  // dy / sqrt(1 + x²). Beyond 2^30 that is 1 / |x|, and x² may overflow, or underflow in the second derivative.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = r.in(0), dy = r.dy(), a = abs(x), far = greater(a, 0x1p30), b = select(far, zero(x), a);
    return {dy / select(far, a, sqrt(1 + b * b))};
  }
};

struct acosh_op : elementwise<acosh_op, 1> {
  using library = void;
  static constexpr std::string_view name = "acosh",
                                    doc = "the number from 0 on whose hyperbolic cosine is x; NaN below 1";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 25;
  template <class S> static S apply(S x) { return acosh(x); }
  // dy / sqrt(x² - 1), without overflow, and without infinite times 0 in the second derivative.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = r.in(0), dy = r.dy();
    return {dy / sqrt(x - 1) / sqrt(x + 1)};
  }
};

struct atanh_op : elementwise<atanh_op, 1> {
  using library = void;
  static constexpr std::string_view name = "atanh",
                                    doc = "the number whose hyperbolic tangent is x; infinite at 1 and -1, NaN beyond";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 20;
  template <class S> static S apply(S x) { return atanh(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = r.in(0), dy = r.dy();  // dy / (1 - x²)
    return {dy / rest_of_square(x)};
  }
};

}  // namespace ops

/// Returns the hyperbolic sine; accurate near 0.
template <operand X> auto sinh(X x) { return record<ops::sinh_op>(x); }
/// Returns the hyperbolic cosine.
template <operand X> auto cosh(X x) { return record<ops::cosh_op>(x); }
/// Returns the number whose hyperbolic sine is x.
template <operand X> auto asinh(X x) { return record<ops::asinh_op>(x); }
/// Returns the number from 0 on whose hyperbolic cosine is x; NaN below 1. The derivative at 1 is infinite.
template <operand X> auto acosh(X x) { return record<ops::acosh_op>(x); }
/// Returns the number whose hyperbolic tangent is x; infinite at 1 and -1, NaN beyond.
template <operand X> auto atanh(X x) { return record<ops::atanh_op>(x); }

}  // namespace rill
