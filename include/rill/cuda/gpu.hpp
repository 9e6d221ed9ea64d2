// GPUs by number and UUID: `rill::session s{g, {.devices = {rill::gpu(0)}, .soft_placement = true}}`.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "rill/cuda/gpu_device.hpp"
#include "rill/cuda/gpu_kernels.hpp"

namespace rill {

/// Returns the GPU of that number, among those that CUDA_VISIBLE_DEVICES leaves: gpu:N of a session. `kernels`, which
/// must outlive it, may have some of your own (docs/guide/gpus.md).
inline std::shared_ptr<gpu_device> gpu(unsigned number = 0, gpu_options const& options = {},
                                       kernel_table const& kernels = cuda::gpu_kernels()) {
  return std::make_shared<gpu_device>(std::to_string(number), number, options, kernels);
}
/// Returns the GPU, or the slice of one (MIG), of that UUID, "GPU-8f5a…" or "MIG-…", or a prefix of it. A
/// session has it as gpu:`number`.
inline std::shared_ptr<gpu_device> gpu(std::string_view uuid, unsigned number = 0, gpu_options const& options = {},
                                       kernel_table const& kernels = cuda::gpu_kernels()) {
  return std::make_shared<gpu_device>(uuid, number, options, kernels);
}

}  // namespace rill
