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

/// A native register of `T`, float, double or an unsigned integer (signed ones would overflow instead of wrapping).
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
};

/// A complex number stands alone: products of them are not worth more.
template <class T> struct native<std::complex<T>> {
  using type = std::complex<T>;
  static constexpr int lanes = 1;
  static type load(type const* p) { return *p; }
  static void store(type* p, type x) { *p = x; }
  static type broadcast(type x) { return x; }
};

/// a * b + c, rounded once where the processor can.
template <class T> inline T multiply_add(T a, T b, T c) { return a * b + c; }
/// The schoolbook product: the standard's looks for infinities in each.
template <class T> inline std::complex<T> multiply_add(std::complex<T> a, std::complex<T> b, std::complex<T> c) {
  return {a.real() * b.real() - a.imag() * b.imag() + c.real(), a.real() * b.imag() + a.imag() * b.real() + c.imag()};
}

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

}  // namespace rill::kernels
