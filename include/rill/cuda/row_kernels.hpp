// The operations whose kernels on a GPU keep a state along a row, a column or an axis.
#pragma once
#include <span>

#include "rill/cuda/argmax_kernel.hpp"
#include "rill/cuda/softmax_kernel.hpp"
#include "rill/cuda/state_kernel.hpp"
#include "rill/cuda/walk_kernel.hpp"
#include "rill/device/device.hpp"

namespace rill::cuda {

/// Returns the factory of such a kernel; null: the operation is another one, or has elements that kernels don't
/// support.
kernel_factory row_kernel_of(op_def const& op, std::span<type const> inputs);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include "rill/cuda/operation_table.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/ops/network/softmax_cross_entropy.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE kernel_factory row_kernel_of(op_def const& op, std::span<type const> inputs) {
  static operation_table<kernel_factory> const all{
      {&definition<ops::softmax_op>(), softmax_kernel},
      {&definition<ops::log_softmax_op>(), log_softmax_kernel},
      {&definition<ops::softmax_cross_entropy_op>(), cross_entropy_kernel},
      {&definition<ops::softmax_cross_entropy_dense_op>(), cross_entropy_dense_kernel},
      {&definition<ops::argmax_op>(), argmax_kernel},
      {&definition<ops::argmin_op>(), argmin_kernel},
      {&definition<ops::variance_op>(), variance_kernel},
      {&definition<ops::logsumexp_op>(), logsumexp_kernel},
      {&definition<ops::cumsum_op>(), cumsum_kernel},
      {&definition<ops::cumprod_op>(), cumprod_kernel},
      {&definition<ops::delayed_op>(), delayed_kernel},
      {&definition<ops::linear_recurrence_op>(), linear_recurrence_kernel}};
  bool const complex = !inputs.empty() && dtypes::complexes.contains(inputs[0].element);
  return complex ? nullptr : all.find(op);
}

}  // namespace rill::cuda
#endif
