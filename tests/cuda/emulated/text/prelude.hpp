// What CUDA's language adds to C++, for a text that the host's compiler takes. Its own standard headers stand for
// NVRTC's.
#pragma once
#include <math.h>

#include <cstring>
#include <source_location>
#include <type_traits>
#include <utility>

#include "rill/emulated/interface.hpp"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__ static
#define threadIdx (::rill::emulated::here.now->thread)
#define blockIdx (::rill::emulated::here.now->block)
#define blockDim (::rill::emulated::here.now->threads)
#define gridDim (::rill::emulated::here.now->blocks)

namespace rill::emulated {

// Apart from variables that begin as zero: they are shared memory, which the driver fills when a block begins.
inline constinit thread_state here [[gnu::section(".data.here")]]{};

template <class F> struct kernel_of;
template <class... P> struct kernel_of<void(P...)> {
  static constexpr parameter parameters[] = {{sizeof(P), alignof(P)}..., {}};

  template <auto F> static void run(void* const* arguments) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      F(*static_cast<P const*>(arguments[I])...);
    }(std::index_sequence_for<P...>());
  }
  template <auto F> static constexpr kernel_entry entry(char const* name, bool waits, unsigned most_threads) {
    return {name, &run<F>, parameters, sizeof...(P), most_threads, waits};
  }
};

template <auto F> constexpr kernel_entry entry(char const* name, bool waits, unsigned most_threads = 0, unsigned = 0) {
  return kernel_of<std::remove_pointer_t<decltype(F)>>::template entry<F>(name, waits, most_threads);
}

inline std::uint64_t in_warp(warp_call const& call) { return here.host->call_in_warp(*here.block, call); }

template <class T>
T shuffled(warp_function which, unsigned mask, T value, unsigned operand, int width, std::source_location where) {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) >= 4, "a shuffle takes numbers of 4 or 8 bytes");
  warp_call call{which, mask, 0, operand, static_cast<unsigned>(width), sizeof(T), where};
  std::memcpy(&call.value, &value, sizeof(T));
  std::uint64_t const result = in_warp(call);
  std::memcpy(&value, &result, sizeof(T));
  return value;
}

}  // namespace rill::emulated

using uint3 = rill::emulated::extent;
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

// Each operation is rounded once, as its name says.
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
inline double __dsqrt_rn(double a) { return __builtin_sqrt(a); }

inline int __popc(unsigned bits) { return __builtin_popcount(bits); }

// A thread runs until it waits, so each of these is one step for the others.
template <class T> T atomicMin(T* at, T value) {
  static_assert(std::is_integral_v<T> && sizeof(T) >= 4, "atomicMin takes integers of 4 or 8 bytes");
  T const before = *at;
  if (value < before) *at = value;
  return before;
}
template <class T> T atomicAdd(T* at, T value) {
  static_assert(std::is_integral_v<T> && sizeof(T) >= 4 && (sizeof(T) == 4 || std::is_unsigned_v<T>),
                "atomicAdd of integers takes those of 4 bytes, and unsigned ones of 8");
  T const before = *at;
  *at = before + value;
  return before;
}

// What the threads of a block, or of a warp, call together. Calls at other places of a text are others.
inline void __syncthreads(std::source_location where = std::source_location::current()) {
  auto& here = rill::emulated::here;
  here.host->wait_for_block(*here.block, where);
}
inline void __syncwarp(unsigned mask = 0xffffffff, std::source_location where = std::source_location::current()) {
  rill::emulated::in_warp({.which = rill::emulated::warp_function::sync, .mask = mask, .where = where});
}
template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32,
              std::source_location where = std::source_location::current()) {
  using enum rill::emulated::warp_function;
  return rill::emulated::shuffled(shuffle, mask, value, static_cast<unsigned>(lane), width, where);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32,
                 std::source_location where = std::source_location::current()) {
  using enum rill::emulated::warp_function;
  return rill::emulated::shuffled(shuffle_up, mask, value, by, width, where);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32,
                   std::source_location where = std::source_location::current()) {
  using enum rill::emulated::warp_function;
  return rill::emulated::shuffled(shuffle_down, mask, value, by, width, where);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32,
                  std::source_location where = std::source_location::current()) {
  using enum rill::emulated::warp_function;
  return rill::emulated::shuffled(shuffle_xor, mask, value, static_cast<unsigned>(bits), width, where);
}
inline unsigned __ballot_sync(unsigned mask, int vote, std::source_location where = std::source_location::current()) {
  using enum rill::emulated::warp_function;
  return static_cast<unsigned>(
      rill::emulated::in_warp({.which = ballot, .mask = mask, .value = vote != 0, .where = where}));
}
inline int __any_sync(unsigned mask, int vote, std::source_location where = std::source_location::current()) {
  using enum rill::emulated::warp_function;
  return static_cast<int>(rill::emulated::in_warp({.which = any, .mask = mask, .value = vote != 0, .where = where}));
}
inline int __all_sync(unsigned mask, int vote, std::source_location where = std::source_location::current()) {
  using enum rill::emulated::warp_function;
  return static_cast<int>(rill::emulated::in_warp({.which = all, .mask = mask, .value = vote != 0, .where = where}));
}
