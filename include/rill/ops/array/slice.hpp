// A box of a value; and its derivative, which pads a box with zeros.
#pragma once
#include "rill/dsl/expr.hpp"

namespace rill::ops {

/// Where a box starts and how large it is; a size of -1 reaches to the end.
struct boxed {
  extents begin, size;
  static constexpr auto fields(auto const& take) {
    return take(field{"begin", &boxed::begin}, field{"size", &boxed::size});
  }

  /// Returns the type of the box within x.
  constexpr type within(type const& x, checks expects = {}) const {
    if (!check(x, expects)) return x;
    type y{x.element};
    for (std::size_t i = 0; i < begin.size(); ++i) {
      if (!x.has_rank() || !x[i].known()) {
        // A box that covers a named axis keeps the name.
        y.push_back(size[i] >= 0 ? dim(size[i]) : begin[i] == 0 && x.has_rank() ? x[i] : unknown);
        continue;
      }
      auto const extent = x[i].extent;
      if (!expects(begin[i] <= extent, "slice: begin is beyond the end of the operand") ||
          !expects(size[i] <= extent - begin[i], "slice: the box extends beyond the end of the operand"))
        return x;
      y.push_back(size[i] < 0 ? extent - begin[i] : size[i]);
    }
    return y;
  }

 private:
  constexpr bool check(type const& x, checks expects) const {
    if (!expects(begin.size() == size.size(), "slice: begin and size have different lengths")) return false;
    for (std::size_t i = 0; i < begin.size(); ++i)
      if (!expects(begin[i] >= 0, "slice: begin is negative") ||
          !expects(size[i] >= -1, "slice: a size is negative, and not -1 for the end of the axis"))
        return false;
    return expects(!x.has_rank() || x.rank == begin.size(), "slice: begin and size must have a number for each axis");
  }
};

struct slice_op {
  using library = void;
  static constexpr std::string_view
      name = "slice",
      doc = "the box of x that starts at `begin` and has the extents `size` (-1: up to the end)";
  static constexpr std::int8_t arity = 1;
  using attributes = boxed;
  static constexpr type infer(boxed const& a, type const& x, checks expects = {}) { return a.within(x, expects); }
  static cost work(boxed const&, std::span<type const>, std::span<type const> out) {
    return {0, 2 * rill::detail::bytes_of(out)};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {pad_like(V(r.dy()), r.in(0), decode<boxed>(r.origin().attributes))};
  }
  static kernel cpu(kernel_request const& r);
};

struct pad_like_op {
  using library = void;
  static constexpr std::string_view name = "pad_like",
                                    doc =
                                        "x as the box that starts at `begin` in zeros of the second operand's extents";
  static constexpr std::int8_t arity = 2;
  static constexpr std::uint32_t shape_only = 0b10;
  using attributes = boxed;
  static constexpr type infer(boxed const& a, type const& x, type const& other, checks expects = {}) {
    type const box = a.within(other, expects);
    expects(!x.has_rank() || x.rank == box.rank, "pad_like: the value does not have the extents of the box");
    for (std::size_t i = 0; x.has_rank() && i < x.rank; ++i)
      expects(may_equal(x[i], box[i]), "pad_like: the value does not have the extents of the box");
    return other.with(x.element);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<boxed>(r.origin().attributes);
    std::vector<gradient> all(2);
    if (r.wanted[0]) all[0] = slice(V(r.dy()), a.begin, a.size);
    return all;
  }
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns the box of x that starts at `Begin` and has the extents `Size`, where -1 means up to the end:
/// `slice<extents{0, 1}, extents{2, -1}>(x)`.
template <extents Begin, extents Size, operand X> auto slice(X x) {
  return record<ops::slice_op, ops::boxed{Begin, Size}>(x);
}
/// Returns the same with a box known only at run time.
inline value slice(value x, extents const& begin, extents const& size) {
  return record_erased<ops::slice_op>(detail::graph_of(x), {begin, size}, {x});
}
/// Returns zeros of `other`'s extents with x as the box.
inline value pad_like(value x, value other, ops::boxed const& box) {
  return record_erased<ops::pad_like_op>(detail::graph_of(x), box, {x, other});
}

}  // namespace rill

#if RILL_DEFINITIONS
#include "rill/ops/array/box.hpp"

namespace rill::ops {

inline kernel slice_op::cpu(kernel_request const& r) {
  auto const a = decode<boxed>(r.at.attributes);
  auto const y = r.outputs[0].shape();
  box_copy const copy(r.inputs[0].element, y, {y, shape(zeros(y.rank()))}, {r.inputs[0].shape(), a.begin});
  return kernel([copy](kernel_call const& call) { copy(call.out(0), call.in(0), call.threads); });
}

inline kernel pad_like_op::cpu(kernel_request const& r) {
  auto const a = decode<boxed>(r.at.attributes);
  auto const x = r.inputs[0].shape(), y = r.outputs[0].shape();
  auto const element = r.inputs[0].element;
  box_copy const copy(element, x, {y, a.begin}, {x, zeros(x.rank())});
  return kernel([=, n = static_cast<std::size_t>(elements(y))](kernel_call const& call) {
    clear_elements(element, call.out(0), n);
    copy(call.out(0), call.in(0), call.threads);
  });
}

}  // namespace rill::ops
#endif
