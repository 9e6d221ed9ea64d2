// What cumsum, cumprod and linear_recurrence share: they go through an axis, element by element.
#pragma once
#include "rill/dsl/expr.hpp"
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/base/kernels.hpp"

namespace rill {

/// How cumsum and cumprod go through their axis. An exclusive result leaves out the element at its own place; a reverse
/// one begins at the end of the axis.
struct cumulative {
  bool exclusive = false, reverse = false;
};

namespace ops {

/// An axis (negative ones count from the end), and how it is gone through.
struct along_axis {
  std::int64_t axis = 0;
  bool exclusive = false, reverse = false;
  static constexpr auto fields(auto const& take) {
    using a = along_axis;
    return take(field{"axis", &a::axis}, field{"exclusive", &a::exclusive}, field{"reverse", &a::reverse});
  }
};

/// An array of [outer, length, inner] elements that is gone through along `length`.
struct axis_walk {
  std::ptrdiff_t outer = 1, length = 1, inner = 1;
  bool exclusive = false, reverse = false, lagged = false;
};

/// Such walks on raw pointers, by element type.
struct walk_table {
  std::array<void (*)(axis_walk const&, void const* const* inputs, void* to, parallel const&), dtype_count> run{};
};

/// The rules of an operation that gives an element for each element of its operands, which are of one type.
template <class Op, class Attributes> struct walks_axis {
  using attributes = Attributes;
  using kernels = walk_table;
  static constexpr dtypes common = common_floats;
  static cost work(Attributes const&, std::span<type const> in, std::span<type const> out) {
    return {static_cast<double>(in.size()) * rill::detail::elements_of(out),
            rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
  }
  static constexpr type walked(Attributes const& a, type const& x, checks expects = {}) {
    expects(Op::elements.contains(x.element), Op::of_others);
    if (x.has_rank()) checked_axis(a.axis, x.rank, Op::no_axis, expects);
    return x;
  }
  static kernel walk(kernel_request const& r, axis_walk w);
};

}  // namespace ops
}  // namespace rill

#if RILL_KERNELS
#include "rill/ops/reduction/cumulative_kernels.hpp"

namespace rill::ops {

/// Returns the table of `Run::run<T>` for the element types of a set.
template <class Run, dtypes Set> constexpr walk_table walks() {
  walk_table t;
  for_each_type<Set>([&]<class T>(std::size_t d) {
    t.run[d] = [](axis_walk const& w, void const* const* inputs, void* to, parallel const& threads) {
      rill::kernels::walk const how{w.outer, w.length, w.inner, w.exclusive, w.reverse, w.lagged};
      Run::template run<T>(how, inputs, static_cast<T*>(to), threads);
    };
  });
  return t;
}

}  // namespace rill::ops
#endif

#if RILL_DEFINITIONS
namespace rill::ops {

template <class Op, class Attributes> kernel walks_axis<Op, Attributes>::walk(kernel_request const& r, axis_walk w) {
  auto const x = r.inputs[0].shape();
  auto const axis = checked_axis(decode<Attributes>(r.at.attributes).axis, x.rank(), Op::no_axis);
  w.length = x[axis];
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (i != axis) (i < axis ? w.outer : w.inner) *= x[i];
  if (rill::elements(x) == 0) return kernel([](kernel_call const&) {});
  auto const element = r.inputs[0].element;
  auto const run = kernels_of<Op>(element).run[static_cast<std::size_t>(element)];
  return kernel([=](kernel_call const& call) { run(w, call.pointers, call.out(0), call.threads); });
}

}  // namespace rill::ops
#endif
