// What reductions share: the axes they go over, the type that is left, and the kernel made of passes.
#pragma once
#include <algorithm>
#include <cstring>
#include <vector>

#include "rill/dsl/expr.hpp"
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/base/kernels.hpp"

namespace rill {

/// Asks a reduction to leave the reduced axes as extents of 1: `sum<1>(x, keep)`.
struct keep_extents {};
/// Leaves the reduced axes as extents of 1: `sum<1>(x, keep)`.
inline constexpr keep_extents keep;

namespace ops {

/// The axes of a reduction (negative ones count from the end; empty: all), and whether they stay as extents of 1.
struct reduction {
  extents axes;
  bool keep = false;
  static constexpr auto fields(auto const& take) {
    return take(field{"axes", &reduction::axes}, field{"keep", &reduction::keep});
  }
};

/// Returns for each axis whether the list contains it; an empty list contains all.
constexpr std::array<bool, max_rank> reduced_axes(extents const& axes, std::size_t rank, checks expects = {}) {
  std::array<bool, max_rank> gone{};
  for (std::size_t i = 0; i < rank; ++i) gone[i] = axes.empty();
  for (auto axis : axes) {
    auto const i = checked_axis(axis, rank, "a reduction's axis is out of range for the operand's rank", expects);
    expects(!gone[i], "a reduction names an axis twice");
    gone[i] = true;
  }
  return gone;
}

/// Returns the type of a reduction's result.
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

/// One pass of a reduction: [outer, middle, inner] elements are reduced to [outer, inner].
struct reduction_pass {
  std::ptrdiff_t outer = 1, middle = 1, inner = 1;
};

/// A reduction on raw pointers. The order of summation depends on the extents alone.
struct reduction_kernel {
  using function = void(reduction_pass const&, void const* from, void* to, void* scratch, parallel const&);
  function* run = nullptr;
  /// For the passes of sums, means and products of 16-bit floats, which keep float32 between them: what reads the
  /// 16-bit elements, what goes from float32 to float32, and what rounds at the end. Null: `run` does each pass.
  function *first = nullptr, *next = nullptr, *last = nullptr;
  std::size_t (*scratch)(reduction_pass const&) = nullptr;
};

/// What a reduction computes from the elements.
enum class reducer : std::uint8_t { sum, mean, prod, min, max };

/// Reductions by element type.
struct reduction_table {
  std::array<reduction_kernel, dtype_count> of{};
};

/// Returns the passes that reduce the marked axes: one for each run of adjacent axes, the last run first.
std::vector<reduction_pass> reduction_passes(shape const& x, std::array<bool, max_rank> const& gone);

/// Returns the kernel of a reduction of input 0 over the marked axes.
kernel make_reduction(reduction_table const& table, type const& x, std::array<bool, max_rank> const& gone);

/// Returns the cost of reading the input once with one operation for each element.
inline cost reduction_work(std::span<type const> inputs, std::span<type const> outputs) {
  cost c;
  c.bytes = detail::bytes_of(inputs) + detail::bytes_of(outputs);
  if (inputs[0].is_known()) c.flops = static_cast<double>(elements(inputs[0].shape()));
  return c;
}

/// What sum, mean, prod, max, min, all and any share. `Op::reduces` names the kernel.
template <class Op> struct reduce_rules {
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes common = common_floats;
  using attributes = reduction;
  using kernels = reduction_table;
  static cost work(reduction const&, std::span<type const> in, std::span<type const> out) {
    return reduction_work(in, out);
  }
  template <dtypes Set> static constexpr reduction_table make_kernels();
  static kernel cpu(kernel_request const& r);
};

}  // namespace ops
}  // namespace rill

#include "rill/ops/sum/axes.ipp"
