// The dataflow graph: nodes, edges, names and scopes; it only grows.
#pragma once
#include <algorithm>
#include <deque>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rill/graph/op_def.hpp"

namespace rill {

/// Output `port` of node `node`.
struct endpoint {
  std::uint32_t node = 0, port = 0;
  friend constexpr bool operator==(endpoint, endpoint) = default;
  friend constexpr auto operator<=>(endpoint, endpoint) = default;
};

/// One recorded operation.
struct node {
  op_def const* op = nullptr;
  std::string name;
  std::vector<endpoint> inputs;
  std::vector<std::uint32_t> controls;  ///< nodes that must have run before this one
  attribute_list attributes;
  std::vector<type> outputs;
  std::string device;           ///< a constraint such as "/device:gpu:0"; empty: anywhere
  std::string colocated;        ///< the node beside which this one must run; empty: none
  std::uint32_t recompute = 0;  ///< the part, if any, that derivatives compute again instead of keeping it
};

/// A handle to output `port` of a node: what erased code passes around.
struct value {
  rill::graph* graph = nullptr;
  std::uint32_t node = 0, port = 0;

  explicit operator bool() const { return graph != nullptr; }
  rill::endpoint endpoint() const { return {node, port}; }
  rill::node const& origin() const;
  rill::type const& type() const;
  std::string name() const;  ///< "name:port", or "name" for port 0
};

/// A handle to a node that is run for what it does, not for a value.
struct operation {
  rill::graph* graph = nullptr;
  std::uint32_t node = 0;

  operation() = default;
  operation(rill::graph* g, std::uint32_t n) : graph(g), node(n) {}
  operation(value const& v) : graph(v.graph), node(v.node) {}
  rill::node const& origin() const;
};

/// A graph that grows while it is recorded; nodes never change and never go. One thread records at a time, and sessions
/// may plan and run steps meanwhile.
class graph {
 public:
  graph();
  explicit graph(std::uint64_t seed);
  ~graph();
  graph(graph const&) = delete;
  graph& operator=(graph const&) = delete;

  std::size_t size() const {
    std::shared_lock lock(mutex_);
    return nodes_.size();
  }
  node const& operator[](std::size_t i) const {
    std::shared_lock lock(mutex_);
    return nodes_[i];
  }
  /// What random operations draw from, with their node and the step.
  std::uint64_t seed() const { return seed_; }

  /// Adds a node: checks that its inputs belong here, infers its outputs, gives it a name of its own. An error names
  /// the node and the types that came, and leaves the graph as it was.
  value add(op_def const& op, attribute_list attributes, std::vector<value> const& inputs, std::string_view name = {});

  /// Adds a node as it stood in another graph, under its own name. Nothing about it is believed: edges must lead to
  /// nodes that are here, the name must be free, and the outputs are inferred anew.
  value adopt(node n);

  /// The value called "name" or "name:port"; error(not_found).
  value find(std::string_view name_and_port);

  /// Records what `f` records with "name/" before every name.
  template <class F> auto scope(std::string_view name, F&& f) {
    std::string full;
    {
      std::unique_lock lock(mutex_);
      full = unique(name) + "/";
    }
    return with(scope_, std::move(full), std::forward<F>(f));
  }
  /// Records what `f` records with a control edge from each of `first`: they run before it.
  template <class F> auto after(std::vector<operation> const& first, F&& f) {
    auto both = controls_;
    for (auto const& o : first) {
      expects(o.graph == this, "a control edge comes from another graph");
      if (std::find(both.begin(), both.end(), o.node) == both.end()) both.push_back(o.node);
    }
    return with(controls_, std::move(both), std::forward<F>(f));
  }
  /// Records what `f` records with a constraint on the device; partial names are allowed.
  template <class F> auto on(std::string_view device, F&& f) {
    return with(device_, std::string(device), std::forward<F>(f));
  }
  /// Records what `f` records to run where `beside` runs.
  template <class F> auto near(value beside, F&& f) {
    return with(colocated_, std::string(beside.origin().name), std::forward<F>(f));
  }

  /// Records what `f` records as a part that derivatives compute again instead of keeping its values.
  template <class F> auto recomputed(F&& f) { return with(recompute_, ++recomputed_parts_, std::forward<F>(f)); }

  /// A gradient rule that belongs to one node: from the inputs, the output and the outer derivative to one derivative
  /// for each input.
  using rule = std::function<std::vector<value>(std::vector<value> const& x, value y, value dy)>;
  std::int64_t add_rule(rule r) {
    std::unique_lock lock(mutex_);
    rules_.push_back(std::move(r));
    return static_cast<std::int64_t>(rules_.size() - 1);
  }
  /// The rule of that number; error(not_found) in a graph that came without its rules, from a file for instance.
  rule const& find_rule(std::int64_t number) const {
    std::shared_lock lock(mutex_);
    if (number < 0 || number >= static_cast<std::int64_t>(rules_.size()))
      throw error(code::not_found, "the graph has no gradient rule of this number: rules don't travel with graphs");
    return rules_[static_cast<std::size_t>(number)];
  }

  /// Variables and what sets them first, in order of recording.
  struct initial {
    std::uint32_t variable, assignment;
  };
  void add_initial(initial i) {
    std::unique_lock lock(mutex_);
    expects(i.variable < nodes_.size() && i.assignment < nodes_.size(),
            "an initial value mentions a node that is not there");
    initials_.push_back(i);
  }
  std::vector<initial> initials() const {
    std::shared_lock lock(mutex_);
    return initials_;
  }

  /// A name that no node has yet: `wish` within the open scopes, numbered where it is taken.
  std::string fresh_name(std::string_view wish) {
    std::unique_lock lock(mutex_);
    return unique(wish);
  }

 private:
  template <class T, class F> auto with(T& place, T now, F&& f) {
    struct restore {
      T &place, before;
      ~restore() { place = std::move(before); }
    } guard{place, std::exchange(place, std::move(now))};
    return std::forward<F>(f)();
  }

  std::string unique(std::string_view wish);

  // A name that was given to a node that could not be added is free again.
  template <class F> value keep_or_forget(node const& n, F&& add_it) {
    std::string const name = n.name;
    try {
      return add_it();
    } catch (...) {
      taken_.erase(name);
      throw;
    }
  }

  value append(node& n);

  static void check_arity(node const& n);

  static std::string described(std::vector<type> const& types);

  static constexpr std::size_t max_inputs = UINT16_MAX;  // plans number them with 16 bits

  mutable std::shared_mutex mutex_;
  std::deque<node> nodes_;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::unordered_map<std::string, std::uint32_t> taken_;
  std::vector<initial> initials_;
  std::string scope_, device_, colocated_;
  std::vector<std::uint32_t> controls_;
  std::deque<rule> rules_;
  std::uint32_t recompute_ = 0, recomputed_parts_ = 0;
  std::uint64_t seed_ = 0;
};

inline node const& value::origin() const {
  if (graph == nullptr) throw error(code::invalid_argument, "an empty handle was used");
  return (*graph)[node];
}
inline type const& value::type() const { return origin().outputs.at(port); }
inline std::string value::name() const { return origin().name + (port ? ":" + std::to_string(port) : ""); }
inline node const& operation::origin() const { return value{graph, node, 0}.origin(); }

/// A partial derivative on its way: dense, or the rows `indices` of a zero tensor like the input it belongs to.
struct gradient {
  value dense;          ///< empty if there is none, or if it is sparse
  value indices, rows;  ///< of a sparse one: which rows, and their values; the same row may come twice

  gradient() = default;
  gradient(value v) : dense(v) {}
  gradient(value which, value what) : indices(which), rows(what) {}
  explicit operator bool() const { return dense || rows; }
  bool sparse() const { return static_cast<bool>(rows); }
};

/// What an operation's gradient rule is handed.
struct gradient_request {
  rill::graph& graph;
  std::uint32_t at;
  std::vector<value> const& outer;  ///< for each output the derivative of the target with respect to it; empty: none
  std::vector<bool> const& wanted;  ///< for each input whether its gradient is asked for
  /// The differentiator, for operations made of others: derivatives of y with respect to x, times `dy`. It is handed in
  /// so that operations stay below gradients.
  std::vector<gradient> (*derive)(value y, std::vector<value> const& x, value dy) = nullptr;

  node const& origin() const { return graph[at]; }
  value in(std::size_t i) const {
    auto const e = origin().inputs[i];
    return {&graph, e.node, e.port};
  }
  value out(std::size_t i = 0) const { return {&graph, at, static_cast<std::uint32_t>(i)}; }
  value dy(std::size_t i = 0) const { return outer[i]; }
  std::size_t inputs() const { return origin().inputs.size(); }
  std::vector<gradient> differentiate(value y, std::vector<value> const& x, value by) const { return derive(y, x, by); }
};

#if RILL_RUNTIME

RILL_INLINE graph::graph() = default;
RILL_INLINE graph::graph(std::uint64_t seed) : seed_(seed) {}
RILL_INLINE graph::~graph() = default;

RILL_INLINE value graph::add(op_def const& op, attribute_list attributes, std::vector<value> const& inputs,
                             std::string_view name) {
  std::unique_lock lock(mutex_);
  node n;
  n.op = &op;
  n.name = unique(name.empty() ? op.name : name);
  n.attributes = std::move(attributes);
  n.controls = controls_;
  n.device = device_;
  n.colocated = colocated_;
  n.recompute = recompute_;
  return keep_or_forget(n, [&] {
    n.inputs.reserve(inputs.size());
    for (auto const& i : inputs) {
      if (i.graph != this)
        throw error(code::invalid_argument,
                    i.graph ? "an input belongs to another graph" : "an input is an empty handle", n.name);
      n.inputs.push_back(i.endpoint());
    }
    return append(n);
  });
}

RILL_INLINE value graph::adopt(node n) {
  std::unique_lock lock(mutex_);
  if (n.op == nullptr) throw error(code::invalid_argument, "a node has no operation", n.name);
  if (!taken_.try_emplace(n.name, 0).second) throw error(code::invalid_argument, "the name is taken", n.name);
  return keep_or_forget(n, [&] {
    for (auto c : n.controls)
      if (c >= nodes_.size()) throw error(code::invalid_argument, "a control edge comes from no earlier node", n.name);
    if (!n.colocated.empty() && !names_.contains(n.colocated))
      throw error(code::invalid_argument, "it is to run beside '" + n.colocated + "', which is no earlier node",
                  n.name);
    return append(n);
  });
}

RILL_INLINE value graph::find(std::string_view name_and_port) {
  std::shared_lock lock(mutex_);
  auto const colon = name_and_port.rfind(':');
  auto const port_text = colon == std::string_view::npos ? std::string_view("0") : name_and_port.substr(colon + 1);
  auto const it = names_.find(std::string(name_and_port.substr(0, colon)));
  if (it == names_.end()) throw error(code::not_found, "no node is called '" + std::string(name_and_port) + "'");
  bool const digits = !port_text.empty() && port_text.size() < 6 &&
                      std::all_of(port_text.begin(), port_text.end(), [](char c) { return c >= '0' && c <= '9'; });
  auto const port = digits ? static_cast<std::uint32_t>(std::stoul(std::string(port_text))) : UINT32_MAX;
  auto const outputs = nodes_[it->second].outputs.size();
  if (port >= std::max<std::size_t>(outputs, 1))
    throw error(code::not_found,
                "'" + std::string(name_and_port) + "': the node has " + std::to_string(outputs) + " outputs");
  return {this, it->second, port};
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

RILL_INLINE value graph::append(node& n) {
  if (n.name.empty() || n.name.find(':') != std::string::npos)
    throw error(code::invalid_argument,
                "a node's name has at least one character, and no ':', which begins an output's number", n.name);
  check_arity(n);
  std::vector<type> types;
  types.reserve(n.inputs.size());
  for (auto e : n.inputs) {
    if (e.node >= nodes_.size() || e.port >= nodes_[e.node].outputs.size())
      throw error(code::invalid_argument, "an input is no output of an earlier node", n.name);
    types.push_back(nodes_[e.node].outputs[e.port]);
  }
  try {
    n.op->infer(n.attributes, types, n.outputs);
  } catch (error const& e) {
    throw error(e.code(), e.message() + described(types), n.name);
  }
  auto const id = static_cast<std::uint32_t>(nodes_.size());
  names_.emplace(n.name, id);
  nodes_.push_back(std::move(n));
  return {this, id, 0};
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
  if (inputs > max_inputs)
    throw error(code::invalid_argument, "a node takes at most " + std::to_string(max_inputs) + " inputs", n.name);
}

RILL_INLINE std::string graph::described(std::vector<type> const& types) {
  std::string s = " (";
  for (std::size_t i = 0; i < types.size(); ++i) s += (i ? ", " : "") + types[i].text();
  return types.empty() ? "" : s + ")";
}

#endif

}  // namespace rill
