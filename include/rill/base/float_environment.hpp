// The floating-point environment of steps. Rounding and the treatment of subnormal numbers belong to a thread, and
// audio and game engines change them. A step computes in the default environment on every thread, or else its results
// would depend on which thread runs a kernel.
#pragma once
#include <cfenv>

#if defined(__aarch64__)
#include <cstdint>
#endif

namespace rill::detail {

/// Whether this thread rounds to nearest, keeps subnormal numbers, and traps no floating-point exception.
inline bool has_default_float_environment() noexcept {
#if defined(__SSE__)
  // MXCSR (Intel SDM, volume 1, section 10.2.3): bits 0 to 5 are sticky flags, which don't change results.
  return (__builtin_ia32_stmxcsr() & 0xffc0u) == 0x1f80u;
#elif defined(__aarch64__)
  // FPCR (Arm ARM, section C5.2.8): rounding, flushing to zero, default NaNs and traps are off if all bits are 0.
  std::uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return control == 0;
#else
  return std::fegetround() == FE_TONEAREST;
#endif
}

/// Gives the thread the default environment, and in its destructor the previous one. It costs a few instructions if
/// nobody has changed the environment.
class default_float_environment {
 public:
  [[gnu::always_inline]] default_float_environment() noexcept : changed_(!has_default_float_environment()) {
    if (changed_) enter();
  }
  [[gnu::always_inline]] ~default_float_environment() {
    if (changed_) std::fesetenv(&before_);
  }
  default_float_environment(default_float_environment const&) = delete;
  default_float_environment& operator=(default_float_environment const&) = delete;

 private:
  [[gnu::cold, gnu::noinline]] void enter() noexcept {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }

  std::fenv_t before_;  // without a value until `enter` has run
  bool changed_;
};

}  // namespace rill::detail
