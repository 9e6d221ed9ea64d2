// How the processes of a run are divided into jobs: "ps=2 worker=*".
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/base/error.hpp"
#include "rill/device/device_name.hpp"

namespace rill::net {

/// A job and the number of its tasks.
struct job_size {
  std::string name = {};
  std::optional<std::uint32_t> tasks = {};  ///< empty, "*": all processes that are in no other job

  friend bool operator==(job_size const&, job_size const&) = default;
};

/// The most processes of a run.
inline constexpr std::uint32_t most_processes = 65536;

/// Reads "ps=2 worker=*"; the empty text is "worker=*". Throws error(invalid_argument) if it says something else.
std::vector<job_size> read_job_sizes(std::string_view text);

/// Returns the number of processes that the jobs have together; empty if a job has all that are left.
std::optional<std::uint32_t> processes_of(std::vector<job_size> const& jobs);

/// Gives the job with "*" what the others leave of `processes`. Throws error(invalid_argument) if they don't fit;
/// `launcher`: the program that has started the processes, for messages.
std::vector<job_size> fitted(std::vector<job_size> jobs, std::uint32_t processes, std::string_view launcher);

/// Returns the task that a process is: the first processes are the first job's. All sizes must be known.
device_name task_of_rank(std::vector<job_size> const& jobs, std::uint32_t rank);

#if RILL_NET_RUNTIME

namespace detail {

/// Returns the number that decimal digits spell, up to `most`; empty if they spell none.
inline std::optional<std::uint32_t> read_number(std::string_view digits, std::uint32_t most) {
  std::uint64_t n = 0;
  if (digits.empty() || digits.size() > 10) return {};
  for (char c : digits) {
    if (c < '0' || c > '9') return {};
    n = n * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (n > most) return {};
  return static_cast<std::uint32_t>(n);
}

inline std::string text_of(std::vector<job_size> const& jobs) {
  std::string text;
  for (auto const& j : jobs)
    text += (text.empty() ? "" : " ") + j.name + "=" + (j.tasks ? std::to_string(*j.tasks) : "*");
  return text;
}

}  // namespace detail

RILL_NET_INLINE std::vector<job_size> read_job_sizes(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n;";
  std::vector<job_size> jobs;
  bool has_rest = false;
  for (std::size_t at = text.find_first_not_of(spaces); at < text.size(); at = text.find_first_not_of(spaces, at)) {
    auto const word = text.substr(at, text.find_first_of(spaces, at) - at);
    at += word.size();
    auto const equals = word.find('=');
    auto const name = word.substr(0, equals);
    auto const count = equals == word.npos ? "" : word.substr(equals + 1);
    auto const tasks = detail::read_number(count, most_processes);
    if (name.empty() || (!tasks && count != "*") || tasks == 0u)
      throw error(code::invalid_argument, "'" + std::string(word) +
                                              "' does not say how many tasks a job has: expected JOB=NUMBER or, for "
                                              "all processes that are left, JOB=*");
    if (device_name::parse("/job:" + std::string(name)).job != name)
      throw error(code::invalid_argument, "'" + std::string(name) +
                                              "' is no name of a job: expected letters, digits, '_' and '-', the first "
                                              "of them a letter");
    if (std::any_of(jobs.begin(), jobs.end(), [&](auto const& j) { return j.name == name; }))
      throw error(code::invalid_argument,
                  "two jobs are called '" + std::string(name) + "': '" + std::string(text) + "'");
    if (!tasks && std::exchange(has_rest, true))
      throw error(code::invalid_argument, "two jobs have all processes that are left: '" + std::string(text) + "'");
    jobs.push_back({.name = std::string(name), .tasks = tasks});
  }
  if (jobs.empty()) jobs.push_back({.name = "worker"});
  return jobs;
}

RILL_NET_INLINE std::optional<std::uint32_t> processes_of(std::vector<job_size> const& jobs) {
  std::uint32_t sum = 0;
  for (auto const& j : jobs) {
    if (!j.tasks) return {};
    sum += *j.tasks;
  }
  return sum;
}

RILL_NET_INLINE std::vector<job_size> fitted(std::vector<job_size> jobs, std::uint32_t processes,
                                             std::string_view launcher) {
  std::uint64_t sum = 0;
  job_size* rest = nullptr;
  for (auto& j : jobs) {
    sum += j.tasks.value_or(0);
    if (!j.tasks) rest = &j;
  }
  if (rest ? sum >= processes : sum != processes)
    throw error(code::invalid_argument, "the jobs '" + detail::text_of(jobs) + "' have " + (rest ? "more than " : "") +
                                            std::to_string(sum) + " tasks, and " + std::string(launcher) +
                                            " has started " + std::to_string(processes) +
                                            " processes: set RILL_JOBS to jobs with as many tasks");
  if (rest) rest->tasks = static_cast<std::uint32_t>(processes - sum);
  return jobs;
}

RILL_NET_INLINE device_name task_of_rank(std::vector<job_size> const& jobs, std::uint32_t rank) {
  for (auto const& j : jobs) {
    if (rank < j.tasks.value_or(0)) return {.job = j.name, .task = rank};
    rank -= j.tasks.value_or(0);
  }
  throw error(code::internal, "a process has a higher rank than its run has processes");
}

#endif

}  // namespace rill::net
