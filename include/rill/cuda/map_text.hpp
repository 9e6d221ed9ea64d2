// Elementwise programs as CUDA source: each thread computes some elements of the results.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "rill/program/collapse.hpp"
#include "rill/program/program.hpp"

namespace rill::cuda {

/// Whether each line of a program has a formula, and only element types that kernels support.
bool has_text(program const& p);

/// Returns the name of an element type in CUDA source.
std::string_view name_in_text(dtype element);

/// Returns the text of a kernel `map` that computes a program. Its parameters are the addresses of the inputs and of
/// the outputs, the number of elements, and, if an operand is strided, the extents but for the outermost and the
/// strides of each such operand: as unsigned numbers, of 64 bits if `wide`. The text depends on how operands lie, not
/// on extents.
std::string map_text(program const& p, collapsed_axes const& axes, bool wide);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace rill::cuda {

namespace detail {

inline bool is_in_text(dtype element) {
  return element != dtype::string && element != dtype::complex64 && element != dtype::complex128;
}

/// Writes the text of a map.
class map_writer {
 public:
  map_writer(program const& p, collapsed_axes const& axes, bool wide) : program_(p), axes_(axes), wide_(wide) {}

  std::string write() {
    text_ =
        "#include \"rill/cuda/text/global.cuh\"\n"
        "#include \"rill/cuda/text/lanes.cuh\"\n"
        "using namespace rill::text;\n"
        "using counter = unsigned" +
        std::string(wide_ ? " long" : "") + ";\n";
    begin();
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) read(i);
    for (std::size_t i = 0; i < program_.immediates.size(); ++i) set(i);
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) compute(i);
    for (std::size_t o = 0; o < program_.outputs.size(); ++o)
      text_ += "    y" + std::to_string(o) + "[i] = " + reg(program_.outputs[o]) + ";\n";
    return std::move(text_) + "  }\n}\n";
  }

 private:
  static std::string number(std::string_view of, std::size_t i) { return std::string(of) + std::to_string(i); }
  static std::string reg(std::size_t r) { return number("r", r); }
  bool strided(std::size_t i) const { return axes_.operands[i].how == access::strided; }
  bool any_strided() const {
    return std::any_of(axes_.operands.begin(), axes_.operands.end(),
                       [](auto const& o) { return o.how == access::strided; });
  }

  void begin() {
    text_ += "extern \"C\" __global__ void map(";
    for (std::size_t i = 0; i < program_.inputs.size(); ++i)
      text_ += "global<" + std::string(name_in_text(program_.inputs[i])) + " const> " + number("x", i) + ", ";
    for (std::size_t o = 0; o < program_.outputs.size(); ++o)
      text_ +=
          "global<" + std::string(name_in_text(program_.element(program_.outputs[o]))) + "> " + number("y", o) + ", ";
    text_ += "counter n";
    if (any_strided())
      for (std::size_t a = 1; a < axes_.extents.size(); ++a) text_ += ", counter " + number("e", a);
    for (std::size_t i = 0; i < program_.inputs.size(); ++i)
      for (std::size_t a = 0; strided(i) && a < axes_.extents.size(); ++a) text_ += ", counter " + stride(i, a);
    text_ +=
        ") {\n"
        "  counter const all = static_cast<counter>(gridDim.x) * blockDim.x;\n"
        "  for (counter i = static_cast<counter>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += all) {\n";
    if (!any_strided()) return;
    text_ += "    counter rest = i;\n";
    for (std::size_t a = axes_.extents.size() - 1; a > 0; --a)
      text_ += "    counter const " + number("c", a) + " = rest % " + number("e", a) +
               ";\n    rest /= " + number("e", a) + ";\n";
  }
  static std::string stride(std::size_t i, std::size_t axis) { return number("s", i) + "_" + std::to_string(axis); }

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
           "from_bits<" + std::string(name_in_text(v.element)) + ">(0x" + std::string(digits, end) + "ul)");
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
    std::string const result(name_in_text(line.result)), to = reg(program_.first_result() + i);
    text_ += "    " + result + " " + to + ";\n    {\n      using L = lane<" + std::string(name_in_text(last)) +
             ">;\n      using W = wide<L>;\n      using R = " + result + ";\n      " + to + " = number<R>(" +
             line.function->formula(names.data()) + ");\n    }\n";
  }
  void define(std::size_t r, std::string const& value) {
    text_ += "    " + std::string(name_in_text(program_.element(r))) + " const " + reg(r) + " = " + value + ";\n";
  }

  program const& program_;
  collapsed_axes const& axes_;
  bool const wide_;
  std::string text_;
};

}  // namespace detail

RILL_CUDA_INLINE std::string_view name_in_text(dtype element) {
  switch (element) {
    case dtype::boolean:
      return "bool";
    case dtype::int8:
      return "std::int8_t";
    case dtype::int16:
      return "std::int16_t";
    case dtype::int32:
      return "std::int32_t";
    case dtype::int64:
      return "std::int64_t";
    case dtype::uint8:
      return "std::uint8_t";
    case dtype::uint16:
      return "std::uint16_t";
    case dtype::uint32:
      return "std::uint32_t";
    case dtype::uint64:
      return "std::uint64_t";
    case dtype::float16:
      return "rill::half";
    case dtype::bfloat16:
      return "rill::bfloat16";
    case dtype::float32:
      return "float";
    case dtype::float64:
      return "double";
    default:
      throw error(code::internal, "GPU kernels don't support elements of type " + std::string(name(element)));
  }
}

RILL_CUDA_INLINE bool has_text(program const& p) {
  for (std::size_t r = 0; r < p.registers(); ++r)
    if (!detail::is_in_text(p.element(r))) return false;
  return std::all_of(p.instructions.begin(), p.instructions.end(),
                     [](auto const& line) { return line.function->formula != nullptr; });
}

RILL_CUDA_INLINE std::string map_text(program const& p, collapsed_axes const& axes, bool wide) {
  return detail::map_writer(p, axes, wide).write();
}

}  // namespace rill::cuda
#endif
