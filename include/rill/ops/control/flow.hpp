// Nodes for order and identity: no_op, group, identity, stop_gradient, and initializer(graph).
#pragma once
#include "rill/dsl/expr.hpp"

namespace rill::ops {

struct no_op_op {
  using library = void;
  static constexpr std::string_view name = "no_op", doc = "does nothing; control edges order it";
  static constexpr std::int8_t arity = 0;
  static constexpr std::size_t outputs = 0;
  static constexpr std::array<type, 0> infer(no_attributes, std::span<type const>) { return {}; }
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const&) {
    return kernel([](kernel_call const&) {});
  }
#endif
};

struct identity_op {
  using library = void;
  static constexpr std::string_view name = "identity", doc = "x";
  static constexpr op_kind kind = op_kind::identity;
  static constexpr std::int8_t arity = 1;
  static constexpr bool aliases_input = true;
  static constexpr type infer(no_attributes, type const& x) { return x; }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) { return {V(r.dy())}; }
};

struct stop_gradient_op {
  using library = void;
  static constexpr std::string_view name = "stop_gradient", doc = "x, treated as a constant by differentiation";
  static constexpr std::int8_t arity = 1;
  static constexpr bool stops_gradient = true;
  static constexpr bool aliases_input = true;
  static constexpr type infer(no_attributes, type const& x) { return x; }
  template <class> static std::vector<gradient> grad(gradient_request const&) { return {gradient()}; }
};

}  // namespace rill::ops

namespace rill {

/// Returns a node that does nothing, as an end of control edges.
inline operation no_op(graph& g, std::string_view name = {}) { return record_erased<ops::no_op_op>(g, {}, {}, name); }
/// Returns a node that runs after all of `members`.
operation group(graph& g, std::vector<operation> const& members, std::string_view name = "group");
/// Returns x as a separate node, with its own name and control edges.
template <operand X> auto identity(X x) { return record<ops::identity_op>(x); }
/// Returns x, treated as a constant by differentiation: it passes no derivative.
template <operand X> auto stop_gradient(X x) { return record<ops::stop_gradient_op>(x); }

/// Returns an operation that assigns the first value of every variable of the graph. `initializer(g, only_missing)`
/// leaves variables that have a value as they are (ops/state/assign.hpp).
operation initializer(graph& g);

#if RILL_RUNTIME
RILL_INLINE operation group(graph& g, std::vector<operation> const& members, std::string_view name) try {
  return g.after(members, [&] { return no_op(g, name); });
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE operation initializer(graph& g) try {
  std::vector<operation> all;
  for (auto const& i : g.initials()) all.push_back({&g, i.assignment});
  return group(g, all, "initializer");
} catch (...) {
  rethrow_as_error();
}
#endif

}  // namespace rill
