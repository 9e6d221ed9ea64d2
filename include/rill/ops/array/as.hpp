// Gives a value a more specific type than the graph can infer; each step checks it.
#pragma once
#include "rill/ops/array/reshape.hpp"

namespace rill {

namespace detail {

/// Returns the combination of the types `x` and `said`. Throws error(invalid_argument) if no value has both.
type merged(type const& said, type const& x);

}  // namespace detail

namespace ops {

/// A step that knows the extents of the input checks them and binds the names; the result then has the input's extents
/// (pass/bind.hpp).
struct as_op {
  using library = void;
  static constexpr std::string_view name = "as", doc = "x with a more specific static type, checked when the step runs";
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

/// Returns v with the more specific type `t`. Throws error(invalid_argument) at once if v can't have that type. Each
/// step that needs the value checks the rest: it fails with error(invalid_argument) if an extent differs or a name
/// already has another extent; the message has both. Feeding the result feeds v.
value as(value v, type const& t, std::string_view name = {});
/// Returns the same as a typed handle, for instance from an erased one.
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

RILL_INLINE value as(value v, type const& t, std::string_view name) try {
  auto const& known = v.type();
  if (!accepts(t, known))
    throw error(code::invalid_argument, "the value is " + with_article(known) + ", not " + with_article(t), v.name());
  return detail::merged(t, known) == known ? v : record_erased<ops::as_op>(*v.graph, {t}, {v}, name);
} catch (...) {
  rethrow_as_error();
}
#endif

}  // namespace rill
