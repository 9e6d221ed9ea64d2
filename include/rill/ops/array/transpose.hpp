// Axes in another order.
#pragma once
#include "rill/dsl/expr.hpp"
#include "rill/ops/base/kernels.hpp"

#include "rill/ops/base/string_kernels.hpp"

namespace rill::kernels {
struct strided_view;
}

namespace rill::ops {

struct transpose_op {
  using library = void;
  static constexpr std::string_view
      name = "transpose",
      doc = "axis i of the result is axis permutation[i] of x; the axes in reverse order without a permutation";
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = dtypes::any_element;
  struct attributes {
    extents permutation;
    static constexpr auto fields(auto const& take) { return take(field{"permutation", &attributes::permutation}); }
  };
  /// By the logarithm of an element's size.
  struct kernels {
    std::array<void (*)(rill::kernels::strided_view const&, void* to, void const* from, parallel const&), 5> permute{};
  };
  /// Returns the axis of x that is axis i of the result, for each i; the rank must be known.
  static constexpr std::array<std::size_t, max_rank> sources(attributes const& a, std::size_t rank,
                                                             checks expects = {}) {
    std::array<std::size_t, max_rank> from{};
    std::array<bool, max_rank> used{};
    expects(a.permutation.empty() || a.permutation.size() == rank,
            "transpose: the permutation does not name every axis");
    for (std::size_t i = 0; i < rank; ++i) {
      from[i] = a.permutation.empty()
                    ? rank - 1 - i
                    : checked_axis(a.permutation[i], rank, "transpose: an axis is out of range for the operand's rank",
                                   expects);
      expects(!used[from[i]], "transpose: the permutation names an axis twice");
      used[from[i]] = true;
    }
    return from;
  }
  static constexpr type infer(attributes const& a, type const& x, checks expects = {}) {
    if (!x.has_rank()) return x;
    auto const from = sources(a, x.rank, expects);
    type y{x.element};
    for (std::size_t i = 0; i < x.rank; ++i) y.push_back(x[from[i]]);
    return y;
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<attributes>(r.origin().attributes);
    auto const from = sources(a, a.permutation.size());
    extents back;
    for (std::size_t i = 0; i < a.permutation.size(); ++i) back.push_back(0);
    for (std::size_t i = 0; i < a.permutation.size(); ++i) back[from[i]] = static_cast<std::int64_t>(i);
    return {transpose(V(r.dy()), back)};
  }
  static constexpr kernels make_kernels();
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns x with its axes in reverse order, or in the given order: `transpose(x)`, `transpose<1, 0>(x)`.
template <std::int64_t... Axes, operand X> auto transpose(X x) {
  return record<ops::transpose_op, ops::transpose_op::attributes{extents{Axes...}}>(x);
}
/// Returns x with axis `axes[i]` of x as axis i of the result; with an empty list the order of axes is reversed.
inline value transpose(value x, extents const& axes) {
  return record_erased<ops::transpose_op>(detail::graph_of(x), {axes}, {x});
}

}  // namespace rill

#if RILL_KERNELS
#include "rill/ops/array/transpose_kernels.hpp"

namespace rill::ops {

constexpr transpose_op::kernels transpose_op::make_kernels() {
  using namespace rill::kernels;
  struct two_doubles {
    double a, b;
  };
  return {{permute<std::uint8_t>, permute<std::uint16_t>, permute<std::uint32_t>, permute<std::uint64_t>,
           permute<two_doubles>}};
}

}  // namespace rill::ops
#endif

#if RILL_DEFINITIONS
#include <bit>
#include "rill/ops/array/transpose_kernels.hpp"

namespace rill::ops {

inline kernel transpose_op::cpu(kernel_request const& r) {
  auto const x = r.inputs[0].shape();
  auto const from = sources(decode<attributes>(r.at.attributes), x.rank());
  std::array<std::int64_t, max_rank> apart{};
  std::int64_t step = 1;
  for (std::size_t i = x.rank(); i-- > 0; step *= x[i]) apart[i] = step;
  rill::kernels::strided_view p;
  for (std::size_t i = 0; i < x.rank(); ++i) p.add(x[from[i]], apart[from[i]]);
  if (r.inputs[0].element == dtype::string) return rill::detail::move_strings(p);
  auto const size = static_cast<unsigned>(size_of(r.inputs[0].element));
  auto const run = kernels_of<transpose_op>().permute[static_cast<std::size_t>(std::bit_width(size) - 1)];
  return kernel([=](kernel_call const& call) { run(p, call.out(0), call.in(0), call.threads); });
}

}  // namespace rill::ops
#endif
