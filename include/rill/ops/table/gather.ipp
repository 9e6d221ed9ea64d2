// Copies rows of tables, and rows of variables under their lock.
#pragma once

#if RILL_DEFINITIONS
#include "rill/device/step.hpp"
#include "rill/state/variable.hpp"
#include "rill/tensor/elements.hpp"

namespace rill::ops {

/// Copies rows by their indices, which it checks first.
class row_copy {
 public:
  row_copy(type const& table, type const& which) : read_(which, table[0].extent), element_(table.element), width_(1) {
    for (std::size_t i = 1; i < table.rank; ++i) width_ *= static_cast<std::size_t>(table[i].extent);
  }
  void operator()(void const* table, void const* which, void* to, parallel const& threads) const {
    read_.check(which);
    auto const size = width_ * size_of(element_);
    auto const each = std::max<std::size_t>(1, 65536 / std::max<std::size_t>(1, size));  // enough rows for one thread
    auto const copy = [&](std::size_t c) {
      for (std::size_t i = c * each; i < std::min(read_.count(), (c + 1) * each); ++i)
        copy_elements(element_, static_cast<std::byte*>(to) + i * size,
                      static_cast<std::byte const*>(table) + static_cast<std::size_t>(read_.at(which, i)) * size,
                      width_);
    };
    auto const chunks = (read_.count() + each - 1) / each;
    if (element_ == dtype::string) {  // copying a string may throw; a thread's chunk must not
      for (std::size_t c = 0; c < chunks; ++c) copy(c);
    } else threads(chunks, copy);
  }

 private:
  index_reader read_;
  dtype element_;
  std::size_t width_;
};

/// Returns the kernel for a variable whose extents are known only when it runs.
inline kernel gather_resized(kernel_request const& r) {
  kernel k([v = r.variables[0], which = r.inputs[1], memory = r.memory](kernel_call const& call) {
    v->inspect(
        [&](tensor const& t) {
          auto const made = gathered(t.type(), which);
          tensor rows(made.element, made.shape(), *memory);
          row_copy const copy(t.type(), which);
          copy(t.raw(), call.in(1), rows.mutable_raw(), call.threads);
          call.give(0, std::move(rows));
        },
        call.step.version);
  });
  k.allocates_outputs = true;
  return k;
}

inline kernel gather_op::cpu(kernel_request const& r) {
  row_copy const copy(r.inputs[0], r.inputs[1]);
  return kernel([copy](kernel_call const& call) { copy(call.in(0), call.in(1), call.out(0), call.threads); });
}

inline kernel gather_variable_op::cpu(kernel_request const& r) {
  auto const v = r.variables[0];
  if (v && (!r.inputs[0].is_known() || !r.outputs[0].is_known())) return gather_resized(r);
  row_copy const copy(r.inputs[0], r.inputs[1]);
  if (!v)  // the variable was fed
    return kernel([copy](kernel_call const& call) { copy(call.in(0), call.in(1), call.out(0), call.threads); });
  return kernel([copy, v, extents = r.inputs[0].shape()](kernel_call const& call) {
    v->inspect(
        [&](tensor const& t) {
          if (t.shape() != extents)
            throw error(code::aborted, "gather: the variable's extents changed while the step ran");
          copy(t.raw(), call.in(1), call.out(0), call.threads);
        },
        call.step.version);
  });
}

}  // namespace rill::ops
#endif
