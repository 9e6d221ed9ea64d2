// Ports at which nobody listens, and that stay free while a test needs them.
#pragma once
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

namespace rill::test {

/// Returns a port of 127.0.0.1 that no other program is given until this one ends: a socket is bound to it that does
/// not listen. So connections to it are refused, until somebody listens there who allows addresses to be reused, as
/// servers and meetings do.
inline std::uint16_t free_port() {
  auto const file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int const yes = 1;
  EXPECT_EQ(::setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
  sockaddr_in at = {};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  EXPECT_EQ(::bind(file, reinterpret_cast<sockaddr*>(&at), size), 0);
  EXPECT_EQ(::getsockname(file, reinterpret_cast<sockaddr*>(&at), &size), 0);
  return ntohs(at.sin_port);
}

}  // namespace rill::test
