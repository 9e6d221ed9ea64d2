// search_sorted as a kernel of a GPU.
#pragma once
#include <string>

#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Returns the text of a kernel `search`, which finds for each of `count` numbers its position in a sorted vector by
/// binary search.
std::string search_sorted_text(dtype element, dtype index);

/// Returns the kernel of search_sorted.
kernel search_sorted_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <cstdint>

#include "rill/cuda/launch.hpp"
#include "rill/cuda/text_parts.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/ops/sort/search_sorted.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE std::string search_sorted_text(dtype element, dtype index) {
  auto const t = name_in_text(element), to = name_in_text(index);
  return text_head_with_cstdint("search.cuh") +
         kernel_in_text("search(global<" + t + " const> sorted, global<" + t + " const> x, global<" + to +
                            "> to, long n, long count, int right)",
                        "search_sorted(sorted, x, to, n, count, right != 0);");
}

// It throws the errors of the host's kernel.
RILL_CUDA_INLINE kernel search_sorted_kernel(kernel_request const& r) {
  auto const a = decode<ops::search_sorted_op::attributes>(r.at.attributes);
  auto const n = r.inputs[0][0].extent, count = elements(r.inputs[1].shape());
  expects(a.index == dtype::int64 || n <= INT32_MAX,
          "search_sorted: the extent of the vector does not fit in int32; ask for int64");
  auto const& on = static_cast<gpu_device const&>(*r.on);
  return kernel([&on, n, count, right = std::int32_t{a.right}, how = blocks_for(count, 256, 256),
                 run = on.find(search_sorted_text(r.inputs[0].element, a.index), "search")](kernel_call const& call) {
    launch(on, *run, how, call.in(0), call.in(1), call.out(0), n, count, right);
  });
}

}  // namespace rill::cuda
#endif
