// Which process of a run this one is, as its launcher says: Slurm, MPI's launchers, torchrun, Kubernetes, or variables
// of rill's own. docs/guide/launching.md has a table of what is read.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/net/address.hpp"
#include "rill/net/host_list.hpp"
#include "rill/net/job_sizes.hpp"
#include "rill/net/kubernetes.hpp"
#include "rill/net/launch.hpp"
#include "rill/net/surroundings.hpp"

namespace rill::net {

/// Returns what the launcher says; empty if none is known. `jobs` are what the program asks for, and RILL_JOBS goes
/// before. Throws error(invalid_argument) if it makes no sense, or the jobs don't fit.
std::optional<launch> launched(surroundings const& here, std::vector<job_size> jobs);

#if RILL_NET_RUNTIME

namespace detail {

/// Reads what one launcher says after the other.
class launch_reader {
 public:
  launch_reader(surroundings const& here, std::vector<job_size> jobs) : here_(here) {
    made_.jobs = std::move(jobs);
    if (auto const text = variable("RILL_JOBS")) made_.jobs = read_job_sizes(*text);
  }

  std::optional<launch> run() {
    if (!by_hand() && !torchrun() && !open_mpi() && !pmi() && !slurm() && !read_kubernetes(here_, made_)) return {};
    if (made_.by != launch::store::names) {
      made_.jobs = fitted(std::move(made_.jobs), made_.processes, made_.launcher);
      choose_place();
    }
    return std::move(made_);
  }

 private:
  std::optional<std::string> variable(char const* name) const { return here_.variable(name); }
  std::uint32_t number(char const* name) const { return here_.number(name, most_processes); }
  bool is_number(char const* name, std::uint32_t n) const {
    return read_number(variable(name).value_or(""), most_processes) == n;
  }
  void set(char const* launcher, char const* rank, char const* processes) {
    made_.launcher = launcher;
    made_.processes = number(processes);
    made_.rank = number(rank);
    if (made_.rank < made_.processes) return;
    throw error(code::invalid_argument, std::string(rank) + " is " + std::to_string(made_.rank) + ", and " + processes +
                                            " " + std::to_string(made_.processes) +
                                            ": ranks are lower than the number of processes");
  }

  bool by_hand() {
    if (!variable("RILL_RANK")) return false;
    set("RILL_RANK", "RILL_RANK", "RILL_PROCESSES");
    made_.one_host = true;  // unless RILL_FIRST says where the first is
    made_.first_port = default_port;
    return true;
  }
  bool torchrun() {
    auto const host = variable("MASTER_ADDR");
    if (!variable("RANK") || !variable("WORLD_SIZE") || !host) return false;
    set("torchrun", "RANK", "WORLD_SIZE");
    made_.one_host = is_number("LOCAL_WORLD_SIZE", made_.processes) || address{.host = *host}.is_local();
    made_.first_host = *host;
    made_.token = "torchrun " + variable("TORCHELASTIC_RUN_ID").value_or("") + " " + *host + ":" +
                  variable("MASTER_PORT").value_or("");
    return true;
  }
  bool open_mpi() {
    if (!variable("OMPI_COMM_WORLD_RANK") || !variable("OMPI_COMM_WORLD_SIZE")) return false;
    set("Open MPI's mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
    made_.one_host = is_number("OMPI_COMM_WORLD_LOCAL_SIZE", made_.processes);
    if (variable("PMIX_NAMESPACE") && is_number("PMIX_RANK", made_.rank)) made_.by = launch::store::pmix;
    made_.token = "mpirun " + variable("PMIX_NAMESPACE").value_or(variable("OMPI_MCA_ess_base_jobid").value_or(""));
    return true;
  }
  bool pmi() {
    if (!variable("PMI_RANK") || !variable("PMI_SIZE") || !variable("PMI_FD")) return false;
    set("a launcher with PMI (MPICH's mpirun, for instance)", "PMI_RANK", "PMI_SIZE");
    made_.one_host = is_number("MPI_LOCALNRANKS", made_.processes) || is_number("SLURM_STEP_NUM_NODES", 1);
    made_.by = launch::store::pmi;
    made_.pmi_file = static_cast<int>(number("PMI_FD"));
    made_.token = "PMI";
    return true;
  }
  bool slurm() {
    auto const job = variable("SLURM_JOB_ID"), step = variable("SLURM_STEP_ID"),
               nodes = variable("SLURM_STEP_NODELIST");
    if (!variable("SLURM_PROCID") || !job || !step || !nodes)
      return false;  // such as in a script for sbatch, outside srun
    set("Slurm's srun", "SLURM_PROCID", variable("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS");
    auto const hosts = read_host_list(*nodes);
    made_.one_host = hosts.size() == 1;
    made_.first_host = hosts.front();
    made_.token = "slurm " + *job + "." + *step;
    return true;
  }

  // Where process 0 waits.
  void choose_place() {
    if (auto const host = variable("RILL_HOST")) made_.own_host = *host;
    if (auto const secret = variable("RILL_TOKEN")) made_.token += " " + *secret;
    auto const first = variable("RILL_FIRST");
    if (first) {
      made_.first_host = *first;
      made_.one_host = address{.host = *first}.is_local();
    }
    if (made_.processes == 1) made_.one_host = true;
    if (first || variable("RILL_PORT")) made_.by = launch::store::rendezvous;
    if (made_.one_host) made_.first_host = "127.0.0.1";
    if (variable("RILL_PORT")) made_.first_port = here_.port();
    else if (made_.first_port == 0) {
      made_.first_port = static_cast<std::uint16_t>(10000 + hash(made_.token) % 20000);
      made_.ports = 8;
    }
  }
  // FNV-1a. All processes of a run derive the same port, below those that systems give to whoever asks for any.
  static std::uint32_t hash(std::string_view text) {
    std::uint32_t h = 2166136261u;
    for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
    return h;
  }

  surroundings const& here_;
  launch made_;
};

}  // namespace detail

RILL_NET_INLINE std::optional<launch> launched(surroundings const& here, std::vector<job_size> jobs) {
  return detail::launch_reader(here, std::move(jobs)).run();
}

#endif

}  // namespace rill::net
