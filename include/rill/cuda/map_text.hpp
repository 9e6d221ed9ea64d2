// Elementwise programs as CUDA source: each thread computes some elements of the results.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rill/program/collapse.hpp"
#include "rill/program/program.hpp"

namespace rill::cuda {

/// Whether each line of a program has a formula, and only element types that kernels support.
bool has_text(program const& p);

/// Returns the first lines of a text in which a program is computed. Counters have 64 bits if `wide`.
std::string program_head(bool wide);
/// Returns the text of a kernel `map` that computes a program. Its parameters are the addresses of the inputs and of
/// the outputs; if an operand is strided, the extents but for the outermost and the strides of each such operand; and
/// the number of elements: as unsigned numbers, of 64 bits if `wide`. The text depends on how operands lie, not on
/// extents.
std::string map_text(program const& p, collapsed_axes const& axes, bool wide);
/// Returns these extents and strides.
std::vector<std::uint64_t> counters_of(collapsed_axes const& axes);
/// Whether a kernel that goes through n elements needs counters of 64 bits: they go beyond n by the number of threads.
bool needs_wide_counters(std::size_t n);

/// Returns the text of a kernel `update` that computes a program for several members, each with arrays of its own. No
/// operand is strided, and counters have 32 bits. Its parameters are a table and the number of members in it. The table
/// has room for `members`, in order: the addresses of the inputs and of the outputs, then the number of elements and
/// the first of the member's blocks, both of 32 bits.
std::string update_text(program const& p, collapsed_axes const& axes, std::size_t members);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <charconv>
#include <cstring>

#include "rill/cuda/text_parts.hpp"

namespace rill::cuda {

namespace detail {

/// Writes what kernels need to compute a program for element i: parameters, and statements.
class program_writer {
 public:
  /// `given`: whether the text that surrounds it defines r0, the program's input 0, which is no parameter then.
  program_writer(program const& p, collapsed_axes const& axes, bool given = false)
      : program_(p), axes_(axes), first_(given ? 1 : 0) {}

  /// Return the declarations of the inputs' and of the outputs' addresses, and of extents and strides. Each has
  /// `between` behind it.
  std::string inputs(std::string_view between) const {
    std::string all;
    for (std::size_t i = first_; i < program_.inputs.size(); ++i)
      all += "global<" + name_in_text(program_.inputs[i]) + " const> " + number("x", i) + std::string(between);
    return all;
  }
  std::string outputs(std::string_view between) const {
    std::string all;
    for (std::size_t o = 0; o < program_.outputs.size(); ++o)
      all += "global<" + name_in_text(element(o)) + "> " + number("y", o) + std::string(between);
    return all;
  }
  std::string counters(std::string_view between) const {
    std::string all;
    for (std::size_t a = 1; any_strided() && a < axes_.extents.size(); ++a)
      all += "counter " + number("e", a) + std::string(between);
    for (std::size_t i = first_; i < program_.inputs.size(); ++i)
      for (std::size_t a = 0; strided(i) && a < axes_.extents.size(); ++a)
        all += "counter " + stride(i, a) + std::string(between);
    return all;
  }
  /// Returns the statements that compute all registers.
  std::string compute() {
    text_.clear();
    if (any_strided()) find_coordinates();
    for (std::size_t i = first_; i < program_.inputs.size(); ++i) read(i);
    for (std::size_t i = 0; i < program_.immediates.size(); ++i) set(i);
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) compute(i);
    return std::move(text_);
  }
  /// Returns the statements that write the outputs.
  std::string write() const {
    std::string text;
    for (std::size_t o = 0; o < program_.outputs.size(); ++o)
      text += "    y" + std::to_string(o) + "[i] = " + result(o) + ";\n";
    return text;
  }
  /// Return the register of an output, and its element type.
  std::string result(std::size_t o) const { return reg(program_.outputs[o]); }
  dtype element(std::size_t o) const { return program_.element(program_.outputs[o]); }

 private:
  static std::string number(std::string_view of, std::size_t i) { return std::string(of) + std::to_string(i); }
  static std::string reg(std::size_t r) { return number("r", r); }
  static std::string stride(std::size_t i, std::size_t axis) { return number("s", i) + "_" + std::to_string(axis); }
  bool strided(std::size_t i) const { return axes_.operands[i].how == access::strided; }
  bool any_strided() const {
    return std::any_of(axes_.operands.begin(), axes_.operands.end(),
                       [](auto const& o) { return o.how == access::strided; });
  }

  void find_coordinates() {
    text_ += "    counter rest = i;\n";
    for (std::size_t a = axes_.extents.size() - 1; a > 0; --a)
      text_ += "    counter const " + number("c", a) + " = rest % " + number("e", a) +
               ";\n    rest /= " + number("e", a) + ";\n";
  }
  void read(std::size_t i) {
    std::string at = "i";
    if (axes_.operands[i].how == access::scalar) at = "0";
    else if (strided(i)) {
      at = "rest * " + stride(i, 0);
      for (std::size_t a = 1; a < axes_.extents.size(); ++a) at += " + " + number("c", a) + " * " + stride(i, a);
    }
    define(i, number("x", i) + "[" + at + "]");
  }
  // Immediates are written as bits, so NaNs and infinities are exact too.
  void set(std::size_t i) {
    auto const& v = program_.immediates[i];
    std::uint64_t bits = 0;
    std::memcpy(&bits, v.bytes.data(), size_of(v.element));
    char digits[17];
    auto const end = std::to_chars(digits, digits + 16, bits, 16).ptr;
    define(program_.inputs.size() + i,
           "from_bits<" + name_in_text(v.element) + ">(0x" + std::string(digits, end) + "ul)");
  }
  void compute(std::size_t i) {
    auto const& line = program_.instructions[i];
    auto const last = program_.element(line.operands[line.function->arity - 1u]);
    std::vector<std::string> operands;
    for (std::size_t k = 0; k < line.function->arity; ++k) {
      bool const truth = program_.element(line.operands[k]) == dtype::boolean && last != dtype::boolean;
      operands.push_back((truth ? "L::truth(" : "L(") + reg(line.operands[k]) + ")");
    }
    std::vector<std::string_view> const names(operands.begin(), operands.end());
    std::string const result = name_in_text(line.result), to = reg(program_.first_result() + i);
    text_ += "    " + result + " " + to + ";\n    {\n      using L = lane<" + name_in_text(last) +
             ">;\n      using W = wide<L>;\n      using R = " + result + ";\n      " + to + " = number<R>(" +
             line.function->formula(names.data()) + ");\n    }\n";
  }
  void define(std::size_t r, std::string const& value) {
    text_ += "    " + name_in_text(program_.element(r)) + " const " + reg(r) + " = " + value + ";\n";
  }

  program const& program_;
  collapsed_axes const& axes_;
  std::size_t const first_;
  std::string text_;
};

}  // namespace detail

RILL_CUDA_INLINE bool has_text(program const& p) {
  for (std::size_t r = 0; r < p.registers(); ++r)
    if (!is_in_text(p.element(r))) return false;
  return std::all_of(p.instructions.begin(), p.instructions.end(),
                     [](auto const& line) { return line.function->formula != nullptr; });
}

RILL_CUDA_INLINE std::string program_head(bool wide) {
  return "#include \"rill/cuda/text/global.cuh\"\n" + text_head("lanes.cuh") +
         "using counter = " + counter_in_text(wide) + ";\n";
}
RILL_CUDA_INLINE std::string map_text(program const& p, collapsed_axes const& axes, bool wide) {
  detail::program_writer of(p, axes);
  return program_head(wide) + "extern \"C\" __global__ void map(" + of.inputs(", ") + of.outputs(", ") +
         of.counters(", ") +
         "counter n) {\n"
         "  counter const all = static_cast<counter>(gridDim.x) * blockDim.x;\n"
         "  for (counter i = static_cast<counter>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += all) {\n" +
         of.compute() + of.write() + "  }\n}\n";
}

// A block finds its member by bisection.
RILL_CUDA_INLINE std::string update_text(program const& p, collapsed_axes const& axes, std::size_t members) {
  detail::program_writer of(p, axes);
  return program_head(false) + "struct member {\n  " + of.inputs("; ") + of.outputs("; ") +
         "unsigned n, first;\n"
         "  void compute(counter i) const {\n" +
         of.compute() + of.write() +
         "  }\n"
         "};\n"
         "struct member_table {\n"
         "  member of[" +
         std::to_string(members) +
         "];\n"
         "};\n"
         "extern \"C\" __global__ void update(__grid_constant__ member_table const all, unsigned count) {\n"
         "  unsigned at = 0;\n"
         "  for (unsigned end = count; end - at > 1;) {\n"
         "    unsigned const middle = (at + end) / 2;\n"
         "    (all.of[middle].first > blockIdx.x ? end : at) = middle;\n"
         "  }\n"
         "  member const& m = all.of[at];\n"
         "  counter const i = (blockIdx.x - m.first) * blockDim.x + threadIdx.x;\n"
         "  if (i < m.n) m.compute(i);\n"
         "}\n";
}

RILL_CUDA_INLINE std::vector<std::uint64_t> counters_of(collapsed_axes const& axes) {
  std::vector<std::uint64_t> all;
  bool const any_strided =
      std::any_of(axes.operands.begin(), axes.operands.end(), [](auto const& o) { return o.how == access::strided; });
  for (std::size_t a = 1; any_strided && a < axes.extents.size(); ++a)
    all.push_back(static_cast<std::uint64_t>(axes.extents[a]));
  for (auto const& o : axes.operands)
    for (std::size_t a = 0; o.how == access::strided && a < axes.extents.size(); ++a)
      all.push_back(static_cast<std::uint64_t>(o.strides[a]));
  return all;
}
RILL_CUDA_INLINE bool needs_wide_counters(std::size_t n) { return n > UINT32_MAX / 2; }

}  // namespace rill::cuda
#endif
