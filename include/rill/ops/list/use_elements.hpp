// More kernels for programs without rill::compiled: all operations on further element types.
#pragma once
#include "rill/ops/list/operations.hpp"

namespace rill {

namespace detail {

template <dtypes Set> struct element_user {
  template <class Op> void operator()() const {
    constexpr bool converts = std::same_as<Op, ops::cast_op>;  // converts to all other types, too
    provide_kernels<Op, converts ? Set | common_elements : Set>();
  }
};

}  // namespace detail

/// Gives a header-only program the kernels of all operations for these element types: `use_elements<dtype::float16>()`,
/// `use_elements<dtypes::floats, dtype::uint8>()`, or all by `use_elements()`. Use it to train, or to load graphs, with
/// element types other than `common_elements`. Call it before the step; it is slow to compile. With rill::compiled it
/// does nothing.
template <dtypes... Sets> void use_elements() {
  operations::for_each(
      detail::element_user<sizeof...(Sets) == 0 ? dtypes::numeric_or_bool : (dtypes() | ... | Sets)>());
}

}  // namespace rill
