// Names of devices, as in TensorFlow: "/job:worker/task:17/device:gpu:3", whole or in part (white paper §2).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "rill/base/config.hpp"
#include "rill/base/error.hpp"

namespace rill {

/// The name of a device or, where fields are open, of a set of devices.
struct device_name {
  std::string job = {};                     ///< empty: any
  std::optional<std::uint32_t> task = {};   ///< the number of the process in its job
  std::string type = {};                    ///< "cpu", "gpu", "accelerator", …, in small letters; empty: any
  std::optional<std::uint32_t> index = {};  ///< the number of the device in its process; only with a type

  /// Returns the name that `text` spells. Accepts the parts "/job:NAME", "/task:NUMBER" and "/device:TYPE:NUMBER" in
  /// any order, each at most once; the short form "TYPE:NUMBER" of "/device:TYPE:NUMBER"; "*" for what is open; and
  /// large letters in TYPE. The empty text leaves all open. Throws error(invalid_argument) if it is no such name.
  static device_name parse(std::string_view text);

  /// Returns the name as text that `parse` reads; the same for equal names.
  std::string text() const;

  /// Whether it leaves all open.
  bool empty() const { return job.empty() && !task && type.empty() && !index; }

  friend bool operator==(device_name const&, device_name const&) = default;
  friend auto operator<=>(device_name const&, device_name const&) = default;
};

/// Whether every field that `partial` names is the same in `full`.
inline bool matches(device_name const& partial, device_name const& full) {
  return (partial.job.empty() || partial.job == full.job) && (!partial.task || partial.task == full.task) &&
         (partial.type.empty() || partial.type == full.type) && (!partial.index || partial.index == full.index);
}

/// Returns what `inner` names, and what `outer` names where `inner` leaves it open: scopes within each other. A task is
/// inherited with its job alone, and an index with its type: "/device:cpu" within "/device:gpu:3" is "/device:cpu".
device_name nested(device_name const& outer, device_name inner);

/// Returns the name of the devices that both names match; empty if they name different ones.
std::optional<device_name> common(device_name const& a, device_name b);

#if RILL_RUNTIME

namespace detail {

/// Reads a device name from left to right.
class device_name_parser {
 public:
  explicit device_name_parser(std::string_view text) : text_(text), rest_(text) {}

  device_name run() {
    if (!rest_.empty() && rest_.front() != '/') read_device(rest_);
    else
      while (!rest_.empty()) read_part(next_part());
    return std::move(name_);
  }

 private:
  [[noreturn]] void refuse(std::string_view why) const {
    throw error(code::invalid_argument, "'" + std::string(text_) + "' is no device's name: " + std::string(why));
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

  std::string_view next_part() {
    rest_.remove_prefix(1);  // '/'
    auto const part = rest_.substr(0, rest_.find('/'));
    rest_.remove_prefix(part.size());
    return part;
  }

  void read_part(std::string_view part) {
    auto const colon = part.find(':');
    auto const key = part.substr(0, colon);
    if (key != "job" && key != "task" && key != "device")
      refuse("each part begins with /job:, /task: or /device:, as in /job:worker/task:17/device:gpu:3");
    if (colon == part.npos) refuse("a part has a ':' before its value");
    auto const value = part.substr(colon + 1);
    auto& seen = key == "job" ? seen_job_ : key == "task" ? seen_task_ : seen_device_;
    if (std::exchange(seen, true)) refuse("a part stands twice");
    if (key == "device") read_device(value);
    else if (value == "*") return;
    else if (key == "job") name_.job = read_word(value, "a job has a name of letters, digits, '_' and '-'");
    else name_.task = read_number(value);
  }

  void read_device(std::string_view value) {
    auto const colon = value.find(':');
    auto const type = value.substr(0, colon);
    if (type != "*") name_.type = read_word(type, "a device's type has letters, digits, '_' and '-'");
    for (auto& c : name_.type)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (colon == value.npos) return;
    auto const index = value.substr(colon + 1);
    if (index == "*") return;
    if (type == "*") refuse("a device's number needs a type before it");
    name_.index = read_number(index);
  }

  std::string_view read_word(std::string_view word, std::string_view rule) const {
    if (word.empty() || !is_letter(word.front())) refuse(rule);
    for (char c : word)
      if (!is_letter(c) && !is_digit(c) && c != '_' && c != '-') refuse(rule);
    return word;
  }

  std::uint32_t read_number(std::string_view digits) const {
    std::uint32_t number = 0;
    if (digits.empty() || digits.size() > 9) refuse("a number has one to nine digits");
    for (char c : digits) {
      if (!is_digit(c)) refuse("a number has one to nine digits");
      number = number * 10 + static_cast<std::uint32_t>(c - '0');
    }
    return number;
  }

  std::string_view text_, rest_;
  device_name name_;
  bool seen_job_ = false, seen_task_ = false, seen_device_ = false;
};

}  // namespace detail

RILL_INLINE device_name nested(device_name const& outer, device_name inner) {
  bool const same_job = inner.job.empty() || inner.job == outer.job;
  bool const same_type = inner.type.empty() || inner.type == outer.type;
  if (inner.job.empty()) inner.job = outer.job;
  if (inner.type.empty()) inner.type = outer.type;
  if (!inner.task && same_job) inner.task = outer.task;
  if (!inner.index && same_type) inner.index = outer.index;
  return inner;
}

RILL_INLINE std::optional<device_name> common(device_name const& a, device_name b) {
  if (b.job.empty()) b.job = a.job;
  if (b.type.empty()) b.type = a.type;
  if (!b.task) b.task = a.task;
  if (!b.index) b.index = a.index;
  return matches(a, b) ? std::optional(std::move(b)) : std::nullopt;
}

RILL_INLINE device_name device_name::parse(std::string_view text) try {
  return detail::device_name_parser(text).run();
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::string device_name::text() const try {
  std::string s;
  if (!job.empty()) (s += "/job:") += job;
  if (task) (s += "/task:") += std::to_string(*task);
  if (!type.empty()) (s += "/device:") += type;
  if (index) (s += ":") += std::to_string(*index);
  return s;
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
