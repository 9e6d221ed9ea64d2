// Fills tables of kernels: calls a lambda for each element type of a set.
#pragma once
#include <utility>

#include "rill/type/dtype.hpp"

namespace rill {

/// Calls `f.template operator()<T>(dtype's number)` with the C++ type of each dtype in the set.
template <dtypes Set, class F> constexpr void for_each_type(F&& f) {
  [&]<std::size_t... D>(std::index_sequence<D...>) {
    auto const call = [&]<std::size_t Index>(std::integral_constant<std::size_t, Index>) {
      if constexpr (Set.contains(static_cast<dtype>(Index)))
        f.template operator()<element_of<static_cast<dtype>(Index)>>(Index);
    };
    (call(std::integral_constant<std::size_t, D>{}), ...);
  }(std::make_index_sequence<dtype_count>{});
}

}  // namespace rill
