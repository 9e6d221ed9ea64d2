// Softmax, its logarithm and cross entropies as kernels of a GPU.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rill/cuda/gpu_device.hpp"
#include "rill/cuda/kernel_operand.hpp"
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Returns the text of a kernel `rows`, which calls a function of softmax.cuh. Its parameters are the addresses of the
/// inputs, those of the outputs, which have the first input's element type, the number of rows, and the number of
/// elements of a row. A block of threads has a row if `long_rows`, else several.
/// The programs of `ends` stand for the first input and the first output.
std::string rows_text(std::string_view function, std::vector<dtype> const& inputs, std::size_t outputs, bool long_rows,
                      kernel_ends const& ends = {});

/// Return the kernels of these operations.
kernel softmax_kernel(kernel_request const& r);
kernel log_softmax_kernel(kernel_request const& r);
kernel cross_entropy_dense_kernel(kernel_request const& r);
/// Returns the kernel of the cross entropy with labels. Before it computes, it waits until the labels are checked: a
/// label that is no class is an error.
kernel cross_entropy_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "rill/cuda/index_check.hpp"
#include "rill/cuda/launch.hpp"
#include "rill/cuda/text_parts.hpp"

namespace rill::cuda {

namespace detail {

/// A function of softmax.cuh that is bound to rows of n elements.
class bound_rows {
 public:
  bound_rows(gpu_device const& on, std::string_view name, std::span<type const> inputs, std::size_t outputs,
             kernel_ends const& ends = {})
      : on_(on) {
    auto const x = inputs[0].shape();
    n_ = x[x.rank() - 1];
    rows_ = 1;
    for (std::size_t i = 0; i + 1 < x.rank(); ++i) rows_ *= x[i];
    // A block for each row takes 59 us for 8,192 rows of 1,000 floats, and a thread for each lane 72
    // (docs/measurements/2026-11-26-gpu.md). Short rows would leave most of a block without work.
    bool const long_rows = n_ >= 1000;
    std::int64_t const lanes = inputs[0].element == dtype::float64 ? 8 : 16;
    how_ = long_rows ? blocks_for(rows_, 1, 288) : blocks_for(rows_, 256 / lanes, 256);
    std::vector<dtype> types;
    for (auto const& each : inputs) types.push_back(each.element);
    run_ = on_.find(rows_text(name, types, outputs, long_rows, ends), "rows");
  }
  bound_rows(kernel_request const& r, std::string_view name)
      : bound_rows(static_cast<gpu_device const&>(*r.on), name, r.inputs, r.outputs.size()) {}

  gpu_device const& on() const { return on_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t n() const { return n_; }

  /// `operands`: the inputs, then the outputs.
  void operator()(std::vector<kernel_argument> operands) const {
    if (how_.blocks == 0) return;
    std::vector<void*> parameters;
    for (auto& each : operands) parameters.push_back(each.at());
    parameters.push_back(const_cast<std::int64_t*>(&rows_));
    parameters.push_back(const_cast<std::int64_t*>(&n_));
    on_.launch(*run_, how_, parameters.data());
  }

 private:
  gpu_device const& on_;
  std::int64_t rows_ = 0, n_ = 0;
  gpu_device::launch_shape how_{};
  std::shared_ptr<gpu_device::function const> run_;
};

/// Returns the message for a label that is not in [0, n).
inline bad_index_message no_class_of(std::int64_t n) {
  return [n](std::int64_t row, index_on_gpu const& labels) {
    return "softmax_cross_entropy: the label of row " + std::to_string(row) + " is " + std::to_string(labels[row]) +
           ", and there are " + std::to_string(n) + " classes";
  };
}

/// Returns the operands of a node, inputs first.
inline std::vector<kernel_argument> operands_of(kernel_call const& call) {
  return std::vector<kernel_argument>(call.pointers, call.pointers + call.inputs + call.outputs);
}
inline kernel rows_kernel(kernel_request const& r, std::string_view name) {
  return kernel([run = bound_rows(r, name)](kernel_call const& call) { run(operands_of(call)); });
}

}  // namespace detail

RILL_CUDA_INLINE std::string rows_text(std::string_view function, std::vector<dtype> const& inputs, std::size_t outputs,
                                       bool long_rows, kernel_ends const& ends) {
  auto const first = name_in_text(inputs[0]), other = name_in_text(inputs.back());
  auto const x = ends.input(first), y = ends.output(first);
  std::string parameters, arguments;
  for (std::size_t i = 0; i < inputs.size() + outputs; ++i) {
    auto const p = "p" + std::to_string(i);
    auto const operand = i == 0               ? x
                         : i == inputs.size() ? y
                         : i < inputs.size()  ? array_in_text(other + " const")
                                              : array_in_text(first);
    parameters += operand.parameter + " " + p + ", ";
    arguments += operand.of(p) + ", ";
  }
  // A function has the element types of its inputs as template arguments, each type once.
  return head_with("softmax.cuh", x.definitions + y.definitions) +
         kernel_in_text("rows(" + parameters + "long rows, long n)",
                        "rill::text::" + std::string(function) + "<" + first + (other == first ? "" : ", " + other) +
                            (long_rows ? ", block_of_row>(" : ", threads_of_row>(") + arguments + "rows, n);");
}

// A thread reads an element before it writes that result, and no other thread reads it afterwards.
RILL_CUDA_INLINE kernel softmax_kernel(kernel_request const& r) {
  auto k = detail::rows_kernel(r, "softmax");
  k.input_output_aliases = {{0, 0}};
  return k;
}
RILL_CUDA_INLINE kernel log_softmax_kernel(kernel_request const& r) {
  auto k = detail::rows_kernel(r, "log_softmax");
  k.input_output_aliases = {{0, 0}};
  return k;
}
RILL_CUDA_INLINE kernel cross_entropy_dense_kernel(kernel_request const& r) {
  return detail::rows_kernel(r, "cross_entropy_dense");
}
RILL_CUDA_INLINE kernel cross_entropy_kernel(kernel_request const& r) {
  detail::bound_rows run(r, "cross_entropy");
  auto const label = r.inputs[1].element;
  range_check const check(run.on(), label, run.rows(), run.n());
  checked_indices const labels(run.on(), label, detail::no_class_of(run.n()));
  return kernel(
      [run = std::move(run), check, labels](kernel_call const& call) {
        if (run.rows() == 0) return;
        labels.begin(call.scratch());
        check(call.in(1), call.scratch());
        labels.expect_good(call.in(1), call.scratch());
        run(detail::operands_of(call));
      },
      first_bad::scratch);
}

}  // namespace rill::cuda
#endif
