// Times the named cases (default: all) and prints a line of JSON for each, in the same form as the peers' program:
// {"case", "peer", "ns", "unit"}. ns is the median over rounds of the nanoseconds per unit of work. On a GPU networks
// have "on_host" as well: how many nodes of a step run on the host, because the GPU has no kernel for them.
//   RILL_THREADS=2 cases mlp_small chain_1k
//   RILL_DEVICE=gpu cases conv matmul_1024     those that a GPU is asked for: networks, chains and products
#include <cstdio>
#include <exception>
#include <string_view>

#include "input.hpp"
#include "kernels.hpp"
#include "measure.hpp"
#include "models.hpp"
#include "networks.hpp"
#include "overhead.hpp"

namespace {

struct benchmark_case {
  std::string name, unit;
  double units;
  std::function<bench::step()> make;
  bool for_gpus = false;
  bench::training (*network)() = nullptr;  // in the place of `make`
};

constexpr std::pair<char const*, bench::training (*)()> networks[] = {{"mlp_small", bench::mlp_small},
                                                                      {"mlp_large", bench::mlp_large},
                                                                      {"conv", bench::conv},
                                                                      {"lstm", bench::lstm},
                                                                      {"lstm_dynamic", bench::lstm_dynamic},
                                                                      {"resnet", bench::resnet},
                                                                      {"attention", bench::attention},
                                                                      {"vae", bench::vae}};

std::vector<benchmark_case> all_cases() {
  std::vector<benchmark_case> all{
      {"null_wide", "op", bench::null_operations, bench::null_wide},
      {"null_chain", "op", bench::null_operations, bench::null_chain},
      {"add_chain", "op", bench::additions, bench::add_chain},
      {"run_call", "call", 1, bench::run_call},
      {"while_loop", "iteration", bench::loop_iterations, [] { return bench::while_loop(rill::execution::automatic); }},
      {"while_loop_tagged", "iteration", bench::loop_iterations,
       [] { return bench::while_loop(rill::execution::tagged); }},
      {"while_loop_tagged_body", "op", static_cast<double>(bench::loop_iterations) * bench::body_operations,
       bench::while_loop_of_additions},
      {"queue", "pair", 1, bench::queue_pair},
      {"shuffle_batch", "image", bench::pipeline_images, bench::shuffle_batch},
      {"mlp_small_matmuls", "step", 1, bench::mlp_small_matmuls},
  };
  for (auto const& [name, make] : networks) all.push_back({name, "step", 1, {}, true, make});
  for (auto const& [name, n] :
       {std::pair{"chain_1k", 1 << 10}, {"chain_64k", 1 << 16}, {"chain_1m", 1 << 20}, {"chain_16m", 1 << 24}})
    all.push_back({name, "element", static_cast<double>(n), [n] { return bench::chain(n); }, true});
  for (int n : {64, 256, 1024})
    all.push_back({"matmul_" + std::to_string(n), "step", 1, [n] { return bench::matmul(n); }, true});
  for (std::size_t n : {9000u, 18000u, 36000u}) {
    all.push_back({"graph_" + std::to_string(n), "graph", 1, [n] { return [n] { bench::first_run(n); }; }});
    all.push_back(
        {"training_graph_" + std::to_string(n), "graph", 1, [n] { return [n] { bench::first_training_run(n); }; }});
  }
  return all;
}

void time(benchmark_case const& c) {
  try {
    if (bench::on_gpu() && !c.for_gpus) throw rill::error(rill::code::unimplemented, "nothing of it is for a GPU");
    std::string note;
    auto const step = [&] {
      if (c.network == nullptr) return c.make();
      auto const t = c.network();
      if (bench::on_gpu()) note = ", \"on_host\": " + std::to_string(t.left_to_host());
      return t.step();
    }();
    double const ns = bench::nanoseconds(step, c.units);
    std::printf("{\"case\": \"%s\", \"peer\": \"rill\", \"ns\": %.2f, \"unit\": \"%s\"%s}\n", c.name.c_str(), ns,
                c.unit.c_str(), note.c_str());
  } catch (std::exception const& e) {
    std::printf("{\"case\": \"%s\", \"error\": \"%s\"}\n", c.name.c_str(), e.what());
  }
  std::fflush(stdout);
}

// Prints the memory of a training step, as a line in another form.
void weigh(std::string const& name, bench::training (*make)()) {
  auto const m = bench::memory_of(make);
  std::printf(
      "{\"case\": \"%s\", \"peer\": \"rill\", \"peak\": %lld, \"least\": %lld, \"variables\": %lld, \"arena\": %lld}\n",
      name.c_str(), static_cast<long long>(m.peak), static_cast<long long>(m.least),
      static_cast<long long>(m.variables), static_cast<long long>(m.arena));
}

void weigh_loop(std::string const& name, int iterations) {
  auto const m = bench::while_gradient_memory(iterations);
  std::printf("{\"case\": \"%s\", \"peer\": \"rill\", \"peak\": %lld, \"least\": %lld, \"each\": %.6g}\n", name.c_str(),
              static_cast<long long>(m.peak), static_cast<long long>(m.least), m.each);
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string_view> const named(arguments + 1, arguments + count);
  auto const wanted = [&](std::string_view name) {
    return named.empty() || std::find(named.begin(), named.end(), name) != named.end();
  };
  for (auto const& c : all_cases())
    if (wanted(c.name)) time(c);
  for (auto const& [name, make] : networks)
    if (auto const full = std::string("memory_") + name; wanted(full)) weigh(full, make);
  for (int n : {10, 100, 1000})
    if (auto const full = "memory_while_gradient_" + std::to_string(n); wanted(full)) weigh_loop(full, n);
}
