// Launches of kernels.
#pragma once
#include <algorithm>
#include <cstdint>

#include "rill/cuda/gpu_device.hpp"
#include "rill/device/kernel.hpp"

namespace rill::cuda {

/// Returns the shape of a launch for `units` pieces of work, `each` of them in a block of `threads`. Kernels go through
/// their units in a loop, so the blocks are no more than keep any GPU busy.
inline gpu_device::launch_shape blocks_for(std::int64_t units, std::int64_t each, unsigned threads) {
  return {static_cast<unsigned>(std::min<std::int64_t>((units + each - 1) / each, 1 << 16)), threads};
}

/// Puts a kernel with these arguments on the stream of kernels, unless its grid is empty.
template <class... A>
void launch(gpu_device const& on, gpu_device::function const& f, gpu_device::launch_shape how, A... arguments) {
  void* all[] = {&arguments...};
  if (how.blocks > 0) on.launch(f, how, all);
}

/// Returns the kernel of a node whose outputs have no elements: it does nothing.
inline kernel empty_kernel() {
  return kernel([](kernel_call const&) {});
}

}  // namespace rill::cuda
