// Values of a step on one task, without a second one.
#include "rill/net/step_exchange.hpp"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

namespace rill::net {
namespace {

struct outcome {
  int calls = 0;
  tensor came;
  failure why;
};
std::shared_ptr<receive_request> asking(cut_edge edge, outcome& o) {
  auto r = std::make_shared<receive_request>();
  r->edge = edge;
  r->finished = [&o](receive_request& served, failure why) {
    ++o.calls;
    o.came = std::move(served.came);
    o.why = std::move(why);
  };
  return r;
}

class exchanges : public testing::Test {
 public:
  std::shared_ptr<network> net = network::make({}, device_name::parse("/job:worker/task:0"));
  std::shared_ptr<peers> others = std::make_shared<peers>(
      net, std::map<device_name, address>{{device_name::parse("/job:worker/task:1"), address::parse("127.0.0.1:1")}});
  step_table table{others};
  std::vector<device_name> tasks{device_name::parse("/job:worker/task:0"), device_name::parse("/job:worker/task:1")};
};

TEST_F(exchanges, end_with_their_master) {
  auto const early = table.find({7, 1});  // of a neighbour who is faster than the master
  table.add_master(7);
  table.add_master(7);
  EXPECT_EQ(table.find({7, 1}), early);
  table.drop_master(7, failed(code::unavailable, "it is gone"));
  EXPECT_EQ(early->why(), nullptr) << "it has another connection";
  table.drop_master(7, failed(code::unavailable, "it is gone"));
  ASSERT_NE(early->why(), nullptr);
  EXPECT_EQ(early->why()->message(), "it is gone");
  EXPECT_EQ(table.size(), 0u);
}

TEST_F(exchanges, of_steps_that_have_ended_are_let_go) {
  table.add_master(7);
  auto const first = table.find({7, 1}), second = table.find({7, 2});
  table.ended_before({7, 2});
  EXPECT_EQ(table.find({7, 1}), nullptr);
  EXPECT_NE(first->why(), nullptr);
  EXPECT_EQ(table.find({7, 2}), second);
  EXPECT_EQ(second->why(), nullptr);
  EXPECT_EQ(table.size(), 1u);
}

TEST_F(exchanges, hand_over_what_was_pushed_before_and_after_it_is_asked_for) {
  table.add_master(7);
  auto const x = table.find({7, 1});
  x->begin(tasks, {});
  outcome first, second;
  cut_edge const a{.number = 1, .peer = 1, .pushed = true}, b{.number = 2, .peer = 1, .pushed = true};
  x->arrive({1, 0}, tensor(1.f));
  x->receive(asking(a, first));
  EXPECT_EQ(first.came.item<float>(), 1.f);
  x->receive(asking(b, second));
  EXPECT_EQ(second.calls, 0);
  x->arrive({2, 0}, tensor(2.f));
  EXPECT_EQ(second.came.item<float>(), 2.f);
}

TEST_F(exchanges, keep_what_is_pulled_until_then) {
  table.add_master(7);
  auto const x = table.find({7, 1});
  x->begin(tasks, {});
  x->send({.number = 1, .peer = 1}, 0, tensor(1.f));
  tensor first, second;
  x->ask({1, 0}, 1, [&](failure, tensor t) { first = std::move(t); });
  EXPECT_EQ(first.item<float>(), 1.f);
  x->ask({2, 0}, 1, [&](failure, tensor t) { second = std::move(t); });
  EXPECT_FALSE(second);
  x->send({.number = 2, .peer = 1}, 0, tensor(2.f));
  EXPECT_EQ(second.item<float>(), 2.f);
}

TEST_F(exchanges, stop_the_share_when_they_end) {
  table.add_master(7);
  auto const x = table.find({7, 1});
  std::stop_source stop;
  x->begin(tasks, stop);
  outcome o;
  failure pulled;
  x->receive(asking({.number = 1, .peer = 1, .pushed = true}, o));
  x->ask({2, 0}, 1, [&](failure why, tensor) { pulled = std::move(why); });
  table.forget({7, 1});
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_EQ(o.calls, 1);
  EXPECT_EQ(o.why->code(), code::aborted);
  ASSERT_TRUE(pulled);
}

TEST_F(exchanges, say_later_that_a_value_which_was_pushed_is_lost) {
  table.add_master(7);
  auto const hasty = network::make({.start_timeout = {}, .connect_timeout = std::chrono::milliseconds(100)}, {});
  step_table mine(
      std::make_shared<peers>(hasty, std::map<device_name, address>{{tasks[1], address::parse("127.0.0.1:1")}}));
  mine.add_master(7);
  auto const x = mine.find({7, 1});
  x->begin(tasks, {});
  bool has_ended = false;
  std::promise<failure> settled;
  x->when_delivered([&] { ADD_FAILURE() << "nothing is on its way"; }, [&](failure why) { EXPECT_FALSE(why); });
  x->send({.number = 1, .peer = 1, .pushed = true}, 0, tensor(1.f));
  x->when_delivered([&] { has_ended = true; }, [&](failure why) { settled.set_value(std::move(why)); });
  auto const why = settled.get_future().get();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), code::unavailable);
  EXPECT_TRUE(has_ended);
}

TEST_F(exchanges, end_when_a_value_can_not_be_pushed) {
  table.add_master(7);
  auto const hasty = network::make({.start_timeout = {}, .connect_timeout = std::chrono::milliseconds(100)}, {});
  step_table mine(
      std::make_shared<peers>(hasty, std::map<device_name, address>{{tasks[1], address::parse("127.0.0.1:1")}}));
  mine.add_master(7);
  auto const x = mine.find({7, 1});
  std::stop_source stop;
  x->begin(tasks, stop);
  x->send({.number = 1, .peer = 1, .pushed = true}, 0, tensor(1.f));
  for (int i = 0; i < 3000 && !x->why(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(x->why());
  EXPECT_EQ(x->why()->code(), code::unavailable);
  EXPECT_TRUE(stop.stop_requested());
}

}  // namespace
}  // namespace rill::net
