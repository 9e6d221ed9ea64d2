// Which nodes a GPU runs.
#pragma once
#include "rill/device/device.hpp"

namespace rill::cuda {

/// Returns the kernels that GPUs have.
kernel_table const& gpu_kernels();
/// Returns a table of kernels that a rule of yours chooses, which may ask `gpu_kernels().rule()` for the nodes that it
/// has none for.
kernel_table gpu_kernels(kernel_rule chooses);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <span>

#include "rill/cuda/chain_kernel.hpp"
#include "rill/cuda/convolution_kernel.hpp"
#include "rill/cuda/copy_form.hpp"
#include "rill/cuda/copy_kernel.hpp"
#include "rill/cuda/finite_kernel.hpp"
#include "rill/cuda/grouped_update_kernel.hpp"
#include "rill/cuda/map_kernel.hpp"
#include "rill/cuda/map_text.hpp"
#include "rill/cuda/operation_table.hpp"
#include "rill/cuda/prod_kernel.hpp"
#include "rill/cuda/product_kernel.hpp"
#include "rill/cuda/random_kernel.hpp"
#include "rill/cuda/reduce_kernel.hpp"
#include "rill/cuda/row_kernels.hpp"
#include "rill/cuda/table_kernel.hpp"
#include "rill/cuda/text_parts.hpp"
#include "rill/cuda/update_kernel.hpp"
#include "rill/cuda/window_kernel.hpp"

namespace rill::cuda {

namespace detail {

/// The kernels that are listed by operation: those that compute with numbers, and those that need
/// only the bits of elements.
inline kernel_factory listed(op_def const& op, bool moves) {
  static operation_table<kernel_factory> const numbers{{&definition<ops::broadcast_like_op>(), broadcast_like_kernel},
                                                       {&definition<ops::broadcast_to_op>(), spread_kernel},
                                                       {&definition<ops::fill_op>(), spread_kernel},
                                                       {&definition<ops::prod_of_others_op>(), prod_of_others_kernel},
                                                       {&definition<ops::assign_add_op>(), assign_add_kernel},
                                                       {&definition<ops::assign_sub_op>(), assign_sub_kernel}},
      any{{&definition<ops::read_op>(), read_kernel},
          {&definition<ops::is_initialized_op>(), is_initialized_kernel},
          {&definition<ops::assign_op>(), assign_kernel},
          {&definition<ops::initialize_op>(), initialize_kernel},
          {&definition<ops::check_numerics_op>(), check_numerics_kernel}};
  if (auto const make = (moves ? any : numbers).find(op)) return make;
  if (moves) return find_copy_form(op) ? copy_kernel : nullptr;
  return find_reduce_form(op) ? reduce_kernel : nullptr;
}
inline bool is_product(op_def const& op) {
  return &op == &definition<ops::matmul_op>() || &op == &definition<ops::matmul_like_op>();
}

inline kernel_factory factory_of(node const& n, std::span<type const> inputs) {
  if (n.op == &chain_op) return chain_kernel_of(n);
  if (map_program(n, inputs)) return map_kernel;
  auto const each = [&](auto const& f) {
    return std::all_of(inputs.begin(), inputs.end(), f) && std::all_of(n.outputs.begin(), n.outputs.end(), f);
  };
  if (n.op == &definition<ops::fused_update_op>())
    return has_text(*decode<ops::fused_update_op::attributes>(n.attributes).what) ? fused_update_kernel : nullptr;
  if (n.op == &definition<ops::grouped_update_op>()) return grouped_update_kernel;  // of updates that it has
  if (auto const make = table_kernel_of(*n.op, inputs)) return make;
  if (each([](type const& t) { return t.element != dtype::string; }))
    if (auto const make = listed(*n.op, true)) return make;
  if (auto const make = window_kernel_of(*n.op)) return make;
  if (!each([](type const& t) { return is_in_text(t.element); })) return nullptr;
  if (is_product(*n.op)) return has_product(inputs[0].element) ? product_kernel : nullptr;
  if (auto const make = row_kernel_of(*n.op, inputs)) return make;
  if (auto const make = convolution_kernel_of(*n.op, inputs)) return make;
  if (auto const make = random_kernel_of(*n.op)) return make;
  bool const adds = n.op == &definition<ops::assign_add_op>() || n.op == &definition<ops::assign_sub_op>();
  if (adds && inputs[1].element == dtype::boolean) return nullptr;
  return listed(*n.op, false);
}

}  // namespace detail

RILL_CUDA_INLINE kernel_table const& gpu_kernels() {
  static kernel_table const all = gpu_kernels(detail::factory_of);
  return all;
}
RILL_CUDA_INLINE kernel_table gpu_kernels(kernel_rule chooses) {
  kernel_table made(chooses);
  if (chooses == detail::factory_of)
    made.add(chain_op, chain_kernel);  // in chains, kernels of yours would not be asked for
  made.add(definition<ops::fused_op>(), map_kernel);
  made.add(definition<ops::fused_update_op>(), fused_update_kernel);
  made.add(definition<ops::grouped_update_op>(), grouped_update_kernel);
  return made;
}

}  // namespace rill::cuda
#endif
