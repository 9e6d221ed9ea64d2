// Sends whose exchange keeps values, as one does that writes them to a socket.
#include "rill/run/tasks/send_receive.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/sentence.hpp"
#include "rill/rill.hpp"
#include "rill/run/worker.hpp"

namespace rill {
namespace {

// Hands copies of values over, and lets go of a value then; or keeps them all.
class copying_exchange final : public exchange {
 public:
  explicit copying_exchange(bool keeps) : keeps_(keeps) {}
  bool copies() const override { return true; }
  void send(cut_edge const& edge, std::uint64_t path, tensor value) override {
    if (!value.storage().unique()) ++lent;
    if (!keeps_) return between_.send(edge, path, value.clone());
    std::lock_guard lock(mutex_);
    kept.push_back(std::move(value));
    changed_.notify_all();
  }
  /// Waits until it has kept that many values.
  void wait_until_kept(std::size_t n) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return kept.size() >= n; }));
  }
  std::optional<tensor> try_receive(edge_key key) override { return between_.try_receive(key); }
  void receive(std::shared_ptr<receive_request> const& r) override { between_.receive(r); }
  void give_up(receive_request const& r, failure why) override { between_.give_up(r, std::move(why)); }
  void took(cut_edge const&) override {}

  int lent = 0;
  std::vector<tensor> kept;

 private:
  bool const keeps_;
  std::mutex mutex_;
  std::condition_variable changed_;
  memory_exchange between_;
};

// A task of this process whose steps use that exchange.
class task_with_exchange final : public task {
 public:
  task_with_exchange(std::string_view name, std::shared_ptr<exchange> x, bool forgets_stages)
      : worker_(std::make_shared<worker>(device_name::parse(name), task_options{.threads = 1})),
        exchange_(std::move(x)),
        forgets_stages_(forgets_stages) {}
  device_name const& name() const override { return worker_->name(); }
  task_answer<std::vector<device_name>> ask_devices() const override { return worker_->ask_devices(); }
  task_answer<std::vector<bool>> ask_values(std::vector<std::string> const& v) const override {
    return worker_->ask_values(v);
  }
  task_answer<std::shared_ptr<registered_share>> ask_to_add(subgraph nodes, std::vector<type> const& fed,
                                                            share_setting const& how) override {
    if (forgets_stages_)
      for (auto& each : nodes.nodes) each.stage = 0;
    return worker_->ask_to_add(std::move(nodes), fed, how)
        .then([x = exchange_](auto of) -> std::shared_ptr<registered_share> {
          return std::make_shared<share>(std::move(of), x);
        });
  }

 private:
  class share final : public registered_share {
   public:
    share(std::shared_ptr<registered_share> of, std::shared_ptr<exchange> x)
        : of_(std::move(of)), exchange_(std::move(x)) {}
    void start(share_run with, completion done) override {
      with.exchange = exchange_;
      of_->start(std::move(with), std::move(done));
    }
    task_answer<std::string> ask_to_explain(stages which) const override { return of_->ask_to_explain(which); }
    void trim() override { of_->trim(); }

   private:
    std::shared_ptr<registered_share> of_;
    std::shared_ptr<exchange> exchange_;
  };
  std::shared_ptr<worker> worker_;
  std::shared_ptr<exchange> exchange_;
  bool const forgets_stages_;
};

class sends : public testing::Test {
 public:
  // `forgets_stages`: whether the second task plans all of its share at once, whatever extents its nodes wait for.
  void run_over(bool keeps, bool forgets_stages = false) {
    between = std::make_shared<copying_exchange>(keeps);
    target over{.tasks = {std::make_shared<task_with_exchange>("/job:worker/task:0", between, false),
                          std::make_shared<task_with_exchange>("/job:worker/task:1", between, forgets_stages)}};
    s = std::make_unique<session>(g, std::move(over));
  }
  static constexpr std::int64_t n = 100000;  // floats: too many for a push
  static tensor fed(float first) {
    std::vector<float> all(n, 1.f);
    all[0] = first;
    return tensor::adopt(std::move(all), shape{n});
  }

  graph g;
  expr<of<float, unknown>> x = placeholder<float, unknown>(g, "x");
  std::shared_ptr<copying_exchange> between;
  std::unique_ptr<session> s;
};

TEST_F(sends, need_no_copy_of_a_large_value) {
  auto const y = g.on("/job:worker/task:1", [&] { return x * 2.f; });
  auto const z = g.on("/job:worker/task:0", [&] { return sum(y); });
  run_over(false);
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(s->run({{x, fed(5.f)}}, z), 2.f * (n + 4));
    EXPECT_EQ(between->lent, i);
  }
}

TEST_F(sends, of_a_variable_let_it_be_updated_in_place_afterwards) {
  auto v = g.on("/job:worker/task:1", [&] { return variable<float, n>(g, "v", zeros()); });
  auto const y = g.on("/job:worker/task:0", [&] { return v + 1.f; });
  auto const up = assign_add(v, y);
  auto const total = sum(v);
  run_over(false);
  s->run(initializer(g));
  for (int i = 0; i < 3; ++i) s->run(up);  // 1, 3, 7
  EXPECT_EQ(between->lent, 6) << "there and back, three times";
  EXPECT_EQ(s->run(total), 7.f * n);
}

TEST_F(sends, of_values_whose_extents_a_task_does_not_know_say_what_to_do) {
  auto const places = g.on("/job:worker/task:1", [&] { return where(x > 0.f); });
  auto const z = g.on("/job:worker/task:0", [&] { return sum(places); });
  run_over(false, true);
  auto const e = error_of([&] { s->run({{x, vector<float>({1, -1})}}, z); });
  EXPECT_EQ(e.code(), code::unimplemented) << e.what();
  for (auto const* words : {"it would send an int64[", "whose extents this task does not know when it plans",
                            "let what reads it run on the task that makes it", "/job:worker/task:1"})
    EXPECT_NE(e.message().find(words), std::string::npos) << e.what();
  EXPECT_NE(e.node().find("where"), std::string::npos) << e.what();
}

TEST_F(sends, that_nobody_takes_end_with_the_step_and_keep_their_values) {
  auto const y = g.on("/job:worker/task:1", [&] { return x * 2.f; });
  auto const z = g.on("/job:worker/task:0", [&] { return sum(y); });
  run_over(true);
  for (std::size_t i = 0; i < 3; ++i) {
    std::stop_source stop;
    std::thread stops([&] {
      between->wait_until_kept(i + 1);
      stop.request_stop();
    });
    EXPECT_EQ(refusal([&] { s->run({{x, fed(static_cast<float>(i))}}, z, stop.get_token()); }), code::cancelled)
        << "nobody has sent the value on";
    stops.join();
  }
  ASSERT_EQ(between->kept.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(between->kept[i].data<float>()[0], 2.f * static_cast<float>(i));
    EXPECT_EQ(between->kept[i].data<float>()[n - 1], 2.f);
  }
}

}  // namespace
}  // namespace rill
