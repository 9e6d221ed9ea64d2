// Register programs: the form of an elementwise operation, of a fused group of them, and of a `fuse` lambda.
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

/// Computes `n` contiguous elements of a result from `n` elements of each operand (a bool is a byte of 0 or 1). The
/// result may have the memory of an operand.
using tile_function = void (*)(void* result, void const* const* operands, std::size_t n);

/// The most operands of an elementwise function.
inline constexpr std::size_t max_operands = 6;

/// An elementwise function of programs.
struct scalar_function {
  std::string_view name;
  std::uint8_t arity = 1;
  /// Returns the element type of the result for operands of these types.
  dtype (*result)(dtype const* operands, dtype wish) = nullptr;
  /// Returns the tile function for operands of these types and this result; null if there is none.
  tile_function (*tile)(dtype const* operands, dtype result) = nullptr;
  /// Returns a C++ expression of lanes for these operand names; null: the function has only its tile functions. In it
  /// `L` is the lane type of the last operand's elements, and `R` the type of the result's elements. Operands are of
  /// type L, or `L::truth` where the operation `takes_mask`; the result is a lane or a truth value. Besides the
  /// functions of lanes (scalar.hpp) it may call
  /// - `converted<R>(x)`: a cast, only in functions of one operand;
  /// - `widened(x)`, which returns the lane type `W` in which functions of several operations compute (float for 16-bit
  ///   floats, else L itself), and `rounded<L>(y)`, which converts the result back to L or L::truth.
  /// Constants are `L(0x1.8p+0)`, `L(-1)`, `W(0x1p-1)`. Names beginning with `part` are reserved.
  std::string (*formula)(std::string_view const* operands) = nullptr;
  /// The operation that records the function in a graph; null if there is none.
  op_def const* operation = nullptr;
  /// The name of a binary function that can be computed in the same pass, from this function's result and one more
  /// operand; "" if there is none.
  std::string_view then = {};
  /// Returns the tile function of both, for operands of one type; null if there is none.
  tile_function (*joined)(dtype) = nullptr;
};

/// A constant of a program.
struct immediate {
  dtype element = dtype::float32;
  alignas(16) std::array<std::byte, 16> bytes{};  // kernels may read it in place
  template <rill::element T> static immediate of(T const& v) {
    static_assert(sizeof(T) <= 16);
    immediate i{dtype_of<T>, {}};
    std::memcpy(i.bytes.data(), &v, sizeof(T));
    return i;
  }
  friend bool operator==(immediate const&, immediate const&) = default;
};

/// A program on numbered registers: first the inputs, then the immediates, then a register for each instruction's
/// result.
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
  /// The whole program compiled to one function of its inputs, all of the output's type; null if there is none.
  scalar_function const* native = nullptr;

  std::size_t registers() const { return inputs.size() + immediates.size() + instructions.size(); }
  std::size_t first_result() const { return inputs.size() + immediates.size(); }
  dtype element(std::size_t reg) const;
  friend bool operator==(program const&, program const&) = default;
};

/// Throws error(invalid_argument) if the registers, arities or element types of a program are inconsistent.
void verify(program const& p);

/// Returns the program as text, a line for each instruction: for listings, and as a portable form that names functions.
std::string text(program const& p);

#if RILL_RUNTIME

RILL_INLINE dtype program::element(std::size_t reg) const {
  if (reg < inputs.size()) return inputs[reg];
  if (reg < first_result()) return immediates[reg - inputs.size()].element;
  return instructions[reg - first_result()].result;
}

RILL_INLINE void verify(program const& p) {
  expects(p.registers() <= 65536, "a program has more than 65536 registers");
  for (auto i : p.inputs) expects(i != dtype::string, "a program can't compute with strings");
  for (auto const& i : p.immediates) expects(i.element != dtype::string, "a program can't compute with strings");
  for (std::size_t i = 0; i < p.instructions.size(); ++i) {
    auto const& step = p.instructions[i];
    expects(step.function != nullptr && step.function->arity <= max_operands,
            "a program's instruction has no function");
    dtype operands[max_operands] = {};
    for (std::size_t k = 0; k < step.function->arity; ++k) {
      expects(step.operands[k] < p.first_result() + i,
              "a program's instruction reads a register that is not written before");
      operands[k] = p.element(step.operands[k]);
    }
    expects(step.function->tile(operands, step.result) != nullptr,
            "a program's instruction has no kernel for its element types");
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
