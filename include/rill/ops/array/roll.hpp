// Arrays whose elements move along axes, and come in again at the other end.
#pragma once
#include "rill/dsl/expr.hpp"

namespace rill::ops {

struct roll_op {
  using library = void;
  static constexpr std::string_view
      name = "roll",
      doc = "x with its elements moved by `shifts` along `axes`; those that leave at an end come in at the other";
  static constexpr std::int8_t arity = 1;
  struct attributes {
    extents shifts, axes;
    static constexpr auto fields(auto const& take) {
      return take(field{"shifts", &attributes::shifts}, field{"axes", &attributes::axes});
    }
  };
  static constexpr type infer(attributes const& a, type const& x, checks expects = {}) {
    expects(a.shifts.size() == a.axes.size(), "roll: there must be a shift for each axis");
    for (auto each : a.shifts) expects(each != INT64_MIN, "roll: a shift back by as much does not fit in 64 bits");
    std::array<bool, max_rank> named{};
    for (std::size_t i = 0; x.has_rank() && i < a.axes.size(); ++i) {
      auto const axis =
          checked_axis(a.axes[i], x.rank, "roll: an axis is out of range for the operand's rank", expects);
      expects(!named[axis], "roll: an axis is named twice");
      named[axis] = true;
    }
    return x;
  }
  static cost work(attributes const&, std::span<type const>, std::span<type const> out) {
    return {0, 2 * rill::detail::bytes_of(out)};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto a = decode<attributes>(r.origin().attributes);
    for (std::size_t i = 0; i < a.shifts.size(); ++i) a.shifts[i] = -a.shifts[i];
    return {roll(V(r.dy()), a.shifts, a.axes)};
  }
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns x with its elements moved by `Shift` along an axis, towards higher positions if it is positive; elements
/// that leave at one end come in at the other: `roll<1>(x)` along axis 0, `roll<-2, 1>(x)` along axis 1.
template <std::int64_t Shift, std::int64_t Axis = 0, operand X> auto roll(X x) {
  return record<ops::roll_op, ops::roll_op::attributes{extents{Shift}, extents{Axis}}>(x);
}
/// Returns the same by shifts along several axes, both known only at run time.
inline value roll(value x, extents const& shifts, extents const& axes) {
  return record_erased<ops::roll_op>(detail::graph_of(x), {shifts, axes}, {x});
}

}  // namespace rill

#if RILL_DEFINITIONS
#include "rill/ops/array/box.hpp"

namespace rill::ops {

// An axis is cut into two pieces that change places: 2^n boxes for n axes.
inline kernel roll_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  auto const x = r.inputs[0].shape();
  extents by = zeros(x.rank());
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    auto const axis = checked_axis(a.axes[i], x.rank(), "roll: an axis is out of range");
    auto const n = x[axis];
    if (n > 0) by[axis] = (a.shifts[i] % n + n) % n;
  }
  std::vector<box_copy> pieces;
  for (unsigned which = 0; which < 1u << x.rank(); ++which) {
    shape size = x;
    extents from = zeros(x.rank()), to = from;
    bool there = true;
    for (std::size_t i = 0; i < x.rank(); ++i) {
      bool const wraps = (which >> i & 1) != 0;
      size[i] = wraps ? by[i] : x[i] - by[i];
      (wraps ? from : to)[i] = wraps ? x[i] - by[i] : by[i];
      there = there && size[i] > 0;
    }
    if (there) pieces.emplace_back(r.inputs[0].element, size, box{x, to}, box{x, from});
  }
  if (x.rank() == 0) pieces.assign(1, box_copy(r.inputs[0].element, x, {x, {}}, {x, {}}));
  return kernel([pieces](kernel_call const& call) {
    for (auto const& piece : pieces) piece(call.out(0), call.in(0), call.threads);
  });
}

}  // namespace rill::ops
#endif
