#include "rill/base/processors.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <thread>
#include <utility>

#include "io/scratch.hpp"

#if defined(__linux__)
#include <sched.h>
#endif

namespace rill::detail {
namespace {

// A folder with files of /proc and /sys, each given by its path and text.
class machine {
 public:
  machine(std::initializer_list<std::pair<char const*, char const*>> files) {
    for (auto const& [path, text] : files) {
      auto const file = folder_ / path;
      std::filesystem::create_directories(file.parent_path());
      std::ofstream(file) << text;
    }
  }
  std::int64_t quota() const { return processors_of_cgroups((folder_ / "").string()); }
  int processors() const { return available_processors((folder_ / "").string()); }

 private:
  scratch folder_;
};

TEST(processors, of_a_quota_are_rounded_up) {
  machine const two({{"proc/self/cgroup", "0::/app\n"}, {"sys/fs/cgroup/app/cpu.max", "200000 100000\n"}});
  EXPECT_EQ(two.quota(), 2);
  machine const more({{"proc/self/cgroup", "0::/app\n"}, {"sys/fs/cgroup/app/cpu.max", "200001 100000\n"}});
  EXPECT_EQ(more.quota(), 3);
  machine const half({{"proc/self/cgroup", "0::/app\n"}, {"sys/fs/cgroup/app/cpu.max", "50000 100000\n"}});
  EXPECT_EQ(half.quota(), 1);
  EXPECT_EQ(half.processors(), 1);
}

TEST(processors, are_those_of_the_affinity_without_a_quota) {
  machine const without({});
  EXPECT_EQ(without.quota(), no_quota);
  machine const most({{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "max 100000\n"}});
  EXPECT_EQ(most.quota(), no_quota);
  EXPECT_EQ(most.processors(), processors_of_affinity());
  for (auto const* text : {"", "max", "x y", "0 100000", "100000 0", "-1 100000", "100000"})
    EXPECT_EQ(machine({{"proc/self/cgroup", "0::/a\nx\n:\n"}, {"sys/fs/cgroup/a/cpu.max", text}}).quota(), no_quota)
        << text;
}

TEST(processors, are_bounded_by_the_quota_of_each_cgroup_around) {
  machine const nested({{"proc/self/cgroup", "0::/slice/pod/app\n"},
                        {"sys/fs/cgroup/slice/cpu.max", "300000 100000"},
                        {"sys/fs/cgroup/slice/pod/cpu.max", "100000 50000"},
                        {"sys/fs/cgroup/slice/pod/app/cpu.max", "max 100000"}});
  EXPECT_EQ(nested.quota(), 2);
}

TEST(processors, of_a_container_that_has_the_hosts_path_of_its_cgroup_are_found) {
  machine const container({{"proc/self/cgroup", "0::/docker/0123\n"}, {"sys/fs/cgroup/cpu.max", "100000 100000"}});
  EXPECT_EQ(container.quota(), 1);
}

TEST(processors, are_bounded_by_cgroups_of_version_1) {
  machine const old({{"proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/docker/0123\n0::/\n"},
                     {"sys/fs/cgroup/cpu,cpuacct/docker/0123/cpu.cfs_quota_us", "-1\n"},
                     {"sys/fs/cgroup/cpu,cpuacct/docker/0123/cpu.cfs_period_us", "100000\n"},
                     {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000\n"},
                     {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"}});
  EXPECT_EQ(old.quota(), 2);
  machine const other({{"proc/self/cgroup", "4:cpuacct:/a\n"},
                       {"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "100000"},
                       {"sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000"}});
  EXPECT_EQ(other.quota(), no_quota) << "cpuacct has no quotas";
}

#if defined(__linux__)
TEST(processors, are_those_that_the_thread_may_run_on) {
  std::thread([] {
    cpu_set_t all, one;
    ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (std::size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i)
      if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(processors_of_affinity(), 1);
    EXPECT_EQ(available_processors(), 1);
  }).join();
}
#endif

}  // namespace
}  // namespace rill::detail
