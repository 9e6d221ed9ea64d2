// Scatters on a GPU: rows and elements that are added or assigned at indices, also to variables.
#pragma once
#include <cstddef>
#include <string>

#include "rill/cuda/gpu_device.hpp"
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Returns the text of a kernel `keys`, which writes for each of n indices along an axis the key that it is sorted by:
/// the number of the element that it names. Keys are 64 bits wide if `wide`, else 32.
std::string element_keys_text(dtype index, bool wide);
/// Returns the text of a kernel `assign`, which copies rows of elements of `bytes` bytes to rows of y. Of several rows
/// with the same index the last one stays. Keys and positions are 64 bits wide if `wide`, else 32.
std::string assign_text(std::size_t bytes, bool wide);

/// Return the kernels of these operations.
kernel scatter_like_kernel(kernel_request const& r);
kernel add_rows_kernel(kernel_request const& r);
kernel scatter_axis_kernel(kernel_request const& r);
kernel scatter_along_axis_kernel(kernel_request const& r);
/// Return the kernels of updates of a variable's rows. They wait until the indices are checked, but not for the update.
kernel scatter_add_kernel(kernel_request const& r);
kernel scatter_sub_kernel(kernel_request const& r);
kernel scatter_update_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "rill/cuda/copy_kernel.hpp"
#include "rill/cuda/gather_kernel.hpp"
#include "rill/cuda/index_check.hpp"
#include "rill/cuda/launch.hpp"
#include "rill/cuda/sorted_rows.hpp"
#include "rill/cuda/text_parts.hpp"
#include "rill/device/step.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/ops/table/scatter_update.hpp"
#include "rill/state/variable.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE std::string element_keys_text(dtype index, bool wide) {
  auto const count = counter_in_text(wide);
  return text_head_with_cstdint("scatter.cuh") +
         kernel_in_text(detail::keys_parameters(index, wide) + count + " count, " + count + " extent, " + count +
                            " inner, " + count + " elements, global<bad_position> first)",
                        "write_element_keys(which, keys, n, count, extent, inner, elements, first);");
}
RILL_CUDA_INLINE std::string assign_text(std::size_t bytes, bool wide) {
  auto const word = word_in_text(bytes), count = counter_in_text(wide);
  return text_head_with_cstdint("scatter.cuh") +
         kernel_in_text(
             "assign(" + detail::sorted_parameters(wide) + "global<" + word + " const> x, global<" + word + "> y, " +
                 count + " width)",
             "assign_rows(sorted_positions<" + count + ">{keys, positions, n, none}, x, y, elements, width);");
}

namespace detail {

/// Returns a join of rows, by `how`, to the rows of a table that `which` names.
inline joined_rows added_rows(gpu_device const& on, type const& table, type const& which, std::string_view how) {
  row_sizes const s(1, elements(which.shape()), table[0].extent, width_of(table), table.element);
  return {on, sorted_by_row(on, which.element, s, no_row_of(table[0].extent)), how, table.element};
}

/// Returns the kernel of a scatter to zeros: input 0 has the indices, input 1 the rows.
inline kernel join_to_zeros(kernel_request const& r, joined_rows rows) {
  return join_kernel(std::move(rows), bound_clear(static_cast<gpu_device const&>(*r.on), r.outputs[0].bytes()), 0, 1);
}

}  // namespace detail

RILL_CUDA_INLINE kernel scatter_like_kernel(kernel_request const& r) {
  return detail::join_to_zeros(
      r, detail::added_rows(static_cast<gpu_device const&>(*r.on), r.outputs[0], r.inputs[0], "row_sum"));
}
RILL_CUDA_INLINE kernel add_rows_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto rows = detail::added_rows(on, r.outputs[0], r.inputs[1], "row_sum");
  auto const bytes = rows.scratch();
  return kernel(
      [copy = detail::copy_of(on, r.outputs[0]), rows = std::move(rows)](kernel_call const& call) {
        rows.sort(call.in(1), call.scratch());
        rows.expect_good(call.in(1), call.scratch());
        if (call.in(0) != call.out(0)) copy(call.in(0), call.out(0));
        rows.write(call.in(2), call.out(0), call.scratch());
      },
      bytes);
}

RILL_CUDA_INLINE kernel scatter_axis_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const &y = r.outputs[0], &which = r.inputs[0];
  auto const axis =
      checked_axis(decode<ops::axis_attributes>(r.at.attributes).axis, y.rank, "scatter: the axis is out of range");
  auto const l = detail::lines_along(y.shape(), axis, elements(which.shape()), false);
  detail::row_sizes const s(l.outer, l.count, l.extent, l.inner, y.element);
  auto sorted = detail::sorted_by_row(on, which.element, s, no_element_of(axis, l.extent));
  return detail::join_to_zeros(r, {on, std::move(sorted), "row_sum", y.element});
}

// An element of the result is a row of width 1, because each has an index of its own.
RILL_CUDA_INLINE kernel scatter_along_axis_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const &y = r.outputs[0], &which = r.inputs[0];
  auto const axis = checked_axis(decode<ops::axis_attributes>(r.at.attributes).axis, y.rank,
                                 "scatter_along_axis: the axis is out of range");
  auto const l = detail::lines_along(y.shape(), axis, which[axis].extent, true);
  auto const n = elements(which.shape()), all = elements(y.shape());
  detail::row_sizes const s(1, n, all, 1, y.element);
  detail::sorted_rows sorted(
      on, which.element, s,
      [&on, l, n, all, run = on.find(element_keys_text(which.element, s.wide()), "keys")](void const* indices,
                                                                                          void* keys, void* first) {
        launch(on, *run, on.shape_for(static_cast<std::size_t>(n)), indices, keys, n, l.count, l.extent, l.inner, all,
               first);
      },
      no_element_of(axis, l.extent));
  return detail::join_to_zeros(r, {on, std::move(sorted), "row_sum", y.element});
}

namespace detail {

/// An assignment of rows to rows of a table at indices. Of several rows with the same index the last one stays.
class assigned_rows : public sorted_rows {
 public:
  assigned_rows(gpu_device const& on, type const& table, type const& which)
      : sorted_rows(sorted_by_row(on, which.element, sizes_of(table, which), no_row_of(table[0].extent))),
        run_(on.find(assign_text(size_of(table.element), sizes().wide()), "assign")) {}

  /// Assigns the rows x. Called after sort().
  void write(void const* x, void* table, void* memory) const { launch_over(*run_, memory, x, table, sizes().width); }

 private:
  // A complex number is one column: it is copied as a whole.
  static row_sizes sizes_of(type const& table, type const& which) {
    return {1, elements(which.shape()), table[0].extent, width_of(table), real_of(table.element)};
  }

  std::shared_ptr<gpu_device::function const> run_;
};

/// Returns the kernel of an update of a variable's rows. It locks the variable once the indices are checked, and
/// unlocks it while the kernel that writes may still run (update_kernel.hpp says why it may).
template <class Rows> kernel update_of_rows(kernel_request const& r, Rows rows) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const bytes = rows.scratch();
  return kernel(
      [&on, v = r.variables[0], extents = r.inputs[0].shape(), rows = std::move(rows)](kernel_call const& call) {
        rows.sort(call.in(1), call.scratch());
        rows.expect_good(call.in(1), call.scratch());
        v->update(
            [&](tensor& t) {
              if (t.shape() != extents)
                throw error(code::aborted, "a scattered update: the variable's extents changed while the step ran");
              rows.write(call.in(2), t.mutable_raw(), call.scratch());
              on.order_copies_after_kernels();
            },
            call.step.version);
      },
      bytes);
}
inline kernel add_to_variable(kernel_request const& r, std::string_view how) {
  return update_of_rows(r, added_rows(static_cast<gpu_device const&>(*r.on), r.inputs[0], r.inputs[1], how));
}

}  // namespace detail

RILL_CUDA_INLINE kernel scatter_add_kernel(kernel_request const& r) { return detail::add_to_variable(r, "row_sum"); }
RILL_CUDA_INLINE kernel scatter_sub_kernel(kernel_request const& r) {
  return detail::add_to_variable(r, "row_difference");
}
RILL_CUDA_INLINE kernel scatter_update_kernel(kernel_request const& r) {
  return detail::update_of_rows(r,
                                detail::assigned_rows(static_cast<gpu_device const&>(*r.on), r.inputs[0], r.inputs[1]));
}

}  // namespace rill::cuda
#endif
