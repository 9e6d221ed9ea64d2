// Lists of hosts as Slurm writes them: "n[1-3,07],m5".
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/base/error.hpp"

namespace rill::net {

/// Returns the hosts of a list in Slurm's notation, in its order: names between commas, with numbers in brackets, which
/// may have leading zeros. Throws error(invalid_argument) if it is no such list or has more than 65536 hosts.
std::vector<std::string> read_host_list(std::string_view text);

#if RILL_NET_RUNTIME

namespace detail {

inline constexpr std::size_t most_hosts = 65536;

/// Reads one entry of a host list from left to right.
class host_list_reader {
 public:
  explicit host_list_reader(std::string_view whole) : whole_(whole) {}

  std::vector<std::string> run() {
    for (std::size_t begin = 0; begin <= whole_.size();) {
      auto const end = end_of_entry(begin);
      expand("", whole_.substr(begin, end - begin));
      begin = end + 1;
    }
    return std::move(hosts_);
  }

 private:
  [[noreturn]] void refuse(char const* why) const {
    throw error(code::invalid_argument, "'" + std::string(whole_) + "' is no list of hosts: " + why);
  }
  // A comma in brackets separates numbers, not hosts.
  std::size_t end_of_entry(std::size_t at) const {
    for (bool inside = false; at < whole_.size(); ++at) {
      if (whole_[at] == '[') inside = true;
      else if (whole_[at] == ']') inside = false;
      else if (whole_[at] == ',' && !inside) break;
    }
    return at;
  }
  void expand(std::string const& before, std::string_view rest) {
    auto const open = rest.find('[');
    if (rest.find(']') < open) refuse("a ']' has no '[' before it");
    if (open == rest.npos) {
      if (before.empty() && rest.empty()) refuse("a host has no name");
      if (hosts_.size() == most_hosts) refuse("it has more than 65536 hosts");
      hosts_.push_back(before + std::string(rest));
      return;
    }
    auto const close = rest.find(']', open);
    if (close == rest.npos) refuse("a '[' has no ']' behind it");
    auto ranges = rest.substr(open + 1, close - open - 1);
    for (;;) {
      auto const comma = ranges.find(',');
      expand_range(before + std::string(rest.substr(0, open)), ranges.substr(0, comma), rest.substr(close + 1));
      if (comma == ranges.npos) return;
      ranges.remove_prefix(comma + 1);
    }
  }
  void expand_range(std::string const& before, std::string_view range, std::string_view rest) {
    auto const dash = range.find('-');
    auto const first_digits = range.substr(0, dash);
    auto const first = number(first_digits);
    auto const last = dash == range.npos ? first : number(range.substr(dash + 1));
    if (last < first) refuse("a range ends before it begins");
    for (auto n = first; n <= last; ++n) {
      auto digits = std::to_string(n);
      if (digits.size() < first_digits.size()) digits.insert(0, first_digits.size() - digits.size(), '0');
      expand(before + digits, rest);
    }
  }
  std::uint64_t number(std::string_view digits) const {
    std::uint64_t n = 0;
    if (digits.empty() || digits.size() > 9) refuse("expected a number of one to nine digits in brackets");
    for (char c : digits) {
      if (c < '0' || c > '9') refuse("expected a number of one to nine digits in brackets");
      n = n * 10 + static_cast<std::uint64_t>(c - '0');
    }
    return n;
  }

  std::string_view whole_;
  std::vector<std::string> hosts_;
};

}  // namespace detail

RILL_NET_INLINE std::vector<std::string> read_host_list(std::string_view text) {
  return detail::host_list_reader(text).run();
}

#endif

}  // namespace rill::net
