// Text in columns and paragraphs, as `explain` prints it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/base/config.hpp"

namespace rill::detail {

/// Returns `text` with two spaces before each line that is not empty.
std::string indented(std::string_view text);
/// Returns a heading, and the text below it, indented; an empty string if the text is empty.
std::string paragraph(std::string_view heading, std::string_view text);
/// Returns the texts with commas between them.
std::string comma_list(std::vector<std::string> const& all);

/// Rows of cells, printed in columns that are as wide as their widest cell.
class text_table {
 public:
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Returns the rows as lines, with two spaces between columns. A column of empty cells is left out.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

#if RILL_RUNTIME

RILL_INLINE std::string indented(std::string_view text) {
  std::string all;
  bool begins = true;
  for (char c : text) {
    if (begins && c != '\n') all += "  ";
    all += c;
    begins = c == '\n';
  }
  return all;
}

RILL_INLINE std::string paragraph(std::string_view heading, std::string_view text) {
  return text.empty() ? std::string() : std::string(heading) + "\n" + indented(text);
}

RILL_INLINE std::string comma_list(std::vector<std::string> const& all) {
  std::string text;
  for (auto const& each : all) (text += text.empty() ? "" : ", ") += each;
  return text;
}

RILL_INLINE std::string text_table::text() const {
  std::vector<std::size_t> widths;
  for (auto const& row : rows_) {
    if (widths.size() < row.size()) widths.resize(row.size());
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string all;
  for (auto const& row : rows_) {
    std::string line, space;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (!row[c].empty()) line += std::exchange(space, {}) + row[c];
      if (widths[c] != 0) space.append(widths[c] - row[c].size() + 2, ' ');
    }
    all += line + '\n';
  }
  return all;
}

#endif

}  // namespace rill::detail
