// Where the largest, or the smallest, element along an axis is.
#pragma once
#include "rill/ops/reduction/max.hpp"

#if RILL_KERNELS
#include "rill/ops/reduction/argmax_kernels.hpp"
#endif

namespace rill::ops {

/// What argmax and argmin share. Op's `run<T, Index>` is the kernel.
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
  /// By the operand's element type, for int32 and int64.
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
#if RILL_KERNELS
  template <dtypes Set> static constexpr kernels make_kernels() {
    kernels k;
    for_each_type<elements & Set>([&]<class T>(std::size_t d) {
      k.narrow[d] = Op::template run<T, std::int32_t>;
      k.wide[d] = Op::template run<T, std::int64_t>;
    });
    return k;
  }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
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
#endif
};

struct argmax_op : place_of_extreme<argmax_op> {
  using library = void;
  static constexpr std::string_view name = "argmax",
                                    doc =
                                        "the index of the largest element along an axis: the first of equals, the "
                                        "first NaN if there is one";
  static constexpr char const *outside = "argmax: the axis lies outside of the operand's rank",
                              *of_others = "argmax: only real numbers have a largest; cast the operand",
                              *other_index = "argmax: an index is an int32 or an int64",
                              *of_nothing = "argmax: there is no largest among no elements",
                              *too_long = "argmax: an int32 can't count this axis; ask for int64";
#if RILL_KERNELS
  template <class T, class Index>
  static void run(reduction_pass const& p, void const* from, void* to, parallel const& threads) {
    rill::kernels::argmax({p.outer, p.middle, p.inner}, static_cast<T const*>(from), static_cast<Index*>(to), threads);
  }
#endif
};

struct argmin_op : place_of_extreme<argmin_op> {
  using library = void;
  static constexpr std::string_view name = "argmin",
                                    doc =
                                        "the index of the smallest element along an axis: the first of equals, the "
                                        "first NaN if there is one";
  static constexpr char const *outside = "argmin: the axis lies outside of the operand's rank",
                              *of_others = "argmin: only real numbers have a smallest; cast the operand",
                              *other_index = "argmin: an index is an int32 or an int64",
                              *of_nothing = "argmin: there is no smallest among no elements",
                              *too_long = "argmin: an int32 can't count this axis; ask for int64";
#if RILL_KERNELS
  template <class T, class Index>
  static void run(reduction_pass const& p, void const* from, void* to, parallel const& threads) {
    rill::kernels::argmin({p.outer, p.middle, p.inner}, static_cast<T const*>(from), static_cast<Index*>(to), threads);
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// The index of the largest element along an axis, as int32 or as asked: `argmax<1>(logits)`, `argmax<1,
/// std::int64_t>(logits)`. The first of equals; the first NaN if there is one.
template <std::int64_t Axis, element Index = std::int32_t, operand X> auto argmax(X x) {
  return record<ops::argmax_op, ops::argmax_op::attributes{Axis, dtype_of<Index>}>(x);
}
/// The same along an axis that only the run of the program knows.
inline value argmax(value x, std::int64_t axis, dtype index = dtype::int32) {
  return record_erased<ops::argmax_op>(detail::graph_of(x), {axis, index}, {x});
}
/// The index of the smallest element along an axis, as int32 or as asked: `argmin<1>(logits)`, `argmin<1,
/// std::int64_t>(logits)`. The first of equals; the first NaN if there is one.
template <std::int64_t Axis, element Index = std::int32_t, operand X> auto argmin(X x) {
  return record<ops::argmin_op, ops::argmin_op::attributes{Axis, dtype_of<Index>}>(x);
}
/// The same along an axis that only the run of the program knows.
inline value argmin(value x, std::int64_t axis, dtype index = dtype::int32) {
  return record_erased<ops::argmin_op>(detail::graph_of(x), {axis, index}, {x});
}

}  // namespace rill
