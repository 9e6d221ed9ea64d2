// The pods of a run in Kubernetes. Each has a name that ends with its number, which a headless service makes known to
// the others; so all addresses are known before, and stay the same when a pod starts again.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "rill/base/config.hpp"
#include "rill/net/launch.hpp"
#include "rill/net/surroundings.hpp"

namespace rill::net {

/// Reads which pod of an indexed Job, a JobSet or StatefulSets this process is, for jobs that `to` has. Returns false
/// if it is none. Throws error(invalid_argument) if what is set does not fit.
bool read_kubernetes(surroundings const& here, launch& to);

#if RILL_NET_RUNTIME

namespace detail {

class pod_reader {
 public:
  pod_reader(surroundings const& here, launch& to) : here_(here), to_(to) {}

  bool run() {
    auto host = here_.variable("HOSTNAME").value_or("");
    if (host.empty()) host = here_.full_name("");
    host.resize(std::min(host.find('.'), host.size()));
    auto const dash = host.rfind('-');
    auto const no_number = ~std::uint32_t{0};  // there are fewer processes
    auto const ordinal =
        dash == host.npos ? no_number : read_number(host.substr(dash + 1), most_processes).value_or(no_number);
    in_job_ = here_.variable("JOB_COMPLETION_INDEX").has_value();
    if (!in_job_ && !(here_.variable("KUBERNETES_SERVICE_HOST") && ordinal != no_number)) return false;
    index_ = in_job_ ? here_.number("JOB_COMPLETION_INDEX", most_processes) : ordinal;
    to_.launcher = "Kubernetes";
    count_pods();
    if (here_.variable("RILL_FIRST")) {
      meet_at_first();
      return true;
    }
    if (ordinal != index_)
      throw error(code::invalid_argument, "JOB_COMPLETION_INDEX is " + std::to_string(index_) +
                                              ", and the host's name " + host +
                                              ": in an indexed Job the name ends with the index");
    name_all(host.substr(0, dash), domain_of(host));
    return true;
  }

 private:
  // Kubernetes does not tell a pod how many others there are.
  void count_pods() {
    auto const sum = processes_of(to_.jobs);
    if (here_.variable("RILL_PROCESSES")) to_.processes = here_.number("RILL_PROCESSES", most_processes);
    else if (sum) to_.processes = *sum;
    else
      throw error(code::invalid_argument,
                  "Kubernetes does not tell a pod how many others there are: set RILL_JOBS='ps=2 worker=3', with the "
                  "number of pods of each job, or RILL_PROCESSES");
    to_.jobs = fitted(std::move(to_.jobs), to_.processes, to_.launcher);
  }
  void meet_at_first() {
    if (index_ >= to_.processes) refuse_pod("the Job");
    to_.rank = index_;
    to_.first_port = default_port;
  }
  [[noreturn]] void refuse_pod(std::string const& of) const {
    throw error(code::invalid_argument, "pod " + std::to_string(index_) + " of " + of +
                                            " is one too many: the jobs are '" + text_of(to_.jobs) + "'");
  }

  std::string domain_of(std::string const& host) const {
    if (auto const service = here_.variable("RILL_SERVICE")) return "." + *service;
    auto const full = here_.full_name(host);
    if (full.starts_with(host + ".")) return full.substr(host.size());
    throw error(code::invalid_argument,
                "the pod " + host +
                    " has no name that others can look up: it needs a headless service, whose name is the pods' "
                    "'subdomain' (a StatefulSet's 'serviceName'); or set RILL_SERVICE to that name");
  }
  // A workload is all jobs, or one of them, whose name it then ends with: digits-ps-0 beside digits-worker-0. In a
  // JobSet the number of the replica stands between: digits-ps-0-1.
  void name_all(std::string stem, std::string const& domain) {
    std::string replica;
    auto own = job_at_end_of(stem);
    if (in_job_ && !own && stem.ends_with("-0"))
      if (own = job_at_end_of(stem.substr(0, stem.size() - 2)); own) {
        replica = "-0";
        stem.resize(stem.size() - 2);
      }
    if (own) stem.resize(stem.size() - own->size());
    auto const behind = domain + ":" + std::to_string(here_.variable("RILL_PORT") ? here_.port() : default_port);
    std::optional<std::uint32_t> rank;
    to_.by = launch::store::names;
    for (auto const& j : to_.jobs)
      for (std::uint32_t t = 0; t < *j.tasks; ++t) {
        auto const n = static_cast<std::uint32_t>(to_.all.size());
        if (own ? j.name == *own && t == index_ : n == index_) rank = n;
        to_.all.push_back((own ? stem + j.name + replica + "-" + std::to_string(t) : stem + "-" + std::to_string(n)) +
                          behind);
      }
    if (!rank) refuse_pod(own ? "job " + *own : "the Job");
    to_.rank = *rank;
  }
  std::optional<std::string> job_at_end_of(std::string const& stem) const {
    std::optional<std::string> longest;  // "big-ps" rather than "ps"
    for (auto const& j : to_.jobs)
      if ((stem == j.name || stem.ends_with("-" + j.name)) && (!longest || j.name.size() > longest->size()))
        longest = j.name;
    return longest;
  }

  surroundings const& here_;
  launch& to_;
  bool in_job_ = false;
  std::uint32_t index_ = 0;
};

}  // namespace detail

RILL_NET_INLINE bool read_kubernetes(surroundings const& here, launch& to) {
  return detail::pod_reader(here, to).run();
}

#endif

}  // namespace rill::net
