// Training loops of processes that are killed, and started again as a launcher would.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/limit.hpp"
#include "io/scratch.hpp"
#include "net/processes.hpp"
#include "net/served.hpp"
#include "rill/io.hpp"
#include "rill/net.hpp"
#include "train/loops.hpp"

namespace rill {
namespace {

using namespace std::chrono_literals;
using namespace test::loops;
using test::process;

int kills() {
  auto const* const text = std::getenv("RILL_KILL_ROUNDS");
  return text ? std::atoi(text) : 6;
}
// Each epoch has three steps, and each fifth epoch ends with a checkpoint.
std::int64_t passes() { return 5 * (kills() + 3); }

std::string from_environment(char const* name) {
  auto const* const text = std::getenv(name);
  return text ? text : "";
}

// A process of the cluster. A worker writes why its training has ended.
TEST(training_process, DISABLED_runs) {
  test::allow(3600);
  auto net = test::quick();
  if (auto const text = from_environment("RILL_TEST_SILENCE"); !text.empty())
    net.silence = std::chrono::milliseconds(std::stoi(text));
  server here(cluster::parse(from_environment("RILL_TEST_CLUSTER"), from_environment("RILL_TEST_TASK")),
              test::served_cluster::with(net));
  if (here.task().job == "ps") {
    here.join();
    return;
  }
  trainer t(here.target(), from_environment("RILL_TEST_MINIMIZE") == "rounds" ? in_rounds : alone);
  auto o = quiet(from_environment("RILL_TEST_FOLDER"));
  o.log = {};
  o.stop_on_signals = true;
  o.save = {.steps = 15, .time = {}};
  auto const bad = from_environment("RILL_TEST_NAN") == from_environment("RILL_TEST_TASK");
  auto const stops = !from_environment("RILL_TEST_STOPS").empty();
  try {
    training_loop loop(t.s, o);
    auto images = test::digits(examples, 8);
    if (bad) std::fill_n(images.mutable_data<float>(), images.elements(), std::nanf(""));
    auto const result = loop.run(inputs(t.n.x, t.n.label), t.n.loss, t.train,
                                 batches(std::tuple{images, test::digits(examples, 2)}, 5,
                                         epochs(stops ? 1000000 : passes()), loop.share({.seed = 3})));
    if (stops) {
      EXPECT_EQ(result.exit_code(), 75);
      return;
    }
    EXPECT_TRUE(from_environment("RILL_TEST_NAN").empty()) << "nothing was thrown";
    EXPECT_TRUE(result.finished);
    EXPECT_EQ(result.steps, 3 * passes());
  } catch (error const& e) {
    std::string const text = e.what();
    EXPECT_NE(text.find("the loss of step 1 of /job:worker/task:1 is nan"), text.npos) << text;
    EXPECT_FALSE(from_environment("RILL_TEST_NAN").empty()) << text;
  }
}

// Two ps tasks and three workers in processes of their own.
class training_processes {
 public:
  explicit training_processes(char const* minimize, std::map<std::string, std::string> with = {})
      : with_(std::move(with)) {
    with_["RILL_TEST_MINIMIZE"] = minimize;
    for (std::size_t i = 0; i < 5; ++i) start(i);
  }
  void start(std::size_t i) {
    auto with = with_;
    with.insert({{"RILL_TEST_CLUSTER", jobs_}, {"RILL_TEST_TASK", names_[i]}, {"RILL_TEST_FOLDER", checkpoints()}});
    all_[i] = std::make_unique<process>("training_process.DISABLED_runs", with);
  }
  void kill(std::size_t i) {
    all_[i]->end(SIGKILL);
    start(i);
  }
  process& operator[](std::size_t i) { return *all_[i]; }
  std::string checkpoints() const { return (place_ / "run").string(); }
  /// Waits until checkpoint `number` has been written.
  void wait_for_checkpoint(std::int64_t number) const {
    for (int i = 0; i < 6000; ++i) {
      auto const all = rill::detail::numbered_checkpoints(checkpoints(), "checkpoint");
      if (!all.empty() && all.back().number >= number) return;
      std::this_thread::sleep_for(10ms);
    }
    ADD_FAILURE() << "checkpoint " << number << " was not written within a minute";
  }
  /// Waits until all workers have ended, each without an error.
  void wait() {
    for (std::size_t i = 2; i < 5; ++i) EXPECT_EQ(all_[i]->wait(), 0) << names_[i];
    for (std::size_t i = 0; i < 2; ++i) all_[i]->end(SIGTERM);
  }

 private:
  static constexpr char const* names_[] = {"ps:0", "ps:1", "worker:0", "worker:1", "worker:2"};
  scratch place_;
  test::socket_folder sockets_;
  std::map<std::string, std::string> with_;
  std::string jobs_ = "ps=" + sockets_.socket("p0") + "," + sockets_.socket("p1") + " worker=" + sockets_.socket("w0") +
                      "," + sockets_.socket("w1") + "," + sockets_.socket("w2");
  std::unique_ptr<process> all_[5];
};

// Trains with nobody killed, in one process.
std::vector<tensor> undisturbed(std::filesystem::path const& folder) {
  local_cluster const all({{"ps", 2}, {"worker", 3}}, [](device_name const&) { return task_options{.threads = 1}; });
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      trainer t(all.target("/job:worker/task:" + std::to_string(i)), in_rounds);
      EXPECT_TRUE(t.run(quiet(folder), passes()).finished);
    });
  threads.clear();
  trainer t(all.target(), in_rounds);
  return t.n.variables(t.s);
}

TEST(training_loop, in_rounds_survives_the_kill_of_any_process_with_the_same_bits) {
  test::allow(600);
  scratch place;
  auto const expected = undisturbed(place / "undisturbed");
  training_processes all("rounds");
  std::mt19937 random(std::random_device{}());
  for (int i = 0; i < kills(); ++i) {
    all.wait_for_checkpoint(i + 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 50));
    all.kill(i < 5 ? static_cast<std::size_t>(i + 2) % 5 : random() % 5);  // the chief is the first
  }
  all.wait();
  trainer t;
  auto const last = saver(t.n.g, all.checkpoints()).restore(t.s);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->trained, 3 * passes());
  expect_same(t.n.variables(t.s), expected);
}

TEST(training_loop, a_worker_that_stands_still_harms_nobody_when_it_goes_on) {
  test::allow(600);
  scratch place;
  auto const expected = undisturbed(place / "undisturbed");
  training_processes all("rounds", {{"RILL_TEST_SILENCE", "1500"}});
  std::int64_t number = 0;
  for (auto const which : {std::size_t{3}, std::size_t{4}, std::size_t{2}}) {
    all.wait_for_checkpoint(++number);
    all[which].stop();
    std::this_thread::sleep_for(2500ms);  // the others have noticed, and gather for another generation
    all[which].go_on();
  }
  all.wait();
  trainer t;
  ASSERT_TRUE(saver(t.n.g, all.checkpoints()).restore(t.s));
  expect_same(t.n.variables(t.s), expected);
}

TEST(training_loop, ends_in_all_processes_with_the_error_of_one) {
  test::allow(600);
  training_processes all("rounds", {{"RILL_TEST_NAN", "worker:1"}});
  all.wait();
}

TEST(training_loop, ends_well_when_all_processes_are_told_to_end) {
  test::allow(600);
  training_processes all("rounds", {{"RILL_TEST_STOPS", "yes"}});
  all.wait_for_checkpoint(3);
  for (std::size_t i = 0; i < 5; ++i) ::kill(all[i].id(), SIGTERM);
  all.wait();
}

TEST(training_loop, of_asynchronous_workers_survives_kills) {
  test::allow(600);
  training_processes all("alone");
  int number = 0;
  for (auto const which : {std::size_t{3}, std::size_t{0}, std::size_t{2}}) {
    all.wait_for_checkpoint(++number);
    all.kill(which);
  }
  all.wait();
}

}  // namespace
}  // namespace rill
