// Variances and logarithms of sums of exponentials as kernels of a GPU.
#pragma once
#include "rill/cuda/gpu_device.hpp"
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Return the kernels of these operations.
kernel variance_kernel(kernel_request const& r);
kernel logsumexp_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <vector>

#include "rill/cuda/launch.hpp"
#include "rill/cuda/map_text.hpp"
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
    for (auto const& p : passes) add(kind, std::string(name_in_text(element)), p, &p == &passes.back());
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
      auto const how = s.lines ? shape_for(outer * s.parts, 16, 256) : shape_for(outer * s.parts * inner, 128, 128);
      // A kernel of lines has no parameter `inner`: the driver reads as many as there are.
      launch(on_, *s.run, how, from, states, joins ? none : results, given_, outer, middle, inner);
      if (joins) {
        auto const each = static_cast<std::int32_t>(
            std::min<std::uint64_t>(std::bit_ceil(static_cast<std::uint64_t>(s.parts)) / 2, 256));
        launch(on_, *s.join, shape_for(outer * inner, 256 / each, 256), states, results, given_, outer * inner, s.parts,
               each);
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

  void add(state_kind kind, std::string const& element, ops::reduction_pass const& p, bool last) {
    std::int64_t const part = p.inner == 1 ? 4096 : 256,
                       parts = std::max<std::int64_t>(1, (p.middle + part - 1) / part);
    step s{p, parts, scratch_, steps_.empty() && p.inner == 1, nullptr, nullptr};
    if (!last || parts > 1) scratch_ += (p.outer * parts * p.inner * kind.bytes + 63) / 64 * 64;
    std::string const state(kind.name);
    std::string const from = steps_.empty() ? element : state,
                      extents = s.lines ? "outer, middle" : "outer, middle, inner";
    s.run = on_.find(begin() + "extern \"C\" __global__ void pass(global<" + from + " const> from, global<" + state +
                         "> states, global<" + element + "> results, double given, long outer, long middle" +
                         (s.lines ? "" : ", long inner") + ") {\n  states_of_" + (s.lines ? "lines<" : "columns<") +
                         state + ", " + from + (s.lines ? "" : ", " + element) + ">(from, states, results, given, " +
                         extents + ");\n}\n",
                     "pass");
    if (parts > 1)
      s.join = on_.find(begin() + "extern \"C\" __global__ void join(global<" + state + "> states, global<" + element +
                            "> results, double given, long count, long parts, int each) {\n  join_states<" + state +
                            ", " + element + ">(states, results, given, count, parts, each);\n}\n",
                        "join");
    steps_.push_back(std::move(s));
  }
  static std::string begin() { return "#include \"rill/cuda/text/states.cuh\"\nusing namespace rill::text;\n"; }

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

RILL_CUDA_INLINE kernel variance_kernel(kernel_request const& r) {
  auto const a = decode<ops::variance_op::attributes>(r.at.attributes);
  return detail::states_kernel(r, {"moments", 24}, a.axes, static_cast<double>(a.ddof));
}
RILL_CUDA_INLINE kernel logsumexp_kernel(kernel_request const& r) {
  return detail::states_kernel(r, {"exponentials", 16}, decode<ops::reduction>(r.at.attributes).axes, 0);
}

}  // namespace rill::cuda
#endif
