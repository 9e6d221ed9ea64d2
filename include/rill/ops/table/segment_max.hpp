// The largest and the least elements of rows by segment.
#pragma once
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/table/segment_sum.hpp"

namespace rill {

namespace ops {

struct segment_max_op {
  using library = void;
  static constexpr std::string_view
      name = "segment_max",
      doc =
          "the largest elements, or the least, of the rows of each of `count` segments, column by column, for ids that "
          "say to which each row belongs; rows with ids below 0 are left out; equal elements share the derivative";
  static constexpr std::int8_t arity = 2;
  static constexpr bool wide_gradient = true;  // it counts equal elements
  static constexpr dtypes elements = dtypes::reals, common = common_floats;
  struct attributes {
    std::int64_t count = 0;
    bool sorted = false, least = false;
    static constexpr auto fields(auto const& take) {
      using a = attributes;
      return take(field{"count", &a::count}, field{"sorted", &a::sorted}, field{"least", &a::least});
    }
  };
  /// By element type: the largest elements, and the least.
  struct kernels {
    std::array<
        std::array<void (*)(segment_call const&, void const* x, std::int64_t const* ids, void* to, parallel const&),
                   dtype_count>,
        2>
        run{};
  };
  static constexpr type infer(attributes const& a, type const& x, type const& ids, checks expects = {}) {
    expects(elements.contains(x.element), "segment_max: the rows are not of real numbers; cast them");
    return segmented(a.count, a.sorted, x, ids, expects);
  }
  static cost work(attributes const&, std::span<type const> in, std::span<type const> out) {
    return {rill::detail::elements_of(in.first(1)), rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(2);
    if (!r.wanted[0]) return all;
    auto const a = decode<attributes>(r.origin().attributes);
    V x = r.in(0), ids = r.in(1), y = r.out(), dy = r.dy();
    auto const take = [&](V segments) {
      return V(record_erased<segment_take_op>(rill::detail::graph_of(x), {a.count, false, false}, {segments, ids}));
    };
    V taken = equal(x, take(y));
    V count = unsorted_segment_sum(select(taken, like(dy, 1), zero(dy)), ids, a.count);
    all[0] = select(taken, take(dy / maximum(count, 1)), zero(dy));
    return all;
  }
#if RILL_KERNELS
  template <dtypes Set> static constexpr kernels make_kernels() {
    kernels k;
    for_each_type<elements & Set>(
        [&]<class T>(std::size_t d) { k.run[0][d] = run<false, T>, k.run[1][d] = run<true, T>; });
    return k;
  }
  template <bool Least, class T>
  static void run(segment_call const& c, void const* x, std::int64_t const* ids, void* to, parallel const& threads) {
    rill::kernels::extremes_of_segments<Least>({c.rows, c.width, c.count, ids}, static_cast<T const*>(x),
                                               static_cast<T*>(to), threads);
  }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const a = decode<attributes>(r.at.attributes);
    segment_reader const read(r.inputs[1], a.count, a.sorted);
    segment_call const c{read.count(), segment_width(r.outputs[0]), static_cast<std::size_t>(a.count), false};
    auto const element = r.inputs[0].element;
    auto const run = kernels_of<segment_max_op>(element).run[a.least ? 1 : 0][static_cast<std::size_t>(element)];
    return kernel(
        [=](kernel_call const& call) {
          auto* const ids = static_cast<std::int64_t*>(call.scratch());
          read(call.in(1), ids);
          run(c, call.in(0), ids, call.out(0), call.threads);
        },
        c.rows * sizeof(std::int64_t));
  }
#endif
};

}  // namespace ops

namespace detail {
template <bool Sorted, bool Least> value extremes_of_segments(value x, value ids, std::int64_t count) {
  return record_erased<ops::segment_max_op>(graph_of(x), {count, Sorted, Least}, {x, ids});
}
}  // namespace detail

/// Returns the largest elements of the rows of each of `count` segments, column by column: `segment_max<3>(x, ids)`.
/// Row i belongs to segment ids[i]; ids are int32 or int64 and ascend. A column with a NaN gives NaN; segments without
/// rows give -inf, or the least integer. Equal largest elements share the derivative equally.
template <std::int64_t Count, operand X, operand Ids> auto segment_max(X x, Ids ids) {
  return record<ops::segment_max_op, ops::segment_max_op::attributes{Count, true, false}>(x, ids);
}
/// Returns the same for a number of segments known only at run time.
inline value segment_max(value x, value ids, std::int64_t count) {
  return detail::extremes_of_segments<true, false>(x, ids, count);
}
/// Returns the least elements of the rows of each of `count` segments; ids ascend. Segments without rows give inf, or
/// the largest integer.
template <std::int64_t Count, operand X, operand Ids> auto segment_min(X x, Ids ids) {
  return record<ops::segment_max_op, ops::segment_max_op::attributes{Count, true, true}>(x, ids);
}
/// Returns the same for a number of segments known only at run time.
inline value segment_min(value x, value ids, std::int64_t count) {
  return detail::extremes_of_segments<true, true>(x, ids, count);
}
/// Returns the largest elements of the rows of each of `count` segments, for ids in any order and of any rank: `x`
/// begins with the extents of the ids. Rows with ids below 0 are left out.
template <std::int64_t Count, operand X, operand Ids> auto unsorted_segment_max(X x, Ids ids) {
  return record<ops::segment_max_op, ops::segment_max_op::attributes{Count, false, false}>(x, ids);
}
/// Returns the same for a number of segments known only at run time.
inline value unsorted_segment_max(value x, value ids, std::int64_t count) {
  return detail::extremes_of_segments<false, false>(x, ids, count);
}
/// Returns the least elements of the rows of each of `count` segments, for ids in any order and of any rank. Rows with
/// ids below 0 are left out.
template <std::int64_t Count, operand X, operand Ids> auto unsorted_segment_min(X x, Ids ids) {
  return record<ops::segment_max_op, ops::segment_max_op::attributes{Count, false, true}>(x, ids);
}
/// Returns the same for a number of segments known only at run time.
inline value unsorted_segment_min(value x, value ids, std::int64_t count) {
  return detail::extremes_of_segments<false, true>(x, ids, count);
}

}  // namespace rill
