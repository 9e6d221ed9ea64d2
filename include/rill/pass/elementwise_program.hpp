// Turns elementwise nodes of a subgraph into the lines of one program.
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

/// Builds a program from nodes of a subgraph, which are added after the nodes that they read.
class elementwise_program {
 public:
  explicit elementwise_program(subgraph const& sub) : subgraph_(sub) {}

  /// Whether a node can be added: it is elementwise, its extents are known, and it neither reads nor makes strings.
  static bool takes(subgraph const& sub, std::uint32_t i) {
    auto const& n = sub[i];
    if (n.op->effect != effect::none || n.outputs.empty() || !n.outputs[0].is_known()) return false;
    auto const of_strings = [&](endpoint e) {
      return sub.type_of(e).element == dtype::string;
    };  // inputs of `equal` may be strings
    if (n.outputs[0].element == dtype::string || std::any_of(n.inputs.begin(), n.inputs.end(), of_strings))
      return false;
    return n.op->elementwise != nullptr || n.op == &definition<ops::fused_op>();
  }

  /// Returns the number of registers that a node adds, without the registers of its inputs.
  static std::size_t size_of(node const& n) { return n.op->elementwise ? 1 : ops::program_of(n).registers(); }
  /// The limit of passes. Longer programs gain nothing, and registers are numbered with 16 bits.
  static constexpr std::size_t most_registers = 4096;

  static constexpr std::uint16_t none = UINT16_MAX;
  /// Returns the register of a value, or `none`.
  std::uint16_t find(endpoint e) const {
    auto const at = place_.find(e);
    return at == place_.end() ? none : at->second;
  }
  /// Makes a register hold a value.
  void alias(endpoint e, std::uint16_t reg) { place_.emplace(e, reg); }

  /// Adds an input; all inputs come before the nodes.
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
  /// Adds the lines of a node: its function, or the program of a node that is already fused.
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
  /// Adds a line that computes a value.
  void add_line(endpoint e, program::instruction const& line) { alias(e, append(line)); }
  program const& so_far() const { return program_; }

  /// Returns the program, with these values as its results.
  program finish(std::vector<endpoint> const& results) {
    for (auto e : results) program_.outputs.push_back(find(e));
    number_registers(program_);
    return std::move(program_);
  }

 private:
  // Immediates are numbered from `immediate_mark` on until `finish`, as in symbols.
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
