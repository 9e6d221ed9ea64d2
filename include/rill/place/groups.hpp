// What must lie together, and what runs on the host alone (white paper §4.3, OSDI'16 §3.3).
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rill/place/placement.hpp"

namespace rill {

/// A node that takes a variable by reference.
struct variable_use {
  node const* user;
  std::vector<type> inputs;            ///< types of the user's inputs
  std::vector<std::string> variables;  ///< all that it takes by reference
};

namespace detail {

/// A constraint on a node that is not its own: of a node in a body, or of one that the step does not need.
struct foreign_constraint {
  std::string by;                          ///< the name of the node that it comes from
  std::string device = {};                 ///< asks for this one; empty: does not
  std::optional<std::uint32_t> home = {};  ///< lies on this one
  node const* inside = nullptr;            ///< is a node of a body, which needs a kernel
  std::vector<type> inputs = {};           ///< of that node
};

}  // namespace detail

/// What placement asks about what is not in the subgraph. Each function may be empty.
struct place_surroundings {
  /// Returns the number of the device on which the variable of that name, or a node around the body that is placed,
  /// lies already.
  std::function<std::optional<std::uint32_t>(std::string_view name)> home = {};
  /// Returns the node of that name that was recorded, whether the step needs it or not; null: there is none.
  std::function<node const*(std::string_view name)> find_node = {};
  /// Returns the recorded nodes that take the variable of that name by reference, whether the step needs them or not:
  /// the step that gives the variable its first value puts it where all of them can run.
  std::function<std::vector<variable_use>(std::string_view variable)> uses = {};
  /// Whether the devices are tasks: then a loop, branch or call is placed as a whole, where the nodes in its bodies
  /// must lie, and so are nodes that only order others.
  bool tasks = false;
  /// Whether a branch or loop runs on several tasks: then it has no place, and the nodes in its bodies have.
  std::function<bool(node const&)> spans_tasks = {};
  /// Returns where the queue, file or other state by name lies that a node touches.
  std::function<std::optional<detail::foreign_constraint>(node const&)> state = {};
};

namespace detail {

/// Returns the device that a recorded node, or the node that it is near, asks for; empty: none. `find`
/// returns recorded nodes by name, and may be empty; `n` may be null.
inline std::string wish_beside(std::function<node const*(std::string_view)> const& find, node const* n) {
  while (find && n && n->device.empty() && !n->colocated.empty()) n = find(n->colocated);
  return n ? n->device : std::string();
}

/// Returns why a node runs on the host alone; empty: other devices may have a kernel for it. `bound`: the subgraph's
/// extents are bound, so that an open one is settled by a kernel.
std::optional<place_reason> host_reason(node const& n, std::span<type const> inputs, bool bound = true);

/// Whether a node touches files, queues or other state by name, besides variables. What the nodes in its bodies touch
/// does not count.
bool touches_outside_state(node const& n);

/// Whether the device of a node of the host is no matter of constraints: it holds or orders what others compute.
constexpr bool has_no_place(place_reason why) { return is_host_alone(why) && why < place_reason::strings; }

/// Returns the job and the task of a device's name.
inline device_name task_of(device_name device) {
  device.type.clear(), device.index.reset();
  return device;
}

template <class F>
void for_each_node_in_bodies(node const& n, F const& f, std::unordered_set<function_definition const*>& called) {
  auto const visit = [&](subgraph const& body) {
    for (auto const& inner : body.nodes) {
      f(inner);
      if (has_bodies(inner)) for_each_node_in_bodies(inner, f, called);
    }
  };
  for_each_body(n, visit);
  if (auto const* const function = called_by(n); function && function->body && called.insert(function).second)
    visit(*function->body);
}
/// Calls `f` with each node in the bodies of a node, in bodies within these, and in the functions that they call.
template <class F> void for_each_node_in_bodies(node const& n, F const& f) {
  std::unordered_set<function_definition const*> called;
  for_each_node_in_bodies(n, f, called);
}

/// Returns the device's name for `inner` recorded within `outer`: what `inner` leaves open comes from `outer`.
inline std::string wish_within(std::string const& outer, std::string const& inner) {
  if (outer.empty() || inner.empty()) return outer.empty() ? inner : outer;
  return nested(device_name::parse(outer), device_name::parse(inner)).text();
}

/// The nodes in the bodies of a node that ask for a place, or touch what has one: a variable, or state by name.
template <class F> class wishes_in_bodies {
 public:
  explicit wishes_in_bodies(F const& f) : f_(f) {}

  /// Calls `f(inner, device)` with each, and the device that it asks for; empty: for none. In a function, what a node's
  /// device name leaves open is filled in from the call's constraint. If no node of it asks for a place, the call's
  /// constraint itself counts. Returns whether there is a node that asks.
  bool of(node const& n, std::string const& around = {}) {
    bool ask = false;
    for_each_body(n, [&](subgraph const& body) { ask |= in(body, around); });
    auto const* const function = called_by(n);
    if (!function || !function->body) return ask;
    auto const here = wish_of(n, around);
    auto const [at, fresh] = called_.try_emplace({function, here}, true);
    if (fresh) at->second = in(*function->body, here);
    if (at->second) return true;
    if (here.empty() && n.colocated.empty()) return ask;
    f_(n, here);
    return true;
  }

 private:
  bool in(subgraph const& body, std::string const& around) {
    bool ask = false;
    for (auto const& n : body.nodes) {
      if (has_bodies(n)) {
        ask |= of(n, around);
      } else if (!is_constant(n) && n.op != &fed_op &&
                 (asks_for_place(n) || is_variable(n) || touches_outside_state(n))) {
        f_(n, n.device.empty() && n.op->rendezvous.empty() ? std::string() : wish_of(n, around));
        ask = true;
      }
    }
    return ask;
  }
  // A node recorded by `near` ignores the constraint around it.
  static std::string wish_of(node const& n, std::string const& around) {
    return n.colocated.empty() ? wish_within(around, n.device) : n.device;
  }

  F const& f_;
  std::map<std::pair<function_definition const*, std::string>, bool> called_;  // with what is asked for around the call
};
template <class F> void for_each_wish_in_bodies(node const& n, F const& f) { wishes_in_bodies<F>(f).of(n); }

/// Returns the types of a node's inputs.
inline void input_types(subgraph const& sub, node const& n, std::vector<type>& types) {
  types.clear();
  for (auto e : n.inputs) types.push_back(sub.type_of(e));
}

/// Two nodes that must lie together: one takes the other by reference, or is near it, or node `by` ties them.
struct place_tie {
  std::uint32_t a, b;
  std::string_view by;
};

/// The nodes of a subgraph, in groups that must lie together.
class place_groups {
 public:
  place_groups(subgraph const& sub, place_surroundings const& around) : sub_(sub), around_(around) {
    above_.resize(sub.size());
    std::iota(above_.begin(), above_.end(), 0u);
    find_host_nodes();
    for (std::uint32_t i = 0; i < sub.size(); ++i) link(i);
    if (around.tasks && has_primitives()) unite_all();
    list_members();
  }

  /// The first node of each group, in order. Nodes without a place are in no group.
  std::vector<std::uint32_t> const& roots() const { return roots_; }
  std::span<std::uint32_t const> members(std::uint32_t root) const {
    return std::span(members_).subspan(first_[root], count_[root]);
  }
  /// Whether a node is in a group.
  bool has_place(std::uint32_t i) const {
    auto const& why = why_host_[i];
    if (!why || !has_no_place(*why)) return true;
    if (!around_.tasks || *why == place_reason::fed || *why == place_reason::constant) return false;
    return !around_.spans_tasks || !around_.spans_tasks(sub_[i]);
  }
  /// Why a node runs on the host alone; empty: it need not.
  std::optional<place_reason> const& why_host(std::uint32_t i) const { return why_host_[i]; }
  /// Returns what ties nodes of one group to the first of them, each as a phrase: "'assign' takes 'w'".
  std::vector<std::string> ties(std::span<std::uint32_t const> nodes) const;
  std::vector<foreign_constraint> const& foreign(std::uint32_t i) const {
    static std::vector<foreign_constraint> const none;
    auto const at = foreign_.find(i);
    return at == foreign_.end() ? none : at->second;
  }

 private:
  std::uint32_t root(std::uint32_t i) {
    while (above_[i] != i) i = above_[i] = above_[above_[i]];
    return i;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    a = root(a), b = root(b);
    above_[std::max(a, b)] = std::min(a, b);
  }
  void unite(std::uint32_t a, std::uint32_t b, std::string_view by = {}) {
    ties_.push_back({a, b, by});
    join(a, b);
  }
  std::string text(place_tie const& t) const;

  void find_host_nodes() {
    why_host_.resize(sub_.size());
    std::vector<type> types;
    for (std::uint32_t i = 0; i < sub_.size(); ++i) {
      input_types(sub_, sub_[i], types);
      why_host_[i] = host_reason(sub_[i], types);
    }
  }

  void link(std::uint32_t i) {
    auto const& n = sub_[i];
    if (has_bodies(n)) for_each_body_of(n, [&](subgraph const& body) { link_body(body); });
    if (!has_place(i)) return;
    if (around_.tasks) constrain_whole(i, n);
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (takes_reference(n, k) && is_variable(sub_[n.inputs[k].node])) unite(i, n.inputs[k].node);
    if (!n.colocated.empty() && !has_bodies(n)) follow(i, n.colocated);
    if (is_variable(n) && around_.uses && !has_home(n.name))
      for (auto const& use : around_.uses(n.name)) link_use(i, use);
  }

  // A whole step with primitives runs on one task: frames are not split.
  bool has_primitives() const {
    return std::any_of(sub_.nodes.begin(), sub_.nodes.end(), [](node const& n) { return is_primitive(n); });
  }
  void unite_all() {
    std::optional<std::uint32_t> first;
    for (std::uint32_t i = 0; i < sub_.size(); ++i) {
      if (!has_place(i)) continue;
      if (first) join(*first, i);
      else first = i;
    }
  }

  // A node that is placed on a task with its bodies is placed where the nodes in its bodies must be: with the named
  // state that they touch, and where they ask to run.
  void constrain_whole(std::uint32_t i, node const& n) {
    if (!has_bodies(n)) return constrain_by_state(i, n);
    for_each_wish_in_bodies(n, [&](node const& inner, std::string const& wish) {
      if (is_variable(inner)) return;  // the node takes it by reference, too
      constrain_by_state(i, inner);
      if (!wish.empty()) foreign_[i].push_back({.by = inner.name, .device = wish});
      if (!inner.colocated.empty()) follow(i, inner.colocated);
    });
  }
  void constrain_by_state(std::uint32_t i, node const& n) {
    if (auto lies = around_.state && touches_outside_state(n) ? around_.state(n) : std::nullopt)
      foreign_[i].push_back(std::move(*lies));
  }
  bool has_home(std::string_view name) const { return around_.home && around_.home(name); }

  void link_use(std::uint32_t variable, variable_use const& use) {
    if (find(use.user->name)) return;
    if (has_bodies(*use.user)) {
      if (linked_.insert(use.user).second) for_each_body_of(*use.user, [&](auto const& body) { link_body(body); });
      return;
    }
    foreign_[variable].push_back(
        {.by = use.user->name, .device = use.user->device, .inside = use.user, .inputs = use.inputs});
    for (auto const& name : use.variables)
      if (auto const j = find(name); j && is_variable(sub_[*j])) unite(variable, *j, use.user->name);
      else if (!j && has_home(name)) foreign_[variable].push_back({.by = name, .home = around_.home(name)});
  }

  // Follows g.near from node to node until one in the subgraph has a place. Of the others, which have none or are not
  // needed, the device that they ask for counts.
  void follow(std::uint32_t i, std::string_view name) {
    for (int steps = 0; !name.empty() && steps < 1000; ++steps) {
      node const* n = nullptr;
      if (auto const j = find(name)) {
        if (has_place(*j)) return unite(i, *j);
        n = &sub_[*j];
      }
      if (n == nullptr || n->op == &fed_op) {
        if (auto const home = around_.home ? around_.home(name) : std::nullopt) {
          foreign_[i].push_back({.by = std::string(name), .home = home});
          return;
        }
        n = around_.find_node ? around_.find_node(name) : nullptr;
      }
      if (n == nullptr) return;
      if (!n->device.empty()) foreign_[i].push_back({.by = n->name, .device = n->device});
      name = n->colocated;
    }
  }

  // A node of a body that takes a variable from outside lies where that lies, so what it needs the variable needs.
  void link_body(subgraph const& body) {
    for (auto const& n : body.nodes) {
      if (has_bodies(n)) for_each_body_of(n, [&](subgraph const& inner) { link_body(inner); });
      else link_references(body, n);
    }
  }
  void link_references(subgraph const& body, node const& n) {
    std::optional<std::uint32_t> before;
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      auto const& v = body[n.inputs[k].node];
      if (!takes_reference(n, k) || !is_variable(v)) continue;
      auto const outside = find(v.name);
      if (!outside || !is_variable(sub_[*outside])) continue;
      if (before) unite(*before, *outside, n.name);
      else constrain(*outside, body, n);
      before = outside;
    }
  }
  void constrain(std::uint32_t variable, subgraph const& body, node const& n) {
    auto& c = foreign_[variable].emplace_back(foreign_constraint{.by = n.name, .device = n.device, .inside = &n});
    input_types(body, n, c.inputs);
    if (!n.colocated.empty())
      if (auto const j = find(n.colocated); j && is_variable(sub_[*j])) unite(variable, *j, n.name);
  }

  template <class F> void for_each_body_of(node const& n, F const& f) {
    for_each_body(n, f);
    if (auto const* called = called_by(n); called && called->body && called_.insert(called).second) f(*called->body);
  }

  std::optional<std::uint32_t> find(std::string_view name) {
    if (numbers_.empty())
      for (std::uint32_t i = 0; i < sub_.size(); ++i) numbers_.emplace(sub_[i].name, i);
    auto const at = numbers_.find(name);
    return at == numbers_.end() ? std::nullopt : std::optional(at->second);
  }

  void list_members() {
    first_.resize(sub_.size());
    count_.resize(sub_.size());
    std::vector<std::uint32_t> next(sub_.size());
    for (std::uint32_t i = 0; i < sub_.size(); ++i) {
      if (!has_place(i)) continue;
      if (root(i) == i) roots_.push_back(i);
      ++count_[root(i)];
    }
    std::uint32_t at = 0;
    for (auto r : roots_) next[r] = first_[r] = std::exchange(at, at + count_[r]);
    members_.resize(at);
    for (std::uint32_t i = 0; i < sub_.size(); ++i)
      if (has_place(i)) members_[next[root(i)]++] = i;
  }

  subgraph const& sub_;
  place_surroundings const& around_;
  std::vector<std::uint32_t> above_;  // a node of the same group with a smaller number, or the node
  std::vector<place_tie> ties_;
  std::vector<std::optional<place_reason>> why_host_;
  std::unordered_map<std::uint32_t, std::vector<foreign_constraint>> foreign_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
  std::unordered_set<function_definition const*> called_;
  std::unordered_set<node const*> linked_;  // nodes outside of the subgraph whose bodies were looked at
  std::vector<std::uint32_t> roots_, members_, first_, count_;
};

#if RILL_RUNTIME

// Finds the shortest paths from the first node along the ties.
RILL_INLINE std::vector<std::string> place_groups::ties(std::span<std::uint32_t const> nodes) const {
  if (nodes.empty()) return {};
  std::unordered_map<std::uint32_t, std::vector<place_tie const*>> of;
  for (auto const& t : ties_)
    for (auto const end : {t.a, t.b}) of[end].push_back(&t);
  std::unordered_map<std::uint32_t, place_tie const*> back;  // of each node that was reached, the tie towards the first
  std::vector<std::uint32_t> reached{nodes.front()};
  back.emplace(nodes.front(), nullptr);
  for (std::size_t k = 0; k < reached.size(); ++k)
    for (auto const* t : of[reached[k]])
      if (auto const next = t->a == reached[k] ? t->b : t->a; back.emplace(next, t).second) reached.push_back(next);
  std::vector<std::string> said;
  for (auto end : nodes)
    for (auto at = back.find(end); at != back.end() && at->second != nullptr;) {
      auto const& t = *std::exchange(at->second, nullptr);  // is said once
      said.push_back(text(t));
      end = t.a == end ? t.b : t.a;
      at = back.find(end);
    }
  return said;
}
RILL_INLINE std::string place_groups::text(place_tie const& t) const {
  auto const& n = sub_[t.a];
  auto const other = "'" + sub_[t.b].name + "'";
  if (!t.by.empty()) return "'" + std::string(t.by) + "' ties '" + n.name + "' to " + other;
  for (std::size_t k = 0; k < n.inputs.size(); ++k)
    if (n.inputs[k].node == t.b && takes_reference(n, k)) return "'" + n.name + "' takes " + other;
  return "'" + n.name + "' is near " + other;
}

RILL_INLINE bool touches_outside_state(node const& n) {
  if (!n.op->rendezvous.empty()) return true;
  if (n.op->effect == effect::none || draws_random(n) || is_variable(n) || is_primitive(n) || has_bodies(n))
    return false;
  for (std::size_t k = 0; k < n.inputs.size(); ++k)
    if (takes_reference(n, k)) return false;
  return true;
}

RILL_INLINE std::optional<place_reason> host_reason(node const& n, std::span<type const> inputs, bool bound) {
  if (n.op == &fed_op || n.op->kind == op_kind::placeholder) return place_reason::fed;
  if (is_constant(n)) return place_reason::constant;
  if (has_bodies(n)) return place_reason::bodies;
  if (is_primitive(n)) return place_reason::primitive;
  if (n.outputs.empty() && n.op->effect == effect::none) return place_reason::orders;
  auto const is_string = [](type const& t) { return t.element == dtype::string; };
  if (std::any_of(inputs.begin(), inputs.end(), is_string) ||
      std::any_of(n.outputs.begin(), n.outputs.end(), is_string))
    return place_reason::strings;
  if (touches_outside_state(n)) return place_reason::outside_state;
  if (bound && !all_known(n.outputs)) return place_reason::open_extents;
  return {};
}

#endif

}  // namespace detail
}  // namespace rill
