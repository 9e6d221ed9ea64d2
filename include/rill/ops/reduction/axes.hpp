// What reductions share: the axes they go over, the type that is left, and the kernel made of passes.
#pragma once
#include <vector>

#include "rill/dsl/expr.hpp"
#include "rill/ops/kernels.hpp"

namespace rill {

/// Asks a reduction to leave the reduced axes as extents of 1: `sum<1>(x, keep)`.
struct keep_extents {};
inline constexpr keep_extents keep;

namespace ops {

/// Which axes a reduction goes over (negative ones count from the end; none: all), and whether they stay as extents
/// of 1.
struct reduction {
  extents axes;
  bool keep = false;
  static constexpr auto fields() { return std::tuple{field{"axes", &reduction::axes}, field{"keep", &reduction::keep}}; }
};

/// Which axes of a rank a list names, or all.
constexpr std::array<bool, max_rank> reduced_axes(extents const& axes, std::size_t rank) {
  std::array<bool, max_rank> gone{};
  for (std::size_t i = 0; i < rank; ++i) gone[i] = axes.empty();
  for (auto axis : axes) {
    auto const i = checked_axis(axis, rank, "a reduction's axis lies outside of the operand's rank");
    expects(!gone[i], "a reduction names an axis twice");
    gone[i] = true;
  }
  return gone;
}

/// The type that a reduction leaves.
constexpr type reduced(reduction const& a, type const& x) {
  if (!x.has_rank()) return a.axes.empty() && !a.keep ? type(x.element) : type::of_unknown_rank(x.element);
  auto const gone = reduced_axes(a.axes, x.rank);
  type y{x.element};
  for (std::size_t i = 0; i < x.rank; ++i) {
    if (!gone[i]) y.push_back(x[i]);
    else if (a.keep) y.push_back(1);
  }
  return y;
}

/// Reduces the middle of [outer, middle, inner] elements. Each result's order of summation depends on the extents alone.
using reduction_kernel = void (*)(void* to, void const* from, std::size_t outer, std::size_t middle, std::size_t inner,
                                  parallel const& threads);

/// Reductions by element type.
struct reduction_table {
  std::array<reduction_kernel, dtype_count> of{};
};

#if RILL_DEFINITIONS
/// One pass of a reduction: the middle of [outer, middle, inner] elements goes.
struct reduction_pass {
  std::size_t outer = 1, middle = 1, inner = 1;
  std::size_t results() const { return outer * inner; }
};

/// The passes that reduce the marked axes: one for each run of neighbouring ones, the last run first.
inline std::vector<reduction_pass> reduction_passes(shape const& x, std::array<bool, max_rank> const& gone) {
  std::vector<reduction_pass> passes;
  std::vector<std::pair<std::size_t, bool>> runs;  // extent, reduced
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (x[i] == 1) continue;
    auto const extent = static_cast<std::size_t>(x[i]);
    if (!runs.empty() && runs.back().second == gone[i]) runs.back().first *= extent;
    else runs.push_back({extent, gone[i]});
  }
  std::size_t inner = 1;
  for (std::size_t r = runs.size(); r-- > 0;) {
    if (!runs[r].second) {
      inner *= runs[r].first;
      continue;
    }
    reduction_pass p{1, runs[r].first, inner};
    for (std::size_t before = 0; before < r; ++before) p.outer *= runs[before].first;
    passes.push_back(p);
  }
  if (passes.empty()) passes.push_back({1, 1, inner});
  return passes;
}

/// The kernel of a reduction of input 0 over the marked axes.
inline kernel make_reduction(reduction_kernel run, type const& x, std::array<bool, max_rank> const& gone) {
  auto const passes = reduction_passes(x.shape(), gone);
  auto const size = size_of(x.element);
  std::size_t scratch = 0;
  for (std::size_t i = 0; i + 1 < passes.size(); ++i) scratch += passes[i].results() * size;
  return kernel(
      [run, passes, size](kernel_call const& call) {
        void const* from = call.in(0);
        auto* to = static_cast<std::byte*>(call.scratch());
        for (std::size_t i = 0; i < passes.size(); ++i) {
          auto const& p = passes[i];
          void* const result = i + 1 == passes.size() ? call.out(0) : to;
          run(result, from, p.outer, p.middle, p.inner, call.threads);
          from = result;
          to += p.results() * size;
        }
      },
      scratch);
}
#endif

/// Reads its input once; an operation for each element.
inline cost reduction_work(std::span<type const> inputs, std::span<type const> outputs) {
  cost c;
  c.bytes = detail::bytes_of(inputs) + detail::bytes_of(outputs);
  if (inputs[0].is_known()) c.flops = static_cast<double>(elements(inputs[0].shape()));
  return c;
}

}  // namespace ops
}  // namespace rill
