// Checkpoints of sessions on tasks.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/sentence.hpp"
#include "io/scratch.hpp"
#include "rill/io.hpp"
#include "rill/rill.hpp"
#include "train/single_steps.hpp"

namespace rill {
namespace {

using test::expect_same;
using test::trainer;

local_cluster cluster_of(int parameter_servers, std::shared_ptr<shard_store> const& checkpoints = {}) {
  return local_cluster({{"ps", static_cast<std::uint32_t>(parameter_servers)}, {"worker", 1}},
                       [=](device_name const&) { return task_options{.threads = 1, .checkpoints = checkpoints}; });
}

TEST(saver_on_tasks, goes_on_with_the_bits_of_a_run_that_never_stopped) {
  scratch place;
  auto const one = cluster_of(2), other = cluster_of(3), third = cluster_of(2);
  trainer a(one.target()), undisturbed(third.target());
  a.s.run(initializer(a.n.g)), undisturbed.s.run(initializer(undisturbed.n.g));
  a.run(0, 3), undisturbed.run(0, 3);
  auto const saved = saver(a.n.g, place / "run", {.shard_bytes = 200}).save(a.s, {1, 32});
  trainer b(other.target());  // tasks without values, one more than before
  auto const found = saver(b.n.g, place / "run").restore(b.s);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->position, (batch_position{1, 32}));
  EXPECT_EQ(b.s.draws(), a.s.draws());
  expect_same(b.run(3, 6), undisturbed.run(3, 6));
  expect_same(b.n.variables(b.s), undisturbed.n.variables(undisturbed.s));
}

TEST(saver_on_tasks, restores_into_one_process_and_from_one) {
  scratch place;
  auto const tasks = cluster_of(2);
  trainer a(tasks.target()), b;
  a.s.run(initializer(a.n.g));
  a.run(0, 3);
  saver on_tasks(a.n.g, place / "run"), here(b.n.g, place / "run");
  on_tasks.save(a.s);
  ASSERT_TRUE(here.restore(b.s));
  expect_same(a.run(3, 5), b.run(3, 5));
  here.save(b.s);
  a.run(5, 7);
  ASSERT_TRUE(on_tasks.restore(a.s));
  expect_same(a.run(5, 6), b.run(5, 6));
  expect_same(a.n.variables(a.s), b.n.variables(b.s));
}

TEST(saver_on_tasks, restores_variables_that_begin_with_one_value) {
  scratch place;
  auto const tasks = cluster_of(2);
  graph g;
  auto const first = constant(g, vector<float>({1, 2}));
  auto const a = g.on("/job:ps/task:0", [&] { return variable(first, "a"); });
  auto const b = g.on("/job:ps/task:1", [&] { return variable(first, "b"); });
  session s(g, tasks.target());
  s.run(initializer(g));
  s.run(assign(b, constant(g, vector<float>({3, 4}))));
  saver saves(g, place / "run");
  saves.save(s);
  s.run(initializer(g));
  ASSERT_TRUE(saves.restore(s));
  EXPECT_TRUE(same_bits(s.run(a), vector<float>({1, 2})));
  EXPECT_TRUE(same_bits(s.run(b), vector<float>({3, 4})));
}

TEST(saver_on_tasks, refuses_what_does_not_fit_and_changes_nothing) {
  scratch place;
  auto const tasks = cluster_of(1);
  graph g;
  auto const a = g.on("/job:ps", [&] { return variable(constant(g, 1.f), "a"); });
  auto const b = g.on("/job:ps", [&] { return variable<float>(g, "b"); });
  session s(g, tasks.target());
  s.run(initializer(g));
  s.run(assign(b, constant(g, 5.f)));
  saver saves(g, place / "run");
  saves.save(s);
  s.run(assign(a, constant(g, 2.f)));
  auto const text = sentence([&] { saves.restore(s); });
  EXPECT_NE(text.find("node 'b': a variable without a first value can't be restored on tasks"), text.npos) << text;
  EXPECT_EQ(s.run(a), 2.f);
  auto const only_a = [](std::string const& name) { return name == "a" ? std::optional(name) : std::nullopt; };
  EXPECT_TRUE(saves.restore(s, only_a));
  EXPECT_EQ(s.run(a), 1.f);
  auto const renamed = [](std::string const&) { return std::optional<std::string>("c"); };
  EXPECT_NE(sentence([&] { saves.restore(s, renamed); }).find("has no tensor 'c'"), std::string::npos);
}

std::set<std::string> files_in(std::filesystem::path const& folder) {
  std::set<std::string> all;
  for (auto const& each : std::filesystem::directory_iterator(folder)) all.insert(each.path().filename());
  return all;
}

TEST(saver_on_tasks, has_each_task_write_what_lies_there) {
  scratch place;
  auto const tasks = cluster_of(2, checkpoint_folder(place / "run"));
  trainer a(tasks.target()), b;
  a.s.run(initializer(a.n.g));
  a.run(0, 3);
  saver writes(a.n.g, place / "run", {.keep = 1, .shard_bytes = 200, .written_by = shard_writer::tasks});
  writes.save(a.s);
  auto const c = writes.save(a.s);
  std::set<std::string> files{c.index().filename()};
  for (auto const& [_, file] : c.shards) files.insert(file);
  EXPECT_GT(files.size(), 3u);
  EXPECT_EQ(files_in(place / "run"), files) << "the first was removed";
  ASSERT_TRUE(saver(b.n.g, place / "run").restore(b.s));
  expect_same(a.run(3, 5), b.run(3, 5));
}

// Holds writes back until it is told to make them.
class held_store final : public shard_store {
 public:
  explicit held_store(std::shared_ptr<shard_store> to) : to_(std::move(to)) {}
  void write(std::vector<shard> shards, std::function<void(failure)> done) override {
    std::lock_guard const lock(mutex_);
    if (is_open_) return to_->write(std::move(shards), std::move(done));
    held_.emplace_back(std::move(shards), std::move(done));
  }
  void open() {
    std::lock_guard const lock(mutex_);
    is_open_ = true;
    for (auto& [shards, done] : std::exchange(held_, {})) to_->write(std::move(shards), std::move(done));
  }

 private:
  std::shared_ptr<shard_store> to_;
  std::mutex mutex_;
  bool is_open_ = false;
  std::vector<std::pair<std::vector<shard>, std::function<void(failure)>>> held_;
};

TEST(saver_on_tasks, writes_the_values_of_one_moment_while_training_goes_on) {
  scratch place;
  auto const store = std::make_shared<held_store>(checkpoint_folder(place / "run"));
  auto const tasks = cluster_of(2, store);
  trainer a(tasks.target()), b;
  auto const moment = a.begin();
  saver writes(a.n.g, place / "run", {.written_by = shard_writer::tasks});
  auto written = writes.save_in_background(a.s);
  a.run(3, 6);
  EXPECT_TRUE(writes.checkpoints().empty());
  store->open();
  written.get();
  ASSERT_TRUE(saver(b.n.g, place / "run").restore(b.s));
  expect_same(b.n.variables(b.s), moment);
}

TEST(saver_on_tasks, writes_in_the_background_what_it_has_fetched) {
  scratch place;
  auto const tasks = cluster_of(2);
  trainer a(tasks.target()), b;
  auto const moment = a.begin();
  saver writes(a.n.g, place / "run");
  auto written = writes.save_in_background(a.s);
  a.run(3, 6);
  written.get();
  ASSERT_TRUE(saver(b.n.g, place / "run").restore(b.s));
  expect_same(b.n.variables(b.s), moment);
}

TEST(saver_on_tasks, commits_nothing_that_a_task_has_not_written) {
  scratch place;
  auto const nowhere = cluster_of(2), elsewhere = cluster_of(2, checkpoint_folder(place / "other"));
  for (auto const* tasks : {&nowhere, &elsewhere}) {
    trainer a(tasks->target());
    a.s.run(initializer(a.n.g));
    saver writes(a.n.g, place / "run", {.written_by = shard_writer::tasks});
    auto const text = sentence([&] { writes.save(a.s); });
    auto const why = tasks == &nowhere ? "this process writes no checkpoints" : "though its task has written it";
    EXPECT_NE(text.find(why), text.npos) << text;
    EXPECT_TRUE(writes.checkpoints().empty());
    EXPECT_FALSE(writes.restore(a.s));
    for (auto const* task : {"/job:ps/task:0", "/job:ps/task:1"}) {
      auto const kept =
          tasks->state(task).other<detail::snapshots>("", [] { return std::make_unique<detail::snapshots>(); });
      EXPECT_EQ(kept->size(), 0u) << task;
    }
  }
}

TEST(saver_on_tasks, refuses_a_name_that_tasks_would_refuse) {
  scratch place;
  graph g;
  variable(constant(g, 1.f), "a");
  auto const text = sentence([&] { saver(g, place / "run", {.name = "my run", .written_by = shard_writer::tasks}); });
  EXPECT_NE(text.find("expected a file name such as"), text.npos) << text;
}

}  // namespace
}  // namespace rill
