#include "rill/net/launcher.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"
#include "net/told.hpp"

namespace rill::net {
namespace {

using variables = std::map<std::string, std::string>;
using store = launch::store;

std::optional<launch> read(variables const& v, char const* jobs = "") {
  return launched(told(v), read_job_sizes(jobs));
}
std::string refused(variables const& v, char const* jobs = "") {
  return sentence([&] { (void)read(v, jobs); });
}
bool has(std::string const& text, char const* part) { return text.find(part) != text.npos; }

variables const slurm = {{"SLURM_PROCID", "2"},  {"SLURM_NTASKS", "8"},        {"SLURM_STEP_NUM_TASKS", "4"},
                         {"SLURM_JOB_ID", "17"}, {"SLURM_STEP_ID", "3"},       {"SLURM_STEP_NODELIST", "n[07-08]"},
                         {"SLURM_NODEID", "1"},  {"SLURM_STEP_NUM_NODES", "2"}};
variables const open_mpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                            {"PMIX_RANK", "1"},
                            {"PMIX_NAMESPACE", "15"}};
variables const mpich = {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"PMI_FD", "6"}, {"MPI_LOCALNRANKS", "2"}};
variables const torchrun = {{"RANK", "1"},           {"WORLD_SIZE", "4"},      {"LOCAL_WORLD_SIZE", "2"},
                            {"MASTER_ADDR", "head"}, {"MASTER_PORT", "29500"}, {"TORCHELASTIC_RUN_ID", "a"}};

variables with(variables base, variables const& more) {
  for (auto const& [name, value] : more) base[name] = value;
  return base;
}

TEST(launcher, that_is_none_is_not_made_up) {
  EXPECT_FALSE(read({}));
  EXPECT_FALSE(read({{"RANK", "1"}, {"WORLD_SIZE", "4"}}));  // without an address it may be anybody's
}

TEST(launcher, slurm_says_rank_and_hosts) {
  auto const l = read(slurm, "ps=1 worker=*");
  ASSERT_TRUE(l);
  EXPECT_EQ(l->rank, 2u);
  EXPECT_EQ(l->processes, 4u);
  EXPECT_EQ(l->first_host, "n07");
  EXPECT_FALSE(l->one_host);
  EXPECT_EQ(l->by, store::rendezvous);
  EXPECT_EQ(task_of_rank(l->jobs, l->rank).text(), "/job:worker/task:1");
}

TEST(launcher, slurm_without_a_step_started_the_script_and_not_the_program) {
  auto outside = slurm;
  outside.erase("SLURM_STEP_ID");
  EXPECT_FALSE(read(outside));
}

TEST(launcher, processes_of_one_host_use_its_loopback_device) {
  auto const l = read(with(slurm, {{"SLURM_STEP_NODELIST", "n7"}}));
  EXPECT_TRUE(l->one_host);
  EXPECT_EQ(l->first_host, "127.0.0.1");
  EXPECT_TRUE(read(with(torchrun, {{"RANK", "0"}, {"WORLD_SIZE", "1"}}))->one_host);
}

TEST(launcher, runs_derive_their_ports_from_what_no_other_has) {
  auto const port = [](variables const& v) { return read(v)->first_port; };
  EXPECT_EQ(port(slurm), port(with(slurm, {{"SLURM_PROCID", "0"}})));
  EXPECT_NE(port(slurm), port(with(slurm, {{"SLURM_STEP_ID", "4"}})));
  EXPECT_NE(port(slurm), port(with(slurm, {{"RILL_TOKEN", "x"}})));
  EXPECT_GE(port(slurm), 10000);
  EXPECT_LT(port(slurm), 30000);
  EXPECT_EQ(port(with(slurm, {{"RILL_PORT", "99"}})), 99);
  EXPECT_EQ(read(with(slurm, {{"RILL_PORT", "99"}}))->ports, 1);
}

TEST(launcher, open_mpi_stores_addresses_by_pmix) {
  auto const l = read(open_mpi);
  ASSERT_TRUE(l);
  EXPECT_EQ(l->rank, 1u);
  EXPECT_TRUE(l->one_host);
  EXPECT_EQ(l->by, store::pmix);
  EXPECT_EQ(read(with(open_mpi, {{"PMIX_NAMESPACE", "15"}, {"RILL_FIRST", "n1"}}))->by, store::rendezvous);
  EXPECT_EQ(read(with(open_mpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}))->first_host, "");
}

TEST(launcher, mpich_stores_addresses_by_pmi) {
  auto const l = read(mpich);
  ASSERT_TRUE(l);
  EXPECT_EQ(l->rank, 3u);
  EXPECT_FALSE(l->one_host);
  EXPECT_EQ(l->by, store::pmi);
  EXPECT_EQ(l->pmi_file, 6);
}

TEST(launcher, torchrun_says_where_the_first_process_is) {
  auto const l = read(torchrun);
  ASSERT_TRUE(l);
  EXPECT_EQ(l->rank, 1u);
  EXPECT_EQ(l->first_host, "head");
  EXPECT_NE(l->first_port, 29500);
  EXPECT_TRUE(read(with(torchrun, {{"LOCAL_WORLD_SIZE", "4"}}))->one_host);
}

TEST(launcher, whose_first_process_is_at_an_address_of_this_host_alone_has_one_host) {
  for (auto const* host : {"127.0.0.1", "localhost", "::1"}) {
    auto const l = read({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", host}, {"MASTER_PORT", "29500"}});
    ASSERT_TRUE(l);
    EXPECT_TRUE(l->one_host) << host;
    EXPECT_EQ(l->first_host, "127.0.0.1");
  }
  EXPECT_FALSE(read(torchrun)->one_host);
}

TEST(launcher, that_started_the_process_itself_goes_before_one_that_started_that) {
  EXPECT_EQ(read(with(slurm, open_mpi))->launcher, "Open MPI's mpirun");  // which starts its own daemons by srun
  EXPECT_EQ(read(with(slurm, mpich))->by, store::pmi);
  EXPECT_EQ(read(with(slurm, torchrun))->launcher, "torchrun");
  EXPECT_EQ(read(with(slurm, {{"RILL_RANK", "0"}, {"RILL_PROCESSES", "2"}}))->processes, 2u);
}

TEST(launcher, of_ones_own_says_rank_and_number) {
  auto const l = read({{"RILL_RANK", "1"}, {"RILL_PROCESSES", "3"}, {"RILL_JOBS", "ps=1 worker=2"}}, "worker=*");
  ASSERT_TRUE(l);
  EXPECT_EQ(l->first_host, "127.0.0.1");
  EXPECT_EQ(l->first_port, default_port);
  EXPECT_EQ(l->jobs.front().name, "ps");
  auto const far = read({{"RILL_RANK", "1"}, {"RILL_PROCESSES", "3"}, {"RILL_FIRST", "n1"}, {"RILL_HOST", "n2"}});
  EXPECT_FALSE(far->one_host);
  EXPECT_EQ(far->first_host, "n1");
  EXPECT_EQ(far->own_host, "n2");
}

TEST(launcher, that_says_nonsense_is_refused_with_the_variable) {
  EXPECT_TRUE(has(refused({{"RILL_RANK", "1"}}), "RILL_PROCESSES is not set"));
  EXPECT_TRUE(has(refused({{"RILL_RANK", "x"}, {"RILL_PROCESSES", "3"}}), "RILL_RANK is 'x': expected a number"));
  EXPECT_TRUE(has(refused({{"RILL_RANK", "3"}, {"RILL_PROCESSES", "3"}}), "RILL_RANK is 3, and RILL_PROCESSES 3"));
  EXPECT_TRUE(has(refused(with(slurm, {{"SLURM_STEP_NODELIST", "n["}})), "no list of hosts"));
  EXPECT_TRUE(has(refused(with(slurm, {{"RILL_PORT", "66000"}})), "RILL_PORT is '66000'"));
  EXPECT_TRUE(has(refused(with(slurm, {{"RILL_PORT", "0"}})), "RILL_PORT is 0"));
  EXPECT_TRUE(has(refused(slurm, "ps=1 worker=1"), "2 tasks, and Slurm's srun has started 4 processes"));
}

}  // namespace
}  // namespace rill::net
