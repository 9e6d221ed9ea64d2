// The passes that compute a program: one tile function for each line, or for two lines together.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rill/program/program.hpp"

namespace rill {

/// Returns the tile function of an instruction; throws error(unimplemented) if there is none.
tile_function tile_for(program const& p, program::instruction const& i);

/// A pass over a tile, which computes one line of a program, or two.
struct program_pass {
  tile_function run = nullptr;
  std::uint8_t arity = 0;
  std::array<std::uint16_t, max_operands> operands{};
  std::uint16_t result = 0;
};

/// Returns the passes of a program, in order; throws error(unimplemented) if a line has no tile function.
std::vector<program_pass> passes_of(program const& p);

#if RILL_RUNTIME
RILL_INLINE tile_function tile_for(program const& p, program::instruction const& i) {
  dtype types[max_operands] = {};
  for (std::size_t k = 0; k < i.function->arity; ++k) types[k] = p.element(i.operands[k]);
  auto const run = i.function->tile(types, i.result);
  if (run == nullptr)
    throw error(code::unimplemented,
                std::string(i.function->name) + " has no kernel for " + std::string(name(types[0])));
  return run;
}

namespace detail {

/// Returns the pass that also computes operand k, which has no other reader; its function is null if there is none.
RILL_INLINE program_pass with_operand(program const& p, program_pass const& pass, std::string_view name,
                                      std::size_t k) {
  auto const r = pass.operands[k];
  if (pass.arity != 2 || r < p.first_result()) return {};
  auto const& before = p.instructions[r - p.first_result()];
  if (before.function->then != name) return {};
  program_pass both{before.function->joined(before.result), before.function->arity, before.operands, pass.result};
  both.operands[both.arity++] = pass.operands[1 - k];  // joined functions commute
  return both;
}

}  // namespace detail

RILL_INLINE std::vector<program_pass> passes_of(program const& p) {
  auto const pass_of = [&](std::size_t i) -> program_pass {
    auto const& line = p.instructions[i];
    return {tile_for(p, line), line.function->arity, line.operands, static_cast<std::uint16_t>(p.first_result() + i)};
  };
  if (p.instructions.size() == 1) return {pass_of(0)};
  std::vector<std::uint8_t> uses(p.registers());
  auto const use = [&](std::size_t r) { uses[r] = static_cast<std::uint8_t>(std::min(uses[r] + 1, 2)); };
  for (auto const& line : p.instructions)
    for (std::size_t k = 0; k < line.function->arity; ++k) use(line.operands[k]);
  for (auto out : p.outputs) use(out), use(out);
  std::vector<program_pass> all;
  std::vector<bool> joined(p.registers());   // results whose pass also computes another line
  std::vector<bool> skipped(p.registers());  // results that another line's pass computes
  for (std::size_t i = 0; i < p.instructions.size(); ++i) {
    all.push_back(pass_of(i));
    auto const alone = all.back();
    for (std::size_t k = 0; k < alone.arity && !joined[alone.result]; ++k) {
      auto const r = alone.operands[k];
      if (uses[r] != 1 || joined[r]) continue;
      auto const both = detail::with_operand(p, alone, p.instructions[i].function->name, k);
      if (both.run == nullptr) continue;
      all.back() = both;
      joined[alone.result] = skipped[r] = true;
    }
  }
  std::erase_if(all, [&](auto const& pass) { return skipped[pass.result]; });
  return all;
}
#endif

}  // namespace rill
