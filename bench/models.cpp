// Training steps of whole networks, with their memory.
#include "models.hpp"

#include <benchmark/benchmark.h>

namespace {

void train(benchmark::State& state, bench::training (*make)()) {
  auto const step = make().step();
  step();  // compiles the plan
  for (auto _ : state) step();
  auto const m = bench::memory_of(make);
  state.counters["peak bytes"] = static_cast<double>(m.peak);
  state.counters["least bytes"] = static_cast<double>(m.least);
}
BENCHMARK_CAPTURE(train, mlp_small, bench::mlp_small)->UseRealTime();
BENCHMARK_CAPTURE(train, mlp_large, bench::mlp_large)->UseRealTime();
BENCHMARK_CAPTURE(train, conv, bench::conv)->UseRealTime();
BENCHMARK_CAPTURE(train, lstm, bench::lstm)->UseRealTime();
BENCHMARK_CAPTURE(train, lstm_dynamic, bench::lstm_dynamic)->UseRealTime();

void matmuls_of_mlp_small(benchmark::State& state) {
  auto const step = bench::mlp_small_matmuls();
  step();
  for (auto _ : state) step();
}
BENCHMARK(matmuls_of_mlp_small)->UseRealTime();

}  // namespace
