// What steps over several processes cost beside raw bytes between two processes, on one machine.
//
//   cluster              prints a table: `cluster CASE...` a part of it, `cluster briefly` checks that all of it works
//
// The program starts the other processes itself. Of two processes each has a core of its own, and so have those that
// exchange raw bytes. A figure and what it is compared with are measured by turns, and the least of all rounds is taken
// of each.
#include <rill/net.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "raw_transfer.hpp"

namespace {

using bench::child;
using clock_type = std::chrono::steady_clock;
using step = std::function<void()>;

bool briefly = false;

template <class F> double seconds_of(F const& f) {
  auto const begin = clock_type::now();
  f();
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

/// Returns the least seconds of each of some steps, which take turns of about a tenth of a second.
std::vector<double> least_seconds(std::vector<step> const& all) {
  std::vector<double> least;
  std::vector<int> times;
  for (auto const& f : all) {
    for (int i = 0; i < (briefly ? 1 : 3); ++i) f();
    times.push_back(briefly ? 1 : std::max(1, static_cast<int>(0.1 / seconds_of(f))));
    least.push_back(1e9);
  }
  for (int round = 0; round < (briefly ? 1 : 15); ++round)
    for (std::size_t k = 0; k < all.size(); ++k)
      least[k] = std::min(least[k], seconds_of([&] {
                                      for (int i = 0; i < times[k]; ++i) all[k]();
                                    }) / times[k]);
  return least;
}

void row(std::string const& what, double figure, char const* unit, std::string const& beside = "") {
  std::printf("| %-62s | %9.2f %-4s | %-40s |\n", what.c_str(), figure, unit, beside.c_str());
  std::fflush(stdout);
}
std::string ratio(double r, char const* to, char const* bar) {
  char text[80];
  std::snprintf(text, sizeof text, "%.2f x %s (bar %s)", r, to, bar);
  return text;
}

// ---------------------------------------------------------------------------------------------------------------------
// Processes

std::string cluster_of(bench::addresses& from, std::vector<std::pair<char const*, int>> const& jobs) {
  std::string text;
  for (auto const& [name, tasks] : jobs) {
    text += std::string(text.empty() ? "" : " ") + name + "=";
    for (int t = 0; t < tasks; ++t) text += (t > 0 ? "," : "") + from.next();
  }
  return text;
}
std::unique_ptr<child> start(std::vector<std::string> arguments, std::string const& cluster, std::string const& task) {
  return std::make_unique<child>(std::move(arguments), std::vector{"RILL_CLUSTER=" + cluster, "RILL_TASK=" + task});
}

/// What carries the bytes between processes.
enum class carrier { tcp, unix_socket, memory, tls, ucx };
constexpr char const* names_of_carriers[] = {"TCP", "Unix socket", "shared memory", "TLS", "UCX"};
constexpr carrier carriers[] = {carrier::tcp, carrier::unix_socket, carrier::memory, carrier::tls, carrier::ucx};
std::string name_of(carrier c) { return names_of_carriers[static_cast<int>(c)]; }

/// Two threads for kernels, as on a machine with two cores: each process sees only its own.
rill::server_options two_threads(carrier by = carrier::tcp) {
  rill::server_options made;
  made.threads = 2;
  made.net.shared_memory = by == carrier::memory;
  made.net.ucx = made.trusted_network = by == carrier::ucx;
  if (by == carrier::tls) made.key = rill::shared_key::parse("rill-key bench task " + std::string(64, '5'));
  return made;
}
int serve(carrier by) {
  rill::server s{rill::cluster::from_environment(), two_threads(by)};
  return s.join();
}

/// Two tasks: worker 0 is this process, worker 1 another.
struct pair_of_tasks {
  explicit pair_of_tasks(carrier by = carrier::tcp) : from(by == carrier::unix_socket) {
    auto const text = cluster_of(from, {{"worker", 2}});
    other = start({"serve", std::to_string(static_cast<int>(by))}, text, "worker:1");
    here = std::make_unique<rill::server>(rill::cluster::parse(text, "worker:0"), two_threads(by));
  }
  bench::addresses from;
  std::unique_ptr<child> other;
  std::unique_ptr<rill::server> here;
};

/// Calls `f` for each carrier. One that this program was built without says so, and is left out.
template <class F> void for_each_carrier(F const& f) {
  for (auto const by : carriers) try {
      f(by);
    } catch (rill::error const& e) {
      if (e.code() != rill::code::unimplemented) throw;
      std::printf("%s is left out: %s\n", name_of(by).c_str(), e.what());
    }
}

template <class F> auto on_other(rill::graph& g, F const& f) { return g.on("/job:worker/task:1", f); }
template <class F> auto on_this(rill::graph& g, F const& f) { return g.on("/job:worker/task:0", f); }

// ---------------------------------------------------------------------------------------------------------------------
// Two processes

/// A variable of 64 MiB lies in the other process, and a step reads it here.
void transfer(carrier by) {
  constexpr std::int64_t n = 16 << 20;
  pair_of_tasks tasks(by);
  bench::raw_transfer raw(tasks.from);
  rill::graph g;
  auto const v = on_other(g, [&] { return rill::variable<float, n>(g, "v", rill::zeros()); });
  auto const first = on_this(g, [&] { return rill::slice<rill::extents{0}, rill::extents{1}>(v); });
  rill::session s{g, tasks.here->target()};
  s.run(rill::initializer(g));
  auto read = s.prepare(rill::inputs(), rill::outputs(first));
  std::vector<char> from(raw.many, 'x'), to(raw.many);
  auto const least = least_seconds(
      {[&] { (void)read(); }, [&] { raw.large(); }, [&] { std::memcpy(to.data(), from.data(), raw.many); }});
  auto const gigabytes = [&](double seconds) { return static_cast<double>(raw.many) / 1e9 / seconds; };
  if (by == carrier::tcp || by == carrier::unix_socket) row("raw, 64 MiB, " + name_of(by), gigabytes(least[1]), "GB/s");
  if (by == carrier::memory) row("memcpy, 64 MiB", gigabytes(least[2]), "GB/s");
  row("a tensor of 64 MiB, " + name_of(by), gigabytes(least[0]), "GB/s",
      by == carrier::memory ? ratio(least[2] / least[0], "memcpy", ">= 0.80")
                            : ratio(least[1] / least[0], "raw", by > carrier::memory ? "none" : ">= 0.90"));
}
void transfers() { for_each_carrier(transfer); }

/// Steps that hardly compute: the number of messages on the way in a row is what they take.
void scalar(carrier by) {
  pair_of_tasks tasks(by);
  bench::raw_transfer raw(tasks.from);
  bench::raw_futex futex;
  bool const shares = by == carrier::memory;
  rill::graph g;
  auto const x = rill::placeholder<float>(g, "x");
  auto const there = on_other(g, [&] { return x * 2.f; });
  auto const v = on_other(g, [&] { return rill::variable(rill::constant(g, 3.f), "v"); });
  auto const here = on_this(g, [&] { return v + 1.f; });
  auto const back = on_this(g, [&] { return there + 1.f; });
  rill::session s{g, tasks.here->target()};
  s.run(rill::initializer(g));
  auto only_there = s.prepare(rill::inputs(x), rill::outputs(there));
  auto read = s.prepare(rill::inputs(), rill::outputs(here));
  auto both = s.prepare(rill::inputs(x), rill::outputs(back));
  rill::tensor_of<rill::of<float>> const one(rill::tensor(1.f));
  auto const least = least_seconds({[&] { shares ? futex.round_trip() : raw.round_trip(); },
                                    [&] { (void)only_there(one); }, [&] { (void)read(); }, [&] { (void)both(one); }});
  row("raw round trip, " + (shares ? "futex" : by == carrier::unix_socket ? name_of(by) : "TCP"), least[0] * 1e6, "us");
  auto const line = [&](std::string const& what, double seconds) {
    row(what + ", " + name_of(by), seconds * 1e6, "us", ratio(seconds / least[0], "a round trip", "<= 1.5"));
  };
  line("a scalar step: fed, run by the other process, fetched", least[1]);
  line("a scalar variable of the other process, read here", least[2]);
  line("a scalar step on both processes, there and back", least[3]);
}

void scalars() { for_each_carrier(scalar); }

/// Many scalars go from one process to the other in one step.
void many_scalars() {
  int const n = briefly ? 100 : 10000;
  auto const record = [&](rill::graph& g) {
    auto const x = rill::placeholder<float>(g, "x");
    std::vector<rill::value> all;
    for (int i = 0; i < n; ++i)
      all.push_back(on_other(g, [&] { return rill::value(rill::tanh(x * static_cast<float>(i))); }));
    return std::pair(x, on_this(g, [&] { return rill::add_n(all); }));
  };
  pair_of_tasks tasks;
  rill::graph g, alone;
  auto const [x, total] = record(g);
  auto const [y, same] = record(alone);
  rill::session s{g, tasks.here->target()}, one{alone, rill::session_options{.soft_placement = true}};
  auto const least = least_seconds({[&] { s.run({{x, 1.f}}, total); }, [&] { one.run({{y, 1.f}}, same); }});
  row(std::to_string(n) + " scalars in one step, each", least[0] / n * 1e6, "us", "bar <= 3.00");
  row("the same step in one process, each", least[1] / n * 1e6, "us");
}

/// A loop whose body goes to the other process and back.
void loop(carrier by) {
  int const n = briefly ? 10 : 1000;
  pair_of_tasks tasks(by);
  bench::raw_transfer raw(tasks.from);
  bench::raw_futex futex;
  bool const shares = by == carrier::memory;
  rill::graph g;
  auto const x = rill::placeholder<float>(g, "x");
  auto const [i, y] =
      rill::while_loop([&](auto k, auto) { return k < n; },
                       [&](auto k, auto a) {
                         auto const b = on_other(g, [&] { return a * 0.5f; });
                         return std::tuple(on_this(g, [&] { return k + 1; }), on_this(g, [&] { return b + 1.f; }));
                       },
                       rill::constant(g, 0), x);
  rill::session s{g, tasks.here->target()};
  auto const least =
      least_seconds({[&] { s.run({{x, 1.f}}, y); }, [&] { shares ? futex.round_trip() : raw.round_trip(); }});
  auto const each = least[0] / n;
  row("while_loop with its body on both, an iteration, " + name_of(by), each * 1e6, "us",
      ratio(each / least[1], "a round trip", "<= 1.5"));
}

void loops() { for_each_carrier(loop); }

/// 100 MB of another process that only a branch reads: what goes over the wire for a step, with and without the branch.
void branch() {
  constexpr std::int64_t n = 25000000;
  pair_of_tasks tasks;
  rill::graph g;
  auto const taken = rill::placeholder<bool>(g, "taken");
  auto const v = on_other(g, [&] { return rill::variable<float, n>(g, "v", rill::zeros()); });
  auto const y = rill::cond(
      taken, [&] { return on_this(g, [&] { return rill::sum(v); }); },
      [&] { return on_this(g, [&] { return rill::constant(g, 0.f); }); });
  rill::session s{g, tasks.here->target()};
  s.run(rill::initializer(g));
  for (bool const is : {false, true}) {
    s.run({{taken, is}}, y);
    auto const before = tasks.here->traffic();
    s.run({{taken, is}}, y);
    auto const after = tasks.here->traffic();
    row(std::string("a branch that reads 100 MB is ") + (is ? "taken" : "not taken") + ": messages",
        static_cast<double>(after.messages_sent + after.messages_received - before.messages_sent -
                            before.messages_received),
        "");
    row("    bytes",
        static_cast<double>(after.bytes_sent + after.bytes_received - before.bytes_sent - before.bytes_received), "");
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Workers and parameter servers (OSDI'16, figure 6)

/// What a step does with the parameters of a server: the task `here` fetches them and sends updates.
rill::operation train_on(rill::graph& g, std::string_view kind, int server, std::string const& here) {
  constexpr std::int64_t rows = 500000, width = 25, touched = 16;  // 50 MB
  auto const name = "v" + std::to_string(server);
  auto const there = [&](auto const& f) { return g.on("/job:ps/task:" + std::to_string(server), f); };
  if (kind == "dense" || kind == "sparse") {
    auto const v = there([&] { return rill::variable<float, rows, width>(g, name, rill::zeros()); });
    if (kind == "dense") return rill::assign_add(v, g.on(here, [&] { return v * 0.001f; }));
    std::vector<std::int32_t> which(touched);
    for (std::size_t i = 0; i < which.size(); ++i) which[i] = static_cast<std::int32_t>(i * 31013 % rows);
    auto const at = rill::constant(
        g, rill::tensor_of<rill::of<std::int32_t, touched>>(rill::tensor::adopt(which, rill::shape{touched})));
    auto const some = there([&] { return rill::gather(v, at); });
    return rill::scatter_add(v, at, g.on(here, [&] { return some * 0.001f; }));
  }
  auto const v = there([&] { return rill::variable(rill::constant(g, 1.f), name); });
  if (kind == "null") return there([&] { return rill::assign_add(v, rill::constant(g, 1.f)); });
  return rill::assign_add(v, g.on(here, [&] { return v * 0.001f; }));
}

/// A worker: prints the seconds, messages and bytes of a step, and stays until it is told to end.
int train(std::string_view kind, int steps) {
  rill::server server{rill::cluster::from_environment(), two_threads()};
  rill::graph g;
  auto const here = server.task().text();
  auto const first = train_on(g, kind, 0, here), second = train_on(g, kind, 1, here);
  rill::session s{g, server.target()};
  if (server.is_chief()) s.run(rill::initializer(g));
  else s.wait_for_variables(std::chrono::minutes(1));
  for (int i = 0; i < 2; ++i) s.run(first, second);
  auto const before = server.traffic();
  std::vector<double> all;
  for (int i = 0; i < steps; ++i) all.push_back(seconds_of([&] { s.run(first, second); }));
  auto const after = server.traffic();
  std::nth_element(all.begin(), all.begin() + steps / 2, all.end());
  auto const each = [&](std::uint64_t rill::net_traffic::* of) {
    return static_cast<double>(after.*of - before.*of) / steps;
  };
  std::printf("%g %g %g\n", all[static_cast<std::size_t>(steps / 2)],
              each(&rill::net_traffic::messages_sent) + each(&rill::net_traffic::messages_received),
              each(&rill::net_traffic::bytes_sent) + each(&rill::net_traffic::bytes_received));
  std::fflush(stdout);
  return server.join();
}

/// Runs a kind of step with some workers and two parameter servers, and prints the median step.
void parameter_servers(std::string const& kind, int workers, int steps) {
  bench::addresses from(false);
  auto const text = cluster_of(from, {{"ps", 2}, {"worker", workers}});
  std::vector<std::unique_ptr<child>> servers, all;
  for (int i = 0; i < 2; ++i) servers.push_back(start({"serve", "0"}, text, "ps:" + std::to_string(i)));
  for (int i = 0; i < workers; ++i)
    all.push_back(start({"train", kind, std::to_string(steps)}, text, "worker:" + std::to_string(i)));
  double seconds = 0, messages = 0, bytes = 0;
  for (auto const& each : all) {
    double mine[3] = {};
    if (std::sscanf(each->line().c_str(), "%lf %lf %lf", &mine[0], &mine[1], &mine[2]) != 3)
      throw std::runtime_error("a worker has ended");
    seconds += mine[0] / workers, messages += mine[1] / workers, bytes += mine[2] / workers;
  }
  char counts[80];
  std::snprintf(counts, sizeof counts, "%.1f messages, %.6f MB a step", messages, bytes / 1e6);
  row(kind + " step, " + std::to_string(workers) + " workers x 2 ps", seconds * 1e3, "ms", counts);
}

void training() {
  for (std::string const kind : {"null", "scalar", "sparse", "dense"})
    for (int workers = 1; workers <= (briefly ? 1 : 8); workers *= 2)
      parameter_servers(kind, workers, briefly ? 2 : kind == "dense" ? 8 : 300);
}

/// Gradients of 25 MB go to the parameters of the other process: as they are, and as their upper 16 bits (white paper,
/// section 5.5). bench/slow_link.sh runs the two processes at the ends of a slow link.
int slow_link() {
  constexpr std::int64_t n = 6250000;
  auto options = two_threads();
  options.trusted_network = true;
  rill::server server{rill::cluster::from_environment(), options};
  if (server.is_chief()) return server.join();
  rill::graph g;
  auto const there = [&](auto const& f) { return g.on("/job:worker/task:0", f); };
  auto const x = rill::placeholder<float>(g, "x");
  auto const v = there([&] { return rill::variable<float, n>(g, "v", rill::zeros()); });
  auto const ones = on_other(g, [&] { return rill::variable<float, n>(g, "ones", rill::zeros()); });
  auto const gradient = on_other(g, [&] { return ones + x; });
  auto const whole = there([&] { return rill::assign_add(v, gradient); });
  auto const halves = there([&] { return rill::assign_add(v, rill::truncated(gradient)); });
  rill::session s{g, server.target()};
  s.run(rill::initializer(g));
  rill::tensor_of<rill::of<float>> const one(rill::tensor(1.f));
  auto as_it_is = s.prepare(rill::inputs(x), rill::outputs(), whole);
  auto truncated = s.prepare(rill::inputs(x), rill::outputs(), halves);
  auto const least = least_seconds({[&] { as_it_is(one); }, [&] { truncated(one); }});
  row("a step that sends gradients of 25 MB", least[0] * 1e3, "ms");
  row("the same, truncated to 16 bits", least[1] * 1e3, "ms", ratio(least[0] / least[1], "the steps", ">= 1.9"));
  return 0;
}

struct named_case {
  char const* name;
  void (*run)();
};
constexpr named_case cases[] = {{"transfer", transfers}, {"scalar", scalars}, {"scalars", many_scalars},
                                {"loop", loops},         {"branch", branch},  {"training", training}};

}  // namespace

int main(int count, char** arguments) try {
  std::vector<std::string_view> const asked(arguments + 1, arguments + count);
  auto const role = asked.empty() ? std::string_view() : asked[0];
  bool const is_child = role == "serve" || role == "raw" || role == "futex" || role == "train";
  if (is_child) child::end_with_parent();
  bool const are_many = std::getenv("RILL_CLUSTER") && std::string_view(std::getenv("RILL_CLUSTER")).starts_with("ps=");
  if (are_many) bench::use_two_cores();
  else bench::use_core(is_child);
  if (role == "serve" && count == 3) return serve(carriers[std::stoul(arguments[2]) % std::size(carriers)]);
  if (role == "futex" && count == 3) return bench::raw_futex::answer(arguments[2]);
  if (role == "slow_link") return slow_link();
  if (role == "train" && count == 4) return train(arguments[2], std::atoi(arguments[3]));
  if (role == "raw") return bench::raw_transfer::answer(arguments[2]);
  briefly = role == "briefly";
  for (auto const& c : cases)
    if (asked.empty() || briefly || std::find(asked.begin(), asked.end(), c.name) != asked.end()) c.run();
} catch (std::exception const& e) {
  std::fprintf(stderr, "cluster: %s\n", e.what());
  return 1;
}
