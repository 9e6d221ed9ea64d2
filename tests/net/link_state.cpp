#include "rill/net/link_state.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace rill::net {
namespace {

TEST(link_state, tells_a_stopped_process_from_a_link_that_is_gone) {
  tcp_state const stopped{.retransmits = 0, .unacknowledged = 0, .last_acknowledged = 9000};
  EXPECT_NE(stopped.text().find("the process is stopped or blocked"), std::string::npos);
  tcp_state const gone{.retransmits = 4, .unacknowledged = 2, .last_acknowledged = 3000};
  EXPECT_NE(gone.text().find("3000 ms, with 4 retransmissions"), std::string::npos) << gone.text();
  EXPECT_NE(gone.text().find("the link or the machine is gone"), std::string::npos) << gone.text();
}

// Two ends of a connection of loopback, of which one does not read: its machine acknowledges all the same.
TEST(link_state, is_that_of_a_socket) {
  auto const listening = ::socket(AF_INET, SOCK_STREAM, 0), one = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  ASSERT_EQ(::bind(listening, reinterpret_cast<sockaddr*>(&at), size), 0);
  ASSERT_EQ(::listen(listening, 1), 0);
  ASSERT_EQ(::getsockname(listening, reinterpret_cast<sockaddr*>(&at), &size), 0);
  ASSERT_EQ(::connect(one, reinterpret_cast<sockaddr*>(&at), size), 0);
  ASSERT_EQ(::send(one, "x", 1, 0), 1);
  std::string text;
  for (int i = 0; i < 30000 && text.find("acknowledges") == std::string::npos; ++i)
    text = state_of(one), ::usleep(1000);
  EXPECT_NE(text.find("its machine still acknowledges"), std::string::npos) << text;
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  EXPECT_EQ(state_of(pair[0]), "");
  for (int each : {listening, one, pair[0], pair[1]}) ::close(each);
}

}  // namespace
}  // namespace rill::net
