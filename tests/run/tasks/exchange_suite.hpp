// What every exchange does, whatever carries its values: one suite for all of them. A program instantiates it with
// those that it has.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rill/rill.hpp"
#include "rill/run/tasks/exchange.hpp"

namespace rill::test {

/// The exchange of a step on the task that sends, number 0 of the session, and on the one that receives, number 1.
struct exchange_ends {
  std::shared_ptr<exchange> sender, receiver;
  std::shared_ptr<void> keeps = {};  ///< what they need
};
/// One kind of exchange. `make` throws error(unavailable), with the reason, where there is none on this machine.
struct exchange_kind {
  std::string name;
  std::function<exchange_ends()> make;
};
inline void PrintTo(exchange_kind const& k, std::ostream* to) { *to << k.name; }
inline std::string name_of(testing::TestParamInfo<exchange_kind> const& of) { return of.param.name; }

class each_exchange : public testing::TestWithParam<exchange_kind> {
 public:
  void SetUp() override {
    try {
      ends = GetParam().make();
    } catch (error const& e) {
      if (e.code() != code::unavailable) throw;
      GTEST_SKIP() << e.message();
    }
  }
  static cut_edge edge(std::uint32_t number, bool pushed, std::uint32_t window = 0) {
    return {.number = number, .peer = 1, .pushed = pushed, .window = window};
  }
  void send(cut_edge const& e, tensor value, std::uint64_t path = 0) { ends.sender->send(e, path, std::move(value)); }

  struct asked {
    std::shared_ptr<receive_request> request = std::make_shared<receive_request>();
    std::future<tensor> value;
  };
  asked ask(cut_edge e, std::uint64_t path = 0) {
    auto const came = std::make_shared<std::promise<tensor>>();
    asked a;
    a.value = came->get_future();
    e.peer = 0;
    a.request->edge = e;
    a.request->path = path;
    a.request->finished = [came](receive_request& served, failure why) {  // a second call would throw
      if (why) came->set_exception(std::make_exception_ptr(error(*why)));
      else came->set_value(std::move(served.came));
    };
    ends.receiver->receive(a.request);
    return a;
  }
  /// Returns the value of a request, when it is there.
  static tensor get(asked a) {
    if (a.value.wait_for(std::chrono::seconds(60)) == std::future_status::ready) return a.value.get();
    ADD_FAILURE() << "no value has come";
    return {};
  }

  exchange_ends ends;
};

TEST_P(each_exchange, carries_values_that_are_sent_before_they_are_asked_for) {
  for (bool const pushed : {true, false}) {
    send(edge(pushed, pushed), tensor(5.f));
    EXPECT_TRUE(same_bits(get(ask(edge(pushed, pushed))), tensor(5.f)));
  }
}

TEST_P(each_exchange, carries_values_that_are_asked_for_before_they_are_sent) {
  for (bool const pushed : {true, false}) {
    auto a = ask(edge(pushed, pushed));
    send(edge(pushed, pushed), tensor(5.f));
    EXPECT_TRUE(same_bits(get(std::move(a)), tensor(5.f)));
  }
}

TEST_P(each_exchange, keeps_every_bit) {
  std::vector<float> numbers(1000000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 977);
  std::vector<tensor> const all = {tensor(true), tensor(dtype::float32, shape{0, 4}),
                                   tensor::adopt(numbers, shape{1000, 1000}),
                                   tensor::adopt(std::vector<std::string>{"", std::string(200000, 'b')}, shape{2}),
                                   tensor::adopt(std::vector<std::int64_t>{-1, INT64_MAX, INT64_MIN}, shape{3, 1})};
  for (std::uint32_t i = 0; i < all.size(); ++i)
    for (bool const pushed : {true, false}) {
      auto const e = edge(2 * i + pushed, pushed);
      send(e, all[i]);
      auto const came = get(ask(e));
      EXPECT_TRUE(same_bits(came, all[i])) << i;
      EXPECT_EQ(came.shape(), all[i].shape()) << i;
    }
}

TEST_P(each_exchange, tells_the_uses_of_an_edge_apart) {
  for (bool const pushed : {true, false}) {
    auto const e = edge(pushed, pushed);
    auto first = ask(e, 1);
    for (std::uint64_t path : {3u, 2u, 1u}) send(e, tensor(static_cast<float>(path)), path);
    for (std::uint64_t path : {2u, 3u}) EXPECT_EQ(get(ask(e, path)).item<float>(), static_cast<float>(path));
    EXPECT_EQ(get(std::move(first)).item<float>(), 1.f);
  }
}

TEST_P(each_exchange, loses_and_doubles_nothing_between_threads) {
  constexpr std::uint32_t n = 1000;
  std::thread sender([&] {
    for (std::uint32_t i = 0; i < n; ++i) send(edge(i, i % 2 == 0), tensor(static_cast<std::int32_t>(i)));
  });
  std::vector<asked> all;
  for (std::uint32_t i = n; i-- > 0;) all.push_back(ask(edge(i, i % 2 == 0)));
  sender.join();
  for (auto& a : all) {
    auto const number = static_cast<std::int32_t>(a.request->edge.number);
    EXPECT_EQ(get(std::move(a)).item<std::int32_t>(), number);
  }
}

TEST_P(each_exchange, ends_a_request_that_is_given_up_once_and_for_that_reason) {
  for (bool const pushed : {true, false}) {
    auto a = ask(edge(pushed, pushed));
    ends.receiver->give_up(*a.request, failed(code::cancelled, "enough"));
    ends.receiver->give_up(*a.request, failed(code::cancelled, "again"));
    try {
      get(std::move(a));
      ADD_FAILURE() << "it has a value";
    } catch (error const& e) {
      EXPECT_EQ(e.message(), "enough");
    }
    send(edge(pushed, pushed), tensor(1.f));  // is for nobody
    send(edge(2 + pushed, pushed), tensor(2.f));
    EXPECT_EQ(get(ask(edge(2 + pushed, pushed))).item<float>(), 2.f);
  }
}

TEST_P(each_exchange, tells_a_sender_that_has_run_ahead_when_values_have_been_taken) {
  constexpr std::uint32_t window = 4;
  auto const e = edge(1, true, window);
  auto const& ahead = ends.sender->windows();
  for (std::uint32_t i = 1; i <= window; ++i) {
    EXPECT_EQ(ahead->add(e.number, window), i < window) << i;
    send(e, tensor(1.f), i);
  }
  std::promise<void> has_room;
  auto const wait = std::make_shared<room_request>(room_request{.edge = e.number});
  wait->finished = [&](room_request&, failure why) {
    EXPECT_FALSE(why);
    has_room.set_value();
  };
  ahead->wait(wait, window);
  auto const room = has_room.get_future();
  EXPECT_EQ(room.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  for (std::uint32_t i = 1; i <= window; ++i) {
    EXPECT_EQ(get(ask(e, i)).item<float>(), 1.f);
    auto taken = e;
    taken.peer = 0;
    ends.receiver->took(taken);
  }
  EXPECT_EQ(room.wait_for(std::chrono::seconds(60)), std::future_status::ready);
}

}  // namespace rill::test
