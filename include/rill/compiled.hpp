// For which processor this program's kernels were compiled. rill::compiled holds them several times, for x86-64-v2, v3
// and v4, and takes the best that the machine runs when the first kernel is asked for.
#pragma once
#include <string>
#include <string_view>

#include "rill/base/config.hpp"
#include "rill/base/error.hpp"

namespace rill {

namespace detail {

/// The instruction set that the compiler may use in this unit.
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

/// The instruction set of the kernels that this program uses: the best one in the library that the processor has, or
/// what `use_instruction_set` asked for. Throws error(unimplemented) if the library has none for this processor.
std::string_view instruction_set();

/// Takes the kernels for `name` ("x86-64-v2", …). To be called before the first kernel is prepared: afterwards only the
/// name in use is accepted, others are error(failed_precondition). Throws error(invalid_argument) if the library has no
/// kernels of that name, error(unimplemented) if this processor can't run them.
void use_instruction_set(std::string_view name);

#else

// Without the library each unit compiles the kernels it uses by its own flags, and answers for itself.

/// The instruction set that this unit was compiled for.
static inline std::string_view instruction_set() { return detail::unit_instruction_set(); }

/// Throws error(failed_precondition) unless the unit was compiled for `name`.
[[maybe_unused]] static inline void use_instruction_set(std::string_view name) {
  if (name != instruction_set())
    throw error(code::failed_precondition,
                "kernels for " + std::string(name) + " were asked for, but this program's own are compiled for " +
                    std::string(instruction_set()) + "; link rill::compiled to have a choice");
}

#endif

}  // namespace rill
