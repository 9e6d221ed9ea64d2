// What CUDA's language adds to C++, for a text that the host's compiler takes. Its own standard headers stand for
// NVRTC's.
#pragma once
#include <math.h>

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
#define __align__(bytes) alignas(bytes)
#define threadIdx (::rill::emulated::here.now->thread)
#define blockIdx (::rill::emulated::here.now->block)
#define blockDim (::rill::emulated::here.now->threads)
#define gridDim (::rill::emulated::here.now->blocks)

namespace rill::emulated {

inline thread_local constinit thread_state here{};

template <class F> struct kernel_of;
template <class... P> struct kernel_of<void(P...)> {
  static constexpr parameter parameters[] = {{sizeof(P), alignof(P)}..., {}};

  template <auto F> static void run(void* const* arguments) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      F(*static_cast<P const*>(arguments[I])...);
    }(std::index_sequence_for<P...>());
  }
  template <auto F> static constexpr kernel_entry entry(char const* name, unsigned most_threads) {
    return {name, &run<F>, parameters, sizeof...(P), most_threads};
  }
};

template <auto F> constexpr kernel_entry entry(char const* name, unsigned most_threads = 0, unsigned = 0) {
  return kernel_of<std::remove_pointer_t<decltype(F)>>::template entry<F>(name, most_threads);
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
