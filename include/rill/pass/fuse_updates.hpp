// The arithmetic of an optimizer and the assignments that end it become one program that works on the variables in
// place.
#pragma once
#include "rill/pass/rewriter.hpp"

#if RILL_RUNTIME
#include <map>

#include "rill/ops/fuse.hpp"
#include "rill/ops/state/fused_update.hpp"
#endif

namespace rill {

/// Fuses updates of variables with the arithmetic that they end.
bool fuse_updates(subgraph& part, pass_report* report);

#if RILL_RUNTIME
namespace detail {

class update_fusion {
 public:
  update_fusion(subgraph& part, pass_report* report)
      : part_(part), rewriter_(part, "fuse updates", report), consumers_(consumers(part)), waiters_(waiters(part)) {
    std::vector<bool> fetched(part.size());
    for (auto e : part.outputs) fetched[e.node] = true;
    fetched_ = std::move(fetched);
    for (std::uint32_t i = 0; i < part.size(); ++i)
      for (std::size_t k = 0; k < part[i].inputs.size(); ++k)
        if (updates_reference(part[i], k)) updates_of_.emplace_back(part[i].inputs[k].node, i);
  }

  bool run() {
    auto const count = static_cast<std::uint32_t>(part_.size());
    for (std::uint32_t i = 0; i < count; ++i) try_fuse(i);
    return rewriter_.finish();
  }

 private:
  static constexpr std::size_t most_variables = 8, most_inputs = 56;

  // The last line that an update adds to the program: none for assign.
  static std::optional<scalar_function const*> line_of(node const& n) {
    if (n.op == &definition<ops::assign_op>()) return nullptr;
    if (n.op == &definition<ops::assign_add_op>()) return definition<ops::add_op>().elementwise;
    if (n.op == &definition<ops::assign_sub_op>()) return definition<ops::sub_op>().elementwise;
    return std::nullopt;
  }

  bool alone(std::uint32_t variable) const {
    return std::count_if(updates_of_.begin(), updates_of_.end(), [&](auto const& u) { return u.first == variable; }) ==
           1;
  }

  // The arithmetic's consumers, if all of them are updates that may join it.
  std::vector<std::uint32_t> updates(std::uint32_t i) const {
    auto const& n = part_[i];
    bool const elementwise = n.op->elementwise != nullptr || n.op == &definition<ops::fused_op>();
    if (!elementwise || fetched_[i] || !n.controls.empty() || !n.outputs[0].is_known()) return {};
    std::vector<std::uint32_t> found;
    for (auto c : consumers_[i]) {
      auto const& u = part_[c];
      if (!line_of(u) || u.inputs[1].node != i || fetched_[c] || !consumers_[c].empty()) return {};
      if (part_[u.inputs[0].node].op->name != "variable" || !alone(u.inputs[0].node)) return {};
      if (part_.type_of(u.inputs[0]) != part_.type_of(u.inputs[1])) return {};
      bool const reads_it = std::find(n.inputs.begin(), n.inputs.end(), u.inputs[0]) != n.inputs.end();
      if (*line_of(u) == nullptr && !reads_it) return {};  // it may have no value yet, that works in place
      found.push_back(c);
    }
    if (found.size() != n.outputs.size() || found.size() > most_variables ||
        n.inputs.size() + found.size() > most_inputs || one_waits_for_another(found))
      return {};
    return found;
  }

  // One may wait for another by way of what reads the one's variable. Who waits for one of those that are one node
  // already waits for all of them.
  bool one_waits_for_another(std::vector<std::uint32_t> const& updates) const {
    if (updates.size() < 2) return false;
    std::vector<bool> seen(part_.size());
    std::vector<std::uint32_t> todo;
    auto const go_on = [&](std::uint32_t i) { todo.insert(todo.end(), waiters_[i].begin(), waiters_[i].end()); };
    for (auto u : updates) go_on(u);
    while (!todo.empty()) {
      auto const i = todo.back();
      todo.pop_back();
      if (seen[i]) continue;
      seen[i] = true;
      auto const one = one_node_.find(i);
      if (one == one_node_.end()) go_on(i);
      else std::for_each(one->second.begin(), one->second.end(), go_on);
    }
    return std::any_of(updates.begin(), updates.end(), [&](auto u) { return seen[u]; });
  }

  void try_fuse(std::uint32_t i) {
    auto const found = updates(i);
    if (found.empty()) return;
    auto const& n = part_[i];
    auto const inner =
        n.op->elementwise ? single_line(n) : *std::get<std::shared_ptr<program const>>(n.attributes[0].second);
    node made;
    program p;
    for (auto u : found) {
      for (auto c : part_[u].controls)
        if (std::find(made.controls.begin(), made.controls.end(), c) == made.controls.end()) made.controls.push_back(c);
      made.inputs.push_back(part_[u].inputs[0]);
      made.outputs.push_back(part_.type_of(part_[u].inputs[0]));
      p.inputs.push_back(made.outputs.back().element);
    }
    std::vector<std::uint16_t> registers;
    for (auto e : n.inputs) {
      auto at = std::find(made.inputs.begin(), made.inputs.end(), e);  // the variable itself: this is its only update
      if (at == made.inputs.end()) {
        made.inputs.push_back(e);
        p.inputs.push_back(part_.type_of(e).element);
        at = made.inputs.end() - 1;
      }
      registers.push_back(static_cast<std::uint16_t>(at - made.inputs.begin()));
    }
    auto const next = [&] { return static_cast<std::uint16_t>(p.inputs.size() + p.instructions.size() - 1); };
    p.immediates = inner.immediates;
    for (std::size_t k = 0; k < p.immediates.size(); ++k)
      registers.push_back(static_cast<std::uint16_t>(immediate_mark + k));
    for (auto line : inner.instructions) {
      for (std::size_t k = 0; k < line.function->arity; ++k) line.operands[k] = registers[line.operands[k]];
      p.instructions.push_back(line);
      registers.push_back(next());
    }
    for (std::size_t v = 0; v < found.size(); ++v) {
      auto const& u = part_[found[v]];
      auto const from = registers[inner.outputs[u.inputs[1].port]];
      if (auto const* function = *line_of(u)) {
        p.instructions.push_back({function, {static_cast<std::uint16_t>(v), from}, p.inputs[v]});
        p.outputs.push_back(next());
      } else p.outputs.push_back(from);
    }
    if (!in_place(p, found.size())) return;
    settle(p);
    made.op = &definition<ops::fused_update_op>();
    made.name = part_[found[0]].name;
    made.attributes = {{"program", std::make_shared<program const>(std::move(p))},
                       {"references", static_cast<std::int64_t>(found.size())}};
    auto const at = rewriter_.add(std::move(made), part_.origin[found[0]]);
    for (std::uint32_t v = 0; v < found.size(); ++v) {
      rewriter_.replace({found[v], 0}, {at, v}, "works in place");
      one_node_[found[v]] = found;
    }
  }

  // Each result is computed (not handed on), and nothing reads a variable after its result is written.
  static bool in_place(program const& p, std::size_t variables) {
    for (std::size_t v = 0; v < variables; ++v) {
      auto const out = p.outputs[v];
      if (out >= immediate_mark || out < p.inputs.size()) return false;
      if (std::count(p.outputs.begin(), p.outputs.end(), out) != 1) return false;
      for (std::size_t s = 0; s < p.instructions.size(); ++s)
        for (std::size_t k = 0; k < p.instructions[s].function->arity; ++k)
          if (p.instructions[s].operands[k] == v && p.inputs.size() + s > out) return false;
    }
    return true;
  }

  program single_line(node const& n) const {
    program p;
    program::instruction line{n.op->elementwise, {}, n.outputs[0].element};
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      p.inputs.push_back(part_.type_of(n.inputs[k]).element);
      line.operands[k] = static_cast<std::uint16_t>(k);
    }
    p.instructions.push_back(line);
    p.outputs.push_back(static_cast<std::uint16_t>(n.inputs.size()));
    return p;
  }

  subgraph& part_;
  rewriter rewriter_;
  std::vector<std::vector<std::uint32_t>> consumers_, waiters_;
  std::vector<bool> fetched_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> updates_of_;  // variable, update
  std::map<std::uint32_t, std::vector<std::uint32_t>> one_node_;     // of each update that was fused, all of its node
};

}  // namespace detail

RILL_INLINE bool fuse_updates(subgraph& part, pass_report* report) { return detail::update_fusion(part, report).run(); }
#endif

}  // namespace rill
