// Launches of kernels that are written in headers of cuda/text/.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rill/cuda/gpu_device.hpp"

namespace rill::cuda {

/// Returns the shape of a launch for `units` pieces of work, `each` of them in a block of `threads`. Kernels go through
/// their units in a loop, so the blocks are no more than keep any GPU busy.
inline gpu_device::launch_shape blocks_for(std::int64_t units, std::int64_t each, unsigned threads) {
  return {static_cast<unsigned>(std::min<std::int64_t>((units + each - 1) / each, 1 << 16)), threads};
}

/// Puts a kernel with these arguments on the stream of kernels; nothing if it has no blocks.
template <class... A>
void launch(gpu_device const& on, gpu_device::function const& f, gpu_device::launch_shape how, A... arguments) {
  void* all[] = {&arguments...};
  if (how.blocks > 0) on.launch(f, how, all);
}

/// Waits for the kernels on the stream, and returns the least of the numbers, at least one, that they wrote to a GPU's
/// memory.
inline std::int64_t least_found(gpu_device const& on, void const* numbers, std::size_t count) {
  on.wait();
  std::vector<std::int64_t> all(count);
  on.read(all.data(), numbers, count * sizeof(std::int64_t));
  return *std::min_element(all.begin(), all.end());
}

}  // namespace rill::cuda
