// Chooses the task of each node of a step.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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
  for (auto const& t : tasks) {
    auto devices = t->devices();
    place_target one{.name = devices.front(), .is_host = true};
    one.others.assign(devices.begin() + 1, devices.end());
    all.push_back(std::move(one));
  }
  return all;
}

/// Where state by name lies, such as queues: where the first recorded node asks to be that touches it, in bodies too,
/// or on the first task.
class state_places {
 public:
  explicit state_places(graph const* recorded) : recorded_(recorded) {}

  std::optional<foreign_constraint> operator()(node const& n) {
    foreign_constraint lies{.by = n.name, .home = 0};
    if (n.op->rendezvous.empty()) return n.device.empty() ? std::optional(lies) : std::nullopt;
    if (auto const at = wishes().find(name_of(n)); at != wishes().end()) lies = at->second;
    else if (!n.device.empty()) return {};
    return lies;
  }

 private:
  using state_name = std::pair<std::string_view, std::string>;  // the kind of state, and its name

  static state_name name_of(node const& n) {
    return {n.op->rendezvous, attribute_as<std::string>(n.attributes, n.op->rendezvous)};
  }
  std::map<state_name, foreign_constraint> const& wishes() {
    for (auto const size = recorded_ ? static_cast<std::uint32_t>(recorded_->size()) : 0; seen_ < size; ++seen_) {
      auto const& n = (*recorded_)[seen_];
      add(n);
      for_each_node_in_bodies(n, [&](node const& inner) { add(inner); });
    }
    return wishes_;
  }
  void add(node const& n) {
    if (!n.op->rendezvous.empty() && !n.device.empty())
      wishes_.try_emplace(name_of(n), foreign_constraint{.by = n.name, .device = n.device});
  }

  graph const* recorded_;
  std::uint32_t seen_ = 0;
  std::map<state_name, foreign_constraint> wishes_;
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
  task_placer(std::vector<std::shared_ptr<task>> const& tasks, session_placement const& how, container& state)
      : tasks_(tasks), how_(how), state_(state), targets_(place_targets(tasks)), state_places_(how.graph) {}

  /// Places the nodes of a step or body. Prepares the bodies of branches and loops that run on several tasks.
  task_places place(subgraph& sub) {
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
        if (how_.soft) pass_over(n, made.of[i]);
        text_.add({n.name, tasks_[made.of[i]]->name().text(), placed.reason(sub, i)});
      }
    }
    return made;
  }

  /// Returns where each node runs, and why.
  std::string text() const { return text_.text(); }

 private:
  // With soft placement, a wish for a device that its task does not have is passed over there, too.
  void pass_over(node& n, std::uint32_t task) const {
    if (n.device.empty()) return;
    auto const& target = targets_[task];
    auto const wish = device_name::parse(n.device);
    auto const has = [&](device_name const& d) { return matches(wish, d); };
    if (!has(target.name) && std::none_of(target.others.begin(), target.others.end(), has)) n.device.clear();
  }
  // Of a variable that the step has placed, or that has a value.
  std::optional<std::uint32_t> home(std::string_view name) const {
    auto const at = homes_.find(name);
    return at != homes_.end() ? std::optional(at->second) : std::nullopt;
  }
  // Finds the variables of a step, or of a body, that have a value somewhere: asks each task once. A task that is not
  // there is missed only if a variable that is nowhere else may lie there: it must not get a second home.
  void find_homes(subgraph const& sub) {
    std::vector<std::string> names;
    auto const add = [&](node const& n) {
      if (is_variable(n) && asked_.insert(n.name).second) names.push_back(n.name);
    };
    for (auto const& n : sub.nodes) {
      add(n);
      for_each_node_in_bodies(n, add);
    }
    std::vector<std::pair<std::uint32_t, error>> absent;
    for (std::uint32_t t = 0; t < tasks_.size() && !names.empty(); ++t) {
      std::vector<bool> have;
      try {
        have = tasks_[t]->have_values(names);
      } catch (error const& e) {
        if (e.code() != code::unavailable) throw;
        absent.emplace_back(t, e);
        continue;
      }
      std::vector<std::string> left;
      for (std::size_t i = 0; i < names.size(); ++i)
        if (have.at(i)) homes_.emplace(names[i], t);
        else left.push_back(std::move(names[i]));
      names = std::move(left);
    }
    for (auto const& [t, why] : absent)
      for (auto const& name : names) {
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
        to.push_back(place(copy));
        *body = std::make_shared<subgraph const>(std::move(copy));
      }
  }

  // Whether a branch or loop must run on several tasks, because no task has all that nodes in its bodies ask for.
  bool spans_tasks(subgraph const& around, node const& n) {
    if (!can_span_tasks(n) || is_counted_by_open_rows(around, n)) return false;
    auto const known = spans_.find(n.name);
    if (known != spans_.end()) return known->second;
    device_set common(targets_.size(), true);
    for_each_node_in_bodies(n, [&](node const& inner) { narrow(inner, common); });
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
  // Leaves the tasks on which a node of a body can run.
  void narrow(node const& inner, device_set& common) {
    if (is_variable(inner)) {
      if (auto const at = home(inner.name)) common &= one(*at);
      else narrow(wish_of(inner), common);
    } else if (auto const lies = touches_outside_state(inner) ? state_places_(inner) : std::nullopt) {
      if (lies->home) common &= one(*lies->home);
      else narrow(lies->device, common);
    }
    narrow(inner.device, common);
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
  void narrow(std::string const& wish, device_set& common) const {
    auto const name = task_of(device_name::parse(wish));
    device_set able(targets_.size());
    for (std::uint32_t t = 0; t < targets_.size(); ++t)
      if (matches(name, targets_[t].name)) able.insert(t);
    if (!able.empty()) common &= able;  // a job that is not there is refused when the node is placed
  }

  std::vector<std::shared_ptr<task>> const& tasks_;
  session_placement const& how_;
  container& state_;
  std::vector<place_target> targets_;
  state_places state_places_;
  std::map<std::string, std::uint32_t, std::less<>> homes_;  // of variables that have a value, or that the step places
  std::set<std::string> asked_;                              // variables of which the tasks know
  std::map<std::string, bool> spans_;                        // by the name of the node
  text_table text_;
};

}  // namespace rill::detail
#endif
