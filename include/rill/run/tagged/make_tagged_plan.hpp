// Makes the plan of tagged execution from a subgraph of primitives (EuroSys'18 §4.3).
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rill/run/plan/costs.hpp"
#include "rill/run/plan/make_plan.hpp"
#include "rill/run/tagged/basic_blocks.hpp"
#include "rill/run/tagged/lowered.hpp"
#include "rill/run/tagged/node_frames.hpp"
#include "rill/run/tagged/plan.hpp"
#include "rill/run/tagged/room.hpp"

namespace rill {

/// Plans a lowered subgraph. Throws error(invalid_argument) if edges cross frames, and error(unimplemented) for open
/// extents in a subgraph whose primitives a user wrote.
tagged_plan make_tagged_plan(lowered from, plan_request const& with);

#if RILL_RUNTIME
namespace detail {

/// Divides a subgraph of primitives into frames. Each node becomes a station of its frame; a node that leads from one
/// frame to another has a station in each, at which tokens arrive and from which they leave.
class frame_builder {
 public:
  frame_builder(tagged_plan& made, subgraph const& sub)
      : made_(made), subgraph_(sub), frames_(made, sub), demanded_(sub.size()) {}

  void run(plan_request const& with) {
    arrive_.resize(subgraph_.size()), leave_.resize(subgraph_.size());
    drafts_.resize(made_.frames.size());
    for (auto f : made_.frames.indices()) made_.frames[f].gated = f != outermost && !by_hand();
    for (std::uint32_t i = 0; i < subgraph_.size(); ++i) add(i);
    for (std::uint32_t i = 0; i < subgraph_.size(); ++i) connect(i);
    for (auto& d : drafts_) d.blocks.place(d.stations, d.edges);
    for (auto e : subgraph_.outputs) add_output(e);
    for (auto f : drafts_.indices()) {
      auto& d = drafts_[f];
      made_.frames[f].plan = std::make_unique<plan>(make_frame_plan(d.subgraph, d.kept.all(), with));
      d.instructions.assign(d.subgraph.size(), no_index<plan::instruction_id>);
      auto const& instructions = made_.frames[f].plan->instructions;
      for (auto at : instructions.indices()) d.instructions[instructions[at].node] = at;
    }
    for (auto f : drafts_.indices()) resolve_targets(f);
    for (auto f : drafts_.indices()) lay_out_blocks(f);
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr auto outermost = tagged_plan::outermost;
  using act = tagged_plan::act;
  using frame_id = tagged_plan::frame_id;
  using kept_id = tagged_plan::kept_id;
  struct where {
    frame_id frame = no_index<frame_id>;
    station_id station = no_index<station_id>;
  };
  // A frame, while it is made.
  struct draft {
    rill::subgraph subgraph;                                 // of one iteration
    std::unordered_map<std::uint32_t, std::uint32_t> local;  // its nodes, by the whole subgraph's
    indexed<kept_id, endpoint> kept;
    std::map<endpoint, kept_id> kept_at;
    indexed<station_id, station> stations;
    std::vector<station_edge> edges;
    std::vector<std::pair<station_id, tagged_plan::merge>> merges;  // and their stations
    block_builder blocks;
    std::vector<std::uint32_t> constants;            // of the whole subgraph's nodes, those that bring them
    std::vector<plan::instruction_id> instructions;  // of its nodes
  };

  bool is(std::uint32_t i, op_kind kind) const { return subgraph_[i].op->kind == kind; }
  bool is_free(std::uint32_t i) const { return frames_.is_free(i); }
  bool leaves(std::uint32_t i) const { return frames_.leaves(i); }
  static bool is_back_edge(node const& n, std::size_t k) { return n.op->kind == op_kind::next_iteration && k == 1; }

  where station_at(frame_id f, std::uint32_t i, std::uint32_t local = none) {
    station made;
    made.does.node = i;
    made.local = local;
    return {f, drafts_[f].stations.push_back(std::move(made))};
  }
  station& at(where w) { return drafts_[w.frame].stations[w.station]; }

  std::uint32_t append(frame_id f, node n) {
    auto& sub = drafts_[f].subgraph;
    n.controls.clear();
    sub.nodes.push_back(std::move(n));
    sub.origin.push_back(0);
    return static_cast<std::uint32_t>(sub.size() - 1);
  }
  std::uint32_t room(frame_id f, node const& like) {
    node n;
    bool const elsewhere = &made_.memory->saved() != made_.memory && like.op->kind == op_kind::collect &&
                           decode<ops::collect_op::attributes>(like.attributes).saved;
    bool const open = elsewhere || !like.outputs[0].is_known();
    n.op = open ? &open_room_op : &room_op;
    n.name = like.name;
    n.outputs = like.outputs;
    return append(f, std::move(n));
  }
  std::uint32_t fed(frame_id f, node const& like) {
    node n;
    n.op = &fed_op;
    n.name = like.name;
    n.outputs = {like.outputs[0]};
    auto const made = append(f, std::move(n));
    drafts_[f].subgraph.inputs.push_back(made);
    return made;
  }
  std::uint32_t& local_of(frame_id f, std::uint32_t i) { return drafts_[f].local.try_emplace(i, none).first->second; }
  // A value as a frame's own subgraph knows it; a switch hands on the value that it got.
  endpoint local(frame_id f, endpoint e) {
    while (is(e.node, op_kind::switch_) || is(e.node, op_kind::loop_cond)) e = subgraph_[e.node].inputs[0];
    auto& at = local_of(f, e.node);
    if (at == none && is_free(e.node)) at = append(f, subgraph_[e.node]);
    return {at, e.port};
  }
  kept_id keep(frame_id f, endpoint e) {
    auto& d = drafts_[f];
    auto const at = local(f, e);
    auto const [found, added] = d.kept_at.emplace(at, d.kept.end_index());
    if (added) d.kept.push_back(at);
    return found->second;
  }
  tagged_plan::move moved(frame_id f, endpoint e) { return tagged_plan::move::of(subgraph_.type_of(e), keep(f, e)); }

  void add(std::uint32_t i) {
    if (is_free(i)) return;
    if (is(i, op_kind::enter)) return add_enter(i);
    if (leaves(i)) return add_leaving(i);
    if (is(i, op_kind::merge)) return add_merge(i);
    if (is(i, op_kind::next_iteration)) return add_next(i);
    auto const& n = subgraph_[i];
    auto const f = frames_.of(i);
    arrive_[i] = leave_[i] = station_at(f, i);
    auto& s = at(arrive_[i]);
    if (n.op == &fed_op) local_of(outermost, i) = fed(outermost, n);
    else if (is(i, op_kind::switch_)) require_known_input(n, 1), s.asked = keep(f, n.inputs[1]);
    else if (!is(i, op_kind::loop_cond)) return add_kernel(i);
    s.nothing = true;
  }
  void add_kernel(std::uint32_t i) {
    auto const& n = subgraph_[i];
    if (by_hand())
      for (std::uint32_t k = 0; k < n.inputs.size(); ++k)
        if (!takes_reference(n, k)) require_known_input(n, k);
    node copy = n;
    for (auto& e : copy.inputs) e = local(frames_.of(i), e);
    auto& s = at(arrive_[i]);
    s.local = local_of(frames_.of(i), i) = append(frames_.of(i), std::move(copy));
    s.nothing = n.op->aliases_input;
    if (!s.nothing) estimate_length(s, n);
  }
  void add_enter(std::uint32_t i) {
    auto const& n = subgraph_[i];
    auto const inner = frames_.of(i), outer = made_.frames[inner].outer;
    auto const argument = as_index<plan::feed_id>(drafts_[inner].subgraph.inputs.size());
    arrive_[i] = station_at(outer, i);
    leave_[i] = station_at(inner, i, local_of(inner, i) = fed(inner, n));
    at(leave_[i]).nothing = at(leave_[i]).heads = at(leave_[i]).arrives = true;
    auto& enters = at(arrive_[i]).does;
    enters.what = act::enter;
    enters.constant = decode<ops::enter_op::attributes>(n.attributes).constant;
    enters.value.read = keep(outer, n.inputs[0]);
    enters.argument = argument;
    enters.frame = inner;
    auto& frame = made_.frames[inner];
    ++frame.enters;
    if (!enters.constant) return;
    enters.number = frame.constants.push_back({argument});
    drafts_[inner].constants.push_back(i);
  }
  void add_leaving(std::uint32_t i) {
    auto const& n = subgraph_[i];
    auto const outer = frames_.of(i), inner = frames_.left_by(i);
    arrive_[i] = station_at(inner, i);
    leave_[i] = station_at(outer, i, local_of(outer, i) = room(outer, n));
    at(leave_[i]).nothing = at(leave_[i]).heads = at(leave_[i]).arrives = true;
    auto& leaves = at(arrive_[i]).does;
    leaves.what = is(i, op_kind::exit) ? act::exit : is(i, op_kind::collect) ? act::collect : act::count;
    if (leaves.what == act::exit) require_known(n);
    leaves.value = moved(inner, n.inputs[0]);
    leaves.frame = outer;
    if (leaves.what != act::collect) return;
    if (by_hand()) require_known_input(n, 0);
    auto const a = decode<ops::collect_op::attributes>(n.attributes);
    leaves.backwards = a.backwards;
    leaves.saved = a.saved;
    if (leaves.backwards) require_known_input(n, 1), leaves.rows = keep(inner, n.inputs[1]);
  }
  // Whether a user wrote the primitives. Extents of such a subgraph can't be deferred.
  bool by_hand() const { return made_.source.within.empty(); }
  void require_known_input(node const& n, std::uint32_t k) const {
    auto const& t = subgraph_.type_of(n.inputs[k]);
    if (!t.is_known())
      throw error(code::unimplemented,
                  "the extents of input " + std::to_string(k) + ", " + t.text() +
                      ", are not known before the step runs, as they must be beside primitives of control flow",
                  n.name);
  }
  static void require_known(node const& n) {
    if (!n.outputs[0].is_known())
      throw error(code::unimplemented,
                  "the extents of its output, " + n.outputs[0].text() + ", are not known before the step runs", n.name);
  }
  void add_merge(std::uint32_t i) {
    auto const& n = subgraph_[i];
    auto const f = frames_.of(i);
    require_known(n);
    arrive_[i] = leave_[i] = station_at(f, i, local_of(f, i) = room(f, n));
    auto& s = at(arrive_[i]);
    s.nothing = s.heads = s.merges = true;
    tagged_plan::merge m;
    m.value = tagged_plan::move::of(n.outputs[0]);
    for (auto e : n.inputs) m.reads.push_back(keep(f, e));
    drafts_[f].merges.emplace_back(arrive_[i].station, std::move(m));
    if (n.controls.empty()) return;
    leave_[i] = station_at(f, i);
    at(leave_[i]).nothing = true;
  }
  void add_next(std::uint32_t i) {
    auto const& n = subgraph_[i];
    auto const f = frames_.of(i);
    auto const merge = n.inputs[1].node;
    if (!is(merge, op_kind::merge) || n.inputs[1].port != 0)
      throw error(code::invalid_argument, "next_iteration: the second value must be that of a merge", n.name);
    require_known_input(n, 0);
    require_known(subgraph_[merge]);
    auto const &x = subgraph_.type_of(n.inputs[0]), &y = subgraph_.type_of(n.inputs[1]);
    if (x.element != y.element || x.shape() != y.shape())
      throw error(code::invalid_argument, "next_iteration: " + with_article(x) + " is handed to a merge of " + y.text(),
                  n.name);
    if (frames_.of(merge) != f)
      throw error(code::invalid_argument, "next_iteration: the merge is in another frame", n.name);
    arrive_[i] = leave_[i] = station_at(f, i);
    auto& s = at(arrive_[i]).does;
    s.what = act::next;
    s.value = moved(f, n.inputs[0]);
    s.frame = f;
  }

  // Decides whether a kernel runs under the walk's lock: it must be short, and must not call a user's code.
  void estimate_length(station& s, node const& n) const {
    std::vector<type> inputs;
    for (auto e : n.inputs) inputs.push_back(subgraph_.type_of(e));
    bool const quiet = n.op->effect == effect::none || is_primitive(n) || is_variable(n);
    s.nanoseconds = costs::nanoseconds(n.op->work(n.attributes, inputs, n.outputs));
    s.slow = s.heads = !quiet || has_bodies(n) || n.op->waits || s.nanoseconds >= costs::short_kernel;
  }

  void connect(std::uint32_t i) {
    auto const& n = subgraph_[i];
    if (is_free(i)) return;
    auto const to = arrive_[i];
    auto const waiting = is(i, op_kind::merge) ? leave_[i] : to;
    struct source {
      std::uint32_t node, port, input;
      where to;
    };
    std::vector<source> from;
    for (std::uint32_t k = 0; k < n.inputs.size(); ++k) {
      auto const e = n.inputs[k];
      if (is_free(e.node) && is(i, op_kind::merge))
        throw error(code::invalid_argument,
                    "merge: an input is a constant, which is never dead: let it pass through a switch", n.name);
      if (is_free(e.node) || is_back_edge(n, k)) continue;
      from.push_back({e.node, is(e.node, op_kind::switch_) ? e.port : tagged_plan::either, k, to});
    }
    for (auto c : n.controls)
      if (!is_free(c)) from.push_back({c, tagged_plan::either, 0, waiting});
    auto& edges = drafts_[to.frame].edges;
    // A frame's gate has waited for the constants, so blocks need not, unless they would wait for no token at all.
    auto const gated = [&](source const& s) { return made_.frames[to.frame].gated && is_constant_of_frame(s.node); };
    bool const all = std::all_of(from.begin(), from.end(), gated);
    for (auto const& s : from) {
      if (gated(s) && !all && !is(i, op_kind::merge)) continue;
      demanded_[s.node] = demanded_[s.node] || gated(s);
      edges.push_back({leave_[s.node].station, s.to.station, static_cast<std::uint8_t>(s.port), s.input});
    }
    if (waiting.station != to.station) edges.push_back({to.station, waiting.station, tagged_plan::either, 0});
  }
  bool is_constant_of_frame(std::uint32_t i) const {
    return is(i, op_kind::enter) && decode<ops::enter_op::attributes>(subgraph_[i].attributes).constant;
  }

  void add_output(endpoint e) {
    tagged_plan::output o;
    o.of = subgraph_.type_of(e);
    if (!is_free(e.node)) {
      auto const from = leave_[e.node];
      if (from.frame != outermost)
        throw error(code::invalid_argument, "a fetched value lies inside a frame: let it exit", subgraph_[e.node].name);
      o.block = drafts_[outermost].blocks.block_of(from.station);
      o.way = block_builder::way(at(from), static_cast<std::uint8_t>(e.port));
    }
    o.kept = keep(outermost, e);
    made_.outputs.push_back(std::move(o));
  }

  // Where tokens go, now that there are blocks and instructions.
  void resolve_targets(frame_id f) {
    auto& leaving = made_.frames[f].leaving;
    for (auto& s : drafts_[f].stations) {
      if (s.nothing) continue;
      auto& does = s.does;
      if (does.what == act::call) {
        does.value.instruction = drafts_[f].instructions[s.local];
        s.nothing =
            does.value.instruction == no_index<plan::instruction_id>;  // a variable that is taken by reference alone
        continue;
      }
      auto const to = does.what == act::next ? arrive_[subgraph_[does.node].inputs[1].node] : leave_[does.node];
      does.block = drafts_[to.frame].blocks.block_of(to.station);
      if (does.what == act::enter) continue;
      does.value.instruction = drafts_[to.frame].instructions[at(to).local];
      if (does.what != act::next) does.place = leaving.push_back({});
    }
  }
  void lay_out_blocks(frame_id f) {
    auto& frame = made_.frames[f];
    auto& d = drafts_[f];
    d.blocks.lay(d.stations, frame);
    for (auto o : frame.operations.indices())
      if (auto const place = frame.operations[o].place; place != no_index<tagged_plan::leaving_id>)
        frame.leaving[place] = o;
    for (auto& [s, m] : d.merges) {
      m.value.instruction = d.instructions[d.stations[s].local];
      frame.blocks[d.blocks.block_of(s)].merge = frame.merges.push_back(std::move(m));
    }
    for (auto& b : frame.blocks) {
      b.slow = b.slow && b.first != b.last;
      b.waits = b.slow && frame.plan->instructions[frame.operations[b.first].value.instruction].run.waits;
    }
    for (auto i : d.constants)
      if (!frame.gated || demanded_[i])
        frame.constants[at(arrive_[i]).does.number].block = d.blocks.block_of(leave_[i].station);
  }

  tagged_plan& made_;
  subgraph const& subgraph_;
  node_frames frames_;
  std::vector<bool> demanded_;  // for whose constant somebody waits although there is a gate
  std::vector<where> arrive_, leave_;
  indexed<frame_id, draft> drafts_;
};

}  // namespace detail

RILL_INLINE tagged_plan make_tagged_plan(lowered from, plan_request const& with) {
  tagged_plan p;
  p.source = std::move(from);
  p.memory = &with.memory;
  detail::frame_builder(p, p.source.subgraph).run(with);
  return p;
}

#endif

}  // namespace rill
