// Packets: as many numbers as a register holds, with the one operation that matrix products are made of.
#pragma once
#include <complex>
#include <cstddef>
#include <type_traits>

#if defined(__FMA__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

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
template <class T> struct packet {
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

/// A complex number is a packet of one: products of them are not worth more.
template <class T> struct packet<std::complex<T>> {
  using type = std::complex<T>;
  static constexpr int lanes = 1;
  static type load(type const* p) { return *p; }
  static void store(type* p, type x) { *p = x; }
  static type broadcast(type x) { return x; }
};

/// a * b + c, rounded once where the processor can.
template <class Packet> inline Packet multiply_add(Packet a, Packet b, Packet c) { return a * b + c; }
/// The schoolbook product: the standard's looks for infinities in each.
template <class T> inline std::complex<T> multiply_add(std::complex<T> a, std::complex<T> b, std::complex<T> c) {
  return {a.real() * b.real() - a.imag() * b.imag() + c.real(), a.real() * b.imag() + a.imag() * b.real() + c.imag()};
}
#if defined(__AVX512F__)
inline packet<float>::type multiply_add(packet<float>::type a, packet<float>::type b, packet<float>::type c) {
  return _mm512_fmadd_ps(a, b, c);
}
inline packet<double>::type multiply_add(packet<double>::type a, packet<double>::type b, packet<double>::type c) {
  return _mm512_fmadd_pd(a, b, c);
}
#elif defined(__FMA__)
inline packet<float>::type multiply_add(packet<float>::type a, packet<float>::type b, packet<float>::type c) {
  return _mm256_fmadd_ps(a, b, c);
}
inline packet<double>::type multiply_add(packet<double>::type a, packet<double>::type b, packet<double>::type c) {
  return _mm256_fmadd_pd(a, b, c);
}
#endif

}  // namespace rill::kernels
