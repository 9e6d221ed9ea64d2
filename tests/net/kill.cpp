// Processes of a cluster, and clients, are killed at random moments while steps run. RILL_KILL_ROUNDS says how often,
// and RILL_SOAK_MINUTES for how long steps run while memory and files are watched.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/limit.hpp"
#include "base/sentence.hpp"
#include "net/recipes.hpp"

namespace rill {
namespace {

using namespace std::chrono_literals;
using test::process;

int number_from(char const* variable, int otherwise) {
  auto const* const text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

std::size_t files_of(std::string const& id) {
  std::size_t n = 0;
  for (auto const& each : std::filesystem::directory_iterator("/proc/" + id + "/fd")) n += !each.path().empty();
  return n;
}
// The same, once it is at most `most`: a process closes some a little later.
std::size_t settled_files_of(std::string const& id, std::size_t most) {
  auto n = files_of(id);
  for (int i = 0; i < 3000 && n > most; ++i) std::this_thread::sleep_for(10ms), n = files_of(id);
  return n;
}
// A sanitizer keeps freed memory back, so that a process grows for a while.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool memory_is_counted = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool memory_is_counted = false;
#else
constexpr bool memory_is_counted = true;
#endif
#else
constexpr bool memory_is_counted = true;
#endif

// In KiB.
std::size_t memory_of(std::string const& id) {
  std::ifstream in("/proc/" + id + "/statm");
  std::size_t all = 0, resident = 0;
  in >> all >> resident;
  return resident * 4;
}

// What is trained: by the test, and by a client in a process of its own.
struct trained {
  explicit trained(graph& g) {
    auto const on = [&](char const* task, auto const& f) { return g.on(task, f); };
    v = on("/job:ps/task:0", [&] { return variable<float, 1000>(g, "v", zeros()); });
    w = on("/job:ps/task:1", [&] { return variable<float, 1000>(g, "w", zeros()); });
    auto const taken = on("/job:ps/task:1", [&] { return variable<std::int32_t>(g, "steps of the client", zeros()); });
    x = placeholder<float, 1000>(g, "x");
    auto const sum = on("/job:worker/task:1", [&] { return v + w + x; });
    train = group(g, {on("/job:ps/task:0", [&] { return operation(value(assign_add(v, sum * 0.5f))); }),
                      on("/job:ps/task:1", [&] { return operation(value(assign_add(w, sum * 0.25f))); })});
    steps = taken;
    counted = group(g, {train, operation(value(assign_add(taken, constant(g, 1))))});
    stateless = on("/job:worker/task:1", [&] {
      return on("/job:ps/task:0", [&] { return x * 2.f; }) + on("/job:ps/task:1", [&] { return x * 3.f; });
    });
    // A step that waits on all tasks: ps:0 at a queue, the others for what it sends.
    auto const q = fifo_queue<of<float>>(g, {.capacity = 1}, "never filled");
    auto const never = on("/job:ps/task:0", [&] { return dequeue(q); });
    waits = on("/job:worker/task:1", [&] { return on("/job:ps/task:1", [&] { return never * 2.f; }) + never; });
  }
  variable_expr<of<float, 1000>> v, w;
  expr<of<float, 1000>> x, stateless;
  expr<of<std::int32_t>> steps;
  operation train, counted;
  expr<of<float>> waits;
  tensor_of<of<float, 1000>> const fed{tensor::adopt(std::vector<float>(1000, 1.f), shape{1000})};
};

// What a client does in a process of its own, until it is killed.
TEST(client_process, DISABLED_trains) {
  test::allow(3600);
  graph g;
  trained const t(g);
  session s{g, connect(std::getenv("RILL_TEST_ADDRESS"), test::quick())};
  for (;;) s.run({{t.x, t.fed}}, t.counted);
}
TEST(client_process, DISABLED_waits) {
  test::allow(3600);
  graph g;
  trained const t(g);
  session s{g, connect(std::getenv("RILL_TEST_ADDRESS"), test::quick())};
  s.run(t.waits);
}

// Two ps and a worker in processes of their own; the sessions are here.
class killed : public testing::Test {
 public:
  static constexpr char const* names[] = {"ps:0", "ps:1", "worker:1"};
  static constexpr char const* tasks[] = {"/job:ps/task:0", "/job:ps/task:1", "/job:worker/task:1"};

  void start(std::size_t i) {
    status[i] = folder.socket("status" + std::to_string(started++)).substr(5);
    all[i] = std::make_unique<process>(
        "served_process.DISABLED_runs",
        std::map<std::string, std::string>{
            {"RILL_CLUSTER", jobs}, {"RILL_TASK", names[i]}, {"RILL_STATUS_FILE", status[i]}});
  }
  std::unique_ptr<process> client(char const* does) {
    return std::make_unique<process>(std::string("client_process.DISABLED_") + does,
                                     std::map<std::string, std::string>{{"RILL_TEST_ADDRESS", folder.socket("p0")}});
  }
  // Runs a step until its processes are there. Fails if it fails with something else than their absence.
  template <class F> void when_there(F const& f) {
    for (;;) try {
        return f();
      } catch (error const& e) {
        ASSERT_EQ(e.code(), code::unavailable) << e.what();
        ASSERT_EQ(e.cause(), cause::lost) << e.what();
        std::this_thread::sleep_for(10ms);
      }
  }
  // No process has anything left of a step.
  void expect_no_steps() {
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(test::status_in(status[i], [](auto const& text) { return text.empty(); }), "") << names[i];
    for (int i = 0; i < 3000 && !here.status().empty(); ++i) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(here.status(), "");
  }

  test::socket_folder folder;
  std::string jobs = "ps=" + folder.socket("p0") + "," + folder.socket("p1") + " worker=" + folder.socket("w0") + "," +
                     folder.socket("w1");
  int started = 0;
  std::string status[3];  // files that say what each process does
  std::unique_ptr<process> all[3];
  server here{cluster::parse(jobs, "worker:0"), test::recipe_options()};
};

// What a process has when nothing runs.
struct footprint {
  int rounds = 0;  // that it has lived through
  std::size_t files = 0, memory = 0;
};
// The process has lived through a round more: it must not have grown since the second one, when all its connections
// had been made.
void expect_no_growth(footprint& of, std::string const& id, char const* name) {
  constexpr std::size_t few = 3;  // connections that another order of events needs
  if (++of.rounds == 2) of.files = files_of(id) + few, of.memory = memory_of(id) + 16384;
  if (of.rounds <= 2) return;
  EXPECT_LE(settled_files_of(id, of.files), of.files) << name << " after " << of.rounds << " rounds";
  if (memory_is_counted) {
    EXPECT_LE(memory_of(id), of.memory) << name << " after " << of.rounds << " rounds";
  }
}

TEST_F(killed, processes_fail_their_steps_and_leave_nothing) {
  auto const rounds = number_from("RILL_KILL_ROUNDS", 6);
  test::allow(static_cast<unsigned>(60 + 30 * rounds));
  for (std::size_t i = 0; i < 3; ++i) start(i);
  graph g;
  trained const t(g);
  auto const first_values = initializer(g);
  session s{g, here.target()};
  when_there([&] { s.run(first_values); });
  auto const train = [&] { s.run({{t.x, t.fed}}, t.train); };
  std::mt19937 draw(7);
  std::size_t files = 0, memory = 0;
  footprint grown[3];
  std::chrono::duration<double> longest{};
  for (int round = 0; round < rounds; ++round) {
    if (round == 3) files = files_of("self"), memory = memory_of("self");
    auto const victim = std::uniform_int_distribution<std::size_t>(0, 3)(draw);
    auto const after = std::chrono::microseconds(std::uniform_int_distribution<int>(0, 30000)(draw));
    if (victim == 3) {  // a master: its steps end, and no others
      auto const trains = client("trains");
      auto const before = std::int32_t(s.run(t.steps));
      while (std::int32_t(s.run(t.steps)) == before) train();
      std::this_thread::sleep_for(after);
      trains->end(SIGKILL);
      train();
    } else {
      std::atomic<std::chrono::steady_clock::time_point> killed_at{};
      std::thread kills([&] {
        std::this_thread::sleep_for(after);
        killed_at = std::chrono::steady_clock::now();
        all[victim]->end(SIGKILL);
      });
      failure why;
      while (!why) try {
          train();
        } catch (...) {
          why = caught_failure();
        }
      longest = std::max<std::chrono::duration<double>>(longest, std::chrono::steady_clock::now() - killed_at.load());
      kills.join();
      EXPECT_EQ(why->code(), code::unavailable) << why->what();
      EXPECT_EQ(why->cause(), cause::lost) << why->what();
      EXPECT_NE(std::string(why->what()).find(tasks[victim]), std::string::npos) << why->what();
      grown[victim] = {};
      start(victim);
      when_there([&] { EXPECT_EQ(s.run({{t.x, t.fed}}, t.stateless).values()[999], 5.f); });
      if (victim < 2) {
        auto const text = sentence(train);
        EXPECT_NE(text.find("failed_precondition"), std::string::npos) << text;
        EXPECT_NE(text.find(victim == 0 ? "'v'" : "'w'"), std::string::npos) << text;
        s.run(first_values);
      }
    }
    train();
    s.run({{t.x, t.fed}}, t.stateless);
    expect_no_steps();
    for (std::size_t i = 0; i < 3; ++i) expect_no_growth(grown[i], std::to_string(all[i]->id()), names[i]);
  }
  // What is promised of a process that is killed is that its connections are closed; at the latest it ends by these.
  auto const net = test::recipe_options().net;
  EXPECT_LT(longest, net.silence + net.stop_timeout);
  if (rounds <= 3) return;
  EXPECT_LE(settled_files_of("self", files), files);
  if (memory_is_counted) {
    EXPECT_LE(memory_of("self"), memory + 16384);
  }
  std::printf(
      "%d killed; a step ended after %.1f ms at the most; %zu files, as after 3 rounds %zu; %zu KiB, then %zu\n",
      rounds, longest.count() * 1e3, files_of("self"), files, memory_of("self"), memory);
}

TEST_F(killed, a_client_that_dies_in_a_step_leaves_nothing_on_the_servers) {
  for (std::size_t i = 0; i < 3; ++i) start(i);
  graph g;
  trained const t(g);
  session s{g, here.target()};
  when_there([&] { s.run(initializer(g)); });
  auto const dies = client("waits");
  auto const waits = [](auto const& text) { return text.find("of a client") != std::string::npos; };
  for (auto const& file : status) EXPECT_PRED1(waits, test::status_in(file, waits));
  s.run({{t.x, t.fed}}, t.train);
  dies->end(SIGKILL);
  expect_no_steps();
  s.run({{t.x, t.fed}}, t.train);
}

TEST_F(killed, nothing_grows_while_steps_run) {
  auto const minutes = number_from("RILL_SOAK_MINUTES", 0);
  test::allow(static_cast<unsigned>(180 + 60 * minutes));
  for (std::size_t i = 0; i < 3; ++i) start(i);
  graph g;
  auto const x = placeholder<float, 30000>(g, "x");  // too large to be pushed
  auto const v = g.on("/job:ps/task:0", [&] { return variable<float, 30000>(g, "v", zeros()); });
  auto const far = g.on("/job:worker/task:1", [&] { return mean(v + x); });
  auto const step =
      g.on("/job:ps/task:0", [&] { return assign(v, g.on("/job:ps/task:1", [&] { return x * 0.5f + far; })); });
  auto const fed = tensor_of<of<float, 30000>>(tensor::adopt(std::vector<float>(30000, 1.f), shape{30000}));
  auto const first_values = initializer(g);
  session s{g, here.target()};
  when_there([&] { s.run(first_values); });
  auto const ids = std::vector<std::string>{"self", std::to_string(all[0]->id()), std::to_string(all[1]->id()),
                                            std::to_string(all[2]->id())};
  auto const steps_for = [&](std::chrono::steady_clock::duration time) {
    auto const end = std::chrono::steady_clock::now() + time;
    std::size_t n = 0;
    for (; std::chrono::steady_clock::now() < end || n < 500; ++n) s.run({{x, fed}}, operation(value(step)));
    return n;
  };
  steps_for(minutes > 0 ? 20s : 0s);
  std::vector<std::size_t> files, memory;
  for (auto const& id : ids) files.push_back(files_of(id)), memory.push_back(memory_of(id));
  auto const n = steps_for(std::chrono::minutes(minutes));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_LE(settled_files_of(ids[i], files[i]), files[i]) << i;
    if (memory_is_counted) {
      EXPECT_LE(memory_of(ids[i]), memory[i] + 16384) << i;
    }
    if (minutes > 0)
      std::printf("process %zu after %zu steps: %zu files, at first %zu; %zu KiB, at first %zu\n", i, n,
                  files_of(ids[i]), files[i], memory_of(ids[i]), memory[i]);
  }
}

}  // namespace
}  // namespace rill
