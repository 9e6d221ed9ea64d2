// Rows that are added at indices, and sums and extremes of segments, on a GPU: in the host's order, so that they have
// its bits. Positions are sorted by row first.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "rill/cuda/gpu_device.hpp"
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Return the texts of kernels `keys`, which write the rows of indices, the elements of own indices along an axis, and
/// the segments of ids; with numbers of 64 bits if `wide`.
std::string row_keys_text(dtype index, bool wide);
std::string element_keys_text(dtype index, bool wide);
std::string segment_keys_text(dtype index, bool wide);
/// Returns the text of a kernel `join` by a struct of scatter.cuh.
std::string join_text(std::string_view how, dtype element, bool wide);
/// Returns the text of a kernel `assign` of elements of so many bytes.
std::string assign_text(std::size_t bytes, bool wide);
/// Returns the text of a kernel `fill` with elements of so many bytes.
std::string fill_text(std::size_t bytes);
/// Returns the text of a kernel `check` of segment ids.
std::string check_segments_text(dtype index);
/// Returns the text of a kernel `take` of segments.
std::string take_segments_text(dtype element, dtype index);

/// Return the kernels of these operations.
kernel scatter_like_kernel(kernel_request const& r);
kernel add_rows_kernel(kernel_request const& r);
kernel scatter_axis_kernel(kernel_request const& r);
kernel scatter_along_axis_kernel(kernel_request const& r);
kernel segment_sum_kernel(kernel_request const& r);
kernel segment_max_kernel(kernel_request const& r);
kernel segment_take_kernel(kernel_request const& r);
/// Return the kernels of updates of a variable's rows. They wait for their kernels before they unlock the variable.
kernel scatter_add_kernel(kernel_request const& r);
kernel scatter_sub_kernel(kernel_request const& r);
kernel scatter_update_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include "rill/cuda/copy_kernel.hpp"
#include "rill/cuda/gather_kernel.hpp"
#include "rill/cuda/index_check.hpp"
#include "rill/cuda/launch.hpp"
#include "rill/cuda/map_text.hpp"
#include "rill/cuda/row_sort.hpp"
#include "rill/device/step.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/ops/table/scatter_update.hpp"
#include "rill/ops/table/segment_max.hpp"
#include "rill/state/variable.hpp"

namespace rill::cuda {

namespace detail {

inline std::string count_name(bool wide) { return wide ? "unsigned long" : "unsigned"; }
inline std::string scatter_header(std::string const& kernel) {
  return "#include <cstdint>\n"
         "#include \"rill/cuda/text/scatter.cuh\"\n"
         "using namespace rill::text;\n"
         "extern \"C\" __global__ void " +
         kernel;
}
/// The head of a kernel that writes keys, up to its number of indices.
inline std::string keys_header(dtype index, bool wide) {
  return scatter_header("keys(global<" + std::string(name_in_text(index)) + " const> which, global<" +
                        count_name(wide) + "> keys, " + count_name(wide) + " n, ");
}
/// The parameters of sorted positions, and the number of elements that are written.
inline std::string sorted_parameters(bool wide) {
  std::string const count = count_name(wide), from = "global<" + count + " const> ";
  return from + "keys, " + from + "positions, " + count + " n, " + count + " none, " + count + " elements, ";
}

}  // namespace detail

RILL_CUDA_INLINE std::string row_keys_text(dtype index, bool wide) {
  return detail::keys_header(index, wide) + detail::count_name(wide) +
         " rows, global<bad_position> first) {\n  write_row_keys(which, keys, n, rows, first);\n}\n";
}
RILL_CUDA_INLINE std::string element_keys_text(dtype index, bool wide) {
  auto const count = detail::count_name(wide);
  return detail::keys_header(index, wide) + count + " count, " + count + " extent, " + count + " inner, " + count +
         " elements, global<bad_position> first) {\n"
         "  write_element_keys(which, keys, n, count, extent, inner, elements, first);\n}\n";
}
RILL_CUDA_INLINE std::string segment_keys_text(dtype index, bool wide) {
  return detail::keys_header(index, wide) + detail::count_name(wide) +
         " segments, int sorted, global<bad_position> first) {\n"
         "  write_segment_keys(which, keys, n, segments, sorted, first);\n}\n";
}
RILL_CUDA_INLINE std::string join_text(std::string_view how, dtype element, bool wide) {
  std::string const t(name_in_text(element)), count = detail::count_name(wide);
  return detail::scatter_header("join(" + detail::sorted_parameters(wide) + "global<" + t + " const> x, global<" + t +
                                "> y, " + count + " rows, " + count + " width) {\n  join_rows<" + std::string(how) +
                                ">(sorted_positions<" + count +
                                ">{keys, positions, n, none}, x, y, elements, rows, width);\n}\n");
}
RILL_CUDA_INLINE std::string assign_text(std::size_t bytes, bool wide) {
  std::string const word = word_name(bytes), count = detail::count_name(wide);
  return detail::scatter_header("assign(" + detail::sorted_parameters(wide) + "global<" + word + " const> x, global<" +
                                word + "> y, " + count + " width) {\n  assign_rows(sorted_positions<" + count +
                                ">{keys, positions, n, none}, x, y, elements, width);\n}\n");
}
RILL_CUDA_INLINE std::string fill_text(std::size_t bytes) {
  auto const word = word_name(bytes);
  return detail::scatter_header("fill(global<" + word + "> to, long n, " + word +
                                " with) { fill_elements(to, n, with); }\n");
}
RILL_CUDA_INLINE std::string check_segments_text(dtype index) {
  return detail::scatter_header("check(global<" + std::string(name_in_text(index)) +
                                " const> ids, long n, long segments, int sorted, global<segment_count> counts, "
                                "global<bad_position> first) {\n"
                                "  check_segments(ids, n, segments, sorted, counts, first);\n}\n");
}
RILL_CUDA_INLINE std::string take_segments_text(dtype element, dtype index) {
  std::string const t(name_in_text(element));
  return detail::scatter_header("take(global<" + t + " const> x, global<" + std::string(name_in_text(index)) +
                                " const> ids, global<" + t +
                                "> y, long elements, long width, long segments, global<segment_count const> counts) "
                                "{\n  take_segments(x, ids, y, elements, width, segments, counts);\n}\n");
}

namespace detail {

/// Rows x, [outer, n, width], that rows of y, [outer, rows, width], take. Complex numbers are two columns.
struct row_sizes {
  std::int64_t outer, n, rows, width;

  row_sizes(std::int64_t of_outer, std::int64_t of_n, std::int64_t of_rows, std::int64_t of_width, dtype element)
      : outer(of_outer), n(of_n), rows(of_rows), width(is_complex(element) ? 2 * of_width : of_width) {}
  std::int64_t elements() const { return outer * n * width; }
  bool wide() const { return std::max({elements(), outer * rows * width, n, rows}) > INT32_MAX; }
};

/// Positions that are sorted by the rows that their indices name.
class sorted_rows {
 public:
  /// Writes the keys of the indices; in `first` it leaves the first bad one.
  using key_writer = std::function<void(void const* which, void* keys, void* first)>;

  sorted_rows(gpu_device const& on, dtype index, row_sizes const& s, key_writer write, refusal words)
      : n_(s.n), write_(std::move(write)), indices_(on, index, std::move(words)), sort_(on, s.n, s.rows, s.wide()) {}

  std::size_t scratch() const { return for_check + sort_.scratch(); }
  void sort(void const* which, void* memory) const {
    if (n_ == 0) return;
    indices_.begin(memory);
    write_(which, sort_.keys(behind(memory)), memory);
    sort_(behind(memory));
  }
  /// Waits. Throws error(invalid_argument) if an index is bad.
  void expect_good(void const* which, void* memory) const {
    if (n_ > 0) indices_.expect_good(which, memory);
  }
  void* keys(void* memory) const { return sort_.sorted_keys(behind(memory)); }
  void* positions(void* memory) const { return sort_.sorted_positions(behind(memory)); }

 private:
  static constexpr std::size_t for_check = 256;
  static void* behind(void* memory) { return static_cast<std::byte*>(memory) + for_check; }

  std::int64_t n_;
  key_writer write_;
  checked_indices indices_;
  row_sort sort_;
};

/// Returns rows sorted by indices of a table's rows.
inline sorted_rows sorted_by_row(gpu_device const& on, dtype index, row_sizes const& s, refusal words) {
  return {on, index, s,
          [&on, n = s.n, rows = s.rows, run = on.find(row_keys_text(index, s.wide()), "keys")](
              void const* which, void* keys, void* first) {
            launch(on, *run, on.shape_for(static_cast<std::size_t>(n)), which, keys, n, rows, first);
          },
          std::move(words)};
}

/// Returns the words for a segment's id, as the host's kernels have them.
inline refusal no_segment_of(std::int64_t segments) {
  return [segments](std::int64_t i, index_on_gpu const& ids) {
    auto const id = ids[i];
    auto const words = "segment id " + std::to_string(i) + " is " + std::to_string(id) + ", ";
    if (id >= segments) return words + "and there are " + std::to_string(segments) + " segments";
    if (id < 0) return words + "and sorted ids are not negative; only those of unsorted_segment_… may be";
    return words + "after " + std::to_string(ids[i - 1]) +
           ", and sorted ids ascend; unsorted_segment_… takes any order";
  };
}
/// Returns rows sorted by the segments that ids name.
inline sorted_rows sorted_by_segment(gpu_device const& on, dtype index, row_sizes const& s, bool ascending) {
  return {on, index, s,
          [&on, n = s.n, rows = s.rows, must_ascend = std::int32_t{ascending},
           run = on.find(segment_keys_text(index, s.wide()), "keys")](void const* ids, void* keys, void* first) {
            launch(on, *run, on.shape_for(static_cast<std::size_t>(n)), ids, keys, n, rows, must_ascend, first);
          },
          no_segment_of(s.rows)};
}

/// Rows of y that take rows of x, one after the other.
class joined_rows {
 public:
  joined_rows(gpu_device const& on, sorted_rows sorted, std::string_view how, dtype element, row_sizes const& s)
      : on_(&on),
        sorted_(std::move(sorted)),
        sizes_(s),
        run_(on.find(join_text(how, real_of(element), s.wide()), "join")) {}

  std::size_t scratch() const { return sorted_.scratch(); }
  void sort(void const* which, void* memory) const { sorted_.sort(which, memory); }
  void expect_good(void const* which, void* memory) const { sorted_.expect_good(which, memory); }
  /// Adds rows that were sorted.
  void join(void const* x, void* y, void* memory) const {
    auto const n = sizes_.elements();
    if (n == 0) return;
    launch(*on_, *run_, on_->shape_for(static_cast<std::size_t>(n)), sorted_.keys(memory), sorted_.positions(memory),
           sizes_.n, sizes_.rows, n, x, y, sizes_.rows, sizes_.width);
  }
  /// Does all that.
  void operator()(void const* which, void const* x, void* y, void* memory) const {
    sort(which, memory);
    join(x, y, memory);
    expect_good(which, memory);
  }

 private:
  gpu_device const* on_;
  sorted_rows sorted_;
  row_sizes sizes_;
  std::shared_ptr<gpu_device::function const> run_;
};

inline std::int64_t width_of(type const& table) { return elements(row_of(table).shape()); }
/// Returns rows that are added to a table's at indices.
inline joined_rows added_rows(gpu_device const& on, type const& table, type const& which, std::string_view how) {
  row_sizes const s(1, elements(which.shape()), table[0].extent, width_of(table), table.element);
  return {on, sorted_by_row(on, which.element, s, no_row_of(table[0].extent)), how, table.element, s};
}

/// Returns the kernel that joins rows of input 1 at the indices of input 0 to zeros.
inline kernel join_to_zeros(kernel_request const& r, joined_rows rows) {
  bound_clear const clear(static_cast<gpu_device const&>(*r.on), r.outputs[0].bytes());
  auto const bytes = rows.scratch();
  return kernel(
      [clear, rows = std::move(rows)](kernel_call const& call) {
        clear(call.out(0));
        rows(call.in(0), call.in(1), call.out(0), call.scratch());
      },
      bytes);
}

}  // namespace detail

RILL_CUDA_INLINE kernel scatter_like_kernel(kernel_request const& r) {
  return detail::join_to_zeros(
      r, detail::added_rows(static_cast<gpu_device const&>(*r.on), r.outputs[0], r.inputs[0], "adding"));
}
RILL_CUDA_INLINE kernel add_rows_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto rows = detail::added_rows(on, r.outputs[0], r.inputs[1], "adding");
  auto const bytes = rows.scratch();
  return kernel(
      [copy = detail::copy_of(on, r.outputs[0]), rows = std::move(rows)](kernel_call const& call) {
        rows.sort(call.in(1), call.scratch());
        rows.expect_good(call.in(1), call.scratch());
        if (call.in(0) != call.out(0)) copy(call.in(0), call.out(0));
        rows.join(call.in(2), call.out(0), call.scratch());
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
  return detail::join_to_zeros(r, {on, std::move(sorted), "adding", y.element, s});
}

// Each index names an element of the result: elements are rows.
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
  return detail::join_to_zeros(r, {on, std::move(sorted), "adding", y.element, s});
}

RILL_CUDA_INLINE kernel segment_sum_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const a = decode<ops::segment_sum_attributes>(r.at.attributes);
  auto const &y = r.outputs[0], &ids = r.inputs[1];
  detail::row_sizes const s(1, elements(ids.shape()), a.count, detail::width_of(y), y.element);
  detail::joined_rows rows(on, detail::sorted_by_segment(on, ids.element, s, a.sorted), a.mean ? "averaging" : "adding",
                           y.element, s);
  auto const bytes = rows.scratch();
  return kernel(
      [clear = detail::bound_clear(on, y.bytes()), rows = std::move(rows)](kernel_call const& call) {
        clear(call.out(0));
        rows(call.in(1), call.in(0), call.out(0), call.scratch());
      },
      bytes);
}

namespace detail {

/// Fills an array with one element on a GPU.
class bound_fill {
 public:
  bound_fill(gpu_device const& on, std::size_t bytes, std::int64_t n, std::array<std::byte, 16> const& with)
      : on_(&on), n_(n), with_(with), run_(on.find(fill_text(bytes), "fill")) {}
  void operator()(void* to) const {
    if (n_ > 0) launch(*on_, *run_, on_->shape_for(static_cast<std::size_t>(n_)), to, n_, with_);
  }

 private:
  gpu_device const* on_;
  std::int64_t n_;
  std::array<std::byte, 16> with_;
  std::shared_ptr<gpu_device::function const> run_;
};

/// Returns the number that every other exceeds, or, of `least`, stays below.
inline std::array<std::byte, 16> extreme_of_nothing(dtype element, bool least) {
  std::array<std::byte, 16> word{};
  visit(element, [&]<class T>() {
    if constexpr (dtypes::reals.contains(dtype_of<T>)) {
      T extreme;
      if constexpr (std::is_integral_v<T>)
        extreme = least ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
      else extreme = T(least ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity());
      std::memcpy(word.data(), &extreme, sizeof extreme);
    }
  });
  return word;
}

}  // namespace detail

RILL_CUDA_INLINE kernel segment_max_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const a = decode<ops::segment_max_op::attributes>(r.at.attributes);
  auto const &y = r.outputs[0], &ids = r.inputs[1];
  detail::row_sizes const s(1, elements(ids.shape()), a.count, detail::width_of(y), y.element);
  detail::joined_rows rows(on, detail::sorted_by_segment(on, ids.element, s, a.sorted),
                           a.least ? "taking_least" : "taking_largest", y.element, s);
  detail::bound_fill const fill(on, size_of(y.element), elements(y.shape()),
                                detail::extreme_of_nothing(y.element, a.least));
  auto const bytes = rows.scratch();
  return kernel(
      [fill, rows = std::move(rows)](kernel_call const& call) {
        fill(call.out(0));
        rows(call.in(1), call.in(0), call.out(0), call.scratch());
      },
      bytes);
}

RILL_CUDA_INLINE kernel segment_take_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const a = decode<ops::segment_sum_attributes>(r.at.attributes);
  auto const &x = r.inputs[0], &ids = r.inputs[1];
  detail::row_sizes const s(1, elements(ids.shape()), a.count, detail::width_of(x), x.element);
  if (s.n == 0) return kernel([](kernel_call const&) {});
  constexpr std::size_t for_check = 256;  // the counts begin behind it
  auto const counts = a.mean ? static_cast<std::size_t>(a.count) * sizeof(std::uint64_t) : 0;
  return kernel(
      [&on, s, mean = a.mean, sorted = std::int32_t{a.sorted}, clear = detail::bound_clear(on, counts),
       indices = checked_indices(on, ids.element, detail::no_segment_of(a.count)),
       check = on.find(check_segments_text(ids.element), "check"),
       take = on.find(take_segments_text(real_of(x.element), ids.element), "take")](kernel_call const& call) {
        void* const counted = mean ? static_cast<std::byte*>(call.scratch()) + for_check : nullptr;
        indices.begin(call.scratch());
        if (mean) clear(counted);
        launch(on, *check, on.shape_for(static_cast<std::size_t>(s.n)), call.in(1), s.n, s.rows, sorted, counted,
               call.scratch());
        if (auto const n = s.elements(); n > 0)
          launch(on, *take, on.shape_for(static_cast<std::size_t>(n)), call.in(0), call.in(1), call.out(0), n, s.width,
                 s.rows, counted);
        indices.expect_good(call.in(1), call.scratch());
      },
      for_check + counts);
}

namespace detail {

/// Calls f(the variable's elements) under its lock, and waits.
template <class F>
void update_rows(kernel_call const& call, gpu_device const& on, variable_state& v, shape const& extents, F const& f) {
  v.update(
      [&](tensor& t) {
        if (t.shape() != extents)
          throw error(code::aborted, "a scattered update: the variable's extents changed while the step ran");
        f(t.mutable_raw());
        on.wait();
      },
      call.step.version);
}

inline kernel add_to_variable(kernel_request const& r, std::string_view how) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto rows = added_rows(on, r.inputs[0], r.inputs[1], how);
  auto const bytes = rows.scratch();
  return kernel(
      [&on, v = r.variables[0], extents = r.inputs[0].shape(), rows = std::move(rows)](kernel_call const& call) {
        rows.sort(call.in(1), call.scratch());
        rows.expect_good(call.in(1), call.scratch());
        update_rows(call, on, *v, extents, [&](void* table) { rows.join(call.in(2), table, call.scratch()); });
      },
      bytes);
}

}  // namespace detail

RILL_CUDA_INLINE kernel scatter_add_kernel(kernel_request const& r) { return detail::add_to_variable(r, "adding"); }
RILL_CUDA_INLINE kernel scatter_sub_kernel(kernel_request const& r) {
  return detail::add_to_variable(r, "subtracting");
}
namespace detail {

/// Rows of a table that rows are assigned to at indices: of those with the same index the last one stays.
class assigned_rows {
 public:
  assigned_rows(gpu_device const& on, type const& table, type const& which)
      : on_(&on),  // elements are moved whole: complex numbers are one column
        sizes_(1, elements(which.shape()), table[0].extent, width_of(table), real_of(table.element)),
        sorted_(sorted_by_row(on, which.element, sizes_, no_row_of(table[0].extent))),
        run_(on.find(assign_text(size_of(table.element), sizes_.wide()), "assign")) {}

  row_sizes const& sizes() const { return sizes_; }
  sorted_rows const& sorted() const { return sorted_; }
  std::size_t scratch() const { return sorted_.scratch(); }
  void sort(void const* which, void* memory) const { sorted_.sort(which, memory); }
  void expect_good(void const* which, void* memory) const { sorted_.expect_good(which, memory); }
  void assign(void const* x, void* table, void* memory) const {
    auto const n = sizes_.elements();
    if (n == 0) return;
    launch(*on_, *run_, on_->shape_for(static_cast<std::size_t>(n)), sorted_.keys(memory), sorted_.positions(memory),
           sizes_.n, sizes_.rows, n, x, table, sizes_.width);
  }

 private:
  gpu_device const* on_;
  row_sizes sizes_;
  sorted_rows sorted_;
  std::shared_ptr<gpu_device::function const> run_;
};

}  // namespace detail

RILL_CUDA_INLINE kernel scatter_update_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  detail::assigned_rows rows(on, r.inputs[0], r.inputs[1]);
  auto const bytes = rows.scratch();
  return kernel(
      [&on, v = r.variables[0], extents = r.inputs[0].shape(), rows = std::move(rows)](kernel_call const& call) {
        rows.sort(call.in(1), call.scratch());
        rows.expect_good(call.in(1), call.scratch());
        detail::update_rows(call, on, *v, extents,
                            [&](void* table) { rows.assign(call.in(2), table, call.scratch()); });
      },
      bytes);
}

}  // namespace rill::cuda
#endif
