// Values joined along an axis.
#pragma once
#include <array>

#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/slice.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill::ops {

struct concat_op {
  using library = void;
  static constexpr std::string_view name = "concat", doc = "the operands joined along an axis";
  static constexpr std::int8_t arity = -1;
  struct attributes {
    std::int64_t axis = 0;
    static constexpr auto fields(auto const& take) { return take(field{"axis", &attributes::axis}); }
  };
  static constexpr type infer(attributes const& a, std::span<type const> x, checks expects = {}) {
    bool ranked = true, known = true;
    for (auto const& t : x) {
      expects(t.element == x[0].element, "concat: the operands have different element types; cast some of them");
      ranked = ranked && t.has_rank();
    }
    if (!ranked) return type::of_unknown_rank(x[0].element);
    auto const axis =
        checked_axis(a.axis, x[0].rank, "concat: the axis is out of range for the operands' rank", expects);
    type y = x[0];
    std::int64_t total = 0;
    for (auto const& t : x) {
      if (!expects(t.rank == y.rank, "concat: the operands have different ranks")) return y;
      for (std::size_t i = 0; i < y.rank; ++i)
        if (i != axis) y[i] = agree(y[i], t[i], "concat: the operands' extents differ along another axis", expects);
      known = known && t[axis].known();
      if (!known) continue;
      if (!expects(t[axis].extent <= INT64_MAX - total, "concat: the sum of the extents does not fit in 64 bits"))
        return y;
      total += t[axis].extent;
    }
    if (x.size() > 1) y[axis] = known ? dim(total) : unknown;
    return y;
  }
  static cost work(attributes const&, std::span<type const>, std::span<type const> out) {
    return {0, 2 * rill::detail::bytes_of(out)};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const axis = decode<attributes>(r.origin().attributes).axis;
    std::vector<value> operands;
    for (std::size_t i = 0; i < r.inputs(); ++i) operands.push_back(r.in(i));
    std::vector<gradient> all(r.inputs());
    for (std::size_t i = 0; i < r.inputs(); ++i)
      if (r.wanted[i]) all[i] = concat_piece(V(r.dy()), operands, axis, i);
    return all;
  }
  static kernel cpu(kernel_request const& r);
};

/// A part of a value that corresponds to one operand of a concat.
struct concat_piece_op {
  using library = void;
  static constexpr std::string_view
      name = "concat_piece",
      doc = "the part of the first operand that belongs to operand `which` of a concat of the others along the axis";
  static constexpr std::int8_t arity = -1;
  static constexpr std::uint32_t shape_only = ~1u;
  struct attributes {
    std::int64_t axis = 0, which = 0;
    static constexpr auto fields(auto const& take) {
      return take(field{"axis", &attributes::axis}, field{"which", &attributes::which});
    }
  };
  static constexpr type infer(attributes const& a, std::span<type const> x, checks expects = {}) {
    if (!expects(x.size() > 1 && a.which >= 0 && a.which < static_cast<std::int64_t>(x.size()) - 1,
                 "concat_piece: the number of the operand is out of range"))
      return x[0];
    type const whole = concat_op::infer({a.axis}, x.subspan(1), expects);
    if (whole.has_rank() && x[0].has_rank()) {
      expects(whole.rank == x[0].rank,
              "concat_piece: the first operand does not have the extents of the concat of the others");
      for (std::size_t i = 0; i < whole.rank; ++i)
        expects(may_equal(whole[i], x[0][i]),
                "concat_piece: the first operand does not have the extents of the concat of the others");
    }
    return x[static_cast<std::size_t>(a.which) + 1].with(x[0].element);
  }
  static cost work(attributes const&, std::span<type const>, std::span<type const> out) {
    return {0, 2 * rill::detail::bytes_of(out)};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<attributes>(r.origin().attributes);
    std::vector<gradient> all(r.inputs());
    std::vector<V> parts;
    for (std::size_t i = 1; i < r.inputs(); ++i)
      parts.push_back(static_cast<std::int64_t>(i) - 1 == a.which ? r.dy() : broadcast_like(zero(r.dy()), r.in(i)));
    if (r.wanted[0]) all[0] = concat(parts, a.axis);
    return all;
  }
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns the operands joined along an axis: `concat<1>(a, b, c)`.
template <std::int64_t Axis, operand... X>
  requires(sizeof...(X) > 0)
auto concat(X... x) {
  return record<ops::concat_op, ops::concat_op::attributes{Axis}>(x...);
}
/// Returns the same along an axis known only at run time, and for any number of operands.
inline value concat(std::vector<value> const& x, std::int64_t axis) {
  expects(!x.empty(), "concat: there are no operands");
  auto& g = detail::graph_of(x[0]);
  if (x.size() > 1) return record_erased<ops::concat_op>(g, {axis}, x);
  (void)ops::concat_op::infer({axis}, std::array{x[0].type()});
  return x[0];
}
/// Returns the part of `whole` that operand `which` would fill in a concat of `operands` along the axis.
inline value concat_piece(value whole, std::vector<value> operands, std::int64_t axis, std::size_t which) try {
  operands.insert(operands.begin(), whole);
  return record_erased<ops::concat_piece_op>(detail::graph_of(whole), {axis, static_cast<std::int64_t>(which)},
                                             operands);
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill

#if RILL_DEFINITIONS
namespace rill::ops {

inline kernel concat_op::cpu(kernel_request const& r) {
  auto const y = r.outputs[0].shape();
  auto const axis =
      checked_axis(decode<attributes>(r.at.attributes).axis, y.rank(), "concat: the axis is out of range");
  auto const boxes = boxes_along(y, axis, r.inputs);
  std::vector<box_copy> pieces;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    auto const x = r.inputs[i].shape();
    pieces.emplace_back(r.inputs[i].element, x, boxes[i], box{x, zeros(x.rank())});
  }
  return kernel([pieces](kernel_call const& call) {
    for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i](call.out(0), call.in(i), call.threads);
  });
}

inline kernel concat_piece_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  auto const y = r.outputs[0].shape();
  auto const axis = checked_axis(a.axis, y.rank(), "concat_piece: the axis is out of range");
  auto const boxes = boxes_along(r.inputs[0].shape(), axis, r.inputs.subspan(1));
  box_copy const copy(r.inputs[0].element, y, {y, zeros(y.rank())}, boxes[static_cast<std::size_t>(a.which)]);
  return kernel([copy](kernel_call const& call) { copy(call.out(0), call.in(0), call.threads); });
}

}  // namespace rill::ops
#endif
