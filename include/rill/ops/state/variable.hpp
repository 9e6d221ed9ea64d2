// Variables in the graph: the node that reads one, and operations that take it by reference.
#pragma once
#include "rill/dsl/expr.hpp"

namespace rill::ops {

/// Reads the value at the beginning of the step. Operations that update take the node by reference.
struct variable_op {
  using library = void;
  static constexpr std::string_view name = "variable",
                                    doc = "a tensor that outlives steps; its value at the beginning of the step";
  static constexpr op_kind kind = op_kind::variable;
  static constexpr std::string_view declared_type = "type";
  static constexpr std::int8_t arity = 0;
  static constexpr rill::effect effect = rill::effect::reads;
  struct attributes {
    type of;
    bool trainable = true;  ///< whether optimizers change it by default
    static constexpr auto fields(auto const& take) {
      return take(field{"type", &attributes::of}, field{"trainable", &attributes::trainable});
    }
  };
  static constexpr type infer(attributes const& a, std::span<type const>) { return a.of; }
  /// Returns no cost: the output is the existing tensor.
  static cost work(attributes const&, std::span<type const>, std::span<type const>) { return {}; }
  static kernel cpu(kernel_request const& r);
};

struct read_op {
  using library = void;
  static constexpr std::string_view
      name = "read",
      doc = "the current value of a variable, after the updates that control edges order before this node";
  static constexpr bool uses_value_extents = true;
  static constexpr std::int8_t arity = 1;
  static constexpr std::uint32_t by_reference = 1;
  static constexpr bool dynamic_output_shape = true;  // an update may change the variable's extents
  static constexpr rill::effect effect = rill::effect::reads;
  static constexpr type infer(no_attributes, type const& v) { return v; }
  static cost work(no_attributes, std::span<type const>, std::span<type const>) { return {}; }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) { return {V(r.dy())}; }
  static kernel cpu(kernel_request const& r);
};

struct is_initialized_op {
  using library = void;
  static constexpr std::string_view name = "is_initialized", doc = "whether a variable has a value";
  static constexpr std::int8_t arity = 1;
  static constexpr std::uint32_t by_reference = 1;
  static constexpr rill::effect effect = rill::effect::reads;
  static constexpr type infer(no_attributes, type const&) { return {dtype::boolean}; }
  static cost work(no_attributes, std::span<type const>, std::span<type const>) { return {}; }
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// A handle that can be assigned to; it reads the value at the beginning of the step.
struct variable_value : value {};
/// Returns a variable of static type T.
template <type T> struct variable_expr : expr<T> {
  operator variable_value() const { return {static_cast<value const&>(*this)}; }
};
template <class X>
concept variable_handle = std::convertible_to<X, variable_value> || std::same_as<X, variable_value>;
namespace detail {
template <class X> inline constexpr bool is_variable_handle = variable_handle<X>;  // of which compilers say no more
}

/// Options of a variable.
struct variable_options {
  bool trainable = true;  ///< whether `minimize(loss)` changes it; false for moving averages and scales
};

/// Returns a variable of any type without a first value; its name in the container is the node's name. Throws
/// error(invalid_argument) if the name is taken, like all functions that record a variable.
variable_value variable(graph& g, type const& t, std::string_view name, variable_options o = {});
/// Returns a variable without a first value: `variable<float, 64, 10>(g, "weights")`.
template <element T, dim... Extents>
variable_expr<of<T, Extents...>> variable(graph& g, std::string_view name, variable_options o = {}) {
  return {{variable(g, of<T, Extents...>, name, o)}};
}
namespace detail {
/// Returns the first free variable name among wish + rest, wish_1 + rest, wish_2 + rest and so on, for variables
/// without a given name.
std::string numbered_variable(graph& g, std::string_view wish, std::string_view rest);
}  // namespace detail
/// Whether a variable was declared as trainable.
bool is_trainable(variable_value v);
/// Returns the current value of a variable: record it after updates (`g.after({update}, …)`) to read what they wrote.
template <type T> expr<T> read(variable_expr<T> v) {
  return {record_erased<ops::read_op>(detail::graph_of(v), {}, {v})};
}
inline value read(variable_value v) { return record_erased<ops::read_op>(detail::graph_of(v), {}, {v}); }
/// Whether a variable has a value.
inline expr<of<bool>> is_initialized(variable_value v) {
  return {record_erased<ops::is_initialized_op>(detail::graph_of(v), {}, {v})};
}

}  // namespace rill

#if RILL_RUNTIME
#include "rill/device/step.hpp"
#include "rill/state/container.hpp"

namespace rill::ops {

RILL_INLINE kernel variable_op::cpu(kernel_request const& r) {
  kernel k([v = r.state.variable(r.at.name, decode<attributes>(r.at.attributes).of)](kernel_call const& call) {
    call.give(0, v->read(call.step.version));
  });
  k.allocates_outputs = true;
  return k;
}

RILL_INLINE kernel read_op::cpu(kernel_request const& r) {
  expects(r.variables[0] != nullptr, "read takes a variable, not a value");
  kernel k([v = r.variables[0]](kernel_call const& call) { call.give(0, v->read(call.step.version)); });
  k.allocates_outputs = true;
  return k;
}

RILL_INLINE kernel is_initialized_op::cpu(kernel_request const& r) {
  expects(r.variables[0] != nullptr, "is_initialized takes a variable, not a value");
  return kernel(
      [v = r.variables[0]](kernel_call const& call) { *call.out<bool>(0) = v->initialized(call.step.version); });
}

}  // namespace rill::ops

namespace rill {

RILL_INLINE variable_value variable(graph& g, type const& t, std::string_view name, variable_options o) {
  return {record_erased<ops::variable_op>(g, {t, o.trainable}, {}, name)};
}
RILL_INLINE std::string detail::numbered_variable(graph& g, std::string_view wish, std::string_view rest) try {
  auto name = std::string(wish) + std::string(rest);
  for (int i = 1; !g.is_free_for_variable(name); ++i)
    name = std::string(wish) + "_" + std::to_string(i) + std::string(rest);
  return name;
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE bool is_trainable(variable_value v) {
  return decode<ops::variable_op::attributes>(v.origin().attributes).trainable;
}

}  // namespace rill
#endif
