// The number of processors that the process may use, which is less than the machine has in many containers.
#pragma once
#include <cstdint>
#include <limits>
#include <string>

#include "rill/base/config.hpp"

namespace rill::detail {

/// Returns the number of processors of this thread's affinity (`taskset`, `numactl`, Slurm).
int processors_of_affinity();

constexpr auto no_quota = std::numeric_limits<std::int64_t>::max();
/// Returns the CPU quota of the process in processors, rounded up, or `no_quota`: the least of its cgroup and the
/// cgroups around it, of version 2 or 1. `root` is the folder with /proc and /sys.
std::int64_t processors_of_cgroups(std::string const& root = "");

/// Returns the number of processors that this thread may use, at least 1: those of its affinity, or the quota if that
/// is less.
int available_processors(std::string const& root = "");

}  // namespace rill::detail

#if RILL_RUNTIME
#include <algorithm>
#include <charconv>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace rill::detail {

RILL_INLINE int processors_of_affinity() {
#if defined(__linux__)
  // The kernel refuses a mask (EINVAL) that is shorter than its own.
  for (std::size_t masks = 1; masks <= 64; masks *= 2) {
    std::vector<cpu_set_t> set(masks);
    auto const bytes = masks * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, set.data()) == 0) return CPU_COUNT_S(bytes, set.data());
  }
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

/// Returns the first words of a file; fewer if it has fewer or is not there.
inline std::vector<std::string> first_words(std::string const& path, std::size_t most) {
  std::vector<std::string> words;
  std::ifstream file(path);
  for (std::string word; words.size() < most && file >> word;) words.push_back(word);
  return words;
}

/// Returns a quota in processors, rounded up: `words` are the microseconds that may be used and those of a period.
/// Returns `no_quota` if they aren't positive numbers: the first is "max" or -1 if there is no quota.
inline std::int64_t processors_of_quota(std::vector<std::string> const& words) {
  std::int64_t numbers[2] = {};
  if (words.size() != 2) return no_quota;
  for (std::size_t k = 0; k < 2; ++k) std::from_chars(words[k].data(), words[k].data() + words[k].size(), numbers[k]);
  auto const [quota, period] = numbers;
  return quota > 0 && period > 0 ? quota / period + (quota % period != 0) : no_quota;
}

/// Returns the smallest quota of a cgroup and the cgroups around it. In a container, `path` may be a path of the
/// host's, of which only the last folders or none are mounted.
inline std::int64_t smallest_quota(std::string const& mounted, std::string path, bool unified) {
  auto least = no_quota;
  for (;;) {
    auto const folder = mounted + path;
    auto words = unified ? first_words(folder + "/cpu.max", 2) : first_words(folder + "/cpu.cfs_quota_us", 1);
    if (!unified)
      for (auto& period : first_words(folder + "/cpu.cfs_period_us", 1)) words.push_back(std::move(period));
    least = std::min(least, processors_of_quota(words));
    auto const end = path.rfind('/');
    if (end == path.npos) return least;
    path.resize(end);
  }
}

RILL_INLINE std::int64_t processors_of_cgroups(std::string const& root) {
  auto least = no_quota;
  std::ifstream lines(root + "/proc/self/cgroup");  // "HIERARCHY:CONTROLLERS:PATH", cgroups(7)
  for (std::string line; std::getline(lines, line);) {
    auto const first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    auto const controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    auto path = line.substr(second + 1);
    if (path == "/") path.clear();
    if (controllers == ",,")
      for (auto const* mounted : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
        least = std::min(least, smallest_quota(root + mounted, path, true));
    else if (controllers.find(",cpu,") != controllers.npos)
      for (auto const* mounted : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"})
        least = std::min(least, smallest_quota(root + mounted, path, false));
  }
  return least;
}

RILL_INLINE int available_processors(std::string const& root) {
  auto const affinity = std::max(processors_of_affinity(), 1);
  return static_cast<int>(std::min<std::int64_t>(affinity, processors_of_cgroups(root)));
}

}  // namespace rill::detail
#endif
