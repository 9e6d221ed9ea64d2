// A value cut into equal parts along an axis.
#pragma once
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "rill/ops/array/concat.hpp"
#include "rill/ops/array/reshape.hpp"

namespace rill::ops {

// One operation rather than a slice for each part: its derivative is one concat, while the derivative of each slice
// would be as large as the whole.
/// What split and split_lengths share. `Op::attributes` has the axis.
template <class Op> struct split_rules {
  static constexpr std::int8_t arity = 1;
  static constexpr std::int64_t most = 65535;
  template <class Attributes> static cost work(Attributes const&, std::span<type const>, std::span<type const> out) {
    return {0, 2 * rill::detail::bytes_of(out)};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const axis = decode<typename Op::attributes>(r.origin().attributes).axis;
    V some;
    for (auto const& dy : r.outer)
      if (dy) some = dy;
    std::vector<value> parts;
    for (std::size_t i = 0; i < r.outer.size(); ++i)
      parts.push_back(r.dy(i) ? r.dy(i) : broadcast_like(zero(some), r.out(i)));
    return {reshape_like(V(concat(parts, axis)), r.in(0))};
  }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const x = r.inputs[0].shape();
    auto const axis = checked_axis(decode<typename Op::attributes>(r.at.attributes).axis, x.rank(),
                                   "split: the axis is out of range");
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

struct split_op : split_rules<split_op> {
  using library = void;
  static constexpr std::string_view name = "split", doc = "equal parts of x along an axis, one for each output";
  struct attributes {
    std::int64_t parts = 1, axis = 0;
    static constexpr auto fields(auto const& take) {
      return take(field{"parts", &attributes::parts}, field{"axis", &attributes::axis});
    }
  };
  /// Returns the type of each part.
  static constexpr type part(attributes const& a, type const& x, checks expects = {}) {
    expects(a.parts > 0 && a.parts <= most, "split: the number of parts is not between 1 and 65535");
    if (!x.has_rank()) return x;
    auto const axis = checked_axis(a.axis, x.rank, "split: the axis is out of range for the operand's rank", expects);
    type y = x;
    if (x[axis].known()) {
      expects(x[axis].extent % a.parts == 0, "split: the extent of the axis is not a multiple of the number of parts",
              x[axis], a.parts);
      y[axis] = dim(x[axis].extent / a.parts);
    } else if (a.parts > 1) y[axis] = unknown;
    return y;
  }
  static std::vector<type> infer(attributes const& a, type const& x) {
    type const each = part(a, x);
    return std::vector<type>(static_cast<std::size_t>(a.parts), each);
  }
};

/// One part of a split.
struct split_part : split_op {
  static constexpr type infer(attributes const& a, type const& x, checks expects = {}) { return part(a, x, expects); }
};

struct split_lengths_op : split_rules<split_lengths_op> {
  using library = void;
  static constexpr std::string_view name = "split_lengths",
                                    doc = "parts of x of the given lengths along an axis, one for each output";
  struct attributes {
    tensor lengths;  ///< int64; at most one is -1, which is what the others leave
    std::int64_t axis = 0;
    static constexpr auto fields(auto const& take) {
      return take(field{"lengths", &attributes::lengths}, field{"axis", &attributes::axis});
    }
  };
  /// The extents of the parts of an axis. (A std::vector is not constexpr in libstdc++'s debug mode.)
  struct division {
    std::span<std::int64_t const> lengths;
    std::size_t open;  ///< the part whose length is -1
    dim rest;          ///< its extent

    constexpr dim operator[](std::size_t i) const { return i != open && lengths[i] >= 0 ? dim(lengths[i]) : rest; }
  };
  /// Divides an axis; refuses lengths whose sum is not its extent.
  static constexpr division divide(std::span<std::int64_t const> lengths, dim const& axis, checks expects = {}) {
    std::int64_t total = 0;
    std::size_t open = lengths.size();
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      expects(lengths[i] >= 0 || (lengths[i] == -1 && open == lengths.size()),
              "split_lengths: a length is negative, and not the only -1, which stands for what the others leave");
      if (lengths[i] < 0) open = i;
      else if (expects(lengths[i] <= INT64_MAX - total,
                       "split_lengths: the sum of the lengths does not fit in 64 bits"))
        total += lengths[i];
    }
    bool const fits = !axis.known() || (open < lengths.size() ? total <= axis.extent : total == axis.extent);
    expects(fits, "split_lengths: the sum of the lengths is not the extent of the axis", dim(total), axis);
    return {lengths, open, axis.known() && fits ? dim(axis.extent - total) : unknown};
  }
  /// Returns the axis along which x, whose rank is known, is split.
  static constexpr std::size_t axis_of(std::int64_t along, type const& x, checks expects = {}) {
    return checked_axis(along, x.rank, "split_lengths: the axis is out of range for the operand's rank", expects);
  }
  static std::vector<type> infer(attributes const& a, type const& x) {
    expects(a.lengths && a.lengths.element() == dtype::int64 && a.lengths.shape().rank() == 1,
            "split_lengths: the lengths are not a vector of int64");
    expects(a.lengths.elements() > 0 && a.lengths.elements() <= most,
            "split_lengths: the number of parts is not between 1 and 65535");
    if (!x.has_rank()) return std::vector<type>(static_cast<std::size_t>(a.lengths.elements()), x);
    auto const axis = axis_of(a.axis, x);
    auto const lengths = a.lengths.span<std::int64_t>();
    auto const each = divide(lengths, x[axis]);
    std::vector<type> all(lengths.size(), x);
    for (std::size_t i = 0; i < all.size(); ++i) all[i][axis] = each[i];
    return all;
  }
};

/// Part number Index of a split by lengths, of which no more than 8 are known at compile time.
template <std::size_t Index> struct part_of_lengths {
  static constexpr std::string_view name = "split_lengths";
  static constexpr std::int8_t arity = 1;
  struct attributes {
    extents lengths;
    std::int64_t axis = 0;
  };
  static constexpr type infer(attributes const& a, type const& x, checks expects = {}) {
    if (!x.has_rank() || x.rank == 0) return x;
    auto const axis = split_lengths_op::axis_of(a.axis, x, expects);
    type y = x;
    y[axis] = split_lengths_op::divide({a.lengths.begin(), a.lengths.size()}, x[axis], expects)[Index];
    return y;
  }
};

}  // namespace rill::ops

namespace rill {

/// Returns equal parts of x along an axis known only at run time.
inline std::vector<value> split(value x, std::int64_t parts, std::int64_t axis = 0) try {
  auto const first = record_erased<ops::split_op>(detail::graph_of(x), {parts, axis}, {x});
  return detail::erased_outputs(first, static_cast<std::size_t>(parts));
} catch (...) {
  rethrow_as_error();
}
/// Returns equal parts of x along an axis: `auto [q, k, v] = split<3, 1>(x)`. An array of handles.
template <std::int64_t Parts, std::int64_t Axis = 0, operand X> auto split(X x) {
  auto const all = [&]<class T, std::size_t... Index>(std::type_identity<T>, std::index_sequence<Index...>) {
    auto const parts = split(value(x), Parts, Axis);
    return std::array<T, sizeof...(Index)>{T{parts[Index]}...};
  };
  constexpr std::make_index_sequence<static_cast<std::size_t>(Parts)> each;
  if constexpr (typed<X>) {
    constexpr type part = detail::result_types<ops::split_part, ops::split_op::attributes{Parts, Axis}, X>();
    return all(std::type_identity<expr<part>>{}, each);
  } else return all(std::type_identity<value>{}, each);
}

/// Returns parts of x of the given lengths along an axis; one of them may be -1, which is what the others leave.
inline std::vector<value> split_lengths(value x, std::vector<std::int64_t> lengths, std::int64_t axis = 0) try {
  auto const count = lengths.size();
  auto const held = tensor::adopt(std::move(lengths), {static_cast<std::int64_t>(count)});
  return detail::erased_outputs(record_erased<ops::split_lengths_op>(detail::graph_of(x), {held, axis}, {x}), count);
} catch (...) {
  rethrow_as_error();
}
/// Returns the same as a tuple of typed handles: `auto [a, b] = split_lengths<extents{2, -1}>(x)`.
template <extents Lengths, std::int64_t Axis = 0, operand X> auto split_lengths(X x) {
  using first = ops::part_of_lengths<0>;
  constexpr typename first::attributes how{Lengths, Axis};
  if constexpr (detail::is_refused<first, how, X>()) {
    (void)detail::refuse<first, how, X>();
    return std::array<detail::refused, Lengths.size()>{};
  } else {
    auto const parts = split_lengths(value(x), {Lengths.begin(), Lengths.end()}, Axis);
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      if constexpr (typed<X>) {
        return std::tuple{
            expr<detail::result_types<ops::part_of_lengths<Index>,
                                      typename ops::part_of_lengths<Index>::attributes{Lengths, Axis}, X>()>{
                parts[Index]}...};
      } else return std::array{parts[Index]...};
    }(std::make_index_sequence<Lengths.size()>{});
  }
}

/// Returns the parts of x between positions along an axis, where it is cut: `split_at(x, {2, 5})` has rows 0 and 1,
/// rows 2 to 4, and the rest. The positions ascend.
inline std::vector<value> split_at(value x, std::vector<std::int64_t> const& positions, std::int64_t axis = 0) try {
  std::vector<std::int64_t> lengths;
  std::int64_t before = 0;
  for (auto const at : positions) {
    expects(at >= before, "split_at: a position is negative, or less than the position before it");
    lengths.push_back(at - before);
    before = at;
  }
  lengths.push_back(-1);
  return split_lengths(x, std::move(lengths), axis);
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill
