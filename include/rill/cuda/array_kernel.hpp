// Arrays that loops write row by row, on a GPU. Each read or write waits until the rows are checked.
#pragma once
#include <string>

#include "rill/cuda/gpu_device.hpp"
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Returns the text of two kernels. `check` finds the first index whose row is written but must not be, or must be but
/// is not; `mark` marks the rows at n indices as written.
std::string written_text(dtype index);
/// Returns the text of a kernel `missing`, which finds the first row that is not written.
std::string missing_text();
/// Returns the text of a kernel `repeated`, which finds the first index that occurred before. It reads sorted keys and
/// positions of 64 bits if `wide`, else of 32 bits.
std::string repeated_text(bool wide);

/// Return the kernels of these operations.
kernel array_new_kernel(kernel_request const& r);
kernel array_full_kernel(kernel_request const& r);
kernel array_read_kernel(kernel_request const& r);
kernel array_write_kernel(kernel_request const& r);
kernel array_stack_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "rill/cuda/copy_kernel.hpp"
#include "rill/cuda/gather_kernel.hpp"
#include "rill/cuda/index_check.hpp"
#include "rill/cuda/launch.hpp"
#include "rill/cuda/scatter_kernel.hpp"
#include "rill/cuda/text_parts.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/ops/table/tensor_array.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE std::string written_text(dtype index) {
  auto const t = name_in_text(index);
  return text_head_with_cstdint("arrays.cuh") +
         kernel_in_text("check(global<" + t +
                            " const> which, global<bool const> written, long n, long rows, int wanted, "
                            "global<bad_position> first)",
                        "check_written(which, written, n, rows, wanted, first);") +
         "extern \"C\" __global__ void mark(global<" + t +
         " const> which, global<bool> written, long n) { mark_written(which, written, n); }\n";
}
RILL_CUDA_INLINE std::string missing_text() {
  return text_head_with_cstdint("arrays.cuh") +
         kernel_in_text("missing(global<bool const> written, long rows, global<bad_position> first)",
                        "find_missing(written, rows, first);");
}
RILL_CUDA_INLINE std::string repeated_text(bool wide) {
  auto const count = counter_in_text(wide);
  return text_head_with_cstdint("arrays.cuh") +
         kernel_in_text("repeated(global<" + count + " const> keys, global<" + count + " const> positions, " + count +
                            " n, " + count + " none, global<bad_position> first)",
                        "find_repeated(sorted_positions<" + count + ">{keys, positions, n, none}, first);");
}

namespace detail {

/// Returns the message for a row: "tensor_array: row 3 <why>".
inline bad_index_message row_that(std::string why) {
  return [why = std::move(why)](std::int64_t i, index_on_gpu const& which) {
    return "tensor_array: row " + std::to_string(which[i]) + " " + why;
  };
}

/// The rows of an array at indices. They must be written if `wanted`, else they must not be.
class written_rows {
 public:
  written_rows(gpu_device const& on, std::int64_t rows, type const& which, bool wanted, char const* why)
      : on_(&on),
        n_(elements(which.shape())),
        rows_(rows),
        wanted_(wanted),
        indices_(on, which.element, row_that(why), code::failed_precondition),
        check_(on.find(written_text(which.element), "check")),
        mark_(on.find(written_text(which.element), "mark")) {}

  void check(void const* which, void const* written, void* memory) const {
    indices_.begin(memory);
    if (n_ > 0) launch(*on_, *check_, shape(), which, written, n_, rows_, wanted_, memory);
  }
  /// Waits. Throws error(failed_precondition) if a row is not as it must be.
  void expect_good(void const* which, void* memory) const { indices_.expect_good(which, memory); }
  void mark(void const* which, void* written) const {
    if (n_ > 0) launch(*on_, *mark_, shape(), which, written, n_);
  }

 private:
  gpu_device::launch_shape shape() const { return on_->shape_for(static_cast<std::size_t>(n_)); }

  gpu_device const* on_;
  std::int64_t n_, rows_;
  std::int32_t wanted_;
  checked_indices indices_;
  std::shared_ptr<gpu_device::function const> check_, mark_;
};

/// The scratch memory of a kernel that makes several checks.
struct check_memory {
  void* at;
  explicit check_memory(kernel_call const& call) : at(call.scratch()) {}
  void* of(unsigned check) const { return static_cast<std::byte*>(at) + check * first_bad::scratch; }
  void* rest() const { return behind_checks(at); }
};

}  // namespace detail

RILL_CUDA_INLINE kernel array_new_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  return kernel([rows = detail::bound_clear(on, r.outputs[0].bytes()),
                 written = detail::bound_clear(on, r.outputs[1].bytes())](kernel_call const& call) {
    rows(call.out(0));
    written(call.out(1));
  });
}
RILL_CUDA_INLINE kernel array_full_kernel(kernel_request const& r) {
  detail::bound_fill const fill(static_cast<gpu_device const&>(*r.on), sizeof(bool), r.outputs[0][0].extent,
                                {std::byte{1}});
  return kernel([fill](kernel_call const& call) { fill(call.out(0)); });
}

RILL_CUDA_INLINE kernel array_read_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const &rows = r.inputs[0], &which = r.inputs[2];
  detail::written_rows const written(on, rows[0].extent, which, true, "was read before it was written");
  return kernel(
      [take = detail::rows_of(on, rows, which), written](kernel_call const& call) {
        detail::check_memory const memory(call);
        written.check(call.in(2), call.in(1), memory.of(1));
        take(call.in(0), call.in(2), call.out(0), memory.of(0));
        written.expect_good(call.in(2), memory.of(1));
      },
      bytes_for_checks);
}

// All checks end before a row is written, because the array may be updated in place.
RILL_CUDA_INLINE kernel array_write_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const &rows = r.inputs[0], &which = r.inputs[2];
  detail::written_rows const before(on, rows[0].extent, which, false,
                                    "was already written: a row can be written only once");
  checked_indices const once(on, which.element,
                             detail::row_that("is written twice by one write: a row can be written only once"),
                             code::failed_precondition);
  detail::assigned_rows const assigned(on, rows, which);
  return kernel(
      [&on, before, once, assigned, keep_rows = detail::copy_of(on, rows),
       keep_written = detail::copy_of(on, r.inputs[1]),
       repeated = on.find(repeated_text(assigned.sizes().wide()), "repeated")](kernel_call const& call) {
        detail::check_memory const memory(call);
        auto const& s = assigned.sizes();
        assigned.sort(call.in(2), memory.rest());
        before.check(call.in(2), call.in(1), memory.of(0));
        once.begin(memory.of(1));
        if (s.n > 0)
          launch(on, *repeated, on.shape_for(static_cast<std::size_t>(s.n)), assigned.keys(memory.rest()),
                 assigned.positions(memory.rest()), s.n, s.rows, memory.of(1));
        assigned.expect_good(call.in(2), memory.rest());
        before.expect_good(call.in(2), memory.of(0));
        once.expect_good(call.in(2), memory.of(1));
        if (call.in(0) != call.out(0)) keep_rows(call.in(0), call.out(0));
        if (call.in(1) != call.out(1)) keep_written(call.in(1), call.out(1));
        assigned.write(call.in(3), call.out(0), memory.rest());
        before.mark(call.in(2), call.out(1));
      },
      bytes_for_checks + assigned.scratch());
}

RILL_CUDA_INLINE kernel array_stack_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const rows = r.outputs[0][0].extent;
  checked_indices const all(
      on, dtype::int64,
      [](std::int64_t row, index_on_gpu const&) {
        return "tensor_array: row " + std::to_string(row) + " was never written";
      },
      code::failed_precondition);
  return kernel(
      [&on, rows, all, copy = detail::copy_of(on, r.outputs[0]),
       missing = on.find(missing_text(), "missing")](kernel_call const& call) {
        all.begin(call.scratch());
        if (rows > 0)
          launch(on, *missing, on.shape_for(static_cast<std::size_t>(rows)), call.in(1), rows, call.scratch());
        all.expect_good(nullptr, call.scratch());
        if (call.in(0) != call.out(0)) copy(call.in(0), call.out(0));
      },
      first_bad::scratch);
}

}  // namespace rill::cuda
#endif
