// Where a process of a cluster listens.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "rill/base/config.hpp"
#include "rill/base/error.hpp"

namespace rill {

/// "HOST:PORT", "[IPv6]:PORT", or "unix:PATH" for a socket of the file system.
struct address {
  std::string host = {};   ///< a name or a number; empty for a Unix socket
  std::uint16_t port = 0;  ///< 0: where a server listens, any that is free
  std::string path = {};   ///< of a Unix socket; empty: none

  /// Throws error(invalid_argument), with what is wrong.
  static address parse(std::string_view text);
  std::string text() const;
  bool is_unix() const { return !path.empty(); }
  /// Whether only processes of this machine can reach it, by its name: a Unix socket, 127.x.x.x, ::1, "localhost".
  bool is_local() const;

  friend bool operator==(address const&, address const&) = default;
  friend auto operator<=>(address const&, address const&) = default;
};

#if RILL_NET_RUNTIME

RILL_NET_INLINE address address::parse(std::string_view text) {
  auto const refuse = [&](char const* why) {
    throw error(code::invalid_argument, "'" + std::string(text) + "' is no address: " + why);
  };
  if (text.starts_with("unix:")) {
    address a{.path = std::string(text.substr(5))};
    if (a.path.empty()) refuse("expected a path behind 'unix:'");
    if (a.path.size() > 100) refuse("the path of a Unix socket has 100 characters at the most");
    if (a.path.find('\0') != a.path.npos) refuse("the path of a Unix socket has a zero character");
    return a;
  }
  auto const colon = text.rfind(':');
  if (colon == text.npos) refuse("expected HOST:PORT, [IPv6]:PORT or unix:PATH");
  auto name = text.substr(0, colon);
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  else if (name.find(':') != name.npos) refuse("an IPv6 address stands in brackets: [::1]:7000");
  if (name.empty()) refuse("it has no host before the port");
  for (char c : name)
    if (c <= ' ' || c == '/' || c == 127) refuse("a host has no spaces and no '/'");
  unsigned long number = 0;
  auto const digits = text.substr(colon + 1);
  if (digits.empty() || digits.size() > 5) refuse("a port is a number from 0 to 65535");
  for (char c : digits) {
    if (c < '0' || c > '9') refuse("a port is a number from 0 to 65535");
    number = number * 10 + static_cast<unsigned long>(c - '0');
  }
  if (number > 65535) refuse("a port is a number from 0 to 65535");
  return {.host = std::string(name), .port = static_cast<std::uint16_t>(number)};
}

RILL_NET_INLINE std::string address::text() const {
  if (is_unix()) return "unix:" + path;
  auto const shown = host.find(':') != host.npos ? "[" + host + "]" : host;
  return shown + ":" + std::to_string(port);
}

RILL_NET_INLINE bool address::is_local() const {
  bool const is_number = host.find_first_not_of("0123456789.") == host.npos;
  return is_unix() || host == "localhost" || host == "::1" || (is_number && host.starts_with("127."));
}

#endif

}  // namespace rill
