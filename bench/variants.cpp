// Times scalar and short programs with the kernels of each instruction set that this processor runs, and prints how
// much slower the chosen one is than the best: `variants`, or `variants briefly` to check that it works.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <rill/base/instruction_set.hpp>
#include <rill/ops/math/power.hpp>
#include <rill/ops/math/select.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "measure.hpp"
#include "overhead.hpp"

namespace {

/// A case: its name, a step, and what its time is divided by.
struct timed {
  std::string name;
  bench::step run;
  double units;
};

/// Counts in a loop of the graph by elements of type T.
template <class T> bench::step counting() {
  auto m = std::make_shared<bench::model>(rill::pass_options{}, rill::execution::sequential);
  auto const n = rill::while_loop([](auto i) { return i < T(bench::loop_iterations); }, [](auto i) { return i + T(1); },
                                  rill::placeholder_with_default(rill::constant(m->graph, T(0))));
  auto call = m->session.prepare(rill::inputs(), rill::outputs(n));
  return [m, call]() mutable { call(); };
}

/// Computes with numbers in a loop: x = exp(-x) * 0.5 + x / 3, until n steps are done.
template <class T> bench::step computing() {
  auto m = std::make_shared<bench::model>(rill::pass_options{}, rill::execution::sequential);
  auto const [n, x] =
      rill::while_loop([](auto i, auto) { return i < bench::loop_iterations; },
                       [](auto i, auto v) { return std::tuple{i + 1, rill::exp(-v) * T(0.5) + v / T(3)}; },
                       rill::placeholder_with_default(rill::constant(m->graph, 0)), rill::constant(m->graph, T(1)));
  auto call = m->session.prepare(rill::inputs(), rill::outputs(n, x));
  return [m, call]() mutable { call(); };
}

/// Runs 100 times x * 0.5 + 1 and then exp(-x), over arrays of n elements, as single nodes.
bench::step short_arrays(std::int64_t n) {
  auto m = std::make_shared<bench::model>(bench::as_written, rill::execution::sequential);
  rill::value x = rill::placeholder(m->graph, rill::type(rill::dtype::float32, rill::shape{n}));
  auto y = x;
  for (int i = 0; i < 100; ++i) y = rill::exp(-(y * 0.5f + 1.f));
  auto call = m->session.prepare(std::vector{x}, rill::outputs(), rill::operation(y));
  std::vector<rill::tensor> const with{bench::normal({n})};
  return [m, call, with]() mutable { call(with); };
}

std::vector<timed> cases() {
  std::vector<timed> all{
      {"count in int32", counting<std::int32_t>(), bench::loop_iterations},
      {"count in int64", counting<std::int64_t>(), bench::loop_iterations},
      {"count in float", counting<float>(), bench::loop_iterations},
      {"count in double", counting<double>(), bench::loop_iterations},
      {"compute in float", computing<float>(), bench::loop_iterations},
      {"compute in double", computing<double>(), bench::loop_iterations},
      {"1,000 additions", bench::add_chain(), bench::additions},
      {"a call", bench::run_call(), 1},
  };
  for (std::int64_t n : {1, 2, 4, 7, 8, 12, 16, 31, 32, 64, 1000})
    all.push_back({"400 nodes, " + std::to_string(n) + " floats", short_arrays(n), 400});
  return all;
}

/// Times all cases in a process of its own, because a process keeps the kernels that it has begun with. Returns the
/// nanoseconds of each case; empty: this processor or this library has no such kernels. An empty name leaves the choice
/// to the library. The name of the chosen set is written to `chosen`.
std::map<std::string, double> time(std::string_view kernels, double budget, std::string& chosen) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  auto const child = fork();
  if (child == 0) {
    close(ends[0]);
    auto* const to = fdopen(ends[1], "w");
    try {
      if (!kernels.empty()) rill::use_instruction_set(kernels);
      std::fprintf(to, "%s\t0\n", std::string(rill::instruction_set()).c_str());
      for (auto const& each : cases()) {
        for (int i = 0; i < 3; ++i) each.run();
        double const once = std::max(bench::seconds_of(each.run, 1), 1e-7);
        int const repeat = std::max(1, static_cast<int>(budget / 5 / once));
        double least = 1e9;
        for (int round = 0; round < 5; ++round) least = std::min(least, bench::seconds_of(each.run, repeat) / repeat);
        std::fprintf(to, "%s\t%.17g\n", each.name.c_str(), least / each.units * 1e9);
      }
    } catch (rill::error const&) {
    }
    std::fclose(to);
    _exit(0);
  }
  close(ends[1]);
  std::map<std::string, double> made;
  auto* const from = fdopen(ends[0], "r");
  char name[100];
  double ns = 0;
  chosen.clear();
  while (std::fscanf(from, "%99[^\t]\t%lf\n", name, &ns) == 2)
    if (chosen.empty()) chosen = name;
    else made[name] = ns;
  std::fclose(from);
  waitpid(child, nullptr, 0);
  return made;
}

}  // namespace

int main(int count, char** arguments) {
  bool const briefly = count > 1 && std::string_view(arguments[1]) == "briefly";
  double const budget = briefly ? 0.001 : 0.1;                 // seconds for each case and round
  std::map<std::string, std::map<std::string, double>> least;  // by kernels, then by case
  std::string chosen;
  // One set of kernels after the other, several times, so that what else the machine does slows none of them alone.
  for (int round = 0; round < (briefly ? 1 : 5); ++round) {
    for (auto const* name : {"x86-64-v2", "x86-64-v3", "x86-64-v4", ""}) {
      std::string used;
      for (auto const& [which, ns] : time(name, budget, used)) {
        auto const at = least[used].try_emplace(which, ns).first;
        at->second = std::min(at->second, ns);
      }
      if (*name == '\0') chosen = used;
    }
  }
  if (least.empty()) {
    std::fprintf(stderr, "variants: no kernels run on this processor\n");
    return 1;
  }
  std::printf("| nanoseconds |");
  for (auto const& [kernels, _] : least) std::printf(" %s |", kernels.c_str());
  std::printf(" chosen / best |\n|---|");
  for (std::size_t i = 0; i <= least.size(); ++i) std::printf("---|");
  std::printf("\n");
  for (auto const& [which, ns] : least[chosen]) {
    double best = ns;
    std::printf("| %s |", which.c_str());
    for (auto const& [_, all] : least) {
      best = std::min(best, all.at(which));
      std::printf(" %.2f |", all.at(which));
    }
    std::printf(" %.2f |\n", ns / best);
  }
}
