// What a kernel reads or writes element by element: an array, or a program that runs before or after the kernel's own
// work. The array between the two is then never stored (docs/architecture/gpus.md).
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/program/collapse.hpp"
#include "rill/program/program.hpp"

namespace rill::cuda {

/// A parameter of a kernel, as bytes.
class kernel_argument {
 public:
  /// The address of an array.
  kernel_argument(void const* array) : array_(array) {}
  /// The parameter of a program.
  explicit kernel_argument(std::vector<std::byte> packed) : packed_(std::move(packed)) {}

  /// Returns where the parameter lies, for a launch.
  void* at() { return packed_.empty() ? static_cast<void*>(&array_) : packed_.data(); }

 private:
  void const* array_ = nullptr;
  std::vector<std::byte> packed_;
};

/// How the text of a kernel names an operand.
struct operand_in_text {
  std::string definitions;  ///< what stands before the kernel (head_with)
  std::string parameter;    ///< the type of its parameter
  std::string wrapper;      ///< what makes an operand of the parameter; empty: it is one

  /// Returns the operand, by the parameter's name.
  std::string of(std::string const& name) const { return wrapper.empty() ? name : wrapper + "(" + name + ")"; }
};

/// Returns how a text names an array of such elements, "float const".
operand_in_text array_in_text(std::string_view element);
/// Returns the first lines of a text, as text_head does, and the definitions of operands.
std::string head_with(std::string_view header, std::string const& definitions);

/// A program before a kernel's work, which computes what the kernel reads, or after it, which takes what the kernel
/// computes as its input 0.
class bound_operand {
 public:
  enum class place { before, after };

  /// `shapes`: of the program's inputs; `to`: of its outputs.
  bound_operand(program p, std::vector<shape> const& shapes, shape const& to, place where);

  operand_in_text in_text() const;
  /// Returns the number of arrays that the program reads and writes beside the kernel.
  std::size_t arrays() const;
  /// Returns the parameter for the addresses of these arrays: inputs, then outputs.
  kernel_argument bind(void const* const* addresses) const;

 private:
  program program_;
  collapsed_axes axes_;
  place where_;
  bool wide_;
};

/// The programs before and after the work of a kernel, on its input 0 and its output 0.
struct kernel_ends {
  std::optional<bound_operand> before = {}, after = {};

  /// Returns how a text names input 0 and output 0, arrays of these elements if there is no program.
  operand_in_text input(std::string_view element) const;
  operand_in_text output(std::string_view element) const;
};

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <cstdint>
#include <cstring>

#include "rill/cuda/map_text.hpp"
#include "rill/cuda/text_parts.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE operand_in_text array_in_text(std::string_view element) {
  return {{}, "global<" + std::string(element) + ">", {}};
}

RILL_CUDA_INLINE std::string head_with(std::string_view header, std::string const& definitions) {
  if (definitions.empty()) return text_head(header);
  return "#include \"rill/cuda/text/lanes.cuh\"\n#include \"rill/cuda/text/operands.cuh\"\n" + text_head(header) +
         definitions;
}

RILL_CUDA_INLINE bound_operand::bound_operand(program p, std::vector<shape> const& shapes, shape const& to, place where)
    : program_(std::move(p)),
      axes_(collapse(shapes, to)),
      where_(where),
      wide_(needs_wide_counters(static_cast<std::size_t>(elements(to)))) {}

RILL_CUDA_INLINE operand_in_text bound_operand::in_text() const {
  bool const after = where_ == place::after;
  detail::program_writer of(program_, axes_, after);
  std::string const name = after ? "after" : "before";
  auto text = "struct " + name + " {\n  using counter = " + counter_in_text(wide_) + ";\n  ";
  text += of.inputs("; ") + (after ? of.outputs("; ") : "") + of.counters("; ");
  if (after)
    text += "\n  using taken = " + name_in_text(program_.inputs[0]) + ";\n  void take(counter i, taken r0) const {\n" +
            of.compute() + of.write();
  else
    text += "\n  " + name_in_text(of.element(0)) + " at(counter i) const {\n" + of.compute() + "    return " +
            of.result(0) + ";\n";
  return {text + "  }\n};\n", "__grid_constant__ " + name + " const", after ? "consumed" : "computed"};
}

RILL_CUDA_INLINE std::size_t bound_operand::arrays() const {
  return where_ == place::before ? program_.inputs.size() : program_.inputs.size() - 1 + program_.outputs.size();
}

RILL_CUDA_INLINE kernel_argument bound_operand::bind(void const* const* addresses) const {
  auto const numbers = counters_of(axes_);
  std::size_t const pointers = arrays() * sizeof(void*), each = wide_ ? 8 : 4;
  std::vector<std::byte> all((pointers + numbers.size() * each + 7) / 8 * 8);
  std::memcpy(all.data(), addresses, pointers);
  // A number of 32 bits is the first half of one of 64 bits.
  for (std::size_t i = 0; i < numbers.size(); ++i) std::memcpy(all.data() + pointers + i * each, &numbers[i], each);
  return kernel_argument(std::move(all));
}

RILL_CUDA_INLINE operand_in_text kernel_ends::input(std::string_view element) const {
  return before ? before->in_text() : array_in_text(std::string(element) + " const");
}
RILL_CUDA_INLINE operand_in_text kernel_ends::output(std::string_view element) const {
  return after ? after->in_text() : array_in_text(element);
}

}  // namespace rill::cuda
#endif
