// Random numbers as kernels of a GPU, with the host's bits.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "rill/cuda/gpu_device.hpp"
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Returns the factory of a random operation's kernel; null: the operation is another one, or only the host has it.
/// Only the host has `permutation`: each of its exchanges depends on those before it.
kernel_factory random_kernel_of(op_def const& op);

/// Returns the text of a kernel `draw`, which calls a function of random.cuh to draw n numbers. Its parameters are
/// their address, n, the stream of random words, and numbers of the types `given`: those of the distribution.
std::string draw_text(std::string_view function, dtype element, std::vector<std::string_view> const& given);
/// Returns the text of a kernel `draw`, which draws a number for each element of an array of parameters. `function` is
/// draw_gamma or draw_poisson.
std::string draw_by_parameter_text(std::string_view function, dtype element);
/// Returns the text of a kernel `sum_up`, which writes the running sums of exp(logit) along each row, and finds the
/// first row that is no distribution.
std::string class_sums_text(dtype logits);
/// Returns the text of a kernel `draw`, which draws classes by these sums.
std::string draw_classes_text(dtype index);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "rill/base/philox.hpp"
#include "rill/cuda/index_check.hpp"
#include "rill/cuda/launch.hpp"
#include "rill/cuda/operation_table.hpp"
#include "rill/cuda/text_parts.hpp"
#include "rill/device/step.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/ops/random/categorical.hpp"
#include "rill/ops/random/gamma.hpp"
#include "rill/ops/random/normal.hpp"
#include "rill/ops/random/poisson.hpp"
#include "rill/ops/random/uniform.hpp"

namespace rill::cuda {

namespace detail {

/// Returns the stream of random words of a node; the step is that of a call.
inline random_stream stream_of(kernel_request const& r, std::int64_t key) {
  return {random_stream::key_of(r.seed, static_cast<std::uint64_t>(key)), 0};
}
inline random_stream in_step(random_stream s, kernel_call const& call) { return {s.key, call.step.stream}; }

/// Draws numbers of which a thread computes `each` at once. `given` are the kernel's last parameters.
template <class... Given>
kernel draw_kernel(kernel_request const& r, std::string const& text, std::int64_t key, std::int64_t each,
                   Given... given) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const n = elements(r.outputs[0].shape());
  return kernel([=, &on, run = on.find(text, "draw"), how = blocks_for(n, 256 * each, 256),
                 stream = stream_of(r, key)](kernel_call const& call) {
    launch(on, *run, how, call.out(0), n, in_step(stream, call), given...);
  });
}

// How many numbers come from a block of the generator.
inline std::int64_t numbers_of_block(dtype element) {
  return dtypes::integers.contains(element) || element == dtype::float64 ? 2 : 4;
}

inline kernel uniform_kernel(kernel_request const& r) {
  auto const a = decode<ops::uniform_op::attributes>(r.at.attributes);
  auto const element = r.outputs[0].element;
  auto const each = numbers_of_block(element);
  if (is_float(element))
    return draw_kernel(r, draw_text("draw_uniform", element, {"double", "double"}), a.key, each, a.low, a.high);
  auto const count = static_cast<std::uint64_t>(a.last) - static_cast<std::uint64_t>(a.first);
  return draw_kernel(r, draw_text("draw_integers", element, {"std::int64_t", "std::uint64_t"}), a.key, each, a.first,
                     count);
}

template <class Op> kernel normal_kernel(kernel_request const& r) {
  auto const a = decode<typename Op::attributes>(r.at.attributes);
  auto const element = r.outputs[0].element;
  return draw_kernel(r, draw_text("draw_normal", element, {"double", "double", "double", "double"}), a.key,
                     numbers_of_block(element), a.mean, a.deviation, double{Op::half}, double{Op::within});
}

inline kernel by_parameter_kernel(kernel_request const& r, std::string_view function, std::int64_t key) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const n = elements(r.outputs[0].shape());
  return kernel([&on, n, run = on.find(draw_by_parameter_text(function, r.inputs[0].element), "draw"),
                 how = blocks_for(n, 256, 256), stream = stream_of(r, key)](kernel_call const& call) {
    launch(on, *run, how, call.in(0), call.out(0), n, in_step(stream, call));
  });
}
inline kernel gamma_kernel(kernel_request const& r) {
  return by_parameter_kernel(r, "draw_gamma", decode<ops::gamma_op::attributes>(r.at.attributes).key);
}
inline kernel poisson_kernel(kernel_request const& r) {
  return by_parameter_kernel(r, "draw_poisson", decode<ops::poisson_op::attributes>(r.at.attributes).key);
}

/// Classes by logits. Their scratch memory holds the sums, then the first row that is no distribution.
class bound_classes {
 public:
  bound_classes(kernel_request const& r, ops::categorical_op::attributes const& a)
      : on_(static_cast<gpu_device const&>(*r.on)), stream_(stream_of(r, a.key)), first_bad_(on_) {
    auto const x = r.inputs[0].shape();
    n_ = x[x.rank() - 1];
    for (std::size_t i = 0; i + 1 < x.rank(); ++i) rows_ *= x[i];
    samples_ = a.samples < 0 ? 1 : a.samples;
    how_to_sum_ = blocks_for(rows_, 8, 256);
    how_to_draw_ = blocks_for(rows_ * samples_, 256, 256);
    sum_up_ = on_.find(class_sums_text(r.inputs[0].element), "sum_up");
    draw_ = on_.find(draw_classes_text(a.index), "draw");
  }

  std::size_t scratch() const { return sums_bytes() + first_bad::scratch; }
  void operator()(kernel_call const& call) const {
    if (rows_ == 0) return;
    void* const sums = call.scratch();
    void* const bad = static_cast<std::byte*>(sums) + sums_bytes();
    first_bad_.begin(bad);
    launch(on_, *sum_up_, how_to_sum_, call.in(0), sums, bad, rows_, n_);
    if (auto const row = first_bad_.find(bad))
      throw error(code::invalid_argument, "categorical: the logits of row " + std::to_string(*row) +
                                              " are no distribution: one is NaN or infinite, or all are -inf");
    launch(on_, *draw_, how_to_draw_, sums, call.out(0), rows_, n_, samples_, in_step(stream_, call));
  }

 private:
  std::size_t sums_bytes() const { return static_cast<std::size_t>(rows_ * n_) * sizeof(double); }

  gpu_device const& on_;
  random_stream stream_;
  first_bad first_bad_;
  std::int64_t rows_ = 1, n_ = 0, samples_ = 1;
  gpu_device::launch_shape how_to_sum_{}, how_to_draw_{};
  std::shared_ptr<gpu_device::function const> sum_up_, draw_;
};

// It refuses what the processor's kernel refuses.
inline kernel categorical_kernel(kernel_request const& r) {
  auto const a = decode<ops::categorical_op::attributes>(r.at.attributes);
  auto const x = r.inputs[0].shape();
  auto const n = x[x.rank() - 1];
  expects(n > 0 || elements(r.outputs[0].shape()) == 0, "categorical: there are no classes to draw from");
  expects(a.index == dtype::int64 || n <= INT32_MAX,
          "categorical: the number of classes does not fit in int32; ask for int64");
  if (n == 0 || a.samples == 0) return empty_kernel();
  bound_classes run(r, a);
  auto const bytes = run.scratch();
  return kernel([run = std::move(run)](kernel_call const& call) { run(call); }, bytes);
}

}  // namespace detail

RILL_CUDA_INLINE std::string draw_text(std::string_view function, dtype element,
                                       std::vector<std::string_view> const& given) {
  std::string parameters = "draw(global<" + name_in_text(element) + "> to, long n, rill::random_stream s",
              arguments = "to, n, s";
  for (std::size_t i = 0; i < given.size(); ++i) {
    auto const name = "x" + std::to_string(i);
    parameters += ", " + std::string(given[i]) + " " + name;
    arguments += ", " + name;
  }
  return text_head("random.cuh") + kernel_in_text(parameters + ")", std::string(function) + "(" + arguments + ");");
}
RILL_CUDA_INLINE std::string draw_by_parameter_text(std::string_view function, dtype element) {
  auto const t = name_in_text(element);
  return text_head("random.cuh") +
         kernel_in_text("draw(global<" + t + " const> parameters, global<" + t + "> to, long n, rill::random_stream s)",
                        std::string(function) + "(parameters, to, n, s);");
}
RILL_CUDA_INLINE std::string class_sums_text(dtype logits) {
  return text_head("categorical.cuh") +
         kernel_in_text("sum_up(global<" + name_in_text(logits) +
                            " const> x, global<double> sums, global<bad_position> bad, long rows, long n)",
                        "sum_up_powers(x, sums, bad, rows, n);");
}
RILL_CUDA_INLINE std::string draw_classes_text(dtype index) {
  return text_head("categorical.cuh") +
         kernel_in_text("draw(global<double const> sums, global<" + name_in_text(index) +
                            "> to, long rows, long n, long samples, rill::random_stream s)",
                        "draw_classes(sums, to, rows, n, samples, s);");
}

RILL_CUDA_INLINE kernel_factory random_kernel_of(op_def const& op) {
  static operation_table<kernel_factory> const all{
      {&definition<ops::uniform_op>(), detail::uniform_kernel},
      {&definition<ops::normal_op>(), detail::normal_kernel<ops::normal_op>},
      {&definition<ops::truncated_normal_op>(), detail::normal_kernel<ops::truncated_normal_op>},
      {&definition<ops::gamma_op>(), detail::gamma_kernel},
      {&definition<ops::poisson_op>(), detail::poisson_kernel},
      {&definition<ops::categorical_op>(), detail::categorical_kernel}};
  return all.find(op);
}

}  // namespace rill::cuda
#endif
