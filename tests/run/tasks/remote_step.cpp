// What a session asks its tasks for while it compiles a step.
#include "rill/run/tasks/remote_step.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sentence.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using said_lines = std::vector<std::string>;

// What tasks were asked for, and which answers were waited for, in order.
struct journal {
  void add(std::string line) {
    std::lock_guard lock(mutex);
    all.push_back(std::move(line));
  }
  said_lines take() {
    std::lock_guard lock(mutex);
    return std::exchange(all, {});
  }
  std::mutex mutex;
  said_lines all;
};

// A worker that writes down what it is asked for.
class told_task final : public task {
 public:
  told_task(std::string_view name, std::shared_ptr<journal> to)
      : worker_(std::make_shared<worker>(device_name::parse(name), task_options{.threads = 1})), to_(std::move(to)) {}
  device_name const& name() const override { return worker_->name(); }
  task_answer<std::vector<device_name>> ask_devices() const override { return told("devices", worker_->ask_devices()); }
  task_answer<std::vector<bool>> ask_values(std::vector<std::string> const& v) const override {
    return told("values", worker_->ask_values(v));
  }
  task_answer<std::shared_ptr<registered_share>> ask_to_add(subgraph nodes, std::vector<type> const& fed,
                                                            share_setting const& how) override {
    auto made = told("share", worker_->ask_to_add(std::move(nodes), fed, how));
    if (!fails_with)
      return std::move(made).then([this](auto of) -> std::shared_ptr<registered_share> {
        return std::make_shared<share>(std::move(of), *this);
      });
    return std::move(made).then(
        [why = *fails_with](auto const&) -> std::shared_ptr<registered_share> { throw error(why); });
  }
  container& state() const { return worker_->state(); }

  std::optional<error> fails_with;    // when it is to compile a share
  std::atomic<int> shares = 0;        // that there are
  std::atomic<bool> is_ready = true;  // whether shares start at once

 private:
  class share final : public registered_share {
   public:
    share(std::shared_ptr<registered_share> of, told_task& at) : of_(std::move(of)), at_(at) { ++at_.shares; }
    ~share() override { --at_.shares; }
    bool is_ready() const override { return at_.is_ready; }
    void start(share_run with, completion done) override {
      at_.to_->add("start " + std::to_string(*at_.name().task));
      of_->start(std::move(with), std::move(done));
    }
    task_answer<std::string> ask_to_explain(stages which) const override {
      return at_.told("text", of_->ask_to_explain(which));
    }
    void trim() override { of_->trim(); }

   private:
    std::shared_ptr<registered_share> of_;
    told_task& at_;
  };
  template <class T> task_answer<T> told(std::string const& what, task_answer<T> of) const {
    to_->add("ask " + what);
    return std::move(of).then([to = to_, what](T answer) {
      to->add("get " + what);
      return answer;
    });
  }

  std::shared_ptr<worker> worker_;
  std::shared_ptr<journal> to_;
};

class asked_tasks : public testing::Test {
 public:
  static std::vector<std::shared_ptr<told_task>> four(std::shared_ptr<journal> const& told) {
    std::vector<std::shared_ptr<told_task>> made;
    for (int i = 0; i < 4; ++i)
      made.push_back(std::make_shared<told_task>("/job:worker/task:" + std::to_string(i), told));
    return made;
  }
  template <class F> auto on(int task, F const& f) { return g.on("/job:worker/task:" + std::to_string(task), f); }
  // A node on each task.
  expr<of<float>> sum_over_all() {
    auto y = x * 1.f;
    for (int i = 0; i < 4; ++i) y = on(i, [&] { return y + 1.f; });
    return y;
  }
  // All tasks were asked before an answer was waited for.
  static void expect_asked_at_once(said_lines const& said, std::string const& what) {
    auto const first = std::find(said.begin(), said.end(), "get " + what);
    EXPECT_EQ(std::count(said.begin(), first, "ask " + what), 4) << what;
  }
  // And once.
  static void expect_one_round(said_lines const& said, std::string const& what) {
    expect_asked_at_once(said, what);
    EXPECT_EQ(std::count(said.begin(), said.end(), "ask " + what), 4) << what;
  }

  std::shared_ptr<journal> told = std::make_shared<journal>();
  std::vector<std::shared_ptr<told_task>> all = four(told);
  graph g;
  expr<of<float>> x = placeholder<float>(g, "x");
  session s{g, target{.tasks = {all.begin(), all.end()}}};
};

TEST_F(asked_tasks, hear_of_a_new_step_at_once) {
  std::vector<variable_expr<of<float>>> v;
  for (int i = 0; i < 4; ++i) v.push_back(on(i, [&] { return variable(constant(g, 1.f), "v" + std::to_string(i)); }));
  auto y = sum_over_all();
  for (auto const& each : v) y = y + each;
  s.run(initializer(g));
  told->take();
  EXPECT_EQ(s.run({{x, 1.f}}, y), 9.f);
  auto const said = told->take();
  for (auto const* what : {"values", "share"}) expect_one_round(said, what);
  expect_asked_at_once(said, "devices");  // which a task in another process is asked for once
  EXPECT_EQ(s.run({{x, 2.f}}, y), 10.f);
  auto const again = told->take();
  EXPECT_TRUE(std::none_of(again.begin(), again.end(), [](auto const& l) { return l.starts_with("ask"); }))
      << "it is compiled";
}

TEST_F(asked_tasks, hear_of_the_variables_in_all_bodies_in_one_round) {
  std::vector<variable_expr<of<float>>> v;
  for (int i = 0; i < 4; ++i)
    v.push_back(on(i, [&] { return variable(constant(g, static_cast<float>(i)), "v" + std::to_string(i)); }));
  auto const twice = [&](expr<of<float>> a) {
    return cond(
        a > 3.f, [&] { return on(2, [&] { return a + v[2]; }); }, [&] { return on(3, [&] { return a + v[3]; }); });
  };
  auto const y = cond(x > 0.f, [&] { return twice(x + v[0]); }, [&] { return on(1, [&] { return x + v[1]; }); });
  s.run(initializer(g));
  told->take();
  EXPECT_EQ(s.run({{x, 1.f}}, y), 4.f);
  EXPECT_EQ(s.run({{x, 5.f}}, y), 7.f);
  EXPECT_EQ(s.run({{x, -1.f}}, y), 0.f);
  auto const said = told->take();
  expect_one_round(said, "values");
}

TEST_F(asked_tasks, say_at_once_what_has_a_value_and_what_they_run) {
  auto const v = on(3, [&] { return variable(constant(g, 1.f), "v"); });
  s.run(initializer(g));
  told->take();
  s.wait_for_variables(std::chrono::seconds(60));
  expect_one_round(told->take(), "values");
  EXPECT_EQ(s.devices().size(), 4u);
  expect_one_round(told->take(), "devices");
  (void)s.explain({{x, 1.f}}, sum_over_all() + v, stages::all);
  expect_one_round(told->take(), "text");
}

TEST_F(asked_tasks, that_fail_to_compile_throw_the_first_error_in_their_order_and_drop_all_shares) {
  auto const y = sum_over_all();
  all[1]->fails_with = error(code::unimplemented, "the second can't");
  all[2]->fails_with = error(code::not_found, "the third can't");
  EXPECT_EQ(refusal([&] { s.run({{x, 1.f}}, y); }), code::unimplemented);
  auto const said = told->take();
  EXPECT_EQ(std::count(said.begin(), said.end(), "get share"), 4) << "nothing is compiled any more";
  for (auto const& t : all) EXPECT_EQ(t->shares, 0);
  for (auto const& t : all) t->fails_with.reset();
  EXPECT_EQ(s.run({{x, 1.f}}, y), 5.f);
}

TEST_F(asked_tasks, start_before_a_task_that_compiles_its_share_again) {
  auto const y = sum_over_all();
  EXPECT_EQ(s.run({{x, 1.f}}, y), 5.f);
  told->take();
  all[0]->is_ready = false;
  EXPECT_EQ(s.run({{x, 1.f}}, y), 5.f);
  EXPECT_EQ(told->take(), (said_lines{"start 1", "start 2", "start 3", "start 0"}));
}

}  // namespace
}  // namespace rill
