// Names with several addresses, which no name server need know, and addresses that answer nothing.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rill::test {

/// Returns a name with these addresses, in this order: the program looks such names up by itself (names.cpp).
inline std::string name_with(std::vector<std::string> const& addresses) {
  std::string all;
  for (auto const& a : addresses) all += (all.empty() ? "" : "+") + a;
  return all;
}

/// A port of 127.0.0.2 at which connections are made, and nobody says anything.
class silent_address {
 public:
  explicit silent_address(std::uint16_t port) {
    at_.sin_family = AF_INET;
    at_.sin_port = htons(port);
    at_.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    EXPECT_EQ(::bind(files_.front(), at(), sizeof at_), 0);
    EXPECT_EQ(::listen(files_.front(), 0), 0);
  }
  ~silent_address() {
    for (auto const file : files_) ::close(file);
  }
  silent_address(silent_address const&) = delete;
  silent_address& operator=(silent_address const&) = delete;

  /// From now on no connection is made either: as many wait as may.
  void fill() {
    for (int i = 0; i < 16; ++i) {
      files_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      (void)::connect(files_.back(), at(), sizeof at_);
    }
  }

 private:
  sockaddr* at() { return reinterpret_cast<sockaddr*>(&at_); }

  sockaddr_in at_ = {};
  std::vector<int> files_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

}  // namespace rill::test
