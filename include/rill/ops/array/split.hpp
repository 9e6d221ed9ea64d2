// A value cut into equal parts along an axis.
#pragma once
#include <array>
#include <utility>
#include <vector>

#include "rill/ops/array/concat.hpp"
#include "rill/ops/array/reshape.hpp"

namespace rill::ops {

// One operation rather than a slice for each part: its gradient is one concat, where those of slices would each be as
// large as the whole.
struct split_op {
  using library = void;
  static constexpr std::string_view name = "split", doc = "equal parts along an axis, one output each";
  static constexpr std::int8_t arity = 1;
  static constexpr std::int64_t most = 65535;
  struct attributes {
    std::int64_t parts = 1, axis = 0;
    static constexpr auto fields(auto const& take) {
      return take(field{"parts", &attributes::parts}, field{"axis", &attributes::axis});
    }
  };
  /// The type of each part.
  static constexpr type part(attributes const& a, type const& x, checks expects = {}) {
    expects(a.parts > 0 && a.parts <= most, "split: the number of parts is not between 1 and 65535");
    if (!x.has_rank()) return x;
    auto const axis = checked_axis(a.axis, x.rank, "split: the axis lies outside of the operand's rank", expects);
    type y = x;
    if (x[axis].known()) {
      expects(x[axis].extent % a.parts == 0, "split: the axis does not fall into that many equal parts", x[axis],
              a.parts);
      y[axis] = dim(x[axis].extent / a.parts);
    } else if (a.parts > 1) y[axis] = unknown;
    return y;
  }
  static std::vector<type> infer(attributes const& a, type const& x) {
    type const each = part(a, x);
    return std::vector<type>(static_cast<std::size_t>(a.parts), each);
  }
  static cost work(attributes const&, std::span<type const>, std::span<type const> out) {
    return {0, 2 * rill::detail::bytes_of(out)};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<attributes>(r.origin().attributes);
    V some;
    for (auto const& dy : r.outer)
      if (dy) some = dy;
    std::vector<value> parts;
    for (std::size_t i = 0; i < r.outer.size(); ++i)
      parts.push_back(r.dy(i) ? r.dy(i) : broadcast_like(zero(some), r.out(i)));
    return {reshape_like(V(concat(parts, a.axis)), r.in(0))};
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const x = r.inputs[0].shape();
    auto const axis = checked_axis(decode<attributes>(r.at.attributes).axis, x.rank(), "split: the axis lies outside");
    auto const boxes = boxes_along(x, axis, r.outputs);
    std::vector<box_copy> pieces;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      auto const y = r.outputs[i].shape();
      pieces.emplace_back(r.outputs[i].element, y, box{y, zeros(y.rank())}, boxes[i]);
    }
    return kernel([pieces](kernel_call const& call) {
      for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i](call.out(i), call.in(0), call.threads);
    });
  }
#endif
};

/// One part of a split, whose number the compiler knows.
struct split_part : split_op {
  static constexpr type infer(attributes const& a, type const& x, checks expects = {}) { return part(a, x, expects); }
};

}  // namespace rill::ops

namespace rill {

/// Equal parts of x along an axis that only the run of the program knows.
inline std::vector<value> split(value x, std::int64_t parts, std::int64_t axis = 0) {
  auto const first = record_erased<ops::split_op>(detail::graph_of(x), {parts, axis}, {x});
  return detail::erased_outputs(first, static_cast<std::size_t>(parts));
}
/// Equal parts of x along an axis: `auto [q, k, v] = split<3, 1>(x)`. An array of handles.
template <std::int64_t Parts, std::int64_t Axis = 0, operand X> auto split(X x) {
  auto const all = [&]<class T, std::size_t... I>(std::type_identity<T>, std::index_sequence<I...>) {
    auto const parts = split(value(x), Parts, Axis);
    return std::array<T, sizeof...(I)>{T{parts[I]}...};
  };
  constexpr std::make_index_sequence<static_cast<std::size_t>(Parts)> each;
  if constexpr (typed<X>) {
    constexpr type part = detail::result_types<ops::split_part, ops::split_op::attributes{Parts, Axis}, X>();
    return all(std::type_identity<expr<part>>{}, each);
  } else return all(std::type_identity<value>{}, each);
}

}  // namespace rill
