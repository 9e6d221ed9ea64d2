// Branches and loops whose bodies run on several tasks: each of these tasks has such a node, with its part of the
// bodies.
#pragma once
#include "rill/run/tasks/task_share.hpp"

#if RILL_RUNTIME
#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <utility>

#include "rill/ops/control/cond.hpp"
#include "rill/ops/control/loop.hpp"

namespace rill::detail {

/// Whether the bodies of a node can run on several tasks: of a branch, or of a loop. Primitives in bodies are refused
/// when the bodies are compiled.
inline bool can_span_tasks(node const& n) {
  if (n.op->kind != op_kind::cond && !ops::is_loop(n)) return false;
  if (ops::is_loop(n) && decode<ops::loop_rules::attributes>(n.attributes).uneven != 0) return false;
  bool can = true;
  for_each_body(n, [&](subgraph const& body) {
    for (auto const& inner : body.nodes)
      can = can && !is_primitive(inner) && (!has_bodies(inner) || called_by(inner) || can_span_tasks(inner));
  });
  return can;
}

/// Whether there is a loop on several tasks in a body.
inline bool has_spanning_loop(subgraph const& body, task_places const& places) {
  return std::any_of(places.bodies.begin(), places.bodies.end(), [&](auto const& each) {
    auto const& [i, inner] = each;
    if (places.of[i] != task_places::several) return false;
    if (ops::is_loop(body[i])) return true;
    auto const a = decode<ops::branch::attributes>(body[i].attributes);
    return has_spanning_loop(*a.then, inner[0]) || has_spanning_loop(*a.otherwise, inner[1]);
  });
}

/// A branch or loop on several tasks.
struct spanning_node {
  /// Stands for an input that the whole node does not have: as many rows as it reads, without elements. A loop takes it
  /// on a task that has no other rows, to know how often it runs.
  static constexpr std::uint32_t empty_rows = UINT32_MAX;

  /// The node on one task.
  struct part {
    node copy;                                     ///< without inputs and control edges
    std::vector<std::uint32_t> inputs;             ///< the inputs of the whole node that it takes
    std::int64_t rows = 0;                         ///< the number of the empty rows
    std::map<std::uint32_t, std::uint32_t> ports;  ///< its port for each output of the whole node that it has
  };
  std::map<std::uint32_t, part> parts;  ///< by task
  std::vector<std::uint32_t> home;      ///< of each output, the task that has it
};

/// The type of `rows` rows without elements.
inline type type_of_empty_rows(std::int64_t rows) { return type(dtype::float32, shape{rows, 0}); }
/// Returns `at`, or `other` if `at` is not one task.
inline std::uint32_t task_or(std::uint32_t at, std::uint32_t other) { return task_places::is_task(at) ? at : other; }

/// Makes the parts of a node. `Partition` partitions a body: `partition(number, body, arguments)` returns, for the
/// tasks that the arguments lie on, an object with the members of `partitioner`: `location(endpoint)` and
/// `run(wanted)`.
template <class Partition> class node_spanner {
 public:
  /// `at`: the tasks of the node's inputs. `tasks`: those that it spans. `bodies`: the tasks of the nodes in its
  /// bodies.
  node_spanner(node const& whole, std::vector<std::uint32_t> at, std::set<std::uint32_t> tasks,
               std::vector<task_places> const& bodies, Partition partition)
      : whole_(whole),
        at_(std::move(at)),
        tasks_(std::move(tasks)),
        lead_(*tasks_.begin()),
        bodies_(bodies),
        partition_(std::move(partition)) {}

  /// Each task has both branches with its nodes in them, and the predicate. What only a branch reads is sent in the
  /// branch.
  spanning_node branch() {
    auto const a = decode<ops::branch::attributes>(whole_.attributes);
    auto const predicate = static_cast<std::uint32_t>(a.references), first = predicate + 1;
    std::vector<std::uint32_t> const arguments(at_.begin() + first, at_.end());
    auto then = partition_(0, *a.then, arguments), otherwise = partition_(1, *a.otherwise, arguments);
    wanted_tasks wanted;
    for (std::size_t o = 0; o < whole_.outputs.size(); ++o) {
      auto const there = task_or(otherwise.location(a.otherwise->outputs[o]), lead_);
      made_.home.push_back(task_or(then.location(a.then->outputs[o]), there));
      wanted.push_back({made_.home.back()});
    }
    auto thens = then.run(wanted), otherwises = otherwise.run(wanted);
    for (auto t : tasks_) {
      auto p = part_of(definition<ops::updating_cond_op>());
      auto mine = a;
      add_references(p, t, mine);
      p.inputs.push_back(predicate);
      std::set<std::uint32_t> used;
      add_used(thens, t, 0, 0, used), add_used(otherwises, t, 0, 0, used);
      std::vector<std::uint32_t> const captures(used.begin(), used.end());
      mine.then = aligned(thens, t, captures, *a.then);
      mine.otherwise = aligned(otherwises, t, captures, *a.otherwise);
      for (auto c : captures) p.inputs.push_back(first + c);
      for (std::uint32_t o = 0; o < whole_.outputs.size(); ++o)
        if (made_.home[o] == t) add_output(p, o);
      encode(mine, p.copy.attributes);
      made_.parts.emplace(t, std::move(p));
    }
    return std::move(made_);
  }

  /// A loop variable lives where the body computes it, and rows live where they come from. The result of the condition
  /// is sent to all tasks in each iteration, and a count once. `rows_read`: the number of rows that the loop reads.
  spanning_node loop(dim rows_read) {
    auto const a = decode<ops::loop_rules::attributes>(whole_.attributes);
    auto const variables = static_cast<std::uint32_t>(a.variables), rows = static_cast<std::uint32_t>(a.rows);
    auto const first = static_cast<std::uint32_t>(a.first_variable());
    for (std::uint32_t v = 0; v < variables; ++v) at_[first + v] = home_of_variable(a, v, at_[first + v]);
    std::vector<std::uint32_t> const arguments(at_.begin() + first, at_.end());
    auto of_condition = arguments;
    of_condition.erase(of_condition.begin() + variables, of_condition.begin() + variables + rows);
    auto body = partition_(0, *a.body, arguments);
    wanted_tasks wanted;
    for (std::uint32_t o = 0; o < a.body->outputs.size(); ++o)
      wanted.push_back({o < variables ? arguments[o] : task_or(body.location(a.body->outputs[o]), lead_)});
    auto bodies = body.run(wanted);
    task_shares conditions;
    if (!a.counted()) conditions = partition_(1, *a.condition, of_condition).run({{tasks_.begin(), tasks_.end()}});
    auto const count = a.count_port();
    for (std::uint32_t o = 0; o < whole_.outputs.size(); ++o)
      made_.home.push_back(o == count ? lead_ : wanted[o < count ? o : o - 1][0]);
    for (auto t : tasks_) made_.parts.emplace(t, loop_part(a, t, rows_read, bodies, conditions));
    return std::move(made_);
  }

 private:
  using wanted_tasks = std::vector<std::vector<std::uint32_t>>;

  spanning_node::part part_of(op_def const& op) const {
    spanning_node::part p;
    p.copy.op = &op;
    p.copy.name = whole_.name;
    return p;
  }
  void add_output(spanning_node::part& p, std::uint32_t o) const {
    p.ports.emplace(o, static_cast<std::uint32_t>(p.copy.outputs.size()));
    p.copy.outputs.push_back(whole_.outputs[o]);
  }
  spanning_node::part loop_part(ops::loop_rules::attributes const& a, std::uint32_t task, dim rows_read,
                                task_shares& bodies, task_shares& conditions) const {
    auto const variables = static_cast<std::uint32_t>(a.variables), rows = static_cast<std::uint32_t>(a.rows);
    auto const first = static_cast<std::uint32_t>(a.first_variable()), count = a.count_port();
    auto p = part_of(definition<ops::updating_loop_op>());
    auto mine = a;
    // The Sends of an inner loop wait in the order of the iterations here (send_windows.hpp).
    if (has_spanning_loop(*a.body, bodies_[0]) || (!a.counted() && has_spanning_loop(*a.condition, bodies_[1])))
      mine.parallel = 1;
    add_references(p, task, mine);
    if (a.given_count) p.inputs.push_back(static_cast<std::uint32_t>(a.references));
    std::vector<std::uint32_t> of_body, of_condition;
    for (std::uint32_t v = 0; v < variables; ++v)
      if (at_[first + v] == task) of_body.push_back(v), of_condition.push_back(v);
    mine.variables = static_cast<std::int64_t>(of_body.size());
    std::set<std::uint32_t> used;
    add_used(bodies, task, variables, 0, used), add_used(conditions, task, variables, rows, used);
    mine.rows = std::count_if(used.begin(), used.end(), [&](auto k) { return k < variables + rows; });
    if (rows > 0 && mine.rows == 0 && rows_read.known()) {
      of_body.push_back(spanning_node::empty_rows);
      mine.rows = 1, p.rows = rows_read.extent;
    }
    for (auto k : used) {
      of_body.push_back(k);
      if (k >= variables + rows) of_condition.push_back(k - rows);
    }
    mine.body = aligned(bodies, task, of_body, *a.body);
    if (!a.counted()) mine.condition = aligned(conditions, task, of_condition, *a.condition);
    for (auto k : of_body) p.inputs.push_back(k == spanning_node::empty_rows ? k : first + k);
    mine.saved = 0;
    for (std::uint32_t o = 0; o < whole_.outputs.size(); ++o) {
      if (made_.home[o] == task) add_output(p, o);
      else if (o == count) p.copy.outputs.push_back(whole_.outputs[o]);
      mine.saved += o > count && made_.home[o] == task && a.is_saved(o - count - 1);
    }
    encode(mine, p.copy.attributes);
    return p;
  }
  // Adds the variables that lie on a task; those that the node updates come first.
  template <class Attributes> void add_references(spanning_node::part& p, std::uint32_t task, Attributes& a) const {
    std::int64_t updates = 0;
    for (std::uint32_t k = 0; k < a.references; ++k) {
      if (at_[k] != task) continue;
      p.inputs.push_back(k);
      updates += k < a.updates;
    }
    a.updates = updates;
    a.references = static_cast<std::int64_t>(p.inputs.size());
  }
  // A variable that the body returns as it came stays where its first value is.
  std::uint32_t home_of_variable(ops::loop_rules::attributes const& a, std::uint32_t v,
                                 std::uint32_t first_value) const {
    auto const e = a.body->outputs[v];
    return task_or((*a.body)[e.node].op == &fed_op ? first_value : bodies_[0].of[e.node], lead_);
  }
  // Adds the inputs from `first` on that a task takes of a body, `shift` added.
  static void add_used(task_shares const& shares, std::uint32_t task, std::uint32_t first, std::uint32_t shift,
                       std::set<std::uint32_t>& to) {
    if (auto const at = shares.find(task); at != shares.end())
      for (auto k : at->second.feeds)
        if (k >= first) to.insert(k + shift);
  }
  // Returns a task's share of a body, with `arguments`, numbers of inputs of the body, as its inputs.
  static std::shared_ptr<subgraph const> aligned(task_shares& shares, std::uint32_t task,
                                                 std::vector<std::uint32_t> const& arguments, subgraph const& body) {
    auto const [at, none] = shares.try_emplace(task);
    auto& mine = at->second.nodes;
    auto const& feeds = at->second.feeds;
    if (none) mine.axes = body.axes;
    std::vector<std::uint32_t> inputs;
    auto const add = [&](node n, std::uint32_t origin) {
      inputs.push_back(static_cast<std::uint32_t>(mine.size()));
      mine.nodes.push_back(std::move(n));
      mine.origin.push_back(origin);
    };
    for (auto k : arguments) {
      if (k == spanning_node::empty_rows) add(row_without_elements(), 0);
      else if (auto const known = std::find(feeds.begin(), feeds.end(), k); known != feeds.end())
        inputs.push_back(mine.inputs[static_cast<std::size_t>(known - feeds.begin())]);
      else add(body[body.inputs[k]], body.origin[body.inputs[k]]);
    }
    mine.inputs = std::move(inputs);
    return std::make_shared<subgraph const>(std::move(mine));
  }
  static node row_without_elements() {
    node n;
    n.op = &fed_op;
    n.name = "row";
    n.outputs = {row_of(type_of_empty_rows(0))};
    return n;
  }

  node const& whole_;
  std::vector<std::uint32_t> at_;
  std::set<std::uint32_t> tasks_;
  std::uint32_t lead_;  // the task of what could be on any
  std::vector<task_places> const& bodies_;
  Partition partition_;
  spanning_node made_;
};

}  // namespace rill::detail
#endif
