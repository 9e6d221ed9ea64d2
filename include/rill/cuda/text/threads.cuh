// How the threads of a kernel share its work.
#pragma once

namespace rill::text {

/// Calls `f` with this thread's share of the numbers below `n`.
template <class Index, class F> void for_each_index(Index n, F const& f) {
  Index const all = static_cast<Index>(gridDim.x) * blockDim.x;
  for (Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += all) f(i);
}

}  // namespace rill::text
