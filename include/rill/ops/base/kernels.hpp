// Where an operation's raw kernels are: in this program (header-only), or in rill::compiled, in the variant that was
// built for this machine's processor.
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

/// The kernels of an operation in the variant for this processor; defined by rill::compiled. Throws
/// error(unimplemented) if the library has none for it.
void const* library_kernels(std::string_view operation);

/// Throws the error of a program that has no kernels of an operation between these element types.
[[noreturn, gnu::cold]] void refuse_elements(std::string_view operation, dtypes wanted);

/// The operation's kernels in this program. Where the operation does not take the element types at all, any table says
/// so.
template <class Op> void const* program_kernels(dtypes wanted) {
  if (auto const* found = kernel_parts<Op>::find(wanted)) return found;
  if constexpr (!kernels_by_element<Op>) return kernel_parts<Op>::common.kernels;
  else if (!Op::elements.includes(wanted)) return kernel_parts<Op>::common.kernels;
  else refuse_elements(Op::name, wanted);
}

}  // namespace detail

/// The raw kernels of an operation between these element types: `Op::kernels` is a plain struct of function pointers
/// that `Op::make_kernels<Set>()` fills for a set of element types, or `Op::make_kernels()` where they make no
/// difference. Throws error(unimplemented) if a program without rill::compiled has none.
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
