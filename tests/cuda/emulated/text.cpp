#include "text.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>
#include <string_view>

namespace rill::emulated {
namespace {

/// The number of lines doesn't change.
std::string without_comments(std::string const& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (text.compare(at, 2, "//") == 0) {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.compare(at, 2, "/*") == 0) {
      auto const end = std::min(text.find("*/", at + 2), text.size());
      result +=
          ' ' + std::string(static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                                                text.begin() + static_cast<std::ptrdiff_t>(end), '\n')),
                            '\n');
      at = std::min(end + 2, text.size());
    } else {
      result += text[at++];
    }
  }
  return result;
}

/// The end of a parenthesis that begins at `at`.
std::size_t end_of_parenthesis(std::string const& text, std::size_t at) {
  for (int depth = 0; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at + 1;
  }
  return at;
}

class reader {
 public:
  explicit reader(std::string const& text, std::size_t at) : text_(text), at_(at) {}

  std::string word() {
    blanks();
    std::size_t const begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  bool take(std::string const& what) {
    blanks();
    if (text_.compare(at_, what.size(), what) != 0) return false;
    at_ += what.size();
    return true;
  }
  std::string parenthesis() {
    blanks();
    std::size_t const begin = at_;
    at_ = end_of_parenthesis(text_, at_);
    return text_.substr(begin, at_ - begin);
  }

 private:
  void blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  std::string const& text_;
  std::size_t at_;
};

/// The kernel that begins behind `extern`, or none.
found_kernel kernel_at(std::string const& text, std::size_t at) {
  reader words(text, at);
  found_kernel kernel;
  if (!words.take("\"C\"")) return {};
  for (bool global = false;;) {
    std::string const word = words.word();
    if (word == "__global__") global = true;
    else if (word == "__launch_bounds__") kernel.bounds = words.parenthesis();
    else if (word.empty() || !global) return {};
    else if (word != "void") {
      kernel.name = word;
      return words.take("(") ? kernel : found_kernel{};
    }
  }
}

}  // namespace

std::vector<found_kernel> kernels_of(std::string const& text) {
  std::string const bare = without_comments(text);
  std::vector<found_kernel> found;
  for (auto at = bare.find("extern"); at != std::string::npos; at = bare.find("extern", at + 1))
    if (auto kernel = kernel_at(bare, at + 6); !kernel.name.empty()) found.push_back(std::move(kernel));
  return found;
}

divided_text divide(std::string const& text) {
  std::istringstream lines(text), bare(without_comments(text));
  std::string passed;
  divided_text divided{{}, text, 1};
  std::size_t bytes = 0;
  int number = 0;
  for (std::string line, stripped; std::getline(lines, line) && std::getline(bare, stripped);) {
    bytes += line.size() + 1;
    ++number;
    passed += stripped + "\n";
    auto const begin = stripped.find_first_not_of(" \t\r");
    if (begin == std::string::npos) continue;
    bool const includes_header = stripped.compare(begin, 8, "#include") == 0 && line.find("/*") == std::string::npos;
    if (!includes_header) break;
    divided = {passed, bytes < text.size() ? text.substr(bytes) : "", number + 1};
  }
  return divided;
}

std::vector<std::string> parts_of(std::string const& text) {
  constexpr std::string_view end = "\n}  // namespace text_";
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (auto at = text.find(end); at != std::string::npos; at = text.find(end, begin)) {
    auto const next = std::min(text.find('\n', at + end.size()), text.size() - 1) + 1;
    parts.push_back(text.substr(begin, next - begin));
    begin = next;
  }
  if (parts.empty() || begin < text.size()) parts.push_back(text.substr(begin));
  return parts;
}

std::string namespace_of(std::string const& text) {
  constexpr std::string_view begin = "\nnamespace text_";
  std::string const bare = "\n" + without_comments(text);
  auto const at = bare.find(begin);
  return at == std::string::npos ? "" : "text_" + reader(bare, at + begin.size()).word();
}

bool has_word_of_blocks(std::string const& text) {
  constexpr std::string_view words[] = {"__shared__",    "__syncthreads", "__syncwarp", "__shfl_",
                                        "__ballot_sync", "__any_sync",    "__all_sync"};
  std::string const bare = without_comments(text);
  return std::any_of(std::begin(words), std::end(words),
                     [&](std::string_view word) { return bare.find(word) != std::string::npos; });
}

std::vector<std::string> included_names(std::string const& text) {
  std::istringstream lines(without_comments(text));
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    reader words(line, 0);
    if (!words.take("#") || words.word() != "include") continue;
    auto const begin = line.find_first_of("<\"");
    auto const end = line.find_first_of(">\"", begin + 1);
    if (begin != std::string::npos && end != std::string::npos)
      names.push_back(line.substr(begin + 1, end - begin - 1));
  }
  return names;
}

std::string table_of(std::vector<found_kernel> const& kernels, std::string const& space, bool wait) {
  std::string text =
      "\n#line 1 \"kernels of this text\"\nnamespace {\nconstexpr rill::emulated::kernel_entry rill_emulated_kernels[] "
      "= {\n";
  for (auto const& [name, bounds] : kernels) {
    // Bounds stand in a parenthesis of their own: the threads of a block, and numbers that do not matter here.
    std::string const arguments =
        (wait ? ", true" : ", false") + (bounds.empty() ? "" : ", " + bounds.substr(1, bounds.size() - 2));
    text += "    rill::emulated::entry<&" + space + "::" + name + ">(\"" + name + "\"" + arguments + "),\n";
  }
  return text +
         "    {}};\n"
         "constexpr rill::emulated::object_interface rill_emulated_interface{\n"
         "    rill_emulated_kernels, " +
         std::to_string(kernels.size()) +
         ", &rill::emulated::here};\n"
         "}\n"
         "extern \"C\" __attribute__((visibility(\"default\"))) rill::emulated::object_interface const*\n"
         "rill_emulated_object() {\n  return &rill_emulated_interface;\n}\n";
}

}  // namespace rill::emulated
