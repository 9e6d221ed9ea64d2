#include "rill/net/bound_socket.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/sentence.hpp"
#include "rill/net.hpp"

namespace rill {
namespace {

TEST(bound_socket, has_a_port_of_its_own) {
  net::bound_socket const a(false), b(false);
  EXPECT_NE(a.port(), 0);
  EXPECT_NE(a.port(), b.port());
  EXPECT_FALSE(a.is_open());
}

TEST(bound_socket, is_taken_once) {
  net::bound_socket s(true);
  EXPECT_TRUE(s.is_open());
  auto const file = s.take();
  EXPECT_GE(file, 0);
  EXPECT_EQ(s.take(), -1);
  ::close(file);
}

cluster of_one(bool open) {
  cluster c{.jobs = {}, .task = {.job = "worker", .task = 0}, .socket = std::make_shared<net::bound_socket>(open)};
  c.jobs = {{.name = "worker", .addresses = {"127.0.0.1:" + std::to_string(c.socket->port())}}};
  return c;
}

TEST(bound_socket, is_taken_over_by_the_server) {
  auto const c = of_one(false);
  server s{c};
  EXPECT_EQ(c.socket->take(), -1);
  EXPECT_EQ(s.cluster().at(s.task()), c.at(c.task));
  connect(c.at(c.task).text(), {.start_timeout = std::chrono::seconds(60)});
}

TEST(bound_socket, that_others_can_reach_needs_a_network_that_is_trusted) {
  auto const said = sentence([] { server s{of_one(true)}; });
  EXPECT_NE(said.find("trusted_network"), std::string::npos) << said;
}

}  // namespace
}  // namespace rill
