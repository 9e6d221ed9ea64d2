// Kernels of strings for operations that otherwise run as programs or copy bytes, which cannot handle strings. They run
// on the calling thread, because copying a string may throw.
#pragma once
#include <array>
#include <string_view>

#include "rill/graph/kernel_request.hpp"
#include "rill/ops/base/strided_view.hpp"

namespace rill::detail {

/// Returns a kernel that calls `holds` with each pair of strings; the operands broadcast.
kernel compare_strings(kernel_request const& r, bool (*holds)(std::string_view, std::string_view));

/// Returns a kernel that selects input 1 where input 0, a bool, is true and input 2 elsewhere; all three broadcast.
kernel select_strings(kernel_request const& r);

/// Returns a kernel that copies the operand through the view.
kernel move_strings(kernels::strided_view const& view);

#if RILL_RUNTIME
RILL_INLINE kernel compare_strings(kernel_request const& r, bool (*holds)(std::string_view, std::string_view)) {
  auto const to = r.outputs[0].shape();
  auto const a = kernels::broadcast_view(r.inputs[0].shape(), to), b = kernels::broadcast_view(r.inputs[1].shape(), to);
  return kernel([a, b, holds, n = elements(to)](kernel_call const& call) {
    auto const *x = call.in<std::string>(0), *y = call.in<std::string>(1);
    for (std::int64_t i = 0; i < n; ++i) call.out<bool>(0)[i] = holds(x[a[i]], y[b[i]]);
  });
}

RILL_INLINE kernel select_strings(kernel_request const& r) {
  auto const to = r.outputs[0].shape();
  std::array<kernels::strided_view, 3> from;
  for (std::size_t k = 0; k < 3; ++k) from[k] = kernels::broadcast_view(r.inputs[k].shape(), to);
  return kernel([from, n = elements(to)](kernel_call const& call) {
    for (std::int64_t i = 0; i < n; ++i) {
      std::size_t const which = call.in<bool>(0)[from[0][i]] ? 1 : 2;
      call.out<std::string>(0)[i] = call.in<std::string>(which)[from[which][i]];
    }
  });
}

RILL_INLINE kernel move_strings(kernels::strided_view const& view) {
  return kernel([view](kernel_call const& call) {
    for (std::int64_t i = 0, n = view.elements(); i < n; ++i)
      call.out<std::string>(0)[i] = call.in<std::string>(0)[view[i]];
  });
}
#endif

}  // namespace rill::detail
