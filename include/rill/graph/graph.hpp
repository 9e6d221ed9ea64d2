// The dataflow graph: nodes, edges, names and scopes. It only grows.
#pragma once
#include <algorithm>
#include <deque>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/graph/function.hpp"
#include "rill/graph/node.hpp"

namespace rill {

/// A graph that grows while a program records it; nodes are never removed, and never change except by `grow`. One
/// thread records at a time; sessions may plan and run steps meanwhile.
class graph {
 public:
  graph();
  explicit graph(std::uint64_t seed);
  ~graph();
  graph(graph const&) = delete;
  graph& operator=(graph const&) = delete;

  /// Refuses to print a graph, with a sentence in place of a list of what can be printed.
  template <class Stream>
    requires requires(Stream& to) { to.rdbuf(); }
  friend Stream& operator<<(Stream& to, graph const&) {
    constexpr bool is_printable = !std::is_class_v<Stream>;
    static_assert(is_printable,
                  "a graph has no operator<<: rill::dot(g) of <rill/graph/dot.hpp> returns it as text, and "
                  "session.explain({}, fetches...) says what a step of it runs");
    return to;
  }
  /// Has GoogleTest print nothing but the address of a graph that a mock's function takes.
  friend void PrintTo(graph const&, std::ostream*) {}

  /// Opens a body: until it is closed, everything that is recorded in this graph goes into it
  /// (docs/architecture/graphs.md). A value from outside that a node of the body reads becomes a capture.
  graph& open_body(std::string_view name);
  /// Closes the body that is open in this graph. The body lives as long as the graph, so that a handle that leaked out
  /// of it can be recognized.
  void close_body();
  /// Whether it is the graph of a body.
  bool is_body() const { return outer_ != nullptr; }
  /// Whether it is the graph of a body that lies in `other`, directly or within other bodies.
  bool is_within(graph const& other) const { return lies_in(&other); }
  /// Returns the graph into which nodes are recorded now: the innermost open body.
  graph& innermost() { return open_ ? open_->innermost() : *this; }
  /// Adds an argument to a body and returns it.
  value argument(rill::type const& t, std::string_view name);
  /// Returns the value in this body that stands for `v`, and captures `v` if it comes from outside.
  value inside(value v);
  /// A value or variable outside of a body, and the value inside that stands for it.
  struct capture {
    value outside, inside;
  };
  /// Returns the values that the body captures, in order.
  std::vector<capture> const& captures() const { return captures_; }
  /// Returns the variables that the body captures, in order.
  std::vector<capture> const& references() const { return references_; }
  /// A node of a body, and a node outside that must run before it.
  struct wait {
    std::uint32_t inside;
    operation outside;
  };
  /// Returns the waits of the body for nodes outside.
  std::vector<wait> const& waits_outside() const { return waits_outside_; }
  /// Returns the graph that this body lies in, or this graph if it is not a body.
  graph& outermost() { return root(); }
  /// Returns the handle in this body of a variable from outside; empty if no node of the body has read the variable.
  value known_variable(std::string_view name) const;
  /// Returns the number of nodes recorded in the graph and all its bodies. Random keys are derived from it, so graphs
  /// as bytes contain it.
  std::size_t recorded() const { return root().recorded_; }
  /// Returns a key for the next random node: the number of nodes recorded so far. Within a function it counts from the
  /// function's first node, so that its keys don't depend on the rest of the graph.
  std::int64_t random_key();
  /// Makes the random keys in this body, which belongs to a function, count from 0.
  void count_keys() { first_key_ = recorded(); }
  /// Sets `recorded()` to the count of the graph that this one is a copy of. Throws error(invalid_argument) unless `n`
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
  /// Returns the seed of random operations, which also depend on their node and the step.
  std::uint64_t seed() const { return root().seed_; }

  /// Adds a node: checks that its inputs belong to this graph, infers its outputs and gives it a unique name. An error
  /// names the node and the types of its inputs, and leaves the graph unchanged.
  value add(op_def const& op, attribute_list attributes, std::vector<value> const& inputs, std::string_view name = {});

  /// Throws error(invalid_argument) if a node has too many or too few inputs.
  static void check_arity(node const& n);

  /// Adds a node of another graph under its own name. Throws error(invalid_argument) unless its edges come from nodes
  /// of this graph and its name is free. Its outputs are inferred anew.
  value adopt(node n);

  /// Replaces the attributes of a node so that it has additional outputs behind its present ones. The gradient of a
  /// loop adds the outputs that it needs this way. A thread that reads the node meanwhile sees it with fewer outputs.
  void grow(std::uint32_t i, attribute_list attributes);

  /// Returns the value called "name" or "name:port"; throws error(not_found).
  value find(std::string_view name_and_port);
  /// Returns the node of this name, or null if there is none. The pointer is valid as long as the graph.
  node const* find_node(std::string_view name) const;
  /// Whether a node has this name.
  bool contains(std::string_view name) const { return find_node(name) != nullptr; }

  /// Runs `f`, and puts "name/" before the names of the nodes that it records. A second scope of one name is numbered,
  /// "name_1/", but not in the names of variables, so that a second variable of one name is an error.
  template <class F> auto scope(std::string_view name, F&& f) {
    auto variables = only_errors([&] { return innermost().variable_scope_ + std::string(name) + "/"; });
    return with(&graph::scope_, only_errors([&] { return fresh_name(name) + "/"; }),
                [&] { return with(&graph::variable_scope_, std::move(variables), std::forward<F>(f)); });
  }
  /// Runs `f` without the open scopes: the nodes that it records have their names as given.
  template <class F> auto unscoped(F&& f) {
    return with(&graph::scope_, std::string(),
                [&] { return with(&graph::variable_scope_, std::string(), std::forward<F>(f)); });
  }
  /// Runs `f`, and adds a control edge from each of `first` to each node that it records.
  template <class F> auto after(std::vector<operation> const& first, F&& f) {
    auto& g = innermost();
    auto controls = only_errors([&] {
      auto all = std::pair(g.controls_, g.controls_outside_);
      for (auto const& o : first)
        if (o.graph != &g) {
          expects(o.graph != nullptr && g.lies_in(o.graph), "a control edge comes from another graph");
          all.second.push_back(o);
        } else if (std::find(all.first.begin(), all.first.end(), o.node) == all.first.end())
          all.first.push_back(o.node);
      return all;
    });
    return with(&graph::controls_, std::move(controls.first),
                [&] { return with(&graph::controls_outside_, std::move(controls.second), std::forward<F>(f)); });
  }
  /// Runs `f`; the nodes that it records must run on this device, which may be a partial name ("/device:gpu", "gpu:0",
  /// "/job:ps"). Within another `on`, what the name leaves open is as that one says. The empty name lifts the
  /// constraints of each `on` around it, and not those of `near`. Throws error(invalid_argument) if it is no device's
  /// name (device/device_name.hpp).
  template <class F> auto on(std::string_view device, F&& f) {
    return with(&graph::device_, only_errors([&] { return innermost().device_within(device); }), std::forward<F>(f));
  }
  /// Runs `f`; the nodes that it records must run where `beside` runs: a value of what is being recorded, or of what
  /// lies around it. Lifts the constraints of each `on` and `near` around it; an `on` within it holds as well. Throws
  /// error(invalid_argument) if `beside` is another graph's.
  template <class F> auto near(value beside, F&& f) {
    auto const& here = innermost();
    expects(beside && (beside.graph == &here || here.lies_in(beside.graph)),
            "near: the value is an empty handle or belongs to another graph or body");
    return placed_as({}, only_errors([&] { return neighbour_name(beside); }), std::forward<F>(f));
  }

  /// Runs `f`; the nodes that it records have these constraints, and not those of what is around it.
  template <class F> auto placed_as(std::string device, std::string colocated, F&& f) {
    return with(&graph::device_, std::move(device),
                [&] { return with(&graph::colocated_, std::move(colocated), std::forward<F>(f)); });
  }
  /// Runs `f`; derivatives that are taken in it run beside the nodes that they are derivatives of, each rule's nodes
  /// beside its node, also in bodies. Nodes with bodies have no place of their own, and neither have their derivatives.
  template <class F> auto gradients_beside(F&& f) { return with(&graph::gradients_beside_, true, std::forward<F>(f)); }
  /// Whether derivatives run beside the nodes that they are derivatives of.
  bool places_gradients_beside() const { return gradients_beside_; }

  /// Runs `f`; derivatives that are taken in it read the values of earlier nodes from the host's memory. They are
  /// copied there when they are made, and come back to the device of the derivative just before it runs, so that the
  /// device does not keep them meanwhile. Bits stay; each value crosses the link twice. Derivatives in bodies are as
  /// they would be without it: what a loop saves for its derivative lies in the host's memory in any case.
  template <class F> auto offload_saved(F&& f) { return with(&graph::offloads_saved_, true, std::forward<F>(f)); }
  /// Whether derivatives read the values of earlier nodes from the host's memory.
  bool offloads_saved() const { return offloads_saved_; }

  /// Runs `f`; derivatives compute the values of the nodes that it records again instead of keeping them.
  template <class F> auto recomputed(F&& f) {
    return with(&graph::recompute_, ++innermost().recompute_regions_, std::forward<F>(f));
  }
  /// Runs `f`, which records one node, a copy of node `i`: it has the same device and gradient rule, and a feed of an
  /// output of node `i` also feeds the copy's.
  template <class F> auto again(std::uint32_t i, F&& f) {
    return with(&graph::copy_of_, std::int64_t{i}, std::forward<F>(f));
  }

  /// Runs `f`; the updates that it records may race: two updates of one variable need no control edge between them, and
  /// either may run first. Each update is still atomic (Hogwild with a lock for each variable).
  template <class F> auto hogwild(F&& f) { return with(&graph::may_race_, true, std::forward<F>(f)); }

  /// A user's gradient rule of a node: from its inputs x, its output y and the target's derivative with respect to y,
  /// it returns the target's derivative with respect to each input.
  using rule = std::function<std::vector<value>(std::vector<value> const& x, value y, value dy)>;
  /// Keeps a rule and returns its number, which nodes store.
  std::int64_t add_rule(rule r);
  /// Returns the rule with this number. Throws error(not_found) in a graph that was loaded without its rules.
  rule const& find_rule(std::int64_t number) const;

  /// Makes `r` the gradient rule, in this graph, of all operations of this name (white paper §4.1). The operation must
  /// have one output. `gradients` throws error(not_found) if the operation does not exist then.
  void set_gradient(std::string_view operation, rule r);
  /// Runs `f`; `r` is the gradient rule only of the operations of this name that `f` records.
  template <class F> auto with_gradient(std::string_view operation, rule r, F&& f) {
    auto all = only_errors([&] {
      auto rules = innermost().recorded_rules_;
      rules[std::string(operation)] = add_rule(operation, std::move(r));
      return rules;
    });
    return with(&graph::recorded_rules_, std::move(all), std::forward<F>(f));
  }
  /// Returns the number of the rule that a user gave a node or its operation; -1: none.
  std::int64_t rule_of(node const& n) const;

  /// Returns the names of the operations that have a user's rule.
  std::set<std::string> ruled_operations() const;
  /// Whether this graph or a body within it has an operation of this name.
  bool has_operation(std::string_view name) const;

  /// Returns the functions that calls in this graph may name.
  function_library& functions() { return root().functions_; }
  function_library const& functions() const { return root().functions_; }
  /// Runs `f` as if no body of the outermost graph were open, because functions belong to the outermost graph. What
  /// reaches into bodies (`on`, `near`, `gradients_beside`, `with_gradient`, `hogwild`) stays as it is in the innermost
  /// body; but no function is near a node of a body.
  template <class F> auto outside_bodies(F&& f) {
    auto& all = root();
    auto& here = all.innermost();
    if (&here == &all) return std::forward<F>(f)();
    auto scopes = only_errors([&] { return here.scopes_for(all); });
    struct restore {
      graph& of;
      graph* body;
      inherited_scopes& before;
      ~restore() {
        of.open_ = body;
        of.swap_scopes(before);
      }
    } const guard{all, std::exchange(all.open_, nullptr), scopes};
    all.swap_scopes(scopes);
    return std::forward<F>(f)();
  }

  /// A variable and the assignment of its first value; both are nodes of the outermost graph.
  struct initial {
    std::uint32_t variable, assignment;
  };
  /// Adds an assignment that `initializer` runs.
  void add_initial(initial i);
  /// Returns the assignments that `initializer` runs, in order of recording.
  std::vector<initial> initials() const;

  /// Returns the nodes that pass a value back to an earlier node (op_def::back_edge).
  std::vector<std::uint32_t> back_edges() const;

  /// Returns a name that no node has: `wish` within the open scopes, with a number if it is taken.
  std::string fresh_name(std::string_view wish);
  /// Whether no node and no scope has the name `name` within the open scopes, so that a variable can have it.
  bool is_free_for_variable(std::string_view name);
  /// Throws error(invalid_argument) if the name of a variable is taken within the open scopes.
  void check_variable_name(std::string_view name);

 private:
  using rules_by_operation = std::map<std::string, std::int64_t, std::less<>>;
  /// What holds for the nodes of a body as for the nodes around it.
  struct inherited_scopes {
    std::string device, colocated;
    rules_by_operation recorded_rules;
    bool gradients_beside, may_race;
  };
  // Returns them for a body that is recorded in `to`, which is this graph or lies around it.
  inherited_scopes scopes_for(graph const& to) const;
  void swap_scopes(inherited_scopes& other) noexcept;

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

  std::string device_within(std::string_view name) const;
  // Returns the name of a value's node; of what a body captures, the node outside.
  static std::string neighbour_name(value v);
  std::string unique(std::string_view wish);
  std::string name_of_variable(std::string_view wish);
  std::string name_of_placeholder(std::string_view wish);

  // Frees the name of a node that could not be added.
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
  // Whether a node of this graph or of a graph around it has this name.
  bool knows(std::string const& name) const;
  value known_inside(value const& v) const;

  mutable std::shared_mutex mutex_;
  std::deque<node> recorded_nodes_;  // never changed, so that threads may read them while the graph grows
  std::vector<node const*> nodes_;   // the newest version of each node
  std::unordered_map<std::string, std::uint32_t> names_;
  std::unordered_map<std::string, std::uint32_t> taken_;
  std::vector<initial> initials_;
  std::vector<std::uint32_t> back_edges_;
  function_library functions_;
  std::string scope_, variable_scope_, device_, colocated_;
  std::vector<std::uint32_t> controls_;
  std::deque<rule> rules_;
  rules_by_operation rules_of_, recorded_rules_;
  std::set<std::string> ruled_operations_;
  bool may_race_ = false;
  bool gradients_beside_ = false;
  bool offloads_saved_ = false;
  std::uint32_t recompute_ = 0, recompute_regions_ = 0;
  std::int64_t copy_of_ = -1;
  std::uint64_t seed_ = 0;
  std::size_t recorded_ = 0;
  std::size_t first_key_ = 0;  // the value of recorded_ when this function's body began
  // Of bodies.
  graph* outer_ = nullptr;  // the graph that this body lies in
  graph* open_ = nullptr;   // the body that is being recorded in this graph
  bool closed_ = false;
  std::deque<std::unique_ptr<graph>> bodies_;
  std::vector<capture> captures_, references_;
  std::vector<operation> controls_outside_;  // control edges of the next node from outside; `controls_` are from here
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
