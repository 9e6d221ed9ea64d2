// What steps over several devices cost beside their work: hand-overs between lanes, copies beside kernels, planning.
// `devices` prints a table, `devices hand_overs`, `devices overlap` and `devices plans` a part of it; `devices briefly`
// checks that all of it works.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <rill/device/cpu.hpp>
#include <rill/device/emulated.hpp>
#include <rill/ops/array/placeholder.hpp>
#include <rill/ops/math/arithmetic.hpp>
#include <rill/ops/math/exponential.hpp>
#include <rill/ops/matrix/matmul.hpp>
#include <rill/ops/sum/sum.hpp>
#include <rill/run/session.hpp>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using rill::value;
using clock_type = std::chrono::steady_clock;
using devices = std::vector<std::shared_ptr<rill::device>>;

auto const as_written = rill::pass_options::none();

template <class F> double seconds_of(F const& f) {
  auto const begin = clock_type::now();
  f();
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}
double median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}
template <class F> double median_of_five(F const& measure) {
  std::vector<double> all;
  for (int i = 0; i < 5; ++i) all.push_back(measure());
  return median(std::move(all));
}

void row(char const* what, double figure, char const* unit, std::string const& beside = "") {
  std::printf("| %-58s | %9.2f %-2s | %-39s |\n", what, figure, unit, beside.c_str());
  std::fflush(stdout);
}
std::string ratio(double r, char const* to, double bar) {
  char text[80];
  std::snprintf(text, sizeof text, "%.2f x %s (bar %.1f)", r, to, bar);
  return text;
}

// Threads on cores of their own.

void pin(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

/// Pins the thread of a stream.
void pin(rill::stream& s, int core) {
  struct pinning final : rill::stream_work {
    void run() override { pin(core); }
    void done(rill::failure) noexcept override { over.set_value(); }
    int core = 0;
    std::promise<void> over;
  } work;
  work.core = core;
  s.submit(work);
  work.over.get_future().wait();
}

/// Seconds of one hand-over between two threads, each on a core of its own. `wait(me)` returns when it is `me`'s turn,
/// `pass(to)` gives the turn away.
template <class Wait, class Pass> double hand_over(int times, Wait const& wait, Pass const& pass) {
  auto const take_turns = [&](int me) {
    pin(me);
    for (int i = 0; i < times / 2; ++i) {
      wait(me);
      pass(1 - me);
    }
  };
  return seconds_of([&] {
           std::thread first(take_turns, 0), second(take_turns, 1);
           first.join();
           second.join();
         }) /
         times;
}
double hand_over_by_futex(int times) {
  std::atomic<int> turn[2] = {{1}, {0}};
  auto const call = [&](int of, int what, int n) {
    ::syscall(SYS_futex, reinterpret_cast<int*>(&turn[of]), what, n, nullptr, nullptr, 0);
  };
  return hand_over(
      times,
      [&](int me) {
        while (turn[me].exchange(0, std::memory_order_acquire) == 0) call(me, FUTEX_WAIT_PRIVATE, 0);
      },
      [&](int to) {
        turn[to].store(1, std::memory_order_release);
        call(to, FUTEX_WAKE_PRIVATE, 1);
      });
}
double hand_over_by_condition(int times) {
  std::mutex mutex;
  std::condition_variable changed[2];
  int turn = 0;
  return hand_over(
      times,
      [&](int me) {
        std::unique_lock lock(mutex);
        changed[me].wait(lock, [&] { return turn == me; });
      },
      [&](int to) {
        {
          std::lock_guard const lock(mutex);
          turn = to;
        }
        changed[to].notify_one();
      });
}

devices emulated(int n, rill::emulated_options const& o) {
  devices all;
  for (int i = 0; i < n; ++i) all.push_back(rill::emulated("accelerator:" + std::to_string(i), o));
  return all;
}
/// Threads of this machine as devices, which share the host's memory.
devices processors(unsigned n) {
  devices all;
  for (unsigned i = 1; i <= n; ++i) all.push_back(rill::cpu(1, i));
  return all;
}
rill::session_options over(devices const& all) { return {.threads = 1, .passes = as_written, .devices = all}; }
std::string name(int device) { return "/device:accelerator:" + std::to_string(device); }

/// An operation whose kernel does nothing: nobody looks at its values.
struct null_op {
  static constexpr std::string_view name = "null";
  static constexpr std::int8_t arity = 1;
  static constexpr rill::type infer(rill::no_attributes, rill::type const& x, rill::checks = {}) { return x; }
  static rill::cost work(rill::no_attributes, std::span<rill::type const>, std::span<rill::type const>) { return {}; }
  static rill::kernel cpu(rill::kernel_request const&) {
    return rill::kernel([](rill::kernel_call const&) {});
  }
};

/// A chain of kernels that do nothing, the i-th on device i % lanes. The first two devices have a core each.
class null_chain {
 public:
  null_chain(int kernels, devices const& lanes) : kernels_(kernels), session_(graph_, over(lanes)) {
    for (std::size_t i = 0; i < lanes.size(); ++i) pin(lanes[i]->compute(), static_cast<int>(i % 2));
    auto const x = rill::placeholder<float>(graph_);
    value y = x;
    for (int i = 0; i < kernels; ++i)
      y = graph_.on("/device:" + lanes[static_cast<std::size_t>(i) % lanes.size()]->name(),
                    [&] { return rill::record<null_op>(y); });
    auto call = session_.prepare(rill::inputs(x), rill::outputs(rill::expr<rill::of<float>>(y)));
    step_ = [call, one = rill::tensor(1.f)]() mutable { call(one); };
    step_();
  }
  /// Returns the seconds of one kernel.
  double seconds() {
    constexpr int steps = 20;
    auto const run = [&] {
      for (int i = 0; i < steps; ++i) step_();
    };
    return seconds_of(run) / steps / kernels_;
  }

 private:
  int kernels_;
  rill::graph graph_;
  rill::session session_;
  std::function<void()> step_;
};

// All are measured by turns, because what a hand-over costs changes with what else the machine does.
void hand_overs(bool briefly) {
  int const times = briefly ? 20 : 4000, kernels = briefly ? 20 : 200;
  null_chain near(kernels, processors(2)), far(kernels, emulated(2, {.memory = 1 << 20})), one(10000, processors(1));
  std::vector<double> futex, condition, hop, long_hop, stays;
  for (int i = 0; i < 5; ++i) {
    futex.push_back(hand_over_by_futex(times) * 1e6);
    hop.push_back(near.seconds() * 1e6);
    condition.push_back(hand_over_by_condition(times) * 1e6);
    long_hop.push_back(far.seconds() * 1e6);
    stays.push_back(one.seconds() * 1e6);
  }
  row("a hand-over between two threads, futex", median(futex), "us");
  row("a hand-over between two threads, condition_variable", median(condition), "us");
  row("a null kernel of a chain that alternates between lanes", median(hop), "us",
      ratio(median(hop) / median(futex), "futex", 1.3));
  row("the same between two memories, with two copies each", median(long_hop), "us",
      ratio(median(long_hop) / median(futex) / 3, "3 x futex", 1.3));
  row("a null kernel of a chain on one lane", median(stays), "us", "bar 0.2 us");
}

// Steps whose requests are made at run time.

struct request {
  explicit request(rill::session_options o) : options(std::move(o)) {}
  rill::session& session() {
    if (!session_) session_ = std::make_unique<rill::session>(graph, options);
    return *session_;
  }
  rill::run_request made() {
    rill::run_request r;
    for (auto const& [to, with] : feeds) session().executor().add_feed(r, to, with);
    for (auto const& v : fetches) session().executor().add_fetch(r, v);
    return r;
  }
  value feed(char const* called, rill::shape const& extents) {
    rill::tensor t(rill::dtype::float32, extents);
    std::fill_n(t.mutable_data<float>(), t.elements(), 0.5f);
    auto const v = rill::placeholder(graph, t.type(), called + std::to_string(feeds.size()));
    feeds.emplace_back(v, std::move(t));
    return v;
  }

  rill::graph graph;
  rill::session_options options;
  std::vector<std::pair<value, rill::tensor>> feeds;
  std::vector<value> fetches;

 private:
  std::unique_ptr<rill::session> session_;
};

// Copies beside kernels.

constexpr std::int64_t side = 512;
constexpr double matrix_bytes = 4.0 * side * side, product_flops = 2.0 * side * side * side;

struct parts {
  bool copies_in = true, kernels = true, copies_out = false;
};

/// Seconds of a step with `n` products on an accelerator, each of a matrix that is fed, or of its parts alone: without
/// copies all products are of the first matrix, without kernels the matrices are only summed. With `copies_out` the
/// host sums the products, and otherwise the device. The memory has room for 16 matrices.
double stages(rill::emulated_options o, int n, parts const& with) {
  o.memory = 16 * static_cast<std::size_t>(matrix_bytes);
  request r(over(emulated(1, o)));
  auto& g = r.graph;
  auto const w = r.feed("w", {side, side});
  value total;
  auto const add = [&](value const& part) { total = total ? rill::add(total, part) : part; };
  for (int i = 0; i < n; ++i) {
    auto const x = with.copies_in || i == 0 ? r.feed("x", {side, side}) : r.feeds[1].first;
    value y;
    g.on(name(0), [&] {
      y = with.kernels ? rill::matmul(x, w) : x;
      if (!with.copies_out) add(rill::sum(y));
    });
    if (with.copies_out) g.on("/device:cpu:0", [&] { add(rill::sum(y)); });
  }
  r.fetches = {total};
  auto const run = r.made();
  auto const once = [&] {
    rill::step_context step;
    r.session().executor().run(run, step);
  };
  once();
  return median_of_five([&] { return seconds_of(once); });
}

std::string times(double seconds, double larger) { return ratio(seconds / larger, "the largest part alone", 1.1); }

void overlap(bool briefly) {
  int const n = briefly ? 3 : 40;
  // What the parts take without a set speed, and a set speed at which each takes three times as long, or longer.
  double const product = stages({}, n, {.copies_in = false}) / n, copy = stages({}, n, {.kernels = false}) / n;
  double const each = 3 * std::max(product, copy);
  rill::emulated_options const set{.flops = product_flops / each, .bandwidth = matrix_bytes / each, .paced = true};
  row("a product of 512 x 512, no set speed", product * 1e3, "ms");
  row("a copy of 1 MB and its sum, no set speed", copy * 1e3, "ms");
  row("either at the set speed", each * 1e3, "ms");
  double const kernels = stages(set, n, {.copies_in = false}), copies = stages(set, n, {.kernels = false});
  row("products alone", kernels * 1e3, "ms");
  row("copies to the device alone", copies * 1e3, "ms");
  double const both = stages(set, n, {});
  row("both", both * 1e3, "ms", times(both, std::max(kernels, copies)));
  double const all = stages(set, n, {.copies_out = true});
  row("both, and a copy of each product back", all * 1e3, "ms", times(all, std::max(kernels, copies)));
}

// Planning.

/// Processor seconds to plan a step of `n` nodes, of which each run of `together` is on one of 8 devices by turns.
double planning(int n, int together) {
  auto options = over(emulated(8, {.memory = std::size_t{1} << 24}));
  options.passes = {};
  options.plans = 0;
  request r(options);
  std::vector<value> all{r.feed("x", {16})};
  for (int i = 0; i < n; ++i)
    r.graph.on(name(i / together % 8), [&] {
      auto const size = all.size();
      auto const x = all.back(), y = all[size - 1 - size * 7919 % std::min<std::size_t>(size, 100)];
      all.push_back(i % 2 == 0 ? rill::tanh(x) : rill::add(x, y));
    });
  r.fetches = {all.back()};
  auto const made = r.made();
  return median_of_five([&] {
    auto const begin = std::clock();
    r.session().executor().find(made);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  });
}

void plans(bool briefly) {
  for (int const together : {1000, 100, 10}) {
    double before = 0;
    for (int const n : {9000, 18000, 36000}) {
      double const s = planning(briefly ? n / 100 : n, together);
      auto const what = std::to_string(n) + " nodes on 8 devices, " + std::to_string(together) + " at a time";
      row(what.c_str(), s * 1e3, "ms", before > 0 ? ratio(s / before, "half as many", 2.2) : "bar 1000 ms for 36000");
      before = s;
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  std::string_view const wanted = count > 1 ? arguments[1] : "";
  bool const briefly = wanted == "briefly", all = wanted.empty() || briefly;
  if (all || wanted == "hand_overs") hand_overs(briefly);
  if (all || wanted == "overlap") overlap(briefly);
  if (all || wanted == "plans") plans(briefly);
}
