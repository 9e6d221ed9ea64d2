// Microbenchmarks of operations and lambdas with Google Benchmark (rill::bench in CMake), one line each:
//
//   RILL_BENCHMARK(rill::matmul, rill::of<float, 256, 256>, rill::of<float, 256, 256>);
//
// times the operation in a prepared step. It reports GFLOP/s and GB/s by the operation's own `work`, the share of this
// machine's limit, and the instructions of a call where the processor's counters can be read.
#pragma once
#if !__has_include(<benchmark/benchmark.h>)
#error "rill: benchmarks need Google Benchmark; on Debian and Ubuntu: apt-get install libbenchmark-dev"
#endif
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>

#if defined(__linux__)
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "rill/base/pool.hpp"
#include "rill/base/processors.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/matrix/matmul.hpp"
#include "rill/run/session.hpp"

/// Registers a benchmark that times `function` (an operation, or a lambda on expressions) with arguments of the given
/// types, whose extents must all be known.
#define RILL_BENCHMARK(function, ...)                                                                                \
  [[maybe_unused]] static auto* const BENCHMARK_PRIVATE_NAME(rill_benchmark) = ::rill::benchmarks::add<__VA_ARGS__>( \
      #function "(" #__VA_ARGS__ ")", [](auto const&... x) { return function(x...); })

namespace rill::benchmarks {

/// Returns the number of threads of each session here: RILL_THREADS, or one for each processor that the process may
/// use.
inline int threads() {
  char const* given = std::getenv("RILL_THREADS");
  int const asked = given != nullptr ? std::atoi(given) : 0;
  return asked > 0 ? asked : detail::available_processors();
}

/// Counts the instructions of this thread and of the threads that it starts later.
class instruction_counter {
 public:
  instruction_counter() {
#if defined(__linux__)
    perf_event_attr wanted{};
    wanted.size = sizeof wanted;
    wanted.type = PERF_TYPE_HARDWARE;
    wanted.config = PERF_COUNT_HW_INSTRUCTIONS;
    wanted.exclude_kernel = wanted.exclude_hv = wanted.inherit = 1;
    file_ = static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
#endif
  }
  instruction_counter(instruction_counter const&) = delete;
  instruction_counter& operator=(instruction_counter const&) = delete;
  ~instruction_counter() {
#if defined(__linux__)
    if (file_ >= 0) close(file_);
#endif
  }
  /// Whether the processor's counter can be read.
  bool available() const { return read() != 0; }
  /// Returns the instructions so far; 0 if the counter can't be read.
  std::uint64_t read() const {
    std::uint64_t count = 0;
#if defined(__linux__)
    if (file_ < 0 || ::read(file_, &count, sizeof count) != sizeof count) return 0;
#endif
    return count;
  }

 private:
  int file_ = -1;
};

namespace detail {

/// Returns the seconds of a call of `f`: the fastest of several calls, which take at least 50 ms together.
template <class F> double best_of(F&& f) {
  double best = 1e9;
  using clock = std::chrono::steady_clock;
  for (auto const end = clock::now() + std::chrono::milliseconds(50); clock::now() < end;) {
    auto const begin = clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(clock::now() - begin).count());
  }
  return best;
}

/// Returns a tensor of small numbers other than 0, or of empty strings. Integers are below `bound`, so that they can be
/// indices.
inline tensor numbers_of(type const& t, std::int64_t bound) {
  tensor x(t.element, t.shape());
  visit(t.element, [&]<class T>() {
    auto* to = x.template mutable_data<T>();
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      int const n = static_cast<int>(i * 7919 % 61) + 1;
      if constexpr (std::same_as<T, bool>) to[i] = n % 2 == 0;
      else if constexpr (std::integral<T>) to[i] = static_cast<T>(bound > 1 ? n % (bound - 1) + 1 : 0);
      else if constexpr (requires { T(0.5f); }) to[i] = T(static_cast<float>(n) / 64);
    }
  });
  return x;
}

}  // namespace detail

/// Returns the total work of a graph's operations. For one operation it is the operation's own. For several, the
/// arithmetic adds up, but only the graph's inputs and outputs count as moved bytes, because fusion keeps the values
/// between operations out of memory.
inline cost work_of(graph const& g) {
  cost all;
  std::vector<std::uint32_t> computed;
  std::vector<bool> read(g.size());
  double outside = 0;
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    auto const& n = g[i];
    for (auto e : n.inputs) read[e.node] = true;
    if (n.op->cpu == nullptr || n.inputs.empty()) {
      outside += rill::detail::bytes_of(n.outputs);
      continue;
    }
    std::vector<type> inputs;
    for (auto e : n.inputs) inputs.push_back(g[e.node].outputs[e.port]);
    auto const here = n.op->work(n.attributes, inputs, n.outputs);
    all.flops += here.flops;
    all.bytes = here.bytes;
    computed.push_back(i);
  }
  if (computed.size() == 1) return all;
  all.bytes = outside;
  for (auto i : computed)
    if (!read[i]) all.bytes += rill::detail::bytes_of(g[i].outputs);
  return all;
}

namespace detail {

/// Returns the least extent of the float and complex arguments, so that smaller integers are valid indices on each
/// axis.
template <type... In> constexpr std::int64_t index_bound() {
  std::int64_t bound = 62;  // numbers_of gives at most 61
  auto const look = [&](type const& t) {
    for (std::size_t i = 0; i < t.rank && (dtypes::floats | dtypes::complexes).contains(t.element); ++i)
      bound = t[i].extent < bound ? t[i].extent : bound;
  };
  (look(In), ...);
  return bound;
}

/// Returns one or several results of a function of expressions as a step's outputs.
template <class Y> auto as_outputs(Y const& y) {
  if constexpr (operand<Y>) return outputs(y);
  else return std::apply([](auto const&... each) { return outputs(each...); }, y);
}

/// Records `f` in a new graph. Returns the graph with its session and inputs, and the prepared call.
template <type... In, class F> auto prepared_call(F const& f) {
  struct state {
    rill::graph graph;
    rill::session session{graph, {.threads = threads()}};
    std::tuple<tensor_of<In>...> inputs{tensor_of<In>(numbers_of(In, index_bound<In...>()))...};
    cost work;
  };
  auto s = std::make_shared<state>();
  std::tuple const x{expr<In>{rill::placeholder(s->graph, In)}...};
  auto const y = std::apply(f, x);
  s->work = work_of(s->graph);
  auto call = std::apply([&](auto const&... each) { return s->session.prepare(inputs(each...), as_outputs(y)); }, x);
  return std::tuple{s, call};
}

}  // namespace detail

/// This machine's rates with `threads()` threads, measured at the first call.
class machine {
 public:
  /// Returns the bytes per second, read and written, of a copy that moves about `bytes` bytes. The rate depends on the
  /// size, because caches are faster than memory.
  static double copy_rate(double bytes) {
    static constinit std::array<double, largest + 1> known{};
    std::size_t size = smallest;
    while (size < largest && static_cast<double>(std::size_t{2} << size) < bytes) ++size;
    if (known[size] == 0) known[size] = measure_copy(std::size_t{1} << size);
    return known[size];
  }
  /// Returns the floating-point operations per second of a large matrix product with elements T.
  template <element T> static double product_rate() {
    static double const rate = [] {
      auto [s, call] =
          detail::prepared_call<of<T, 768, 768>, of<T, 768, 768>>([](auto a, auto b) { return matmul(a, b); });
      return s->work.flops / detail::best_of([&] { std::apply(call, s->inputs); });
    }();
    return rate;
  }

 private:
  static constexpr std::size_t smallest = 12, largest = 26;  // log2 of the bytes of a copy's source

  static double measure_copy(std::size_t bytes) {
    buffer from = buffer::allocate(bytes), to = buffer::allocate(bytes);
    std::memset(from.data(), 1, bytes);
    std::memset(to.data(), 1, bytes);
    constexpr std::size_t chunk = 1 << 16;
    pool workers(bytes > 2 * chunk ? threads() : 1);
    auto const parallel = workers.parallel();
    int const times = static_cast<int>(std::max<std::size_t>(1, (std::size_t{1} << 20) / bytes));
    double const seconds = detail::best_of([&] {
      for (int i = 0; i < times; ++i)
        parallel((bytes + chunk - 1) / chunk, [&](std::size_t c) {
          auto const n = std::min(chunk, bytes - c * chunk);
          std::memcpy(static_cast<std::byte*>(to.data()) + c * chunk, static_cast<std::byte*>(from.data()) + c * chunk,
                      n);
        });
      benchmark::ClobberMemory();
    });
    return 2.0 * static_cast<double>(bytes) * times / seconds;
  }
};

/// Returns the minimum seconds that this machine needs for the work: the time for its arithmetic at the rate of a
/// matrix product, or for its bytes at the rate of a copy, whichever is longer.
template <dtype Element> double least_seconds(cost const& work) {
  using number = std::conditional_t<dtypes::numbers.contains(Element), element_of<Element>, float>;
  double const moving = work.bytes > 0 ? work.bytes / machine::copy_rate(work.bytes) : 0;
  return work.flops > 0 ? std::max(moving, work.flops / machine::product_rate<number>()) : moving;
}

/// Runs a benchmark that RILL_BENCHMARK registered. If it fails, reports the error and lets the others run.
template <type... In, class F> void run(benchmark::State& state, F const& f) try {
  instruction_counter instructions;  // before the session starts threads, which it counts too
  auto [s, call] = detail::prepared_call<In...>(f);
  std::apply(call, s->inputs);
  auto const before = instructions.read();
  auto const begin = std::chrono::steady_clock::now();
  for (auto _ : state) benchmark::DoNotOptimize(std::apply(call, s->inputs));
  double const calls = static_cast<double>(state.iterations());
  double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / calls;
  constexpr auto first = std::get<0>(std::tuple{In...});
  state.counters["GFLOP/s"] = s->work.flops / seconds * 1e-9;
  state.counters["GB/s"] = s->work.bytes / seconds * 1e-9;
  state.counters["%limit"] = 100 * least_seconds<first.element>(s->work) / seconds;
  if (before != 0) state.counters["instructions"] = static_cast<double>(instructions.read() - before) / calls;
} catch (error const& e) {
  state.SkipWithError(e.what());
}

/// Registers a benchmark of `f` with arguments of the given types.
template <type... In, class F> benchmark::internal::Benchmark* add(char const* name, F f) {
  static_assert((In.is_known() && ...), "RILL_BENCHMARK: every extent must be a number");
  return benchmark::RegisterBenchmark(name, [f](benchmark::State& state) { run<In...>(state, f); })->UseRealTime();
}

}  // namespace rill::benchmarks
