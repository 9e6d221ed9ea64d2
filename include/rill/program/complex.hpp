// Complex numbers with the operations that packets have for real ones.
#pragma once
#include <cmath>
#include <complex>
#include <limits>

namespace rill::detail {

/// A std::complex whose products and quotients are the plain formulas: std::complex itself repeats the computation to
/// recover infinities from NaN. exp, log, tanh and sqrt are the standard library's.
template <class Real> struct complex_number {
  std::complex<Real> value;

  [[gnu::always_inline]] friend complex_number operator+(complex_number a, complex_number b) {
    return {{a.value.real() + b.value.real(), a.value.imag() + b.value.imag()}};
  }
  [[gnu::always_inline]] friend complex_number operator-(complex_number a, complex_number b) {
    return {{a.value.real() - b.value.real(), a.value.imag() - b.value.imag()}};
  }
  [[gnu::always_inline]] friend complex_number operator-(complex_number a) {
    return {{-a.value.real(), -a.value.imag()}};
  }
  [[gnu::always_inline]] friend complex_number operator*(complex_number a, complex_number b) {
    return {{a.value.real() * b.value.real() - a.value.imag() * b.value.imag(),
             a.value.real() * b.value.imag() + a.value.imag() * b.value.real()}};
  }
  // R. L. Smith, Algorithm 116: Complex division (Communications of the ACM 5:8, 1962): dividing by the divisor's
  // larger part first keeps its square from overflowing.
  friend complex_number operator/(complex_number a, complex_number b) {
    Real const c = b.value.real(), d = b.value.imag();
    if (std::abs(c) >= std::abs(d)) {
      Real const ratio = c == 0 && d == 0 ? Real(0) : d / c, scale = c + d * ratio;
      return {{(a.value.real() + a.value.imag() * ratio) / scale, (a.value.imag() - a.value.real() * ratio) / scale}};
    }
    Real const ratio = c / d, scale = c * ratio + d;
    return {{(a.value.real() * ratio + a.value.imag()) / scale, (a.value.imag() * ratio - a.value.real()) / scale}};
  }

  friend bool operator==(complex_number a, complex_number b) { return a.value == b.value; }
  friend bool operator!=(complex_number a, complex_number b) { return a.value != b.value; }

  friend complex_number exp(complex_number a) { return {std::exp(a.value)}; }
  friend complex_number log(complex_number a) { return {std::log(a.value)}; }
  friend complex_number tanh(complex_number a) { return {std::tanh(a.value)}; }
  friend complex_number sqrt(complex_number a) { return {std::sqrt(a.value)}; }
  friend complex_number sigmoid(complex_number a) {
    // From the exponential that can't overflow: infinite divided by infinite would be NaN.
    bool const below = a.value.real() < 0;
    complex_number const one{Real(1)}, power = exp(below ? a : -a);
    return (below ? power : one) / (one + power);
  }
  friend complex_number silu(complex_number a) { return a * sigmoid(a); }
  friend complex_number gelu_tanh(complex_number a) {
    complex_number const outer{Real(1.5957691216057308)}, inner{Real(0.044715)};
    return a * sigmoid(outer * (a + inner * (a * a * a)));
  }
};

/// Returns |z|: infinite if either part is. Squares of floats are exact in double; doubles take the standard library's
/// way round their overflow.
template <class Real> inline Real magnitude(std::complex<Real> z) {
  if constexpr (sizeof(Real) < sizeof(double)) {
    double const x = z.real(), y = z.imag();
    if (std::isinf(x) || std::isinf(y)) return std::numeric_limits<Real>::infinity();
    return static_cast<Real>(std::sqrt(x * x + y * y));
  } else return std::hypot(z.real(), z.imag());
}

}  // namespace rill::detail
