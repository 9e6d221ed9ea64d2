// The same elements with other extents.
#pragma once
#include "rill/dsl/expr.hpp"

namespace rill::ops {

/// Returns the type of a reshaped value. If the extents of x are known, an open extent of `to` is computed; otherwise
/// equal names cancel out. Refuses a reshape that certainly changes the number of elements.
constexpr type reshaped(type const& x, type to, checks expects = {}) {
  if (!expects(to.has_rank(), "reshape: the rank to reshape to is not known")) return to;
  to.element = x.element;
  std::array<bool, max_rank> cancelled{};
  std::size_t open = max_rank, opens = 0, unnamed = 0;  // extents of `to` that are no numbers and not among x's names
  std::int64_t have = 1, want = 1;
  bool const known = x.is_known();
  for (std::size_t i = 0; i < to.rank; ++i) {
    if (to[i].known()) {
      want = to[i].extent == 0 ? 0 : checked_product(want, to[i].extent, expects);
      continue;
    }
    unnamed += to[i] == unknown;
    bool among = false;
    for (std::size_t j = 0; x.has_rank() && j < x.rank && !among && to[i].named(); ++j)
      if (x[j] == to[i] && !cancelled[j]) among = cancelled[j] = true;
    if (!among) open = i, ++opens;
  }
  expects(unnamed <= 1, "reshape: at most one extent can be inferred");
  if (!x.has_rank()) return to;
  bool rest_known = true;
  for (std::size_t j = 0; j < x.rank; ++j) {
    if (x[j].known()) have = have == 0 || x[j].extent == 0 ? 0 : checked_product(have, x[j].extent, expects);
    else rest_known = rest_known && cancelled[j];
  }
  if (!rest_known) return to;
  if (opens == 0) expects(have == want, "reshape: the number of elements changes", have, want);
  if (opens == 1 && known) {
    if (expects(want != 0, "reshape: an extent can't be inferred if there are no elements") &&
        expects(have % want == 0, "reshape: the number of elements changes", have, want))
      to[open] = dim(have / want);
  } else if (opens == 1 && want != 0) {
    expects(have % want == 0, "reshape: the number of elements changes", have, want);
    if (to[open] == unknown) to[open] = dim(have / want);
  }
  return to;
}

struct reshape_op {
  using library = void;
  static constexpr std::string_view
      name = "reshape",
      doc = "the elements of x in row-major order, with other extents, one of which may be inferred";
  static constexpr std::string_view declared_type = "to";
  static constexpr std::int8_t arity = 1;
  static constexpr bool aliases_input = true;
  struct attributes {
    type to;  ///< only its extents count
    static constexpr auto fields(auto const& take) { return take(field{"to", &attributes::to}); }
  };
  static constexpr type infer(attributes const& a, type const& x, checks expects = {}) {
    return reshaped(x, a.to, expects);
  }
  static cost work(attributes const&, std::span<type const>, std::span<type const>) { return {}; }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {reshape_like(V(r.dy()), r.in(0))};
  }
};

struct reshape_like_op {
  using library = void;
  static constexpr std::string_view name = "reshape_like",
                                    doc = "the elements of x with the extents of the second operand";
  static constexpr std::int8_t arity = 2;
  static constexpr std::uint32_t shape_only = 0b10;
  static constexpr bool aliases_input = true;
  static constexpr type infer(no_attributes, type const& x, type const& other, checks expects = {}) {
    if (x.is_known() && other.is_known())
      expects(elements(x.shape(), expects) == elements(other.shape(), expects),
              "reshape_like: the number of elements changes");
    return other.with(x.element);
  }
  static cost work(no_attributes, std::span<type const>, std::span<type const>) { return {}; }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(2);
    if (r.wanted[0]) all[0] = reshape_like(V(r.dy()), r.in(0));
    return all;
  }
};

// Not a reshape: a reshape could not distinguish two unknown extents.
struct flatten_rows_op {
  using library = void;
  static constexpr std::string_view name = "flatten_rows",
                                    doc = "a matrix of the rows of x: all axes but the last merged into one";
  static constexpr std::int8_t arity = 1;
  static constexpr bool aliases_input = true;
  static constexpr type infer(no_attributes, type const& x, checks expects = {}) {
    if (!x.has_rank()) return {x.element, {unknown, unknown}};
    if (!expects(x.rank > 0, "flatten_rows: a scalar has no rows")) return x;
    dim rows = x.rank == 2 ? x[0] : dim(1);
    for (std::size_t i = 0; x.rank != 2 && i + 1 < x.rank; ++i)
      rows = rows.known() && x[i].known() ? dim(checked_product(rows.extent, x[i].extent, expects)) : unknown;
    return {x.element, {rows, x[x.rank - std::size_t{1}]}};
  }
  static cost work(no_attributes, std::span<type const>, std::span<type const>) { return {}; }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {reshape_like(V(r.dy()), r.in(0))};
  }
};

}  // namespace rill::ops

namespace rill {

/// Returns the elements of x in row-major order with other extents: `reshape<"batch", 64>(x)`. One extent may be
/// unknown (-1); it is inferred, at run time if necessary. A name is an extent known only at run time. Nothing is
/// copied.
template <dim... Extents, operand X> auto reshape(X x) {
  return record<ops::reshape_op, ops::reshape_op::attributes{type{dtype::float32, {Extents...}}}>(x);
}
/// Returns the same with extents known only at run time; one of them may be -1.
inline value reshape(value x, extents const& to) {
  type t;
  for (auto extent : to) {
    expects(extent >= -1, "reshape: an extent is negative");
    t.push_back(extent);
  }
  return record_erased<ops::reshape_op>(detail::graph_of(x), {t}, {x});
}
/// Returns a matrix of all rows of x: [batch, time, features] becomes [batch · time, features]. Nothing is copied.
template <operand X> auto flatten_rows(X x) { return record<ops::flatten_rows_op>(x); }
/// Returns the elements of x with the extents of `other`.
inline value reshape_like(value x, value other) {
  auto const& to = other.type();
  if (to.is_known())
    return x.type() == to.with(x.type().element) ? x : record_erased<ops::reshape_op>(detail::graph_of(x), {to}, {x});
  return record_erased<ops::reshape_like_op>(detail::graph_of(x), {}, {x, other});
}

}  // namespace rill
