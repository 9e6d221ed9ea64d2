// Parts of complex numbers: complex, real, imag, angle, polar. abs and conj are with abs and arithmetic of real
// numbers.
#pragma once
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/rounding.hpp"
#include "rill/ops/math/trigonometry.hpp"

namespace rill {

template <operand X> auto imag(X x);
template <operand X, operand Y> auto complex(X re, Y im);

namespace ops {

struct imag_op : elementwise<imag_op, 1> {
  using library = void;
  static constexpr std::string_view name = "imag", doc = "the imaginary part";
  static constexpr dtypes elements = dtypes::complexes;
  static constexpr bool has_formula = false;  // no packet holds complex numbers
  static constexpr dtype result_of(dtype x) { return real_of(x); }
  static constexpr type infer(no_attributes, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "imag: the operand is not of complex numbers");
    return x.with(real_of(x.element));
  }
  template <class S> static auto apply(S x) { return imag(x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V dy = r.dy();
    return {complex(zero(dy), dy)};
  }
};

struct complex_op : elementwise<complex_op, 2> {
  using library = void;
  static constexpr std::string_view name = "complex",
                                    doc = "the complex numbers with real parts x and imaginary parts y, broadcast";
  static constexpr dtypes elements = dtypes{dtype::float32} | dtype::float64;
  static constexpr bool has_formula = false;  // no packet holds complex numbers
  static constexpr dtype result_of(dtype x) { return complex_of(x); }
  static constexpr type infer(no_attributes a, type const& x, type const& y, checks expects = {}) {
    expects(elements.contains(x.element) && elements.contains(y.element),
            "complex: the parts are not float32 or float64; cast them");
    return elementwise<complex_op, 2>::infer(a, x, y, expects).with(complex_of(x.element));
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V dz = r.dy();
    auto const part = r.in(0).type().element;
    return binary_gradients(r, [&] { return rill::cast(dz, part); }, [&] { return imag(dz); });
  }
#if RILL_KERNELS
  template <class T> static void tile(void* result, void const* const* operands, std::size_t n) {
    auto* const z = static_cast<std::complex<T>*>(result);
    auto const *const x = static_cast<T const*>(operands[0]), *const y = static_cast<T const*>(operands[1]);
    for (std::size_t i = 0; i < n; ++i) z[i] = {x[i], y[i]};
  }
  template <dtypes Set> static constexpr tile_table make_kernels() {
    tile_table t;
    for_each_type<elements & Set>([&]<class T>(std::size_t d) { t.tile[d] = tile<T>; });
    return t;
  }
#endif
};

}  // namespace ops

/// Returns the real part of complex numbers; real numbers unchanged.
template <operand X> auto real(X x) {
  if constexpr (typed<X>) return cast<element_of<real_of(X::static_type.element)>>(x);
  else if constexpr (detail::stands_for_number<X>) return cast<float>(x);
  else return cast(value(x), real_of(x.type().element));
}
/// Returns the imaginary part of complex numbers.
template <operand X> auto imag(X x) { return record<ops::imag_op>(x); }
/// Returns the complex numbers with these real and imaginary parts, which are float32 or float64 and broadcast.
template <operand X, operand Y> auto complex(X re, Y im) { return record<ops::complex_op>(re, im); }
template <operand X, number N> auto complex(X re, N im) { return complex(re, like(re, im)); }
template <number N, operand X> auto complex(N re, X im) { return complex(like(im, re), im); }

/// Returns the angle of complex numbers in radians, from -pi to pi. The angle of 0 is 0, without a derivative.
template <operand X> auto angle(X x) { return atan2(imag(x), real(x)); }
/// Returns the complex numbers with these magnitudes and angles, which broadcast.
template <operand X, operand Y> auto polar(X magnitude, Y angle) {
  return complex(magnitude * cos(angle), magnitude * sin(angle));
}

}  // namespace rill
