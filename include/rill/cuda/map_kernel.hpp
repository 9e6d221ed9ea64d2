// Elementwise nodes as kernels of a GPU.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rill/cuda/gpu_device.hpp"
#include "rill/graph/kernel_request.hpp"
#include "rill/program/collapse.hpp"
#include "rill/program/program.hpp"

namespace rill::cuda {

/// The most bytes that the parameters of a kernel take.
inline constexpr std::size_t most_parameter_bytes = 4096;

/// A program on a GPU that is bound to extents: its kernel, and its integer parameters.
class bound_map {
 public:
  /// Binds a program to `n` elements of each result and to how its operands lie.
  bound_map(gpu_device const& on, program const& p, collapsed_axes const& axes, std::size_t n);

  /// Puts the kernel on the stream of kernels; `addresses` holds the inputs, then the outputs.
  void operator()(void* const* addresses) const;

 private:
  gpu_device const& on_;
  std::shared_ptr<gpu_device::function const> run_;
  std::size_t elements_, addresses_;
  std::vector<std::uint64_t> numbers_;
};

/// Returns the program of an elementwise or fused node, or of add_n; nullopt for other nodes, and for programs of which
/// a line has no CUDA source.
std::optional<program> map_program(node const& n, std::span<type const> inputs);

/// Returns the kernel of a node that is a map_program.
kernel map_kernel(kernel_request const& r);
/// Returns the kernel that broadcasts input 0 to the extents of output 0.
kernel spread_kernel(kernel_request const& r);
/// Returns the map that broadcasts an array to extents.
bound_map bound_spread(gpu_device const& on, dtype element, shape const& from, shape const& to);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <array>

#include "rill/cuda/map_text.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/ops/list/fuse.hpp"
#include "rill/ops/math/add_n.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE bound_map::bound_map(gpu_device const& on, program const& p, collapsed_axes const& axes, std::size_t n)
    : on_(on), elements_(n), addresses_(p.inputs.size() + p.outputs.size()), numbers_(counters_of(axes)) {
  numbers_.push_back(n);
  constexpr std::size_t most = most_parameter_bytes / sizeof(std::uint64_t);
  if (addresses_ + numbers_.size() > most)
    throw error(code::unimplemented, "a fused node needs " + std::to_string(addresses_ + numbers_.size()) +
                                         " kernel parameters; a GPU kernel takes at most " + std::to_string(most) +
                                         ": turn fusion off (pass_options::fuse)");
  run_ = on.find(map_text(p, axes, needs_wide_counters(n)), "map");
}

RILL_CUDA_INLINE void bound_map::operator()(void* const* addresses) const {
  if (elements_ == 0) return;
  std::vector<void*> parameters;
  for (std::size_t i = 0; i < addresses_; ++i) parameters.push_back(const_cast<void**>(&addresses[i]));
  // A number of 32 bits is the first half of one of 64 bits.
  for (auto const& n : numbers_) parameters.push_back(const_cast<std::uint64_t*>(&n));
  on_.launch(*run_, on_.shape_for(elements_), parameters.data());
}

namespace detail {

/// The sum of operands in their order: 16-bit floats are added as float32 and rounded once, as add_n does.
inline program sum_of(std::size_t operands, dtype element) {
  program p;
  p.inputs.assign(operands, element);
  auto const wide = size_of(element) == 2 && is_float(element) ? dtype::float32 : element;
  auto const compute = [&](op_def const& op, std::array<std::uint16_t, max_operands> of, dtype result) {
    p.instructions.push_back({op.elementwise, of, result});
    return static_cast<std::uint16_t>(p.registers() - 1);
  };
  auto const as = [&](dtype to, std::uint16_t x) {
    return wide == element ? x : compute(definition<ops::cast_op>(), {x}, to);
  };
  auto sum = as(wide, 0);
  for (std::uint16_t i = 1; i < operands; ++i) sum = compute(definition<ops::add_op>(), {sum, as(wide, i)}, wide);
  p.outputs = {as(element, sum)};
  return p;
}

}  // namespace detail

RILL_CUDA_INLINE std::optional<program> map_program(node const& n, std::span<type const> inputs) {
  constexpr std::size_t most_operands = 256;  // of add_n: a kernel has room for 512 addresses and numbers
  program p;
  if (n.op == &definition<ops::fused_op>()) p = ops::program_of(n);
  else if (n.op == &definition<ops::add_n_op>() && inputs.size() <= most_operands)
    p = detail::sum_of(inputs.size(), inputs[0].element);
  else if (n.op->elementwise == nullptr || n.outputs.size() != 1) return {};
  else {
    program::instruction line{n.op->elementwise, {}, n.outputs[0].element};
    for (auto const& x : inputs) {
      line.operands[p.inputs.size()] = static_cast<std::uint16_t>(p.inputs.size());
      p.inputs.push_back(x.element);
    }
    p.instructions.push_back(line);
    p.outputs.push_back(static_cast<std::uint16_t>(inputs.size()));
  }
  if (!has_text(p)) return {};
  return p;
}

RILL_CUDA_INLINE kernel map_kernel(kernel_request const& r) {
  auto const p = map_program(r.at, r.inputs).value();
  std::vector<shape> shapes;
  for (auto const& x : r.inputs) shapes.push_back(x.shape());
  auto const to = r.outputs[0].shape();
  auto const axes = collapse(shapes, to);
  kernel k([map = bound_map(static_cast<gpu_device const&>(*r.on), p, axes, static_cast<std::size_t>(elements(to)))](
               kernel_call const& call) { map(call.pointers); });
  // A thread reads all operands of an element before it writes the results.
  for (std::uint32_t i = 0; i < r.inputs.size(); ++i)
    for (std::uint32_t o = 0; o < r.outputs.size(); ++o)
      if (axes.operands[i].how == access::direct && elements(shapes[i]) == elements(to) &&
          size_of(r.inputs[i].element) == size_of(r.outputs[o].element))
        k.input_output_aliases.push_back({i, o});
  return k;
}

RILL_CUDA_INLINE bound_map bound_spread(gpu_device const& on, dtype element, shape const& from, shape const& to) {
  program p;
  p.inputs = {element};
  p.outputs = {0};
  return {on, p, collapse({from}, to), static_cast<std::size_t>(elements(to))};
}

RILL_CUDA_INLINE kernel spread_kernel(kernel_request const& r) {
  return kernel([copies = bound_spread(static_cast<gpu_device const&>(*r.on), r.inputs[0].element, r.inputs[0].shape(),
                                       r.outputs[0].shape())](kernel_call const& call) {
    void* const pointers[] = {const_cast<void*>(call.in(0)), call.out(0)};
    copies(pointers);
  });
}

}  // namespace rill::cuda
#endif
