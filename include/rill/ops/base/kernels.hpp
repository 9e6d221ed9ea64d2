// Finds an operation's raw kernels: in this program (header-only), or in the variant of rill::compiled that was built
// for this processor.
#pragma once
#include <string_view>

#include "rill/base/config.hpp"
#include "rill/dsl/definition.hpp"
#include "rill/dsl/kernel_parts.hpp"

namespace rill {

/// One line of a variant's table: the operation and its `Op::kernels`.
struct kernel_entry {
  std::string_view operation;
  void const* kernels = nullptr;
};

namespace detail {

/// Returns the kernels of an operation in the variant for this processor; defined by rill::compiled. Throws
/// error(unimplemented) if the library has no kernels for the operation.
void const* library_kernels(std::string_view operation);

/// Throws error(unimplemented): the program has no kernels of the operation for these element types.
[[noreturn, gnu::cold]] void refuse_elements(std::string_view operation, dtypes wanted);

/// Returns the operation's kernels in this program; any table if the operation does not support the element types.
template <class Op> void const* program_kernels(dtypes wanted) {
  if (auto const* found = kernel_parts<Op>::find(wanted)) return found;
  if constexpr (!kernels_by_element<Op>) return kernel_parts<Op>::common.kernels;
  else if (!Op::elements.includes(wanted)) return kernel_parts<Op>::common.kernels;
  else refuse_elements(Op::name, wanted);
}

}  // namespace detail

/// Returns the raw kernels of an operation for these element types. `Op::kernels` is a plain struct of function
/// pointers; `Op::make_kernels<Set>()` fills it for a set of element types, `Op::make_kernels()` if element types make
/// no difference. Throws error(unimplemented) if a program without rill::compiled lacks them.
template <class Op> auto const& kernels_of([[maybe_unused]] dtypes wanted = {}) {
  using table = typename Op::kernels;
#if RILL_KERNELS
  return *static_cast<table const*>(detail::program_kernels<Op>(wanted));
#else
  if constexpr (detail::in_library<Op>) return *static_cast<table const*>(detail::library_kernels(Op::name));
  else return detail::kernels_made<Op, dtypes::any_element>;
#endif
}

#if RILL_RUNTIME

namespace detail {

RILL_INLINE void refuse_elements(std::string_view operation, dtypes wanted) {
  std::string names, asked;
  for (std::size_t i = 0; i < dtype_count; ++i) {
    auto const d = static_cast<dtype>(i);
    if (!wanted.contains(d)) continue;
    names += (names.empty() ? "" : " and ") + std::string(name(d));
    asked += (asked.empty() ? "rill::dtype::" : ", rill::dtype::") + std::string(name(d));
  }
  throw error(code::unimplemented,
              "this program has no kernel of '" + std::string(operation) + "' for " + names +
                  ": it is made of headers alone, and compiles kernels for common element types and for those of typed "
                  "handles; call rill::use_elements<" +
                  asked + ">() of rill/ops/list/use_elements.hpp before the step, or link rill::compiled");
}

}  // namespace detail

#endif

}  // namespace rill
