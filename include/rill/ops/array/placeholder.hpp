// Values that steps are fed.
#pragma once
#include "rill/dsl/expr.hpp"

namespace rill::ops {

struct placeholder_op {
  using library = void;
  static constexpr std::string_view name = "placeholder", doc = "a value that every step must be fed";
  static constexpr op_kind kind = op_kind::placeholder;
  static constexpr std::string_view declared_type = "type";
  static constexpr std::int8_t arity = 0;
  struct attributes {
    type of;
    static constexpr auto fields(auto const& take) { return take(field{"type", &attributes::of}); }
  };
  static constexpr type infer(attributes const& a, std::span<type const>) { return a.of; }
};

struct placeholder_with_default_op {
  using library = void;
  static constexpr std::string_view name = "placeholder_with_default",
                                    doc = "a value that a step may be fed; its input otherwise";
  static constexpr op_kind kind = op_kind::placeholder_with_default;
  static constexpr std::string_view declared_type = "type";
  static constexpr std::int8_t arity = 1;
  static constexpr bool aliases_input = true;
  using attributes = placeholder_op::attributes;
  static constexpr type infer(attributes const& a, type const& value, checks expects = {}) {
    expects(accepts(a.of, value), "placeholder_with_default: the default is not of the placeholder's type");
    return a.of;
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) { return {V(r.dy())}; }
};

}  // namespace rill::ops

namespace rill {

/// Returns a value of any type that every step must be fed. Throws error(invalid_argument) if its name is taken.
value placeholder(graph& g, type const& t, std::string_view name = {});
/// Returns a value that every step must be fed: `placeholder<float, "batch", 64>(g, "image")`.
template <element T, dim... Extents> expr<of<T, Extents...>> placeholder(graph& g, std::string_view name = {}) {
  return {placeholder(g, of<T, Extents...>, name)};
}
/// Returns a value that a step may be fed; without a feed it is `otherwise`. Throws error(invalid_argument) if its name
/// is taken.
template <operand X> X placeholder_with_default(X otherwise, std::string_view name = {}) {
  type t = otherwise.type();
  if constexpr (typed<X>) t = X::static_type;
  return X{record_erased<ops::placeholder_with_default_op>(detail::graph_of(otherwise), {t}, {otherwise}, name)};
}

#if RILL_RUNTIME
RILL_INLINE value placeholder(graph& g, type const& t, std::string_view name) {
  return record_erased<ops::placeholder_op>(g, {t}, {}, name);
}
#endif

}  // namespace rill
