// The kernels of rill::compiled, built once for each instruction set, and the choice among them. Only the library's own
// units include this; CMakeLists.txt writes them.
#pragma once
#include <atomic>
#include <span>
#include <string>
#include <string_view>

#include "rill/base/error.hpp"
#include "rill/ops/base/kernels.hpp"

namespace rill::detail {

/// The kernels of all operations, one table for each translation unit.
using kernel_tables = std::span<std::span<kernel_entry const> const>;

/// All kernels, built for one instruction set.
struct kernel_variant {
  std::string_view name;
  bool (*runs_here)();
  kernel_tables tables;

  void const* find(std::string_view operation) const {
    for (auto const& table : tables)
      for (auto const& entry : table)
        if (entry.operation == operation) return entry.kernels;
    return nullptr;
  }
};

#if RILL_KERNELS
/// Returns the operation's entry in a unit's table; an empty one if the operation has no raw kernels.
template <class Op> constexpr kernel_entry make_kernel_entry() {
  if constexpr (requires { typename Op::kernels; }) return {Op::name, &kernels_made<Op, dtypes::any_element>};
  else return {};
}
#endif

/// The variant that this process uses, chosen at the first request. It has no destructor that would run after main.
class variant_choice {
 public:
  /// Makes a choice among variants, best first.
  constexpr explicit variant_choice(std::span<kernel_variant const> variants) : variants_(variants) {}

  kernel_variant const& get() {
    if (auto const* chosen = chosen_.load(std::memory_order_acquire)) return *chosen;
    for (auto const& v : variants_)
      if (v.runs_here()) return choose(v);
    throw error(code::unimplemented, "this processor runs none of the kernels in the library (" + names() +
                                         "); build rill with -DRILL_VARIANTS=portable");
  }

  /// The kernels of an operation in the chosen variant.
  void const* kernels(std::string_view operation) {
    auto const& chosen = get();
    if (auto const* found = chosen.find(operation)) return found;
    throw error(code::unimplemented,
                "the library has no kernels for '" + std::string(operation) + "' on " + std::string(chosen.name));
  }

  void use(std::string_view name) {
    for (auto const& v : variants_) {
      if (v.name != name) continue;
      if (!v.runs_here()) throw error(code::unimplemented, "this processor can't run kernels for " + std::string(name));
      if (auto const& chosen = choose(v); &chosen != &v)
        throw error(code::failed_precondition, "kernels for " + std::string(name) + " were asked for after those for " +
                                                   std::string(chosen.name) +
                                                   " had been taken; ask before the first step");
      return;
    }
    throw error(code::invalid_argument,
                "the library has no kernels for '" + std::string(name) + "', only for " + names());
  }

 private:
  kernel_variant const& choose(kernel_variant const& wanted) {
    kernel_variant const* chosen = nullptr;
    return chosen_.compare_exchange_strong(chosen, &wanted, std::memory_order_acq_rel) ? wanted : *chosen;
  }

  std::string names() const {
    std::string all;
    for (auto const& v : variants_) all += (all.empty() ? "" : ", ") + std::string(v.name);
    return all;
  }

  std::span<kernel_variant const> variants_;
  std::atomic<kernel_variant const*> chosen_ = nullptr;
};

// What the levels of x86-64 are made of: the psABI's own list.
#if defined(__x86_64__)
#if defined(__clang__) && __clang_major__ < 18
// These clang know the features, but not yet the levels by name.
inline bool runs_x86_64_v2() { return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"); }
inline bool runs_x86_64_v3() {
  return runs_x86_64_v2() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
}
inline bool runs_x86_64_v4() {
  return runs_x86_64_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#else
inline bool runs_x86_64_v2() { return __builtin_cpu_supports("x86-64-v2"); }
inline bool runs_x86_64_v3() { return __builtin_cpu_supports("x86-64-v3"); }
inline bool runs_x86_64_v4() { return __builtin_cpu_supports("x86-64-v4"); }
#endif
#endif

}  // namespace rill::detail
