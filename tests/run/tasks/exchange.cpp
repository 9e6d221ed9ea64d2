#include "rill/run/tasks/exchange.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "rill/rill.hpp"
#include "run/tasks/exchange_suite.hpp"

namespace {

using namespace rill;

struct outcome {
  int calls = 0;
  tensor came;
  failure why;
};
std::shared_ptr<receive_request> asking(std::uint32_t edge, outcome& o) {
  auto r = std::make_shared<receive_request>();
  r->edge = {edge};
  r->finished = [&o](receive_request& served, failure why) {
    ++o.calls;
    o.came = std::move(served.came);
    o.why = std::move(why);
  };
  return r;
}

TEST(exchange, hands_over_in_either_order) {
  memory_exchange x;
  outcome first, second;
  x.receive(asking(1, first));
  EXPECT_EQ(first.calls, 0);
  x.send({1}, 0, tensor(5.f));
  EXPECT_EQ(first.calls, 1);
  EXPECT_EQ(first.came.item<float>(), 5.f);
  EXPECT_FALSE(x.try_receive({2}));
  x.send({2}, 0, tensor(6.f));
  x.receive(asking(2, second));
  EXPECT_EQ(second.came.item<float>(), 6.f);
  x.send({3}, 0, tensor(7.f));
  EXPECT_EQ(x.try_receive({3})->item<float>(), 7.f);
  EXPECT_FALSE(x.try_receive({3}));
}

TEST(exchange, a_request_that_is_given_up_ends_once_and_for_that_reason) {
  memory_exchange x;
  outcome o;
  auto const r = asking(1, o);
  x.receive(r);
  x.give_up(*r, failed(code::cancelled, "enough"));
  x.give_up(*r, failed(code::cancelled, "again"));
  ASSERT_EQ(o.calls, 1);
  EXPECT_EQ(o.why->message(), "enough");
  x.send({1}, 0, tensor(1.f));
  EXPECT_EQ(o.calls, 1);
}

TEST(exchange, threads_on_both_sides_lose_and_double_nothing) {
  constexpr std::uint32_t n = 2000;
  memory_exchange x;
  std::vector<outcome> all(n);
  std::thread sender([&] {
    for (std::uint32_t i = 0; i < n; ++i) x.send({i}, 0, tensor(static_cast<std::int32_t>(i)));
  });
  for (std::uint32_t i = n; i-- > 0;) x.receive(asking(i, all[i]));
  sender.join();
  for (std::uint32_t i = 0; i < n; ++i) {
    EXPECT_EQ(all[i].calls, 1);
    EXPECT_EQ(all[i].came.item<std::int32_t>(), static_cast<std::int32_t>(i));
  }
}

}  // namespace

// tests/net/step_exchange.cpp has the exchanges between processes.
namespace rill::test {

INSTANTIATE_TEST_SUITE_P(within, each_exchange,
                         testing::Values(exchange_kind{"memory",
                                                       [] {
                                                         auto const x = std::make_shared<memory_exchange>();
                                                         return exchange_ends{x, x};
                                                       }}),
                         name_of);

}  // namespace rill::test
