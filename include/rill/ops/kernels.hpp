// Where an operation's raw kernels are: in this program (header-only), or in rill::compiled, in the variant that was
// built for this machine's processor.
#pragma once
#include <string_view>

#include "rill/base/config.hpp"
#include "rill/dsl/definition.hpp"

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

}  // namespace detail

/// The raw kernels of an operation: `Op::kernels` is a plain struct of function pointers that `Op::make_kernels()`
/// fills.
template <class Op> auto const& kernels_of() {
#if !RILL_KERNELS
  if constexpr (detail::in_library<Op>)
    return *static_cast<typename Op::kernels const*>(detail::library_kernels(Op::name));
  else
#endif
  {
    static constexpr typename Op::kernels table = Op::make_kernels();
    return table;
  }
}

}  // namespace rill
