// The processes of a cluster, and which of them this one is.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rill/device/device_name.hpp"
#include "rill/net/address.hpp"
#include "rill/net/options.hpp"

namespace rill {

namespace net {
class bound_socket;
}

/// What `cluster::from_environment` can't read there.
struct launch_options {
  /// How the processes of a launcher are divided into jobs, the first processes being the first job's; "*" is all that
  /// are left. The environment variable RILL_JOBS goes before. Empty: all are of the job "worker".
  std::string jobs = {};
  net_options net = {};
};

/// The tasks of a cluster by their jobs, with their addresses: the same in all processes but for `task`.
struct cluster {
  /// Tasks that do the same work, numbered from 0.
  struct job {
    std::string name;                    ///< letters, digits, '_' and '-', the first of them a letter
    std::vector<std::string> addresses;  ///< of its tasks (rill::address)
  };
  std::vector<job> jobs = {};
  device_name task = {};  ///< which of them this process is; empty: none
  /// Listens already at the address of this process, until a server takes it over; null: the server will listen there.
  std::shared_ptr<net::bound_socket> socket = {};

  /// Reads what whoever started this process has left in the environment (docs/guide/launching.md): RILL_CLUSTER or the
  /// file RILL_CLUSTER_FILE, as text (`RILL_CLUSTER="ps=10.0.0.1:7000 worker=10.0.0.2:7000,10.0.0.3:7000"
  /// RILL_TASK=worker:1`) or as JSON; or which process of a run of Slurm, mpirun, torchrun or Kubernetes it is. In the
  /// latter case the processes tell each other their addresses, for `net_options::start_timeout` at the most. Throws
  /// error(failed_precondition) if nothing is known, error(deadline_exceeded) with who has not come, error(unavailable)
  /// if the others can't be reached, and error(invalid_argument) with what is wrong.
  static cluster from_environment(launch_options const& options = {});
  /// Reads the jobs, as text or as JSON (`{"cluster": {"ps": ["10.0.0.1:7000"]}, "task": {"type": "ps", "index": 0}}`),
  /// and the task of this process, which goes before that of the JSON. Throws error(invalid_argument), with what is
  /// wrong.
  static cluster parse(std::string_view jobs, std::string_view task = {});

  /// Returns the number of tasks of a job; 0: there is no such job.
  std::size_t size(std::string_view job) const;
  /// Returns the names of all tasks, job by job.
  std::vector<device_name> tasks() const;
  /// Returns the address of a task. Throws error(not_found).
  address at(device_name const& task) const;
  /// Whether `task` is the one that does what is done once, such as giving variables their first values: task 0 of the
  /// job "chief". Without such a job, task 0 of "worker"; without that too, task 0 of the first job.
  bool is_chief() const;
  /// Throws error(invalid_argument) unless it has a task, names are names, and no job or address stands twice.
  void check() const;
};

#if RILL_NET_RUNTIME
}  // namespace rill

#include <algorithm>
#include <optional>
#include <set>

#include "rill/io/file.hpp"
#include "rill/net/cluster_json.hpp"
#include "rill/net/exchange_addresses.hpp"
#include "rill/net/launcher.hpp"

namespace rill {

namespace detail {

inline std::vector<std::string_view> words(std::string_view text, std::string_view between) {
  std::vector<std::string_view> found;
  for (std::size_t at = 0; at < text.size();) {
    auto const end = std::min(text.find_first_of(between, at), text.size());
    if (end > at) found.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return found;
}

/// Returns jobs of the form "ps=ADDRESS worker=ADDRESS,ADDRESS".
inline net::cluster_text read_cluster_words(std::string_view text) {
  net::cluster_text made;
  for (auto const each : words(text, " \t\r\n;")) {
    auto const equals = each.find('=');
    if (equals == each.npos)
      throw error(code::invalid_argument,
                  "'" + std::string(each) + "' is no job of a cluster: expected JOB=ADDRESS,ADDRESS,…");
    auto& addresses = made.jobs.emplace_back(std::string(each.substr(0, equals)), std::vector<std::string>()).second;
    for (auto const a : words(each.substr(equals + 1), ",")) addresses.emplace_back(a);
  }
  return made;
}

/// Returns what is set for this process by hand; empty: nothing.
inline std::optional<std::string> cluster_by_hand(net::surroundings const& here) {
  if (auto text = here.variable("RILL_CLUSTER")) return text;
  auto const path = here.variable("RILL_CLUSTER_FILE");
  if (!path) return {};
  try {
    return read_file(*path);
  } catch (error const& e) {
    if (e.code() == code::resource_exhausted) throw;
    throw error(code::not_found, "RILL_CLUSTER_FILE: " + e.message());
  }
}

/// Gives the processes of a run their places in jobs.
inline cluster arranged(net::launch const& l, std::vector<std::string> addresses) {
  cluster c;
  std::size_t at = 0;
  for (auto const& j : l.jobs) {
    c.jobs.push_back({.name = j.name, .addresses = {}});
    for (std::uint32_t t = 0; t < *j.tasks; ++t) c.jobs.back().addresses.push_back(std::move(addresses.at(at++)));
  }
  c.task = net::task_of_rank(l.jobs, l.rank);
  return c;
}

[[noreturn]] inline void refuse_environment(net::surroundings const& here) {
  auto const in_slurm = here.variable("SLURM_JOB_ID") ? " Within a job of Slurm, start the program by srun." : "";
  throw error(
      code::failed_precondition,
      std::string("nothing in the environment says which process of a cluster this is: expected "
                  "RILL_CLUSTER='ps=HOST:PORT worker=HOST:PORT,HOST:PORT' and RILL_TASK=worker:0, or what srun, "
                  "mpirun, torchrun or Kubernetes set.") +
          in_slurm);
}

}  // namespace detail

RILL_NET_INLINE cluster cluster::parse(std::string_view text, std::string_view task) try {
  bool const is_json = text.find_first_not_of(" \t\r\n") == text.find('{');
  auto read = is_json && text.find('{') != text.npos ? net::read_cluster_json(text) : detail::read_cluster_words(text);
  cluster c;
  for (auto& [name, addresses] : read.jobs)
    c.jobs.push_back({.name = std::move(name), .addresses = std::move(addresses)});
  if (!task.empty()) read.task = task;
  if (!read.task.empty()) {
    auto const colon = read.task.find(':');
    bool const is_short = !read.task.starts_with('/') && colon != read.task.npos;
    c.task = device_name::parse(is_short ? "/job:" + read.task.substr(0, colon) + "/task:" + read.task.substr(colon + 1)
                                         : read.task);
  }
  c.check();
  return c;
} catch (...) {
  rethrow_as_error();
}

RILL_NET_INLINE cluster cluster::from_environment(launch_options const& options) try {
  auto const here = net::surroundings::of_this_process();
  if (auto const text = detail::cluster_by_hand(here)) {
    auto c = parse(*text, here.variable("RILL_TASK").value_or(""));
    if (!c.task.empty()) return c;
    throw error(code::failed_precondition,
                "the environment variable RILL_TASK is not set: expected RILL_TASK=worker:0, the task of this process");
  }
  auto const launch = net::launched(here, net::read_job_sizes(options.jobs));
  if (!launch) detail::refuse_environment(here);
  std::shared_ptr<net::bound_socket> socket;
  if (launch->by != net::launch::store::names) {
    bool const has_open_address = !launch->own_host.empty() && !address{.host = launch->own_host}.is_local();
    socket = std::make_shared<net::bound_socket>(!launch->one_host || has_open_address);
  }
  auto c = detail::arranged(*launch, net::exchange_addresses(*launch, socket.get(), options.net.start_timeout));
  c.socket = std::move(socket);
  c.check();
  return c;
} catch (...) {
  rethrow_as_error();
}

RILL_NET_INLINE std::size_t cluster::size(std::string_view name) const {
  for (auto const& j : jobs)
    if (j.name == name) return j.addresses.size();
  return 0;
}
RILL_NET_INLINE std::vector<device_name> cluster::tasks() const {
  std::vector<device_name> all;
  for (auto const& j : jobs)
    for (std::uint32_t t = 0; t < j.addresses.size(); ++t) all.push_back({.job = j.name, .task = t});
  return all;
}
RILL_NET_INLINE address cluster::at(device_name const& wanted) const {
  for (auto const& j : jobs)
    if (j.name == wanted.job && wanted.task && *wanted.task < j.addresses.size())
      return address::parse(j.addresses[*wanted.task]);
  std::string names;
  for (auto const& t : tasks()) names += (names.empty() ? "" : ", ") + t.text();
  throw error(code::not_found, "the cluster has no task '" + wanted.text() + "': there are " + names);
}
RILL_NET_INLINE bool cluster::is_chief() const {
  if (jobs.empty() || task.task != 0u) return false;
  for (auto const* name : {"chief", "worker"})
    if (size(name) > 0) return task.job == name;
  return task.job == jobs.front().name;
}
RILL_NET_INLINE void cluster::check() const {
  std::set<std::string> names, addresses;
  std::size_t count = 0;
  for (auto const& j : jobs) {
    if (device_name::parse("/job:" + j.name).job != j.name)
      throw error(code::invalid_argument, "'" + j.name + "' is no name of a job");
    if (!names.insert(j.name).second)
      throw error(code::invalid_argument, "two jobs of a cluster are called '" + j.name + "'");
    count += j.addresses.size();
    for (auto const& a : j.addresses)
      if (auto const parsed = address::parse(a);
          parsed.port + parsed.path.size() > 0 && !addresses.insert(parsed.text()).second)
        throw error(code::invalid_argument, "two tasks of a cluster have the address " + a);
  }
  if (count == 0) throw error(code::invalid_argument, "a cluster has at least one task, and this one has none");
  if (!task.empty()) {
    if (!task.type.empty()) throw error(code::invalid_argument, "'" + task.text() + "' is a device, not a task");
    (void)at(task);
  }
}

#endif

}  // namespace rill
