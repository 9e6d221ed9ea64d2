// Finds the frame of each node of a subgraph of primitives (EuroSys'18 §4.1), from the enter and exit nodes.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/ops/control/primitives.hpp"
#include "rill/run/tagged/lowered.hpp"
#include "rill/run/tagged/plan.hpp"

#if RILL_RUNTIME
namespace rill::detail {

/// The frames of a subgraph's nodes. Throws error(invalid_argument) if an edge leads from one frame to another without
/// an enter or exit node.
class node_frames {
 public:
  using frame_id = tagged_plan::frame_id;

  /// Makes the frames, outermost first, of a plan that has none yet.
  node_frames(tagged_plan& made, subgraph const& sub)
      : made_(made), subgraph_(sub), frame_(sub.size(), none), inner_(frame_) {
    made_.frames.resize(1);
    for (std::uint32_t i = 0; i < subgraph_.size(); ++i) place(i);
  }

  /// The frame in which a node's outputs are; `no_index` for those that are free.
  frame_id of(std::uint32_t i) const { return frame_[i]; }
  /// Whether a node is in all frames and never dead: a constant that nothing must run before.
  bool is_free(std::uint32_t i) const { return is_constant(subgraph_[i]) && subgraph_[i].controls.empty(); }
  /// The frame that a node leaves.
  frame_id left_by(std::uint32_t i) const { return inner_[i]; }
  bool leaves(std::uint32_t i) const {
    return is(i, op_kind::exit) || is(i, op_kind::collect) || is(i, op_kind::iterations);
  }

 private:
  static constexpr auto none = no_index<frame_id>;
  bool is(std::uint32_t i, op_kind kind) const { return subgraph_[i].op->kind == kind; }

  // The frame in which a node's inputs are: that of all of them.
  frame_id frame_of_inputs(std::uint32_t i) const {
    auto const& n = subgraph_[i];
    auto f = none;
    std::uint32_t first = 0;
    auto const meet = [&](std::uint32_t from, char const* why) {
      if (frame_[from] == none) return;
      if (f != none && frame_[from] != f)
        throw error(code::invalid_argument, std::string(why) + ": " + lies(from) + ", " + lies(first), n.name);
      f = frame_[first = from];
    };
    for (auto e : n.inputs) meet(e.node, "its inputs lie in different frames: let them enter or exit");
    for (auto c : n.controls) meet(c, "a control edge crosses from one frame to another");
    return f == none ? tagged_plan::outermost : f;
  }
  // Returns a node's frame for an error. It says that a node is fed, because a feed is in no frame even if its node is.
  std::string lies(std::uint32_t i) const {
    auto const f = frame_[i];
    auto const whose = "'" + subgraph_[i].name + "'" + (subgraph_[i].op == &fed_op ? ", which is fed," : "");
    return whose + " is in " +
           (f == tagged_plan::outermost || f == none ? "no frame" : "frame '" + made_.frames[f].name + "'");
  }

  void place(std::uint32_t i) {
    if (is_free(i)) return;
    auto const inside = frame_of_inputs(i);
    if (is(i, op_kind::enter)) frame_[i] = find_frame(inside, i);
    else if (leaves(i)) {
      if (inside == tagged_plan::outermost)
        throw error(code::invalid_argument, "it leaves a frame, and " + lies(subgraph_[i].inputs[0].node),
                    subgraph_[i].name);
      frame_[i] = made_.frames[inside].outer;
      inner_[i] = inside;
    } else frame_[i] = inside;
    if (is(i, op_kind::next_iteration) && inside == tagged_plan::outermost)
      throw error(code::invalid_argument,
                  "there is no next iteration where there is no frame: " + lies(subgraph_[i].inputs[0].node),
                  subgraph_[i].name);
  }
  frame_id find_frame(frame_id outer, std::uint32_t i) {
    auto const a = decode<ops::enter_op::attributes>(subgraph_[i].attributes);
    auto const number = made_.frames.end_index();
    if (auto const [known, fresh] = numbers_.try_emplace({outer, a.frame}, number); !fresh) return known->second;
    auto& made = made_.frames[made_.frames.push_back({})];
    made.name = a.frame;
    made.outer = outer;
    made.parallel = a.parallel_iterations;
    auto const& from = made_.source;
    made.calls = !from.within.empty() && from.places[from.within[i]].body == lowered::body::function;
    return number;
  }

  tagged_plan& made_;
  subgraph const& subgraph_;
  std::vector<frame_id> frame_, inner_;                           // of each node
  std::map<std::pair<frame_id, std::string>, frame_id> numbers_;  // by the frame around it and its name
};

}  // namespace rill::detail
#endif
