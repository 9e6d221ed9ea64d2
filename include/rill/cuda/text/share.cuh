// Stands for rill/ops/sum/reduce_kernels.hpp in CUDA source: what prod_kernels.hpp takes from there and from what that
// includes. A thread has the whole of a loop that the host shares among threads.
#pragma once
#include <cstddef>
#include <type_traits>

#include "rill/base/parallel.hpp"
#include "rill/type/half.hpp"

namespace rill::kernels {

using index = std::ptrdiff_t;

template <class F> void share(parallel const&, index count, index, F const& f) { f(index{0}, count); }

namespace detail {

constexpr index divide_up(index a, index b) { return (a + b - 1) / b; }
constexpr index upper(index a, index b) { return a < b ? b : a; }

}  // namespace detail

}  // namespace rill::kernels
