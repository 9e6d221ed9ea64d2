// Chooses the task of each node of a step.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/graph/graph.hpp"
#include "rill/place/place.hpp"
#include "rill/run/plan/session_devices.hpp"
#include "rill/run/plan/text_table.hpp"
#include "rill/run/tasks/prepare_bodies.hpp"
#include "rill/run/tasks/spanning_nodes.hpp"
#include "rill/run/tasks/task.hpp"

#if RILL_RUNTIME
namespace rill::detail {

/// The tasks as placement sees them: each with its host, and its other devices beside it. On which of its devices a
/// node runs is decided by the task.
inline std::vector<place_target> place_targets(std::vector<std::shared_ptr<task>> const& tasks) {
  std::vector<place_target> all;
  for (auto& devices : values_of_all(ask_all(tasks, [](auto const& t) { return t->ask_devices(); }))) {
    place_target one{.name = devices.front(), .is_host = true};
    one.others.assign(devices.begin() + 1, devices.end());
    all.push_back(std::move(one));
  }
  return all;
}

/// Where state by name lies, such as queues: on one task, whichever step asks. The recorded nodes that touch it, in
/// bodies too, say on which tasks it can lie; it is the first of these by name, so that all sessions of a graph agree.
/// If none asks, it lies on the session's first task.
class state_places {
 public:
  /// `devices`: of the session, which remember where its steps put state.
  state_places(std::vector<place_target> const& targets, session_devices& devices)
      : targets_(targets), wished_(targets), devices_(devices) {}

  /// Returns the place of what a node touches. Throws error(invalid_argument) if the nodes that touch it ask for
  /// different tasks.
  std::optional<foreign_constraint> operator()(node const& n) {
    foreign_constraint lies{.by = n.name, .home = 0};
    if (n.op->rendezvous.empty()) return n.device.empty() ? std::optional(lies) : std::nullopt;
    look_at_recorded();
    add(n, n.device);
    lies.home = task_of(name_of(n), n);
    return lies;
  }
  /// Has the session remember where the state lies that was asked for.
  void keep() {
    for (auto const& [name, task] : chosen_) devices_.plan_home(name, task);
  }

 private:
  struct wish {
    std::string by, device;
  };

  // The kind of state and its name, as in errors.
  static std::string name_of(node const& n) {
    return std::string(n.op->rendezvous) + " " + in_quotes(attribute_as<std::string>(n.attributes, n.op->rendezvous));
  }
  void look_at_recorded() {
    auto const* const recorded = devices_.placement().graph;
    for (auto const size = recorded ? static_cast<std::uint32_t>(recorded->size()) : 0; seen_ < size; ++seen_) {
      auto const& n = (*recorded)[seen_];
      if (has_bodies(n)) for_each_wish_in_bodies(n, [&](node const& inner, auto const& device) { add(inner, device); });
      else add(n, n.device);
    }
  }
  void add(node const& n, std::string const& device) {
    if (n.op->rendezvous.empty()) return;
    auto& wishes = wishes_[name_of(n)];
    add(wishes, {n.name, device});
    auto const& find_node = devices_.placement().recorded.find_node;
    std::string_view beside = n.colocated;
    for (int steps = 0; !beside.empty() && steps < 1000; ++steps) {
      auto const* const other = find_node ? find_node(beside) : nullptr;
      if (other == nullptr) return;
      add(wishes, {other->name, other->device});
      beside = other->colocated;
    }
  }
  static void add(std::vector<wish>& to, wish w) {
    auto const is_same = [&](wish const& other) { return other.device == w.device; };
    if (!w.device.empty() && std::none_of(to.begin(), to.end(), is_same)) to.push_back(std::move(w));
  }

  std::uint32_t task_of(std::string const& name, node const& n) {
    auto const& wishes = wishes_.at(name);
    device_set able(targets_.size(), true);
    bool asks = false;
    for (auto const& w : wishes) {
      auto const& wanted = wished_.called(w.device);
      if (wanted.empty()) continue;  // its node is refused, or soft placement ignores the constraint
      able &= wanted, asks = true;
    }
    if (able.empty())
      throw error(code::invalid_argument,
                  "the nodes of " + name + " must lie together but ask for different tasks: " +
                      list_of_texts(wishes, says) + ": change a constraint",
                  n.name);
    auto const before = devices_.planned_home(name);
    if (before && !able.contains(*before)) refuse_to_move(name, *before, n);
    return chosen_[name] = before ? *before : asks ? first_by_name(able) : 0;
  }
  static std::string says(wish const& w) { return in_quotes(w.by) + " asks for " + in_quotes(w.device); }
  [[noreturn]] void refuse_to_move(std::string const& name, std::uint32_t from, node const& n) {
    auto const& wishes = wishes_.at(name);
    auto const other = std::find_if(wishes.begin(), wishes.end(), [&](auto const& w) {
      auto const& wanted = wished_.called(w.device);
      return !wanted.empty() && !wanted.contains(from);
    });
    throw error(code::invalid_argument,
                "the " + name + " lies on " + in_quotes(detail::task_of(targets_[from].name).text()) +
                    ", where an earlier step placed it, but " + says(*other) +
                    ": record all of its nodes before the first step, or change the constraint",
                n.name);
  }
  std::uint32_t first_by_name(device_set const& able) const {
    auto first = placed_node::none;
    able.for_each(
        [&](auto t) { first = first == placed_node::none || targets_[t].name < targets_[first].name ? t : first; });
    return first;
  }

  std::vector<place_target> const& targets_;
  wished_devices wished_;
  session_devices& devices_;
  std::uint32_t seen_ = 0;                           // of the recorded nodes
  std::map<std::string, std::vector<wish>> wishes_;  // of different devices
  std::map<std::string, std::uint32_t> chosen_;
};

/// Chooses, for a variable that some of the tasks may have, the one of these whose new variables take the fewest bytes;
/// so variables that ask for a job are dealt out to its tasks. For others chooses like `choose_near_inputs`.
inline place_choice choose_among_tasks(std::span<std::uint32_t const> candidates, std::span<std::uint32_t const> group,
                                       place_context const& c) {
  auto const bytes_of_variable = [&](std::uint32_t i) {
    return is_variable(c.sub[i]) ? bytes_of(c.sub[i].outputs[0]) : 0;
  };
  if (candidates.size() == c.devices.size() ||
      std::none_of(group.begin(), group.end(), [&](auto i) { return is_variable(c.sub[i]); }))
    return choose_near_inputs(candidates, group, c);
  std::vector<std::int64_t> bytes(c.devices.size());
  for (std::uint32_t i = 0; i < c.sub.size(); ++i)
    if (c.placed[i].device != placed_node::none) bytes[c.placed[i].device] += bytes_of_variable(i);
  auto const least =
      std::min_element(candidates.begin(), candidates.end(), [&](auto a, auto b) { return bytes[a] < bytes[b]; });
  return {*least, place_reason::dealt_out};
}

/// Places the nodes of a step on tasks, and the nodes of bodies that run on several tasks.
class task_placer {
 public:
  task_placer(std::vector<std::shared_ptr<task>> const& tasks, session_devices& devices, container& state)
      : tasks_(tasks),
        how_(devices.placement()),
        state_(state),
        targets_(place_targets(tasks)),
        wished_(targets_),
        state_places_(targets_, devices) {}

  /// Places the nodes of a step. Prepares the bodies of branches and loops that run on several tasks.
  task_places place(subgraph& sub) {
    auto made = place_nodes(sub);
    state_places_.keep();
    return made;
  }

  /// Returns where each node runs, and why.
  std::string text() const { return text_.text(); }

 private:
  // Places the nodes of the step or of a body.
  task_places place_nodes(subgraph& sub) {
    find_homes(sub);
    auto const spans = [&](node const& n) { return spans_tasks(sub, n); };
    place_options options{.soft_placement = how_.soft, .around = how_.recorded, .choose = how_.choose};
    if (!options.choose) options.choose = choose_among_tasks;
    options.around.tasks = true;
    options.around.home = [&](std::string_view name) { return home(name); };
    options.around.state = [&](node const& n) { return state_places_(n); };
    options.around.spans_tasks = spans;
    auto const placed = rill::place(sub, targets_, options);
    for (std::uint32_t i = 0; i < sub.size(); ++i)
      if (is_variable(sub[i])) homes_.emplace(sub[i].name, placed.nodes[i].device);
    task_places made;
    for (std::uint32_t i = 0; i < sub.size(); ++i) {
      auto& n = sub[i];
      if (is_constant(n) || n.op == &fed_op) made.of.push_back(task_places::everywhere);
      else if (spans(n)) {
        made.of.push_back(task_places::several);
        text_.add({n.name, "several tasks", "what its bodies need lies on several"});
        place_bodies(sub, n, made.bodies[i]);
      } else {
        made.of.push_back(placed.nodes[i].device);
        text_.add({n.name, tasks_[made.of[i]]->name().text(), placed.reason(sub, i)});
      }
    }
    return made;
  }
  // Of a variable that the step has placed, or that has a value.
  std::optional<std::uint32_t> home(std::string_view name) const {
    auto const at = homes_.find(name);
    return at != homes_.end() ? std::optional(at->second) : std::nullopt;
  }
  // Finds the variables of a step and of all bodies in it that have a value somewhere: asks all tasks at once. If
  // several tasks have a value, the first counts. A task that is not connected is an error only if a variable found on
  // no other task may lie there: it must not be created twice.
  void find_homes(subgraph const& sub) {
    std::vector<std::string> names;
    auto const add = [&](node const& n) {
      if (is_variable(n) && asked_.insert(n.name).second) names.push_back(n.name);
    };
    for (auto const& n : sub.nodes) {
      add(n);
      for_each_node_in_bodies(n, add);
    }
    if (names.empty()) return;
    auto asked = ask_all(tasks_, [&](auto const& t) { return t->ask_values(names); });
    std::vector<std::size_t> left(names.size());
    std::iota(left.begin(), left.end(), std::size_t{0});
    std::vector<std::pair<std::uint32_t, error>> absent;
    for (std::uint32_t t = 0; t < tasks_.size() && !left.empty(); ++t) {
      std::vector<bool> have;
      try {
        have = asked[t].get();
      } catch (error const& e) {
        if (e.cause() != cause::lost) throw;
        absent.emplace_back(t, e);
        continue;
      }
      std::erase_if(left, [&](std::size_t i) { return have.at(i) && homes_.emplace(names[i], t).second; });
    }
    for (auto const& [t, why] : absent)
      for (auto i : left) {
        auto const& name = names[i];
        auto const* const recorded = how_.recorded.find_node ? how_.recorded.find_node(name) : nullptr;
        auto const wish = task_of(device_name::parse(wish_beside(how_.recorded.find_node, recorded)));
        if (matches(wish, targets_[t].name)) throw why;
      }
  }
  void place_bodies(subgraph const& around, node& n, std::vector<task_places>& to) {
    std::vector<type> inputs;
    for (auto e : n.inputs) inputs.push_back(around.type_of(e));
    prepare_bodies(n, inputs, state_);
    for (auto& [_, a] : n.attributes)
      if (auto* const body = std::get_if<std::shared_ptr<subgraph const>>(&a)) {
        auto copy = **body;
        to.push_back(place_nodes(copy));
        *body = std::make_shared<subgraph const>(std::move(copy));
      }
  }

  // Whether a branch or loop must run on several tasks, because no task has all that nodes in its bodies ask for.
  bool spans_tasks(subgraph const& around, node const& n) {
    if (!can_span_tasks(n) || is_counted_by_open_rows(around, n)) return false;
    auto const known = spans_.find(n.name);
    if (known != spans_.end()) return known->second;
    device_set common(targets_.size(), true);
    for_each_wish_in_bodies(n, [&](node const& inner, std::string const& wish) { narrow(inner, wish, common); });
    return spans_[n.name] = common.empty() || span_all_bodies;
  }
  // A loop without a count, of which not all tasks would know the number of rows: it runs on one task.
  static bool is_counted_by_open_rows(subgraph const& around, node const& n) {
    if (!ops::is_loop(n)) return false;
    auto const a = decode<ops::loop_rules::attributes>(n.attributes);
    if (!a.counted() || a.given_count || a.rows == 0) return false;
    auto const& rows = around.type_of(n.inputs[a.first_row()]);
    return !rows.has_rank() || !rows[0].known();
  }
  // Leaves the tasks on which a node of a body can run that asks for `wish`.
  void narrow(node const& inner, std::string const& wish, device_set& common) {
    if (is_variable(inner)) {
      if (!narrow_to_home(inner.name, common)) narrow(wish_of(inner), common);
      return;
    }
    if (auto const lies = touches_outside_state(inner) ? state_places_(inner) : std::nullopt)
      common &= one(*lies->home);
    narrow(wish, common);
    std::string_view beside = inner.colocated;
    for (int steps = 0; !beside.empty() && steps < 1000 && !narrow_to_home(beside, common); ++steps) {
      auto const* const n = how_.recorded.find_node ? how_.recorded.find_node(beside) : nullptr;
      if (n == nullptr) return;
      narrow(n->device, common);
      beside = n->colocated;
    }
  }
  bool narrow_to_home(std::string_view variable, device_set& common) const {
    auto const at = home(variable);
    if (at) common &= one(*at);
    return at.has_value();
  }
  void narrow(std::string const& wish, device_set& common) {
    auto const& able = wished_.called(wish);
    if (!able.empty()) common &= able;  // soft placement ignores a constraint that no task satisfies
  }
  std::string wish_of(node const& variable) const {
    auto const* const recorded = how_.recorded.find_node ? how_.recorded.find_node(variable.name) : nullptr;
    return wish_beside(how_.recorded.find_node, recorded ? recorded : &variable);
  }
  device_set one(std::uint32_t task) const {
    device_set made(targets_.size());
    made.insert(task);
    return made;
  }

  std::vector<std::shared_ptr<task>> const& tasks_;
  session_placement const& how_;
  container& state_;
  std::vector<place_target> targets_;
  wished_devices wished_;
  state_places state_places_;
  std::map<std::string, std::uint32_t, std::less<>> homes_;  // of variables that have a value, or that the step places
  std::set<std::string> asked_;                              // variables of which the tasks know
  std::map<std::string, bool> spans_;                        // by the name of the node
  text_table text_;
};

}  // namespace rill::detail
#endif
