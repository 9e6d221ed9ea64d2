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
#include "rill/graph/op_def.hpp"
#include "rill/ops/network/softmax_cross_entropy.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE kernel_factory row_kernel_of(op_def const& op, std::span<type const> inputs) {
  static kernel_table const all = [] {
    kernel_table t;
    t.add(definition<ops::softmax_op>(), softmax_kernel);
    t.add(definition<ops::log_softmax_op>(), log_softmax_kernel);
    t.add(definition<ops::softmax_cross_entropy_op>(), cross_entropy_kernel);
    t.add(definition<ops::softmax_cross_entropy_dense_op>(), cross_entropy_dense_kernel);
    t.add(definition<ops::argmax_op>(), argmax_kernel);
    t.add(definition<ops::argmin_op>(), argmin_kernel);
    t.add(definition<ops::variance_op>(), variance_kernel);
    t.add(definition<ops::logsumexp_op>(), logsumexp_kernel);
    t.add(definition<ops::cumsum_op>(), cumsum_kernel);
    t.add(definition<ops::cumprod_op>(), cumprod_kernel);
    t.add(definition<ops::delayed_op>(), delayed_kernel);
    t.add(definition<ops::linear_recurrence_op>(), linear_recurrence_kernel);
    return t;
  }();
  bool const complex = !inputs.empty() && dtypes::complexes.contains(inputs[0].element);
  return complex ? nullptr : all.find(op);
}

}  // namespace rill::cuda
#endif
