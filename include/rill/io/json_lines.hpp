// JSON lines: an object on each line, whose members are tensors. Needs nlohmann-json.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "rill/io/named_tensor.hpp"
#include "rill/io/text_lines.hpp"
#include "rill/tensor/tensor.hpp"

#if RILL_IO_RUNTIME
#include "rill/io/json.hpp"
#endif

namespace rill {

/// Parses the members of a JSON object to tensors, in order. Numbers become int64, or float64 if one number of the
/// member has a point or an exponent; strings become strings, true and false become bool, and nested lists of one shape
/// become tensors of that shape (an empty list of float64). Throws error(invalid_argument), with the member's name, for
/// everything else in JSON: null, nested objects, members of mixed kinds, lists of different lengths, integers beyond
/// int64, duplicate names.
std::vector<named_tensor> parse_json_line(std::string_view text);

/// Parses the members with the given names, in the order of the names; a result is empty if its member is missing or
/// null. Other members may be anything. Throws as above for the named members.
std::vector<std::optional<tensor>> parse_json_line(std::string_view text, std::span<std::string const> names);

/// Converts a member that `parse_json_line` returned to a type, whose extents may be unknown: integers to any numeric
/// type that can represent them, floats to floats, and an empty list to any element type. Throws
/// error(invalid_argument) with the member's name.
tensor json_member_as(tensor const& member, type const& wanted, std::string_view name);

/// Reads the objects of a file of JSON lines. Empty lines are skipped but counted: a position's record is the number of
/// lines before it. Errors name the file and the line.
class json_line_reader {
 public:
  explicit json_line_reader(std::filesystem::path const& path, std::uint64_t most = max_record_bytes);
  explicit json_line_reader(byte_stream from, std::uint64_t most = max_record_bytes);

  /// Returns the tensors of the next line; empty at the end. After an error the reader stays before the line that
  /// caused it.
  std::optional<std::vector<named_tensor>> next();

  std::string const& name() const { return lines_.name(); }
  record_position position() const { return lines_.position(); }
  void seek(record_position to) { lines_.seek(to); }

 private:
  text_line_reader lines_;
};

#if RILL_IO_RUNTIME

namespace json {

/// Collects the values of a member, which have one kind.
class member {
 public:
  /// Begins a list within the open lists.
  void open() {
    if (counts_.size() == max_rank) fail("lists are nested more than 8 deep, the highest rank of a tensor");
    if (filled_ && counts_.size() == rank_) fail("expected a value, got a list");
    if (!counts_.empty()) ++counts_.back();
    counts_.push_back(0);
    if (counts_.size() > rank_) extents_[rank_++] = -1;
  }
  void close() {
    auto& extent = extents_[counts_.size() - 1];
    if (extent >= 0 && extent != counts_.back()) fail("its lists have different lengths");
    extent = counts_.back();
    counts_.pop_back();
  }
  bool in_list() const { return !counts_.empty(); }

  template <class T> void add(T value) {
    if (counts_.size() != rank_) fail("expected a list, got a value");
    if (in_list()) ++counts_.back();
    if (!std::exchange(filled_, true)) values_.emplace<std::vector<T>>();
    if (auto* same = std::get_if<std::vector<T>>(&values_)) return same->push_back(std::move(value));
    if constexpr (std::is_arithmetic_v<T>) return add_mixed(value);
    fail("its values have different kinds");
  }

  tensor take() {
    shape s;
    for (std::size_t i = 0; i < rank_; ++i) s.push_back(extents_[i]);
    return std::visit(
        [&]<class T>(std::vector<T>& all) {
          if constexpr (std::is_same_v<T, truth>) {
            tensor t(dtype::boolean, s);
            std::transform(all.begin(), all.end(), t.mutable_data<bool>(), [](truth b) { return b == truth::yes; });
            return t;
          } else {
            return tensor::adopt(std::move(all), s);
          }
        },
        values_);
  }

  enum class truth : bool { no, yes };

  [[noreturn]] static void fail(char const* why) { throw error(code::invalid_argument, why); }

 private:
  /// Integers become floats if one value of the member is a float.
  template <class T> void add_mixed(T value) {
    if (auto const* integers = std::get_if<std::vector<std::int64_t>>(&values_))
      values_ = std::vector<double>(integers->begin(), integers->end());
    auto* floats = std::get_if<std::vector<double>>(&values_);
    if (floats == nullptr) fail("its values have different kinds");
    floats->push_back(static_cast<double>(value));
  }

  std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::string>, std::vector<truth>> values_;
  bool filled_ = false;
  std::size_t rank_ = 0;
  std::int64_t extents_[max_rank] = {};
  std::vector<std::int64_t> counts_;  ///< the number of items of each open list
};

/// Builds tensors while the JSON is parsed, and refuses at once everything that can't be a tensor.
class line_events : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<named_tensor> all;

  bool start_object(std::size_t) override {
    if (depth_++ > 0) fail("expected a value or a list, got an object");
    return true;
  }
  bool end_object() override { return true; }
  bool key(std::string& name) override {
    if (!names_.insert(name).second) throw error(code::invalid_argument, "the name '" + name + "' occurs twice");
    name_ = name;
    return true;
  }
  bool start_array(std::size_t) override {
    return within([&] { now_.open(); });
  }
  bool end_array() override {
    return within([&] { now_.close(); });
  }
  bool boolean(bool b) override { return add(b ? member::truth::yes : member::truth::no); }
  bool number_integer(std::int64_t n) override { return add(n); }
  bool number_unsigned(std::uint64_t n) override {
    if (n > INT64_MAX) fail("an integer doesn't fit int64");
    return add(static_cast<std::int64_t>(n));
  }
  bool number_float(double x, std::string const& text) override {
    if (text.find_first_of(".eE") == text.npos) fail("an integer doesn't fit int64");
    return add(x);
  }
  bool string(std::string& text) override { return add(std::move(text)); }
  bool null() override { fail("expected a value or a list, got null"); }
  bool binary(binary_t&) override { fail("expected a value or a list, got bytes"); }
  bool parse_error(std::size_t at, std::string const&, nlohmann::detail::exception const&) override {
    throw error(code::invalid_argument, "invalid JSON at character " + std::to_string(at));
  }

 private:
  [[noreturn]] void fail(std::string const& why) const {
    throw error(code::invalid_argument, names_.empty() ? why : "'" + name_ + "': " + why);
  }
  template <class T> bool add(T value) {
    return within([&] { now_.add(std::move(value)); });
  }
  /// Calls `f` and completes the member if no list is open.
  template <class F> bool within(F f) {
    if (depth_ == 0) fail("a line of JSON lines must be an object");
    try {
      f();
    } catch (error const& e) {
      fail(e.message());
    }
    if (!now_.in_list()) all.push_back({name_, std::exchange(now_, {}).take()});
    return true;
  }

  int depth_ = 0;
  std::string name_;
  std::unordered_set<std::string> names_;
  member now_;
};

/// Passes on only the members with given names.
class chosen_events : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit chosen_events(std::span<std::string const> names) : names_(names) {}
  line_events shown;

  bool start_object(std::size_t n) override {
    bool const show = shows() || depth_ == 0;
    ++depth_;
    return !show || shown.start_object(n);
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool key(std::string& name) override {
    if (depth_ == 1) chosen_ = std::find(names_.begin(), names_.end(), name) != names_.end();
    return !shows() || shown.key(name);
  }
  bool start_array(std::size_t n) override {
    bool const show = shows();
    ++depth_;
    return !show || shown.start_array(n);
  }
  bool end_array() override {
    --depth_;
    return !shows() || shown.end_array();
  }
  bool boolean(bool b) override { return !shows() || shown.boolean(b); }
  bool number_integer(std::int64_t n) override { return !shows() || shown.number_integer(n); }
  bool number_unsigned(std::uint64_t n) override { return !shows() || shown.number_unsigned(n); }
  bool number_float(double x, std::string const& text) override { return !shows() || shown.number_float(x, text); }
  bool string(std::string& text) override { return !shows() || shown.string(text); }
  bool null() override { return !shows() || depth_ == 1 || shown.null(); }
  bool binary(binary_t& b) override { return !shows() || shown.binary(b); }
  bool parse_error(std::size_t at, std::string const& last, nlohmann::detail::exception const& e) override {
    return shown.parse_error(at, last, e);
  }

 private:
  /// Whether events are passed on: within a chosen member, and outside of the object.
  bool shows() const { return chosen_ || depth_ == 0; }

  std::span<std::string const> names_;
  int depth_ = 0;  ///< the number of open objects and lists
  bool chosen_ = false;
};

/// Parses a whole text; the parser alone would take a zero byte for its end.
RILL_IO_INLINE void parse(std::string_view text, nlohmann::json_sax<nlohmann::json>& events) {
  if (auto const zero = text.find('\0'); zero != text.npos)
    throw error(code::invalid_argument, "invalid JSON at character " + std::to_string(zero + 1));
  parse_events(text, events);
}

/// Converts a number to To, rounding once; returns false if it is too large.
template <class From, class To> bool write_float(From x, To& to) {
  if constexpr (std::is_same_v<From, double> && !std::is_same_v<To, double>)
    if (std::abs(x) > static_cast<double>(std::numeric_limits<float>::max())) return false;
  to = static_cast<To>(x);
  return std::isfinite(static_cast<double>(to));
}
/// Converts an element of a member to To; returns false if To can't represent it.
template <class From, class To> bool write(From const& from, To& to) {
  constexpr bool truth = std::is_same_v<From, bool> || std::is_same_v<To, bool>;
  if constexpr (std::is_same_v<From, To>) return to = from, true;
  else if constexpr (truth || !std::is_arithmetic_v<From>) return false;
  else if constexpr (!std::is_integral_v<To>) {
    if constexpr (std::is_constructible_v<float, To>) return write_float(from, to);
    else return false;
  } else if constexpr (std::is_integral_v<From>) {
    if (!std::in_range<To>(from)) return false;
    return to = static_cast<To>(from), true;
  } else return false;
}
/// Calls `f` with the elements of a member, which have one of four types.
template <class F> void with_elements(tensor const& member, F f) {
  if (member.element() == dtype::int64) f(member.span<std::int64_t>());
  else if (member.element() == dtype::float64) f(member.span<double>());
  else if (member.element() == dtype::boolean) f(member.span<bool>());
  else f(member.span<std::string>());
}

}  // namespace json

RILL_IO_INLINE std::vector<named_tensor> parse_json_line(std::string_view text) try {
  json::line_events events;
  json::parse(text, events);
  return std::move(events.all);
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::vector<std::optional<tensor>> parse_json_line(std::string_view text,
                                                                  std::span<std::string const> names) try {
  json::chosen_events events(names);
  json::parse(text, events);
  std::vector<std::optional<tensor>> found(names.size());
  for (auto& [name, value] : events.shown.all)
    found[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())] = std::move(value);
  return found;
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE tensor json_member_as(tensor const& member, type const& wanted, std::string_view name) try {
  auto const is = "'" + std::string(name) + "' has type " + member.type().text();
  if (!accepts(wanted.with(member.element()), member.type()))
    throw error(code::invalid_argument, is + ", but " + wanted.text() + " was expected");
  tensor t(wanted.element, member.shape());
  visit(wanted.element, [&]<class To>() {
    json::with_elements(member, [&](auto from) {
      for (std::size_t i = 0; i < from.size(); ++i)
        if (!json::write(from[i], t.mutable_data<To>()[i]))
          throw error(code::invalid_argument, is + ", and its element " + std::to_string(i) + " can't become " +
                                                  std::string(rill::name(wanted.element)));
    });
  });
  return t;
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE json_line_reader::json_line_reader(std::filesystem::path const& path, std::uint64_t most) try
    : json_line_reader(byte_stream(path), most) {
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE json_line_reader::json_line_reader(byte_stream from, std::uint64_t most) try
    : lines_(std::move(from), most) {
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE std::optional<std::vector<named_tensor>> json_line_reader::next() try {
  for (auto before = position(); auto const line = lines_.next(); before = position()) {
    if (line->find_first_not_of(" \t\r") == line->npos) continue;
    try {
      return parse_json_line(*line);
    } catch (error const& e) {
      seek(before);
      throw error(e.kind(), "'" + name() + "', line " + std::to_string(before.record + 1) + ": " + e.message());
    }
  }
  return std::nullopt;
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
