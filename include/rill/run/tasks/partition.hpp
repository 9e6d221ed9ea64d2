// Partitions a step over tasks: the nodes of each as a subgraph of its own, and for each value that another task reads
// a Send and a Receive (white paper §3.2.2; docs/architecture/tasks.md).
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rill/graph/order.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/truncated.hpp"
#include "rill/run/plan/primitive_region.hpp"
#include "rill/run/tasks/send_receive.hpp"
#include "rill/run/tasks/share_stages.hpp"
#include "rill/run/tasks/spanning_nodes.hpp"
#include "rill/run/tasks/task_edges.hpp"
#include "rill/run/tasks/task_share.hpp"

namespace rill {

/// Partitions a bound subgraph, unless it has primitives: those run on one task. Returns the share of each task that
/// has something to run. Outputs of the step that are inputs are in no share.
std::vector<task_share> partition(subgraph const& whole, task_places const& places);

#if RILL_RUNTIME
namespace detail {

class partitioner {
 public:
  /// `edges`: the number of the step's edges so far. `lead`: the task of what can be on any.
  partitioner(subgraph const& whole, task_places places, std::uint32_t& edges, bool is_body, std::uint32_t lead)
      : whole_(whole),
        places_(std::move(places)),
        edge_count_(edges),
        edges_(edges),
        is_body_(is_body),
        lead_(lead),
        order_(order(whole)),
        read_by_(edges_of(whole)) {
    for (std::uint32_t k = 0; k < whole_.inputs.size(); ++k) feed_of_[whole_.inputs[k]] = k;
  }

  /// Makes the parts of the nodes that run on several tasks, so that `location` is known.
  void find_spanning() {
    for (auto i : order_.nodes)
      if (places_.of[i] == task_places::several) spanning_.emplace(i, make_spanning(i));
  }
  /// The task that has a value, or `everywhere`.
  std::uint32_t location(endpoint e) const {
    auto const at = places_.of[e.node];
    return at == task_places::several ? spanning_.at(e.node).home[e.port] : at;
  }
  /// All tasks that some node runs on, in bodies too.
  static void add_tasks(task_places const& of, std::set<std::uint32_t>& to) {
    for (auto t : of.of)
      if (task_places::is_task(t)) to.insert(t);
    for (auto const& [_, bodies] : of.bodies)
      for (auto const& each : bodies) add_tasks(each, to);
  }

  /// Returns the shares, of which those on the tasks in `wanted[o]` return output `o`.
  task_shares run(std::vector<std::vector<std::uint32_t>> wanted) {
    wanted_ = std::move(wanted);
    find_hops();
    find_edges();
    find_stages();
    for (auto i : sequence_)
      if (places_.of[i] != task_places::everywhere && !only_groups(i)) copy(i);
    add_targets();
    for (std::uint32_t o = 0; o < whole_.outputs.size(); ++o)
      for (auto t : wanted_[o]) {
        auto& mine = share(t);
        mine.nodes.outputs.push_back(here(mine, whole_.outputs[o]));
        mine.results.push_back(o);
      }
    return std::move(shares_);
  }

 private:
  using edge = task_edges::edge;

  bool is_everywhere(std::uint32_t i) const { return places_.of[i] == task_places::everywhere; }
  bool spans_tasks(std::uint32_t i) const { return places_.of[i] == task_places::several; }
  // Whether a node only orders others before itself, and nothing waits for it: as a target it stands for them.
  bool only_groups(std::uint32_t i) const {
    auto const& n = whole_[i];
    return n.outputs.empty() && n.inputs.empty() && n.op->effect == effect::none && read_by_[i].empty();
  }
  std::vector<std::uint32_t> tasks_of(std::uint32_t i) const {
    if (!spans_tasks(i)) return {places_.of[i]};
    std::vector<std::uint32_t> all;
    for (auto const& [t, _] : spanning_.at(i).parts) all.push_back(t);
    return all;
  }

  // ------------------------------------------------------------------------------------------------------------------
  // Branches and loops on several tasks

  spanning_node make_spanning(std::uint32_t i) {
    auto const& n = whole_[i];
    std::vector<std::uint32_t> at;
    for (auto e : n.inputs) at.push_back(location(e));
    bool const loop = ops::is_loop(n);
    auto const window = loop          ? window_of(decode<ops::loop_rules::attributes>(n.attributes))
                        : window_ > 0 ? window_
                                      : cut_edge::any_number;
    auto const first = loop ? decode<ops::loop_rules::attributes>(n.attributes).first_variable()
                            : static_cast<std::size_t>(decode<ops::branch::attributes>(n.attributes).references) + 1;
    auto const tasks = tasks_spanned(i, at, first);
    auto const& bodies = places_.bodies.at(i);
    node_spanner parts(n, std::move(at), tasks, bodies,
                       [&, lead = *tasks.begin()](std::size_t which, auto const& body, auto const& on) {
                         return of_body(bodies[which], body, on, lead, window);
                       });
    return loop ? parts.loop(rows_read(n)) : parts.branch();
  }
  // How many values of an edge may wait for their receiver: twice those of the iterations that may run at once.
  static std::uint32_t window_of(ops::loop_rules::attributes const& loop) {
    return static_cast<std::uint32_t>(2 * std::max<std::int64_t>(loop.parallel, 1));
  }
  // The tasks of the nodes in the bodies of a node, and of the values that the bodies take: its inputs from `first` on.
  std::set<std::uint32_t> tasks_spanned(std::uint32_t i, std::vector<std::uint32_t> const& at,
                                        std::size_t first) const {
    std::set<std::uint32_t> all;
    for (auto const& body : places_.bodies.at(i)) add_tasks(body, all);
    for (auto k = first; k < at.size(); ++k)
      if (task_places::is_task(at[k])) all.insert(at[k]);
    if (all.empty()) all.insert(lead_);
    return all;
  }
  partitioner of_body(task_places places, subgraph const& body, std::vector<std::uint32_t> const& arguments,
                      std::uint32_t lead, std::uint32_t window) {
    for (std::size_t k = 0; k < arguments.size(); ++k) places.of[body.inputs[k]] = arguments[k];
    partitioner made(body, std::move(places), edge_count_, true, lead);
    made.window_ = window;
    made.find_spanning();
    return made;
  }
  // The number of rows that a loop reads; unknown: it reads none.
  dim rows_read(node const& loop) const {
    auto const a = decode<ops::loop_rules::attributes>(loop.attributes);
    return a.rows > 0 ? whole_.type_of(loop.inputs[a.first_row()])[0] : unknown;
  }

  // ------------------------------------------------------------------------------------------------------------------
  // Edges

  void find_edges() {
    for (auto i : sequence_)
      for (std::size_t k = 0; k < whole_[i].inputs.size() && !is_everywhere(i); ++k)
        for (auto t : takers_of(i, k)) add_value(whole_[i].inputs[k], t);
    for (std::uint32_t o = 0; o < whole_.outputs.size(); ++o)
      for (auto t : wanted_[o]) add_value(whole_.outputs[o], t);
    for (auto i : sequence_) {
      if (is_everywhere(i) || only_groups(i)) continue;
      for (auto c : whole_[i].controls)
        for (auto t : tasks_of(i)) add_control(c, t);
    }
  }
  // The tasks on which a node takes its input k.
  std::vector<std::uint32_t> takers_of(std::uint32_t i, std::size_t k) const {
    if (!spans_tasks(i)) return {places_.of[i]};
    std::vector<std::uint32_t> all;
    for (auto const& [t, p] : spanning_.at(i).parts)
      if (std::find(p.inputs.begin(), p.inputs.end(), k) != p.inputs.end()) all.push_back(t);
    return all;
  }
  void add_value(endpoint e, std::uint32_t to) {
    auto const from = location(e);
    if (from != task_places::everywhere && from != to) edges_.add(e, from, to);
  }
  void add_control(std::uint32_t before, std::uint32_t to) {
    if (is_everywhere(before)) return;
    for (auto from : tasks_of(before))
      if (from != to) edges_.add_control(before, from, to);
  }
  void find_hops() {
    hops_ = count_hops(
        whole_, order_, [&](auto i) { return spans_tasks(i); }, [&](auto from, auto to) { return crosses(from, to); });
    std::vector<std::pair<std::uint32_t, std::size_t>> ranked;
    for (std::size_t k = 0; k < order_.nodes.size(); ++k) ranked.emplace_back(hops_[order_.nodes[k]], k);
    std::sort(ranked.begin(), ranked.end());
    for (auto const& [_, k] : ranked) sequence_.push_back(order_.nodes[k]);
  }
  bool crosses(std::uint32_t from, std::uint32_t to) const {
    return !is_everywhere(from) && (spans_tasks(from) || spans_tasks(to) || places_.of[from] != places_.of[to]);
  }

  void find_stages() {
    stages_ = stage_counter(whole_, order_, [&](auto from, auto to) { return crosses(from, to); }).run();
    for (auto& e : edges_)
      e.stage = e.of.port == task_edges::control ? stages_[e.of.node] : stage_of_send(whole_, stages_, e.of);
    bool const only_one = std::all_of(stages_.begin(), stages_.end(), [](auto s) { return s == 0; }) &&
                          std::all_of(edges_.begin(), edges_.end(), [](edge const& e) { return e.stage == 0; });
    if (only_one) stages_.clear();
  }

  // ------------------------------------------------------------------------------------------------------------------
  // Shares

  task_share& share(std::uint32_t task) {
    auto const [at, fresh] = shares_.try_emplace(task);
    if (fresh) at->second.task = task, at->second.nodes.axes = whole_.axes;
    return at->second;
  }
  std::uint32_t append(task_share& to, node n, std::uint32_t origin) {
    to.nodes.nodes.push_back(std::move(n));
    to.nodes.origin.push_back(whole_.origin[origin]);
    return static_cast<std::uint32_t>(to.nodes.size() - 1);
  }

  void copy(std::uint32_t i) {
    if (spans_tasks(i))
      for (auto const& [t, p] : spanning_.at(i).parts) copy_part(i, share(t), p);
    else copy_node(i, share(places_.of[i]));
  }
  void copy_node(std::uint32_t i, task_share& mine) {
    auto n = whole_[i];
    for (auto& e : n.inputs) e = here(mine, e);
    set(n, mine, i);
    auto const at = place_[{i, mine.task}] = append(mine, std::move(n), i);
    if (auto const feed = feed_of_.find(i); feed != feed_of_.end()) take_feed(mine, at, feed->second);
    send_all(mine, i);
  }
  void copy_part(std::uint32_t i, task_share& mine, spanning_node::part const& p) {
    auto n = p.copy;
    for (auto k : p.inputs)
      n.inputs.push_back(k == spanning_node::empty_rows ? empty_rows(mine, i, p.rows)
                                                        : here(mine, whole_[i].inputs[k]));
    set(n, mine, i);
    put_in_row(n, mine, stages_.empty() ? 0 : stages_[i]);
    place_[{i, mine.task}] = append(mine, std::move(n), i);
    send_all(mine, i);
  }
  endpoint empty_rows(task_share& mine, std::uint32_t i, std::int64_t rows) {
    auto const of = type_of_empty_rows(rows);
    node n;
    n.op = &definition<ops::constant_op>();
    n.name = whole_[i].name + "/rows";
    n.outputs = {of};
    n.attributes.emplace_back(n.op->constant_value, tensor(of.element, of.shape()));
    return {append(mine, std::move(n), i), 0};
  }
  // Sets the controls of the copy of a node, and its place among the nodes of all tasks.
  void set(node& n, task_share& mine, std::uint32_t i) {
    std::vector<std::uint32_t> controls;
    for (auto c : whole_[i].controls)
      if (!is_everywhere(c)) add_places_after(mine, c, controls);
    n.controls = std::move(controls);
    n.hops = hops_[i];
    if (!stages_.empty()) n.stage = stages_[i];
  }
  // One thread runs a body, so the nodes there that wait for other tasks, and that these wait for, stand in a row, in
  // the same order on all tasks: puts one behind the last of them.
  void put_in_row(node& n, task_share& mine, std::int32_t stage) {
    if (!is_body_) return;
    auto const [last, first] = last_in_row_.try_emplace({mine.task, stage}, 0u);
    if (!first) n.controls.push_back(last->second);
    last->second = static_cast<std::uint32_t>(mine.nodes.size());
  }
  // Returns what a share has in the place of a value: its node, a copy, or what it receives.
  endpoint here(task_share& mine, endpoint e) {
    if (is_everywhere(e.node)) return {copied(mine, e.node), e.port};
    auto const from = location(e);
    if (from == mine.task) return local(e, from);
    return {receive(mine, edges_.find(e, from, mine.task)), 0};
  }
  endpoint local(endpoint e, std::uint32_t task) const {
    auto const port = spans_tasks(e.node) ? spanning_.at(e.node).parts.at(task).ports.at(e.port) : e.port;
    return {place_.at({e.node, task}), port};
  }
  // Adds the nodes of a share that run after a node.
  void add_places_after(task_share& mine, std::uint32_t i, std::vector<std::uint32_t>& to) {
    for (auto from : tasks_of(i))
      if (from == mine.task) to.push_back(place_.at({i, from}));
      else to.push_back(receive(mine, edges_.find_control(i, from, mine.task)));
  }
  std::uint32_t copied(task_share& mine, std::uint32_t i) {
    auto const [at, fresh] = place_.try_emplace({i, mine.task}, 0u);
    if (!fresh) return at->second;
    auto n = whole_[i];
    n.controls.clear();
    at->second = append(mine, std::move(n), i);
    if (auto const feed = feed_of_.find(i); feed != feed_of_.end()) take_feed(mine, at->second, feed->second);
    return at->second;
  }
  static void take_feed(task_share& mine, std::uint32_t at, std::uint32_t feed) {
    mine.nodes.inputs.push_back(at);
    mine.feeds.push_back(feed);
  }

  void send_all(task_share& mine, std::uint32_t i) {
    edges_.for_each_sent(i, mine.task, [&](edge const& e) { send(mine, e); });
  }
  void send(task_share& mine, edge const& e) {
    node n;
    n.op = &send_op;
    n.name = "send " + whole_[e.of.node].name;
    if (e.of.port != task_edges::control) n.inputs = {local(e.of, mine.task)};
    else n.controls = {place_.at({e.of.node, mine.task})};
    set_edge(n.attributes, {e.number, e.to, is_pushed(e), window_}, is_short(e));
    n.hops = hops_[e.of.node];
    if (!stages_.empty()) n.stage = e.stage;
    put_in_row(n, mine, e.stage);
    append(mine, std::move(n), e.of.node);
  }
  // Whether a value is so small that its receiver need not ask for it. The sender does not hold it back until then.
  bool is_pushed(edge const& e) const {
    static constexpr std::size_t most_bytes = 64 << 10;
    if (e.of.port == task_edges::control) return true;
    auto const& of = whole_.type_of(e.of);
    return of.is_known() && of.element != dtype::string && static_cast<std::size_t>(of.bytes()) <= most_bytes;
  }
  // Whether float32 goes along the edge as its upper 16 bits.
  bool is_short(edge const& e) const {
    return e.of.port != task_edges::control && whole_[e.of.node].op == &definition<ops::truncated_op>();
  }
  std::uint32_t receive(task_share& mine, edge& e) {
    if (e.received != task_edges::none) return e.received;
    node n;
    n.op = &receive_op;
    n.name = "receive " + whole_[e.of.node].name;
    n.outputs = {e.of.port == task_edges::control ? control_type() : whole_.type_of(e.of)};
    set_edge(n.attributes, {e.number, e.from, is_pushed(e), window_}, is_short(e));
    n.attributes.emplace_back("type", n.outputs[0]);
    n.hops = hops_[e.of.node] + 1;
    if (!stages_.empty()) n.stage = e.stage;
    put_in_row(n, mine, e.stage);
    return e.received = append(mine, std::move(n), e.of.node);
  }

  void add_targets() {
    for (auto t : whole_.targets) add_target(t);
  }
  void add_target(std::uint32_t i) {
    if (only_groups(i)) {
      for (auto c : whole_[i].controls) add_target(c);
    } else if (!is_everywhere(i)) {
      for (auto t : tasks_of(i)) share(t).nodes.targets.push_back(place_.at({i, t}));
    }
  }

  subgraph const& whole_;
  task_places places_;
  std::uint32_t& edge_count_;
  task_edges edges_;
  bool is_body_;
  std::uint32_t window_ = 0;  // of the edges of a body
  std::uint32_t lead_;
  step_order order_;
  node_edges read_by_;
  std::vector<std::vector<std::uint32_t>> wanted_;
  std::map<std::uint32_t, spanning_node> spanning_;
  std::vector<std::uint32_t> sequence_;  // the nodes in an order that suits the order of the step and `hops_`
  std::vector<std::uint32_t> hops_;      // of each node
  std::vector<std::int32_t> stages_;     // of each node; empty: there is only one
  std::map<std::pair<std::uint32_t, std::int32_t>, std::uint32_t> last_in_row_;  // by task and stage, its place
  task_shares shares_;                                                           // by task
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> place_;       // by node and task, in its share
  std::map<std::uint32_t, std::uint32_t> feed_of_;                               // of each input its number
};

/// The whole step as the share of one task.
inline task_share undivided(subgraph const& whole, std::uint32_t task) {
  task_share all{.task = task, .nodes = whole};
  for (std::uint32_t k = 0; k < whole.inputs.size(); ++k) all.feeds.push_back(k);
  for (std::uint32_t o = 0; o < whole.outputs.size(); ++o) all.results.push_back(o);
  return all;
}

}  // namespace detail

RILL_INLINE std::vector<task_share> partition(subgraph const& whole, task_places const& places) {
  if (whole.nodes.empty()) return {};
  std::uint32_t edges = 0;
  std::set<std::uint32_t> tasks;
  detail::partitioner::add_tasks(places, tasks);
  auto const lead = tasks.empty() ? 0 : *tasks.begin();
  if (has_primitives(whole)) return {detail::undivided(whole, lead)};
  detail::partitioner all(whole, places, edges, false, lead);
  all.find_spanning();
  std::vector<std::vector<std::uint32_t>> wanted;
  for (auto e : whole.outputs) {
    wanted.emplace_back();
    if (whole[e.node].op == &fed_op) continue;
    auto const at = all.location(e);
    wanted.back().push_back(at != task_places::everywhere ? at : lead);
  }
  std::vector<task_share> made;
  for (auto& [_, share] : all.run(std::move(wanted))) made.push_back(std::move(share));
  return made;
}

#endif

}  // namespace rill
