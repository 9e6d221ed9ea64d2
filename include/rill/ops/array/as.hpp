// What a program knows of a value that the graph does not: said when the model is written, checked in each step.
#pragma once
#include "rill/ops/array/reshape.hpp"

namespace rill {

namespace detail {

/// The type of a value of type `x` that is said to be a `said`: what the two know together. Error(invalid_argument) if
/// they can't be the same.
type merged(type const& said, type const& x);

}  // namespace detail

namespace ops {

/// A step checks extents and binds names when it knows those of its input, which are its own then (pass/bind.hpp).
struct as_op {
  using library = void;
  static constexpr std::string_view name = "as", doc = "x, of which more is said than its type knows";
  static constexpr op_kind kind = op_kind::as;
  static constexpr std::string_view declared_type = "type";
  static constexpr std::int8_t arity = 1;
  static constexpr bool aliases_input = true;
  struct attributes {
    type of;
    static constexpr auto fields(auto const& take) { return take(field{"type", &attributes::of}); }
  };
  static type infer(attributes const& a, type const& x) { return detail::merged(a.of, x); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {r.dy().type() == r.in(0).type() ? V(r.dy()) : reshape_like(V(r.dy()), r.in(0))};
  }
};

}  // namespace ops

/// v, of which it is said that it is a `t`. What can't be true is error(invalid_argument) at once; the rest is checked
/// by each step that needs the value: extents that are others, and names that other values give other extents, are
/// error(invalid_argument) with both. A feed of the result is a feed of v.
value as(value v, type const& t, std::string_view name = {});
/// The same as a typed handle: the way back from an erased one.
template <type T> expr<T> as(value v, std::string_view name = {}) { return {as(v, T, name)}; }

#if RILL_RUNTIME
RILL_INLINE type detail::merged(type const& said, type const& x) {
  if (!accepts(said, x))
    throw error(code::invalid_argument, "the value is not the " + said.text() + " that it was said to be");
  if (!said.has_rank() || !x.has_rank()) return said.has_rank() ? said : x;
  type y = said;
  for (std::size_t i = 0; i < y.rank; ++i)
    if (y[i] == unknown) y[i] = x[i];
  return y;
}

RILL_INLINE value as(value v, type const& t, std::string_view name) {
  auto const& known = v.type();
  if (!accepts(t, known))
    throw error(code::invalid_argument, "the value is a " + known.text() + ", not a " + t.text(), v.name());
  return detail::merged(t, known) == known ? v : record_erased<ops::as_op>(*v.graph, {t}, {v}, name);
}
#endif

}  // namespace rill
