// How connections are made, and to whom they are not.
#include "rill/net/network.hpp"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/sentence.hpp"
#include "net/free_port.hpp"
#include "net/names.hpp"

namespace rill::net {
namespace {

using namespace std::chrono_literals;

// Connects, and returns why that failed; null: it did not.
failure why_not(net_options const& options, address const& to) {
  auto const net = network::make(options, {});
  std::promise<failure> ended;
  net->connect(to, [&](std::unique_ptr<byte_stream> s, failure why) {
    EXPECT_EQ(s == nullptr, why != nullptr);
    if (s) s->close();
    ended.set_value(std::move(why));
  });
  return ended.get_future().get();
}

// A socket of TCP on loopback whose queue has room for one that nobody accepts.
class small_queue {
 public:
  small_queue() {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(file_, reinterpret_cast<sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(file_, 0), 0);
    EXPECT_EQ(::getsockname(file_, reinterpret_cast<sockaddr*>(&at), &size), 0);
    port_ = ntohs(at.sin_port);
  }
  ~small_queue() { ::close(file_); }
  small_queue(small_queue const&) = delete;
  small_queue& operator=(small_queue const&) = delete;
  address where() const { return {.host = "127.0.0.1", .port = port_}; }

 private:
  int file_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::uint16_t port_ = 0;
};

TEST(network, says_that_nobody_listens) {
  address const free{.host = "127.0.0.1", .port = test::free_port()};
  for (auto const& at : {free, address::parse("unix:/nowhere/at/all")}) {
    auto const why = why_not({}, at);
    ASSERT_TRUE(why);
    EXPECT_EQ(why->code(), code::unavailable);
    EXPECT_NE(why->message().find("it can't be reached"), std::string::npos) << why->message();
  }
}

TEST(network, says_that_a_name_can_not_be_looked_up) {
  auto const why = why_not({}, address::parse("a..b:7000"));  // no name server need be asked
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), code::unavailable);
  EXPECT_NE(why->message().find("its name can't be looked up"), std::string::npos) << why->message();
}

TEST(network, gives_a_connection_up_that_is_not_made_in_time) {
  small_queue const full;
  EXPECT_FALSE(why_not({}, full.where()));
  failure why;
  for (int i = 0; i < 3 && !why; ++i) why = why_not({.connect_timeout = 200ms}, full.where());
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), code::unavailable);
  EXPECT_NE(why->message().find("did not answer in time"), std::string::npos) << why->message();
}

TEST(network, tries_all_addresses_of_a_name_though_the_first_answers_nothing) {
  small_queue there;
  auto const port = there.where().port;
  test::silent_address silent(port);
  silent.fill();
  auto const both = test::name_with({"127.0.0.2", "127.0.0.1"});
  failure why = failed(code::internal, "it was not tried");
  for (int i = 0; i < 5 && why; ++i) why = why_not({.connect_timeout = 1s}, {.host = both, .port = port});
  EXPECT_FALSE(why) << why->message();
  EXPECT_TRUE(why_not({.connect_timeout = 200ms}, {.host = "127.0.0.2", .port = port}));
}

TEST(network, says_of_each_address_of_a_name_why_it_is_not_reached) {
  auto const port = test::free_port();
  auto const why = why_not({}, {.host = test::name_with({"127.0.0.1", "127.0.0.3"}), .port = port});
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), code::unavailable);
  auto const at = ":" + std::to_string(port) + ": Connection refused";
  EXPECT_EQ(why->message(), "it can't be reached: 127.0.0.1" + at + ", 127.0.0.3" + at);
}

TEST(network, begins_with_the_address_that_it_is_told) {
  auto const net = network::make({}, {});
  for (auto const first : {std::size_t{0}, std::size_t{1}, std::size_t{5}}) {
    small_queue const there;
    address const both{.host = test::name_with({"127.0.0.3", "127.0.0.1"}), .port = there.where().port};
    std::promise<bool> connected;
    net->connect(both, [&](std::unique_ptr<byte_stream> s, failure) { connected.set_value(s != nullptr); }, first);
    EXPECT_TRUE(connected.get_future().get()) << first;
  }
}

TEST(network, refuses_processes_of_other_kinds) {
  auto const net = network::make({}, {}), lenient = network::make({.any_kernels = true}, {});
  auto const mine = net->hello();
  EXPECT_NO_THROW(net->check(mine));
  auto other = mine;
  other.name = "http";
  EXPECT_EQ(refusal([&] { net->check(other); }), code::unauthenticated);
  other = mine;
  ++other.version;
  EXPECT_EQ(refusal([&] { net->check(other); }), code::failed_precondition);
  other = mine;
  other.kernels = "of another processor";
  EXPECT_NE(sentence([&] { net->check(other); }).find("net_options::any_kernels"), std::string::npos);
  EXPECT_NO_THROW(lenient->check(other));
}

}  // namespace
}  // namespace rill::net
