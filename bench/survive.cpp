// What checkpoints and lost processes cost a training on a cluster, on one machine.
//
//   survive                    prints a table; `survive briefly` checks that all of it works
//   survive kills [SECONDS]    kills a random process every five seconds, for ten minutes, and compares the bits
//
// The program starts the processes itself: two ps tasks, and one worker or three.
#include <rill/io.hpp>
#include <rill/net.hpp>
#include <rill/rill.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "processes.hpp"

namespace {

using bench::child;
using clock_type = std::chrono::steady_clock;

bool briefly = false;

double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}
void row(std::string const& what, double figure, char const* unit, std::string const& beside = "") {
  std::printf("| %-58s | %9.3f %-2s | %-50s |\n", what.c_str(), figure, unit, beside.c_str());
  std::fflush(stdout);
}
std::string ratio(double r, std::string const& to) {
  char text[80];
  std::snprintf(text, sizeof text, "%.2f × %s", r, to.c_str());
  return text;
}

/// Two ps tasks and some workers in processes of their own, in a folder that is removed again.
class cluster {
 public:
  explicit cluster(std::size_t workers) {
    text_ = "ps=" + at_.next() + "," + at_.next() + " worker=";
    for (std::size_t i = 0; i < workers; ++i) text_ += (i == 0 ? "" : ",") + at_.next();
    all_.resize(2 + workers);
    folder_ = (std::filesystem::temp_directory_path() / ("rill-survive-" + std::to_string(::getpid()))).string();
    std::filesystem::remove_all(folder_);
  }
  ~cluster() {
    all_.clear();
    std::filesystem::remove_all(folder_);
  }
  cluster(cluster const&) = delete;
  cluster& operator=(cluster const&) = delete;

  std::string const& text() const { return text_; }
  std::string const& folder() const { return folder_; }
  std::size_t size() const { return all_.size(); }
  child& operator[](std::size_t i) { return *all_[i]; }
  void start(std::size_t i, std::vector<std::string> const& words = {}) {
    std::vector<std::string> arguments{i < 2 ? "ps" : "worker", folder_};
    arguments.insert(arguments.end(), words.begin(), words.end());
    auto const task = i < 2 ? "ps:" + std::to_string(i) : "worker:" + std::to_string(i - 2);
    all_[i].reset();  // waits for the end of the process before
    all_[i] = std::make_unique<child>(arguments, std::vector{"RILL_CLUSTER=" + text_, "RILL_TASK=" + task});
  }

 private:
  bench::addresses at_{true};
  std::string text_, folder_;
  std::vector<std::unique_ptr<child>> all_;
};

// ---------------------------------------------------------------------------------------------------------------------
// A checkpoint while training goes on

/// The bytes of a process's memory that are resident.
double resident_bytes(pid_t id) {
  std::ifstream in("/proc/" + std::to_string(id) + "/statm");
  double all = 0, resident = 0;
  in >> all >> resident;
  return resident * 4096;
}

void checkpoint_while_training() {
  std::int64_t const each = (briefly ? std::int64_t{1} : std::int64_t{512}) << 18;  // elements on each ps task
  cluster c(1);
  for (std::size_t i = 0; i < 2; ++i) c.start(i);
  rill::server_options options;
  options.threads = 1;
  rill::server here(rill::cluster::parse(c.text(), "worker:0"), options);
  rill::graph g;
  std::vector<rill::operation> all;
  for (auto const* task : {"/job:ps/task:0", "/job:ps/task:1"})
    g.on(task, [&] {
      auto const v =
          rill::variable(rill::broadcast_to(rill::constant(g, 1.f), rill::shape{each}), std::string("v") + task[13]);
      all.emplace_back(rill::value(rill::assign_sub(v, v * 1e-6f)));
    });
  auto const train = rill::group(g, all);
  rill::session s(g, here.target());
  s.run(rill::initializer(g));
  auto const step = [&] {
    auto const begin = clock_type::now();
    s.run(train);
    return seconds_since(begin);
  };
  for (int i = 0; i < 3; ++i) step();
  std::vector<double> usual, during;
  for (int i = 0; i < (briefly ? 2 : 15); ++i) usual.push_back(step());
  double before = 0, most = 0;
  for (std::size_t i = 0; i < 2; ++i) before = std::max(before, resident_bytes(c[i].id()));
  std::atomic<bool> ends = false;
  std::jthread const memory([&] {
    for (; !ends; std::this_thread::sleep_for(std::chrono::milliseconds(5)))
      for (std::size_t i = 0; i < 2; ++i) most = std::max(most, resident_bytes(c[i].id()));
  });
  rill::saver saver(g, c.folder(), {.keep = 1, .written_by = rill::shard_writer::tasks});
  double write = 0;
  for (int round = 0; round < (briefly ? 1 : 3); ++round) {
    auto const begin = clock_type::now();
    auto saved = saver.save_in_background(s);
    while (saved.wait_for(std::chrono::seconds(0)) != std::future_status::ready) during.push_back(step());
    saved.get();
    write = seconds_since(begin);
  }
  ends = true;
  auto const mean = [](std::vector<double> const& x) {
    double sum = 0;
    for (double each_one : x) sum += each_one;
    return sum / static_cast<double>(x.size());
  };
  auto const bytes = static_cast<double>(each) * 8;
  std::vector<float> from(static_cast<std::size_t>(each), 1.f), to(from.size());
  auto const begin = clock_type::now();
  std::copy(from.begin(), from.end(), to.begin());
  auto const copy = seconds_since(begin) + (to[0] < 0 ? 1 : 0);
  row("a step without a checkpoint, mean", 1e3 * mean(usual), "ms");
  row("a checkpoint of " + std::to_string(static_cast<int>(bytes / 1e6)) + " MB, until its index is there", write, "s");
  row("a step meanwhile, mean", 1e3 * mean(during), "ms",
      ratio(mean(during) / mean(usual), "a usual step; to reach: 1.3"));
  auto const longest = *std::max_element(during.begin(), during.end());
  row("a step meanwhile, the longest", 1e3 * longest, "ms",
      ratio(longest / (copy + mean(usual)), "a copy and a usual step; to reach: 1"));
  row("memory of a ps task, the most", most / 1e6, "MB", ratio(most / before, "usual; to reach: 2"));
}

// ---------------------------------------------------------------------------------------------------------------------
// Lost processes

constexpr std::int64_t passes_for_ever = 1000000000;

/// A small network, trained in rounds.
struct model {
  rill::graph g{7};
  rill::expr<rill::of<float, "n", 64>> x = rill::placeholder<float, "n", 64>(g, "x");
  rill::expr<rill::of<float>> loss;
  rill::operation train;

  explicit model(std::int64_t workers) {
    auto const w = g.on("/job:ps", [&] { return rill::variable<float, 64, 128>(g, "w", rill::glorot()); });
    auto const v = g.on("/job:ps", [&] { return rill::variable<float, 128, 1>(g, "v", rill::glorot()); });
    loss = rill::mean(rill::square(rill::matmul(rill::relu(rill::matmul(x, w)), v) - 1.f));
    train = rill::synchronous(rill::adam{}, rill::replicas(workers)).minimize(loss);
  }
};

rill::tensor examples() {
  rill::tensor all(rill::dtype::float32, {960, 64});
  for (std::int64_t i = 0; i < all.elements(); ++i)
    all.mutable_data<float>()[i] = static_cast<float>(i * 7919 % 1000) / 1000;
  return all;
}

rill::training_result train(rill::target const& on, std::int64_t workers, std::string const& folder, std::int64_t steps,
                            bool tells) {
  model m(workers);
  rill::session s(m.g, on);
  rill::training_options o;
  o.directory = folder;
  o.save = {.steps = 0, .time = std::chrono::seconds(1)};
  o.steps = steps;
  o.log_every = {};
  o.log = [](std::string_view) {};
  rill::training_loop loop(s, o);
  if (tells)
    loop.every(1, [](rill::training_progress const& at) {
      std::printf("%lld %lld %lld\n", static_cast<long long>(at.steps), static_cast<long long>(at.rollbacks),
                  static_cast<long long>(clock_type::now().time_since_epoch().count()));
      std::fflush(stdout);
    });
  return loop.run(rill::inputs(m.x), m.loss, m.train,
                  rill::batches(std::tuple{examples()}, 32, rill::epochs(passes_for_ever), loop.share()));
}

int serve_or_train(std::string_view role, std::string const& folder, std::int64_t steps) {
  rill::server_options options;
  options.threads = 1;
  options.checkpoints = rill::checkpoint_folder(folder);
  options.net.report = [](std::string_view) {};
  rill::server here(rill::cluster::from_environment(), options);
  if (role == "ps") return here.join();
  return train(here.target(), static_cast<std::int64_t>(here.cluster().size("worker")), folder, steps, here.is_chief())
      .exit_code();
}

/// Returns when the chief ended the first step after another return to a checkpoint; `before`: how many there were.
clock_type::time_point next_step(child& chief, long long& before) {
  for (;;) {
    auto const line = chief.line();
    long long steps = 0, rollbacks = 0, at = 0;
    if (std::sscanf(line.c_str(), "%lld %lld %lld", &steps, &rollbacks, &at) != 3)
      throw std::runtime_error("the chief has ended");
    if (rollbacks <= before) continue;
    before = rollbacks;
    return clock_type::time_point(clock_type::duration(at));
  }
}

void kill_and_go_on() {
  cluster c(3);
  for (std::size_t i = 0; i < c.size(); ++i) c.start(i);
  auto const first = clock_type::now();
  c[2].line();
  row("from the start of all processes to the first step", seconds_since(first), "s");
  long long before = 0;
  for (auto const& [which, name] : {std::pair{std::size_t{1}, "a ps task"}, {std::size_t{4}, "a worker"}}) {
    std::vector<double> all;
    for (int i = 0; i < (briefly ? 1 : 7); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(briefly ? 200 : 1500));
      auto const begin = clock_type::now();
      c[which].kill();
      c.start(which);
      all.push_back(std::chrono::duration<double>(next_step(c[2], before) - begin).count());
    }
    std::sort(all.begin(), all.end());
    row(std::string("from a kill -9 of ") + name + " to the next step, median", all[all.size() / 2], "s",
        "the longest " + std::to_string(all.back()).substr(0, 5) + " s; to reach: 1 and its start");
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Ten minutes of kills

void survive_kills(double seconds) {
  std::int64_t const steps = static_cast<std::int64_t>(seconds * 500);
  cluster c(3);
  std::vector<std::string> const words{std::to_string(steps)};
  for (std::size_t i = 0; i < c.size(); ++i) c.start(i, words);
  std::int64_t repeated = 0, last = 0;
  std::atomic<bool> has_ended = false;
  std::thread reader([&, &chief = c[2]] {
    for (long long step = 0; std::sscanf(chief.line().c_str(), "%lld", &step) == 1;) {
      if (step <= last) repeated += last - step + 1;
      last = step;
      if (last == steps) has_ended = true;  // the last checkpoint is still to be written
    }
    has_ended = true;
  });
  // On this thread: a child ends with the thread that has started it.
  std::mt19937 random(std::random_device{}());
  int kills = 0;
  while (!has_ended) {
    for (int i = 0; i < 50 && !has_ended; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(briefly ? 30 : 100));
    auto const which = random() % c.size();
    if (has_ended || which == 2) continue;  // the chief's lines are read here
    c[which].kill();
    c.start(which, words);
    ++kills;
  }
  reader.join();
  row("kills of random processes but the chief", kills, "");
  row("steps", static_cast<double>(last), "", std::to_string(repeated) + " of them repeated");
  std::vector<std::jthread> threads;
  rill::local_cluster const alone({{"ps", 2}, {"worker", 3}});
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      train(alone.target("/job:worker/task:" + std::to_string(i)), 3, c.folder() + "/undisturbed", steps, false);
    });
  threads.clear();
  model one(3), other(3);
  rill::session a(one.g, {.soft_placement = true}), b(other.g, {.soft_placement = true});
  rill::saver(one.g, c.folder()).restore(a);
  rill::saver(other.g, c.folder() + "/undisturbed").restore(b);
  bool same = true;
  for (auto const* name : {"w", "v"}) same = same && rill::same_bits(a.run(name), b.run(name));
  row("the bits of a run that nobody disturbed", same ? 1 : 0, "", same ? "the same" : "OTHERS");
  if (!same) throw std::runtime_error("the bits differ");
}

}  // namespace

int main(int count, char** arguments) try {
  std::vector<std::string> const asked(arguments + 1, arguments + count);
  std::string const role = asked.empty() ? "" : asked[0];
  if (role == "ps" || role == "worker") {
    child::end_with_parent();
    return serve_or_train(role, asked.at(1), asked.size() > 2 ? std::stoll(asked[2]) : 0);
  }
  briefly = role == "briefly";
  if (role == "kills") {
    survive_kills(asked.size() > 1 ? std::stod(asked[1]) : 600);
    return 0;
  }
  checkpoint_while_training();
  kill_and_go_on();
  if (briefly) survive_kills(4);
} catch (std::exception const& e) {
  std::fprintf(stderr, "survive: %s\n", e.what());
  return 1;
}
