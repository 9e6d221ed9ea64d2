// The part that scatters and segment reductions on a GPU have in common: positions are sorted by the row of y that
// their index names, and each row of y then takes its rows of x in ascending order of positions. That is the host's
// order, so the results have the host's bits.
#pragma once
#include <string>
#include <string_view>

#include "rill/cuda/gpu_device.hpp"
#include "rill/type/type.hpp"

namespace rill::cuda {

/// Returns the text of a kernel `keys`, which turns n indices of rows into the keys that they are sorted by. Keys are
/// 64 bits wide if `wide`, else 32.
std::string row_keys_text(dtype index, bool wide);
/// Returns the text of a kernel `join`, which joins the rows of x at sorted positions to rows of y. `how` is the struct
/// of scatter.cuh that it joins by: row_sum, row_mean and so on. Keys and positions are 64 bits wide if `wide`,
/// else 32.
std::string join_text(std::string_view how, dtype element, bool wide);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "rill/cuda/index_check.hpp"
#include "rill/cuda/launch.hpp"
#include "rill/cuda/row_sort.hpp"
#include "rill/cuda/text_parts.hpp"
#include "rill/device/kernel.hpp"

namespace rill::cuda {

namespace detail {

/// Returns the name and the first parameters of a kernel that writes keys.
inline std::string keys_parameters(dtype index, bool wide) {
  auto const count = counter_in_text(wide);
  return "keys(global<" + name_in_text(index) + " const> which, global<" + count + "> keys, " + count + " n, ";
}
/// Returns the first parameters of a kernel that reads sorted positions; `elements` is the number of elements of x.
inline std::string sorted_parameters(bool wide) {
  auto const count = counter_in_text(wide), from = "global<" + count + " const> ";
  return from + "keys, " + from + "positions, " + count + " n, " + count + " none, " + count + " elements, ";
}

}  // namespace detail

RILL_CUDA_INLINE std::string row_keys_text(dtype index, bool wide) {
  return text_head_with_cstdint("scatter.cuh") +
         kernel_in_text(
             detail::keys_parameters(index, wide) + counter_in_text(wide) + " rows, global<bad_position> first)",
             "write_row_keys(which, keys, n, rows, first);");
}
RILL_CUDA_INLINE std::string join_text(std::string_view how, dtype element, bool wide) {
  auto const t = name_in_text(element), count = counter_in_text(wide);
  return text_head_with_cstdint("scatter.cuh") +
         kernel_in_text("join(" + detail::sorted_parameters(wide) + "global<" + t + " const> x, global<" + t + "> y, " +
                            count + " rows, " + count + " width)",
                        "join_rows<" + std::string(how) + ">(sorted_positions<" + count +
                            ">{keys, positions, n, none}, x, y, elements, rows, width);");
}

namespace detail {

/// The extents of a join of x, [outer, n, width], to y, [outer, rows, width]. A complex number is two columns.
struct row_sizes {
  std::int64_t outer, n, rows, width;

  row_sizes(std::int64_t of_outer, std::int64_t of_n, std::int64_t of_rows, std::int64_t of_width, dtype element)
      : outer(of_outer), n(of_n), rows(of_rows), width(is_complex(element) ? 2 * of_width : of_width) {}
  std::int64_t elements() const { return outer * n * width; }
  bool wide() const { return std::max({elements(), outer * rows * width, n, rows}) > INT32_MAX; }
};

/// The positions of n indices, sorted by the rows that the indices name. Scratch memory has the check of the indices,
/// then keys and positions.
class sorted_rows {
 public:
  /// Launches the kernel that writes the keys of the indices; `first` is for the position of the first bad one.
  using key_writer = std::function<void(void const* which, void* keys, void* first)>;

  sorted_rows(gpu_device const& on, dtype index, row_sizes const& s, key_writer write, bad_index_message message)
      : on_(&on),
        sizes_(s),
        write_(std::move(write)),
        indices_(on, index, std::move(message)),
        sort_(on, s.n, s.rows, s.wide()) {}

  row_sizes const& sizes() const { return sizes_; }
  std::size_t scratch() const { return bytes_for_checks + sort_.scratch(); }
  void sort(void const* which, void* memory) const {
    if (sizes_.n == 0) return;
    indices_.begin(memory);
    write_(which, sort_.keys(behind_checks(memory)), memory);
    sort_(behind_checks(memory));
  }
  /// Waits for the kernels. Throws error(invalid_argument) if an index is bad.
  void expect_good(void const* which, void* memory) const {
    if (sizes_.n > 0) indices_.expect_good(which, memory);
  }
  void* keys(void* memory) const { return sort_.sorted_keys(behind_checks(memory)); }
  void* positions(void* memory) const { return sort_.sorted_positions(behind_checks(memory)); }

 protected:
  /// Launches a kernel whose parameters are the sorted_parameters, x, y and `parameters`. Called after sort().
  template <class... A>
  void launch_over(gpu_device::function const& f, void* memory, void const* x, void* y, A... parameters) const {
    if (auto const n = sizes_.elements(); n > 0)
      launch(*on_, f, on_->shape_for(static_cast<std::size_t>(n)), keys(memory), positions(memory), sizes_.n,
             sizes_.rows, n, x, y, parameters...);
  }

 private:
  gpu_device const* on_;
  row_sizes sizes_;
  key_writer write_;
  checked_indices indices_;
  row_sort sort_;
};

/// Returns positions that are sorted by indices of rows.
inline sorted_rows sorted_by_row(gpu_device const& on, dtype index, row_sizes const& s, bad_index_message message) {
  return {on, index, s,
          [&on, n = s.n, rows = s.rows, run = on.find(row_keys_text(index, s.wide()), "keys")](
              void const* which, void* keys, void* first) {
            launch(on, *run, on.shape_for(static_cast<std::size_t>(n)), which, keys, n, rows, first);
          },
          std::move(message)};
}

/// A join of rows of x to rows of y by a struct of scatter.cuh.
class joined_rows : public sorted_rows {
 public:
  joined_rows(gpu_device const& on, sorted_rows sorted, std::string_view how, dtype element)
      : sorted_rows(std::move(sorted)), run_(on.find(join_text(how, real_of(element), sizes().wide()), "join")) {}

  /// Joins the rows x to those of y. Called after sort().
  void write(void const* x, void* y, void* memory) const {
    launch_over(*run_, memory, x, y, sizes().rows, sizes().width);
  }

 private:
  std::shared_ptr<gpu_device::function const> run_;
};

/// Returns a kernel that fills its output by start(output), and then joins the rows of input `x` to it at the indices
/// of input `which`.
template <class Start> kernel join_kernel(joined_rows rows, Start start, std::size_t which, std::size_t x) {
  auto const bytes = rows.scratch();
  return kernel(
      [start = std::move(start), rows = std::move(rows), which, x](kernel_call const& call) {
        start(call.out(0));
        rows.sort(call.in(which), call.scratch());
        rows.write(call.in(x), call.out(0), call.scratch());
        rows.expect_good(call.in(which), call.scratch());
      },
      bytes);
}

/// Returns the number of elements of a table's row.
inline std::int64_t width_of(type const& table) { return elements(row_of(table).shape()); }

}  // namespace detail

}  // namespace rill::cuda
#endif
