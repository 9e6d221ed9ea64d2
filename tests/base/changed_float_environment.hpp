// What the tests of floating-point environments share: a thread that rounds upwards and flushes subnormal numbers to 0.
#pragma once
#include <cfenv>

namespace rill::test {

/// Changes the environment of this thread until it is destroyed.
class changed_float_environment {
 public:
  changed_float_environment() {
    std::fegetenv(&before_);
    std::fesetround(FE_UPWARD);
#if defined(__SSE__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u);  // FTZ and DAZ
#endif
  }
  changed_float_environment(changed_float_environment const&) = delete;
  changed_float_environment& operator=(changed_float_environment const&) = delete;
  ~changed_float_environment() { std::fesetenv(&before_); }

  /// Whether this thread still has the changed environment.
  static bool is_here() {
#if defined(__SSE__)
    if ((__builtin_ia32_stmxcsr() & 0x8040u) != 0x8040u) return false;
#endif
    return std::fegetround() == FE_UPWARD;
  }

 private:
  std::fenv_t before_;
};

}  // namespace rill::test
