// The cost of planning a step: graphs of up to 64,000 nodes, in shapes that could make planning quadratic, and the
// memory that a session keeps for its plans.
#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <rill/ops/array/constant.hpp>
#include <rill/ops/array/placeholder.hpp>
#include <rill/ops/control/call.hpp>
#include <rill/ops/control/flow.hpp>
#include <rill/ops/control/function.hpp>
#include <rill/ops/control/primitives.hpp>
#include <rill/ops/math/add_n.hpp>
#include <rill/ops/math/arithmetic.hpp>
#include <rill/ops/math/comparison.hpp>
#include <rill/ops/math/exponential.hpp>
#include <rill/ops/matrix/matmul.hpp>
#include <rill/ops/queues/queue.hpp>
#include <rill/ops/state/assign.hpp>
#include <rill/ops/sum/sum.hpp>
#include <rill/ops/sync/turnstile.hpp>
#include <rill/ops/table/tensor_array.hpp>
#include <rill/run/compiled_step.hpp>
#include <rill/run/session.hpp>
#include <string>
#include <vector>

namespace {

using rill::value;

/// A graph, and a step that is planned again in each run.
struct planned {
  explicit planned(rill::pass_options of = {}, rill::execution g = rill::execution::automatic)
      : passes(of), execution(g) {}
  void fetch(value const& v) { fetches.push_back(v); }
  std::shared_ptr<rill::compiled_step> plan(rill::execution wish) {
    rill::session s(graph, {.threads = 2, .state = state, .passes = passes, .execution = wish, .plans = 0});
    rill::run_request r;
    for (auto const& [to, with] : feeds) s.executor().add_feed(r, to, with);
    for (auto const& v : fetches) s.executor().add_fetch(r, v);
    for (auto const& o : targets) s.executor().add_target(r, o);
    return s.executor().find(r);
  }

  rill::graph graph;
  rill::pass_options passes;
  rill::execution execution;
  std::shared_ptr<rill::container> state = std::make_shared<rill::container>();
  std::vector<std::pair<value, rill::tensor>> feeds;
  std::vector<value> fetches;
  std::vector<rill::operation> targets;
};

auto const as_written = rill::pass_options::none();
constexpr std::int64_t floats = 1000;

value floats_of(planned& p) {
  value const x = rill::placeholder(p.graph, rill::of<float, floats>, "x");
  p.feeds.emplace_back(x, rill::tensor(rill::dtype::float32, {floats}));
  return x;
}
std::vector<value> arrivals(planned& p, std::size_t n) {
  auto const q = rill::fifo_queue<rill::of<float, floats>>(p.graph, {});
  std::vector<value> all;
  for (std::size_t i = 0; i < n; ++i) all.push_back(q.dequeue());
  return all;
}

/// A chain of additions; two dequeued values enter it, at its beginning and in its middle.
std::unique_ptr<planned> chain_with_two_dequeues(std::size_t n) {
  auto p = std::make_unique<planned>(as_written);
  auto const x = floats_of(*p);
  auto const came = arrivals(*p, 2);
  value y = rill::add(came[0], x);
  for (std::size_t i = 1; i < n; ++i) y = rill::add(y, i == n / 2 ? came[1] : x);
  p->fetch(y);
  return p;
}

/// Each node uses the previous node and one of the hundred nodes before it; a hundred of them also use a dequeued
/// value.
std::unique_ptr<planned> hundred_waits(std::size_t n) {
  auto p = std::make_unique<planned>(as_written);
  auto const came = arrivals(*p, 100);
  std::vector<value> all{floats_of(*p)};
  std::mt19937 random(3);
  auto const one = [&] { return all[all.size() - 1 - random() % std::min<std::size_t>(all.size(), 100)]; };
  for (std::size_t i = 1, next = 0; i < n; ++i) {
    bool const arrives = next < 100 && i >= (next + 1) * n / 101;
    all.push_back(rill::add(all.back(), arrives ? came[next++] : one()));
  }
  p->fetch(all.back());
  return p;
}

/// A hundred chains, each after a dequeue, and their sum.
std::unique_ptr<planned> hundred_branches(std::size_t n) {
  auto p = std::make_unique<planned>(as_written);
  std::vector<value> ends = arrivals(*p, 100);
  for (auto& y : ends)
    for (std::size_t i = 0; i < n / 100; ++i) y = rill::neg(y);
  p->fetch(rill::add_n(ends));
  return p;
}

/// One queue per enqueue; another node of the step dequeues from each queue.
std::unique_ptr<planned> hand_overs(std::size_t n) {
  auto p = std::make_unique<planned>(as_written);
  auto const x = rill::as<rill::of<float, floats>>(floats_of(*p));
  for (std::size_t i = 0; i < n / 2; ++i) {
    auto const q = rill::fifo_queue<rill::of<float, floats>>(p->graph, {}, "q" + std::to_string(i));
    p->targets.push_back(q.enqueue(x));
    p->fetch(q.dequeue());
  }
  return p;
}

/// Many sections of one mutex.
std::unique_ptr<planned> sections(std::size_t n) {
  auto p = std::make_unique<planned>(as_written);
  auto const x = floats_of(*p);
  rill::mutex const m(p->graph, "m");
  for (std::size_t i = 0; i < n / 4; ++i) p->fetch(m.locked([&] { return rill::neg(x); }));
  return p;
}

std::unique_ptr<planned> array_writes(std::size_t n) {
  auto p = std::make_unique<planned>(as_written);
  rill::tensor_array<rill::of<float, 4>> a(p->graph, static_cast<std::int64_t>(n / 2));
  auto const row = rill::constant(p->graph, rill::vector({1.f, 2.f, 3.f, 4.f}));
  for (std::size_t i = 0; i < n / 2; ++i)
    a = a.write(rill::constant(p->graph, static_cast<std::int32_t>(i)), rill::as<rill::of<float, 4>>(row));
  p->fetch(a.stack());
  return p;
}

std::unique_ptr<planned> calls(std::size_t n) {
  auto p = std::make_unique<planned>();
  auto const f = rill::function<"f", rill::of<float, floats>>(p->graph, [](auto a) { return rill::tanh(a); });
  auto y = rill::placeholder<float, floats>(p->graph, "x");
  p->feeds.emplace_back(y, rill::tensor(rill::dtype::float32, {floats}));
  for (std::size_t i = 0; i < n; ++i) y = f(y);
  p->fetch(y);
  return p;
}

/// Chains of a hundred functions, each of which calls the one before it.
std::unique_ptr<planned> nested_functions(std::size_t n) {
  constexpr std::size_t deep = 100;
  auto p = std::make_unique<planned>();
  value y = floats_of(*p);
  for (std::size_t k = 0; k < n / (3 * deep); ++k) {
    auto const name = [&](std::size_t i) { return "f" + std::to_string(k) + "_" + std::to_string(i); };
    for (std::size_t i = 0; i < deep; ++i)
      rill::function(p->graph, name(i), {rill::of<float, floats>}, [&](std::vector<value> const& in) {
        auto const x = rill::neg(in[0]);
        return std::vector<value>{i == 0 ? x : rill::tanh(rill::call(p->graph, name(i - 1), x)[0])};
      });
    y = rill::call(p->graph, name(deep - 1), y)[0];
  }
  p->fetch(y);
  return p;
}

std::unique_ptr<planned> feeds(std::size_t n) {
  auto p = std::make_unique<planned>();
  std::vector<value> all;
  for (std::size_t i = 0; i < n / 2; ++i) {
    all.push_back(rill::placeholder(p->graph, rill::of<float>, "x" + std::to_string(i)));
    p->feeds.emplace_back(all.back(), rill::tensor(1.f));
  }
  value y = all[0];
  for (auto const& x : all) y = rill::add(y, x);
  p->fetch(y);
  return p;
}

std::unique_ptr<planned> fetches(std::size_t n) {
  auto p = std::make_unique<planned>();
  value y = floats_of(*p);
  for (std::size_t i = 0; i < n; ++i) p->fetch(y = rill::neg(y));
  return p;
}

/// Loops of primitives, one after another, each in its own frame.
std::unique_ptr<planned> frames(std::size_t n) {
  auto p = std::make_unique<planned>();
  auto y = rill::placeholder<float>(p->graph, "x");
  p->feeds.emplace_back(y, rill::tensor(1.f));
  for (std::size_t i = 0; i < n / 8; ++i) {
    auto const [v, which] = rill::tagged::merge(rill::tagged::enter(y, {.frame = "f" + std::to_string(i)}));
    auto const [done, again] = rill::tagged::switch_(v, rill::tagged::loop_cond(v < 100.f));
    rill::tagged::next_iteration(again * 2.f, v);
    y = rill::tagged::exit(done);
  }
  p->fetch(y);
  return p;
}

std::unique_ptr<planned> ordered_updates(std::size_t n) {
  auto p = std::make_unique<planned>();
  auto const v = rill::variable(p->graph, rill::of<float>, "v");
  auto const one = rill::constant(p->graph, 1.f);
  rill::operation last = rill::assign(v, one);
  for (std::size_t i = 1; i < n; ++i) last = p->graph.after({last}, [&] { return rill::assign_add(v, one); });
  p->targets.push_back(last);
  return p;
}

std::unique_ptr<planned> racing_updates(std::size_t n) {
  auto p = std::make_unique<planned>();
  auto const v = rill::variable(p->graph, rill::of<float>, "v");
  p->graph.hogwild([&] {
    for (std::size_t i = 0; i < n / 2; ++i)
      p->targets.push_back(rill::assign_add(v, rill::constant(p->graph, static_cast<float>(i))));
  });
  return p;
}

std::unique_ptr<planned> variables(std::size_t n) {
  auto p = std::make_unique<planned>();
  value y = rill::constant(p->graph, 1.f);
  std::vector<decltype(rill::variable(p->graph, rill::of<float>, "v"))> all;
  for (std::size_t i = 0; i < n / 4; ++i) {
    all.push_back(rill::variable(p->graph, rill::of<float>, "v" + std::to_string(i)));
    p->state->variable("v" + std::to_string(i), rill::of<float>)->assign(rill::tensor(1.f));
    y = rill::add(y, all.back());
  }
  for (auto const& v : all) p->targets.push_back(rill::assign_sub(v, y));
  return p;
}

std::unique_ptr<planned> one_value_added(std::size_t n) {
  auto p = std::make_unique<planned>();
  p->fetch(rill::add_n(std::vector<value>(n, rill::neg(floats_of(*p)))));
  return p;
}

using shape = std::unique_ptr<planned> (*)(std::size_t);

void plan(benchmark::State& state, shape make, bool weigh) {
  auto const p = make(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(p->plan(p->execution));
  state.SetComplexityN(state.range(0));
  if (!weigh) return;
  auto const arena = [&](rill::execution g) { return static_cast<double>(p->plan(g)->plan().memory.arena); };
  state.counters["arena"] = arena(p->execution);
  state.counters["sequential"] = arena(rill::execution::sequential);
}

/// The memory that a session keeps after steps with forty batch sizes, and the arena of the largest.
void cached_plans(benchmark::State& state) {
  rill::graph g;
  rill::host_memory memory;
  rill::session s(g, {.threads = 2, .memory = &memory, .passes = as_written});
  auto const x = rill::placeholder<float, rill::unknown, 256>(g);
  value y = x;
  for (int i = 0; i < 8; ++i)
    y = rill::tanh(rill::matmul(y, rill::constant(g, rill::tensor(rill::dtype::float32, {256, 256}))));
  value const loss = rill::sum(y);
  std::size_t largest = 0;
  for (auto _ : state)
    for (std::int64_t batch = 16; batch <= 16 * 40; batch += 16)
      s.run({{x, rill::tensor(rill::dtype::float32, {batch, 256})}}, loss);
  rill::run_request r;
  s.executor().add_feed(r, x, rill::tensor(rill::dtype::float32, {16 * 40, 256}));
  s.executor().add_fetch(r, loss);
  largest = s.executor().find(r)->plan().memory.arena;
  state.counters["kept"] = static_cast<double>(memory.usage().current);
  state.counters["arena"] = static_cast<double>(largest);
}
BENCHMARK(cached_plans)->Iterations(2)->Unit(benchmark::kMillisecond);

struct named_shape {
  char const* name;
  shape make;
  std::int64_t most = 64000;
  bool weigh = false;
};
constexpr named_shape shapes[] = {
    {"chain_with_two_dequeues", chain_with_two_dequeues, 64000, true},
    {"hundred_waits", hundred_waits, 64000, true},
    {"hundred_branches", hundred_branches, 64000, true},
    {"hand_overs", hand_overs, 8000},
    {"sections", sections, 8000},
    {"array_writes", array_writes},
    {"calls", calls},
    {"nested_functions", nested_functions},
    {"feeds", feeds},
    {"fetches", fetches},
    {"frames", frames},
    {"ordered_updates", ordered_updates},
    {"racing_updates", racing_updates},
    {"variables", variables},
    {"one_value_added", one_value_added, 16000},
};

[[maybe_unused]] bool const registered = [] {
  for (auto const& s : shapes) {
    auto* const made = benchmark::RegisterBenchmark(s.name, plan, s.make, s.weigh);
    for (auto n : {s.most / 8, s.most / 4, s.most / 2, s.most}) made->Arg(n);
    if (s.make == hundred_waits) made->Arg(36000);
    made->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
