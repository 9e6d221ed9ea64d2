// Values of a step on one task, without a second one. At the end: between two, by all that carries bytes.
#include "rill/net/step_exchange.hpp"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "net/quiet_ucx.hpp"
#include "net/served.hpp"
#include "rill/net/listener.hpp"
#include "run/tasks/exchange_suite.hpp"

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

TEST_F(exchanges, let_values_go_that_come_for_a_master_that_is_not_there) {
  table.arrive({7, 1}, {1, 0}, tensor(1.f));
  table.arrive({7, 2}, {1, 0}, tensor(1.f));
  auto const early = table.find({7, 2});
  table.forget_absent(std::chrono::steady_clock::now() - std::chrono::hours(1));
  EXPECT_EQ(table.size(), 2u) << "it may still come";
  table.forget_absent(std::chrono::steady_clock::now() + std::chrono::hours(1));
  EXPECT_EQ(table.size(), 0u);
  ASSERT_NE(early->why(), nullptr) << "whoever waits there hears of it";
  EXPECT_EQ(early->why()->code(), code::unavailable);
  table.add_master(7);
  EXPECT_EQ(table.find({7, 2}), nullptr) << "what has come for it is lost";
  EXPECT_NE(table.find({7, 3}), nullptr);
}

TEST_F(exchanges, let_values_go_that_come_when_their_master_has_left) {
  table.add_master(7);
  table.arrive({7, 1}, {1, 0}, tensor(1.f));
  table.drop_master(7, failed(code::unavailable, "it is gone"));
  table.arrive({7, 1}, {2, 0}, tensor(1.f));  // of a task that does not know that yet
  EXPECT_EQ(table.find({7, 1}), nullptr);
  EXPECT_EQ(table.size(), 0u);
  table.add_master(7);  // it has connected again
  EXPECT_NE(table.find({7, 2}), nullptr);
}

TEST_F(exchanges, let_values_go_by_themselves) {
  auto const hasty = network::make({.connect_timeout = {}, .silence = std::chrono::milliseconds(1)}, {});
  auto const mine = std::make_shared<step_table>(std::make_shared<peers>(hasty, std::map<device_name, address>()));
  mine->arrive({7, 1}, {1, 0}, tensor(1.f));
  mine->add_master(8);
  mine->arrive({8, 1}, {1, 0}, tensor(1.f));
  for (int i = 0; i < 3000 && mine->size() > 1; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(mine->size(), 1u);
  EXPECT_NE(mine->find({8, 1}), nullptr) << "its master is there";
}

TEST_F(exchanges, keep_few_bytes_for_masters_that_are_not_there) {
  tensor const large(dtype::uint8, shape{std::int64_t{64} << 20});  // one block of memory, and nobody writes to it
  for (std::uint32_t edge = 0; edge < 3; ++edge) table.arrive({7, 1}, {edge, 0}, large);
  for (std::uint32_t edge = 0; edge < 2; ++edge) table.arrive({8, 1}, {edge, 0}, large);
  EXPECT_EQ(table.find({7, 1}), nullptr) << "it has been away for longer";
  EXPECT_NE(table.find({8, 1}), nullptr);
}

TEST_F(exchanges, know_few_masters_that_are_not_there) {
  for (std::uint64_t process = 1; process < step_table::most_absent; ++process) {
    table.add_master(process);
    table.find({process, 1});
    table.drop_master(process, failed(code::unavailable, "it is gone"));
    table.arrive({process + 1'000'000, 1}, {1, 0}, tensor(1.f));
  }
  EXPECT_LE(table.masters(), step_table::most_absent + 1);
}

TEST_F(exchanges, know_few_steps_that_have_failed_before_they_began) {
  table.add_master(7);
  for (std::uint64_t n = 0; n < 2 * step_table::most_steps; ++n) table.forget({7, n});
  EXPECT_LE(table.size(), step_table::most_steps);
}

TEST_F(exchanges, push_nothing_when_they_have_ended) {
  table.add_master(7);
  auto const x = table.find({7, 1});
  x->begin(tasks, {});
  x->end(failed(code::cancelled, "enough"));
  x->send({.number = 1, .peer = 1, .pushed = true}, 0, tensor(1.f));
  failure why;
  x->when_delivered([] { ADD_FAILURE() << "nothing is on its way"; }, [&](failure w) { why = std::move(w); });
  ASSERT_TRUE(why);
  EXPECT_EQ(why->message(), "enough");
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
  std::promise<void> asked;  // until then the network's thread does nothing, so that the loss can't come before
  asio::post(hasty->io(), [until = asked.get_future().share()] { until.wait(); });
  x->send({.number = 1, .peer = 1, .pushed = true}, 0, tensor(1.f));
  x->when_delivered([&] { has_ended = true; }, [&](failure why) { settled.set_value(std::move(why)); });
  asked.set_value();
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

namespace rill::test {
namespace {

// Two tasks of one step, with a network each, which know nothing but each other's addresses.
class two_tasks {
 public:
  two_tasks(std::vector<std::string> const& at, net_options const& options) {
    std::vector<address> where;
    for (std::size_t i = 0; i < 2; ++i) {
      std::promise<void> destroyed;
      gone_.push_back(destroyed.get_future());
      all_.push_back(net::served_task::make(std::move(destroyed)));
      all_[i]->net = net::network::make(options, names_[i]);
      listening_.push_back(std::make_shared<net::listener>(all_[i]));
      where.push_back(listening_[i]->listen(address::parse(at[i])));
      listening_[i]->take_memory(where[i]);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      auto& t = *all_[i];
      t.others = std::make_shared<net::peers>(t.net, std::map<device_name, address>{{names_[1 - i], where[1 - i]}});
      t.steps = std::make_shared<net::step_table>(t.others);
      t.steps->add_master(id_.master);
      t.hello = t.net->hello();
      listening_[i]->start();
    }
  }
  ~two_tasks() {
    for (auto const& t : all_) t->steps->forget(id_);
    for (auto const& l : listening_) l->end();
    listening_.clear();
    all_.clear();
    for (auto& g : gone_) g.wait();
  }
  two_tasks(two_tasks const&) = delete;
  two_tasks& operator=(two_tasks const&) = delete;

  std::shared_ptr<exchange> begin(std::size_t task) {
    auto const x = all_[task]->steps->find(id_);
    x->begin(names_, {});
    return x;
  }

 private:
  std::vector<device_name> const names_{device_name::parse("/job:worker/task:0"),
                                        device_name::parse("/job:worker/task:1")};
  step_id const id_{rill::detail::running_steps::here().process(), 1};
  std::vector<std::future<void>> gone_;
  std::vector<std::shared_ptr<net::served_task>> all_;
  std::vector<std::shared_ptr<net::listener>> listening_;
};

exchange_kind between(std::string name, std::vector<std::string> addresses, bool by_memory = false,
                      bool by_ucx = false) {
  return {std::move(name), [=] {
            auto const folder = std::make_shared<socket_folder>();
            auto at = addresses;
            if (at.empty()) at = {folder->socket("first"), folder->socket("second")};
            auto options = quick();
            options.shared_memory = by_memory;
            options.ucx = by_ucx;
            auto const both = std::make_shared<two_tasks>(at, options);
            return exchange_ends{both->begin(0), both->begin(1),
                                 std::make_shared<std::pair<decltype(folder), decltype(both)>>(folder, both)};
          }};
}

std::vector<exchange_kind> kinds() {
  std::vector<std::string> const tcp4{"127.0.0.1:0", "127.0.0.1:0"}, tcp6{"[::1]:0", "[::1]:0"};
  std::vector<exchange_kind> all{between("tcp4", tcp4), between("tcp6", tcp6), between("unix", {}),
                                 between("shared_memory", {}, true)};
#if RILL_UCX
  all.push_back(between("ucx", tcp4, false, true));
#endif
  return all;
}
INSTANTIATE_TEST_SUITE_P(between_tasks, each_exchange, testing::ValuesIn(kinds()), name_of);

}  // namespace
}  // namespace rill::test
