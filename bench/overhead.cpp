// The overhead of rill itself: nodes that do nothing, scalar additions, calls, and the first run of a large graph.
#include "overhead.hpp"

#include <benchmark/benchmark.h>

namespace {

void time(benchmark::State& state, bench::step (*make)(), int units) {
  auto const step = make();
  step();  // compiles the plan
  for (auto _ : state) step();
  state.counters["nodes/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * units, benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(time, null_wide, bench::null_wide, bench::null_operations)->UseRealTime();
BENCHMARK_CAPTURE(time, null_chain, bench::null_chain, bench::null_operations)->UseRealTime();
BENCHMARK_CAPTURE(time, add_chain, bench::add_chain, bench::additions)->UseRealTime();
BENCHMARK_CAPTURE(time, run_call, bench::run_call, 1)->UseRealTime();

void first_run(benchmark::State& state, std::size_t (*run)(std::size_t)) {
  std::size_t nodes = 0;
  for (auto _ : state) nodes = run(static_cast<std::size_t>(state.range(0)));
  state.SetComplexityN(static_cast<benchmark::IterationCount>(nodes));
  state.counters["nodes"] = static_cast<double>(nodes);
}
BENCHMARK_CAPTURE(first_run, forwards, bench::first_run)
    ->Arg(9000)
    ->Arg(18000)
    ->Arg(36000)
    ->UseRealTime()
    ->Complexity();
BENCHMARK_CAPTURE(first_run, training, bench::first_training_run)
    ->Arg(9000)
    ->Arg(18000)
    ->Arg(36000)
    ->UseRealTime()
    ->Complexity();

}  // namespace
