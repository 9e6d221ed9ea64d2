// A plan of tagged execution as text.
#pragma once
#include <string>

#include "rill/run/plan/stages.hpp"
#include "rill/run/tagged/plan.hpp"

namespace rill {

/// Returns the frames, and for each its blocks, which operations they run and which blocks they send tokens to, and
/// the stages of the plan of one iteration.
std::string text(tagged_plan const& p, stages which);

}  // namespace rill

#if RILL_RUNTIME
#include <cstdint>
#include <vector>

#include "rill/run/plan/print.hpp"
#include "rill/run/plan/text_table.hpp"

namespace rill {

namespace detail {

/// Prints a plan of tagged execution.
class tagged_plan_printer {
 public:
  explicit tagged_plan_printer(tagged_plan const& p) : plan_(p) {}

  std::string frames(stages which) const {
    std::string all;
    for (auto f : plan_.frames.indices()) {
      auto const& frame = plan_.frames[f];
      auto const blocks = has(which, stages::schedule) ? paragraph("blocks", blocks_of(frame)) : "";
      all += heading(f) + "\n" + indented(blocks + rill::text(*frame.plan, which));
    }
    return all;
  }

 private:
  template <index_type Id> static std::string number(Id i) { return std::to_string(as_integer(i)); }
  std::string heading(tagged_plan::frame_id f) const {
    auto const& frame = plan_.frames[f];
    if (f == tagged_plan::outermost) return "frame 0, around all";
    auto text = "frame " + number(f) + " '" + frame.name + "', in frame " + number(frame.outer);
    if (frame.calls) return text + ", the body of a function";
    return text + ", up to " + std::to_string(frame.parallel) + " iterations at once";
  }
  std::string blocks_of(tagged_plan::frame const& f) const {
    text_table all;
    for (auto b : f.blocks.indices()) all.add({number(b), runs(f, f.blocks[b]), sends(f, f.blocks[b])});
    return all.text();
  }
  // What a block runs; of one that runs nothing: where its tokens come from.
  std::string runs(tagged_plan::frame const& f, tagged_plan::block const& block) const {
    std::vector<std::string> all;
    if (block.merge != no_index<tagged_plan::merge_id>) all.push_back(name(block.node));
    for (auto o : index_range(block.first, block.last)) all.push_back(name(f.operations[o].node));
    if (all.empty()) return "arrival of " + name(block.node);
    return comma_list(all) + (block.waits ? ", which may wait" : block.slow ? ", which may take long" : "");
  }
  std::string name(std::uint32_t node) const { return plan_.source.subgraph[node].name; }
  std::string sends(tagged_plan::frame const& f, tagged_plan::block const& b) const {
    std::vector<std::string> all;
    for (auto e : index_range(b.first_edge, b.last_edge)) {
      auto const& edge = f.edges[e];
      all.push_back(number(edge.to) + (edge.port == tagged_plan::either ? ""
                                       : edge.port == 0                 ? " if false"
                                                                        : " if true"));
    }
    for (auto o : index_range(b.first, b.last))
      if (auto const& does = f.operations[o]; does.what != tagged_plan::act::call) all.push_back(passes_on(does));
    return all.empty() ? "" : "-> " + comma_list(all);
  }
  static std::string passes_on(tagged_plan::operation const& does) {
    auto const block = number(does.block);
    if (does.what == tagged_plan::act::next) return block + " in the next iteration";
    return block + " in frame " + number(does.frame);
  }

  tagged_plan const& plan_;
};

}  // namespace detail

RILL_INLINE std::string text(tagged_plan const& p, stages which) {
  return detail::tagged_plan_printer(p).frames(which);
}

}  // namespace rill
#endif
