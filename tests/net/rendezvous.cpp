#include "rill/net/rendezvous.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "base/limit.hpp"
#include "base/sentence.hpp"
#include "net/free_port.hpp"
#include "net/names.hpp"
#include "rill/net/bound_socket.hpp"
#include "rill/net/messages.hpp"

namespace rill::net {
namespace {

using addresses = std::vector<std::string>;
using namespace std::chrono_literals;
using test::free_port;

struct outcome {
  addresses all;
  std::string error;
};
std::future<outcome> start(meeting m) {
  return std::async(std::launch::async, [m] {
    outcome o;
    o.error = sentence([&] { o.all = meet(m); });
    return o;
  });
}
meeting member(std::uint32_t rank, std::uint32_t processes, std::uint16_t port) {
  return {.rank = rank,
          .processes = processes,
          .port = port,
          .token = "a run",
          .own_port = static_cast<std::uint16_t>(1000 + rank)};
}
bool has(std::string const& text, char const* part) { return text.find(part) != text.npos; }

/// What a process says that meets nobody: with these words, if it has the time to hear of what they say.
std::string said_in_time(meeting m, char const* words) {
  std::string said;
  for (m.timeout = 100ms; m.timeout < 30s && !has(said, words); m.timeout *= 2) said = start(m).get().error;
  return said;
}

/// A connection to a port of this host, once somebody listens there.
int connected_to(std::uint16_t port) {
  sockaddr_in at = {};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (;;) {
    auto const file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(file, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0) return file;
    ::close(file);
    std::this_thread::sleep_for(5ms);
  }
}

TEST(rendezvous, gives_all_processes_the_addresses_of_all) {
  auto const port = free_port();
  std::vector<std::future<outcome>> all;
  for (std::uint32_t r = 4; r-- > 0;) all.push_back(start(member(r, 4, port)));  // the first comes last
  for (auto& each : all) {
    auto const o = each.get();
    EXPECT_EQ(o.error, "");
    EXPECT_EQ(o.all, (addresses{"127.0.0.1:1000", "127.0.0.1:1001", "127.0.0.1:1002", "127.0.0.1:1003"}));
  }
}

TEST(rendezvous, reaches_process_0_at_any_of_its_addresses) {
  auto const port = free_port();
  test::silent_address const silent(port);
  auto first = start(member(0, 2, port));
  auto second = member(1, 2, port);
  second.host = test::name_with({"127.0.0.2", "127.0.0.1"});
  second.timeout = 6s;
  auto const o = start(second).get();
  EXPECT_EQ(o.error, "");
  EXPECT_EQ(o.all, first.get().all);
}

TEST(rendezvous, of_one_process_needs_no_other) {
  EXPECT_EQ(meet(member(0, 1, free_port())), addresses{"127.0.0.1:1000"});
}

TEST(rendezvous, says_everybody_who_is_missing) {
  test::allow(600);
  std::string wrong = "?";
  for (std::chrono::nanoseconds time = 500ms; time < 10s && !wrong.empty(); time *= 2) {  // until all come in time
    auto const port = free_port();
    std::vector<std::future<outcome>> came;
    for (std::uint32_t r : {0u, 1u, 3u}) {
      auto m = member(r, 4, port);
      m.timeout = r == 3 ? time : time + 60s;  // the least patient one would leave
      came.push_back(start(m));
    }
    wrong.clear();
    for (auto& each : came) {
      auto const o = each.get();
      if (!has(o.error, "deadline_exceeded: 3 of 4 processes came in time; missing: rank 2")) wrong += o.error + "\n";
    }
  }
  EXPECT_EQ(wrong, "");
}

TEST(rendezvous, that_process_0_does_not_come_to_is_said_with_its_address) {
  auto m = member(1, 2, free_port());
  auto const words = "127.0.0.1:" + std::to_string(m.port) + ": Connection refused";
  auto const said = said_in_time(m, words.c_str());
  EXPECT_TRUE(has(said, words.c_str())) << said;
}

TEST(rendezvous, refuses_a_second_process_of_one_rank_with_both_named) {
  auto const port = free_port();
  std::vector<std::future<outcome>> all;
  all.push_back(start(member(0, 3, port)));
  auto one = start(member(1, 3, port)), other = start(member(1, 3, port));
  while (one.wait_for(5ms) != std::future_status::ready && other.wait_for(5ms) != std::future_status::ready) {
  }
  all.push_back(start(member(2, 3, port)));
  auto const a = one.get(), b = other.get();
  auto const& refused = a.error.empty() ? b.error : a.error;
  EXPECT_TRUE(has(refused, "two processes have rank 1: host ")) << refused;
  EXPECT_TRUE(has(refused, ", and host ")) << refused;
  EXPECT_EQ((a.error.empty() ? a : b).all.size(), 3u);  // the first of them stays
  for (auto& each : all) EXPECT_EQ(each.get().error, "");
}

TEST(rendezvous, refuses_another_number_of_processes) {
  auto const port = free_port();
  auto host = start(member(0, 2, port));
  EXPECT_TRUE(has(start(member(1, 3, port)).get().error, "process 0 was told of 2 processes, and rank 1 of 3"));
  EXPECT_EQ(start(member(1, 2, port)).get().error, "");
  EXPECT_EQ(host.get().error, "");
}

TEST(rendezvous, keeps_other_runs_apart) {
  auto const port = free_port();
  auto host = start(member(0, 2, port));
  auto other = member(1, 2, port);
  other.token = "another run";
  ::close(connected_to(port));
  auto const said = said_in_time(other, "a process of another run");
  EXPECT_TRUE(has(said, "a process of another run")) << said;
  EXPECT_EQ(start(member(1, 2, port)).get().error, "");
  EXPECT_EQ(host.get().error, "");
}

TEST(rendezvous, takes_the_next_port_if_another_run_has_the_first) {
  auto const port = free_port();
  auto first = member(0, 2, port), second = member(0, 2, port), guest = member(1, 2, port);
  for (auto* m : {&first, &second, &guest}) m->ports = 8;
  first.token = "another run";
  auto one = start(first);
  ::close(connected_to(port));
  auto two = start(second);
  EXPECT_EQ(start(guest).get().error, "");
  EXPECT_EQ(two.get().error, "");
  auto last = member(1, 2, port);
  last.token = "another run";
  EXPECT_EQ(start(last).get().error, "");
  EXPECT_EQ(one.get().error, "");
}

TEST(rendezvous, takes_the_next_port_if_another_program_has_the_first) {
  bound_socket taken(false);
  auto const file = taken.take();
  auto guest = member(1, 2, taken.port()), host = member(0, 2, taken.port());
  guest.ports = host.ports = 8;
  auto came = start(guest);
  auto const stranger = ::accept(file, nullptr, nullptr);
  std::string const bytes = "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n";
  EXPECT_EQ(::send(stranger, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  auto first = start(host);
  ::close(stranger);
  ::close(file);
  auto const o = came.get();
  EXPECT_EQ(o.error, "");
  EXPECT_EQ(o.all.size(), 2u);
  EXPECT_EQ(first.get().error, "");
}

TEST(rendezvous, says_which_port_is_taken) {
  bound_socket const taken(false);
  auto const o = start(member(0, 2, taken.port())).get();
  EXPECT_TRUE(has(o.error, ("at port " + std::to_string(taken.port())).c_str())) << o.error;
  EXPECT_TRUE(has(o.error, "set RILL_PORT")) << o.error;
}

TEST(rendezvous, survives_what_strangers_send) {
  auto const port = free_port();
  auto host = start(member(0, 2, port));
  std::vector<int> files;
  for (std::string const& bytes : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(4, '\xff'), std::string(4, '\0'),
                                   std::string("\x04\0\0\0abcd", 8), std::string("\x10\0\0\0abcd", 8), std::string()}) {
    files.push_back(connected_to(port));
    ASSERT_EQ(::send(files.back(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  EXPECT_EQ(start(member(1, 2, port)).get().error, "");
  EXPECT_EQ(host.get().error, "");
  for (auto const file : files) ::close(file);
}

TEST(rendezvous, lets_a_process_that_has_left_come_again) {
  auto const port = free_port();
  auto host = start(member(0, 3, port));
  {
    auto const file = connected_to(port);
    auto const body =
        body_of(std::string("rill:rendezvous:1"), std::string("a run"), std::string("host x"),
                std::string("127.0.0.1:1"), std::uint32_t{1}, std::uint32_t{3}, std::int64_t{60'000'000'000});
    auto const n = static_cast<std::uint32_t>(body.size());
    auto const text = std::string(reinterpret_cast<char const*>(&n), sizeof n) + body;
    ASSERT_EQ(::send(file, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    char joined = 0;
    ASSERT_EQ(::recv(file, &joined, 1, 0), 1);
    ::close(file);
  }
  auto last = start(member(2, 3, port));
  outcome again;
  do again = start(member(1, 3, port)).get();
  while (has(again.error, "two processes"));  // until it is noticed that the former has left
  EXPECT_EQ(again.error, "");
  EXPECT_EQ(again.all[1], "127.0.0.1:1001");
  EXPECT_EQ(last.get().error, "");
  EXPECT_EQ(host.get().error, "");
}

}  // namespace
}  // namespace rill::net
