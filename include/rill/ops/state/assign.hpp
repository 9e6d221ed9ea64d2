// Updates of variables: assign, assign_add, assign_sub; initial values, and their assignment where values are missing.
#pragma once
#include "rill/ops/control/flow.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/state/variable.hpp"

namespace rill::ops {

/// What updates share: a variable by reference and a value of its type; the result is the new value.
struct update_rules {
  static constexpr std::int8_t arity = 2;
  static constexpr std::uint32_t by_reference = 1;
  static constexpr rill::effect effect = rill::effect::writes;
  static constexpr type infer(no_attributes, type const& variable, type const& x, checks expects = {}) {
    expects(accepts(variable, x), "the value is not of the variable's type");
    return x;
  }
};

struct assign_op : update_rules {
  using library = void;
  static constexpr std::string_view name = "assign", doc = "assigns x to the variable";
  static constexpr op_kind kind = op_kind::assign;
  static constexpr bool resizes = true;
  static kernel cpu(kernel_request const& r);
};

struct initialize_op {
  using library = void;
  static constexpr std::string_view name = "initialize", doc = "assigns x to the variable unless it has a value";
  static constexpr op_kind kind = op_kind::initialize;
  static constexpr std::int8_t arity = 2;
  static constexpr std::uint32_t by_reference = 1;
  static constexpr bool resizes = true;
  static constexpr rill::effect effect = rill::effect::writes;
  static std::array<type, 0> infer(no_attributes, std::span<type const> x) {
    expects(accepts(x[0], x[1]), "the value is not of the variable's type");
    return {};
  }
  static kernel cpu(kernel_request const& r);
};

struct assign_add_op : update_rules {
  using library = void;
  using arithmetic = add_op;
  static constexpr std::string_view name = "assign_add", doc = "adds x to the variable";
  static kernel cpu(kernel_request const& r);
};

struct assign_sub_op : update_rules {
  using library = void;
  using arithmetic = sub_op;
  static constexpr std::string_view name = "assign_sub", doc = "subtracts x from the variable";
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

namespace detail {

/// Provides the arithmetic of an update.
template <class Op, class X> void provide_arithmetic() {
  if constexpr (typed<X>) provide_kernels<typename Op::arithmetic, X::static_type.element>();
}

}  // namespace detail

/// Assigns x to the variable; the result is the new value.
template <operand V, operand X> auto assign(V v, X x) {
  static_assert(detail::is_variable_handle<V>,
                "assign: what is updated must be a variable; this is another value of the graph");
  return record<ops::assign_op>(v, x);
}
/// Adds x to the variable; the result is the new value.
template <operand V, operand X> auto assign_add(V v, X x) {
  static_assert(detail::is_variable_handle<V>,
                "assign_add: what is updated must be a variable; this is another value of the graph");
  detail::provide_arithmetic<ops::assign_add_op, X>();
  return record<ops::assign_add_op>(v, x);
}
/// Subtracts x from the variable; the result is the new value.
template <operand V, operand X> auto assign_sub(V v, X x) {
  static_assert(detail::is_variable_handle<V>,
                "assign_sub: what is updated must be a variable; this is another value of the graph");
  detail::provide_arithmetic<ops::assign_sub_op, X>();
  return record<ops::assign_sub_op>(v, x);
}

namespace detail {
/// Returns the first value of a variable; an empty handle if it has none.
value find_initial_value(variable_value v);
/// Returns a variable of that type and records the assignment that `initializer` runs.
variable_value variable_of(type const& t, value first, std::string_view name, variable_options o);
}  // namespace detail

/// Returns a variable with a first value, which `initializer(graph)` assigns; the variable has the value's type. Other
/// variables have no value yet in that step: use `initial_value(v)` to depend on one. Random numbers in a first value
/// depend only on the graph's seed and the variable's name (graph/first_draws.hpp).
template <type T> variable_expr<T> variable(expr<T> first, std::string_view name, variable_options o = {}) {
  return {{detail::variable_of(T, first, name, o)}};
}
inline variable_value variable(value first, std::string_view name, variable_options o = {}) {
  return detail::variable_of(first.type(), first, name, o);
}

/// Returns the first value that `initializer(graph)` assigns to a variable, as `initial_value` in TensorFlow 1:
/// `variable(initial_value(v), "copy")` starts as v does. Throws error(failed_precondition) if v has no first value.
value initial_value(variable_value v);
template <type T> expr<T> initial_value(variable_expr<T> v) { return expr<T>{initial_value(variable_value(v))}; }

/// Tag for `initializer(g, only_missing)`.
struct only_missing_t {};
inline constexpr only_missing_t only_missing{};  ///< the variables that have no value

/// Returns an operation that assigns its first value to every variable of the graph that has no value. A variable that
/// has one is left as it is; the check and the assignment are atomic, so other steps may train meanwhile. Gives the
/// variables of a restarted task their first values again (trained values need a checkpoint), and leaves the others.
operation initializer(graph& g, only_missing_t);

}  // namespace rill

#if RILL_RUNTIME
namespace rill::ops {

namespace assigning {

inline constexpr std::size_t chunk = 16384;  // elements that one thread takes at a time

/// Applies a tile function to a variable's elements and the operand's, in place.
inline void in_place(tensor& v, tile_function run, void const* delta, parallel const& threads) {
  auto const n = static_cast<std::size_t>(v.elements()), size = size_of(v.element());
  auto* to = static_cast<std::byte*>(v.mutable_raw());
  auto const* from = static_cast<std::byte const*>(delta);
  threads((n + chunk - 1) / chunk, [&](std::size_t i) {
    auto const at = i * chunk;
    void const* operands[] = {to + at * size, from + at * size};
    run(to + at * size, operands, std::min(chunk, n - at));
  });
}

template <class Op> kernel update(kernel_request const& r) {
  auto const element = r.inputs[1].element;
  dtype const both[] = {element, element};
  auto const run = definition<Op>().elementwise->tile(both, element);
  if (run == nullptr) throw error(code::unimplemented, "the update does not take " + std::string(name(element)));
  kernel k([v = r.variables[0], run, extents = r.inputs[1].shape()](kernel_call const& call) {
    v->update(
        [&](tensor& t) {
          expects(t.shape() == extents, "an update does not have the variable's extents");
          in_place(t, run, call.in(1), call.threads);
          call.give(0, t);
        },
        call.step.version);
  });
  k.allocates_outputs = true;
  return k;
}

}  // namespace assigning

RILL_INLINE kernel assign_op::cpu(kernel_request const& r) {
  kernel k([v = r.variables[0], t = r.inputs[1], memory = r.memory](kernel_call const& call) {
    if (t.element == dtype::string) {  // copying strings may throw, so the old value stays until all are copied
      tensor fresh(t.element, t.shape(), *memory);
      std::copy_n(call.in<std::string>(1), fresh.elements(), fresh.mutable_data<std::string>());
      call.give(0, fresh);
      return v->assign(std::move(fresh), call.step.version);
    }
    v->overwrite(
        t.shape(), *memory,
        [&](tensor& value) {
          if (value.bytes() != 0) std::memcpy(value.mutable_raw(), call.in(1), value.bytes());
          call.give(0, value);
        },
        call.step.version);
  });
  k.allocates_outputs = true;
  return k;
}

RILL_INLINE kernel initialize_op::cpu(kernel_request const& r) {
  return kernel([v = r.variables[0], t = r.inputs[1], memory = r.memory](kernel_call const& call) {
    v->initialize(
        t.shape(), *memory,
        [&](tensor& value) {
          if (t.element == dtype::string)
            std::copy_n(call.in<std::string>(1), value.elements(), value.mutable_data<std::string>());
          else if (value.bytes() != 0) std::memcpy(value.mutable_raw(), call.in(1), value.bytes());
        },
        call.step.version);
  });
}

RILL_INLINE kernel assign_add_op::cpu(kernel_request const& r) { return assigning::update<arithmetic>(r); }

RILL_INLINE kernel assign_sub_op::cpu(kernel_request const& r) { return assigning::update<arithmetic>(r); }

}  // namespace rill::ops

namespace rill {

RILL_INLINE value detail::find_initial_value(variable_value v) {
  auto& g = graph_of(v).outermost();
  for (auto const& i : g.initials()) {
    if (g[i.variable].name != v.origin().name) continue;  // a body has a node of its own for it
    auto const& n = g[i.assignment];
    if (n.op->kind == op_kind::assign && n.inputs[0].node == i.variable)
      return {&g, n.inputs[1].node, n.inputs[1].port};
  }
  return {};
}

RILL_INLINE value initial_value(variable_value v) try {
  if (auto const first = detail::find_initial_value(v)) return first;
  throw error(code::failed_precondition, "the variable has no first value, which initializer(graph) would give it",
              v.origin().name);
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE operation initializer(graph& g, only_missing_t) try {
  std::vector<operation> all;
  for (auto const& i : g.initials()) {
    auto const& first = g[i.assignment];
    auto const record = [&] {
      value const to{&g, i.variable, 0}, from{&g, first.inputs[1].node, first.inputs[1].port};
      return operation(record_erased<ops::initialize_op>(g, {}, {to, from}));
    };
    all.push_back(g.placed_as(first.device, first.colocated, record));  // where the first value is assigned
  }
  return group(g, all, "initializer");
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE variable_value detail::variable_of(type const& t, value first, std::string_view name,
                                               variable_options o) try {
  auto& g = graph_of(first);
  auto const v = variable(g, t, name, o);
  auto const a = record_erased<ops::assign_op>(g, {}, {v, first}, std::string(name) + "/assign");
  g.add_initial({v.node, a.node});
  return v;
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill
#endif
