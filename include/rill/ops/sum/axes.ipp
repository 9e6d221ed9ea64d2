// The kernels and the passes of reductions.
#pragma once

#if RILL_KERNELS
#include "rill/ops/sum/reduce_kernels.hpp"

namespace rill::ops {

/// A reduction with elements of type T by `Reduce`.
template <class T, void (*Reduce)(rill::kernels::reduce_shape const&, T const*, T*, void*, parallel const&) noexcept>
constexpr reduction_kernel reduction_by() {
  return {[](reduction_pass const& p, void const* from, void* to, void* scratch, parallel const& threads) {
            Reduce({p.outer, p.middle, p.inner}, static_cast<T const*>(from), static_cast<T*>(to), scratch, threads);
          },
          [](reduction_pass const& p) { return rill::kernels::reduce_scratch_bytes<T>({p.outer, p.middle, p.inner}); }};
}

template <reducer What, class T> constexpr reduction_kernel reduction_of() {
  namespace k = rill::kernels;
  if constexpr (What == reducer::sum) return reduction_by<T, k::reduce_sum<T>>();
  else if constexpr (What == reducer::mean) return reduction_by<T, k::reduce_mean<T>>();
  else if constexpr (What == reducer::prod) return reduction_by<T, k::reduce_prod<T>>();
  else if constexpr (What == reducer::min) return reduction_by<T, k::reduce_min<T>>();
  else return reduction_by<T, k::reduce_max<T>>();
}

template <class Op> template <dtypes Set> constexpr reduction_table reduce_rules<Op>::make_kernels() {
  reduction_table t;
  for_each_type<Op::elements & Set>([&]<class T>(std::size_t d) { t.of[d] = reduction_of<Op::reduces, T>(); });
  return t;
}

}  // namespace rill::ops
#endif

#if RILL_DEFINITIONS
namespace rill::ops {

template <class Op> kernel reduce_rules<Op>::cpu(kernel_request const& r) {
  auto const& x = r.inputs[0];
  return make_reduction(kernels_of<Op>(x.element), x, reduced_axes(decode<reduction>(r.at.attributes).axes, x.rank));
}

}  // namespace rill::ops
#endif

#if RILL_RUNTIME
namespace rill::ops {

RILL_INLINE std::vector<reduction_pass> reduction_passes(shape const& x, std::array<bool, max_rank> const& gone) {
  std::vector<std::pair<std::ptrdiff_t, bool>> runs;  // extent, reduced
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (x[i] == 1) continue;
    if (!runs.empty() && runs.back().second == gone[i]) runs.back().first *= x[i];
    else runs.push_back({x[i], gone[i]});
  }
  std::vector<reduction_pass> passes;
  std::ptrdiff_t inner = 1;
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

RILL_INLINE kernel make_reduction(reduction_table const& table, type const& x, std::array<bool, max_rank> const& gone) {
  auto const use = table.of[static_cast<std::size_t>(x.element)];
  auto const passes = reduction_passes(x.shape(), gone);
  if (passes.size() == 1 && passes[0].middle == 1) {  // of one each: itself, for -0 + 0 is another
    kernel k([bytes = x.bytes()](kernel_call const& call) {
      if (bytes != 0 && call.out(0) != call.in(0)) std::memcpy(call.out(0), call.in(0), bytes);
    });
    k.input_output_aliases = {{0, 0}};
    return k;
  }
  auto const bytes = [size = size_of(x.element)](reduction_pass const& p) {
    return (static_cast<std::size_t>(p.outer * p.inner) * size + 63) / 64 * 64;
  };
  std::size_t between = 0, within = 0;  // bytes passed to the next pass; bytes of scratch within a pass
  for (std::size_t i = 0; i < passes.size(); ++i) {
    if (i + 1 < passes.size()) between += bytes(passes[i]);
    within = std::max(within, use.scratch(passes[i]));
  }
  return kernel(
      [=](kernel_call const& call) {
        void const* from = call.in(0) != nullptr ? call.in(0) : call.out(0);  // without elements nothing is read
        auto* next = static_cast<std::byte*>(call.scratch()) + within;
        for (std::size_t i = 0; i < passes.size(); ++i) {
          void* const to = i + 1 == passes.size() ? call.out(0) : next;
          use.run(passes[i], from, to, call.scratch(), call.threads);
          from = to;
          if (i + 1 < passes.size()) next += bytes(passes[i]);
        }
      },
      within + between);
}

}  // namespace rill::ops
#endif
