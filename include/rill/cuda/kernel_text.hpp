// Texts of kernels as parts of one program, which NVRTC compiles in a third of the time that they take one by one.
#pragma once
#include <string>
#include <string_view>

#include "rill/cuda/digest.hpp"

namespace rill::cuda {

/// A text, changed so that it can be part of a program: its kernels have names that no other text's kernels have, and
/// all but the includes at its beginning is in a namespace of its own.
class kernel_text {
 public:
  explicit kernel_text(std::string_view text);

  /// Returns the text as a part of a program.
  std::string const& part() const noexcept { return part_; }
  /// Returns the text as a program of its own, without a namespace, in which it might mean something else.
  std::string const& alone() const noexcept { return alone_; }
  /// Returns the name that a kernel of the text has there.
  std::string name_of(std::string_view kernel) const { return std::string(kernel) + "_" + mark_; }
  /// Whether other texts may stand in the same program: not if it has directives behind its first lines.
  bool joins() const noexcept { return joins_; }

 private:
  std::string mark_, alone_, part_;
  bool joins_ = true;
};

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <cstddef>

namespace rill::cuda {

namespace detail {

/// Returns where the first line that is neither empty, nor a comment, nor includes a header begins.
inline std::size_t end_of_includes(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    auto const line = text.substr(at, text.find('\n', at) - at);
    auto const first = line.find_first_not_of(" \t\r");
    auto const rest = first == line.npos ? std::string_view() : line.substr(first);
    if (!rest.empty() && !rest.starts_with("#include") && !rest.starts_with("//")) break;
    at = line.size() == text.size() - at ? text.size() : at + line.size() + 1;
  }
  return at;
}

inline bool has_directives(std::string_view text) {
  for (auto at = text.find('#'); at != text.npos; at = text.find('#', at + 1)) {
    auto const begin = text.rfind('\n', at) + 1;
    if (text.substr(begin, at - begin).find_first_not_of(" \t") == text.npos) return true;
  }
  return false;
}

/// Returns the end of the name of the kernel whose declaration, behind `extern "C" __global__`, begins at `at`: the
/// word before the first parenthesis that is not that of launch bounds.
inline std::size_t end_of_kernel_name(std::string_view text, std::size_t at) {
  constexpr std::string_view bounds = "__launch_bounds__";
  auto open = text.find('(', at);
  if (open != text.npos && text.substr(at, open - at).find(bounds) != text.npos) {
    int depth = 0;
    do depth += (text[open] == '(') - (text[open] == ')');
    while (++open < text.size() && depth > 0);
    open = text.find('(', open);
  }
  if (open == text.npos) return open;
  return text.find_last_not_of(" \t\n", open - 1) + 1;
}

/// Returns the text with `_mark` behind the name of each kernel.
inline std::string marked(std::string_view text, std::string const& mark) {
  constexpr std::string_view begin = "extern \"C\" __global__";
  std::string result;
  std::size_t done = 0;
  for (auto at = text.find(begin); at != text.npos; at = text.find(begin, at + 1)) {
    auto const end = end_of_kernel_name(text, at + begin.size());
    if (end == text.npos) break;
    result += std::string(text.substr(done, end - done)) + "_" + mark;
    done = end;
  }
  return result += text.substr(done);
}

}  // namespace detail

RILL_CUDA_INLINE kernel_text::kernel_text(std::string_view text) : mark_(hexadecimal(digest_of(text)).substr(0, 16)) {
  auto const begin = detail::end_of_includes(text);
  auto const body = detail::marked(text.substr(begin), mark_), space = "text_" + mark_;
  joins_ = !detail::has_directives(body);
  part_ = text.substr(0, begin);
  alone_ = part_ + body;
  // The namespace begins without a line of its own, so that the lines that NVRTC names are those of the text.
  part_ += joins_ ? "namespace " + space + " { " + body + "\n}  // namespace " + space + "\n" : body;
}

}  // namespace rill::cuda
#endif
