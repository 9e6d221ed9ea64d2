// What a launcher has told a process.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "rill/net/job_sizes.hpp"

namespace rill::net {

/// Where process 0 of a run waits for the others, unless its launcher or RILL_PORT says another port. In Kubernetes,
/// where each pod has an address of its own, all listen there.
inline constexpr std::uint16_t default_port = 7070;

/// A process of a run.
struct launch {
  /// Where the processes store their addresses.
  enum class store {
    rendezvous,  ///< with process 0
    pmix,        ///< with the launcher, by PMIx
    pmi,         ///< with the launcher, by PMI-1 over an open file
    names,       ///< nowhere: the addresses are known before
  };

  std::string launcher = {};  ///< for messages
  std::uint32_t rank = 0, processes = 1;
  std::vector<job_size> jobs = {};  ///< which its processes are divided into
  store by = store::rendezvous;
  bool one_host = false;              ///< whether all processes run on one host
  std::string first_host = {};        ///< of process 0; empty: not known
  std::uint16_t first_port = 0;       ///< at which process 0 waits
  std::uint16_t ports = 1;            ///< how many ports from there process 0 may take, if others have the first
  std::string token = {};             ///< what no other run has
  std::string own_host = {};          ///< at which others reach this process; empty: to be found
  int pmi_file = -1;                  ///< of PMI-1
  std::vector<std::string> all = {};  ///< the addresses of all processes, if they are known before
};

}  // namespace rill::net
