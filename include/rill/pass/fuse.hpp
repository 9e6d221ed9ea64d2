// Chains and trees of elementwise operations become one: a program that reads its inputs and writes its results once.
#pragma once
#include "rill/pass/fold_constants.hpp"

#if RILL_RUNTIME
#include "rill/ops/fuse.hpp"
#endif

namespace rill {

/// Fuses elementwise nodes of equal extents.
bool fuse_elementwise(subgraph& part, pass_report* report);

#if RILL_RUNTIME
namespace detail {

/// Groups of elementwise nodes. A node joins the group of a consumer if every path from it leads into the group, or to
/// nodes from which the group can't be reached: so no group waits for itself.
class fusion {
 public:
  fusion(subgraph& part, pass_report* report)
      : part_(part),
        rewriter_(part, "fuse", report),
        consumers_(consumers(part)),
        group_(part.size(), none),
        fetched_(part.size()) {
    for (std::uint32_t i = 0; i < part.size(); ++i)
      for (auto c : part[i].controls) consumers_[c].push_back(i);
    for (auto e : part.outputs) fetched_[e.node] = true;
    for (auto t : part.targets) fetched_[t] = true;
  }

  bool run() {
    for (auto i = static_cast<std::uint32_t>(part_.size()); i-- > 0;)
      if (is_elementwise(i)) join(i);
    for (auto& g : groups_)
      if (g.size() > 1) make(g);
    return rewriter_.finish();
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr std::size_t most_nodes = 24, most_visited = 128;

  bool is_elementwise(std::uint32_t i) const {
    auto const& n = part_[i];
    if (!n.controls.empty() || n.op->effect != effect::none || n.outputs.empty() || !n.outputs[0].is_known())
      return false;
    auto const of_strings = [&](endpoint e) { return part_.type_of(e).element == dtype::string; };  // equal's may be
    if (n.outputs[0].element == dtype::string || std::any_of(n.inputs.begin(), n.inputs.end(), of_strings))
      return false;
    return n.op->elementwise != nullptr || n.op == &definition<ops::fused_op>();
  }

  void join(std::uint32_t i) {
    std::uint32_t best = none;
    for (auto c : consumers_[i])
      if (group_[c] != none && group_[c] != best && fits(i, group_[c]) && (best == none || group_[c] < best))
        best = group_[c];
    if (best == none) {
      best = static_cast<std::uint32_t>(groups_.size());
      groups_.emplace_back();
    }
    group_[i] = best;
    groups_[best].push_back(i);
  }

  bool fits(std::uint32_t i, std::uint32_t group) {
    auto const& members = groups_[group];
    auto const& a = part_[i].outputs[0];
    auto const& b = part_[members[0]].outputs[0];
    if (members.size() >= most_nodes || a.rank != b.rank || a.dims != b.dims) return false;
    if (inputs_with(i, group) > 16) return false;
    for (auto c : consumers_[i])
      if (group_[c] != group && reaches(c, group)) return false;
    return true;
  }

  std::size_t inputs_with(std::uint32_t i, std::uint32_t group) const {
    std::size_t count = part_[i].inputs.size();
    for (auto m : groups_[group])
      for (auto e : part_[m].inputs) count += group_[e.node] != group && e.node != i;
    return count;
  }

  // Whether a path leads from `from` into the group; yes if it takes long to find out.
  bool reaches(std::uint32_t from, std::uint32_t group) {
    if (mark_.size() < part_.size()) mark_.resize(part_.size());
    ++marks_;
    std::vector<std::uint32_t> todo{from};
    mark_[from] = marks_;
    std::size_t visited = 0;
    while (!todo.empty()) {
      auto const i = todo.back();
      todo.pop_back();
      if (group_[i] == group) return true;
      if (++visited > most_visited) return true;
      auto const more = [&](std::uint32_t n) {
        if (mark_[n] != marks_) mark_[n] = marks_, todo.push_back(n);
      };
      if (group_[i] != none) {  // one node soon: who waits for any member waits for all
        for (auto m : groups_[group_[i]])
          for (auto n : consumers_[m]) more(n);
      } else {
        for (auto n : consumers_[i]) more(n);
      }
    }
    return false;
  }

  void make(std::vector<std::uint32_t>& members) {
    std::sort(members.begin(), members.end());
    auto const group = group_[members[0]];
    program p;
    node made;
    std::vector<std::pair<endpoint, std::uint16_t>> place;  // marked as in symbols: immediates from the top
    std::vector<endpoint> results;
    auto const find = [&](endpoint e) {
      for (auto const& [at, reg] : place)
        if (at == e) return reg;
      return static_cast<std::uint16_t>(UINT16_MAX);
    };
    for (auto m : members)
      for (auto e : part_[m].inputs) {
        if (group_[e.node] == group || find(e) != UINT16_MAX) continue;
        if (auto const& from = part_[e.node]; is_constant(from) && part_.type_of(e).is_scalar()) {
          p.immediates.push_back(immediate_of(std::get<tensor>(from.attributes[0].second)));
          place.emplace_back(e, static_cast<std::uint16_t>(immediate_mark + p.immediates.size() - 1));
        } else {
          place.emplace_back(e, static_cast<std::uint16_t>(p.inputs.size()));
          p.inputs.push_back(part_.type_of(e).element);
          made.inputs.push_back(e);
        }
      }
    if (made.inputs.empty()) return;
    for (auto m : members) add_lines(p, m, place, find);
    for (auto m : members) {
      auto const leaves = fetched_[m] || std::any_of(consumers_[m].begin(), consumers_[m].end(),
                                                     [&](auto c) { return group_[c] != group; });
      if (!leaves) continue;
      for (std::uint32_t port = 0; port < part_[m].outputs.size(); ++port) {
        p.outputs.push_back(find({m, port}));
        made.outputs.push_back(part_[m].outputs[port]);
        results.push_back({m, port});
      }
    }
    settle(p);
    made.op = &definition<ops::fused_op>();
    made.name = part_[members.back()].name;
    made.attributes = {{"program", std::make_shared<program const>(std::move(p))}};
    auto const at = rewriter_.add(std::move(made), part_.origin[members.back()]);
    for (std::uint32_t o = 0; o < results.size(); ++o) rewriter_.replace(results[o], {at, o}, "joined");
  }

  static immediate immediate_of(tensor const& t) {
    immediate i{t.element(), {}};
    std::memcpy(i.bytes.data(), t.raw(), size_of(t.element()));
    return i;
  }

  // The lines of one member: its function, or the whole program of what was fused already.
  template <class Place, class Find> void add_lines(program& p, std::uint32_t m, Place& place, Find const& find) {
    auto const& n = part_[m];
    auto const next = [&] { return static_cast<std::uint16_t>(p.inputs.size() + p.instructions.size() - 1); };
    if (n.op->elementwise != nullptr) {
      program::instruction line{n.op->elementwise, {}, n.outputs[0].element};
      for (std::size_t k = 0; k < n.inputs.size(); ++k) line.operands[k] = find(n.inputs[k]);
      p.instructions.push_back(line);
      place.emplace_back(endpoint{m, 0}, next());
      return;
    }
    auto const& inner = *std::get<std::shared_ptr<program const>>(n.attributes[0].second);
    std::vector<std::uint16_t> registers;
    for (auto e : n.inputs) registers.push_back(find(e));
    for (auto const& i : inner.immediates) {
      p.immediates.push_back(i);
      registers.push_back(static_cast<std::uint16_t>(immediate_mark + p.immediates.size() - 1));
    }
    for (auto line : inner.instructions) {
      for (std::size_t k = 0; k < line.function->arity; ++k) line.operands[k] = registers[line.operands[k]];
      p.instructions.push_back(line);
      registers.push_back(next());
    }
    for (std::uint32_t o = 0; o < inner.outputs.size(); ++o)
      place.emplace_back(endpoint{m, o}, registers[inner.outputs[o]]);
  }

  subgraph& part_;
  rewriter rewriter_;
  std::vector<std::vector<std::uint32_t>> consumers_;
  std::vector<std::uint32_t> group_;
  std::vector<std::vector<std::uint32_t>> groups_;
  std::vector<bool> fetched_;
  std::vector<std::uint32_t> mark_;  // of nodes that the search number marks_ has seen
  std::uint32_t marks_ = 0;
};

}  // namespace detail

RILL_INLINE bool fuse_elementwise(subgraph& part, pass_report* report) { return detail::fusion(part, report).run(); }
#endif

}  // namespace rill
