// As many numbers as a register holds, with the one operation that matrix products are made of.
#pragma once
#include <complex>
#include <cstddef>
#include <type_traits>

namespace rill::kernels {

/// Counts, extents and strides (in elements).
using index = std::ptrdiff_t;

#if defined(__AVX512F__)
inline constexpr int register_bytes = 64, register_count = 32;
#elif defined(__AVX__)
inline constexpr int register_bytes = 32, register_count = 16;
#else
inline constexpr int register_bytes = 16, register_count = 16;
#endif

/// Returns a native register of `T`, float, double or an unsigned integer (signed ones would overflow instead of
/// wrapping).
template <class T> struct native {
  typedef T type __attribute__((vector_size(register_bytes)));
  typedef T block __attribute__((vector_size(16)));
  static constexpr int lanes = register_bytes / static_cast<int>(sizeof(T));

  static type load(T const* p) {
    type x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
  }
  static void store(T* p, type x) { __builtin_memcpy(p, &x, sizeof x); }
  static type broadcast(T x) { return x - type{}; }  // x + 0 would lose the sign of -0

  /// What products are summed in, and what they come to.
  using sum = type;
  static type total(sum x) { return x; }
};

/// Complex numbers, real and imaginary parts in turn. Products with the real part of a left factor and with its
/// imaginary part are summed apart, and joined at the end.
template <class T> struct native<std::complex<T>> {
  using type = typename native<T>::type;
  static constexpr int lanes = native<T>::lanes / 2;

  static type load(std::complex<T> const* p) { return native<T>::load(reinterpret_cast<T const*>(p)); }
  static void store(std::complex<T>* p, type x) { native<T>::store(reinterpret_cast<T*>(p), x); }

  struct sum {
    type by_real, by_imaginary;
  };
  static sum broadcast(std::complex<T> x) { return {native<T>::broadcast(x.real()), native<T>::broadcast(x.imag())}; }
  static type total(sum x) {
    T real[2 * lanes], imaginary[2 * lanes];
    native<T>::store(real, x.by_real);
    native<T>::store(imaginary, x.by_imaginary);
    for (int i = 0; i < 2 * lanes; i += 2) {
      real[i] -= imaginary[i + 1];
      real[i + 1] += imaginary[i];
    }
    return native<T>::load(real);
  }
};

/// Returns a * b + c, rounded once where the processor can.
template <class T> inline T multiply_add(T a, T b, T c) { return a * b + c; }

// The compilers' names for the instructions: <immintrin.h> would cost every includer its parsing.
#if defined(__AVX512F__)
struct all_lanes {
  template <class Mask> constexpr operator Mask() const { return static_cast<Mask>(-1); }  // signed for g++ alone
};
inline native<float>::type multiply_add(native<float>::type a, native<float>::type b, native<float>::type c) {
  return __builtin_ia32_vfmaddps512_mask(a, b, c, all_lanes{}, 4);
}
inline native<double>::type multiply_add(native<double>::type a, native<double>::type b, native<double>::type c) {
  return __builtin_ia32_vfmaddpd512_mask(a, b, c, all_lanes{}, 4);
}
#elif defined(__FMA__)
inline native<float>::type multiply_add(native<float>::type a, native<float>::type b, native<float>::type c) {
  return __builtin_ia32_vfmaddps256(a, b, c);
}
inline native<double>::type multiply_add(native<double>::type a, native<double>::type b, native<double>::type c) {
  return __builtin_ia32_vfmaddpd256(a, b, c);
}
#endif

/// Returns the same for complex numbers.
template <class Sum, class T> inline Sum multiply_add(Sum a, T b, Sum c) {
  return {multiply_add(a.by_real, b, c.by_real), multiply_add(a.by_imaginary, b, c.by_imaginary)};
}

}  // namespace rill::kernels
