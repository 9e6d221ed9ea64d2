// Square roots of the lanes of a vector. A loop over std::sqrt would test each lane for negative numbers to set errno
// (unless the user compiles with -fno-math-errno), so the instruction is named directly.
#pragma once
#include <cmath>
#include <cstddef>

namespace rill::detail {

#if defined(__clang__)

template <class T, class Native> [[gnu::always_inline]] inline void square_root(Native& a) {
  a = __builtin_elementwise_sqrt(a);
}

#elif defined(__SSE2__)

#if defined(__AVX512F__)
inline constexpr std::size_t widest_root = 64;
#elif defined(__AVX__)
inline constexpr std::size_t widest_root = 32;
#else
inline constexpr std::size_t widest_root = 16;
#endif

template <class T, std::size_t Bytes> struct vector_of {
  typedef T type __attribute__((vector_size(Bytes)));
};

template <class T, std::size_t Bytes> [[gnu::always_inline]] inline void square_root_of_piece(char* at) {
  typename vector_of<T, Bytes>::type piece;
  __builtin_memcpy(&piece, at, Bytes);
  if constexpr (Bytes == 16 && sizeof(T) == 4) piece = __builtin_ia32_sqrtps(piece);
  if constexpr (Bytes == 16 && sizeof(T) == 8) piece = __builtin_ia32_sqrtpd(piece);
#if defined(__AVX__)
  if constexpr (Bytes == 32 && sizeof(T) == 4) piece = __builtin_ia32_sqrtps256(piece);
  if constexpr (Bytes == 32 && sizeof(T) == 8) piece = __builtin_ia32_sqrtpd256(piece);
#endif
#if defined(__AVX512F__)
  constexpr int current_rounding_mode = 4;
  if constexpr (Bytes == 64 && sizeof(T) == 4)
    piece = __builtin_ia32_sqrtps512_mask(piece, piece, static_cast<short>(-1), current_rounding_mode);
  if constexpr (Bytes == 64 && sizeof(T) == 8)
    piece = __builtin_ia32_sqrtpd512_mask(piece, piece, static_cast<char>(-1), current_rounding_mode);
#endif
  __builtin_memcpy(at, &piece, Bytes);
}

template <class T, class Native> [[gnu::always_inline]] inline void square_root(Native& a) {
  constexpr std::size_t step = sizeof(Native) < widest_root ? sizeof(Native) : widest_root;
  for (std::size_t at = 0; at < sizeof(Native); at += step)
    square_root_of_piece<T, step>(reinterpret_cast<char*>(&a) + at);
}

#else

template <class T, class Native> [[gnu::always_inline]] inline void square_root(Native& a) {
  for (std::size_t lane = 0; lane < sizeof(Native) / sizeof(T); ++lane) a[lane] = std::sqrt(a[lane]);
}

#endif

}  // namespace rill::detail
