// Reads and updates of variables in a GPU's memory. A variable is unlocked while its kernel may still run: later
// kernels come after that in the order of their stream, and copies wait for it.
#pragma once
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Return the kernels of read and is_initialized.
kernel read_kernel(kernel_request const& r);
kernel is_initialized_kernel(kernel_request const& r);
/// Return the kernels of assign, initialize, assign_add and assign_sub, and of an optimizer's fused updates.
kernel assign_kernel(kernel_request const& r);
kernel initialize_kernel(kernel_request const& r);
kernel assign_add_kernel(kernel_request const& r);
kernel assign_sub_kernel(kernel_request const& r);
kernel fused_update_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "rill/cuda/copy_kernel.hpp"
#include "rill/cuda/map_kernel.hpp"
#include "rill/ops/state/assign.hpp"
#include "rill/ops/state/fused_update.hpp"
#include "rill/ops/state/variable.hpp"
#include "rill/state/variable.hpp"

namespace rill::cuda {

// The host's kernel hands out the variable's value, and touches no byte of it.
RILL_CUDA_INLINE kernel read_kernel(kernel_request const& r) { return definition<ops::read_op>().cpu(r); }

RILL_CUDA_INLINE kernel is_initialized_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const write = [&](bool what) { return detail::bound_fill(on, sizeof(bool), 1, {static_cast<std::byte>(what)}); };
  return kernel([v = r.variables[0], yes = write(true), no = write(false)](kernel_call const& call) {
    (v->initialized(call.step.version) ? yes : no)(call.out(0));
  });
}

RILL_CUDA_INLINE kernel assign_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  kernel k([&on, v = r.variables[0], t = r.inputs[1], memory = r.memory,
            copy = detail::copy_of(on, r.inputs[1])](kernel_call const& call) {
    tensor fresh(t.element, t.shape(), *memory);
    copy(call.in(1), fresh.mutable_raw());
    on.order_copies_after_kernels();
    call.give(0, fresh);
    v->assign(std::move(fresh), call.step.version);
  });
  k.allocates_outputs = true;
  return k;
}

RILL_CUDA_INLINE kernel initialize_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  return kernel([&on, v = r.variables[0], extents = r.inputs[1].shape(), memory = r.memory,
                 copy = detail::copy_of(on, r.inputs[1])](kernel_call const& call) {
    v->initialize(
        extents, *memory,
        [&](tensor& value) {
          copy(call.in(1), value.mutable_raw());
          on.order_copies_after_kernels();
        },
        call.step.version);
  });
}

namespace detail {

/// The variables that a kernel updates: the first inputs of its node.
class updated_variables {
 public:
  /// `extents`: those of the first inputs.
  updated_variables(kernel_request const& r, std::size_t count, std::vector<shape> extents)
      : extents_(std::move(extents)) {
    for (std::size_t i = 0; i < count; ++i) locking_.emplace_back(r.variables[i], i);
    std::sort(locking_.begin(), locking_.end());
    expects(std::adjacent_find(locking_.begin(), locking_.end(),
                               [](auto const& x, auto const& y) { return x.first == y.first; }) == locking_.end(),
            "a variable occurs twice in an update");
  }

  using writers = std::vector<std::unique_ptr<variable_state::writer>>;
  /// Locks the variables, in one order for all updates, until what it returns is destroyed. Calls `f` with the position
  /// of each among the inputs, and its value.
  template <class F> writers lock(kernel_call const& call, F const& f) const {
    writers all;
    for (auto const& [variable, at] : locking_) {
      auto& t = all.emplace_back(std::make_unique<variable_state::writer>(*variable, call.step.version))->value();
      expects(t.shape() == extents_[at], "an update does not have the variable's extents");
      f(at, t);
    }
    return all;
  }

 private:
  std::vector<std::pair<std::shared_ptr<variable_state>, std::size_t>> locking_;
  std::vector<shape> extents_;
};

/// Returns the extents of an update's operands, of which the first `count` are its variables. Throws if they don't fit:
/// the node may come from a loaded graph.
inline std::vector<shape> expect_extents_of_update(std::span<type const> operands, std::size_t count) {
  std::vector<shape> shapes;
  for (auto const& t : operands) {
    auto const extents = t.shape();
    auto const wide = broadcast(type(dtype::boolean, operands[0].shape()), type(dtype::boolean, extents)).shape();
    expects(wide == operands[0].shape() && (shapes.size() >= count || extents == wide),
            "fused_update: an operand does not have the variables' extents");
    shapes.push_back(extents);
  }
  return shapes;
}

/// A program whose results are assigned to `count` variables of equal extents, which are its first inputs. If its
/// kernel fails, the GPU is lost, and so are the values there.
inline kernel update_by(kernel_request const& r, program const& p, std::size_t count,
                        std::vector<shape> const& shapes) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  bound_map const map(on, p, collapse(shapes, shapes[0]), static_cast<std::size_t>(elements(shapes[0])));
  kernel k([&on, map, count,
            variables = updated_variables(r, count, std::vector(count, shapes[0]))](kernel_call const& call) {
    std::vector<void*> pointers(call.pointers, call.pointers + call.inputs + count);
    auto const locked = variables.lock(call, [&](std::size_t at, tensor& t) {
      pointers[at] = pointers[call.inputs + at] = t.mutable_raw();
      call.give(at, t);
    });
    map(pointers.data());
    on.order_copies_after_kernels();
  });
  k.allocates_outputs = true;
  return k;
}

template <class Arithmetic> kernel update_with(kernel_request const& r) {
  auto const element = r.inputs[1].element;
  program p;
  p.inputs = {element, element};
  p.instructions = {{definition<Arithmetic>().elementwise, {0, 1}, element}};
  p.outputs = {2};
  auto const extents = r.inputs[1].shape();  // those of the variable may not be known
  return update_by(r, p, 1, {extents, extents});
}

}  // namespace detail

RILL_CUDA_INLINE kernel assign_add_kernel(kernel_request const& r) {
  return detail::update_with<ops::assign_add_op::arithmetic>(r);
}
RILL_CUDA_INLINE kernel assign_sub_kernel(kernel_request const& r) {
  return detail::update_with<ops::assign_sub_op::arithmetic>(r);
}
RILL_CUDA_INLINE kernel fused_update_kernel(kernel_request const& r) {
  auto const a = decode<ops::fused_update_op::attributes>(r.at.attributes);
  auto const count = static_cast<std::size_t>(a.references);
  return detail::update_by(r, *a.what, count, detail::expect_extents_of_update(r.inputs, count));
}

}  // namespace rill::cuda
#endif
