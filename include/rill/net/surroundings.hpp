// What a process can know of where it runs: variables of the environment, and the name of its host.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "rill/base/config.hpp"
#include "rill/base/error.hpp"
#include "rill/net/job_sizes.hpp"

namespace rill::net {

/// What a launcher may have left for a process. Tests set what they like.
struct surroundings {
  /// Returns the value of a variable of the environment; empty if it is not set or has no characters.
  std::function<std::optional<std::string>(char const*)> variable;
  /// Returns the name of a host, or of this one for "", with its domain if that can be looked up.
  std::function<std::string(std::string const&)> full_name;

  /// Returns a variable's number. Throws error(invalid_argument) if it is not set, or no number up to `most`.
  std::uint32_t number(char const* name, std::uint32_t most) const;
  /// Returns the port that RILL_PORT says. Throws error(invalid_argument) if it is none.
  std::uint16_t port() const {
    if (auto const n = number("RILL_PORT", 65535); n > 0) return static_cast<std::uint16_t>(n);
    throw error(code::invalid_argument, "the environment variable RILL_PORT is 0: the processes have to know the port");
  }

  /// Returns those of this process.
  static surroundings of_this_process();
};

#if RILL_NET_RUNTIME
}  // namespace rill::net

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

namespace rill::net {

namespace detail {

inline std::string full_host_name(std::string host) {
  if (host.empty()) {
    char own[256] = {};
    if (::gethostname(own, sizeof own - 1) != 0) return "localhost";
    host = own;
  }
  addrinfo hints = {};
  hints.ai_flags = AI_CANONNAME;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return host;
  if (found->ai_canonname != nullptr && found->ai_canonname[0] != '\0') host = found->ai_canonname;
  ::freeaddrinfo(found);
  return host;
}

}  // namespace detail

RILL_NET_INLINE std::uint32_t surroundings::number(char const* name, std::uint32_t most) const {
  auto const text = variable(name);
  if (auto const n = detail::read_number(text.value_or(""), most)) return *n;
  throw error(code::invalid_argument, "the environment variable " + std::string(name) + " is " +
                                          (text ? "'" + *text + "'" : "not set") + ": expected a number up to " +
                                          std::to_string(most));
}

RILL_NET_INLINE surroundings surroundings::of_this_process() {
  return {.variable =
              [](char const* name) {
                auto const* const value = std::getenv(name);
                return value && *value ? std::optional<std::string>(value) : std::nullopt;
              },
          .full_name = detail::full_host_name};
}

#endif

}  // namespace rill::net
