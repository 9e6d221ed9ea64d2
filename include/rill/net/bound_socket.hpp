// A socket that has its port before the server exists, so that no other process can take the port in between.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "rill/base/c_locale.hpp"
#include "rill/base/config.hpp"
#include "rill/base/error.hpp"

namespace rill::net {

/// A TCP socket of this process that listens at a port which was free.
class bound_socket {
 public:
  /// `open`: processes of other hosts can reach it. Throws error(unavailable) if the system has no port left.
  explicit bound_socket(bool open);
  /// Closes it, unless it was taken.
  ~bound_socket();
  bound_socket(bound_socket const&) = delete;
  bound_socket& operator=(bound_socket const&) = delete;

  std::uint16_t port() const { return port_; }
  bool is_open() const { return is_open_; }
  bool is_ipv6() const { return is_ipv6_; }
  /// Returns the open file, which is the caller's from now on; -1 if somebody else has taken it.
  int take() { return file_.exchange(-1); }

 private:
  bool bind(int family, bool open);

  std::atomic<int> file_ = -1;
  std::uint16_t port_ = 0;
  bool is_open_ = false, is_ipv6_ = false;
};

#if RILL_NET_RUNTIME
}  // namespace rill::net

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace rill::net {

// Both families if there is IPv6, for names may be looked up as either.
RILL_NET_INLINE bound_socket::bound_socket(bool open) : is_open_(open) {
  if (open && bind(AF_INET6, true)) is_ipv6_ = true;
  else if (!bind(AF_INET, open))
    throw error(code::unavailable, "no port of this host is free: " + system_message({errno, std::system_category()}));
}

RILL_NET_INLINE bool bound_socket::bind(int family, bool open) {
  auto const file = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (file < 0) return false;
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(open ? INADDR_ANY : INADDR_LOOPBACK);
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  bool const is_v6 = family == AF_INET6;
  auto* const at = is_v6 ? reinterpret_cast<sockaddr*>(&v6) : reinterpret_cast<sockaddr*>(&v4);
  socklen_t size = is_v6 ? sizeof v6 : sizeof v4;
  int const no = 0;
  if ((is_v6 && ::setsockopt(file, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) != 0) || ::bind(file, at, size) != 0 ||
      ::listen(file, SOMAXCONN) != 0 || ::getsockname(file, at, &size) != 0) {
    auto const why = errno;
    ::close(file);
    errno = why;
    return false;
  }
  port_ = ntohs(is_v6 ? v6.sin6_port : v4.sin_port);
  file_ = file;
  return true;
}

RILL_NET_INLINE bound_socket::~bound_socket() {
  if (auto const file = take(); file >= 0) ::close(file);
}

#endif

}  // namespace rill::net
