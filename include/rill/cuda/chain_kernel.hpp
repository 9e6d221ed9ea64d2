// Reductions, rows and products with the elementwise programs before and after them, as one kernel of a GPU.
#pragma once
#include "rill/device/device.hpp"
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Returns the factory of the kernel for a chain (pass/chain.hpp); null: its parts run as kernels of their own.
kernel_factory chain_kernel_of(node const& chain);
/// Returns the kernel of a chain that has one.
kernel chain_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/cuda/convolution_kernel.hpp"
#include "rill/cuda/kernel_operand.hpp"
#include "rill/cuda/map_kernel.hpp"
#include "rill/cuda/map_text.hpp"
#include "rill/cuda/operation_table.hpp"
#include "rill/cuda/product_kernel.hpp"
#include "rill/cuda/reduce_kernel.hpp"
#include "rill/cuda/softmax_kernel.hpp"
#include "rill/ops/list/operations.hpp"
#include "rill/pass/chain.hpp"

namespace rill::cuda {

namespace detail {

inline bound_operand bound_end(chain_parts const& parts, node const& program, bound_operand::place where) {
  std::vector<shape> shapes;
  for (auto e : program.inputs) shapes.push_back(parts.body.type_of(e).shape());
  return {ops::program_of(program), shapes, program.outputs[0].shape(), where};
}

/// The programs of a chain, and where a call has their arrays and the operation's own.
class chain_operands {
 public:
  explicit chain_operands(chain_parts const& parts) : before_(parts.inputs_before()), after_(parts.inputs_after()) {
    if (parts.before) ends_.before = bound_end(parts, *parts.before, bound_operand::place::before);
    if (parts.after) ends_.after = bound_end(parts, *parts.after, bound_operand::place::after);
  }

  kernel_ends const& ends() const { return ends_; }
  /// Returns the operation's first input.
  kernel_argument input(kernel_call const& call) const {
    return ends_.before ? ends_.before->bind(call.pointers) : kernel_argument(call.in(0));
  }
  /// Returns the address of another one of its inputs.
  void const* input(kernel_call const& call, std::size_t i) const {
    return call.in(ends_.before ? before_ + i - 1 : i);
  }
  /// Returns its first output. The inputs of the program after it are the chain's last ones, and outputs follow.
  kernel_argument output(kernel_call const& call) const {
    return ends_.after ? ends_.after->bind(call.pointers + call.inputs - after_) : kernel_argument(call.out(0));
  }

 private:
  kernel_ends ends_;
  std::size_t before_, after_;
};

inline kernel reduce_chain_kernel(kernel_request const& r) {
  chain_parts const parts(r.at);
  chain_operands const operands(parts);
  auto const inputs = parts.inputs();
  auto const form = find_reduce_form(*parts.main->op)(
      {*parts.main, inputs, parts.main->outputs, r.variables, r.state, r.seed, r.threads});
  bound_reduction run(static_cast<gpu_device const&>(*r.on), form, inputs[0], operands.ends());
  auto const bytes = run.scratch();
  return kernel([run = std::move(run), operands](
                    kernel_call const& call) { run(operands.input(call), operands.output(call), call.scratch()); },
                bytes);
}

inline std::string_view rows_of(op_def const& op) {
  static operation_table<std::string_view> const all{
      {&definition<ops::softmax_op>(), "softmax"},
      {&definition<ops::log_softmax_op>(), "log_softmax"},
      {&definition<ops::softmax_cross_entropy_dense_op>(), "cross_entropy_dense"}};
  return all.find(op);
}
inline kernel rows_chain_kernel(kernel_request const& r) {
  chain_parts const parts(r.at);
  chain_operands const operands(parts);
  auto const inputs = parts.inputs();
  bound_rows run(static_cast<gpu_device const&>(*r.on), rows_of(*parts.main->op), inputs, parts.main->outputs.size(),
                 operands.ends());
  return kernel([run = std::move(run), operands, count = inputs.size()](kernel_call const& call) {
    std::vector<kernel_argument> all{operands.input(call)};
    for (std::size_t i = 1; i < count; ++i) all.push_back(operands.input(call, i));
    all.push_back(operands.output(call));
    for (std::size_t o = 1; count > 1 && o < call.outputs; ++o) all.push_back(call.out(o));
    run(std::move(all));
  });
}

/// Returns which output of the program after a product holds sums meanwhile, if C would hold them; nullopt: none has
/// elements of their size.
inline std::optional<std::size_t> place_of_sums(chain_parts const& parts) {
  auto const element = parts.main->outputs[0].element;
  if (size_of(element) != sum_bytes(element)) return 0;
  auto const& to = parts.after->outputs;
  auto const at =
      std::find_if(to.begin(), to.end(), [&](type const& t) { return size_of(t.element) == size_of(element); });
  if (at == to.end()) return {};
  return static_cast<std::size_t>(at - to.begin());
}
inline kernel product_chain_kernel(kernel_request const& r) {
  chain_parts const parts(r.at);
  chain_operands const operands(parts);
  auto const inputs = parts.inputs();
  auto const plan =
      plan_product(decode<transposed>(parts.main->attributes), inputs[0], inputs[1], parts.main->outputs[0]);
  bound_product run(static_cast<gpu_device const&>(*r.on), plan, operands.ends());
  return kernel(
      [run = std::move(run), operands, sums = place_of_sums(parts).value()](kernel_call const& call) {
        run(call.in(0), call.in(1), call.out(sums), operands.output(call), call.scratch());
      },
      plan.scratch());
}

inline kernel convolution_chain_kernel(kernel_request const& r) {
  chain_parts const parts(r.at);
  chain_operands const operands(parts);
  auto const inputs = parts.inputs();
  auto const n = result_node({*parts.main, inputs, parts.main->outputs, r.variables, r.state, r.seed, r.threads});
  convolution_numbers const numbers{n.y.type.element, needs_wide_counters(n.shape())};
  bound_convolution run(static_cast<gpu_device const&>(*r.on), n.part, numbers, n.shape(), {}, operands.ends());
  auto const bytes = run.scratch();
  return kernel(
      [run = std::move(run), operands, sums = place_of_sums(parts).value()](kernel_call const& call) {
        run(call.in(0), call.in(1), call.out(sums), operands.output(call), call.scratch());
      },
      bytes);
}

/// Whether a kernel can compute a program of a chain; null: there is none.
inline bool can_compute(node const* fused) {
  if (!fused) return true;
  // Addresses, and strides of 64 bits of each input. A quarter of the parameters' bytes is left to the operation.
  auto const numbers =
      fused->inputs.size() + fused->outputs.size() + (fused->inputs.size() + 1) * static_cast<std::size_t>(max_rank);
  return numbers * sizeof(std::uint64_t) <= most_parameter_bytes * 3 / 8 && has_text(ops::program_of(*fused));
}
/// Whether a row's kernel, which reads its input up to three times, may compute it anew each time.
inline bool is_cheap(node const* fused) {
  constexpr std::size_t most_instructions = 12;
  return !fused || ops::program_of(*fused).instructions.size() <= most_instructions;
}

}  // namespace detail

RILL_CUDA_INLINE kernel_factory chain_kernel_of(node const& chain) {
  chain_parts const parts(chain);
  auto const& main = *parts.main;
  auto const inputs = parts.inputs();
  auto const all_in_text = [](auto const& types) {
    return std::all_of(types.begin(), types.end(), [](type const& t) { return is_in_text(t.element); });
  };
  if (!detail::can_compute(parts.before) || !detail::can_compute(parts.after)) return nullptr;
  if (!all_in_text(inputs) || !all_in_text(main.outputs)) return nullptr;
  auto const count = elements(main.outputs[0].shape());
  if (find_reduce_form(*main.op))  // what reduces nothing is a copy
    return elements(inputs[0].shape()) == count ? nullptr : detail::reduce_chain_kernel;
  if (!detail::rows_of(*main.op).empty()) return detail::is_cheap(parts.before) ? detail::rows_chain_kernel : nullptr;
  if (parts.before || count == 0 || !has_product(inputs[0].element) || !detail::place_of_sums(parts)) return nullptr;
  if (main.op == &definition<ops::matmul_op>() || main.op == &definition<ops::matmul_like_op>())
    return detail::product_chain_kernel;
  bool const convolves = main.op == &definition<ops::conv2d_op>() && is_float(inputs[0].element);
  return convolves ? detail::convolution_chain_kernel : nullptr;
}

RILL_CUDA_INLINE kernel chain_kernel(kernel_request const& r) { return chain_kernel_of(r.at)(r); }

}  // namespace rill::cuda
#endif
