// search_sorted on a GPU.
#pragma once
#include <string>

#include "rill/cuda/gpu_device.hpp"
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Returns the text of a kernel `search` for elements of this type, whose results are of type `index`.
std::string search_sorted_text(dtype element, dtype index, bool right);

/// Returns the kernel of search_sorted.
kernel search_sorted_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <cstdint>

#include "rill/cuda/launch.hpp"
#include "rill/cuda/map_text.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/ops/sort/search_sorted.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE std::string search_sorted_text(dtype element, dtype index, bool right) {
  std::string const t(name_in_text(element));
  return "#include <cstdint>\n"
         "#include \"rill/cuda/text/search.cuh\"\n"
         "using namespace rill::text;\n"
         "extern \"C\" __global__ void search(global<" +
         t + " const> sorted, global<" + t + " const> x, global<" + std::string(name_in_text(index)) +
         "> to, long n, long count) {\n  search_sorted<" + (right ? "true" : "false") +
         ">(sorted, x, to, n, count);\n}\n";
}

RILL_CUDA_INLINE kernel search_sorted_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const a = decode<ops::search_sorted_op::attributes>(r.at.attributes);
  auto const n = r.inputs[0][0].extent, count = elements(r.inputs[1].shape());
  expects(a.index == dtype::int64 || n <= INT32_MAX,
          "search_sorted: the extent of the vector does not fit in int32; ask for int64");
  if (count == 0) return kernel([](kernel_call const&) {});
  return kernel([&on, n, count, run = on.find(search_sorted_text(r.inputs[0].element, a.index, a.right), "search")](
                    kernel_call const& call) {
    launch(on, *run, on.shape_for(static_cast<std::size_t>(count)), call.in(0), call.in(1), call.out(0), n, count);
  });
}

}  // namespace rill::cuda
#endif
