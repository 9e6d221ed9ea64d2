#include "rill/net/monitor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace rill::net {
namespace {

using namespace std::chrono_literals;

class monitors : public testing::Test {
 public:
  ~monitors() override {
    io.stop();
    thread.join();
  }
  monitor::asked_place ask(std::uint64_t number, std::string task = "/job:ps/task:0") {
    return m.add({.id = {7, number}, .step = number, .task = std::move(task), .silence = {}});
  }
  // Waits until a report has all these words, and returns it. Calls `again` meanwhile, for what a task has said is
  // reported only for a short time.
  std::string report_with(std::vector<std::string> const& words, std::function<void()> const& again) {
    std::string all;
    auto const until = std::chrono::steady_clock::now() + 60s;
    do {
      again();
      std::unique_lock lock(mutex);
      changed.wait_for(lock, 5ms);
      all.clear();
      for (auto const& text : reports) {
        if (std::ranges::all_of(words, [&](auto const& w) { return text.find(w) != std::string::npos; })) return text;
        all += text + "\n";
      }
    } while (std::chrono::steady_clock::now() < until);
    ADD_FAILURE() << "was not reported; reported was: " << all;
    return all;
  }

  net_options const options{.heartbeat = 10ms, .report_after = 40ms};
  asio::io_context io;
  asio::executor_work_guard<asio::io_context::executor_type> guard = asio::make_work_guard(io);
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> reports;
  monitor m{io, options, [this](std::string text) {
              std::lock_guard lock(mutex);
              reports.push_back(std::move(text));
              changed.notify_all();
            }};
  std::thread thread{[this] { io.run(); }};
};

TEST_F(monitors, report_a_step_with_what_each_of_its_tasks_says) {
  auto const one = ask(1), other = ask(1, "/job:worker/task:1");
  auto const text = report_with({"runs 'slow'", "'receive slow' waits"}, [&] {
    m.take(one, {{"runs 'slow'", 50ms}});
    m.take(other, {{"'receive slow' waits", 50ms}});
  });
  EXPECT_NE(text.find("step 1 of this process, for "), std::string::npos) << text;
  EXPECT_NE(text.find("/job:ps/task:0 runs 'slow', for "), std::string::npos) << text;
  EXPECT_NE(text.find("/job:worker/task:1 'receive slow' waits, for "), std::string::npos) << text;
  EXPECT_NE(m.last_words(one).find("runs 'slow'"), std::string::npos);
  EXPECT_NE(m.text().find("step 1 of this process"), std::string::npos);
  m.remove(one);
  m.remove(other);
  EXPECT_EQ(m.text(), "");
}

TEST_F(monitors, report_what_lasts_in_step_after_step_once) {
  for (std::uint64_t step = 1; step <= 3; ++step) {
    auto const at = ask(step);
    auto const says = [&] { m.take(at, {{"runs 'slow'", 50ms}}); };
    if (step == 1) report_with({"step 1 of this process", "runs 'slow'"}, says);
    else says(), std::this_thread::sleep_for(150ms);  // it could be reported
    m.remove(at);
  }
  auto const at = ask(4);
  report_with({"step 4 of this process", "runs 'another'"}, [&] { m.take(at, {{"runs 'another'", 50ms}}); });
  m.remove(at);
  std::lock_guard lock(mutex);
  for (auto const& text : reports)
    for (auto const* step : {"step 2 ", "step 3 "}) EXPECT_EQ(text.find(step), std::string::npos) << text;
}

TEST_F(monitors, tell_the_master_what_lasts_here) {
  std::mutex told_mutex;
  std::string told;
  auto const at = m.add({.step = "step 3 of a client",
                         .sample = [](auto, auto) { return std::vector<lasting>{{"runs 'slow'", 50ms}}; },
                         .tell =
                             [&](std::vector<lasting> all) {
                               std::lock_guard lock(told_mutex);
                               told = all.at(0).what;
                             }});
  for (int i = 0; i < 6000; ++i) {
    std::this_thread::sleep_for(10ms);
    std::lock_guard lock(told_mutex);
    if (!told.empty()) break;
  }
  EXPECT_NE(m.text().find("step 3 of a client, for "), std::string::npos) << m.text();
  m.remove(at);
  EXPECT_EQ(told, "runs 'slow'");
}

TEST_F(monitors, gather_what_moved_in_a_step_that_a_connection_has_failed) {
  m.fail_on_wire({7, 1}, 5, failed(code::unavailable, "it is gone"));
  EXPECT_FALSE(m.gather({7, 2}));
  asio::post(io, [&] {  // which reports half a second later
    auto const all = m.gather({7, 1});
    ASSERT_TRUE(all);
    all->add("/job:ps/task:0", {{.at = monitor::clock::now(), .key = {3, 0}, .bytes = 4}});
  });
  auto const text = report_with({"step 5 of this process"}, [] {});
  EXPECT_NE(text.find("step 5 of this process failed: it is gone"), std::string::npos) << text;
  EXPECT_NE(text.find("/job:ps/task:0 sent edge 3 (path 0), 4 bytes"), std::string::npos) << text;
}

}  // namespace
}  // namespace rill::net
