// The operations on tables of rows, and on positions, that a GPU has kernels of.
#pragma once
#include <span>

#include "rill/cuda/array_kernel.hpp"
#include "rill/cuda/gather_kernel.hpp"
#include "rill/cuda/positions_kernel.hpp"
#include "rill/cuda/scatter_kernel.hpp"
#include "rill/cuda/search_kernel.hpp"
#include "rill/cuda/segment_kernel.hpp"
#include "rill/device/device.hpp"

namespace rill::cuda {

/// Returns the factory of such a kernel; null: the operation is another one, or has elements that kernels don't
/// support.
kernel_factory table_kernel_of(op_def const& op, std::span<type const> inputs);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>

#include "rill/cuda/operation_table.hpp"
#include "rill/graph/op_def.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE kernel_factory table_kernel_of(op_def const& op, std::span<type const> inputs) {
  static operation_table<kernel_factory> const all{
      {&definition<ops::gather_op>(), gather_kernel},
      {&definition<ops::gather_variable_op>(), gather_variable_kernel},
      {&definition<ops::gather_axis_op>(), gather_axis_kernel},
      {&definition<ops::take_along_axis_op>(), take_along_axis_kernel},
      {&definition<ops::row_numbers_op>(), row_numbers_kernel},
      {&definition<ops::one_hot_op>(), one_hot_kernel},
      {&definition<ops::scatter_like_op>(), scatter_like_kernel},
      {&definition<ops::add_rows_op>(), add_rows_kernel},
      {&definition<ops::scatter_axis_op>(), scatter_axis_kernel},
      {&definition<ops::scatter_along_axis_op>(), scatter_along_axis_kernel},
      {&definition<ops::scatter_add_op>(), scatter_add_kernel},
      {&definition<ops::scatter_sub_op>(), scatter_sub_kernel},
      {&definition<ops::scatter_update_op>(), scatter_update_kernel},
      {&definition<ops::segment_sum_op>(), segment_sum_kernel},
      {&definition<ops::segment_max_op>(), segment_max_kernel},
      {&definition<ops::segment_take_op>(), segment_take_kernel},
      {&definition<ops::array_new_op>(), array_new_kernel},
      {&definition<ops::array_full_op>(), array_full_kernel},
      {&definition<ops::array_read_op>(), array_read_kernel},
      {&definition<ops::array_write_op>(), array_write_kernel},
      {&definition<ops::array_stack_op>(), array_stack_kernel},
      {&definition<ops::search_sorted_op>(), search_sorted_kernel},
      {&definition<ops::positions_op>(), positions_kernel},
      {&definition<ops::source_positions_op>(), source_positions_kernel},
      {&definition<ops::range_op>(), range_kernel},
      {&definition<ops::extents_of_op>(), extents_of_kernel}};
  bool const strings =
      std::any_of(inputs.begin(), inputs.end(), [](type const& t) { return t.element == dtype::string; });
  return strings ? nullptr : all.find(op);
}

}  // namespace rill::cuda
#endif
