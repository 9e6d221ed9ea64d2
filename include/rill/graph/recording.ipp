// Records nodes into a graph and into the bodies within it.
#pragma once
#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/device/device_name.hpp"
#include "rill/graph/node_traits.hpp"

namespace rill {

#if RILL_RUNTIME

RILL_INLINE graph::graph() try {
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE graph::graph(std::uint64_t seed) try : seed_(seed) {
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE graph::~graph() = default;

RILL_INLINE value graph::add(op_def const& op, attribute_list attributes, std::vector<value> const& inputs,
                             std::string_view name) try {
  if (open_) return open_->add(op, std::move(attributes), inputs, name);
  if (outer_) {
    if (closed_) refuse(this, scope_ + std::string(name.empty() ? op.name : name));
    if (op.kind == op_kind::variable)
      throw error(code::failed_precondition,
                  "a variable can't be made in the body of a loop, branch or function: make it outside, with "
                  "its layer if it has one");
    for (auto const& i : inputs)
      if (i.graph && lies_in(i.graph)) inside(i);
  }
  std::unique_lock lock(mutex_);
  node n;
  n.op = &op;
  n.attributes = std::move(attributes);
  n.controls = controls_;
  n.device = device_;
  n.colocated = colocated_;
  n.recompute = recompute_;
  n.may_race = may_race_;
  if (auto const given = recorded_rules_.find(op.name); given != recorded_rules_.end()) n.rule = given->second;
  if (n.copy_of = copy_of_; n.copy_of >= 0) {
    auto const& original = *nodes_.at(static_cast<std::size_t>(n.copy_of));
    n.device = original.device, n.colocated = original.colocated, n.rule = original.rule;
  }
  bool const is_fed = op.kind == op_kind::placeholder || op.kind == op_kind::placeholder_with_default;
  if (name.empty()) n.name = unique(op.name);
  else if (op.kind == op_kind::variable) n.name = name_of_variable(name);
  else if (is_fed) n.name = name_of_placeholder(name);
  else n.name = unique(name);
  return keep_or_forget(n, [&] {
    n.inputs.reserve(inputs.size());
    for (auto const& i : inputs) {
      if (i.graph != this && (!i.graph || !lies_in(i.graph))) refuse(i.graph, n.name);
      n.inputs.push_back(known_inside(i).endpoint());
    }
    auto const made = append(n);
    for (auto const& o : controls_outside_) waits_outside_.push_back({made.node, o});
    return made;
  });
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void check_device(node const& n) {
  if (n.device.empty()) return;
  std::string text;
  try {
    text = device_name::parse(n.device).text();
  } catch (error const& e) {
    throw error(e.kind(), e.message(), n.name);
  }
  if (text != n.device)
    throw error(code::invalid_argument, "expected a device's name in full, '" + text + "', got '" + n.device + "'",
                n.name);
}

RILL_INLINE value graph::adopt(node n) {
  std::unique_lock lock(mutex_);
  if (n.op == nullptr) throw error(code::invalid_argument, "a node has no operation", n.name);
  if (!taken_.try_emplace(n.name, 0).second) throw error(code::invalid_argument, "another node has this name", n.name);
  return keep_or_forget(n, [&] {
    for (auto c : n.controls)
      if (c >= nodes_.size())
        throw error(code::invalid_argument, "a control edge must come from an earlier node", n.name);
    check_device(n);
    if (!n.colocated.empty() && !knows(n.colocated))
      throw error(code::invalid_argument,
                  "it is to run beside '" + n.colocated + "', and no earlier node has that name", n.name);
    if (n.copy_of >= static_cast<std::int64_t>(nodes_.size()))
      throw error(code::invalid_argument, "the node that it computes again must be an earlier node", n.name);
    recompute_regions_ = std::max(recompute_regions_, n.recompute);
    return append(n);
  });
}

RILL_INLINE value graph::find(std::string_view name_and_port) try {
  std::shared_lock lock(mutex_);
  auto const colon = name_and_port.rfind(':');
  auto const port_text = colon == std::string_view::npos ? std::string_view("0") : name_and_port.substr(colon + 1);
  auto const it = names_.find(std::string(name_and_port.substr(0, colon)));
  if (it == names_.end()) throw error(code::not_found, "no node is called '" + std::string(name_and_port) + "'");
  bool const digits = !port_text.empty() && port_text.size() < 6 &&
                      std::all_of(port_text.begin(), port_text.end(), [](char c) { return c >= '0' && c <= '9'; });
  auto const port = digits ? static_cast<std::uint32_t>(std::stoul(std::string(port_text))) : UINT32_MAX;
  auto const outputs = nodes_[it->second]->outputs.size();
  if (port >= std::max<std::size_t>(outputs, 1))
    throw error(code::not_found,
                "'" + std::string(name_and_port) + "': the node has " + std::to_string(outputs) + " outputs");
  return {this, it->second, port};
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE node const* graph::find_node(std::string_view name) const try {
  std::shared_lock lock(mutex_);
  auto const at = names_.find(std::string(name));
  return at == names_.end() ? nullptr : nodes_[at->second];
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::string graph::device_within(std::string_view name) const {
  return name.empty() ? std::string() : nested(device_name::parse(device_), device_name::parse(name)).text();
}

RILL_INLINE std::string graph::neighbour_name(value v) {
  if (v.origin().op == &fed_op)
    for (auto const& c : v.graph->captures_)
      if (c.inside.endpoint() == v.endpoint()) return neighbour_name(c.outside);
  return v.origin().name;
}

RILL_INLINE std::string graph::unique(std::string_view wish) {
  std::string full = scope_ + std::string(wish);
  auto const [it, fresh] = taken_.try_emplace(full, 0);
  if (fresh) return full;
  for (;;) {
    std::string numbered = full + "_" + std::to_string(++it->second);
    if (taken_.try_emplace(numbered, 0).second) return numbered;
  }
}

RILL_INLINE std::string graph::name_of_variable(std::string_view wish) {
  std::string full = variable_scope_ + std::string(wish);
  if (taken_.try_emplace(full, 0).second) return full;
  auto const at = names_.find(full);
  auto const* const by = at == names_.end() ? nullptr : nodes_[at->second]->op;
  if (by && by->kind == op_kind::variable)
    throw error(
        code::invalid_argument,
        "the graph already has a variable of this name: to share it, use the handle that it was declared with, or keep "
        "its layer (dense_layer, conv2d_layer, ...) and call that again; for separate weights, choose another name",
        full);
  throw error(code::invalid_argument,
              "a variable's name must be unique, and " +
                  (by ? "a node '" + std::string(by->name) + "' has" : std::string("a scope or a body has")) +
                  " this one: choose another name, or declare the variable first",
              full);
}

RILL_INLINE std::string graph::name_of_placeholder(std::string_view wish) {
  std::string full = scope_ + std::string(wish);
  if (taken_.try_emplace(full, 0).second) return full;
  auto const at = names_.find(full);
  throw error(code::invalid_argument,
              "a placeholder's name must be unique, because steps are fed by it, and " +
                  (at == names_.end() ? std::string("a scope or a body has")
                                      : "a node '" + std::string(nodes_[at->second]->op->name) + "' has") +
                  " this one: choose another name, record it in a scope, or use the handle of the first",
              full);
}

RILL_INLINE bool graph::is_free_for_variable(std::string_view name) {
  auto& g = innermost();
  std::shared_lock lock(g.mutex_);
  return !g.taken_.contains(g.variable_scope_ + std::string(name));
}

RILL_INLINE void graph::check_variable_name(std::string_view name) {
  auto& g = innermost();
  if (name.empty() || g.is_free_for_variable(name)) return;
  std::unique_lock lock(g.mutex_);
  g.name_of_variable(name);
}

RILL_INLINE value graph::append(node& n) {
  if (n.name.empty() || n.name.find(':') != std::string::npos)
    throw error(
        code::invalid_argument,
        "a node's name must not be empty, and must not have a ':', which separates a name from an output's number",
        n.name);
  check_arity(n);
  std::vector<type> types;
  types.reserve(n.inputs.size());
  for (auto e : n.inputs) {
    if (e.node >= nodes_.size() || e.port >= nodes_[e.node]->outputs.size())
      throw error(code::invalid_argument, "an input must be an output of an earlier node", n.name);
    types.push_back(nodes_[e.node]->outputs[e.port]);
  }
  infer_outputs(n, types, n.outputs);
  if (n.copy_of >= 0 && nodes_[static_cast<std::size_t>(n.copy_of)]->outputs != n.outputs)
    throw error(code::invalid_argument,
                "its outputs have other types than the outputs of the node that it computes again", n.name);
  auto const id = static_cast<std::uint32_t>(nodes_.size());
  auto const edges = back_edges_.size();
  try {
    names_.emplace(n.name, id);
    if (n.op->back_edge) back_edges_.push_back(id);
    nodes_.push_back(nullptr);
    nodes_.back() = &recorded_nodes_.emplace_back(std::move(n));
  } catch (...) {  // no memory: the graph stays as it was
    nodes_.resize(id);
    back_edges_.resize(edges);
    names_.erase(n.name);
    throw;
  }
  ++root().recorded_;
  return {this, id, 0};
}

RILL_INLINE void graph::grow(std::uint32_t i, attribute_list attributes) {
  std::unique_lock lock(mutex_);
  node n = *nodes_.at(i);
  auto const before = std::move(n.outputs);
  n.attributes = std::move(attributes);
  std::vector<type> types;
  for (auto e : n.inputs) types.push_back(nodes_[e.node]->outputs[e.port]);
  n.outputs.clear();
  infer_outputs(n, types, n.outputs);
  if (n.outputs.size() < before.size() || !std::equal(before.begin(), before.end(), n.outputs.begin()))
    throw error(code::internal, "a node that grows must keep the outputs that it has", n.name);
  nodes_[i] = &recorded_nodes_.emplace_back(std::move(n));
}

RILL_INLINE graph& graph::open_body(std::string_view name) try {
  if (open_) return open_->open_body(name);
  auto const full = fresh_name(name) + "/";
  auto& b = *bodies_.emplace_back(std::make_unique<graph>());
  b.scope_ = full;
  b.outer_ = this;
  auto scopes = scopes_for(*this);
  b.swap_scopes(scopes);
  open_ = &b;
  return b;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE graph::inherited_scopes graph::scopes_for(graph const& to) const {
  return {.device = device_,
          .colocated = to.knows(colocated_) ? colocated_ : std::string(),
          .recorded_rules = recorded_rules_,
          .gradients_beside = gradients_beside_,
          .may_race = may_race_};
}

RILL_INLINE void graph::swap_scopes(inherited_scopes& other) noexcept {
  std::swap(device_, other.device);
  std::swap(colocated_, other.colocated);
  std::swap(recorded_rules_, other.recorded_rules);
  std::swap(gradients_beside_, other.gradients_beside);
  std::swap(may_race_, other.may_race);
}

RILL_INLINE void graph::close_body() {
  open_->closed_ = true;
  open_ = nullptr;
}

RILL_INLINE std::int64_t graph::random_key() {
  std::size_t before = 0;
  for (auto const* g = &innermost(); g && before == 0; g = g->outer_) before = g->first_key_;
  return static_cast<std::int64_t>(recorded() - before);
}

RILL_INLINE void graph::set_recorded(std::size_t n) {
  if (outer_) return root().set_recorded(n);
  std::unique_lock lock(mutex_);
  expects(n >= recorded_ && n <= std::size_t{1} << 62,
          "expected a count of recorded nodes between the number of nodes and 2^62");
  recorded_ = n;
}

RILL_INLINE value graph::argument(rill::type const& t, std::string_view name) {
  std::unique_lock lock(mutex_);
  node n;
  n.op = &fed_op;
  n.name = unique(name);
  n.outputs = {t};
  names_.emplace(n.name, static_cast<std::uint32_t>(nodes_.size()));
  nodes_.push_back(&recorded_nodes_.emplace_back(std::move(n)));
  return {this, static_cast<std::uint32_t>(nodes_.size() - 1), 0};
}

RILL_INLINE bool graph::knows(std::string const& name) const {
  return names_.contains(name) || (outer_ && outer_->knows(name));
}

RILL_INLINE value graph::known_inside(value const& v) const {
  if (v.graph == this) return v;
  auto const outside = outer_->known_inside(v);
  for (auto const* list : {&captures_, &references_})
    for (auto const& c : *list)
      if (c.outside.endpoint() == outside.endpoint()) return c.inside;
  return {};
}

RILL_INLINE value graph::inside(value v) {
  if (v.graph == this) return v;
  if (!v.graph || !lies_in(v.graph)) refuse(v.graph, scope_);
  v = outer_->inside(v);
  if (auto const known = known_inside(v)) return known;
  auto const& origin = v.origin();
  if (is_variable(origin)) {
    node same = origin;
    same.controls.clear();
    same.recompute = 0;  // a region of the graph outside
    references_.push_back({v, adopt(std::move(same))});
    return references_.back().inside;
  }
  auto const slash = origin.name.rfind('/');
  captures_.push_back(
      {v, argument(v.type(), slash == std::string::npos ? origin.name : origin.name.substr(slash + 1))});
  return captures_.back().inside;
}

RILL_INLINE void graph::refuse(graph const* of, std::string const& node) const {
  throw error(code::invalid_argument,
              !of             ? "an input, or what a lambda returned, is an empty handle"
              : of->is_body() ? "an input is a value from inside the body '" + of->scope_ +
                                    "', and can't be used outside of it: let the body return it"
                              : "an input belongs to another graph",
              node);
}

RILL_INLINE void graph::check_arity(node const& n) {
  auto const arity = n.op->arity;
  auto const inputs = n.inputs.size();
  bool const ok = arity >= 0 ? inputs == static_cast<std::size_t>(arity) : arity == -2 || inputs > 0;
  if (!ok)
    throw error(code::invalid_argument,
                std::string(n.op->name) + " takes " + (arity < 0 ? "at least one" : std::to_string(arity)) +
                    " inputs, not " + std::to_string(inputs),
                n.name);
  if (inputs > max_ports)
    throw error(code::invalid_argument, "a node takes at most " + std::to_string(max_ports) + " inputs", n.name);
}

RILL_INLINE std::int64_t graph::add_rule(rule r) {
  if (outer_) return root().add_rule(std::move(r));
  std::unique_lock lock(mutex_);
  rules_.push_back(std::move(r));
  return static_cast<std::int64_t>(rules_.size() - 1);
}

RILL_INLINE graph::rule const& graph::find_rule(std::int64_t number) const {
  if (outer_) return root().find_rule(number);
  std::shared_lock lock(mutex_);
  if (number < 0 || number >= static_cast<std::int64_t>(rules_.size()))
    throw error(code::not_found,
                "the graph has no gradient rule with this number: a graph as bytes does not contain its rules");
  return rules_[static_cast<std::size_t>(number)];
}

RILL_INLINE void graph::set_gradient(std::string_view operation, rule r) try {
  if (outer_) return root().set_gradient(operation, std::move(r));
  auto const number = add_rule(operation, std::move(r));
  std::unique_lock lock(mutex_);
  rules_of_[std::string(operation)] = number;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::int64_t graph::add_rule(std::string_view operation, rule r) {
  auto& all = root();
  auto const number = all.add_rule(std::move(r));
  std::unique_lock lock(all.mutex_);
  all.ruled_operations_.emplace(operation);
  return number;
}

RILL_INLINE std::set<std::string> graph::ruled_operations() const try {
  std::shared_lock lock(root().mutex_);
  return root().ruled_operations_;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE bool graph::has_operation(std::string_view name) const {
  std::shared_lock lock(mutex_);
  return std::any_of(nodes_.begin(), nodes_.end(), [&](node const* n) { return n->op->name == name; }) ||
         std::any_of(bodies_.begin(), bodies_.end(), [&](auto const& body) { return body->has_operation(name); });
}

RILL_INLINE std::int64_t graph::rule_of(node const& n) const {
  if (n.rule >= 0) return n.rule;
  if (outer_) return root().rule_of(n);
  std::shared_lock lock(mutex_);
  auto const at = rules_of_.find(n.op->name);
  return at == rules_of_.end() ? -1 : at->second;
}

RILL_INLINE void graph::add_initial(initial i) try {
  if (innermost().is_body())
    throw error(code::failed_precondition,
                "a variable can't be made in the body of a loop, branch or function: make it outside");
  std::unique_lock lock(mutex_);
  expects(i.variable < nodes_.size() && i.assignment < nodes_.size(),
          "an initial value names a node that the graph does not have");
  auto const& assignment = *nodes_[i.assignment];
  expects(is_variable(*nodes_[i.variable]) && assignment.op->kind == op_kind::assign &&
              assignment.inputs[0] == endpoint{i.variable, 0},
          "an initial value must be an assignment to its variable");
  initials_.push_back(i);
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::vector<graph::initial> graph::initials() const try {
  if (outer_) return root().initials();
  std::shared_lock lock(mutex_);
  return initials_;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::vector<std::uint32_t> graph::back_edges() const try {
  std::shared_lock lock(mutex_);
  return back_edges_;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::string graph::fresh_name(std::string_view wish) {
  if (open_) return open_->fresh_name(wish);
  std::unique_lock lock(mutex_);
  return unique(wish);
}

RILL_INLINE node const& value::origin() const {
  if (graph == nullptr) throw error(code::invalid_argument, "an empty handle was used");
  return (*graph)[node];
}
RILL_INLINE type const& value::type() const {
  auto const& n = origin();
  if (port >= n.outputs.size())
    throw error(code::invalid_argument, "it has no value: it is run for its effect", n.name);
  return n.outputs[port];
}
RILL_INLINE std::string value::name() const try {
  return origin().name + (port ? ":" + std::to_string(port) : "");
} catch (...) {
  rethrow_as_error();
}
RILL_INLINE std::ostream& operator<<(std::ostream& to, value const& v) {
  if (!v) return to << "an empty handle";
  to << v.name();
  return v.port < v.origin().outputs.size() ? to << ": " << v.type().text() : to;
}
RILL_INLINE node const& operation::origin() const { return value{graph, node, 0}.origin(); }
RILL_INLINE std::ostream& operator<<(std::ostream& to, operation const& o) {
  return o.graph ? to << o.origin().name : to << "an empty handle";
}

#endif

}  // namespace rill
