// Elementwise nodes of a subgraph as the lines of one program.
#pragma once
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "rill/graph/subgraph.hpp"
#include "rill/ops/list/fuse.hpp"

namespace rill::detail {

/// A program that nodes of a subgraph are added to, each after those that it reads.
class elementwise_program {
 public:
  explicit elementwise_program(subgraph const& sub) : subgraph_(sub) {}

  /// Whether a node can be added: it is elementwise, its extents are known, and it has nothing to do with strings.
  static bool takes(subgraph const& sub, std::uint32_t i) {
    auto const& n = sub[i];
    if (n.op->effect != effect::none || n.outputs.empty() || !n.outputs[0].is_known()) return false;
    auto const of_strings = [&](endpoint e) { return sub.type_of(e).element == dtype::string; };  // equal's may be
    if (n.outputs[0].element == dtype::string || std::any_of(n.inputs.begin(), n.inputs.end(), of_strings))
      return false;
    return n.op->elementwise != nullptr || n.op == &definition<ops::fused_op>();
  }

  /// Registers that a node adds, but for those of its inputs.
  static std::size_t size_of(node const& n) { return n.op->elementwise ? 1 : ops::program_of(n).registers(); }
  /// Passes make no longer programs: far from what can be numbered, and what they gain does not grow any more.
  static constexpr std::size_t most_registers = 4096;

  static constexpr std::uint16_t none = UINT16_MAX;
  /// The register of a value; none: it has none yet.
  std::uint16_t find(endpoint e) const {
    auto const at = place_.find(e);
    return at == place_.end() ? none : at->second;
  }
  /// The value is what the register holds.
  void alias(endpoint e, std::uint16_t reg) { place_.emplace(e, reg); }

  /// An input comes before all nodes.
  void add_input(endpoint e) {
    alias(e, static_cast<std::uint16_t>(program_.inputs.size()));
    program_.inputs.push_back(subgraph_.type_of(e).element);
  }
  void add_constant(endpoint e) {
    auto const& t = constant_value(subgraph_[e.node]);
    immediate i{t.element(), {}};
    std::memcpy(i.bytes.data(), t.raw(), rill::size_of(t.element()));
    alias(e, add_immediate(i));
  }
  /// The lines of a node: its function, or the whole program of what was fused already.
  void add(std::uint32_t m) {
    auto const& n = subgraph_[m];
    if (n.op->elementwise != nullptr) {
      program::instruction line{n.op->elementwise, {}, n.outputs[0].element};
      for (std::size_t k = 0; k < n.inputs.size(); ++k) line.operands[k] = find(n.inputs[k]);
      return add_line({m, 0}, line);
    }
    auto const& inner = ops::program_of(n);
    std::vector<std::uint16_t> registers;
    for (auto e : n.inputs) registers.push_back(find(e));
    for (auto const& i : inner.immediates) registers.push_back(add_immediate(i));
    for (auto line : inner.instructions) {
      for (std::size_t k = 0; k < line.function->arity; ++k) line.operands[k] = registers[line.operands[k]];
      registers.push_back(append(line));
    }
    for (std::uint32_t o = 0; o < inner.outputs.size(); ++o) alias({m, o}, registers[inner.outputs[o]]);
  }
  /// A line of its own, which gives the value.
  void add_line(endpoint e, program::instruction const& line) { alias(e, append(line)); }
  program const& so_far() const { return program_; }

  /// The program that returns these values.
  program finish(std::vector<endpoint> const& results) {
    for (auto e : results) program_.outputs.push_back(find(e));
    number_registers(program_);
    return std::move(program_);
  }

 private:
  // Marked as in symbols: immediates from the top.
  std::uint16_t add_immediate(immediate const& i) {
    program_.immediates.push_back(i);
    return static_cast<std::uint16_t>(immediate_mark + program_.immediates.size() - 1);
  }
  std::uint16_t append(program::instruction const& line) {
    program_.instructions.push_back(line);
    return static_cast<std::uint16_t>(program_.inputs.size() + program_.instructions.size() - 1);
  }

  subgraph const& subgraph_;
  program program_;
  std::map<endpoint, std::uint16_t> place_;
};

}  // namespace rill::detail
