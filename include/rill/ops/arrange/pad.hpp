// Arrays with elements added around them, and the reverse.
#pragma once
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/reshape.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill::ops {

/// How many elements are added before and after each axis, or removed from it.
struct margins {
  extents before, after;
  static constexpr auto fields(auto const& take) {
    return take(field{"before", &margins::before}, field{"after", &margins::after});
  }

  /// Fails unless there are two numbers, both at least 0, for each axis.
  constexpr bool check(type const& x, checks expects) const {
    for (auto const* list : {&before, &after})
      for (auto each : *list)
        if (!expects(each >= 0, "pad: a number of elements is negative")) return false;
    return expects(before.size() == after.size() && (!x.has_rank() || x.rank == before.size()),
                   "pad: before and after must have a number for each axis");
  }
  /// Returns the type of x with the margins around it.
  constexpr type around(type const& x, checks expects = {}) const {
    if (!check(x, expects)) return x;
    type y{x.element};
    for (std::size_t i = 0; i < before.size(); ++i) {
      auto const most = INT64_MAX - before[i];
      bool const fits = expects(after[i] <= most && (!x.has_rank() || x[i].extent <= most - after[i]),
                                "pad: the padded extent does not fit in 64 bits");
      bool const same = before[i] == 0 && after[i] == 0;
      if (x.has_rank() && (same || !fits)) y.push_back(x[i]);
      else y.push_back(x.has_rank() && x[i].known() ? dim(x[i].extent + before[i] + after[i]) : unknown);
    }
    return y;
  }
  /// Returns the type of x without its margins.
  constexpr type within(type const& x, checks expects = {}) const {
    if (!check(x, expects)) return x;
    type y{x.element};
    for (std::size_t i = 0; i < before.size(); ++i) {
      bool const known = x.has_rank() && x[i].known();
      bool const there = !known || (before[i] <= x[i].extent && after[i] <= x[i].extent - before[i]);
      expects(there, "unpad: the margins are wider than the operand");
      if (x.has_rank() && before[i] == 0 && after[i] == 0) y.push_back(x[i]);
      else y.push_back(known && there ? dim(x[i].extent - before[i] - after[i]) : unknown);
    }
    return y;
  }
};

struct pad_op {
  using library = void;
  static constexpr std::string_view name = "pad",
                                    doc = "x with copies of a scalar, the second operand, before and after each axis";
  static constexpr std::int8_t arity = 2;
  using attributes = margins;
  static constexpr type infer(margins const& a, type const& x, type const& with, checks expects = {}) {
    expects(x.element == with.element, "pad: the number has another element type than the operand; cast it");
    expects(!with.has_rank() || with.is_scalar(), "pad: what is added is not a scalar");
    return a.around(x, expects);
  }
  static cost work(margins const&, std::span<type const> in, std::span<type const> out) {
    return {0, rill::detail::bytes_of(in) + rill::detail::bytes_of(out)};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<margins>(r.origin().attributes);
    V const dy = r.dy(), dx = unpad(dy, a.before, a.after);
    std::vector<gradient> all(2);
    if (r.wanted[0]) all[0] = dx.type() == r.in(0).type() ? dx : V(reshape_like(dx, r.in(0)));
    if (r.wanted[1]) all[1] = sum(dy - V(pad(dx, a.before, a.after, zero(dx))));
    return all;
  }
  static kernel cpu(kernel_request const& r);
};

struct unpad_op {
  using library = void;
  static constexpr std::string_view name = "unpad",
                                    doc = "x without a number of elements at the start and the end of each axis";
  static constexpr std::int8_t arity = 1;
  using attributes = margins;
  static constexpr type infer(margins const& a, type const& x, checks expects = {}) { return a.within(x, expects); }
  static cost work(margins const&, std::span<type const>, std::span<type const> out) {
    return {0, 2 * rill::detail::bytes_of(out)};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    auto const a = decode<margins>(r.origin().attributes);
    V const dx = pad(V(r.dy()), a.before, a.after, zero(V(r.dy())));
    return {dx.type() == r.in(0).type() ? dx : V(reshape_like(dx, r.in(0)))};
  }
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns x with Before[i] elements before and After[i] elements after axis i, all of them equal to a scalar of x's
/// element type: `pad<extents{0, 1}, extents{0, 2}>(x, 0.f)`.
template <extents Before, extents After, operand X, operand With> auto pad(X x, With with) {
  return record<ops::pad_op, ops::margins{Before, After}>(x, with);
}
template <extents Before, extents After, operand X, number N = std::int8_t> auto pad(X x, N n = 0) {
  return pad<Before, After>(x, like(x, n));
}
/// Returns the same with numbers of elements known only at run time.
inline value pad(value x, extents const& before, extents const& after, value with) {
  return record_erased<ops::pad_op>(detail::graph_of(x), {before, after}, {x, with});
}
template <number N = std::int8_t> value pad(value x, extents const& before, extents const& after, N n = 0) {
  return pad(x, before, after, like(x, n));
}

/// Returns x without Before[i] elements at the start and After[i] elements at the end of axis i.
template <extents Before, extents After, operand X> auto unpad(X x) {
  return record<ops::unpad_op, ops::margins{Before, After}>(x);
}
/// Returns the same with numbers of elements known only at run time.
inline value unpad(value x, extents const& before, extents const& after) {
  return record_erased<ops::unpad_op>(detail::graph_of(x), {before, after}, {x});
}

}  // namespace rill

#if RILL_DEFINITIONS
#include "rill/ops/array/box.hpp"

namespace rill::ops {

/// Writes n copies of an element.
inline void fill_elements(dtype d, void* to, void const* with, std::size_t n) {
  visit(d, [&]<class T>() { std::fill_n(static_cast<T*>(to), n, *static_cast<T const*>(with)); });
}

inline kernel pad_op::cpu(kernel_request const& r) {
  auto const x = r.inputs[0].shape(), y = r.outputs[0].shape();
  auto const element = r.inputs[0].element;
  box_copy const copy(element, x, {y, decode<margins>(r.at.attributes).before}, {x, zeros(x.rank())});
  return kernel([=, n = static_cast<std::size_t>(elements(y))](kernel_call const& call) {
    fill_elements(element, call.out(0), call.in(1), n);
    copy(call.out(0), call.in(0), call.threads);
  });
}

inline kernel unpad_op::cpu(kernel_request const& r) {
  auto const x = r.inputs[0].shape(), y = r.outputs[0].shape();
  box_copy const copy(r.inputs[0].element, y, {y, zeros(y.rank())}, {x, decode<margins>(r.at.attributes).before});
  return kernel([copy](kernel_call const& call) { copy(call.out(0), call.in(0), call.threads); });
}

}  // namespace rill::ops
#endif
