// A cluster as JSON, as TensorFlow's TF_CONFIG has it:
//
//   {"cluster": {"ps": ["10.0.0.1:7000"], "worker": ["10.0.0.2:7000"]}, "task": {"type": "worker", "index": 0}}
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/base/error.hpp"

namespace rill::net {

/// What such a text says.
struct cluster_text {
  std::vector<std::pair<std::string, std::vector<std::string>>> jobs = {};  ///< with the addresses of their tasks
  std::string task = {};                                                    ///< "worker:0"; empty: none
};

/// Reads it; other members are ignored. Throws error(invalid_argument), with the place and what was expected there.
cluster_text read_cluster_json(std::string_view text);

#if RILL_NET_RUNTIME

namespace detail {

/// Reads the JSON of a cluster from left to right. nlohmann-json, which rill/io.hpp needs, would be one more dependency
/// of programs that have servers.
class cluster_json_reader {
 public:
  explicit cluster_json_reader(std::string_view text) : text_(text) {}

  cluster_text run() {
    bool has_cluster = false;
    object([&](std::string const& name) {
      if (name == "cluster") {
        has_cluster = true;
        cluster();
      } else if (name == "task") task();
      else skip(0);
    });
    spaces();
    if (at_ != text_.size()) refuse("the end of the text");
    if (!has_cluster) refuse("a member \"cluster\"");
    return std::move(made_);
  }

 private:
  [[noreturn]] void refuse(char const* expected) const {
    throw error(code::invalid_argument,
                "the JSON of the cluster is wrong at character " + std::to_string(at_ + 1) + ": expected " + expected);
  }
  void spaces() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool next_is(char c) {
    spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c, char const* name) {
    if (!next_is(c)) refuse(name);
  }

  template <class Each> void object(Each const& each) {
    expect('{', "an object");
    if (next_is('}')) return;
    do {
      auto const name = string(is_any);
      expect(':', "':'");
      each(name);
    } while (next_is(','));
    expect('}', "',' or '}'");
  }
  template <class Each> void array(Each const& each) {
    expect('[', "an array");
    if (next_is(']')) return;
    do each();
    while (next_is(','));
    expect(']', "',' or ']'");
  }
  static constexpr bool is_any = true;
  // Names and addresses may only escape ASCII. In ignored members any escape is allowed, and non-ASCII becomes '?'.
  std::string string(bool any = false) {
    expect('"', "a string");
    std::string s;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (static_cast<unsigned char>(text_[at_]) < ' ') refuse("no control characters in a string");
      s += text_[at_] == '\\' ? escaped(any) : text_[at_];
    }
    expect('"', "'\"' at the end of a string");
    return s;
  }
  char escaped(bool any) {
    constexpr std::string_view letters = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
    if (++at_ == text_.size()) refuse("a character after '\\'");
    if (auto const found = letters.find(text_[at_]); found != letters.npos) return meant[found];
    if (text_[at_] != 'u' || text_.size() - at_ < 5) refuse("one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX");
    unsigned value = 0;
    for (int i = 0; i < 4; ++i) {
      constexpr std::string_view digits = "0123456789abcdefABCDEF";
      auto const digit = digits.find(text_[++at_]);
      if (digit == digits.npos) refuse("four hexadecimal digits after \\u");
      value = value * 16 + static_cast<unsigned>(digit < 16 ? digit : digit - 6);
    }
    if (value <= 127) return static_cast<char>(value);
    if (!any) refuse("an ASCII character");
    return '?';
  }
  std::string_view word() {
    spaces();
    auto const begin = at_;
    while (at_ < text_.size() && std::string_view(" \t\r\n,]}:").find(text_[at_]) == std::string_view::npos) ++at_;
    if (at_ == begin) refuse("a value");
    return text_.substr(begin, at_ - begin);
  }
  void skip(int depth) {
    if (depth == 64) refuse("at most 64 values within each other");
    spaces();
    auto const c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == '{') object([&](std::string const&) { skip(depth + 1); });
    else if (c == '[') array([&] { skip(depth + 1); });
    else if (c == '"') (void)string(is_any);
    else (void)word();
  }

  void cluster() {
    object([&](std::string name) {
      made_.jobs.emplace_back(std::move(name), std::vector<std::string>());
      array([&] { made_.jobs.back().second.push_back(string()); });
    });
  }
  void task() {
    std::string type, index;
    object([&](std::string const& name) {
      if (name == "type") type = string();
      else if (name == "index") {
        spaces();
        index = at_ < text_.size() && text_[at_] == '"' ? string() : std::string(word());
      } else skip(0);
    });
    if (type.empty() || index.empty()) refuse("a \"task\" with \"type\" and \"index\"");
    made_.task = type + ":" + index;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  cluster_text made_;
};

}  // namespace detail

RILL_NET_INLINE cluster_text read_cluster_json(std::string_view text) {
  return detail::cluster_json_reader(text).run();
}

#endif

}  // namespace rill::net
