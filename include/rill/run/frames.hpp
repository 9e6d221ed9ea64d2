// A part of primitives as flat arrays: for each frame the plan of one iteration, and who hands a token to whom.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rill/run/lower.hpp"
#include "rill/run/plan.hpp"

namespace rill {

/// What the tagged gear runs. It never changes.
class tagged_plan {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  /// What happens to a token at a node.
  enum class act : std::uint8_t {
    pass,      ///< it goes on as it came
    call,      ///< a kernel runs; others wait that long
    call_out,  ///< a kernel runs that may take long: others go on meanwhile
    choose,    ///< switch
    merge,
    enter,    ///< to a frame; `partner` is where it arrives
    exit,     ///< from a frame; `partner` is where it arrives, as it is for the next two
    collect,  ///< to a row outside of the frame
    count,    ///< to the number of tokens outside of the frame
    next,     ///< to `partner`, a merge, in the next iteration
  };
  /// A node in its frame. Nodes that lead from one frame to another have one in each.
  struct station {
    act what = act::pass;
    bool arrival = false;   ///< it gets its tokens from another frame
    bool constant = false;  ///< of enter: in all iterations
    bool waits = false;
    bool backwards = false;            ///< of collect
    std::uint32_t instruction = none;  ///< in the frame's plan: the kernel, or what holds room for a token
    std::uint32_t read = none;         ///< the kept value that a token is copied from, or that a switch asks
    std::uint32_t frame = none;        ///< of the partner
    std::uint32_t partner = none;
    std::uint32_t number = none;       ///< among the frame's constants or collects; of arrivals: among its fed values
    std::size_t bytes = 0;             ///< of the value that is copied
    std::uint32_t waiting_for = 0;     ///< tokens
    std::uint32_t first = 0, end = 0;  ///< its edges
    std::uint32_t node = 0;            ///< of the part
  };
  struct edge {
    std::uint32_t to;
    std::uint8_t port;    ///< of a switch: 0 or 1; 2: of either
    bool data;            ///< not a control edge
    std::uint32_t input;  ///< of a merge: which
  };
  struct frame {
    std::string name;
    std::uint32_t outer = none;
    std::int64_t parallel = 10;
    std::unique_ptr<rill::plan> plan;  ///< of one iteration
    std::vector<station> stations;
    std::vector<edge> edges;
    std::vector<std::uint32_t> counts;       ///< of the stations: waiting_for
    std::vector<std::uint32_t> merge_reads;  ///< kept values that merges copy: of station s from merge_first[s] on
    std::vector<std::uint32_t> merge_first;
    std::uint32_t enters = 0, constants = 0;  ///< how many lead to it, and how many of those to all iterations
    std::vector<std::uint32_t> leaving;       ///< stations that exit, collect or count
    std::vector<std::uint32_t> sources;       ///< stations that wait for nothing
  };

  tagged_plan(lowered from, container& state, std::uint64_t seed, allocator& memory, int threads,
              pass_options const& passes, compiled_functions* functions);

  std::vector<frame> frames;           ///< the first is the outermost, each after that around it
  std::vector<std::uint32_t> outputs;  ///< kept values of the outermost frame
  std::vector<std::uint32_t> from;     ///< their stations there; none: a constant
  std::vector<std::uint8_t> ports;     ///< and ports
  std::vector<type> output_types;
  lowered source;  ///< names and places of nodes, for errors
  allocator* memory;
};

}  // namespace rill

#if RILL_RUNTIME
namespace rill {

namespace detail {

// Room for a token that comes from elsewhere: the walk writes it.
inline void no_inference(attribute_list const&, std::span<type const>, std::vector<type>&) {}
inline kernel room_kernel(kernel_request const&) {
  return kernel([](kernel_call const&) {});
}
inline kernel open_room_kernel(kernel_request const&) {
  kernel k([](kernel_call const&) {});
  k.owns_outputs = true;
  return k;
}
inline constexpr op_def room_op{.name = "room",
                                .doc = "room for a token",
                                .arity = 0,
                                .infer = no_inference,
                                .work = unknown_work,
                                .cpu = room_kernel};
inline constexpr op_def open_room_op{.name = "open_room",
                                     .doc = "room for rows of which nobody knows how many",
                                     .arity = 0,
                                     .brings_extents = true,
                                     .infer = no_inference,
                                     .work = unknown_work,
                                     .cpu = open_room_kernel};

class framing {
 public:
  framing(tagged_plan& made, subgraph const& part)
      : made_(made), part_(part), frame_(part.size(), tagged_plan::none), inner_(frame_) {}

  void run(container& state, std::uint64_t seed, allocator& memory, int threads, pass_options const& passes,
           compiled_functions* functions) {
    made_.frames.resize(1);
    for (std::uint32_t i = 0; i < part_.size(); ++i) place(i);
    arrive_.resize(part_.size()), leave_.resize(part_.size());
    frame_parts_.resize(made_.frames.size());
    edges_.resize(made_.frames.size());
    for (std::uint32_t i = 0; i < part_.size(); ++i) add(i);
    for (std::uint32_t i = 0; i < part_.size(); ++i) connect(i);
    for (auto e : part_.outputs) {
      made_.output_types.push_back(part_.type_of(e));
      made_.outputs.push_back(keep(0, e));
      made_.from.push_back(is_free(e.node) ? tagged_plan::none : leave_[e.node].station);
      made_.ports.push_back(static_cast<std::uint8_t>(is(e.node, ops::switch_op::name) ? e.port : 2));
      if (!is_free(e.node) && leave_[e.node].frame != 0)
        throw error(code::invalid_argument, "a fetched value lies inside a frame: let it exit", part_[e.node].name);
    }
    for (std::uint32_t f = 0; f < made_.frames.size(); ++f) finish(f, state, seed, memory, threads, passes, functions);
  }

 private:
  static constexpr auto none = tagged_plan::none;
  using act = tagged_plan::act;
  struct where {
    std::uint32_t frame = none, station = none;
  };
  // One iteration of a frame, while it is made.
  struct frame_part {
    subgraph part;
    std::vector<std::uint32_t> local;  // of the whole part's nodes
    std::vector<endpoint> kept;
    std::vector<std::uint32_t> made_by;  // of each station: its node here, or none
  };

  bool is(std::uint32_t i, std::string_view name) const { return part_[i].op->name == name; }
  bool is_free(std::uint32_t i) const { return is(i, ops::constant_op::name); }
  bool leaves(std::uint32_t i) const {
    return is(i, ops::exit_op::name) || is(i, ops::collect_op::name) || is(i, ops::iterations_op::name);
  }
  static bool is_back_edge(node const& n, std::size_t k) {
    return n.op->name == ops::next_iteration_op::name && k == 1;
  }

  // The frame in which a node's inputs are: that of all of them.
  std::uint32_t frame_of_inputs(std::uint32_t i) const {
    auto const& n = part_[i];
    std::uint32_t f = none;
    auto const meet = [&](std::uint32_t from, char const* why) {
      if (frame_[from] == none) return;
      if (f != none && frame_[from] != f)
        throw error(
            code::invalid_argument,
            std::string(why) + ": '" + part_[from].name + "' is in " + text(frame_[from]) + ", others in " + text(f),
            n.name);
      f = frame_[from];
    };
    for (auto e : n.inputs) meet(e.node, "its inputs lie in different frames: let them enter or exit");
    for (auto c : n.controls) meet(c, "a control edge crosses from one frame to another");
    return f == none ? 0 : f;
  }
  std::string text(std::uint32_t f) const { return f == 0 ? "no frame" : "frame '" + made_.frames[f].name + "'"; }

  void place(std::uint32_t i) {
    if (is_free(i)) return;
    auto const inside = frame_of_inputs(i);
    if (is(i, ops::enter_op::name))
      frame_[i] = find_frame(inside, decode<ops::enter_op::attributes>(part_[i].attributes));
    else if (leaves(i)) {
      if (inside == 0) throw error(code::invalid_argument, "it leaves a frame, and is in none", part_[i].name);
      frame_[i] = made_.frames[inside].outer;
      inner_[i] = inside;
    } else frame_[i] = inside;
    if (is(i, ops::next_iteration_op::name) && inside == 0)
      throw error(code::invalid_argument, "there is no next iteration where there is no frame", part_[i].name);
  }
  std::uint32_t find_frame(std::uint32_t outer, ops::enter_op::attributes const& a) {
    for (std::uint32_t f = 1; f < made_.frames.size(); ++f)
      if (made_.frames[f].outer == outer && made_.frames[f].name == a.frame) return f;
    auto& made = made_.frames.emplace_back();
    made.name = a.frame;
    made.outer = outer;
    made.parallel = a.parallel_iterations;
    return static_cast<std::uint32_t>(made_.frames.size() - 1);
  }

  where station(std::uint32_t f, std::uint32_t i, act what, std::uint32_t local) {
    auto& all = made_.frames[f].stations;
    all.emplace_back();
    all.back().what = what;
    all.back().node = i;
    frame_parts_[f].made_by.push_back(local);
    return {f, static_cast<std::uint32_t>(all.size() - 1)};
  }
  tagged_plan::station& at(where w) { return made_.frames[w.frame].stations[w.station]; }

  std::uint32_t append(std::uint32_t f, node n) {
    auto& part = frame_parts_[f].part;
    n.controls.clear();
    part.nodes.push_back(std::move(n));
    part.origin.push_back(0);
    return static_cast<std::uint32_t>(part.size() - 1);
  }
  std::uint32_t room(std::uint32_t f, node const& like) {
    node n;
    bool const open = !like.outputs[0].is_known();
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
    frame_parts_[f].part.inputs.push_back(made);
    return made;
  }
  std::vector<std::uint32_t>& locals(std::uint32_t f) {
    auto& l = frame_parts_[f].local;
    if (l.empty()) l.assign(part_.size(), none);
    return l;
  }
  // A value as a frame's own part knows it; a switch hands on the value that it got.
  endpoint local(std::uint32_t f, endpoint e) {
    while (is(e.node, ops::switch_op::name) || is(e.node, ops::loop_cond_op::name)) e = part_[e.node].inputs[0];
    auto& at = locals(f)[e.node];
    if (at == none && is_free(e.node)) at = append(f, part_[e.node]);
    return {at, e.port};
  }
  std::uint32_t keep(std::uint32_t f, endpoint e) {
    frame_parts_[f].kept.push_back(local(f, e));
    return static_cast<std::uint32_t>(frame_parts_[f].kept.size() - 1);
  }
  std::size_t bytes_of(endpoint e) const {
    auto const& t = part_.type_of(e);
    return t.is_known() && t.element != dtype::string
               ? static_cast<std::size_t>(elements(t.shape())) * size_of(t.element)
               : 0;
  }

  void add(std::uint32_t i) {
    auto const& n = part_[i];
    if (is_free(i)) return;
    auto const f = frame_[i];
    if ((is(i, ops::merge_op::name) || is(i, ops::exit_op::name)) && !n.outputs[0].is_known())
      throw error(code::unimplemented,
                  "the extents of its output, " + n.outputs[0].text() + ", are not known before the step runs", n.name);
    if (is(i, ops::enter_op::name)) {
      auto const outer = made_.frames[f].outer;
      arrive_[i] = station(outer, i, act::enter, none);
      leave_[i] = station(f, i, act::pass, none);
      bool const constant = decode<ops::enter_op::attributes>(n.attributes).constant;
      auto& from = at(arrive_[i]);
      from.read = keep(outer, n.inputs[0]);
      from.frame = f, from.partner = leave_[i].station, from.constant = constant;
      auto& to = at(leave_[i]);
      to.arrival = true;
      to.constant = constant;
      to.instruction = static_cast<std::uint32_t>(frame_parts_[f].part.inputs.size());
      auto& frame = made_.frames[f];
      ++frame.enters;
      if (constant) from.number = to.number = frame.constants++;
      locals(f)[i] = fed(f, n);
      return;
    }
    if (leaves(i)) {
      auto const inner = inner_[i];
      arrive_[i] = station(inner, i,
                           is(i, ops::exit_op::name)      ? act::exit
                           : is(i, ops::collect_op::name) ? act::collect
                                                          : act::count,
                           none);
      auto const made = room(f, n);
      locals(f)[i] = made;
      leave_[i] = station(f, i, act::pass, made);
      at(leave_[i]).arrival = true;
      auto& from = at(arrive_[i]);
      from.frame = f, from.partner = leave_[i].station;
      from.read = keep(inner, n.inputs[0]);
      from.bytes = bytes_of(n.inputs[0]);
      if (from.what == act::collect) {
        from.backwards = decode<ops::collect_op::attributes>(n.attributes).backwards;
        if (from.backwards) from.number = keep(inner, n.inputs[1]);
      }
      made_.frames[inner].leaving.push_back(arrive_[i].station);
      return;
    }
    if (is(i, ops::merge_op::name)) {
      auto const made = room(f, n);
      locals(f)[i] = made;
      arrive_[i] = leave_[i] = station(f, i, act::merge, made);
      at(arrive_[i]).bytes = bytes_of({i, 0});
      if (!n.controls.empty()) leave_[i] = station(f, i, act::pass, none);
      return;
    }
    if (is(i, ops::next_iteration_op::name)) {
      arrive_[i] = leave_[i] = station(f, i, act::next, none);
      auto& s = at(arrive_[i]);
      s.read = keep(f, n.inputs[0]);
      s.partner = arrive_[n.inputs[1].node].station;
      s.bytes = bytes_of(n.inputs[0]);
      if (frame_[n.inputs[1].node] != f)
        throw error(code::invalid_argument, "next_iteration: the merge is in another frame", n.name);
      return;
    }
    if (is(i, ops::switch_op::name) || is(i, ops::loop_cond_op::name)) {
      bool const chooses = is(i, ops::switch_op::name);
      arrive_[i] = leave_[i] = station(f, i, chooses ? act::choose : act::pass, none);
      if (chooses) at(arrive_[i]).read = keep(f, n.inputs[1]);
      return;
    }
    if (n.op == &fed_op) {
      locals(0)[i] = fed(0, n);
      arrive_[i] = leave_[i] = station(0, i, act::pass, none);
      return;
    }
    if (made_.source.within.empty() && is(i, ops::row_op::name) && !part_.type_of(n.inputs[0]).is_known())
      throw error(code::unimplemented, "row: how many rows x has is not known before the step runs", n.name);
    node copy = n;
    for (auto& e : copy.inputs) e = local(f, e);
    auto const made = append(f, std::move(copy));
    locals(f)[i] = made;
    arrive_[i] = leave_[i] = station(f, i, n.op->passes_through ? act::pass : kind_of(n), made);
  }

  // Others wait for a kernel if that is shorter than to let go of the lock for it, and nothing of a user's can be
  // called.
  act kind_of(node const& n) const {
    constexpr double shorter = 1'500;
    std::vector<type> inputs;
    for (auto e : n.inputs) inputs.push_back(part_.type_of(e));
    bool const quiet = n.op->effect == effect::none || ops::is_primitive(n) || n.op->name == "variable";
    return quiet && !has_bodies(n) && estimate(n.op->work(n.attributes, inputs, n.outputs)) < shorter ? act::call
                                                                                                      : act::call_out;
  }

  void connect(std::uint32_t i) {
    auto const& n = part_[i];
    if (is_free(i)) return;
    auto const to = arrive_[i];
    auto const lead = [&](std::uint32_t from, where at_, std::uint8_t port, bool data, std::uint32_t input) {
      edges_[at_.frame].push_back({leave_[from].station, {at_.station, port, data, input}});
      ++at(at_).waiting_for;
    };
    for (std::uint32_t k = 0; k < n.inputs.size(); ++k) {
      auto const e = n.inputs[k];
      if (is_free(e.node) && is(i, ops::merge_op::name))
        throw error(code::invalid_argument,
                    "merge: an input is a constant, which is never dead: let it pass through a switch", n.name);
      if (is_free(e.node) || is_back_edge(n, k)) continue;
      lead(e.node, to, static_cast<std::uint8_t>(is(e.node, ops::switch_op::name) ? e.port : 2), true, k);
    }
    auto const waiting = is(i, ops::merge_op::name) && !n.controls.empty() ? leave_[i] : to;
    for (auto c : n.controls)
      if (!is_free(c)) lead(c, waiting, 2, false, 0);
    if (waiting.station != to.station) {
      edges_[to.frame].push_back({to.station, {waiting.station, 2, true, 0}});
      ++at(waiting).waiting_for;
    }
  }

  void finish(std::uint32_t f, container& state, std::uint64_t seed, allocator& memory, int threads,
              pass_options const& passes, compiled_functions* functions) {
    auto& frame = made_.frames[f];
    auto& mine = frame_parts_[f];
    std::vector<std::vector<tagged_plan::edge>> leading(frame.stations.size());
    for (auto const& [from, e] : edges_[f]) leading[from].push_back(e);
    frame.merge_first.resize(frame.stations.size());
    for (std::uint32_t s = 0; s < frame.stations.size(); ++s) {
      auto& st = frame.stations[s];
      st.first = static_cast<std::uint32_t>(frame.edges.size());
      frame.edges.insert(frame.edges.end(), leading[s].begin(), leading[s].end());
      st.end = static_cast<std::uint32_t>(frame.edges.size());
      frame.counts.push_back(st.waiting_for);
      if (st.waiting_for == 0 && !st.arrival) frame.sources.push_back(s);
      frame.merge_first[s] = static_cast<std::uint32_t>(frame.merge_reads.size());
      if (st.what == act::merge)
        for (auto e : part_[st.node].inputs) frame.merge_reads.push_back(keep(f, e));
    }
    frame.plan = std::make_unique<plan>(mine.part, mine.kept, state, seed, memory, threads, passes, functions);
    auto const of_node = frame.plan->instructions_of(mine.part.size());
    for (std::uint32_t s = 0; s < frame.stations.size(); ++s)
      if (auto& st = frame.stations[s]; mine.made_by[s] != none) {
        st.instruction = of_node[mine.made_by[s]];
        bool const calls = st.what == act::call || st.what == act::call_out;
        if (calls && st.instruction == none) st.what = act::pass;  // a variable that is taken by reference alone
        st.waits = calls && st.instruction != none && frame.plan->waits(st.instruction);
      }
  }

  tagged_plan& made_;
  subgraph const& part_;
  std::vector<std::uint32_t> frame_;  // in which a node's outputs are
  std::vector<std::uint32_t> inner_;  // which it leaves
  std::vector<where> arrive_, leave_;
  std::vector<frame_part> frame_parts_;
  std::vector<std::vector<std::pair<std::uint32_t, tagged_plan::edge>>> edges_;
};

}  // namespace detail

RILL_INLINE tagged_plan::tagged_plan(lowered from_part, container& state, std::uint64_t seed, allocator& of,
                                     int threads, pass_options const& passes, compiled_functions* functions)
    : source(std::move(from_part)), memory(&of) {
  detail::framing(*this, source.part).run(state, seed, of, threads, passes, functions);
}

}  // namespace rill
#endif
