// Times the cases that are named (all, if none is), and prints a line of JSON for each in the form of the peers' program:
// {"case", "peer", "ns", "unit"}; ns is the median over rounds of the time for one unit of work.
//   RILL_THREADS=2 cases mlp_small chain_1k
#include <cstdio>
#include <exception>
#include <string_view>

#include "kernels.hpp"
#include "measure.hpp"
#include "overhead.hpp"

namespace {

struct benchmark_case {
  std::string name, unit;
  double units;
  std::function<bench::step()> make;
};

std::vector<benchmark_case> all_cases() {
  std::vector<benchmark_case> all{
      {"null_wide", "op", bench::null_operations, bench::null_wide},
      {"null_chain", "op", bench::null_operations, bench::null_chain},
      {"add_chain", "op", bench::additions, bench::add_chain},
      {"run_call", "call", 1, bench::run_call},
  };
  for (auto const& [name, n] : {std::pair{"chain_1k", 1 << 10}, {"chain_64k", 1 << 16}, {"chain_1m", 1 << 20}, {"chain_16m", 1 << 24}})
    all.push_back({name, "element", static_cast<double>(n), [n] { return bench::chain(n); }});
  for (int n : {64, 256, 1024})
    all.push_back({"matmul_" + std::to_string(n), "step", 1, [n] { return bench::matmul(n); }});
  for (std::size_t n : {9000u, 18000u, 36000u}) {
    all.push_back({"graph_" + std::to_string(n), "graph", 1, [n] { return [n] { bench::first_run(n); }; }});
    all.push_back({"training_graph_" + std::to_string(n), "graph", 1, [n] { return [n] { bench::first_training_run(n); }; }});
  }
  return all;
}

void time(benchmark_case const& c) {
  try {
    double const ns = bench::nanoseconds(c.make(), c.units);
    std::printf("{\"case\": \"%s\", \"peer\": \"rill\", \"ns\": %.2f, \"unit\": \"%s\"}\n", c.name.c_str(), ns, c.unit.c_str());
  } catch (std::exception const& e) {
    std::printf("{\"case\": \"%s\", \"error\": \"%s\"}\n", c.name.c_str(), e.what());
  }
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string_view> const wanted(arguments + 1, arguments + count);
  for (auto const& c : all_cases())
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), c.name) != wanted.end()) time(c);
}
