// Writes programs, attributes, nodes and bodies as bytes and reads them. The types of nodes are inferred again.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rill/graph/codec_words.hpp"
#include "rill/graph/subgraph.hpp"

namespace rill {

/// The operations that bytes may mention; programs may call the elementwise functions of these.
using operation_registry = std::span<op_def const* const>;

namespace wire {

/// What a reader finds by name: operations, the graph's functions, and the functions of programs.
class known_operations {
 public:
  explicit known_operations(operation_registry registry) {
    for (auto const* op : registry) {
      operations_.emplace(op->name, op);
      if (op->elementwise != nullptr) functions_.emplace(op->elementwise->name, op->elementwise);
    }
  }
  op_def const& operation(std::string const& name) const {
    if (auto const at = operations_.find(name); at != operations_.end()) return *at->second;
    throw error(code::not_found, "the operation '" + name + "' is not known here: give it to the registry");
  }
  /// Adds an operation that programs don't record, such as Send.
  void add(op_def const& op) { operations_.emplace(op.name, &op); }
  /// Adds a function, which calls may mention from now on.
  void add(function_definition const& f) { called_.emplace(f.name, &f); }
  function_definition const* called(std::string const& name) const {
    if (auto const at = called_.find(name); at != called_.end()) return at->second;
    throw error(code::data_loss, "a node calls the function '" + name + "', which is not in the graph");
  }
  scalar_function const& function(std::string const& name) const {
    if (auto const at = functions_.find(name); at != functions_.end()) return *at->second;
    throw error(code::not_found,
                "the function '" + name + "' of a program is not known here: give its operation to the registry");
  }

 private:
  friend struct deeper;
  mutable int depth_ = 0;
  std::unordered_map<std::string_view, op_def const*> operations_;
  std::unordered_map<std::string_view, scalar_function const*> functions_;
  std::unordered_map<std::string, function_definition const*> called_;
};

/// How deep bodies may nest, so that untrusted bytes can't exhaust the stack.
inline constexpr int deepest_body = 16;
struct deeper {
  explicit deeper(known_operations const& k) : known(k) {
    if (known.depth_ == deepest_body) fail("bodies lie more than 16 deep within each other");
    ++known.depth_;
  }
  ~deeper() { --known.depth_; }
  deeper(deeper const&) = delete;
  deeper& operator=(deeper const&) = delete;
  known_operations const& known;
};

void save(writer& to, subgraph const& body);
std::shared_ptr<subgraph const> load_body(reader& from, known_operations const& known);

inline void save(writer& to, program const& p) {
  save_list(to, p.inputs, [&](dtype d) { save(to, d); });
  save_list(to, p.immediates, [&](immediate const& i) {
    save(to, i.element);
    to.put(i.bytes.data(), size_of(i.element));
  });
  save_list(to, p.instructions, [&](program::instruction const& i) {
    to(std::string(i.function->name));
    for (std::size_t k = 0; k < i.function->arity; ++k) to(i.operands[k]);
    save(to, i.result);
  });
  save_list(to, p.outputs, [&](std::uint16_t r) { to(r); });
}
inline immediate load_immediate(reader& from) {
  immediate i;
  load(from, i.element);
  if (i.element == dtype::string) fail("a program does not compute with strings");
  from.get(i.bytes.data(), size_of(i.element));
  if (i.element == dtype::boolean && std::to_integer<int>(i.bytes[0]) > 1) fail("a bool is neither 0 nor 1");
  return i;
}
inline std::shared_ptr<program const> load_program(reader& from, known_operations const& known) {
  auto p = std::make_shared<program>();
  load_list(from, 1, [&] { load(from, p->inputs.emplace_back()); });
  load_list(from, 2, [&] { p->immediates.push_back(load_immediate(from)); });
  load_list(from, sizeof(std::uint64_t) + 1, [&] {
    std::string name;
    from(name);
    program::instruction i{&known.function(name), {}, {}};
    for (std::size_t k = 0; k < i.function->arity; ++k) from(i.operands[k]);
    load(from, i.result);
    p->instructions.push_back(i);
  });
  load_list(from, sizeof(std::uint16_t), [&] { from(p->outputs.emplace_back()); });
  verify(*p);
  return p;
}

inline void save(writer& to, attribute const& a) {
  to(static_cast<std::uint8_t>(a.index()));
  std::visit(
      [&]<class T>(T const& v) {
        if constexpr (std::same_as<T, std::shared_ptr<program const>>) {
          expects(v != nullptr, "a graph with an empty program can't be written as bytes");
          save(to, *v);
        } else if constexpr (std::same_as<T, std::shared_ptr<subgraph const>>) {
          expects(v != nullptr, "a graph with an empty body can't be written as bytes");
          save(to, *v);
        } else if constexpr (std::same_as<T, function_definition const*>) {
          expects(v != nullptr, "a graph with a call without a function can't be written as bytes");
          to(v->name);
        } else if constexpr (std::same_as<T, std::vector<std::string>>) save_list(to, v, [&](auto const& s) { to(s); });
        else if constexpr (std::same_as<T, std::vector<type>>) save_list(to, v, [&](type const& t) { save(to, t); });
        else if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>) to(v);
        else save(to, v);
      },
      a);
}

template <class T> T load_alternative(reader& from, known_operations const& known) {
  T v{};
  if constexpr (std::same_as<T, std::shared_ptr<program const>>) v = load_program(from, known);
  else if constexpr (std::same_as<T, std::shared_ptr<subgraph const>>) v = load_body(from, known);
  else if constexpr (std::same_as<T, function_definition const*>) {
    std::string name;
    from(name);
    v = known.called(name);
  } else if constexpr (std::same_as<T, std::vector<std::string>>)
    load_list(from, sizeof(std::uint64_t), [&] { from(v.emplace_back()); });
  else if constexpr (std::same_as<T, std::vector<type>>) load_list(from, 1, [&] { load(from, v.emplace_back()); });
  else if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>) from(v);
  else load(from, v);
  return v;
}
inline attribute load_attribute(reader& from, known_operations const& known) {
  std::uint8_t index = 0;
  from(index);
  if (index >= std::variant_size_v<attribute>) fail("an attribute has an unknown kind");
  attribute a;
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    ((Index == index ? void(a = load_alternative<std::variant_alternative_t<Index, attribute>>(from, known)) : void()),
     ...);
  }(std::make_index_sequence<std::variant_size_v<attribute>>{});
  return a;
}

inline void save(writer& to, node const& n) {
  to(std::string(n.op->name), n.name);
  save_list(to, n.inputs, [&](endpoint e) { to(e.node, e.port); });
  save_list(to, n.controls, [&](std::uint32_t c) { to(c); });
  save_list(to, n.attributes, [&](auto const& a) {
    to(std::string(a.first));
    save(to, a.second);
  });
  to(n.device, n.colocated, n.recompute, n.copy_of, n.may_race, n.rule);
  if (to.rewritten()) to(n.hops, n.stage);
  save_list(to, n.outputs, [&](type const& t) { save(to, t); });
}

// Reads attributes. Their names are views of the operation's own names, which live as long as the program.
inline attribute_list load_attributes(reader& from, op_def const& op, known_operations const& known) {
  attribute_list list;
  load_list(from, sizeof(std::uint64_t) + 2, [&] {
    std::string name;
    from(name);
    if (list.size() >= op.attributes.size() || op.attributes[list.size()] != name)
      throw error(code::data_loss,
                  "the operation " + std::string(op.name) + " has no attribute '" + name + "' in this place");
    list.emplace_back(op.attributes[list.size()], load_attribute(from, known));
  });
  return list;
}

inline node load_node(reader& from, known_operations const& known, bool in_body = false) {
  node n;
  std::string operation;
  from(operation, n.name);
  n.op = in_body && operation == fed_op.name ? &fed_op : &known.operation(operation);
  load_list(from, 2 * sizeof(std::uint32_t), [&] {
    auto& e = n.inputs.emplace_back();
    from(e.node, e.port);
  });
  load_list(from, sizeof(std::uint32_t), [&] { from(n.controls.emplace_back()); });
  n.attributes = load_attributes(from, *n.op, known);
  from(n.device, n.colocated, n.recompute, n.copy_of, n.may_race, n.rule);
  if (from.rewritten()) from(n.hops, n.stage);
  return n;
}

// Whether a value can be of both types.
inline bool may_be_same(type const& a, type const& b) {
  if (a.element != b.element) return false;
  if (!a.has_rank() || !b.has_rank()) return true;
  for (std::size_t i = 0; i < a.rank; ++i)
    if (a.rank != b.rank || (a[i].known() && b[i].known() && a[i] != b[i])) return false;
  return a.rank == b.rank;
}

[[noreturn]] inline void refuse_types(node const& n) {
  throw error(code::data_loss,
              "the types in the bytes are not the inferred types: the operation " + std::string(n.op->name) +
                  " has changed since they were written, or they are damaged",
              n.name);
}
// Checks that the types in the bytes are the inferred types; if not, the operation has changed since.
inline void check_outputs(reader& from, node const& n) {
  std::size_t i = 0;
  load_list(from, 2, [&] {
    type t;
    load(from, t);
    if (i >= n.outputs.size() || n.outputs[i++] != t) refuse_types(n);
  });
  if (i != n.outputs.size()) refuse_types(n);
}
// Takes the types of a node that passes have rewritten: they may be more specific than the inferred types, or less, but
// not others. When the node is planned, they are inferred again from what is fed.
inline void take_outputs(reader& from, node& n) {
  std::vector<type> said;
  load_list(from, 2, [&] { load(from, said.emplace_back()); });
  if (said.size() != n.outputs.size()) refuse_types(n);
  for (std::size_t i = 0; i < said.size(); ++i)
    if (!may_be_same(n.outputs[i], said[i])) refuse_types(n);
  n.outputs = std::move(said);
}

inline int depth_of(subgraph const& body) {
  int inner = 0;
  for (auto const& n : body.nodes)
    for (auto const& [_, a] : n.attributes)
      if (auto const* b = std::get_if<std::shared_ptr<subgraph const>>(&a)) inner = std::max(inner, depth_of(**b));
  return inner + 1;
}

// The extents to which axis names are bound.
inline void save_axes(writer& to, bound_axes const& axes) {
  save_list(to, axes, [&](auto const& a) {
    save(to, a.first);
    to(a.second);
  });
}
inline void load_axes(reader& from, bound_axes& axes) {
  load_list(from, sizeof(std::int64_t), [&] {
    auto& [name, extent] = axes.emplace_back();
    load(from, name);
    from(extent);
    if (!name.named() || extent < 0) fail("an axis has no name, or less than no elements");
  });
}

inline void save(writer& to, subgraph const& body) {
  expects(depth_of(body) <= deepest_body, "a graph whose bodies lie more than 16 deep can't be written as bytes");
  if (to.rewritten()) save_axes(to, body.axes);
  save_list(to, body.nodes, [&](node const& n) { save(to, n); });
  save_list(to, body.inputs, [&](std::uint32_t i) { to(i); });
  save_list(to, body.outputs, [&](endpoint e) { to(e.node, e.port); });
  save_list(to, body.targets, [&](std::uint32_t t) { to(t); });
}

// Infers the outputs of a body's node from the nodes before it; the type of an argument is read.
inline void infer_in_body(reader& from, subgraph& body, node& n) {
  auto const here = body.size();
  std::vector<type> inputs;
  for (auto e : n.inputs) {
    if (e.node >= here || e.port >= body[e.node].outputs.size())
      fail("a body's edge does not come from an earlier node");
    inputs.push_back(with_extents(body.type_of(e), body.axes));
  }
  for (auto c : n.controls)
    if (c >= here) fail("a control edge of a body does not come from an earlier node");
  if (!from.rewritten() || n.op->arity >= 0) graph::check_arity(n);  // passes may have taken inputs away
  if (n.op == &fed_op) {
    load_list(from, 2, [&] { load(from, n.outputs.emplace_back()); });
    if (n.outputs.size() != 1) fail("an argument of a body must have exactly one type");
    return;
  }
  infer_outputs(n, inputs, n.outputs);
  if (from.rewritten()) take_outputs(from, n);
  else check_outputs(from, n);
}

inline std::shared_ptr<subgraph const> load_body(reader& from, known_operations const& known) {
  deeper const guard(known);
  auto body = std::make_shared<subgraph>();
  if (from.rewritten()) load_axes(from, body->axes);
  std::size_t arguments = 0;
  load_list(from, 1, [&] {
    auto n = load_node(from, known, true);
    check_device(n);
    infer_in_body(from, *body, n);
    arguments += n.op == &fed_op;
    body->nodes.push_back(std::move(n));
    body->origin.push_back(0);
  });
  auto const within = [&](std::uint32_t i) {
    if (i >= body->size()) fail("a body mentions a node that it does not have");
    return i;
  };
  load_list(from, sizeof(std::uint32_t), [&] { from(body->inputs.emplace_back()); });
  std::vector<bool> seen(body->size());
  for (auto i : body->inputs) {
    if ((*body)[within(i)].op != &fed_op || seen[i]) fail("a body's argument is not a fed node, or comes twice");
    seen[i] = true;
  }
  if (body->inputs.size() != arguments) fail("a body has fed nodes that are not among its arguments");
  load_list(from, 2 * sizeof(std::uint32_t), [&] {
    auto& e = body->outputs.emplace_back();
    from(e.node, e.port);
    if (e.port >= (*body)[within(e.node)].outputs.size()) fail("a body returns an output that its node does not have");
  });
  load_list(from, sizeof(std::uint32_t), [&] { from(body->targets.emplace_back()); });
  for (auto t : body->targets) within(t);
  return body;
}

inline constexpr std::size_t least_node = 8 * sizeof(std::uint64_t) + 13;  // 2 names, 4 lists, 2 constraints, marks

}  // namespace wire
}  // namespace rill
