// A box of a value, and its gradient: a value put into a box of zeros.
#pragma once
#include "rill/dsl/expr.hpp"

#if RILL_DEFINITIONS
#include "rill/ops/array/box.hpp"
#endif

namespace rill::ops {

/// Where a box starts and how large it is; a size of -1 reaches to the end.
struct boxed {
  extents begin, size;
  static constexpr auto fields(auto const& take) {
    return take(field{"begin", &boxed::begin}, field{"size", &boxed::size});
  }

  /// The type of the box within x.
  constexpr type within(type const& x, checks expects = {}) const {
    expects(begin.size() == size.size(), "slice: there are more or fewer beginnings than sizes");
    for (std::size_t i = 0; i < begin.size(); ++i) {
      expects(begin[i] >= 0, "slice: a beginning is negative");
      expects(size[i] >= -1, "slice: a size is negative, and not -1 for the rest");
    }
    expects(!x.has_rank() || x.rank == begin.size(), "slice: not every axis of the operand has a beginning and a size");
    type y{x.element};
    for (std::size_t i = 0; i < begin.size(); ++i) {
      if (!x.has_rank() || !x[i].known()) {
        // All of a named axis is that axis.
        y.push_back(size[i] >= 0 ? dim(size[i]) : begin[i] == 0 && x.has_rank() ? x[i] : unknown);
        continue;
      }
      auto const extent = x[i].extent;
      expects(begin[i] <= extent, "slice: a beginning lies behind the operand's end");
      expects(size[i] <= extent - begin[i], "slice: the box reaches beyond the operand's end");
      y.push_back(size[i] < 0 ? extent - begin[i] : size[i]);
    }
    return y;
  }
};

#if RILL_DEFINITIONS
/// No offset along any axis.
inline extents zeros(std::size_t rank) {
  extents e;
  e.count = static_cast<std::uint8_t>(rank);
  return e;
}

/// Where parts lie in a whole that they make one behind the other along an axis.
inline std::vector<box> boxes_along(shape const& whole, std::size_t axis, std::span<type const> parts) {
  std::vector<box> all;
  auto begin = zeros(whole.rank());
  for (auto const& part : parts) {
    all.push_back({whole, begin});
    begin[axis] += part[axis].extent;
  }
  return all;
}
#endif

struct slice_op {
  using library = void;
  static constexpr std::string_view name = "slice",
                                    doc = "the box that starts at `begin` and is `size` large (-1: to the end)";
  static constexpr std::int8_t arity = 1;
  using attributes = boxed;
  static constexpr type infer(boxed const& a, type const& x, checks expects = {}) { return a.within(x, expects); }
  static cost work(boxed const&, std::span<type const>, std::span<type const> out) {
    return {0, 2 * rill::detail::bytes_of(out)};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {pad_like(V(r.dy()), r.in(0), decode<boxed>(r.origin().attributes))};
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const a = decode<boxed>(r.at.attributes);
    auto const y = r.outputs[0].shape();
    box_copy const copy(r.inputs[0].element, y, {y, shape(zeros(y.rank()))}, {r.inputs[0].shape(), a.begin});
    return kernel([copy](kernel_call const& call) { copy(call.out(0), call.in(0), call.threads); });
  }
#endif
};

struct pad_like_op {
  using library = void;
  static constexpr std::string_view
      name = "pad_like",
      doc = "zeros of the extents of another value, with x as the box that starts at `begin`";
  static constexpr std::int8_t arity = 2;
  static constexpr std::uint32_t shape_only = 0b10;
  using attributes = boxed;
  static constexpr type infer(boxed const& a, type const& x, type const& other, checks expects = {}) {
    type const box = a.within(other, expects);
    expects(!x.has_rank() || x.rank == box.rank, "pad_like: the value is not the size of the box");
    for (std::size_t i = 0; x.has_rank() && i < x.rank; ++i)
      expects(may_equal(x[i], box[i]), "pad_like: the value is not the size of the box");
    return other.with(x.element);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<boxed>(r.origin().attributes);
    std::vector<gradient> all(2);
    if (r.wanted[0]) all[0] = slice(V(r.dy()), a.begin, a.size);
    return all;
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const a = decode<boxed>(r.at.attributes);
    auto const x = r.inputs[0].shape(), y = r.outputs[0].shape();
    auto const element = r.inputs[0].element;
    box_copy const copy(element, x, {y, a.begin}, {x, zeros(x.rank())});
    return kernel([=, n = static_cast<std::size_t>(elements(y))](kernel_call const& call) {
      clear_elements(element, call.out(0), n);
      copy(call.out(0), call.in(0), call.threads);
    });
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// The box that starts at `Begin` and is `Size` large, -1 reaching to the end: `slice<extents{0, 1}, extents{2,
/// -1}>(x)`.
template <extents Begin, extents Size, operand X> auto slice(X x) {
  return record<ops::slice_op, ops::boxed{Begin, Size}>(x);
}
/// The same with a box that only the run of the program knows.
inline value slice(value x, extents const& begin, extents const& size) {
  return record_erased<ops::slice_op>(detail::graph_of(x), {begin, size}, {x});
}
/// Zeros of `other`'s extents, with x in the place of the box.
inline value pad_like(value x, value other, ops::boxed const& box) {
  return record_erased<ops::pad_like_op>(detail::graph_of(x), box, {x, other});
}

}  // namespace rill
