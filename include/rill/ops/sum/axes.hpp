// What reductions share: the axes they go over, the type that is left, and the kernel made of passes.
#pragma once
#include <algorithm>
#include <cstring>
#include <vector>

#include "rill/dsl/expr.hpp"
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/base/kernels.hpp"

#if RILL_KERNELS
#include "rill/ops/sum/reduce_kernels.hpp"
#endif

namespace rill {

/// Asks a reduction to leave the reduced axes as extents of 1: `sum<1>(x, keep)`.
struct keep_extents {};
/// Leaves the reduced axes as extents of 1: `sum<1>(x, keep)`.
inline constexpr keep_extents keep;

namespace ops {

/// Which axes a reduction goes over (negative ones count from the end; none: all), and whether they stay as extents
/// of 1.
struct reduction {
  extents axes;
  bool keep = false;
  static constexpr auto fields(auto const& take) {
    return take(field{"axes", &reduction::axes}, field{"keep", &reduction::keep});
  }
};

/// Which axes of a rank a list names, or all.
constexpr std::array<bool, max_rank> reduced_axes(extents const& axes, std::size_t rank, checks expects = {}) {
  std::array<bool, max_rank> gone{};
  for (std::size_t i = 0; i < rank; ++i) gone[i] = axes.empty();
  for (auto axis : axes) {
    auto const i = checked_axis(axis, rank, "a reduction's axis lies outside of the operand's rank", expects);
    expects(!gone[i], "a reduction names an axis twice");
    gone[i] = true;
  }
  return gone;
}

/// The type that a reduction leaves.
constexpr type reduced(reduction const& a, type const& x, checks expects = {}) {
  if (!x.has_rank()) return a.axes.empty() && !a.keep ? type(x.element) : type::of_unknown_rank(x.element);
  auto const gone = reduced_axes(a.axes, x.rank, expects);
  type y{x.element};
  for (std::size_t i = 0; i < x.rank; ++i) {
    if (!gone[i]) y.push_back(x[i]);
    else if (a.keep) y.push_back(1);
  }
  return y;
}

/// One pass of a reduction: the middle of [outer, middle, inner] elements goes.
struct reduction_pass {
  std::ptrdiff_t outer = 1, middle = 1, inner = 1;
};

/// A reduction on raw pointers. The order of summation depends on the extents alone.
struct reduction_kernel {
  void (*run)(reduction_pass const&, void const* from, void* to, void* scratch, parallel const&) = nullptr;
  std::size_t (*scratch)(reduction_pass const&) = nullptr;
};

/// Reductions by element type.
struct reduction_table {
  std::array<reduction_kernel, dtype_count> of{};
};

#if RILL_DEFINITIONS || RILL_RUNTIME
/// The passes that reduce the marked axes: one for each run of neighbouring ones, the last run first.
std::vector<reduction_pass> reduction_passes(shape const& x, std::array<bool, max_rank> const& gone);

/// The kernel of a reduction of input 0 over the marked axes.
kernel make_reduction(reduction_table const& table, type const& x, std::array<bool, max_rank> const& gone);
#endif

#if RILL_RUNTIME
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
  std::size_t between = 0, within = 0;  // what a pass leaves to the next; what a pass needs for itself
  for (std::size_t i = 0; i < passes.size(); ++i) {
    if (i + 1 < passes.size()) between += bytes(passes[i]);
    within = std::max(within, use.scratch(passes[i]));
  }
  return kernel(
      [=](kernel_call const& call) {
        void const* from = call.in(0) != nullptr ? call.in(0) : call.out(0);  // of nothing, nothing is read
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
#endif

#if RILL_KERNELS
/// `run` for one element type.
template <class T, void (*Reduce)(rill::kernels::reduce_shape const&, T const*, T*, void*, parallel const&) noexcept>
constexpr reduction_kernel reduction_of() {
  return {[](reduction_pass const& p, void const* from, void* to, void* scratch, parallel const& threads) {
            Reduce({p.outer, p.middle, p.inner}, static_cast<T const*>(from), static_cast<T*>(to), scratch, threads);
          },
          [](reduction_pass const& p) { return rill::kernels::reduce_scratch_bytes<T>({p.outer, p.middle, p.inner}); }};
}
#endif

/// Reads its input once; an operation for each element.
inline cost reduction_work(std::span<type const> inputs, std::span<type const> outputs) {
  cost c;
  c.bytes = detail::bytes_of(inputs) + detail::bytes_of(outputs);
  if (inputs[0].is_known()) c.flops = static_cast<double>(elements(inputs[0].shape()));
  return c;
}

/// What sum, mean and max share. Op's `reduce<T>()` is the kernel for elements of type T.
template <class Op> struct reduce_rules {
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes common = common_floats;
  using attributes = reduction;
  using kernels = reduction_table;
  static cost work(reduction const&, std::span<type const> in, std::span<type const> out) {
    return reduction_work(in, out);
  }
#if RILL_KERNELS
  template <dtypes Set> static constexpr reduction_table make_kernels() {
    reduction_table t;
    for_each_type<Op::elements & Set>([&]<class T>(std::size_t d) { t.of[d] = Op::template reduce<T>(); });
    return t;
  }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const& x = r.inputs[0];
    return make_reduction(kernels_of<Op>(x.element), x, reduced_axes(decode<reduction>(r.at.attributes).axes, x.rank));
  }
#endif
};

}  // namespace ops
}  // namespace rill
