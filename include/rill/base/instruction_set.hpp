// The instruction set of this program's kernels. rill::compiled contains kernels for x86-64-v2, v3 and v4, and chooses
// the best that the processor supports when the program first needs a kernel.
#pragma once
#include <string>
#include <string_view>

#include "rill/base/config.hpp"
#include "rill/base/error.hpp"

namespace rill {

namespace detail {

/// Returns the instruction set that the compiler may use in this translation unit.
constexpr std::string_view unit_instruction_set() {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512CD__) && defined(__AVX512DQ__) && \
    defined(__AVX512VL__)
  return "x86-64-v4";
#elif defined(__AVX2__) && defined(__BMI__) && defined(__BMI2__) && defined(__F16C__) && defined(__FMA__) && \
    defined(__LZCNT__) && defined(__MOVBE__)
  return "x86-64-v3";
#elif defined(__SSE4_2__) && defined(__SSSE3__) && defined(__POPCNT__)
  return "x86-64-v2";
#elif defined(__x86_64__)
  return "x86-64";
#else
  return "portable";
#endif
}

}  // namespace detail

#if RILL_COMPILED

/// Returns the instruction set of this program's kernels: the best one in the library that the processor supports, or
/// the choice of `use_instruction_set`. Throws error(unimplemented) if the library has no kernels for this processor.
std::string_view instruction_set();

/// Chooses the kernels for `name` ("x86-64-v2", …). Call it before the first kernel is prepared; later, names other
/// than the current one throw error(failed_precondition). Throws error(invalid_argument) if the library has no kernels
/// for `name`, and error(unimplemented) if this processor can't run them.
void use_instruction_set(std::string_view name);

#else

// Without the library, each translation unit compiles its own kernels with its own flags, so these are static.

/// Returns the instruction set for which this translation unit was compiled.
static inline std::string_view instruction_set() { return detail::unit_instruction_set(); }

/// Throws error(failed_precondition) unless this translation unit was compiled for `name`.
[[maybe_unused]] static inline void use_instruction_set(std::string_view name) {
  if (name != instruction_set())
    throw error(code::failed_precondition, "expected kernels for " + std::string(name) +
                                               ", but this program compiled its kernels for " +
                                               std::string(instruction_set()) + "; link rill::compiled to choose");
}

#endif

}  // namespace rill
