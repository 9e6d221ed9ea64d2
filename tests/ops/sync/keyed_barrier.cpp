#include "rill/ops/sync/keyed_barrier.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "../run.hpp"
#include "rill/graph/codec.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using test::expect_error;
using namespace std::chrono_literals;

using names = expr<of<std::string, unknown>>;

// A barrier of a float and a pair of int32, and steps that put components in.
struct fixture {
  graph g;
  keyed_barrier<of<float>, of<std::int32_t, 2>> b{g, "parts"};
  names keys = placeholder<std::string, unknown>(g, "keys");
  expr<of<float, unknown>> x = placeholder<float, unknown>(g, "x");
  expr<of<std::int32_t, unknown, 2>> pair = placeholder<std::int32_t, unknown, 2>(g, "pair");
  operation first = b.insert<0>(keys, x), second = b.insert<1>(keys, pair);
  session s{g};

  void put_first(std::vector<std::string> const& of, std::vector<float> const& values) {
    tensor k(dtype::string, {static_cast<std::int64_t>(of.size())}), v(dtype::float32, k.shape());
    std::copy(of.begin(), of.end(), k.mutable_data<std::string>());
    std::copy(values.begin(), values.end(), v.mutable_data<float>());
    s.run({{keys, k}, {x, v}}, first);
  }
  void put_second(std::string const& of, int value) {
    s.run({{keys, vector<std::string>({of})}, {pair, matrix<std::int32_t>({{value, -value}})}}, second);
  }
};

TEST(keyed_barrier, gives_elements_that_have_all_components_those_first_that_began_first) {
  fixture f;
  auto const [keys, xs, pairs] = f.b.take_many<2>();
  static_assert(std::same_as<decltype(pairs), expr<of<std::int32_t, 2, 2>> const>);
  f.put_first({"a", "b", "c"}, {1, 2, 3});
  f.put_second("d", 4);
  f.put_second("c", 3);
  EXPECT_EQ(std::int64_t(f.s.run(f.b.ready_size())), 1);
  EXPECT_EQ(std::int64_t(f.s.run(f.b.incomplete_size())), 3);
  expect_error(code::deadline_exceeded, "deadline", [&] { f.s.run(keys, timeout{1ms}); });
  f.put_second("a", 1);
  auto const [k, x, p] = f.s.run(keys, xs, pairs);
  EXPECT_TRUE(same_bits(k, vector<std::string>({"a", "c"})));
  EXPECT_TRUE(same_bits(x, vector<float>({1, 3})));
  EXPECT_TRUE(same_bits(p, matrix<std::int32_t>({{1, -1}, {3, -3}})));
  f.put_first({"a"}, {9});  // the key is free again
  EXPECT_EQ(std::int64_t(f.s.run(f.b.incomplete_size())), 3);
}

TEST(keyed_barrier, who_takes_waits_for_components_that_other_steps_bring) {
  fixture f;
  auto const [keys, xs, pairs] = f.b.take_many<1>();
  f.put_first({"k"}, {0.5f});
  std::thread other([&] {
    std::this_thread::sleep_for(1ms);
    f.put_second("k", 7);
  });
  EXPECT_EQ(f.s.run(pairs).at<std::int32_t>(0, 0), 7);
  other.join();
}

TEST(keyed_barrier, refuses_a_component_that_came_already_and_then_puts_none_in) {
  fixture f;
  f.put_first({"a"}, {1});
  expect_error(code::invalid_argument, "already has component 0 of key 'a'", [&] { f.put_first({"b", "a"}, {2, 3}); });
  expect_error(code::invalid_argument, "already has component 0 of key 'c'", [&] { f.put_first({"c", "c"}, {2, 3}); });
  EXPECT_EQ(std::int64_t(f.s.run(f.b.incomplete_size())), 1);
  expect_error(code::invalid_argument, "not a vector of strings", [&] { f.b.insert<0>(value(constant(f.g, 1)), f.x); });
  expect_error(code::invalid_argument,
               "component 1 of the barrier 'parts' takes rows of int32[2], and a float32[?] came",
               [&] { f.b.insert<1>(f.keys, value(f.x)); });
  expect_error(code::failed_precondition, "of this name that differs",
               [&] { f.s.run(keyed_barrier<of<float>>(f.g, "parts").ready_size()); });
}

TEST(keyed_barrier, once_closed_takes_no_new_keys_and_ends_who_waits_for_more_than_can_come) {
  fixture f;
  auto const two = std::get<1>(f.b.take_many<2>());
  auto const rest = std::get<1>(f.b.take_up_to<2>());
  f.put_first({"a"}, {1});
  f.s.run(f.b.close());
  expect_error(code::cancelled, "closed to new keys, but got 'b'", [&] { f.put_first({"b"}, {2}); });
  expect_error(code::out_of_range, "too few", [&] { f.s.run(two); });
  expect_error(code::deadline_exceeded, "deadline", [&] { f.s.run(rest, timeout{1ms}); });
  f.put_second("a", 1);
  EXPECT_TRUE(same_bits(f.s.run(rest), vector<float>({1})));
  expect_error(code::out_of_range, "too few", [&] { f.s.run(rest); });
}

TEST(keyed_barrier, closed_with_cancel_drops_what_is_not_complete) {
  fixture f;
  auto const rest = std::get<1>(f.b.take_up_to<5>());
  f.put_first({"a", "b"}, {1, 2});
  f.put_second("b", 2);
  f.s.run(f.b.close(true));
  expect_error(code::cancelled, "is closed", [&] { f.put_second("a", 1); });
  EXPECT_TRUE(same_bits(f.s.run(rest), vector<float>({2})));
  expect_error(code::out_of_range, "too few", [&] { f.s.run(rest); });
  f.s.state().reset();
  f.put_second("a", 1);
}

TEST(keyed_barrier, may_be_closed_twice_and_with_cancel_after_that) {
  fixture f;
  auto const rest = std::get<1>(f.b.take_up_to<5>());
  f.put_first({"a", "b"}, {1, 2});
  for (int k = 0; k < 2; ++k) {
    f.s.run(f.b.close());
    expect_error(code::cancelled, "closed to new keys, but got 'c'", [&] { f.put_first({"c"}, {3}); });
    EXPECT_EQ(std::int64_t(f.s.run(f.b.incomplete_size())), 2) << "what began may go on";
  }
  f.put_second("b", 2);
  for (bool cancel : {true, false, true}) {
    f.s.run(f.b.close(cancel));
    expect_error(code::cancelled, "is closed", [&] { f.put_second("a", 1); });
    EXPECT_EQ(std::int64_t(f.s.run(f.b.ready_size())), 1) << "what is complete can be taken";
  }
  EXPECT_TRUE(same_bits(f.s.run(rest), vector<float>({2})));
}

TEST(keyed_barrier, travels_as_bytes) {
  fixture f;
  auto const all = f.b.take_many<1>();
  f.put_first({"a"}, {1});
  auto const again = graph_from_bytes(to_bytes(f.g), all_operations());
  EXPECT_EQ(again->find(std::get<0>(all).name()).type(), (of<std::string, 1>));
}

// Two phases of a computation by several workers, and a queue between them: nobody begins the second phase before all
// have ended the first, for the tokens that it waits for come with the last.
TEST(keyed_barrier, a_queue_is_a_barrier_between_steps_as_well) {
  constexpr int workers = 4;
  graph g;
  auto const done = variable(constant(g, 0), "done");
  auto const arrivals = fifo_queue<of<std::int32_t>>(g, {}, "arrivals"),
             leave = fifo_queue<of<std::int32_t>>(g, {}, "leave");
  auto const counted = assign_add(done, constant(g, 1));
  auto const arrive = g.after({operation(counted)}, [&] { return arrivals.enqueue(constant(g, 1)); });
  auto const everybody = dequeue_many<workers>(arrivals);
  auto const release = leave.enqueue_many(everybody);
  auto const token = dequeue(leave);
  auto const seen = g.after({operation(token)}, [&] { return read(done); });
  session s(g, {.threads = 2});
  s.run(initializer(g));
  std::vector<std::thread> all;
  std::vector<int> saw(workers);
  for (std::size_t i = 0; i < workers; ++i)
    all.emplace_back([&, i] {
      s.run(arrive);
      saw[i] = std::int32_t(s.run(seen));
    });
  s.run(release);  // the chief: waits for all, and lets all go
  for (auto& t : all) t.join();
  EXPECT_EQ(saw, std::vector<int>(workers, workers));
}

}  // namespace
}  // namespace rill
