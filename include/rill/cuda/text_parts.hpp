// Parts of the CUDA source that kernels are compiled from: its first lines, the frame of a kernel, and names of types.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "rill/type/dtype.hpp"

namespace rill::cuda {

/// Returns the first lines of a text. They include a header of cuda/text/ and make its names visible.
std::string text_head(std::string_view header);
/// Returns the same, with the include of cstdint before that of the header.
std::string text_head_with_cstdint(std::string_view header);
/// Returns the definition of a kernel with one statement. `signature` is its name and its parameters; `launch_bounds`
/// has the arguments of __launch_bounds__ in parentheses, and may be empty.
std::string kernel_in_text(std::string_view signature, std::string_view statement, std::string_view launch_bounds = {});

/// Whether kernels can compute with elements of a type.
bool is_in_text(dtype element);
/// Returns the name of an element type. Throws error(internal) for strings and complex numbers.
std::string name_in_text(dtype element);
/// Returns the type by which kernels copy elements of `bytes` bytes: an unsigned integer, or two_words (words.cuh).
std::string word_in_text(std::size_t bytes);
/// Return the unsigned and the signed type of sizes and positions in a kernel: of 64 bits if `wide`, else of 32 bits.
std::string counter_in_text(bool wide);
std::string signed_counter_in_text(bool wide);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include "rill/base/error.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE std::string text_head(std::string_view header) {
  return "#include \"rill/cuda/text/" + std::string(header) + "\"\nusing namespace rill::text;\n";
}
RILL_CUDA_INLINE std::string text_head_with_cstdint(std::string_view header) {
  return "#include <cstdint>\n" + text_head(header);
}
RILL_CUDA_INLINE std::string kernel_in_text(std::string_view signature, std::string_view statement,
                                            std::string_view launch_bounds) {
  auto const bounds = launch_bounds.empty() ? "" : "__launch_bounds__" + std::string(launch_bounds) + " ";
  return "extern \"C\" __global__ " + bounds + "void " + std::string(signature) + " {\n  " + std::string(statement) +
         "\n}\n";
}

RILL_CUDA_INLINE bool is_in_text(dtype element) {
  return element != dtype::string && element != dtype::complex64 && element != dtype::complex128;
}
RILL_CUDA_INLINE std::string name_in_text(dtype element) {
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
RILL_CUDA_INLINE std::string word_in_text(std::size_t bytes) {
  return bytes == 16 ? "two_words" : "std::uint" + std::to_string(8 * bytes) + "_t";
}
RILL_CUDA_INLINE std::string counter_in_text(bool wide) { return wide ? "unsigned long" : "unsigned"; }
RILL_CUDA_INLINE std::string signed_counter_in_text(bool wide) { return wide ? "long" : "int"; }

}  // namespace rill::cuda
#endif
