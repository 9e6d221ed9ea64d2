// What variance and logsumexp share: reductions with a state that is merged.
#pragma once
#include "rill/ops/sum/axes.hpp"

namespace rill::ops {

/// The passes of a reduction with states on raw pointers: from numbers to states, from states to states, and from
/// states to numbers.
struct state_reduction_kernel {
  void (*first)(reduction_pass const&, void const* from, void* to, parallel const&) = nullptr;
  void (*next)(reduction_pass const&, void const* from, void* to, parallel const&) = nullptr;
  void (*finish)(void const* states, std::ptrdiff_t count, double given, void* to, parallel const&) = nullptr;
  std::size_t (*scratch)(reduction_pass const&) = nullptr;  ///< bytes of the states that a pass leaves
};

/// Reductions with states by element type.
struct state_reduction_table {
  std::array<state_reduction_kernel, dtype_count> of{};
};

/// Returns the kernel of a reduction by states of input 0 over the marked axes; `given` is what `finish` is told.
kernel make_state_reduction(state_reduction_table const& table, type const& x, std::array<bool, max_rank> const& gone,
                            double given);

}  // namespace rill::ops

#if RILL_KERNELS
#include "rill/ops/reduction/state_kernels.hpp"

namespace rill::ops {

/// Returns the passes for one kind of state and one element type.
template <class State, class T> constexpr state_reduction_kernel state_reduction_of() {
  namespace k = rill::kernels;
  return {[](reduction_pass const& p, void const* from, void* to, parallel const& threads) {
            k::reduce_states({p.outer, p.middle, p.inner}, static_cast<T const*>(from), static_cast<State*>(to),
                             threads);
          },
          [](reduction_pass const& p, void const* from, void* to, parallel const& threads) {
            k::reduce_states({p.outer, p.middle, p.inner}, static_cast<State const*>(from), static_cast<State*>(to),
                             threads);
          },
          [](void const* states, std::ptrdiff_t count, double given, void* to, parallel const& threads) {
            k::finish_states(static_cast<State const*>(states), count, given, static_cast<T*>(to), threads);
          },
          [](reduction_pass const& p) {
            return (static_cast<std::size_t>(k::states_of_pass({p.outer, p.middle, p.inner})) * sizeof(State) + 63) /
                   64 * 64;
          }};
}

}  // namespace rill::ops
#endif

#if RILL_RUNTIME
namespace rill::ops {

RILL_INLINE kernel make_state_reduction(state_reduction_table const& table, type const& x,
                                        std::array<bool, max_rank> const& gone, double given) {
  auto const use = table.of[static_cast<std::size_t>(x.element)];
  auto const passes = reduction_passes(x.shape(), gone);
  std::size_t bytes = 0;
  for (auto const& p : passes) bytes += use.scratch(p);
  return kernel(
      [=](kernel_call const& call) {
        void const* from = call.in(0) != nullptr ? call.in(0) : call.out(0);  // without elements nothing is read
        auto* states = static_cast<std::byte*>(call.scratch());
        for (std::size_t i = 0; i < passes.size(); ++i) {
          (i == 0 ? use.first : use.next)(passes[i], from, states, call.threads);
          from = states;
          states += use.scratch(passes[i]);
        }
        use.finish(from, passes.back().outer * passes.back().inner, given, call.out(0), call.threads);
      },
      bytes);
}

}  // namespace rill::ops
#endif
