#include "rill/net/cluster.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/sentence.hpp"
#include "rill/net/bound_socket.hpp"

namespace rill {
namespace {

TEST(cluster, is_read_from_texts) {
  auto const c = cluster::parse("ps=10.0.0.1:1 worker=10.0.0.2:1,10.0.0.3:1", "worker:1");
  EXPECT_EQ(c.size("worker"), 2u);
  EXPECT_EQ(c.size("chief"), 0u);
  EXPECT_EQ(c.task.text(), "/job:worker/task:1");
  EXPECT_EQ(c.at(c.task).text(), "10.0.0.3:1");
  EXPECT_EQ(c.tasks().size(), 3u);
}

TEST(cluster, is_read_from_the_environment) {
  ::unsetenv("RILL_TASK");
  ::setenv("RILL_CLUSTER", "worker=127.0.0.1:7000", 1);
  EXPECT_NE(sentence([] { (void)cluster::from_environment(); }).find("RILL_TASK"), std::string::npos);
  ::setenv("RILL_TASK", "worker:0", 1);
  EXPECT_EQ(cluster::from_environment().task.text(), "/job:worker/task:0");
  ::unsetenv("RILL_CLUSTER");
  ::unsetenv("RILL_TASK");
}

TEST(cluster, is_read_from_json) {
  constexpr auto text =
      R"({"cluster": {"ps": ["a:1"], "worker": ["b:1", "c:1"]}, "task": {"type": "worker", "index": 1}})";
  EXPECT_EQ(cluster::parse(text).task.text(), "/job:worker/task:1");
  EXPECT_EQ(cluster::parse(text, "ps:0").task.text(), "/job:ps/task:0");
  EXPECT_EQ(cluster::parse(text).size("worker"), 2u);
}

TEST(cluster, is_read_from_a_file) {
  auto const path = testing::TempDir() + "rill_cluster.json";
  std::ofstream(path) << R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}})";
  ::setenv("RILL_CLUSTER_FILE", path.c_str(), 1);
  EXPECT_EQ(cluster::from_environment().at(cluster::from_environment().task).text(), "a:1");
  std::remove(path.c_str());
  EXPECT_EQ(refusal([] { (void)cluster::from_environment(); }), code::not_found);
  ::setenv("RILL_CLUSTER_FILE", "/tmp", 1);  // a folder
  EXPECT_EQ(refusal([] { (void)cluster::from_environment(); }), code::not_found);
  ::unsetenv("RILL_CLUSTER_FILE");
}

TEST(cluster, of_processes_that_a_launcher_has_started_has_sockets) {
  ::setenv("RILL_RANK", "0", 1);
  ::setenv("RILL_PROCESSES", "1", 1);
  auto const c = cluster::from_environment({.jobs = "ps=1"});
  ASSERT_TRUE(c.socket);
  EXPECT_EQ(c.task.text(), "/job:ps/task:0");
  EXPECT_EQ(c.at(c.task).text(), "127.0.0.1:" + std::to_string(c.socket->port()));
  EXPECT_EQ(refusal([] { (void)cluster::from_environment({.jobs = "ps=2"}); }), code::invalid_argument);
  ::unsetenv("RILL_RANK");
  ::unsetenv("RILL_PROCESSES");
}

TEST(cluster, has_one_chief) {
  auto const is_chief = [](char const* jobs, char const* task) { return cluster::parse(jobs, task).is_chief(); };
  EXPECT_TRUE(is_chief("ps=a:1 worker=b:1", "worker:0"));
  EXPECT_FALSE(is_chief("ps=a:1 worker=b:1", "ps:0"));
  EXPECT_TRUE(is_chief("chief=c:1 worker=b:1", "chief:0"));
  EXPECT_FALSE(is_chief("chief=c:1 worker=b:1", "worker:0"));
  EXPECT_TRUE(is_chief("node=c:1,d:1", "node:0"));
  EXPECT_FALSE(is_chief("node=c:1,d:1", "node:1"));
}

TEST(cluster, that_is_none_is_refused) {
  for (auto const* jobs : {"", "worker", "worker=", "worker=x", "worker=a:1 worker=b:1", "worker=a:1,a:1", "1=a:1"})
    EXPECT_EQ(refusal([&] { (void)cluster::parse(jobs); }), code::invalid_argument) << jobs;
  EXPECT_EQ(refusal([] { (void)cluster::parse("worker=a:1", "worker:1"); }), code::not_found);
  EXPECT_EQ(refusal([] { (void)cluster::parse("worker=a:1", "/job:worker/task:0/device:cpu:0"); }),
            code::invalid_argument);
}

}  // namespace
}  // namespace rill
