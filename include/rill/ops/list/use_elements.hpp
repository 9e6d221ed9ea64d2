// More kernels for programs without rill::compiled: all operations on element types that no typed handle names.
#pragma once
#include "rill/ops/list/operations.hpp"

namespace rill {

namespace detail {

template <dtypes Set> struct element_user {
  template <class Op> void operator()() const {
    constexpr bool converts = std::same_as<Op, ops::cast_op>;  // and so has to do with the others too
    provide_kernels<Op, converts ? Set | common_elements : Set>();
  }
};

}  // namespace detail

/// Gives a program that is made of headers alone the kernels of all operations for these element types:
/// `use_elements<dtype::float16>()`, `use_elements<dtypes::floats, dtype::uint8>()`, or all by `use_elements()`. For
/// what is trained, or loaded as a graph, on other element types than `common_elements`; to be called before the step,
/// and slow to compile. With rill::compiled it does nothing.
template <dtypes... Sets> void use_elements() {
  operations::for_each(
      detail::element_user<sizeof...(Sets) == 0 ? dtypes::numeric_or_bool : (dtypes() | ... | Sets)>());
}

}  // namespace rill
