#include "rill/net/pmi.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>

#include "base/sentence.hpp"

namespace rill::net {
namespace {

using namespace std::chrono_literals;

/// A launcher that answers each command with the next line, and returns the commands.
std::string converse(std::vector<std::string> const& answers, int file) {
  std::string all;
  for (auto const& a : answers) {
    for (char c = 0; c != '\n'; all += c)
      if (::read(file, &c, 1) != 1) return all;
    for (char c : a)  // in pieces
      if (::send(file, &c, 1, MSG_NOSIGNAL) != 1) return all;
  }
  return all;
}

struct conversation {
  std::string error, said;
  std::vector<std::string> got;
};
conversation with(std::vector<std::string> const& answers, std::chrono::nanoseconds timeout = 60s) {
  int files[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, files), 0);
  auto launcher = std::async(std::launch::async, [&] { return converse(answers, files[0]); });
  conversation c;
  c.error = sentence([&] { c.got = exchange_by_pmi(files[1], 1, 2, "n1:7", timeout); });
  ::close(files[1]);
  c.said = launcher.get();
  ::close(files[0]);
  return c;
}

std::vector<std::string> const usual = {"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
                                        "cmd=my_kvsname kvsname=kvs_7_0\n",
                                        "cmd=put_result rc=0 msg=success\n",
                                        "cmd=barrier_out\n",
                                        "cmd=get_result rc=0 msg=success value=n0:7\n",
                                        "cmd=get_result rc=0 msg=success value=n1:7\n",
                                        "cmd=finalize_ack\n"};

TEST(pmi, stores_an_address_and_gets_all) {
  auto const c = with(usual);
  EXPECT_EQ(c.error, "");
  EXPECT_EQ(c.got, (std::vector<std::string>{"n0:7", "n1:7"}));
  EXPECT_NE(c.said.find("cmd=put kvsname=kvs_7_0 key=rill-1 value=n1:7\ncmd=barrier_in\n"), std::string::npos)
      << c.said;
  EXPECT_TRUE(c.said.ends_with("cmd=finalize\n"));
}

TEST(pmi, says_what_the_launcher_says_instead) {
  auto answers = usual;
  answers[2] = "cmd=put_result rc=-1 msg=duplicate_key\n";
  EXPECT_NE(with(answers).error.find("duplicate_key"), std::string::npos);
  answers[2] = "nonsense\n";
  EXPECT_NE(with(answers).error.find("'nonsense' has no cmd"), std::string::npos);
  answers[2] = std::string(5000, 'x');
  EXPECT_NE(with(answers).error.find("longer than 4096"), std::string::npos);
}

TEST(pmi, waits_for_the_others_until_its_deadline) {
  auto const c = with({usual.begin(), usual.begin() + 3}, 200ms);
  EXPECT_NE(c.error.find("deadline_exceeded: not all processes"), std::string::npos) << c.error;
}

}  // namespace
}  // namespace rill::net
