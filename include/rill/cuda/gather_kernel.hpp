// Gathers on a GPU: rows and elements at indices. A kernel checks its indices and skips the bad ones; the host then
// waits for it, because a bad index is an error.
#pragma once
#include <cstddef>
#include <string>

#include "rill/cuda/gpu_device.hpp"
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Returns the text of a kernel `take`, which copies elements of `bytes` bytes along the middle axis of an array
/// [outer, extent, inner] (take_elements of gather.cuh). Sizes and positions are 64 bits wide if `wide`. If `own`,
/// every element of the result has an index of its own; otherwise a list of indices serves all lines.
std::string take_text(std::size_t bytes, dtype index, bool own, bool wide);
/// Returns the text of a kernel `number`, which turns each list of `axes` indices into the number of the element that
/// they name, counted in row-major order.
std::string row_numbers_text(dtype index, std::size_t axes);
/// Returns the text of a kernel `one_hot`, which writes a row of elements of `bytes` bytes for each index: `one`, its
/// last parameter, at the index, and zeros elsewhere.
std::string one_hot_text(std::size_t bytes, dtype index);

/// Return the kernels of these operations.
kernel gather_kernel(kernel_request const& r);
kernel gather_variable_kernel(kernel_request const& r);
kernel gather_axis_kernel(kernel_request const& r);
kernel take_along_axis_kernel(kernel_request const& r);
kernel row_numbers_kernel(kernel_request const& r);
kernel one_hot_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "rill/cuda/index_check.hpp"
#include "rill/cuda/launch.hpp"
#include "rill/cuda/text_parts.hpp"
#include "rill/device/step.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/ops/array/one_hot.hpp"
#include "rill/ops/table/gather.hpp"
#include "rill/ops/table/gather_axis.hpp"
#include "rill/ops/table/gather_nd.hpp"
#include "rill/ops/table/take_along_axis.hpp"
#include "rill/state/variable.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE std::string take_text(std::size_t bytes, dtype index, bool own, bool wide) {
  auto const word = word_in_text(bytes), count = counter_in_text(wide);
  return text_head_with_cstdint("gather.cuh") +
         kernel_in_text("take(global<" + word + " const> x, global<" + name_in_text(index) + " const> which, global<" +
                            word + "> y, " + count + " n, " + count + " count, " + count + " extent, " + count +
                            " inner, global<bad_position> first)",
                        std::string("take_elements<") + (own ? "true" : "false") +
                            ">(x, which, y, n, count, extent, inner, first);");
}
RILL_CUDA_INLINE std::string row_numbers_text(dtype index, std::size_t axes) {
  return text_head_with_cstdint("gather.cuh") +
         kernel_in_text("number(global<" + name_in_text(index) +
                            " const> which, global<long> rows, long n, passed_numbers<" + std::to_string(axes) +
                            "> extents, global<bad_position> first)",
                        "number_rows(which, rows, n, extents, first);");
}
RILL_CUDA_INLINE std::string one_hot_text(std::size_t bytes, dtype index) {
  auto const word = word_in_text(bytes);
  return text_head_with_cstdint("gather.cuh") +
         kernel_in_text("one_hot(global<" + name_in_text(index) + " const> which, global<" + word +
                            "> to, long n, long depth, " + word + " one)",
                        "write_one_hot(which, to, n, depth, one);");
}

namespace detail {

/// The extents of a gather along the middle axis of an array [outer, extent, inner], which has the result [outer,
/// count, inner].
struct taken_lines {
  std::int64_t outer, count, extent, inner;
  bool own = false;  ///< whether each position has an index of its own
};

/// Gathers elements along an axis. Bad indices are noted, and nothing is copied for them.
class bound_take {
 public:
  bound_take(gpu_device const& on, dtype element, dtype index, taken_lines const& l)
      : on_(&on), lines_(l), n_(l.outer * l.count * l.inner), check_(on, index, l.own ? n_ : l.count, l.extent) {
    bool const wide = std::max(n_, l.outer * l.extent * l.inner) > INT32_MAX;
    run_ = on.find(take_text(size_of(element), index, l.own, wide), "take");
  }

  void operator()(void const* x, void const* which, void* y, void* first) const {
    if (n_ == 0) check_(which, first);  // an array without elements may have indices
    else
      launch(*on_, *run_, on_->shape_for(static_cast<std::size_t>(n_)), x, which, y, n_, lines_.count, lines_.extent,
             lines_.inner, first);
  }

 private:
  gpu_device const* on_;
  taken_lines lines_;
  std::int64_t n_;
  range_check check_;
  std::shared_ptr<gpu_device::function const> run_;
};

/// Gathers elements along an axis, and throws the host's error if an index is bad.
class checked_take {
 public:
  checked_take(gpu_device const& on, dtype element, dtype index, taken_lines const& l, bad_index_message message)
      : take_(on, element, index, l), indices_(on, index, std::move(message)) {}

  /// Waits until the indices are checked. `memory` has first_bad::scratch bytes.
  void operator()(void const* x, void const* which, void* y, void* memory) const {
    indices_.begin(memory);
    take_(x, which, y, memory);
    indices_.expect_good(which, memory);
  }

 private:
  bound_take take_;
  checked_indices indices_;
};

inline checked_take rows_of(gpu_device const& on, type const& table, type const& which) {
  auto const rows = table[0].extent;
  return {on,
          table.element,
          which.element,
          {1, elements(which.shape()), rows, elements(row_of(table).shape())},
          no_row_of(rows)};
}

inline kernel take_kernel(checked_take take) {
  return kernel(
      [take = std::move(take)](kernel_call const& call) { take(call.in(0), call.in(1), call.out(0), call.scratch()); },
      first_bad::scratch);
}

/// Returns the extents of a gather of `count` elements along an axis of x.
inline taken_lines lines_along(shape const& x, std::size_t axis, std::int64_t count, bool own) {
  taken_lines l{1, count, x[axis], 1, own};
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (i != axis) (i < axis ? l.outer : l.inner) *= x[i];
  return l;
}

/// Returns the kernel of a gather along the axis of the node's attributes. `no_axis` is the error's message if x does
/// not have it.
inline kernel take_lines_kernel(kernel_request const& r, char const* no_axis, bool own) {
  auto const &x = r.inputs[0], &which = r.inputs[1];
  auto const axis = checked_axis(decode<ops::axis_attributes>(r.at.attributes).axis, x.rank, no_axis);
  auto const lines = lines_along(x.shape(), axis, own ? which[axis].extent : elements(which.shape()), own);
  return take_kernel(
      {static_cast<gpu_device const&>(*r.on), x.element, which.element, lines, no_element_of(axis, lines.extent)});
}

}  // namespace detail

RILL_CUDA_INLINE kernel gather_kernel(kernel_request const& r) {
  return detail::take_kernel(detail::rows_of(static_cast<gpu_device const&>(*r.on), r.inputs[0], r.inputs[1]));
}
RILL_CUDA_INLINE kernel gather_axis_kernel(kernel_request const& r) {
  return detail::take_lines_kernel(r, "gather: the axis is out of range", false);
}
RILL_CUDA_INLINE kernel take_along_axis_kernel(kernel_request const& r) {
  return detail::take_lines_kernel(r, "take_along_axis: the axis is out of range", true);
}

// The variable is locked until the kernel has ended, which the check of the indices waits for.
RILL_CUDA_INLINE kernel gather_variable_kernel(kernel_request const& r) {
  auto const v = r.variables[0];
  if (!v) return gather_kernel(r);  // the variable was fed
  auto const& on = static_cast<gpu_device const&>(*r.on);
  return kernel(
      [v, extents = r.inputs[0].shape(),
       rows = detail::rows_of(on, r.inputs[0], r.inputs[1])](kernel_call const& call) {
        v->inspect(
            [&](tensor const& t) {
              if (t.shape() != extents)
                throw error(code::aborted, "gather: the variable's extents changed while the step ran");
              rows(t.raw(), call.in(1), call.out(0), call.scratch());
            },
            call.step.version);
      },
      first_bad::scratch);
}

namespace detail {

/// Returns the message for an index in lists of `axes` indices, each of which names an element of a table.
inline bad_index_message no_element_of_table(std::array<std::int64_t, max_rank> const& table, std::size_t axes) {
  return [table, axes](std::int64_t position, index_on_gpu const& all) {
    auto const p = static_cast<std::size_t>(position), k = p % axes;
    return "index " + std::to_string(k) + " of element " + std::to_string(p / axes) + " is " +
           std::to_string(all[position]) + ", and axis " + std::to_string(k) + " has " + std::to_string(table[k]) +
           " elements";
  };
}

/// Returns the bytes of the number 1 of an element type.
inline std::array<std::byte, 16> one_as_word(dtype element) {
  std::array<std::byte, 16> word{};
  visit(element, [&]<class T>() {
    if constexpr (!std::is_same_v<T, std::string>) {
      T const one(1);
      std::memcpy(word.data(), &one, sizeof one);
    }
  });
  return word;
}

}  // namespace detail

RILL_CUDA_INLINE kernel row_numbers_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const& which = r.inputs[0];
  auto const axes = static_cast<std::size_t>(which[which.rank - std::size_t{1}].extent);
  std::array<std::int64_t, max_rank> extents{};
  for (std::size_t k = 0; k < axes; ++k) extents[k] = r.inputs[1][k].extent;
  auto const n = elements(r.outputs[0].shape());
  if (n == 0) return empty_kernel();
  return kernel(
      [&on, extents, n, run = on.find(row_numbers_text(which.element, axes), "number"),
       indices =
           checked_indices(on, which.element, detail::no_element_of_table(extents, axes))](kernel_call const& call) {
        indices.begin(call.scratch());
        launch(on, *run, on.shape_for(static_cast<std::size_t>(n)), call.in(0), call.out(0), n, extents,
               call.scratch());
        indices.expect_good(call.in(0), call.scratch());
      },
      first_bad::scratch);
}

RILL_CUDA_INLINE kernel one_hot_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const a = decode<ops::one_hot_op::attributes>(r.at.attributes);
  auto const n = elements(r.outputs[0].shape());
  if (n == 0) return empty_kernel();
  return kernel(
      [&on, n, depth = a.depth, one = detail::one_as_word(a.element),
       run = on.find(one_hot_text(size_of(a.element), r.inputs[0].element), "one_hot")](kernel_call const& call) {
        launch(on, *run, on.shape_for(static_cast<std::size_t>(n)), call.in(0), call.out(0), n, depth, one);
      });
}

}  // namespace rill::cuda
#endif
