// Makes the plan of tagged execution from a part of primitives (EuroSys'18 §4.3).
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

/// Plans a lowered subgraph. error(invalid_argument) where its frames don't fit together, error(unimplemented) for open
/// extents beside primitives that a user wrote.
tagged_plan make_tagged_plan(lowered from, plan_request const& with);

#if RILL_RUNTIME
namespace detail {

/// Cuts a subgraph of primitives by frames.
class frame_builder {
 public:
  frame_builder(tagged_plan& made, subgraph const& sub)
      : made_(made), subgraph_(sub), frames_(made, sub), demanded_(sub.size()) {}

  void run(plan_request const& with) {
    arrive_.resize(subgraph_.size()), leave_.resize(subgraph_.size());
    drafts_.resize(made_.frames.size());
    for (std::uint32_t f = 1; f < made_.frames.size(); ++f) made_.frames[f].gated = !made_.source.within.empty();
    for (std::uint32_t i = 0; i < subgraph_.size(); ++i) add(i);
    for (std::uint32_t i = 0; i < subgraph_.size(); ++i) connect(i);
    for (auto& d : drafts_) d.blocks.place(d.stations, d.edges);
    for (auto e : subgraph_.outputs) add_output(e);
    for (std::uint32_t f = 0; f < drafts_.size(); ++f) {
      auto& d = drafts_[f];
      made_.frames[f].plan = std::make_unique<plan>(make_frame_plan(d.subgraph, d.kept, with));
      d.instructions.assign(d.subgraph.size(), none);
      auto const& instructions = made_.frames[f].plan->instructions;
      for (std::uint32_t at = 0; at < instructions.size(); ++at) d.instructions[instructions[at].node] = at;
    }
    for (std::uint32_t f = 0; f < drafts_.size(); ++f) resolve_targets(f);
    for (std::uint32_t f = 0; f < drafts_.size(); ++f) lay_out_blocks(f);
  }

 private:
  static constexpr auto none = tagged_plan::none;
  using act = tagged_plan::act;
  struct where {
    std::uint32_t frame = none, station = none;
  };
  // A frame, while it is made.
  struct draft {
    rill::subgraph subgraph;                                 // of one iteration
    std::unordered_map<std::uint32_t, std::uint32_t> local;  // its nodes, by the whole subgraph's
    std::vector<endpoint> kept;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> kept_at;
    std::vector<station> stations;
    std::vector<station_edge> edges;
    std::vector<std::pair<std::uint32_t, tagged_plan::merge>> merges;  // and their stations
    block_builder blocks;
    std::vector<std::uint32_t> constants;     // of the whole subgraph's nodes, those that bring them
    std::vector<std::uint32_t> instructions;  // of its nodes
  };

  bool is(std::uint32_t i, op_kind kind) const { return subgraph_[i].op->kind == kind; }
  bool is_free(std::uint32_t i) const { return frames_.is_free(i); }
  bool leaves(std::uint32_t i) const { return frames_.leaves(i); }
  static bool is_back_edge(node const& n, std::size_t k) { return n.op->kind == op_kind::next_iteration && k == 1; }

  where station_at(std::uint32_t f, std::uint32_t i, std::uint32_t local = none) {
    auto& all = drafts_[f].stations;
    all.emplace_back();
    all.back().does.node = i;
    all.back().local = local;
    return {f, static_cast<std::uint32_t>(all.size() - 1)};
  }
  station& at(where w) { return drafts_[w.frame].stations[w.station]; }

  std::uint32_t append(std::uint32_t f, node n) {
    auto& sub = drafts_[f].subgraph;
    n.controls.clear();
    sub.nodes.push_back(std::move(n));
    sub.origin.push_back(0);
    return static_cast<std::uint32_t>(sub.size() - 1);
  }
  std::uint32_t room(std::uint32_t f, node const& like) {
    node n;
    bool const elsewhere = &made_.memory->saved() != made_.memory && like.op->kind == op_kind::collect &&
                           decode<ops::collect_op::attributes>(like.attributes).saved;
    bool const open = elsewhere || !like.outputs[0].is_known();
    n.op = open ? &open_room_op : &room_op;
    n.name = like.name;
    n.outputs = like.outputs;
    return append(f, std::move(n));
  }
  std::uint32_t fed(std::uint32_t f, node const& like) {
    node n;
    n.op = &fed_op;
    n.name = like.name;
    n.outputs = {like.outputs[0]};
    auto const made = append(f, std::move(n));
    drafts_[f].subgraph.inputs.push_back(made);
    return made;
  }
  std::uint32_t& local_of(std::uint32_t f, std::uint32_t i) {
    return drafts_[f].local.try_emplace(i, none).first->second;
  }
  // A value as a frame's own subgraph knows it; a switch hands on the value that it got.
  endpoint local(std::uint32_t f, endpoint e) {
    while (is(e.node, op_kind::switch_) || is(e.node, op_kind::loop_cond)) e = subgraph_[e.node].inputs[0];
    auto& at = local_of(f, e.node);
    if (at == none && is_free(e.node)) at = append(f, subgraph_[e.node]);
    return {at, e.port};
  }
  std::uint32_t keep(std::uint32_t f, endpoint e) {
    auto& d = drafts_[f];
    auto const at = local(f, e);
    auto const [found, added] = d.kept_at.emplace(std::pair(at.node, at.port), d.kept.size());
    if (added) d.kept.push_back(at);
    return found->second;
  }
  tagged_plan::move moved(std::uint32_t f, endpoint e) {
    return tagged_plan::move::of(subgraph_.type_of(e), keep(f, e));
  }

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
    if (n.op == &fed_op) local_of(0, i) = fed(0, n);
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
    auto const argument = static_cast<std::uint32_t>(drafts_[inner].subgraph.inputs.size());
    arrive_[i] = station_at(outer, i);
    leave_[i] = station_at(inner, i, local_of(inner, i) = fed(inner, n));
    at(leave_[i]).nothing = at(leave_[i]).heads = at(leave_[i]).arrives = true;
    auto& enters = at(arrive_[i]).does;
    enters.what = act::enter;
    enters.constant = decode<ops::enter_op::attributes>(n.attributes).constant;
    enters.value.read = keep(outer, n.inputs[0]);
    enters.value.instruction = argument;
    enters.frame = inner;
    auto& frame = made_.frames[inner];
    ++frame.enters;
    if (!enters.constant) return;
    enters.number = static_cast<std::uint32_t>(frame.constants.size());
    frame.constants.push_back({argument});
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
    if (leaves.backwards) require_known_input(n, 1), leaves.number = keep(inner, n.inputs[1]);
  }
  // Primitives that somebody wrote, not a lowered node: no extents of such a subgraph are deferred.
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
    auto const f = frames_.of(i), merge = n.inputs[1].node;
    if (!is(merge, op_kind::merge) || n.inputs[1].port != 0)
      throw error(code::invalid_argument, "next_iteration: the second value must be that of a merge", n.name);
    require_known_input(n, 0);
    require_known(subgraph_[merge]);
    auto const &x = subgraph_.type_of(n.inputs[0]), &y = subgraph_.type_of(n.inputs[1]);
    if (x.element != y.element || x.shape() != y.shape())
      throw error(code::invalid_argument, "next_iteration: a " + x.text() + " is handed to a merge of " + y.text(),
                  n.name);
    if (frames_.of(merge) != f)
      throw error(code::invalid_argument, "next_iteration: the merge is in another frame", n.name);
    arrive_[i] = leave_[i] = station_at(f, i);
    auto& s = at(arrive_[i]).does;
    s.what = act::next;
    s.value = moved(f, n.inputs[0]);
    s.frame = f;
  }

  // Others wait for a kernel if that is shorter than to let go of the lock for it, and nothing of a user's can be
  // called.
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
    // What a gate waited for need not be waited for again.
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
      if (from.frame != 0)
        throw error(code::invalid_argument, "a fetched value lies inside a frame: let it exit", subgraph_[e.node].name);
      o.block = drafts_[0].blocks.block_of(from.station);
      o.way = block_builder::way(at(from), static_cast<std::uint8_t>(e.port));
    }
    o.kept = keep(0, e);
    made_.outputs.push_back(std::move(o));
  }

  // Where tokens go, now that there are blocks and instructions.
  void resolve_targets(std::uint32_t f) {
    std::uint32_t leaving = 0;
    for (auto& s : drafts_[f].stations) {
      if (s.nothing) continue;
      auto& does = s.does;
      if (does.what == act::call) {
        does.value.instruction = drafts_[f].instructions[s.local];
        s.nothing = does.value.instruction == none;  // a variable that is taken by reference alone
        continue;
      }
      auto const to = does.what == act::next ? arrive_[subgraph_[does.node].inputs[1].node] : leave_[does.node];
      does.block = drafts_[to.frame].blocks.block_of(to.station);
      if (does.what == act::enter) continue;
      does.value.instruction = drafts_[to.frame].instructions[at(to).local];
      if (does.what != act::next) does.place = leaving++;
    }
    made_.frames[f].leaving.resize(leaving);
  }
  void lay_out_blocks(std::uint32_t f) {
    auto& frame = made_.frames[f];
    auto& d = drafts_[f];
    d.blocks.lay(d.stations, frame);
    for (std::uint32_t o = 0; o < frame.operations.size(); ++o)
      if (auto const place = frame.operations[o].place; place != none) frame.leaving[place] = o;
    for (auto& [s, m] : d.merges) {
      m.value.instruction = d.instructions[d.stations[s].local];
      frame.blocks[d.blocks.block_of(s)].merge = static_cast<std::uint32_t>(frame.merges.size());
      frame.merges.push_back(std::move(m));
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
  std::vector<draft> drafts_;
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
