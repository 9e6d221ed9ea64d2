// A register program: what an elementwise operation, a fused group of them or a `fuse` lambda becomes.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "rill/base/error.hpp"
#include "rill/type/dtype.hpp"

namespace rill {

struct op_def;

/// Computes `n` contiguous elements of a result from as many of each operand (a bool is a byte of 0 or 1). The result
/// may be one of the operands.
using tile_function = void (*)(void* result, void const* const* operands, std::size_t n);

/// The most operands of an elementwise function.
inline constexpr std::size_t max_operands = 6;

/// An elementwise function as programs know it.
struct scalar_function {
  std::string_view name;
  std::uint8_t arity = 1;
  /// The element type of the result for operands of these types.
  dtype (*result)(dtype const* operands, dtype wish) = nullptr;
  /// The tile function for operands of these types and this result; null if there is none.
  tile_function (*tile)(dtype const* operands, dtype result) = nullptr;
  /// How the function is written in CUDA C++, `$0`, `$1`, … being the operands.
  std::string_view cuda = {};
  /// The operation that records it in a graph; null if there is none.
  op_def const* operation = nullptr;
  /// The name of a function of two operands that can be computed in the same pass, of this one's result and an operand
  /// more; "" if there is none.
  std::string_view then = {};
  /// The tile function of both, for operands of one type; null if there is none.
  tile_function (*joined)(dtype) = nullptr;
};

/// A number that a program carries in itself.
struct immediate {
  dtype element = dtype::float32;
  alignas(16) std::array<std::byte, 16> bytes{};  // kernels may read it in its place
  template <rill::element T> static immediate of(T const& v) {
    static_assert(sizeof(T) <= 16);
    immediate i{dtype_of<T>, {}};
    std::memcpy(i.bytes.data(), &v, sizeof(T));
    return i;
  }
  friend bool operator==(immediate const&, immediate const&) = default;
};

/// Registers are numbered: first the inputs, then the immediates, then one for each instruction's result.
struct program {
  struct instruction {
    scalar_function const* function = nullptr;
    std::array<std::uint16_t, max_operands> operands{};
    dtype result = dtype::float32;
    friend bool operator==(instruction const&, instruction const&) = default;
  };
  std::vector<dtype> inputs;
  std::vector<immediate> immediates;
  std::vector<instruction> instructions;
  std::vector<std::uint16_t> outputs;
  /// The whole program as one function of its inputs, all of the output's type; null if nobody compiled it.
  scalar_function const* native = nullptr;

  std::size_t registers() const { return inputs.size() + immediates.size() + instructions.size(); }
  std::size_t first_result() const { return inputs.size() + immediates.size(); }
  dtype element(std::size_t reg) const;
  friend bool operator==(program const&, program const&) = default;
};

/// Refuses a program whose registers, arities or element types don't fit together: error(invalid_argument).
void verify(program const& p);

/// The program as text, a line for each instruction: for listings, and as the portable form that names functions.
std::string text(program const& p);

#if RILL_RUNTIME

RILL_INLINE dtype program::element(std::size_t reg) const {
  if (reg < inputs.size()) return inputs[reg];
  if (reg < first_result()) return immediates[reg - inputs.size()].element;
  return instructions[reg - first_result()].result;
}

RILL_INLINE void verify(program const& p) {
  expects(p.registers() <= 65536, "a program has more registers than can be numbered");
  for (auto i : p.inputs) expects(i != dtype::string, "a program does not compute with strings");
  for (auto const& i : p.immediates) expects(i.element != dtype::string, "a program does not compute with strings");
  for (std::size_t i = 0; i < p.instructions.size(); ++i) {
    auto const& step = p.instructions[i];
    expects(step.function != nullptr && step.function->arity <= max_operands,
            "a program's instruction has no function");
    dtype operands[max_operands] = {};
    for (std::size_t k = 0; k < step.function->arity; ++k) {
      expects(step.operands[k] < p.first_result() + i,
              "a program's instruction reads a register that is written later");
      operands[k] = p.element(step.operands[k]);
    }
    expects(step.function->tile(operands, step.result) != nullptr, "a program's instruction has no such element types");
  }
  expects(!p.outputs.empty(), "a program has no output");
  for (auto out : p.outputs) expects(out < p.registers(), "a program's output is not one of its registers");
}

RILL_INLINE std::string text(program const& p) {
  std::string s;
  for (std::size_t i = 0; i < p.instructions.size(); ++i) {
    auto const& step = p.instructions[i];
    s += "r" + std::to_string(p.first_result() + i) + ":" + std::string(name(step.result)) + " = " +
         std::string(step.function->name) + "(";
    for (std::size_t k = 0; k < step.function->arity; ++k) s += (k ? ", r" : "r") + std::to_string(step.operands[k]);
    s += ")\n";
  }
  return s;
}

#endif

}  // namespace rill
