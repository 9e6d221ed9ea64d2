// The kernels and the passes of reductions.
#pragma once

#if RILL_KERNELS
#include "rill/ops/sum/reduce_kernels.hpp"

namespace rill::ops {

/// A pass by `Reduce` from elements of type T to those of type To.
template <class T, class To,
          void (*Reduce)(rill::kernels::reduce_shape const&, T const*, To*, void*, parallel const&) noexcept>
void reduction_pass_by(reduction_pass const& p, void const* from, void* to, void* scratch, parallel const& threads) {
  Reduce({p.outer, p.middle, p.inner}, static_cast<T const*>(from), static_cast<To*>(to), scratch, threads);
}
template <reducer What, class T, class To = T> constexpr reduction_kernel::function* reduction_of() {
  namespace k = rill::kernels;
  if constexpr (What == reducer::sum) return reduction_pass_by<T, To, k::reduce_sum<T, To>>;
  else if constexpr (What == reducer::mean) return reduction_pass_by<T, To, k::reduce_mean<T, To>>;
  else if constexpr (What == reducer::prod) return reduction_pass_by<T, To, k::reduce_prod<T, To>>;
  else if constexpr (What == reducer::min) return reduction_pass_by<T, T, k::reduce_min<T>>;
  else return reduction_pass_by<T, T, k::reduce_max<T>>;
}
template <reducer What, class T> constexpr reduction_kernel reductions_of() {
  reduction_kernel k{.run = reduction_of<What, T>(), .scratch = [](reduction_pass const& p) {
                       return rill::kernels::reduce_scratch_bytes<T>({p.outer, p.middle, p.inner});
                     }};
  if constexpr (is_float(dtype_of<T>) && sizeof(T) == 2 && What != reducer::min && What != reducer::max) {
    k.first = reduction_of<What, T, float>();
    k.next = reduction_of<What, float>();
    k.last = reduction_of<What, float, T>();
  }
  return k;
}

template <class Op> template <dtypes Set> constexpr reduction_table reduce_rules<Op>::make_kernels() {
  reduction_table t;
  for_each_type<Op::elements & Set>([&]<class T>(std::size_t d) { t.of[d] = reductions_of<Op::reduces, T>(); });
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
  auto const bytes = [size = use.first ? sizeof(float) : size_of(x.element)](reduction_pass const& p) {
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
          auto* const run = !use.first || passes.size() == 1 ? use.run
                            : i == 0                         ? use.first
                            : i + 1 < passes.size()          ? use.next
                                                             : use.last;
          run(passes[i], from, to, call.scratch(), call.threads);
          from = to;
          if (i + 1 < passes.size()) next += bytes(passes[i]);
        }
      },
      within + between);
}

}  // namespace rill::ops
#endif
