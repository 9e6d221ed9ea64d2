// Sums, means, products, maxima and minima over axes, on a GPU.
#pragma once
#include <array>
#include <string>

#include "rill/cuda/gpu_device.hpp"
#include "rill/cuda/kernel_operand.hpp"
#include "rill/graph/kernel_request.hpp"
#include "rill/ops/sum/axes.hpp"

namespace rill::cuda {

/// A reduction as plain data: what is computed, over which axes of input 0.
struct reduce_form {
  ops::reducer what;
  std::array<bool, max_rank> gone{};
};

/// Returns the form of a reduction.
using reduce_form_of = reduce_form (*)(kernel_request const&);

/// Returns how an operation of this kind reduces; null: it isn't a reduction.
reduce_form_of find_reduce_form(op_def const& op);

/// The types of a pass in CUDA source: of the elements that it reads, computes with, and writes.
struct reduced_types {
  std::string from, with, to;
};
/// Returns the types of a reduction in one pass.
reduced_types types_of(ops::reducer what, dtype element);
/// Returns the text of a pass over an array [outer, middle, inner]. A kernel `reduce` reduces parts of its middle axis:
/// of contiguous lines (`lines`: inner is 1) or of columns. Unless there is `one_part`, a kernel `join` reduces the
/// parts' results.
/// The programs of `ends` compute what `reduce` reads, and take what is computed last.
std::string reduce_text(ops::reducer what, dtype element, reduced_types const& types, bool lines, bool one_part,
                        kernel_ends const& ends = {});

/// Returns the kernel of an operation that has a reduce_form.
kernel reduce_kernel(kernel_request const& r);

/// Returns the text of a kernel `share`, which divides n elements by a number.
std::string share_text(dtype element);
/// Returns the kernel of broadcast_like, which may divide each element by the number of its copies.
kernel broadcast_like_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/cuda/map_kernel.hpp"
#include "rill/cuda/operation_table.hpp"
#include "rill/cuda/text/reduce_form.hpp"
#include "rill/cuda/text_parts.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/ops/list/operations.hpp"

namespace rill::cuda {

namespace detail {

template <class Op> reduce_form axes_form(kernel_request const& r) {
  return {Op::reduces, ops::reduced_axes(decode<ops::reduction>(r.at.attributes).axes, r.inputs[0].rank)};
}
template <class Op> reduce_form extreme_form(kernel_request const& r) {
  expects(elements(r.inputs[0].shape()) != 0 || elements(r.outputs[0].shape()) == 0, Op::of_nothing);
  return axes_form<Op>(r);
}
inline reduce_form sum_like_form(kernel_request const& r) {
  auto const a = decode<ops::likeness>(r.at.attributes);
  auto const& x = r.inputs[0];
  type const other = a.widened(r.inputs[1]);
  reduce_form form{a.mean ? ops::reducer::mean : ops::reducer::sum, {}};
  for (std::size_t i = 0, missing = x.rank - other.rank; i < x.rank; ++i)
    form.gone[i] = i < missing || (other[i - missing] == dim(1) && x[i] != dim(1));
  return form;
}

inline std::string_view operation_of(ops::reducer what, dtype element) {
  switch (what) {
    case ops::reducer::prod:
      return "multiplication";
    case ops::reducer::min:
      return element == dtype::boolean ? "conjunction" : "minimum";
    case ops::reducer::max:
      return "maximum";
    default:
      return "addition";
  }
}

}  // namespace detail

RILL_CUDA_INLINE reduced_types types_of(ops::reducer what, dtype element) {
  bool const compares = what == ops::reducer::min || what == ops::reducer::max;
  if (element == dtype::boolean) return {"unsigned char", "unsigned char", "unsigned char"};
  auto const own = name_in_text(element);
  if (element == dtype::float16 || element == dtype::bfloat16) return {own, "float", own};
  if (is_float(element) || compares) return {own, own, own};
  auto const wraps = word_in_text(size_of(element));
  return {wraps, wraps, wraps};
}
RILL_CUDA_INLINE std::string reduce_text(ops::reducer what, dtype element, reduced_types const& types, bool lines,
                                         bool one_part, kernel_ends const& ends) {
  std::string const kind = lines ? "lines" : "columns", operation(detail::operation_of(what, element)),
                    whole = "[](with_type v) { return v; }",
                    last =
                        what == ops::reducer::mean
                            ? "[&](with_type v) { return static_cast<to_type>(v / static_cast<with_type>(a.middle)); }"
                            : "[](with_type v) { return static_cast<to_type>(v); }";
  auto const from = ends.input(types.from), to = ends.output(types.to),
             result = one_part ? to : array_in_text(types.with);
  auto text = head_with("reduce.cuh", from.definitions + to.definitions) + "using with_type = " + types.with +
              ";\nusing to_type = " + types.to + ";\nusing operation = reductions::" + operation + "<with_type>;\n" +
              kernel_in_text("reduce(" + from.parameter + " from, " + result.parameter + " to, reduced_array a)",
                             "reduce_" + kind + "<operation, with_type>(" + from.of("from") + ", " + result.of("to") +
                                 ", a, " + (one_part ? last : whole) + ");");
  if (!one_part)
    text += kernel_in_text("join(global<with_type> partial, " + to.parameter + " to, reduced_array a, int each)",
                           "join_parts<operation>(partial, " + to.of("to") + ", a, each, " + last + ");");
  return text;
}

namespace detail {

/// One pass of a reduction on a GPU: an array [outer, middle, inner] to [outer, inner].
class bound_pass {
 public:
  bound_pass(gpu_device const& on, ops::reducer what, dtype element, reduced_types const& t,
             ops::reduction_pass const& pass, kernel_ends const& ends)
      : on_(on), array_{pass.outer, pass.middle, pass.inner, 1} {
    bool const lines = pass.inner == 1;
    std::int64_t const part = lines ? line_part_size : column_part_size;
    array_.parts = std::max<std::int64_t>(1, (pass.middle + part - 1) / part);
    auto const text = reduce_text(what, element, t, lines, array_.parts == 1, ends);
    if (array_.parts > 1) join_ = on.find(text, "join");
    reduce_ = on.find(text, "reduce");
  }

  /// Returns the bytes of scratch memory that the parts' results need.
  std::size_t scratch() const {
    return array_.parts == 1 ? 0
                             : static_cast<std::size_t>(array_.outer * array_.parts * array_.inner) * sizeof(double);
  }
  void operator()(kernel_argument from, kernel_argument to, void* scratch) const {
    if (array_.outer <= 0 || array_.inner <= 0) return;
    auto a = array_;
    void* parameters[] = {from.at(), a.parts == 1 ? to.at() : &scratch, &a};
    auto const units = static_cast<std::size_t>(a.outer * a.parts * a.inner);
    bool const by_warps = a.inner == 1 && a.middle >= line_of_warp;
    on_.launch(*reduce_, on_.shape_for(by_warps ? 32 * units : units), parameters);
    if (a.parts == 1) return;
    // As many threads for a result as have a pair of parts, if there are so many in a block.
    auto each =
        static_cast<std::int32_t>(std::min<std::uint64_t>(std::bit_ceil(static_cast<std::uint64_t>(a.parts)) / 2, 256));
    void* joined[] = {&scratch, to.at(), &a, &each};
    auto const how = on_.shape_for(static_cast<std::size_t>(a.outer * a.inner * each));
    on_.launch(*join_, how, joined);
  }

 private:
  gpu_device const& on_;
  reduced_array array_;
  std::shared_ptr<gpu_device::function const> reduce_, join_;
};

inline std::size_t in_lines(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

/// A reduction on a GPU, in one pass or several.
class bound_reduction {
 public:
  /// `x`: the type of input 0.
  bound_reduction(gpu_device const& on, reduce_form const& form, type const& x, kernel_ends const& ends = {}) {
    auto const passes = ops::reduction_passes(x.shape(), form.gone);
    auto const types = types_of(form.what, x.element);
    for (std::size_t i = 0; i < passes.size(); ++i) {
      bool const first = i == 0, last = i + 1 == passes.size();
      passes_.emplace_back(on, form.what, x.element,
                           reduced_types{first ? types.from : types.with, types.with, last ? types.to : types.with},
                           passes[i],
                           kernel_ends{first ? ends.before : std::nullopt, last ? ends.after : std::nullopt});
      within_ = std::max(within_, in_lines(passes_.back().scratch()));
      results_.push_back(last ? 0 : in_lines(static_cast<std::size_t>(passes[i].outer * passes[i].inner) * 8));
    }
  }

  /// Returns the bytes of scratch memory that it needs.
  std::size_t scratch() const { return std::accumulate(results_.begin(), results_.end(), within_); }
  void operator()(kernel_argument from, kernel_argument const& to, void* scratch) const {
    auto* next = static_cast<std::byte*>(scratch) + within_;
    for (std::size_t i = 0; i < passes_.size(); ++i) {
      bool const last = i + 1 == passes_.size();
      passes_[i](from, last ? to : next, scratch);
      from = next;
      next += results_[i];
    }
  }

 private:
  std::vector<bound_pass> passes_;
  std::size_t within_ = 0;            // bytes for the parts of a pass
  std::vector<std::size_t> results_;  // bytes that the next pass reads
};

/// Whether each result of a reduction is one element: then that is copied, for -0 + 0 is another.
inline bool is_copy(reduce_form const& form, type const& x) {
  auto const passes = ops::reduction_passes(x.shape(), form.gone);
  return passes.size() == 1 && passes[0].middle == 1;
}

}  // namespace detail

RILL_CUDA_INLINE reduce_form_of find_reduce_form(op_def const& op) {
  static operation_table<reduce_form_of> const all{{&definition<ops::sum_op>(), detail::axes_form<ops::sum_op>},
                                                   {&definition<ops::mean_op>(), detail::axes_form<ops::mean_op>},
                                                   {&definition<ops::prod_op>(), detail::axes_form<ops::prod_op>},
                                                   {&definition<ops::max_op>(), detail::extreme_form<ops::max_op>},
                                                   {&definition<ops::min_op>(), detail::extreme_form<ops::min_op>},
                                                   {&definition<ops::all_op>(), detail::axes_form<ops::all_op>},
                                                   {&definition<ops::any_op>(), detail::axes_form<ops::any_op>},
                                                   {&definition<ops::sum_like_op>(), detail::sum_like_form}};
  return all.find(op);
}

RILL_CUDA_INLINE kernel reduce_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const& x = r.inputs[0];
  auto const form = find_reduce_form(*r.at.op)(r);
  if (detail::is_copy(form, x)) {
    kernel k([copy = bound_spread(on, x.element, x.shape(), x.shape())](kernel_call const& call) {
      void* const pointers[] = {const_cast<void*>(call.in(0)), call.out(0)};  // there may be an input of extents alone
      if (pointers[0] != pointers[1]) copy(pointers);
    });
    k.input_output_aliases = {{0, 0}};
    return k;
  }
  detail::bound_reduction run(on, form, x);
  auto const bytes = run.scratch();
  return kernel([run = std::move(run)](kernel_call const& call) { run(call.in(0), call.out(0), call.scratch()); },
                bytes);
}

RILL_CUDA_INLINE std::string share_text(dtype element) {
  auto const own = name_in_text(element), number = size_of(element) < 4 ? "float" : own;
  auto const real = element == dtype::float64 ? "double" : "float";
  return text_head("reduce.cuh") + "using element = " + own + ";\n" +
         kernel_in_text("share(global<element const> from, global<element> to, long n, double by)",
                        "divide<element, " + number + ", " + real + ">(from, to, n, by);");
}

RILL_CUDA_INLINE kernel broadcast_like_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const a = decode<ops::likeness>(r.at.attributes);
  auto const element = r.inputs[0].element;
  shape const from = a.widened(r.inputs[0]).shape(), to = r.outputs[0].shape();
  auto const copies = bound_spread(on, element, from, to);
  auto const count = elements(from);
  if (!a.mean || count == 0)
    return kernel([copies](kernel_call const& call) {
      void* const pointers[] = {const_cast<void*>(call.in(0)), call.out(0)};
      copies(pointers);
    });
  auto const divide = on.find(share_text(element), "share");
  auto const places = static_cast<double>(elements(to)) / static_cast<double>(count);
  return kernel(
      [=, &on](kernel_call const& call) {
        void const* given = call.in(0);
        void* shared = call.scratch();
        auto n = count;
        auto by = places;
        void* parameters[] = {&given, &shared, &n, &by};
        on.launch(*divide, on.shape_for(static_cast<std::size_t>(n)), parameters);
        void* const pointers[] = {shared, call.out(0)};
        copies(pointers);
      },
      static_cast<std::size_t>(count) * size_of(element));
}

}  // namespace rill::cuda
#endif
