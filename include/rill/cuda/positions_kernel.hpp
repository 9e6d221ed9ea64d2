// Positions, numbers at equal distances and extents, on a GPU.
#pragma once
#include <cstddef>
#include <string>

#include "rill/cuda/gpu_device.hpp"
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Returns the text of a kernel `positions`, which writes 0, 1, 2, ….
std::string positions_text(dtype index);
/// Returns the text of a kernel `sources`, which writes the positions that source_positions computes.
std::string source_positions_text();
/// Returns the text of a kernel `range`, which writes start, start + step, start + 2 step, ….
std::string range_text(dtype element);
/// Returns the text of a kernel `numbers`, which writes the `count` numbers that are its parameter.
std::string numbers_text(std::size_t count);

/// Return the kernels of these operations.
kernel positions_kernel(kernel_request const& r);
kernel source_positions_kernel(kernel_request const& r);
/// Returns the kernel of a `range` of a known number of numbers. It waits for start, limit and step, because the number
/// is checked. Placement leaves ranges whose number only the run knows to the host.
kernel range_kernel(kernel_request const& r);
kernel extents_of_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "rill/cuda/launch.hpp"
#include "rill/cuda/text_parts.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/ops/arrange/range.hpp"
#include "rill/ops/array/extents_of.hpp"
#include "rill/ops/array/positions.hpp"
#include "rill/ops/array/source_positions.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE std::string positions_text(dtype index) {
  return text_head_with_cstdint("positions.cuh") + "extern \"C\" __global__ void positions(global<" +
         name_in_text(index) + "> to, long n) { write_positions(to, n); }\n";
}
RILL_CUDA_INLINE std::string source_positions_text() {
  return text_head_with_cstdint("positions.cuh") +
         kernel_in_text("sources(global<long> to, long count, int beyond, long each, long before, long n)",
                        "write_sources(to, count, beyond, each, before, n);");
}
RILL_CUDA_INLINE std::string range_text(dtype element) {
  auto const t = name_in_text(element);
  return text_head_with_cstdint("positions.cuh") + "extern \"C\" __global__ void range(global<" + t + "> to, long n, " +
         t + " start, " + t + " step) { write_range(to, n, start, step); }\n";
}
RILL_CUDA_INLINE std::string numbers_text(std::size_t count) {
  return text_head_with_cstdint("positions.cuh") +
         "extern \"C\" __global__ void numbers(global<long> to, passed_numbers<" + std::to_string(count) +
         "> values) { write_numbers(to, values); }\n";
}

RILL_CUDA_INLINE kernel positions_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const n = r.outputs[0][0].extent;
  if (n == 0) return empty_kernel();
  return kernel([&on, n, run = on.find(positions_text(r.outputs[0].element), "positions")](kernel_call const& call) {
    launch(on, *run, on.shape_for(static_cast<std::size_t>(n)), call.out(0), n);
  });
}

RILL_CUDA_INLINE kernel source_positions_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const a = decode<ops::source_positions_op::attributes>(r.at.attributes);
  auto const& x = r.inputs[0];
  auto const n = x[checked_axis(a.axis, x.rank, "source_positions: the axis is out of range")].extent,
             count = r.outputs[0][0].extent;
  if (count == 0) return empty_kernel();
  return kernel([&on, a, n, count, run = on.find(source_positions_text(), "sources")](kernel_call const& call) {
    launch(on, *run, on.shape_for(static_cast<std::size_t>(count)), call.out(0), count,
           static_cast<std::int32_t>(a.beyond), a.each, a.before, n);
  });
}

namespace detail {

/// Writes a range of numbers of type T on a GPU.
template <class T> class bound_range {
 public:
  explicit bound_range(gpu_device const& on) : on_(&on), run_(on.find(range_text(dtype_of<T>), "range")) {}

  struct ends {
    T start, limit, step;
    std::int64_t count() const { return ops::numbers_in_range(start, limit, step); }
  };
  /// Waits for what computes start, limit and step, and returns them.
  ends read(kernel_call const& call) const {
    ends all;
    on_->wait();
    on_->read(&all.start, call.in(0), sizeof(T));
    on_->read(&all.limit, call.in(1), sizeof(T));
    on_->read(&all.step, call.in(2), sizeof(T));
    return all;
  }
  void write(ends const& all, void* to, std::int64_t n) const {
    if (n > 0) launch(*on_, *run_, on_->shape_for(static_cast<std::size_t>(n)), to, n, all.start, all.step);
  }

 private:
  gpu_device const* on_;
  std::shared_ptr<gpu_device::function const> run_;
};

template <class T> kernel make_range(kernel_request const& r, std::int64_t expected) {
  bound_range<T> const range(static_cast<gpu_device const&>(*r.on));
  return kernel([range, expected](kernel_call const& call) {
    auto const ends = range.read(call);
    if (auto const n = ends.count(); n != expected)
      throw error(code::invalid_argument, "range: expected " + std::to_string(expected) +
                                              " numbers from start, limit and step, got " + std::to_string(n));
    range.write(ends, call.out(0), expected);
  });
}

}  // namespace detail

RILL_CUDA_INLINE kernel range_kernel(kernel_request const& r) {
  auto const expected = decode<ops::range_op::attributes>(r.at.attributes).count;
  return visit(r.inputs[0].element, [&]<class T>() -> kernel {
    if constexpr (dtypes::reals.contains(dtype_of<T>)) return detail::make_range<T>(r, expected);
    else throw error(code::internal, "range of other elements than real numbers");
  });
}

RILL_CUDA_INLINE kernel extents_of_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const of = r.inputs[0].shape();
  if (of.rank() == 0) return empty_kernel();
  std::array<std::int64_t, max_rank> numbers{};
  std::copy(of.begin(), of.end(), numbers.begin());
  return kernel([&on, numbers, run = on.find(numbers_text(of.rank()), "numbers")](kernel_call const& call) {
    launch(on, *run, {1, 32}, call.out(0), numbers);
  });
}

}  // namespace rill::cuda
#endif
