// What the emulated NVRTC finds in a text before the host's compiler reads it.
#pragma once
#include <string>
#include <vector>

namespace rill::emulated {

/// A kernel of a text: `extern "C" __global__ void NAME(`, with an expression of __launch_bounds__, if it has one.
struct found_kernel {
  std::string name, bounds;
};
std::vector<found_kernel> kernels_of(std::string const& text);

/// A text in two: the lines up to the last of the includes with which it begins, without comments, and the rest.
struct divided_text {
  std::string includes, rest;
  int first_line_of_rest;
};
divided_text divide(std::string const& text);

/// The parts of a program that rill joined: each has includes, and a namespace that ends with "}  // namespace text_…".
/// Other programs are one part.
std::vector<std::string> parts_of(std::string const& text);
/// The name of the namespace with the kernels of such a part, or nothing.
std::string namespace_of(std::string const& text);

/// Whether a text has a word of CUDA's language with which threads wait for each other, or share memory.
bool has_word_of_blocks(std::string const& text);
/// The names of the headers that a text includes.
std::vector<std::string> included_names(std::string const& text);

/// Returns what makes the kernels of a namespace known to the driver: the end of the text. Threads of a block may wait
/// for each other if the kernels are ones that `wait`.
std::string table_of(std::vector<found_kernel> const& kernels, std::string const& space, bool wait);

}  // namespace rill::emulated
