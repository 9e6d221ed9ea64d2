// The dataflow graph: nodes, edges, names and scopes; it only grows.
#pragma once
#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/graph/function.hpp"
#include "rill/graph/node.hpp"

namespace rill {

/// A graph that grows while it is recorded; nodes never change and never go. One thread records at a time, and sessions
/// may plan and run steps meanwhile.
class graph {
 public:
  graph();
  explicit graph(std::uint64_t seed);
  ~graph();
  graph(graph const&) = delete;
  graph& operator=(graph const&) = delete;

  /// Opens a body: until it is closed, all that is recorded in this graph goes into it
  /// (docs/architecture/graphs.md). Values from outside that it mentions become its captures by themselves.
  graph& open_body(std::string_view name);
  /// Closes the body that is open in this graph. It stays as long as the graph, so that handles that leaked out of it
  /// are told from others.
  void close_body();
  /// Whether it is a body's graph: the values in it have no meaning outside of it.
  bool is_body() const { return outer_ != nullptr; }
  /// Whether it is the graph of a body that lies, perhaps within others, in `other`.
  bool is_within(graph const& other) const { return lies_in(&other); }
  /// The graph that is recorded into at this moment.
  graph& innermost() { return open_ ? open_->innermost() : *this; }
  /// An argument of a body: a value that each run of it is given.
  value argument(rill::type const& t, std::string_view name);
  /// The value in this body that stands for one from outside; one that is here already is itself.
  value inside(value v);
  /// What a body has taken from outside, in order; by reference: variables.
  struct capture {
    value outside, inside;
  };
  /// Returns the values that a body has taken from outside.
  std::vector<capture> const& captures() const { return captures_; }
  /// Returns the variables that a body has taken from outside.
  std::vector<capture> const& references() const { return references_; }
  /// Nodes of a body, and those outside that they must wait for.
  struct wait {
    std::uint32_t inside;
    operation outside;
  };
  /// Returns the waits of a body for nodes outside.
  std::vector<wait> const& waits_outside() const { return waits_outside_; }
  /// The graph that is no body, of which this is one or lies within one.
  graph& outermost() { return root(); }
  /// The handle in this body of a variable from outside; empty if nothing in it has mentioned the variable.
  value known_variable(std::string_view name) const;
  /// How many nodes were recorded in the graph and its bodies: the keys of random numbers are made of it, so bytes hold
  /// it.
  std::size_t recorded() const { return root().recorded_; }
  /// A number that no other random node has which is recorded now: how many nodes were recorded before, in the function
  /// that is being recorded if there is one, whose numbers then don't depend on what the graph had before.
  std::int64_t random_key();
  /// Counts the keys of random nodes in this body, a function's, from 0.
  void count_keys() { first_key_ = recorded(); }
  /// Counts on from `n`, the count of the graph that this one is a copy of. Throws error(invalid_argument) unless `n`
  /// is at least `recorded()` and at most 2^62.
  void set_recorded(std::size_t n);

  /// Returns the number of nodes, without the nodes of bodies.
  std::size_t size() const {
    std::shared_lock lock(mutex_);
    return nodes_.size();
  }
  node const& operator[](std::size_t i) const {
    std::shared_lock lock(mutex_);
    return *nodes_[i];
  }
  /// What random operations draw from, with their node and the step.
  std::uint64_t seed() const { return root().seed_; }

  /// Adds a node: checks that its inputs belong here, infers its outputs, gives it a name of its own. An error names
  /// the node and the types that came, and leaves the graph as it was.
  value add(op_def const& op, attribute_list attributes, std::vector<value> const& inputs, std::string_view name = {});

  /// Refuses a node that has too many or too few inputs: error(invalid_argument).
  static void check_arity(node const& n);

  /// Adds a node as it stood in another graph, under its own name. Nothing about it is believed: edges must lead to
  /// nodes that are here, the name must be free, and the outputs are inferred anew.
  value adopt(node n);

  /// Gives a node attributes by which it has more outputs, after those that it had: a loop hands out what its
  /// derivative needs. Who read the node before has read the same node with fewer outputs.
  void grow(std::uint32_t i, attribute_list attributes);

  /// The value called "name" or "name:port"; error(not_found).
  value find(std::string_view name_and_port);
  /// Whether a node has that name.
  bool contains(std::string_view name) const {
    std::shared_lock lock(mutex_);
    return names_.contains(std::string(name));
  }

  /// Records what `f` records with "name/" before every name. A second scope of one name is numbered, "name_1/", but
  /// not in the names of variables: those say what is written, so that a second variable of a name is found out.
  template <class F> auto scope(std::string_view name, F&& f) {
    auto variables = innermost().variable_scope_ + std::string(name) + "/";
    return with(&graph::scope_, fresh_name(name) + "/",
                [&] { return with(&graph::variable_scope_, std::move(variables), std::forward<F>(f)); });
  }
  /// Records what `f` records under the names as they are given, whatever scopes are open.
  template <class F> auto unscoped(F&& f) {
    return with(&graph::scope_, std::string(),
                [&] { return with(&graph::variable_scope_, std::string(), std::forward<F>(f)); });
  }
  /// Records what `f` records with a control edge from each of `first`: they run before it.
  template <class F> auto after(std::vector<operation> const& first, F&& f) {
    auto& g = innermost();
    auto both = g.controls_;
    auto outside = g.controls_outside_;
    for (auto const& o : first)
      if (o.graph != &g) {
        expects(o.graph != nullptr && g.lies_in(o.graph), "a control edge comes from another graph");
        outside.push_back(o);
      } else if (std::find(both.begin(), both.end(), o.node) == both.end()) both.push_back(o.node);
    return with(&graph::controls_, std::move(both),
                [&] { return with(&graph::controls_outside_, std::move(outside), std::forward<F>(f)); });
  }
  /// Records what `f` records with a constraint on the device; partial names are allowed.
  template <class F> auto on(std::string_view device, F&& f) {
    return with(&graph::device_, std::string(device), std::forward<F>(f));
  }
  /// Records what `f` records to run where `beside` runs.
  template <class F> auto near(value beside, F&& f) {
    expects(beside.graph == this, "near: the value is of another graph, or none's");
    return with(&graph::colocated_, std::string(beside.origin().name), std::forward<F>(f));
  }

  /// Records what `f` records as a subgraph that derivatives compute again instead of keeping its values.
  template <class F> auto recomputed(F&& f) {
    return with(&graph::recompute_, ++innermost().recomputed_parts_, std::forward<F>(f));
  }
  /// Records what `f` records, one node, as node `i` computed again: on its device and with its gradient rule. Who
  /// feeds that one's outputs feeds this one's.
  template <class F> auto again(std::uint32_t i, F&& f) {
    return with(&graph::copy_of_, std::int64_t{i}, std::forward<F>(f));
  }

  /// Records what `f` records so that its updates may race with each other: two of one variable need no order then, and
  /// which comes first is the schedule's. Each still is a whole (Hogwild, with a lock a variable).
  template <class F> auto hogwild(F&& f) { return with(&graph::may_race_, true, std::forward<F>(f)); }

  /// A gradient rule that belongs to one node: from the inputs, the output and the outer derivative to one derivative
  /// for each input.
  using rule = std::function<std::vector<value>(std::vector<value> const& x, value y, value dy)>;
  /// Keeps the rule and returns the number by which a node mentions it.
  std::int64_t add_rule(rule r);
  /// The rule of that number; error(not_found) in a graph that came without its rules, from a file for instance.
  rule const& find_rule(std::int64_t number) const;

  /// From now on derivatives of operations of that name, which have one output, come from `r` in this graph (white
  /// paper §4.1). The name of no operation is refused when derivatives are taken, as a user's own may be recorded
  /// later.
  void set_gradient(std::string_view operation, rule r);
  /// The same for what `f` records, and for that alone.
  template <class F> auto with_gradient(std::string_view operation, rule r, F&& f) {
    auto all = innermost().recorded_rules_;
    all[std::string(operation)] = add_rule(operation, std::move(r));
    return with(&graph::recorded_rules_, std::move(all), std::forward<F>(f));
  }
  /// The number of the rule that users gave a node or its operation; -1: none.
  std::int64_t rule_of(node const& n) const;

  /// The names of the operations that rules were given for.
  std::set<std::string> ruled_operations() const;
  /// Whether an operation of that name was recorded in this graph or in a body within it.
  bool has_operation(std::string_view name) const;

  /// The functions that calls in this graph mention by name.
  function_library& functions() { return root().functions_; }
  function_library const& functions() const { return root().functions_; }
  /// Runs `f` as if no body of the outermost graph were open: what a function's body is recorded in, wherever that is.
  template <class F> auto outside_bodies(F&& f) {
    struct restore {
      graph*& place;
      graph* before;
      ~restore() { place = before; }
    } guard{root().open_, std::exchange(root().open_, nullptr)};
    return std::forward<F>(f)();
  }

  /// Variables and what sets them first, in order of recording; nodes of the outermost graph.
  struct initial {
    std::uint32_t variable, assignment;
  };
  /// Adds an assignment that `initializer` runs.
  void add_initial(initial i);
  /// Returns the assignments that `initializer` runs.
  std::vector<initial> initials() const;

  /// Nodes that hand a value back to one that comes before them (op_def::back_edge).
  std::vector<std::uint32_t> back_edges() const;

  /// A name that no node has yet: `wish` within the open scopes, numbered where it is taken.
  std::string fresh_name(std::string_view wish);
  /// Whether a variable of that name, within the open scopes, could be recorded now: no node and no scope has it.
  bool is_free_for_variable(std::string_view name);
  /// Refuses a variable whose name, within the open scopes, is taken: error(invalid_argument) says how to share one.
  void check_variable_name(std::string_view name);

 private:
  template <class T, class F> auto with(T graph::* member, T now, F&& f) {
    auto& place = innermost().*member;
    struct restore {
      T &place, before;
      ~restore() { place = std::move(before); }
    } guard{place, std::exchange(place, std::move(now))};
    return std::forward<F>(f)();
  }

  graph& root() { return outer_ ? outer_->root() : *this; }
  graph const& root() const { return outer_ ? outer_->root() : *this; }
  bool lies_in(graph const* other) const { return outer_ && (outer_ == other || outer_->lies_in(other)); }
  [[noreturn]] void refuse(graph const* of, std::string const& node) const;

  std::string unique(std::string_view wish);
  std::string name_of_variable(std::string_view wish);

  // A name that was given to a node that could not be added is free again.
  template <class F> value keep_or_forget(node const& n, F&& add_it) {
    try {
      return add_it();
    } catch (...) {
      taken_.erase(n.name);
      throw;
    }
  }

  std::int64_t add_rule(std::string_view operation, rule r);
  value append(node& n);
  // Whether a node of this graph, or of one around it, has that name.
  bool knows(std::string const& name) const;
  value known_inside(value const& v) const;

  mutable std::shared_mutex mutex_;
  std::deque<node> recorded_nodes_;  // never changed, so that others may read them while this graph grows
  std::vector<node const*> nodes_;   // what stands for each node now
  std::unordered_map<std::string, std::uint32_t> names_;
  std::unordered_map<std::string, std::uint32_t> taken_;
  std::vector<initial> initials_;
  std::vector<std::uint32_t> back_edges_;
  function_library functions_;
  std::string scope_, variable_scope_, device_, colocated_;
  std::vector<std::uint32_t> controls_;
  std::deque<rule> rules_;
  using rules_by_operation = std::map<std::string, std::int64_t, std::less<>>;
  rules_by_operation rules_of_, recorded_rules_;
  std::set<std::string> ruled_operations_;
  bool may_race_ = false;
  std::uint32_t recompute_ = 0, recomputed_parts_ = 0;
  std::int64_t copy_of_ = -1;
  std::uint64_t seed_ = 0;
  std::size_t recorded_ = 0;
  std::size_t first_key_ = 0;  // what was recorded before this function's body
  // Of bodies.
  graph* outer_ = nullptr;  // what this body is recorded within
  graph* open_ = nullptr;   // the body that is being recorded in this graph
  bool closed_ = false;
  std::deque<std::unique_ptr<graph>> bodies_;
  std::vector<capture> captures_, references_;
  std::vector<operation> controls_outside_;  // what nodes recorded now wait for, as `controls_` in this body
  std::vector<wait> waits_outside_;
};

#if RILL_RUNTIME

RILL_INLINE value graph::known_variable(std::string_view name) const {
  for (auto const& r : references_)
    if (r.inside.origin().name == name) return r.inside;
  return {};
}

#endif

}  // namespace rill

#include "rill/graph/recording.ipp"
