// Where the elements of a padded, tiled or repeated axis come from.
#pragma once
#include <algorithm>

#include "rill/dsl/expr.hpp"

namespace rill {

/// What lies beyond the ends of an axis 0 1 2 3: the nearest element (0 0 | 0 1 2 3 | 3 3), the elements mirrored at
/// the last one (2 1 | 0 1 2 3 | 2 1) or beyond it (1 0 | 0 1 2 3 | 3 2), or the other end (2 3 | 0 1 2 3 | 0 1).
enum class border : std::uint8_t { edge, reflect, symmetric, wrap };

namespace ops {

struct source_positions_op {
  using library = void;
  static constexpr std::string_view
      name = "source_positions",
      doc =
          "the positions of x that a longer axis copies: `times` the axis, with more before and after it, each "
          "position `each` times in a row";
  static constexpr std::int8_t arity = 1;
  static constexpr std::uint32_t shape_only = 1;
  struct attributes {
    std::int64_t axis = 0;
    border beyond = border::wrap;
    std::int64_t before = 0, after = 0, times = 1, each = 1;
    static constexpr auto fields(auto const& take) {
      using a = attributes;
      return take(field{"axis", &a::axis}, field{"beyond", &a::beyond}, field{"before", &a::before},
                  field{"after", &a::after}, field{"times", &a::times}, field{"each", &a::each});
    }
  };
  static constexpr type infer(attributes const& a, type const& x, checks expects = {}) {
    expects(a.beyond <= border::wrap, "source_positions: unknown border (edge, reflect, symmetric, wrap)");
    bool const counted = expects(a.before >= 0 && a.after >= 0 && a.times >= 0 && a.each >= 0,
                                 "source_positions: a number of elements is negative");
    if (!x.has_rank() || !counted) return {dtype::int64, {unknown}};
    auto const extent =
        x[checked_axis(a.axis, x.rank, "source_positions: the axis is out of range for the operand's rank", expects)];
    if (!extent.known()) return {dtype::int64, {unknown}};
    auto const copies = checked_product(extent.extent, a.times, expects), most = INT64_MAX - copies;
    if (!expects(a.before <= most && a.after <= most - a.before,
                 "source_positions: the extent does not fit in 64 bits"))
      return {dtype::int64, {unknown}};
    expects(extent.extent > 0 || (a.before == 0 && a.after == 0),
            "source_positions: an axis without elements can't be padded");
    return {dtype::int64, {checked_product(copies + a.before + a.after, a.each, expects)}};
  }
#if RILL_DEFINITIONS
  /// Returns the position in [0, n) that is at `p` where a border lies beyond the n positions.
  static std::int64_t inside(border beyond, std::int64_t p, std::int64_t n) {
    auto const around = [](std::int64_t q, std::int64_t period) { return (q % period + period) % period; };
    if (beyond == border::edge) return std::clamp<std::int64_t>(p, 0, n - 1);
    if (beyond == border::wrap) return around(p, n);
    if (beyond == border::symmetric) return std::min(around(p, 2 * n), 2 * n - 1 - around(p, 2 * n));
    if (n == 1) return 0;
    return std::min(around(p, 2 * n - 2), 2 * n - 2 - around(p, 2 * n - 2));
  }
  static kernel cpu(kernel_request const& r) {
    auto const a = decode<attributes>(r.at.attributes);
    auto const& x = r.inputs[0];
    auto const n = x[checked_axis(a.axis, x.rank, "source_positions: the axis is out of range")].extent;
    return kernel([a, n, count = r.outputs[0][0].extent](kernel_call const& call) {
      auto* const to = call.out<std::int64_t>(0);
      for (std::int64_t i = 0; i < count; ++i) to[i] = inside(a.beyond, i / a.each - a.before, n);
    });
  }
#endif
};

}  // namespace ops

/// Returns the positions along an axis of x that an axis of `times` as many elements, with `before` and `after` more,
/// each of them `each` times in a row, copies; as int64, for `gather`.
inline value source_positions(value x, ops::source_positions_op::attributes const& a) {
  return record_erased<ops::source_positions_op>(detail::graph_of(x), a, {x});
}

}  // namespace rill
