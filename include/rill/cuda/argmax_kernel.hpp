// argmax and argmin as kernels of a GPU.
#pragma once
#include <string>

#include "rill/cuda/gpu_device.hpp"
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Returns the text of a kernel `find`, which finds the index of the largest element, or of the smallest one, in each
/// part of the axis (find_places of extremes.cuh).
std::string argmax_text(bool largest, dtype element, dtype index);
/// Returns the text of a kernel `join`, which finds the best of the elements whose indices `find` has found.
std::string argmax_of_parts_text(bool largest, dtype element, dtype index);

/// Return the kernels of these operations.
kernel argmax_kernel(kernel_request const& r);
kernel argmin_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "rill/cuda/launch.hpp"
#include "rill/cuda/text/argmax_form.hpp"
#include "rill/cuda/text_parts.hpp"
#include "rill/ops/reduction/argmax.hpp"

namespace rill::cuda {

namespace detail {

/// Returns how many threads of a block share a result of `count` elements if `side_by_side` results lie next to each
/// other in memory. Then a warp reads neighbours, be it of one result or of several.
inline std::int32_t threads_for(std::int64_t count, std::int64_t side_by_side) {
  auto const wanted = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)));
  auto const beside = std::bit_floor(static_cast<std::uint64_t>(std::clamp<std::int64_t>(side_by_side, 1, 32)));
  return static_cast<std::int32_t>(std::min(wanted, argmax_threads / static_cast<std::int64_t>(beside)));
}

/// The index of the largest or smallest element along the middle axis of an array.
class bound_argmax {
 public:
  bound_argmax(gpu_device const& on, ops::reduction_pass const& p, bool largest, dtype element, dtype index)
      : on_(on), p_(p), each_(threads_for(p.middle, p.inner)) {
    // A thread that looks at 64 elements has enough to do; of longer extents there are several parts.
    part_ = std::min<std::int64_t>(p.middle, 64 * each_);
    parts_ = (p.middle + part_ - 1) / part_;
    find_ = on.find(argmax_text(largest, element, parts_ > 1 ? dtype::int64 : index), "find");
    if (parts_ > 1) join_ = on.find(argmax_of_parts_text(largest, element, index), "join");
  }

  /// Returns the bytes of scratch memory that it needs, for the indices that the parts find.
  std::size_t scratch() const {
    return parts_ == 1 ? 0 : static_cast<std::size_t>(results() * parts_) * sizeof(std::int64_t);
  }
  void operator()(void* from, void* to, void* scratch) const {
    void* const found = parts_ == 1 ? to : scratch;
    launch(on_, *find_, shape_of(results() * parts_, each_), from, found, p_.outer, p_.middle, p_.inner, part_, each_);
    if (parts_ == 1) return;
    auto const each = threads_for(parts_, results());
    launch(on_, *join_, shape_of(results(), each), from, scratch, to, p_.outer, p_.middle, p_.inner, parts_, each);
  }

 private:
  std::int64_t results() const { return p_.outer * p_.inner; }
  static gpu_device::launch_shape shape_of(std::int64_t units, std::int32_t each) {
    return blocks_for(units, argmax_threads / each, argmax_threads);
  }

  gpu_device const& on_;
  ops::reduction_pass p_;
  std::int32_t each_;  // threads for a part
  std::int64_t part_ = 1, parts_ = 1;
  std::shared_ptr<gpu_device::function const> find_, join_;
};

/// Makes the kernel of argmax or argmin, and refuses what the processor's kernel refuses.
template <class Op> kernel argmax_kernel_of(kernel_request const& r) {
  auto const a = decode<typename Op::attributes>(r.at.attributes);
  auto const x = r.inputs[0].shape();
  auto const axis = Op::axis_of(a, x.rank());
  ops::reduction_pass p{1, x[axis], 1};
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (i != axis) (i < axis ? p.outer : p.inner) *= x[i];
  if (p.outer * p.inner == 0) return empty_kernel();
  expects(p.middle > 0, Op::of_nothing);
  expects(a.index == dtype::int64 || p.middle <= INT32_MAX, Op::too_long);
  bound_argmax run(static_cast<gpu_device const&>(*r.on), p, Op::largest, r.inputs[0].element, a.index);
  auto const bytes = run.scratch();
  return kernel(
      [run = std::move(run)](kernel_call const& call) { run(call.pointers[0], call.pointers[1], call.scratch()); },
      bytes);
}

inline std::string wanted_in_text(bool largest) { return largest ? "wants_larger" : "wants_smaller"; }

}  // namespace detail

RILL_CUDA_INLINE std::string argmax_text(bool largest, dtype element, dtype index) {
  auto const from = name_in_text(element), to = name_in_text(index);
  return text_head("extremes.cuh") +
         kernel_in_text("find(global<" + from + " const> from, global<" + to +
                            "> to, long outer, long middle, long inner, long part, int each)",
                        "find_places<" + detail::wanted_in_text(largest) + ", " + from + ", " + to +
                            ">(from, to, outer, middle, inner, part, each);");
}
RILL_CUDA_INLINE std::string argmax_of_parts_text(bool largest, dtype element, dtype index) {
  auto const from = name_in_text(element), to = name_in_text(index);
  return text_head("extremes.cuh") +
         kernel_in_text("join(global<" + from + " const> from, global<std::int64_t const> places, global<" + to +
                            "> to, long outer, long middle, long inner, long parts, int each)",
                        "find_best_place<" + detail::wanted_in_text(largest) + ", " + from + ", " + to +
                            ">(from, places, to, outer, middle, inner, parts, each);");
}

RILL_CUDA_INLINE kernel argmax_kernel(kernel_request const& r) { return detail::argmax_kernel_of<ops::argmax_op>(r); }
RILL_CUDA_INLINE kernel argmin_kernel(kernel_request const& r) { return detail::argmax_kernel_of<ops::argmin_op>(r); }

}  // namespace rill::cuda
#endif
