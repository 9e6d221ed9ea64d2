// Properties of nodes. They follow from the kind and the traits that an operation declares, never from its name.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "rill/graph/node.hpp"

namespace rill {

/// Whether a node is a variable.
inline bool is_variable(node const& n) { return n.op->kind == op_kind::variable; }
/// Whether a node is a constant.
inline bool is_constant(node const& n) { return n.op->kind == op_kind::constant; }
/// Whether a node runs in tagged execution alone.
inline bool is_primitive(node const& n) { return n.op->kind >= op_kind::switch_; }

/// Returns a constant's value.
inline tensor const& constant_value(node const& n) {
  return detail::attribute_as<tensor>(n.attributes, n.op->constant_value);
}

/// Whether a node declares the type of its output.
inline bool declares_type(node const& n) { return !n.op->declared_type.empty(); }
/// Returns the type that a node declares: a variable, a placeholder, or an `as`.
inline type const& declared_type(node const& n) {
  return detail::attribute_as<type>(n.attributes, n.op->declared_type);
}
/// Sets the type that a node declares; it must declare one.
void set_declared_type(node& n, type const& t);

/// Whether a node only asserts a more specific type for input 0: once the types of the inputs are final, output 0 has
/// the type of input 0.
inline bool asserts_type(node const& n) {
  return n.op->kind == op_kind::as || n.op->kind == op_kind::placeholder_with_default;
}

/// Whether a node draws random numbers.
inline bool draws_random(node const& n) { return !n.op->draws_random.empty(); }
/// Returns the key that separates a node's random numbers from other nodes' numbers.
inline std::int64_t random_key(node const& n) {
  return detail::attribute_as<std::int64_t>(n.attributes, n.op->draws_random);
}
/// Sets the random key; the node must draw.
void set_random_key(node& n, std::int64_t key);

/// Whether a node takes an input as a variable and not its value.
bool takes_reference(node const& n, std::size_t input);

/// Whether a node takes the variable itself, even when a value is fed in the variable's place.
inline bool means_variable(node const& n, std::size_t input) {
  return takes_reference(n, input) && !n.op->reference_or_value;
}

/// Whether a node changes an input that it takes as a variable.
bool updates_reference(node const& n, std::size_t input);

/// Whether a node reads only the extents of an input.
inline bool reads_extents_alone(node const& n, std::size_t input) {
  return input < 32 && (n.op->shape_only >> input & 1u) != 0;
}

/// Whether a node asks where it runs.
inline bool asks_for_place(node const& n) { return !n.device.empty() || !n.colocated.empty(); }
/// Whether two nodes ask for the same: passes join no others. Nodes of a placed subgraph ask for their devices. Nodes
/// of a share that wait for different numbers of tasks in a row are apart: two tasks that each joined what the other
/// waits for with what it waits for itself would wait for each other.
inline bool same_place(node const& a, node const& b) {
  return a.device == b.device && a.colocated == b.colocated && a.hops == b.hops;
}

/// Returns the function that a node calls; null: it is not a call.
function_definition const* called_by(node const& n);

/// Whether a node runs subgraphs of its own: a loop, a branch or a call.
bool has_bodies(node const& n);

/// Calls `f` with each body of a node.
template <class F> void for_each_body(node const& n, F const& f) {
  for (auto const& [_, a] : n.attributes)
    if (auto const* body = std::get_if<std::shared_ptr<subgraph const>>(&a)) f(**body);
}

#if RILL_RUNTIME
namespace detail {

inline attribute& attribute_of(node& n, std::string_view wanted) {
  for (auto& [name, value] : n.attributes)
    if (name == wanted) return value;
  throw error(code::internal, "attribute '" + std::string(wanted) + "' is missing", n.name);
}

}  // namespace detail

RILL_INLINE void set_declared_type(node& n, type const& t) { detail::attribute_of(n, n.op->declared_type) = t; }
RILL_INLINE void set_random_key(node& n, std::int64_t key) { detail::attribute_of(n, n.op->draws_random) = key; }

RILL_INLINE bool takes_reference(node const& n, std::size_t input) {
  auto const& counted = n.op->counts_references;
  if (counted.empty()) return input < 32 && (n.op->by_reference >> input & 1u) != 0;
  return static_cast<std::int64_t>(input) < detail::attribute_as<std::int64_t>(n.attributes, counted);
}

RILL_INLINE bool updates_reference(node const& n, std::size_t input) {
  if (n.op->effect != effect::writes || !takes_reference(n, input)) return false;
  auto const& counted = n.op->counts_updates;
  return counted.empty() ||
         static_cast<std::int64_t>(input) < detail::attribute_as<std::int64_t>(n.attributes, counted);
}

RILL_INLINE function_definition const* called_by(node const& n) {
  for (auto const& [_, a] : n.attributes)
    if (auto const* f = std::get_if<function_definition const*>(&a)) return *f;
  return nullptr;
}

RILL_INLINE bool has_bodies(node const& n) {
  return called_by(n) || std::any_of(n.attributes.begin(), n.attributes.end(), [](auto const& a) {
           return std::holds_alternative<std::shared_ptr<subgraph const>>(a.second);
         });
}
#endif

}  // namespace rill
