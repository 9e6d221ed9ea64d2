// Twelve ways in which a step of several tasks does not end by itself. Each is reported, or ends the step, with its
// cause. Ports that are taken and other tasks at an address: server.cpp.
#include "net/recipes.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/limit.hpp"
#include "base/sentence.hpp"
#include "net/proxy.hpp"
#include "run/late_at.hpp"

namespace rill {
namespace {

using namespace std::chrono_literals;
using test::process;
using test::recipe_options;
using test::report_box;
using test::served_cluster;
using test::two_processes;

// What a process of its own does.
TEST(served_process, DISABLED_runs) {
  test::allow(3600);  // the test that has started it ends it
  auto options = recipe_options();
  options.drain = 60s;  // however slow the machine is
  server s{cluster::from_environment(), options};
  test::status_writer const writes(s);
  s.join();
}

// Runs steps on the worker as the task that it is told to be, until it is refused; says then why.
TEST(claiming_process, DISABLED_runs) {
  test::allow(600);
  server s{cluster::from_environment(), recipe_options()};
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y = g.on("/job:worker", [&] { return x + 1.f; });
  session steps{g, s.target()};
  for (;;) try {
      steps.run({{x, 1.f}}, y);
    } catch (error const& e) {
      if (e.code() == code::unavailable) continue;  // its connection was closed, and it makes another
      std::string const file = std::getenv("RILL_TEST_FILE");
      std::ofstream(file + ".new") << e.what();
      return std::filesystem::rename(file + ".new", file);
    }
}

// Those of a process that gives another one up soon.
server_options impatient(report_box* reports = nullptr) {
  auto o = recipe_options(reports);
  o.net.connect_timeout = 5s;
  o.net.silence = 10s;
  return o;
}

void expect_words(std::string const& text, std::vector<std::string> const& words) {
  for (auto const& w : words) EXPECT_NE(text.find(w), std::string::npos) << "'" << w << "' is not in: " << text;
}

// Runs a step again and again while the process that it needs is not there.
template <class F> void until_it_is_there(F const& f) {
  for (;;) try {
      return f();
    } catch (error const& e) {
      ASSERT_EQ(e.code(), code::unavailable) << e.what();
      std::this_thread::sleep_for(20ms);
    }
}

// A step of which one half waits on ps at a queue, and the other on worker for what ps sends.
struct waiting_step {
  explicit waiting_step(graph& g)
      : q(fifo_queue<of<float>>(g, {.capacity = 2}, "q")),
        x(placeholder<float>(g, "x")),
        put(g.on("/job:ps", [&] { return q.enqueue(x); })),
        y(g.on("/job:worker", [&] { return g.on("/job:ps", [&] { return dequeue(q); }) + 1.f; })) {}
  queue<of<float>> q;
  expr<of<float>> x;
  operation put;
  expr<of<float>> y;
};

TEST(recipes, a_process_is_killed) {
  report_box reports;
  two_processes c(recipe_options(&reports));
  graph g;
  waiting_step const w(g);
  auto const sum = g.on("/job:ps", [&] {
    auto const sent = g.on("/job:worker", [&] { return w.x * 3.f; });
    return g.after({operation(value(sent))}, [&] { return dequeue(w.q); }) + sent;
  });
  session s{g, c.on()};
  s.run({{w.x, 1.f}}, w.put);
  EXPECT_EQ(float(s.run(w.y)), 2.f);
  auto text = std::async(std::launch::async, [&] { return sentence([&] { s.run({{w.x, 1.f}}, sum); }); });
  EXPECT_EQ(reports.missing({"waits for the queue 'q'"}), "");
  c.ps().end(SIGKILL);
  expect_words(text.get(), {"unavailable", "/job:ps/task:0", "closed by the other side"});
  EXPECT_EQ(reports.missing({"Its values", "before: /job:worker/task:0 sent edge", "bytes"}), "");
  c.start();
  until_it_is_there([&] { s.run({{w.x, 1.f}}, w.put); });
  EXPECT_EQ(float(s.run(w.y)), 2.f);
}

TEST(recipes, a_process_is_stopped_and_goes_on) {
  report_box reports;
  two_processes c(recipe_options(&reports));
  graph g;
  waiting_step const w(g);
  session s{g, c.on()};
  s.run({{w.x, 1.f}}, w.put);
  EXPECT_EQ(float(s.run(w.y)), 2.f);
  c.ps().stop();
  auto y = std::async(std::launch::async, [&] {
    s.run({{w.x, 2.f}}, w.put);
    return float(s.run(w.y));
  });
  auto const missing = reports.missing({"/job:ps/task:0", "is silent", "nothing was heard from it"});
  c.ps().go_on();
  EXPECT_EQ(missing, "");
  EXPECT_EQ(y.get(), 3.f);
}

TEST(recipes, a_process_that_is_stopped_for_long_is_replaced_and_harms_nobody_when_it_goes_on) {
  two_processes c(impatient(), true);
  test::proxy road(c.socket("proxy"), c.socket("ps"));
  graph g;
  auto const v = g.on("/job:ps", [&] { return variable<float>(g, "v", zeros()); });
  auto const step = g.on("/job:ps", [&] { return assign_add(v, constant(g, 1.f)); });
  session s{g, c.on()};
  s.run(initializer(g));
  EXPECT_EQ(float(s.run(step)), 1.f);
  c.ps().stop();
  expect_words(sentence([&] { s.run(step); }), {"unavailable", "/job:ps/task:0", "nothing was heard"});
  road.lead_to(c.socket("ps2"));
  auto const second = c.start_at("ps2");
  until_it_is_there([&] { s.run(initializer(g)); });
  c.ps().go_on();
  for (int i = 1; i < 20; ++i) {
    EXPECT_EQ(float(s.run(step)), static_cast<float>(i));
    std::this_thread::sleep_for(5ms);
  }
}

TEST(recipes, two_processes_say_that_they_are_one_task) {
  test::socket_folder folder;
  auto const file = [&](char const* name) { return folder.socket(name).substr(5); };
  server here{cluster::parse("worker=" + folder.socket("worker") + " ps=" + folder.socket("ps"), "worker:0"),
              recipe_options()};
  auto const claim = [&](char const* at, char const* says) {
    return std::make_unique<process>(
        "claiming_process.DISABLED_runs",
        std::map<std::string, std::string>{
            {"RILL_CLUSTER", "worker=" + folder.socket("worker") + " ps=" + folder.socket(at)},
            {"RILL_TASK", "ps:0"},
            {"RILL_TEST_FILE", file(says)}});
  };
  auto const wait_for_steps = [&] {
    for (auto const before = here.traffic().messages_received; here.traffic().messages_received < before + 100;)
      std::this_thread::sleep_for(5ms);
  };
  auto const first = claim("ps", "first");
  wait_for_steps();
  auto const second = claim("another", "second");  // at the same address it could not listen
  while (!std::filesystem::exists(file("first"))) std::this_thread::sleep_for(5ms);
  std::ifstream in(file("first"));
  expect_words({std::istreambuf_iterator<char>(in), {}},
               {"failed_precondition", "another process has become /job:ps/task:0", "one of the two has to end"});
  wait_for_steps();
  EXPECT_FALSE(std::filesystem::exists(file("second")));
}

TEST(recipes, a_connection_is_cut) {
  report_box reports;
  two_processes c(recipe_options(&reports), true);
  test::proxy road(c.socket("proxy"), c.socket("ps"));
  graph g;
  waiting_step const w(g);
  session s{g, c.on()};
  s.run({{w.x, 1.f}}, w.put);
  EXPECT_EQ(float(s.run(w.y)), 2.f);
  auto text = std::async(std::launch::async, [&] { return sentence([&] { s.run(w.y); }); });
  EXPECT_EQ(reports.missing({"waits for the queue 'q'"}), "");
  road.cut();
  expect_words(text.get(), {"unavailable", "/job:ps/task:0", "closed by the other side"});
  s.run({{w.x, 1.f}}, w.put);
  EXPECT_EQ(float(s.run(w.y)), 2.f);
}

TEST(recipes, a_connection_falls_silent) {
  report_box reports;
  two_processes c(impatient(&reports), true);
  test::proxy road(c.socket("proxy"), c.socket("ps"));
  graph g;
  waiting_step const w(g);
  session s{g, c.on()};
  s.run({{w.x, 1.f}}, w.put);
  EXPECT_EQ(float(s.run(w.y)), 2.f);
  road.stall();
  expect_words(sentence([&] { s.run(w.y); }), {"unavailable", "/job:ps/task:0", "nothing was heard for 10000 ms"});
  EXPECT_EQ(reports.missing({"/job:ps/task:0", "is silent"}), "");
  road.stall(false);
  s.run({{w.x, 1.f}}, w.put);
  EXPECT_EQ(float(s.run(w.y)), 2.f);
}

TEST(recipes, a_process_exits_in_a_step) {
  two_processes c(recipe_options());
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y = g.on("/job:ps", [&] { return test::misbehave(test::exits_op, x); });
  session s{g, c.on()};
  expect_words(sentence([&] { s.run({{x, 1.f}}, y); }), {"unavailable", "/job:ps/task:0"});
  EXPECT_EQ(WEXITSTATUS(c.ps().wait()), 3);
}

TEST(recipes, a_process_is_told_to_end_in_a_step) {
  report_box reports;
  two_processes c(recipe_options(&reports));
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const many = placeholder<float, unknown>(g, "many");
  auto const late = g.on("/job:worker", [&] { return test::misbehave(test::stuck_op, x); });
  auto const y = g.on("/job:ps", [&] { return many + late; });
  auto const other = g.on("/job:ps", [&] { return x * 3.f; });
  session s{g, c.on()};
  EXPECT_EQ(float(s.run({{x, 2.f}}, other)), 6.f);
  auto const fed = tensor::adopt(std::vector<float>(1000000, 1.f), shape{1000000});
  test::is_stuck = true;
  auto running = std::async(std::launch::async, [&] { return s.run({{x, 2.f}, {many, fed}}, y); });
  auto const missing = reports.missing({"waits for a value of /job:worker/task:0"});  // so ps runs its share
  ::kill(c.ps().id(), SIGTERM);
  std::string refused;
  while (refused.empty()) refused = sentence([&] { s.run({{x, 2.f}}, other); });
  test::is_stuck = false;
  EXPECT_EQ(missing, "");
  expect_words(refused, {"unavailable", "the task /job:ps/task:0 is about to end"});
  auto const all = running.get();
  EXPECT_EQ(all.values()[0], 3.f);
  EXPECT_EQ(all.values()[999999], 3.f);
  auto const status = c.ps().wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(recipes, a_kernel_never_returns) {
  report_box reports;
  auto options = recipe_options(&reports);
  options.threads = 16;  // a run that is given up keeps one
  options.net.stop_timeout = 300ms;
  served_cluster c({{"worker", 1}, {"ps", 1}}, options);
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const there = g.on("/job:ps", [&] { return test::misbehave(test::stuck_op, x); });
  auto const y = g.on("/job:worker", [&] { return there + 1.f; });
  session s{g, c[0].target()};
  test::is_stuck = true;
  std::stop_source stop;
  auto text = std::async(std::launch::async, [&] { return sentence([&] { s.run({{x, 1.f}}, y, stop.get_token()); }); });
  auto const missing = reports.missing({"/job:ps/task:0", "runs 'stuck", "waits for a value of /job:ps/task:0"});
  auto const status = c[1].status();
  stop.request_stop();
  expect_words(text.get(), {"cancelled"});
  auto const alone = test::late_at("runs 'stuck", [&](timeout time) { s.run({{x, 1.f}}, there, time); });
  test::is_stuck = false;
  expect_words(alone, {"deadline", "/job:ps/task:0", "has not ended its share", "runs 'stuck"});
  EXPECT_EQ(missing, "");
  expect_words(status, {"of /job:worker/task:0", "runs 'stuck"});
  EXPECT_EQ(float(s.run({{x, 1.f}}, y)), 2.f);
}

TEST(recipes, nobody_fills_a_queue) {
  report_box reports;
  served_cluster c({{"worker", 1}, {"ps", 1}}, recipe_options(&reports));
  graph g;
  waiting_step const w(g);
  session s{g, c[0].target()};
  auto y = std::async(std::launch::async, [&] { return float(s.run(w.y)); });
  EXPECT_EQ(reports.missing({"/job:ps/task:0", "waits for the queue 'q', which has 0 elements",
                             "waits for a value of /job:ps/task:0 (edge"}),
            "");
  s.run({{w.x, 1.f}}, w.put);
  EXPECT_EQ(y.get(), 2.f);
}

TEST(recipes, nobody_releases_a_mutex) {
  report_box reports;
  served_cluster c({{"worker", 1}, {"ps", 1}}, recipe_options(&reports));
  graph g;
  waiting_step const w(g);
  auto const m = mutex(g, "m");
  auto const held = g.on("/job:ps", [&] { return g.after({m.acquire()}, [&] { return dequeue(w.q); }); });
  auto const taken = g.on("/job:ps", [&] { return m.locked([&] { return constant(g, 1.f) + 1.f; }); });
  session first{g, c[0].target()}, second{g, connect(c.address(1), recipe_options(&reports).net)};
  auto a = std::async(std::launch::async, [&] { return float(first.run(held)); });
  EXPECT_EQ(reports.missing({"waits for the queue 'q'"}), "");  // so it holds the mutex
  auto b = std::async(std::launch::async, [&] { return float(second.run(taken)); });
  EXPECT_EQ(reports.missing({"waits for the mutex 'm', which '", "of /job:worker/task:0 holds"}), "");
  first.run({{w.x, 1.f}}, w.put);
  EXPECT_EQ(a.get(), 1.f);
  EXPECT_EQ(b.get(), 2.f);
}

TEST(recipes, two_clients_wait_for_each_other) {
  report_box reports;
  std::stop_source stop;
  served_cluster c({{"ps", 1}}, recipe_options(&reports));
  auto const run = [&](char const* first, char const* second) {
    graph g;
    auto const one = mutex(g, first).acquire();
    auto const both = g.after({one}, [&] { return arrive(g, "both", 2); });
    auto const other = g.after({both}, [&] { return mutex(g, second).acquire(); });
    session s{g, connect(c.address(0), recipe_options(&reports).net)};
    return sentence([&] { s.run(other, stop.get_token()); });
  };
  auto a = std::async(std::launch::async, run, "m", "n"), b = std::async(std::launch::async, run, "n", "m");
  EXPECT_EQ(reports.missing({"waits for the mutex 'm', which '", "waits for the mutex 'n', which '", "of a client"}),
            "");
  stop.request_stop();
  auto const texts = a.get() + b.get();
  EXPECT_NE(texts.find("cancelled"), std::string::npos) << texts;
}

TEST(recipes, one_task_has_another_graph) {
  served_cluster c({{"worker", 2}, {"ps", 1}}, recipe_options());
  graph g, other;
  auto const v = g.on("/job:ps", [&] { return variable<float, 2>(g, "v", zeros()); });
  auto const w = other.on("/job:ps", [&] { return variable<float, 3>(other, "v", zeros()); });
  session s{g, c[0].target()}, t{other, c[1].target()};
  s.run(initializer(g));
  expect_words(sentence([&] { t.run(w + 1.f); }), {"'v'", "/job:ps/task:0"});
  EXPECT_TRUE(same_bits(s.run(v + 1.f), vector<float>({1, 1})));
}

}  // namespace
}  // namespace rill
