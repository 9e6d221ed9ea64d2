// Several results of an operation as a tuple, of typed handles and of erased ones.
#pragma once
#include <tuple>
#include <vector>

#include "rill/dsl/expr.hpp"

namespace rill::detail {

/// Returns the results as a tuple: `auto [q, r] = qr(x)` for handles of both kinds.
template <std::size_t N, class Results> auto results_as_tuple(Results results) {
  if constexpr (std::same_as<Results, std::vector<value>>)
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      return std::tuple{results[Index]...};
    }(std::make_index_sequence<N>{});
  else return results;
}

}  // namespace rill::detail
