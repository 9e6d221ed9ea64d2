#include "rill/net/kubernetes.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"
#include "net/told.hpp"

namespace rill::net {
namespace {

using variables = std::map<std::string, std::string>;

launch read(variables const& v, char const* jobs, char const* domain = ".digits.default.svc.cluster.local") {
  launch l;
  l.jobs = read_job_sizes(jobs);
  if (!read_kubernetes(told(v, domain), l)) l.launcher = "none";
  return l;
}
bool says(variables const& v, char const* jobs, char const* part, char const* domain = ".d") {
  auto const said = sentence([&] { (void)read(v, jobs, domain); });
  return said.find(part) != said.npos;
}

variables const job = {{"HOSTNAME", "digits-3"}, {"JOB_COMPLETION_INDEX", "3"}};
variables const set = {{"HOSTNAME", "digits-worker-1"}, {"KUBERNETES_SERVICE_HOST", "10.0.0.1"}};
variables const jobset = {{"HOSTNAME", "digits-worker-0-1"}, {"JOB_COMPLETION_INDEX", "1"}};

TEST(kubernetes, an_indexed_job_has_all_processes) {
  auto const l = read(job, "ps=2 worker=3");
  EXPECT_EQ(l.rank, 3u);
  EXPECT_EQ(l.by, launch::store::names);
  ASSERT_EQ(l.all.size(), 5u);
  EXPECT_EQ(l.all[4], "digits-4.digits.default.svc.cluster.local:7070");
}

TEST(kubernetes, stateful_sets_are_one_for_each_job) {
  auto const l = read(set, "ps=2 worker=3");
  EXPECT_EQ(task_of_rank(l.jobs, l.rank).text(), "/job:worker/task:1");
  EXPECT_EQ(l.all[1], "digits-ps-1.digits.default.svc.cluster.local:7070");
  EXPECT_EQ(l.all[4], "digits-worker-2.digits.default.svc.cluster.local:7070");
  EXPECT_EQ(read({{"HOSTNAME", "ps-0"}, {"KUBERNETES_SERVICE_HOST", "x"}}, "ps=2 worker=3").all[2],
            "worker-0.digits.default.svc.cluster.local:7070");
}

TEST(kubernetes, of_jobs_whose_names_end_alike_the_longest_is_meant) {
  auto const l = read({{"HOSTNAME", "digits-big-ps-0"}, {"KUBERNETES_SERVICE_HOST", "x"}}, "ps=1 big-ps=1");
  EXPECT_EQ(task_of_rank(l.jobs, l.rank).text(), "/job:big-ps/task:0");
}

TEST(kubernetes, a_job_set_has_a_job_for_each) {
  auto const l = read(jobset, "ps=1 worker=2");
  EXPECT_EQ(task_of_rank(l.jobs, l.rank).text(), "/job:worker/task:1");
  EXPECT_EQ(l.all[0], "digits-ps-0-0.digits.default.svc.cluster.local:7070");
  EXPECT_EQ(l.all[2], "digits-worker-0-1.digits.default.svc.cluster.local:7070");
}

TEST(kubernetes, the_service_and_the_port_can_be_set) {
  auto v = job;
  v["RILL_SERVICE"] = "other", v["RILL_PORT"] = "99";
  EXPECT_EQ(read(v, "worker=4", "").all[3], "digits-3.other:99");
}

TEST(kubernetes, the_number_of_pods_can_be_set) {
  auto v = job;
  v["RILL_PROCESSES"] = "4";
  EXPECT_EQ(read(v, "ps=1 worker=*").all.size(), 4u);
}

TEST(kubernetes, pods_can_meet_at_the_first_instead) {
  auto v = job;
  v["RILL_FIRST"] = "127.0.0.1", v["HOSTNAME"] = "laptop";
  auto const l = read(v, "worker=4");
  EXPECT_EQ(l.by, launch::store::rendezvous);
  EXPECT_EQ(l.rank, 3u);
  EXPECT_EQ(l.processes, 4u);
}

TEST(kubernetes, other_hosts_are_no_pods) {
  EXPECT_EQ(read({{"HOSTNAME", "laptop-1"}}, "worker=4").launcher, "none");
  EXPECT_EQ(read({{"HOSTNAME", "web-7d4b9c-x2x4z"}, {"KUBERNETES_SERVICE_HOST", "x"}}, "worker=4").launcher, "none");
}

TEST(kubernetes, what_is_missing_is_said) {
  EXPECT_TRUE(says(job, "worker=*", "does not tell a pod how many others there are: set RILL_JOBS"));
  EXPECT_TRUE(says(job, "worker=3", "pod 3 of the Job is one too many: the jobs are 'worker=3'"));
  EXPECT_TRUE(says(set, "ps=2 worker=1", "pod 1 of job worker is one too many"));
  EXPECT_TRUE(says(job, "worker=4", "it needs a headless service", ""));
  EXPECT_TRUE(
      says({{"HOSTNAME", "laptop"}, {"JOB_COMPLETION_INDEX", "3"}}, "worker=4", "the name ends with the index"));
}

}  // namespace
}  // namespace rill::net
