// Bytes as what a launcher leaves in the environment: lists of jobs, JSON, hosts and numbers of tasks.
#include "seeded.hpp"

#include "rill/net/cluster.hpp"
#include "rill/net/host_list.hpp"
#include "rill/net/job_sizes.hpp"

namespace rill::fuzz {
namespace {

std::string written(cluster const& c) {
  std::string text;
  for (auto const& j : c.jobs) {
    text += j.name + "=";
    for (auto const& a : j.addresses) text += a + ",";
    text += " ";
  }
  return text;
}

// Addresses in JSON may have characters that separate them in a list of jobs.
bool fits_in_a_list(cluster const& c) {
  for (auto const& j : c.jobs)
    for (auto const& a : j.addresses)
      if (a.find_first_of(", \t\n;") != a.npos) return false;
  return true;
}

void read_cluster(std::string_view text) {
  auto const c = unless_refused([&] { return cluster::parse(text); });
  if (!c) return;
  require(!c->tasks().empty(), "a cluster has tasks");
  if (!fits_in_a_list(*c)) return;
  auto const again = cluster::parse(written(*c), c->task.text());
  require(written(again) == written(*c) && again.task == c->task,
          "what was read and written again is read as the same");
}

void read_hosts(std::string_view text) {
  auto const hosts = unless_refused([&] { return net::read_host_list(text); });
  if (!hosts) return;
  require(!hosts->empty() && hosts->size() <= 65536, "a list has hosts, and not too many");
  for (auto const& h : *hosts) require(h.find_first_of("[],") == h.npos, "a name of a host has no brackets");
}

void read_sizes(std::string_view text) {
  auto const jobs = unless_refused([&] { return net::read_job_sizes(text); });
  if (!jobs) return;
  auto const fitted = unless_refused([&] { return net::fitted(*jobs, 100, "a test"); });
  if (fitted) require(net::processes_of(*fitted) == 100u, "jobs that fit have all processes");
}

}  // namespace

std::vector<std::string> seeds() {
  return {"0ps=10.0.0.1:7000 worker=[::1]:7000,host.example:0;chief=unix:/tmp/x",
          R"(0{"cluster": {"ps": ["a:1"], "worker": ["b:1", "\u0063:1"]}, "task": {"type": "worker", "index": 1},)"
          R"( "more": [null, true, -1.5e3, {"x": "\"]"}]})",
          "1rack[0-1]n[07-10,3]-ib,m5", "2ps=2 worker=* chief=1"};
}

void read(std::string_view bytes) {
  if (bytes.empty()) return;
  auto const rest = bytes.substr(1);
  if (bytes[0] == '0') read_cluster(rest);
  else if (bytes[0] == '1') read_hosts(rest);
  else read_sizes(rest);
}

}  // namespace rill::fuzz
