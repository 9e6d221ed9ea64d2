// Elementwise programs as kernels.
#pragma once
#include <memory>
#include <vector>

#include "rill/graph/kernel_request.hpp"
#include "rill/program/program.hpp"

#if RILL_RUNTIME
#include "rill/program/interpreter.hpp"
#endif

namespace rill::detail {

/// Returns a kernel that runs a program for the request's types.
kernel make_kernel(program const& p, kernel_request const& r);

/// Returns a kernel that runs one function.
kernel make_kernel(scalar_function const& f, kernel_request const& r);

#if RILL_RUNTIME
RILL_INLINE kernel make_kernel(program const& p, kernel_request const& r) {
  std::vector<shape> shapes;
  for (auto const& t : r.inputs) shapes.push_back(t.shape());
  shape const to = r.outputs[0].shape();
  auto bound = std::make_shared<bound_program const>(p, shapes, to);
  std::vector<kernel::shared_memory> share;
  for (std::uint32_t i = 0; i < p.inputs.size(); ++i)
    for (std::uint32_t o = 0; o < p.outputs.size(); ++o)
      if (bound->input_output_aliases(i, o)) share.push_back({i, o});
  auto const run = bound->single_tile();
  kernel k = run ? kernel([run, n = static_cast<std::size_t>(elements(to))](kernel_call const& call) {
    run(call.out(0), const_cast<void const* const*>(call.pointers), n);
  })
                 : kernel([bound](kernel_call const& call) { (*bound)(call.pointers, call.threads); });
  k.input_output_aliases = std::move(share);
  return k;
}

RILL_INLINE kernel make_kernel(scalar_function const& f, kernel_request const& r) {
  program p;
  program::instruction line{&f, {}, r.outputs[0].element};
  for (std::size_t i = 0; i < r.inputs.size(); ++i) {
    p.inputs.push_back(r.inputs[i].element);
    line.operands[i] = static_cast<std::uint16_t>(i);
  }
  p.instructions.push_back(line);
  p.outputs.push_back(static_cast<std::uint16_t>(r.inputs.size()));
  return make_kernel(p, r);
}
#endif

}  // namespace rill::detail
