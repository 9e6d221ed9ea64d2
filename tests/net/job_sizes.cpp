#include "rill/net/job_sizes.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"

namespace rill::net {
namespace {

TEST(job_sizes, are_read_from_text) {
  auto const jobs = read_job_sizes("ps=2 worker=*");
  EXPECT_EQ(jobs, (std::vector<job_size>{{.name = "ps", .tasks = 2}, {.name = "worker"}}));
  EXPECT_EQ(read_job_sizes(""), std::vector<job_size>{{.name = "worker"}});
  EXPECT_EQ(processes_of(jobs), std::nullopt);
  EXPECT_EQ(processes_of(read_job_sizes("ps=2;worker=3")), 5u);
}

TEST(job_sizes, that_are_none_are_refused) {
  for (auto const* text : {"ps", "ps=", "=2", "ps=0", "ps=-1", "ps=2x", "ps=70000", "ps=* worker=*"})
    EXPECT_EQ(refusal([&] { (void)read_job_sizes(text); }), code::invalid_argument) << text;
}

TEST(job_sizes, have_names_of_jobs_each_once) {
  EXPECT_NE(sentence([] { (void)read_job_sizes("ps=1 ps=2"); }).find("two jobs are called 'ps'"), std::string::npos);
  EXPECT_EQ(refusal([] { (void)read_job_sizes("a/b=1"); }), code::invalid_argument);
}

TEST(job_sizes, divide_the_processes_in_order) {
  auto const jobs = fitted(read_job_sizes("ps=2 worker=* chief=1"), 6, "srun");
  EXPECT_EQ(task_of_rank(jobs, 1).text(), "/job:ps/task:1");
  EXPECT_EQ(task_of_rank(jobs, 2).text(), "/job:worker/task:0");
  EXPECT_EQ(task_of_rank(jobs, 4).text(), "/job:worker/task:2");
  EXPECT_EQ(task_of_rank(jobs, 5).text(), "/job:chief/task:0");
}

TEST(job_sizes, that_do_not_fit_are_refused_with_both_numbers) {
  auto const said = [](char const* jobs, std::uint32_t n) {
    return sentence([&] { (void)fitted(read_job_sizes(jobs), n, "srun"); });
  };
  EXPECT_NE(said("ps=2 worker=3", 4).find("'ps=2 worker=3' have 5 tasks, and srun has started 4 processes"),
            std::string::npos);
  EXPECT_NE(said("ps=2 worker=3", 6).find("started 6 processes"), std::string::npos);
  EXPECT_NE(said("ps=2 worker=*", 2).find("more than 2 tasks"), std::string::npos);
  EXPECT_EQ(said("ps=2 worker=*", 3), "");
}

}  // namespace
}  // namespace rill::net
