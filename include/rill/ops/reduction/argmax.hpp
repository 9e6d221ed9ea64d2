// The index of the largest, or of the smallest, element along an axis.
#pragma once
#include "rill/ops/reduction/max.hpp"

namespace rill::ops {

/// What argmax and argmin share. `Op::largest` says which of the two it is.
template <class Op> struct place_of_extreme {
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = dtypes::reals, common = common_floats;
  struct attributes {
    std::int64_t axis = -1;
    dtype index = dtype::int32;
    static constexpr auto fields(auto const& take) {
      return take(field{"axis", &attributes::axis}, field{"index", &attributes::index});
    }
  };
  using run_function = void (*)(reduction_pass const&, void const* from, void* to, parallel const&);
  /// Kernels by the operand's element type, for indices of int32 and of int64.
  struct kernels {
    std::array<run_function, dtype_count> narrow{}, wide{};
  };
  static constexpr std::size_t axis_of(attributes const& a, std::size_t rank, checks expects = {}) {
    return checked_axis(a.axis, rank, Op::outside, expects);
  }
  static constexpr type infer(attributes const& a, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), Op::of_others);
    expects(dtypes::indices.contains(a.index), Op::other_index);
    if (!x.has_rank()) return type::of_unknown_rank(a.index);
    return without_axis(x, axis_of(a, x.rank, expects)).with(a.index);
  }
  static cost work(attributes const&, std::span<type const> in, std::span<type const> out) {
    return reduction_work(in, out);
  }
  template <dtypes Set> static constexpr kernels make_kernels();
  static kernel cpu(kernel_request const& r);
};

struct argmax_op : place_of_extreme<argmax_op> {
  using library = void;
  static constexpr std::string_view
      name = "argmax",
      doc = "the index of the largest element along an axis; the first of equal ones; the first NaN if there is one";
  static constexpr char const *outside = "argmax: the axis is out of range for the operand's rank",
                              *of_others = "argmax: the operand is not of real numbers; cast it",
                              *other_index = "argmax: the index must be int32 or int64",
                              *of_nothing = "argmax: the axis has no elements",
                              *too_long = "argmax: the extent of the axis does not fit in int32; ask for int64";
  static constexpr bool largest = true;
};

struct argmin_op : place_of_extreme<argmin_op> {
  using library = void;
  static constexpr std::string_view
      name = "argmin",
      doc = "the index of the smallest element along an axis; the first of equal ones; the first NaN if there is one";
  static constexpr char const *outside = "argmin: the axis is out of range for the operand's rank",
                              *of_others = "argmin: the operand is not of real numbers; cast it",
                              *other_index = "argmin: the index must be int32 or int64",
                              *of_nothing = "argmin: the axis has no elements",
                              *too_long = "argmin: the extent of the axis does not fit in int32; ask for int64";
  static constexpr bool largest = false;
};

}  // namespace rill::ops

namespace rill {

/// Returns the index of the largest element along an axis, as int32 or another index type: `argmax<1>(logits)`,
/// `argmax<1, std::int64_t>(logits)`. Returns the first of equal elements, and the first NaN if there is one.
template <std::int64_t Axis, element Index = std::int32_t, operand X> auto argmax(X x) {
  return record<ops::argmax_op, ops::argmax_op::attributes{Axis, dtype_of<Index>}>(x);
}
/// Returns the same along an axis known only at run time.
inline value argmax(value x, std::int64_t axis, dtype index = dtype::int32) {
  return record_erased<ops::argmax_op>(detail::graph_of(x), {axis, index}, {x});
}
/// Returns the index of the smallest element along an axis, as int32 or another index type: `argmin<1>(logits)`,
/// `argmin<1, std::int64_t>(logits)`. Returns the first of equal elements, and the first NaN if there is one.
template <std::int64_t Axis, element Index = std::int32_t, operand X> auto argmin(X x) {
  return record<ops::argmin_op, ops::argmin_op::attributes{Axis, dtype_of<Index>}>(x);
}
/// Returns the same along an axis known only at run time.
inline value argmin(value x, std::int64_t axis, dtype index = dtype::int32) {
  return record_erased<ops::argmin_op>(detail::graph_of(x), {axis, index}, {x});
}

}  // namespace rill

#if RILL_KERNELS
#include "rill/ops/reduction/argmax_kernels.hpp"

namespace rill::ops {

template <bool Largest, class T, class Index>
void run_argmax(reduction_pass const& p, void const* from, void* to, parallel const& threads) {
  auto const* const x = static_cast<T const*>(from);
  auto* const y = static_cast<Index*>(to);
  if constexpr (Largest) rill::kernels::argmax({p.outer, p.middle, p.inner}, x, y, threads);
  else rill::kernels::argmin({p.outer, p.middle, p.inner}, x, y, threads);
}

template <class Op>
template <dtypes Set>
constexpr typename place_of_extreme<Op>::kernels place_of_extreme<Op>::make_kernels() {
  kernels k;
  for_each_type<elements & Set>([&]<class T>(std::size_t d) {
    k.narrow[d] = run_argmax<Op::largest, T, std::int32_t>;
    k.wide[d] = run_argmax<Op::largest, T, std::int64_t>;
  });
  return k;
}

}  // namespace rill::ops
#endif

#if RILL_DEFINITIONS
namespace rill::ops {

template <class Op> kernel place_of_extreme<Op>::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  auto const x = r.inputs[0].shape();
  auto const axis = axis_of(a, x.rank());
  refuse_nothing(x, reduced_axes(extents{axis}, x.rank()), Op::of_nothing);
  expects(a.index == dtype::int64 || x[axis] <= INT32_MAX, Op::too_long);
  reduction_pass p{1, x[axis], 1};
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (i != axis) (i < axis ? p.outer : p.inner) *= x[i];
  auto const element = r.inputs[0].element;
  auto const& all = kernels_of<Op>(element);
  auto const use = (a.index == dtype::int32 ? all.narrow : all.wide)[static_cast<std::size_t>(element)];
  return kernel([=](kernel_call const& call) { use(p, call.in(0), call.out(0), call.threads); });
}

}  // namespace rill::ops
#endif
