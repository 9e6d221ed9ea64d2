// Sums and means of rows by segment.
#pragma once
#include "rill/ops/table/segment_rules.hpp"

#if RILL_KERNELS
#include "rill/ops/table/segment_kernels.hpp"
#endif

namespace rill {

namespace ops {

/// The number of segments, whether their ids must ascend, and whether sums are divided by the number of rows.
struct segment_sum_attributes {
  std::int64_t count = 0;
  bool sorted = false, mean = false;
  static constexpr auto fields(auto const& take) {
    using a = segment_sum_attributes;
    return take(field{"count", &a::count}, field{"sorted", &a::sorted}, field{"mean", &a::mean});
  }
};

struct segment_call {
  std::size_t rows, width, count;
  bool mean;
};
/// Kernels by element type. `scratch` returns the bytes that one needs behind the ids.
struct segment_table {
  std::array<void (*)(segment_call const&, void const* x, std::int64_t const* ids, void* to, void* scratch,
                      parallel const&),
             dtype_count>
      run{};
};

/// What the sums and their derivative share: inputs are rows, or segments, and ids.
struct segment_rules {
  static constexpr std::int8_t arity = 2;
  static constexpr dtypes common = common_floats;
  using attributes = segment_sum_attributes;
  using kernels = segment_table;
  static cost work(attributes const&, std::span<type const> in, std::span<type const> out) {
    return {rill::detail::elements_of(in.first(1)), rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
  }
  template <class Op> static kernel make(kernel_request const& r, type const& segments);
};

struct segment_sum_op : segment_rules {
  using library = void;
  static constexpr std::string_view
      name = "segment_sum",
      doc =
          "the sums, or means, of the rows of each of `count` segments, for ids that say to which each row belongs; "
          "rows "
          "with ids below 0 are left out; segments without rows are 0; `sorted` ids ascend";
  static constexpr dtypes elements = dtypes::numbers;
  static constexpr type infer(attributes const& a, type const& x, type const& ids, checks expects = {}) {
    expects(elements.contains(x.element), "segment_sum: the rows are not of numbers; cast them");
    expects(!a.mean || is_differentiable(x.element),
            "segment_mean: the rows are not of floats or complex numbers; cast them");
    return segmented(a.count, a.sorted, x, ids, expects);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r);
#if RILL_KERNELS
  template <class T>
  static void run(segment_call const& c, void const* x, std::int64_t const* ids, void* to, void* scratch,
                  parallel const& threads) {
    using A = rill::kernels::segment_detail::added<T>;
    auto* const counts = static_cast<std::int64_t*>(scratch);
    A* sums;
    if constexpr (std::is_same_v<A, T>) sums = static_cast<T*>(to);
    else sums = reinterpret_cast<A*>(counts + c.count);
    rill::kernels::sum_segments({c.rows, c.width, c.count, ids}, static_cast<T const*>(x), static_cast<T*>(to), sums,
                                c.mean ? counts : nullptr, threads);
  }
  template <dtypes Set> static constexpr segment_table make_kernels();
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) { return make<segment_sum_op>(r, r.outputs[0]); }
#endif
};

struct segment_take_op : segment_rules {
  using library = void;
  static constexpr std::string_view name = "segment_take",
                                    doc =
                                        "for each id the row of its segment, divided by the number of the segment's "
                                        "ids if `mean`; zeros for ids below "
                                        "0: the derivative of segment_sum";
  static constexpr dtypes elements = dtypes::numbers;
  static constexpr type infer(attributes const& a, type const& segments, type const& ids, checks expects = {}) {
    expects(elements.contains(segments.element), "segment_take: the segments are not of numbers; cast them");
    expects(!a.mean || is_differentiable(segments.element),
            "segment_take: only floats and complex numbers are divided by a number of ids");
    expects(dtypes::indices.contains(ids.element), "segments: the ids are neither int32 nor int64");
    if (!expects(a.count >= 0, "segments: the number of segments is negative")) return segments;
    expects(!segments.has_rank() || (segments.rank > 0 && (segments[0] == unknown || segments[0] == dim(a.count))),
            "segment_take: there is not a row for each segment");
    return gathered(segments, ids, expects);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r);
#if RILL_KERNELS
  template <class T>
  static void run(segment_call const& c, void const* x, std::int64_t const* ids, void* to, void* scratch,
                  parallel const& threads) {
    rill::kernels::take_segments({c.rows, c.width, c.count, ids}, static_cast<T const*>(x), static_cast<T*>(to),
                                 c.mean ? static_cast<std::int64_t*>(scratch) : nullptr, threads);
  }
  template <dtypes Set> static constexpr segment_table make_kernels();
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) { return make<segment_take_op>(r, r.inputs[0]); }
#endif
};

template <class V> std::vector<gradient> segment_sum_op::grad(gradient_request const& r) {
  std::vector<gradient> all(2);
  if (r.wanted[0])
    all[0] = record_erased<segment_take_op>(rill::detail::graph_of(r.dy()), decode<attributes>(r.origin().attributes),
                                            {r.dy(), r.in(1)});
  return all;
}
template <class V> std::vector<gradient> segment_take_op::grad(gradient_request const& r) {
  std::vector<gradient> all(2);
  if (r.wanted[0])
    all[0] = record_erased<segment_sum_op>(rill::detail::graph_of(r.dy()), decode<attributes>(r.origin().attributes),
                                           {r.dy(), r.in(1)});
  return all;
}

}  // namespace ops

namespace detail {
template <bool Sorted, bool Mean> value sum_of_segments(value x, value ids, std::int64_t count) {
  return record_erased<ops::segment_sum_op>(graph_of(x), {count, Sorted, Mean}, {x, ids});
}
}  // namespace detail

/// Returns the sums of the rows of each of `count` segments: `segment_sum<3>(x, ids)`. Row i belongs to segment ids[i];
/// ids are int32 or int64 and ascend. Segments without rows are 0. The step fails with error(invalid_argument) that
/// names the id if one is out of range or less than the one before.
template <std::int64_t Count, operand X, operand Ids> auto segment_sum(X x, Ids ids) {
  return record<ops::segment_sum_op, ops::segment_sum_attributes{Count, true, false}>(x, ids);
}
/// Returns the same for a number of segments known only at run time.
inline value segment_sum(value x, value ids, std::int64_t count) {
  return detail::sum_of_segments<true, false>(x, ids, count);
}
/// Returns the means of the rows of each of `count` segments; ids ascend. Segments without rows are 0.
template <std::int64_t Count, operand X, operand Ids> auto segment_mean(X x, Ids ids) {
  return record<ops::segment_sum_op, ops::segment_sum_attributes{Count, true, true}>(x, ids);
}
/// Returns the same for a number of segments known only at run time.
inline value segment_mean(value x, value ids, std::int64_t count) {
  return detail::sum_of_segments<true, true>(x, ids, count);
}
/// Returns the sums of the rows of each of `count` segments, for ids in any order and of any rank: `x` begins with the
/// extents of the ids. Rows with ids below 0 are left out; segments without rows are 0.
template <std::int64_t Count, operand X, operand Ids> auto unsorted_segment_sum(X x, Ids ids) {
  return record<ops::segment_sum_op, ops::segment_sum_attributes{Count, false, false}>(x, ids);
}
/// Returns the same for a number of segments known only at run time.
inline value unsorted_segment_sum(value x, value ids, std::int64_t count) {
  return detail::sum_of_segments<false, false>(x, ids, count);
}
/// Returns the means of the rows of each of `count` segments, for ids in any order and of any rank. Rows with ids below
/// 0 are left out; segments without rows are 0.
template <std::int64_t Count, operand X, operand Ids> auto unsorted_segment_mean(X x, Ids ids) {
  return record<ops::segment_sum_op, ops::segment_sum_attributes{Count, false, true}>(x, ids);
}
/// Returns the same for a number of segments known only at run time.
inline value unsorted_segment_mean(value x, value ids, std::int64_t count) {
  return detail::sum_of_segments<false, true>(x, ids, count);
}

}  // namespace rill

#if RILL_KERNELS
namespace rill::ops {

template <class Op, dtypes Set> constexpr segment_table segment_kernels() {
  segment_table t;
  for_each_type<Op::elements & Set>([&]<class T>(std::size_t d) { t.run[d] = Op::template run<T>; });
  return t;
}
template <dtypes Set> constexpr segment_table segment_sum_op::make_kernels() {
  return segment_kernels<segment_sum_op, Set>();
}
template <dtypes Set> constexpr segment_table segment_take_op::make_kernels() {
  return segment_kernels<segment_take_op, Set>();
}

}  // namespace rill::ops
#endif

#if RILL_DEFINITIONS
namespace rill::ops {

// The scratch memory has the ids, a count for each segment, and sums of 16-bit floats as floats.
template <class Op> kernel segment_rules::make(kernel_request const& r, type const& segments) {
  auto const a = decode<attributes>(r.at.attributes);
  segment_reader const read(r.inputs[1], a.count, a.sorted);
  segment_call const c{read.count(), segment_width(segments), static_cast<std::size_t>(a.count), a.mean};
  auto const element = segments.element;
  auto const run = kernels_of<Op>(element).run[static_cast<std::size_t>(element)];
  std::size_t const sums = size_of(element) == 2 ? c.count * c.width * sizeof(float) : 0;
  return kernel(
      [=](kernel_call const& call) {
        auto* const ids = static_cast<std::int64_t*>(call.scratch());
        read(call.in(1), ids);
        run(c, call.in(0), ids, call.out(0), ids + c.rows, call.threads);
      },
      (c.rows + c.count) * sizeof(std::int64_t) + sums);
}

}  // namespace rill::ops
#endif
