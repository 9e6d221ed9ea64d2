// The training text as passages of numbers.
#pragma once
#include <rill/rill.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "../source_folder.hpp"

namespace shakespeare {

inline constexpr std::int64_t longest = 256;  // the maximum length of a passage; longer ones are split
inline std::vector<std::int64_t> const bounds{32, 64, 96, 128, 192, longest};

/// Maps characters to numbers from 1 on; 0 marks the beginning and the padding of a passage.
class vocabulary {
 public:
  explicit vocabulary(std::string const& text) : characters_(1, '\0') {
    std::string sorted = text;
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    characters_ += sorted;
  }
  std::int64_t size() const { return static_cast<std::int64_t>(characters_.size()); }
  std::int32_t number(char c) const { return static_cast<std::int32_t>(characters_.find(c, 1)); }
  char character(std::int32_t n) const { return n == 0 ? '\n' : characters_[static_cast<std::size_t>(n)]; }

 private:
  std::string characters_;
};

/// The passages of a text, separated by blank lines; each includes its final blank line.
struct passages {
  std::vector<std::vector<std::int32_t>> all;
  std::vector<std::int64_t> lengths;  // in characters to predict
  std::int64_t characters = 0;

  passages(std::string const& text, vocabulary const& v) {
    for (std::size_t at = 0; at < text.size();) {
      auto const blank = text.find("\n\n", at);
      auto const end = blank == std::string::npos ? text.size() : blank + 2;
      for (auto i = at; i < end; i += static_cast<std::size_t>(longest))
        add(text.substr(i, std::min(end - i, static_cast<std::size_t>(longest))), v);
      at = end;
    }
  }

 private:
  void add(std::string const& passage, vocabulary const& v) {
    auto& numbers = all.emplace_back();
    for (char c : passage) numbers.push_back(v.number(c));
    lengths.push_back(static_cast<std::int64_t>(numbers.size()));
    characters += lengths.back();
  }
};

/// A padded batch: the input characters and the characters to predict, both [time, batch], and the passages' lengths.
struct batch {
  rill::tensor seen, next, lengths;
};

/// Makes a batch of `columns` passages; missing passages have length 0.
inline batch make_batch(passages const& p, rill::bucket_batch const& of, std::int64_t columns) {
  batch b{rill::tensor(rill::dtype::int32, {of.length, columns}),
          rill::tensor(rill::dtype::int32, {of.length, columns}), rill::tensor(rill::dtype::int32, {columns})};
  for (auto* t : {&b.seen, &b.next, &b.lengths}) std::fill_n(t->mutable_data<std::int32_t>(), t->elements(), 0);
  for (std::size_t k = 0; k < of.which.size(); ++k) {
    auto const& numbers = p.all[static_cast<std::size_t>(of.which[k])];
    b.lengths.mutable_data<std::int32_t>()[k] = static_cast<std::int32_t>(numbers.size());
    for (std::size_t t = 0; t < numbers.size(); ++t) {
      auto const at = t * static_cast<std::size_t>(columns) + k;
      b.seen.mutable_data<std::int32_t>()[at] = t == 0 ? 0 : numbers[t - 1];
      b.next.mutable_data<std::int32_t>()[at] = numbers[t];
    }
  }
  return b;
}

inline std::filesystem::path shakespeare_txt() { return rill::source_folder() / "examples/data/shakespeare.txt"; }

inline std::string read_text(std::filesystem::path const& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in || text.size() < 1000)
    throw std::runtime_error("expected a text of at least 1,000 characters, got '" + path.string() + "' with " +
                             std::to_string(text.size()));
  return text;
}

}  // namespace shakespeare
