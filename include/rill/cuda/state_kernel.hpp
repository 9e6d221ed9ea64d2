// Variances and logarithms of sums of exponentials as kernels of a GPU.
#pragma once
#include <string>
#include <string_view>

#include "rill/cuda/gpu_device.hpp"
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Returns the text of a kernel `pass`, which reduces parts of contiguous lines to states. `state` is the name of their
/// struct in states.cuh.
std::string states_of_lines_text(std::string_view state, dtype element);
/// Returns the text of a kernel `pass`, which reduces parts of columns to states: columns of numbers, or of states
/// (`of_states`).
std::string states_of_columns_text(std::string_view state, bool of_states, dtype element);
/// Returns the text of a kernel `join`, which merges the states of all parts of a line or column.
std::string join_states_text(std::string_view state, dtype element);

/// Return the kernels of these operations.
kernel variance_kernel(kernel_request const& r);
kernel logsumexp_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "rill/cuda/launch.hpp"
#include "rill/cuda/text/reduce_form.hpp"
#include "rill/cuda/text_parts.hpp"
#include "rill/ops/reduction/logsumexp.hpp"
#include "rill/ops/reduction/variance.hpp"

namespace rill::cuda {

namespace detail {

/// A kind of state of states.cuh.
struct state_kind {
  std::string_view name;
  std::int64_t bytes;
};

/// A reduction by states that is bound to extents.
class bound_states {
 public:
  bound_states(gpu_device const& on, state_kind kind, dtype element, std::vector<ops::reduction_pass> const& passes,
               double given)
      : on_(on), given_(given) {
    for (auto const& p : passes) add(kind, element, p, &p == &passes.back());
  }

  /// Returns the bytes of scratch memory that it needs.
  std::size_t scratch() const { return static_cast<std::size_t>(scratch_); }
  void operator()(void* from, void* to, void* scratch) const {
    for (auto const& s : steps_) {
      void* const states = static_cast<std::byte*>(scratch) + s.states;
      bool const joins = s.join != nullptr, last = &s == &steps_.back();
      void* const none = nullptr;
      void* const results = last ? to : none;
      auto const& [outer, middle, inner] = s.pass;
      auto const how = s.lines ? blocks_for(outer * s.parts, 16, 256) : blocks_for(outer * s.parts * inner, 128, 128);
      // A kernel of lines has no parameter `inner`: the driver reads as many as there are.
      launch(on_, *s.run, how, from, states, joins ? none : results, given_, outer, middle, inner);
      if (joins) {
        auto const each = static_cast<std::int32_t>(
            std::min<std::uint64_t>(std::bit_ceil(static_cast<std::uint64_t>(s.parts)) / 2, 256));
        launch(on_, *s.join, blocks_for(outer * inner, 256 / each, 256), states, results, given_, outer * inner,
               s.parts, each);
      }
      from = states;
    }
  }

 private:
  struct step {
    ops::reduction_pass pass;
    std::int64_t parts, states;  // where its states lie
    bool lines;
    std::shared_ptr<gpu_device::function const> run, join;  // `join`: null if there is one part
  };

  void add(state_kind kind, dtype element, ops::reduction_pass const& p, bool last) {
    std::int64_t const part = p.inner == 1 ? line_part_size : column_part_size,
                       parts = std::max<std::int64_t>(1, (p.middle + part - 1) / part);
    step s{p, parts, scratch_, steps_.empty() && p.inner == 1, nullptr, nullptr};
    if (!last || parts > 1) scratch_ += (p.outer * parts * p.inner * kind.bytes + 63) / 64 * 64;
    s.run = on_.find(s.lines ? states_of_lines_text(kind.name, element)
                             : states_of_columns_text(kind.name, !steps_.empty(), element),
                     "pass");
    if (parts > 1) s.join = on_.find(join_states_text(kind.name, element), "join");
    steps_.push_back(std::move(s));
  }

  gpu_device const& on_;
  double given_;
  std::int64_t scratch_ = 0;
  std::vector<step> steps_;
};

inline kernel states_kernel(kernel_request const& r, state_kind kind, extents const& axes, double given) {
  auto const x = r.inputs[0];
  auto const passes = ops::reduction_passes(x.shape(), ops::reduced_axes(axes, x.rank));
  bound_states run(static_cast<gpu_device const&>(*r.on), kind, x.element, passes, given);
  auto const bytes = run.scratch();
  return kernel(
      [run = std::move(run)](kernel_call const& call) { run(call.pointers[0], call.pointers[1], call.scratch()); },
      bytes);
}

}  // namespace detail

RILL_CUDA_INLINE std::string states_of_lines_text(std::string_view state, dtype element) {
  auto const s = std::string(state), t = name_in_text(element);
  return text_head("states.cuh") +
         kernel_in_text("pass(global<" + t + " const> from, global<" + s + "> states, global<" + t +
                            "> results, double given, long outer, long middle)",
                        "states_of_lines<" + s + ", " + t + ">(from, states, results, given, outer, middle);");
}
RILL_CUDA_INLINE std::string states_of_columns_text(std::string_view state, bool of_states, dtype element) {
  auto const s = std::string(state), t = name_in_text(element), from = of_states ? s : t;
  return text_head("states.cuh") +
         kernel_in_text("pass(global<" + from + " const> from, global<" + s + "> states, global<" + t +
                            "> results, double given, long outer, long middle, long inner)",
                        "states_of_columns<" + s + ", " + from + ", " + t +
                            ">(from, states, results, given, outer, middle, inner);");
}
RILL_CUDA_INLINE std::string join_states_text(std::string_view state, dtype element) {
  auto const s = std::string(state), t = name_in_text(element);
  return text_head("states.cuh") +
         kernel_in_text("join(global<" + s + "> states, global<" + t +
                            "> results, double given, long count, long parts, int each)",
                        "join_states<" + s + ", " + t + ">(states, results, given, count, parts, each);");
}

RILL_CUDA_INLINE kernel variance_kernel(kernel_request const& r) {
  auto const a = decode<ops::variance_op::attributes>(r.at.attributes);
  return detail::states_kernel(r, {"moments", moments_bytes}, a.axes, static_cast<double>(a.ddof));
}
RILL_CUDA_INLINE kernel logsumexp_kernel(kernel_request const& r) {
  return detail::states_kernel(r, {"exponentials", exponentials_bytes}, decode<ops::reduction>(r.at.attributes).axes,
                               0);
}

}  // namespace rill::cuda
#endif
