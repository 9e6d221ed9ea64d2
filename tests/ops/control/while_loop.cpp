#include "rill/ops/control/while_loop.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stop_token>

#include "base/sentence.hpp"
#include "ops/executions.hpp"
#include "rill/graph/codec.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

TEST(while_loop, multiplies_by_a_matrix_ten_times) {
  graph g;
  auto const w = constant<float, 2, 2>(g, {1, 1, 0, 1});
  auto const [n, v] =
      while_loop([](auto i, auto) { return i < 10; }, [&](auto i, auto x) { return std::tuple{i + 1, matmul(x, w)}; },
                 constant(g, 0), constant<float, 2, 2>(g, {1, 0, 0, 1}));
  test::each_execution s(g);
  auto const [count, power] = s.run(n, v);
  EXPECT_EQ(std::int32_t(count), 10);
  EXPECT_TRUE(same_bits(power, matrix<float>({{1, 10}, {0, 1}})));
}

TEST(while_loop, agrees_with_the_same_loop_in_cpp_for_any_number_of_iterations_and_threads) {
  graph g;
  auto const x = placeholder<float, 100>(g, "x");
  auto const limit = placeholder<std::int32_t>(g, "limit");
  auto const [n, y, kept] =
      while_loop([&](auto i, auto, auto) { return i < limit; },
                 [&](auto i, auto v, auto k) { return std::tuple{i + 1, v * 0.5f + k, k}; }, constant(g, 0), x, x);
  tensor fed(dtype::float32, {100});
  for (int i = 0; i < 100; ++i) fed.mutable_data<float>()[i] = static_cast<float>(i);
  for (auto passes : {pass_options{}, pass_options::none()})
    for (int threads : {1, 2}) {
      test::each_execution s(g, {.threads = threads, .passes = passes});
      for (int times : {0, 1, 2, 17}) {
        auto const [count, got, same] = s.run({{x, fed}, {limit, tensor(times)}}, n, y, kept);
        EXPECT_EQ(std::int32_t(count), times);
        EXPECT_TRUE(same_bits(same, fed));
        for (int i = 0; i < 100; ++i) {
          auto v = static_cast<float>(i);
          for (int k = 0; k < times; ++k) v = v * 0.5f + static_cast<float>(i);
          EXPECT_EQ(got.at<float>(i), v);
        }
      }
    }
}

TEST(while_loop, variables_that_change_places_keep_their_values) {
  graph g;
  auto const [i, a, b] = while_loop([](auto k, auto, auto) { return k < 5; },
                                    [](auto k, auto x, auto y) { return std::tuple{k + 1, y, x}; }, constant(g, 0),
                                    constant(g, 1.f), constant(g, 2.f));
  test::each_execution s(g);
  auto const [x, y] = s.run(a, b);
  EXPECT_EQ(float(x), 2);
  EXPECT_EQ(float(y), 1);
}

TEST(while_loop, reads_and_updates_variables_in_each_iteration) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  auto const [i, seen] = while_loop([](auto k, auto) { return k < 4; },
                                    [&](auto k, auto sum) {
                                      auto const next = std::tuple{k + 1, sum * 100.f + v};
                                      assign(v, v * 2.f);
                                      return next;
                                    },
                                    constant(g, 0), constant(g, 0.f));
  test::each_execution s(g);
  s.run(initializer(g));
  EXPECT_EQ(float(s.run(seen)), 1020408);
  EXPECT_EQ(s.run(value(v)).at<float>(), 16);
}

TEST(while_loop, the_condition_sees_what_the_body_has_updated) {
  graph g;
  auto const v = variable(constant(g, 0.f), "v");
  auto const count = while_loop([&](auto) { return v < 3.f; },
                                [&](auto k) {
                                  assign_add(v, constant(g, 1.f));
                                  return k + 1;
                                },
                                constant(g, 0));
  test::each_execution s(g);
  s.run(initializer(g));
  EXPECT_EQ(std::int32_t(s.run(count)), 3);
}

TEST(while_loop, an_outside_operation_that_it_waits_on_runs_once_a_step_however_often_it_goes_round) {
  graph g;
  auto const n = placeholder<std::int32_t>(g, "n");
  auto const count = variable(constant(g, 0.f), "count");
  auto const counted = assign_add(count, constant(g, 1.f));
  auto const waits = [&](auto const& f) { return g.after({counted}, f); };
  auto const in_body =
      while_loop([&](auto i) { return i < n; }, [&](auto i) { return waits([&] { return i + 1; }); }, constant(g, 0));
  auto const in_condition =
      while_loop([&](auto i) { return waits([&] { return i < n; }); }, [](auto i) { return i + 1; }, constant(g, 0));
  auto const within = map(
      [&](auto row) {
        return while_loop([&](auto i) { return i < n; }, [&](auto i) { return waits([&] { return i + row; }); },
                          constant(g, 0));
      },
      constant<std::int32_t, 2>(g, {1, 2}));
  test::each_execution s(g);
  s.run(initializer(g));
  float steps = 0;
  for (value y : {value(in_body), value(in_condition), value(within)})
    for (int times : {0, 1, 5, 0}) {
      auto const got = s.run({{n, tensor(times)}}, y);
      EXPECT_EQ(*got.data<std::int32_t>(), times);
      EXPECT_EQ(float(s.run(count)), ++steps) << times << " times";
    }
}

TEST(while_loop, whose_variable_is_taken_away_by_a_reset_fails_where_it_needs_it_and_runs_again) {
  graph g;
  auto const n = placeholder<std::int32_t>(g, "n");
  auto const v = variable(constant(g, 0.f), "v"), w = variable(constant(g, 2.f), "w");
  auto const round = [&](auto const& body) {
    return while_loop([&](auto i, auto) { return i < n; },
                      [&](auto i, auto x) {
                        assign_add(v, constant(g, 1.f));
                        return std::tuple{i + 1, body(x)};
                      },
                      constant(g, 0), constant(g, 0.f));
  };
  auto const updates = std::get<1>(round([](auto x) { return x; }));
  auto const reads = std::get<1>(round([&](auto x) { return x + w; }));
  for (auto wish : test::all_executions) {
    session s(g, {.threads = 2, .execution = wish});
    for (auto const& y : {updates, reads}) {
      s.run(initializer(g));
      std::string said;
      std::thread step([&] { said = sentence([&] { s.run({{n, tensor(1 << 30)}}, y); }); });
      while (s.state().variable("v", of<float>)->read().template at<float>() == 0) std::this_thread::yield();
      s.state().reset();
      step.join();
      EXPECT_NE(said.find("in iteration "), std::string::npos) << said;
      EXPECT_NE(said.find("the variable has no value yet"), std::string::npos) << said;
      s.run(initializer(g));
      EXPECT_EQ(float(s.run({{n, tensor(3)}}, reads)), 6);
      EXPECT_EQ(float(s.run(v)), 3);
    }
  }
}

TEST(while_loop, may_return_every_variable_as_it_came) {
  graph g;
  auto const v = variable(constant(g, 0.f), "v");
  auto const [x, y] = while_loop([&](auto, auto) { return v < 3.f; },
                                 [&](auto a, auto b) {
                                   assign_add(v, constant(g, 1.f));
                                   return std::tuple{a, b};
                                 },
                                 constant(g, 5.f), constant<float, 2>(g, {6, 7}));
  auto const unchanged = fold([](auto state, auto) { return state; }, constant(g, 8.f), constant<float, 2>(g, {1, 2}));
  test::each_execution s(g);
  s.run(initializer(g));
  auto const [a, b, c] = s.run(x, y, unchanged);
  EXPECT_EQ(float(a), 5);
  EXPECT_TRUE(same_bits(b, vector<float>({6, 7})));
  EXPECT_EQ(float(c), 8);
  EXPECT_EQ(s.run(value(v)).at<float>(), 3);
}

TEST(while_loop, nests_in_loops_and_branches) {
  graph g;
  auto const n = placeholder<std::int32_t>(g, "n");
  // The sum over i < n of i·n where i is odd, of the number of j < i otherwise.
  auto const [last, total] =
      while_loop([&](auto i, auto) { return i < n; },
                 [&](auto i, auto sum) {
                   auto const half = cast<std::int32_t>(cast<float>(i) * 0.5f);
                   auto const add = cond(
                       equal(half * 2, i),
                       [&] {
                         return std::get<1>(while_loop([&](auto j, auto) { return j < i; },
                                                       [](auto j, auto c) { return std::tuple{j + 1, c + 1}; },
                                                       constant(g, 0), constant(g, 0)));
                       },
                       [&] { return i * n; });
                   return std::tuple{i + 1, sum + add};
                 },
                 constant(g, 0), constant(g, 0));
  test::each_execution s(g);
  for (int times : {0, 1, 7}) {
    int sum = 0;
    for (int i = 0; i < times; ++i) sum += i % 2 ? i * times : i;
    EXPECT_EQ(std::int32_t(s.run({{n, tensor(times)}}, total)), sum);
  }
}

TEST(while_loop, draws_other_numbers_in_each_iteration_and_the_same_in_each_session) {
  graph g(3);
  auto const rows = map([&](auto row) { return row + uniform<float, 4>(g); },
                        constant<float, 3, 4>(g, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  test::each_execution s(g, {.threads = 1}), again(g, {.threads = 2});
  auto const first = s.run(rows), second = s.run(rows);
  EXPECT_TRUE(same_bits(again.run(rows), first));
  std::set<float> seen;
  for (auto const& t : {first, second})
    for (int i = 0; i < 12; ++i) seen.insert(t.at<float>(i / 4, i % 4));
  EXPECT_EQ(seen.size(), 24);
}

TEST(while_loop, draws_other_numbers_each_time_that_it_asks_the_condition) {
  graph g(3);
  auto const count = while_loop([&](auto k) { return print(uniform<float>(g)) * 0.f + k < 4.f; },
                                [](auto k) { return k + 1.f; }, constant(g, 0.f));
  for (auto wish : test::all_executions) {
    std::vector<std::string> drawn;
    session s(g, {.log = [&](std::string_view line) { drawn.emplace_back(line); }, .execution = wish});
    EXPECT_EQ(float(s.run(count)), 4);
    EXPECT_EQ(drawn.size(), 5);
    EXPECT_EQ(std::set<std::string>(drawn.begin(), drawn.end()).size(), 5);
  }
}

TEST(while_loop, an_endless_one_ends_by_a_deadline_or_a_cancellation) {
  graph g;
  auto const y = while_loop([](auto i) { return equal(i, i); }, [](auto i) { return i; }, constant(g, 0));
  for (auto wish : test::all_executions) {
    session s(g, {.execution = wish});
    EXPECT_NE(sentence([&] { s.run(y, timeout{std::chrono::milliseconds(5)}); }).find("deadline"), std::string::npos);
    std::stop_source stop;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      stop.request_stop();
    });
    EXPECT_NE(sentence([&] { s.run(y, stop.get_token()); }).find("cancelled"), std::string::npos);
    other.join();
  }
}

TEST(while_loop, an_error_names_the_iteration_of_every_loop_around_it) {
  graph g;
  auto const [i, x] =
      while_loop([](auto k, auto) { return k < 3; },
                 [&](auto k, auto v) {
                   auto const [j, w] = while_loop(
                       [](auto m, auto) { return m < 10; },
                       [&](auto m, auto u) {
                         auto const bad = cast<float>(m * k - 7);  // 0 in iteration 7 of the inner loop of iteration 1
                         return std::tuple{m + 1, check_numerics(u + constant(g, 1.f) / bad, "division")};
                       },
                       constant(g, 0), v);
                   return std::tuple{k + 1, w};
                 },
                 constant(g, 0), constant(g, 0.f));
  test::each_execution s(g);
  auto const text = sentence([&] { s.run(x); });
  EXPECT_NE(text.find("node 'loop'"), std::string::npos) << text;
  EXPECT_NE(text.find("in iteration 1, node 'body/loop': in iteration 7, node 'body/body/check_numerics'"),
            std::string::npos)
      << text;
}

TEST(while_loop, an_error_in_the_condition_names_the_iteration_after_which_it_was_asked) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const v = variable(constant(g, 0.f), "v");
  auto const asked = [&](auto unless) {
    return while_loop([=](auto k) { return check_numerics(log(k), "it") < unless(10.f); },
                      [](auto k) { return k - 1.f; }, x);
  };
  auto const pure = asked([&](float most) { return constant(g, most); });
  auto const reading = asked([&](float most) { return v + most; });
  test::each_execution s(g);
  s.run(initializer(g));
  for (auto const& y : {pure, reading}) {
    auto const in = [&](float first) { return sentence([&] { s.run({{x, tensor(first)}}, y); }); };
    EXPECT_NE(in(-1).find("in iteration 0, node 'condition"), std::string::npos) << in(-1);
    EXPECT_NE(in(0.5f).find("in iteration 0, node 'condition"), std::string::npos) << in(0.5f);
    EXPECT_NE(in(2.5f).find("in iteration 2, node 'condition"), std::string::npos) << in(2.5f);
  }
}

TEST(while_loop, refuses_bodies_and_conditions_that_do_not_fit) {
  graph g;
  value const i = constant(g, tensor(0)), x = placeholder(g, of<float, 2>, "x");
  auto const loop = [&](auto condition, auto body) { return sentence([&] { while_loop(condition, body, i, x); }); };
  auto const less_than_two = [&](value k, value) { return less(k, constant(g, tensor(2))); };
  EXPECT_NE(loop([](value k, value) { return k; }, [](value k, value v) { return std::tuple{k, v}; })
                .find("the condition must be a scalar of bool"),
            std::string::npos);
  EXPECT_NE(loop(less_than_two, [](value k, value v) { return std::tuple{v, k}; })
                .find("the body must return the loop variables' own types"),
            std::string::npos);
  EXPECT_EQ(loop(less_than_two, [](value k, value v) { return std::tuple{k, v}; }), "");
}

TEST(while_loop, with_an_extent_that_grows_must_say_so) {
  graph g;
  value const i = constant(g, tensor(0)), x = constant(g, tensor(vector<float>({1})));
  auto const text = sentence([&] {
    while_loop([&](value k, value) { return less(k, constant(g, tensor(2))); },
               [&](value k, value v) { return std::tuple{add(k, constant(g, tensor(1))), concat({v, v}, 0)}; }, i, x);
  });
  EXPECT_NE(text.find("variable 1 was declared as a float32[1] and it returns a float32[2]"), std::string::npos)
      << text;
}

// All ways to run an open loop: with passes and without, in each execution.
template <class F> void in_each_execution(graph& g, F const& f) {
  for (auto wish : {execution::sequential, execution::automatic, execution::tagged})
    for (auto const& passes : {pass_options{.verify = true}, pass_options::none()}) {
      session s(g, {.threads = 2, .passes = passes, .execution = wish});
      f(s);
    }
}

TEST(while_loop, whose_variable_is_declared_open_may_make_it_longer_in_each_iteration) {
  graph g;
  auto const n = placeholder<std::int32_t>(g, "n");
  auto const rows = placeholder<float, unknown, 2>(g, "rows");
  auto const [count, all, same] =
      while_loop([&](auto i, auto, auto) { return i < n; },
                 [&](auto i, auto x, auto k) { return std::tuple{i + 1, concat<0>(x, rows * k), k}; }, constant(g, 0),
                 as<of<float, unknown, 2>>(constant<float, 1, 2>(g, {7, 8})), constant(g, 2.f));
  auto const total = sum(all);
  in_each_execution(g, [&](session& s) {
    for (int times : {3, 0, 1, 5, 3}) {
      auto const [i, x, k, t] =
          s.run({{n, tensor(times)}, {rows, matrix<float>({{1, 2}, {3, 4}})}}, count, all, same, total);
      EXPECT_EQ(std::int32_t(i), times);
      EXPECT_EQ(float(k), 2);
      ASSERT_EQ(x.shape(), (shape{2 * times + 1, 2}));
      EXPECT_EQ(float(t), static_cast<float>(15 + 20 * times));
      for (std::int64_t r = 0; r < 2 * times + 1; ++r)
        EXPECT_EQ(x.template at<float>(r, 1), r == 0 ? 8.f : r % 2 == 1 ? 4.f : 8.f);
    }
  });
}

TEST(while_loop, whose_variable_is_declared_open_may_keep_less_of_it_in_each_iteration) {
  graph g;
  auto const x = placeholder<float, unknown>(g, "x");
  // What is above the mean, until that is nothing more.
  auto const [n, last] =
      while_loop([](auto i, auto v) { return logical_and(i < 100, sum(v * 0.f + 1.f) > 1.5f); },
                 [](auto i, auto v) { return std::tuple{i + 1, gather(v, where(v >= mean(v)))}; }, constant(g, 0), x);
  in_each_execution(g, [&](session& s) {
    auto const [count, left] = s.run({{x, vector<float>({1, 9, 2, 8, 3, 7, 4, 6, 5})}}, n, last);
    EXPECT_EQ(std::int32_t(count), 4);  // 9, 5, 3, 2 and 1 of them
    EXPECT_EQ(left.elements(), 1);
  });
}

TEST(while_loop, whose_open_variable_becomes_another_than_declared_says_which_and_when) {
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  value const last = while_loop(
      [](std::vector<value> const& in) { return less(in[0], value(constant(*in[0].graph, 9))); },
      [](std::vector<value> const& in) {
        return std::vector<value>{in[0] + 1, gather(in[1] - 1.f, where(less(constant(*in[0].graph, 1.f), in[1])))};
      },
      {value(constant(g, 0)), x})[1];
  in_each_execution(g, [&](session& s) {
    auto const text = sentence([&] { s.run({{x, vector<float>({3, 4, 5, 6})}}, last); });
    EXPECT_NE(text.find("node 'loop': in iteration 2: loop: variable 1 was declared as a float32[4] and became a "
                        "float32[3]"),
              std::string::npos)
        << text;
  });
}

TEST(while_loop, an_error_in_an_open_one_names_the_iteration_and_the_node) {
  graph g;
  auto const x = placeholder<float, unknown>(g, "x");
  auto const [n, last] =
      while_loop([](auto i, auto) { return i < 9; },
                 [&](auto i, auto v) {
                   return std::tuple{i + 1, concat<0>(v, check_numerics(log(x - cast<float>(i)), "too low"))};
                 },
                 constant(g, 0), x);
  test::each_execution all(g);
  auto const text = sentence([&] { all.run({{x, vector<float>({3})}}, last); });
  EXPECT_NE(text.find("node 'loop': in iteration 3, node 'body/check_numerics'"), std::string::npos) << text;
  session s(g);
  EXPECT_NE(sentence([&] {
              s.run({{x, vector<float>({100})}}, last, timeout(std::chrono::seconds(0)));
            }).find("ran past its deadline"),
            std::string::npos);
  EXPECT_EQ(s.run({{x, vector<float>({100})}}, last).elements(), 10);
}

TEST(while_loop, whose_extents_stay_may_settle_others_within) {
  graph g;
  auto const x = placeholder<float, 6>(g, "x");
  // Each number above 4 becomes half of it, the others stay.
  auto const [n, last] = while_loop([](auto i, auto) { return i < 4; },
                                    [](auto i, auto v) {
                                      auto const high = where(v > 4.f), low = where(v <= 4.f);
                                      auto const both = concat<0>(gather(v, high) * 0.5f, gather(v, low));
                                      auto const at = concat<0>(high, low);
                                      return std::tuple{i + 1, as<of<float, 6>>(scatter_like(at, both, v))};
                                    },
                                    constant(g, 0), x);
  auto const y = last + x;
  in_each_execution(g, [&](session& s) {
    EXPECT_TRUE(same_bits(s.run({{x, vector<float>({1, 5, 64, 9, 3, 100})}}, y),
                          vector<float>({2, 7.5f, 68, 11.25f, 6, 106.25f})));
  });
}

TEST(while_loop, that_is_open_stands_in_loops_and_branches) {
  graph g;
  auto const counts = placeholder<std::int32_t, unknown>(g, "counts");
  auto const y = map(
      [&](auto most) {
        return cond(
            most < 4,
            [&] {
              auto const [n, grown] = while_loop([&](auto i, auto) { return i < most; },
                                                 [](auto i, auto v) { return std::tuple{i + 1, concat<0>(v, v)}; },
                                                 constant(g, 0), as<of<float, unknown>>(constant<float, 1>(g, {1})));
              return sum(grown);
            },
            [&] { return constant(g, -1.f); });
      },
      counts);
  in_each_execution(g, [&](session& s) {
    EXPECT_TRUE(
        same_bits(s.run({{counts, vector<std::int32_t>({3, 0, 7, 1, 2})}}, y), vector<float>({8, 1, -1, 2, 4})));
  });
}

TEST(while_loop, that_is_open_may_wait_for_a_queue) {
  graph g;
  test::each_execution s(g);
  auto const q = fifo_queue<of<float>>(g, {}, "q");
  auto const x = placeholder<float>(g, "x");
  auto const put = q.enqueue(x);
  for (int i = 1; i <= 7; ++i) s.run({{x, tensor(static_cast<float>(i))}}, put);
  s.run(q.close());
  auto const [n, all] = while_loop([](auto i, auto) { return i < 3; },
                                   [&](auto i, auto v) { return std::tuple{i + 1, concat<0>(v, dequeue_up_to<3>(q))}; },
                                   constant(g, 0), as<of<float, unknown>>(constant<float, 1>(g, {0})));
  EXPECT_TRUE(same_bits(s.run(all), vector<float>({0, 1, 2, 3, 4, 5, 6, 7})));
}

TEST(while_loop, that_is_open_gives_its_memory_back) {
  host_memory memory;
  {
    graph g;
    auto const n = placeholder<std::int32_t>(g, "n");
    auto const row = placeholder<float, 1, 500>(g, "row");
    auto const [i, all] = while_loop([&](auto k, auto) { return k < n; },
                                     [&](auto k, auto v) { return std::tuple{k + 1, concat<0>(tanh(v) * v, row)}; },
                                     constant(g, 0), as<of<float, unknown, 500>>(row));
    auto const total = sum(all);
    session s(g, {.threads = 1, .memory = &memory});
    tensor const fed(dtype::float32, {1, 500});
    std::memset(const_cast<void*>(fed.raw()), 0, fed.bytes());
    s.run({{n, tensor(60)}, {row, fed}}, total);
    // Some values as large as the last one, and not those of all iterations.
    EXPECT_LT(memory.usage().peak, 8 * 60 * fed.bytes());
    s.trim();
    EXPECT_LT(memory.usage().current, 4 * 60 * fed.bytes());
  }
  EXPECT_EQ(memory.usage().current, 0);
}

TEST(while_loop, that_is_open_is_run_by_several_threads_at_once) {
  graph g;
  auto const n = placeholder<std::int32_t>(g, "n");
  auto const [i, all] =
      while_loop([&](auto k, auto) { return k < n; },
                 [](auto k, auto v) { return std::tuple{k + 1, concat<0>(v, reshape<1>(cast<float>(k)))}; },
                 constant(g, 0), as<of<float, unknown>>(constant<float, 1>(g, {0})));
  auto const total = sum(all);
  session s(g, {.threads = 2});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 10; ++k) {
        int const times = t + k;
        EXPECT_EQ(float(s.run({{n, tensor(times)}}, total)), static_cast<float>(times * (times - 1) / 2));
      }
    });
  for (auto& t : threads) t.join();
}

TEST(map, makes_rows_whose_extents_the_body_settles_if_they_are_alike) {
  graph g;
  auto const x = placeholder<float, unknown, 4>(g, "x");
  auto const y = map([](auto row) { return gather(row, where(row > 0.f)); }, x);
  in_each_execution(g, [&](session& s) {
    auto const run = [&](tensor const& t) { return s.run({{x, t}}, y); };
    EXPECT_TRUE(same_bits(run(matrix<float>({{1, -1, 2, -2}, {-3, 3, -4, 4}})), matrix<float>({{1, 2}, {3, 4}})));
    EXPECT_TRUE(same_bits(run(matrix<float>({{1, 2, 3, 4}})), matrix<float>({{1, 2, 3, 4}})));
    EXPECT_EQ(run(tensor(dtype::float32, {0, 4})).shape(), (shape{0, 0}));
    auto const text = sentence([&] { run(matrix<float>({{1, 2, 3, 4}, {1, 2, 3, -4}})); });
    EXPECT_NE(text.find("in iteration 1: loop: the rows that its body makes"), std::string::npos) << text;
    EXPECT_NE(text.find("a float32[4] and a float32[3]"), std::string::npos) << text;
  });
}

TEST(map, takes_as_many_rows_as_a_body_around_it_settles) {
  graph g;
  auto const x = placeholder<float, 3, 4>(g, "x");
  auto const y = map([](auto row) { return sum(map([](auto v) { return v * v; }, gather(row, where(row > 0.f)))); }, x);
  in_each_execution(g, [&](session& s) {
    EXPECT_TRUE(same_bits(s.run({{x, matrix<float>({{1, -1, 2, -2}, {-3, -3, -4, -4}, {1, 2, 3, 4}})}}, y),
                          vector<float>({5, 0, 30})));
  });
}

TEST(fold_right, keeps_an_open_state_and_takes_the_last_row_first) {
  graph g;
  auto const x = placeholder<float, unknown, 1>(g, "x");
  auto const y = fold_right([](auto v, auto row) { return concat<0>(v, row); },
                            as<of<float, unknown>>(constant<float, 1>(g, {0})), x);
  in_each_execution(g, [&](session& s) {
    EXPECT_TRUE(same_bits(s.run({{x, matrix<float>({{1}, {2}, {3}})}}, y), vector<float>({0, 3, 2, 1})));
  });
}

TEST(while_loop, names_the_node_of_the_innermost_body_that_could_not_be_planned) {
  graph g;
  value const x = placeholder(g, type(dtype::float32, {unknown}), "x"),
              rows = constant(g, tensor(vector<float>({1, 2})));
  auto const y = map(
      [&](value row) {
        return sum(while_loop([&](value v) { return less(sum(v), row); },
                              [](value v) { return tagged::switch_(v, less(sum(v), sum(v)))[1]; }, x));
      },
      rows);
  session s(g);
  auto const text = sentence([&] { s.run({{x, vector<float>({1})}}, y); });
  EXPECT_NE(text.find("node 'loop': in a body, node 'body/loop': in a body, node 'body/body/switch"), std::string::npos)
      << text;
}

TEST(while_loop, threads_may_run_it_at_the_same_time) {
  graph g;
  auto const n = placeholder<std::int32_t>(g, "n");
  auto const [i, sum] =
      while_loop([&](auto k, auto) { return k < n; }, [](auto k, auto s) { return std::tuple{k + 1, s + k}; },
                 constant(g, 0), constant(g, 0));
  session s(g, {.threads = 2});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 50; ++k) EXPECT_EQ(std::int32_t(s.run({{n, tensor(t + k)}}, sum)), (t + k) * (t + k - 1) / 2);
    });
  for (auto& t : threads) t.join();
}

TEST(while_loop, takes_no_memory_for_iterations_that_are_done) {
  host_memory memory;
  graph g;
  auto const n = placeholder<std::int32_t>(g, "n");
  auto const x = placeholder<float, 1000>(g, "x");
  auto const [i, y] =
      while_loop([&](auto k, auto) { return k < n; },
                 [](auto k, auto v) { return std::tuple{k + 1, tanh(v) * v + 1.f}; }, constant(g, 0), x);
  session s(g, {.threads = 1, .memory = &memory});
  auto step = s.prepare(inputs(n, x), outputs(y));
  tensor const fed(dtype::float32, {1000});
  step(tensor(2), fed);
  auto const before = memory.usage().peak;
  step(tensor(5000), fed);
  EXPECT_EQ(memory.usage().peak, before);
}

TEST(while_loop, travels_as_bytes) {
  graph g;
  auto const [i, y] =
      while_loop([](auto k, auto) { return k < 6; }, [](auto k, auto v) { return std::tuple{k + 1, v + v}; },
                 constant(g, 0), constant(g, 1.f));
  auto const again = graph_from_bytes(to_bytes(g), all_operations());
  test::each_execution s(*again);
  EXPECT_EQ(s.run(again->find(value(y).name())).at<float>(), 64);
}

// ---- strings

std::string word(char of) { return std::string(40, of); }  // too long to lie in the string itself

TEST(while_loop, says_that_a_lambda_returned_an_empty_handle) {
  graph g;
  auto const said =
      sentence([&] { while_loop([](value) { return value(); }, [](value i) { return i; }, value(constant(g, 1))); });
  EXPECT_NE(said.find("what a lambda returned, is an empty handle"), std::string::npos) << said;
}

TEST(gradients, with_respect_to_a_value_from_inside_a_body_are_refused) {
  graph g;
  value leaked;
  auto const x = placeholder<float>(g, "x");
  auto const y = while_loop([](auto v) { return v < 10.f; },
                            [&](auto v) {
                              leaked = v * x;
                              return v + x * x;
                            },
                            constant(g, 1.f));
  auto const said = sentence([&] { gradients(value(y), {leaked}); });
  EXPECT_NE(said.find("expected a value of the target's body, got one of another body"), std::string::npos) << said;
}

TEST(while_loop, carries_strings_that_change_stay_and_change_places) {
  graph g;
  auto const n = placeholder<std::int32_t>(g, "n");
  auto const x = placeholder<std::string>(g, "x");
  auto const words = placeholder<std::string, 3>(g, "words");
  auto const [i, last, before, kept, turned, other] =
      while_loop([&](auto k, auto...) { return k < n; },
                 [&](auto k, auto s, auto, auto same, auto a, auto b) {
                   return std::tuple{k + 1, gather(words, k), s, same, b, a};
                 },
                 constant(g, 0), x, x, x, words, constant<std::string, 3>(g, {"", "b", "c"}));
  auto const three = vector<std::string>({word('a'), "", word('c')});
  in_each_execution(g, [&](session& s) {
    std::string seen[] = {word('x'), word('x')};
    for (int times = 0; times <= 3; ++times) {
      auto const [a, b, c, d] =
          s.run({{n, tensor(times)}, {x, tensor(word('x'))}, {words, three}}, last, before, kept, turned);
      if (times > 0) seen[1] = std::exchange(seen[0], three.at<std::string>(times - 1));
      EXPECT_EQ(std::string(a), seen[0]);
      EXPECT_EQ(std::string(b), seen[1]);
      EXPECT_EQ(std::string(c), word('x'));
      EXPECT_TRUE(same_bits(d, times % 2 == 0 ? three : vector<std::string>({"", "b", "c"})));
    }
  });
}

TEST(while_loop, whose_strings_become_more_in_each_iteration) {
  graph g;
  auto const x = placeholder<std::string, 1>(g, "x");
  auto const [i, all] = while_loop([&](auto k, auto) { return k < 3; },
                                   [&](auto k, auto s) { return std::tuple{k + 1, concat<0>(s, s)}; }, constant(g, 0),
                                   as<of<std::string, unknown>>(x));
  in_each_execution(g, [&](session& s) {
    auto const got = s.run({{x, vector<std::string>({word('x')})}}, all);
    ASSERT_EQ(got.shape(), shape{8});
    EXPECT_EQ(got.at<std::string>(7), word('x'));
  });
}

TEST(while_loop, that_fails_with_strings_underway_names_the_iteration_and_runs_again) {
  graph g;
  auto const n = placeholder<std::int32_t>(g, "n");
  auto const words = placeholder<std::string, 3>(g, "words");
  auto const rows = map(
      [&](auto row) {
        return std::get<1>(while_loop([&](auto k, auto) { return k < n; },
                                      [&](auto k, auto) { return std::tuple{k + 1, gather(words, k)}; }, constant(g, 0),
                                      row));
      },
      words);
  auto const three = vector<std::string>({word('a'), word('b'), word('c')});
  in_each_execution(g, [&](session& s) {
    auto const run = [&](int times) { return s.run({{n, tensor(times)}, {words, three}}, rows); };
    auto const text = sentence([&] { run(4); });
    EXPECT_NE(text.find("in iteration 3, node 'body/body/gather': "), std::string::npos) << text;
    EXPECT_TRUE(same_bits(run(2), vector<std::string>({word('b'), word('b'), word('b')})));
    EXPECT_TRUE(same_bits(run(0), three));
  });
}

TEST(map, and_the_other_loops_over_rows_take_keep_and_make_strings) {
  graph g;
  auto const words = placeholder<std::string, "n">(g, "words");
  auto const x = placeholder<std::string>(g, "x");
  auto const same = [&](auto state, auto row) { return cond(row == x, [&] { return state; }, [&] { return row; }); };
  auto const twice = map([](auto row) { return stack(row, row); }, words);
  auto const states = scan(same, x, words);
  auto const last = fold(same, x, words), first = fold_right(same, x, words);
  auto const five = vector<std::string>({word('a'), word('x'), "", word('x'), word('d')});
  in_each_execution(g, [&](session& s) {
    auto const [t, a, l, f] = s.run({{words, five}, {x, tensor(word('x'))}}, twice, states, last, first);
    ASSERT_EQ(t.shape(), (shape{5, 2}));
    for (int i = 0; i < 5; ++i) EXPECT_EQ(t.template at<std::string>(i, 1), five.at<std::string>(i));
    EXPECT_TRUE(same_bits(a, vector<std::string>({word('a'), word('a'), "", "", word('d')})));
    EXPECT_EQ(std::string(l), word('d'));
    EXPECT_EQ(std::string(f), word('a'));
    EXPECT_EQ(s.run({{words, tensor(dtype::string, {0})}, {x, tensor(word('x'))}}, twice).shape(), (shape{0, 2}));
  });
}

TEST(while_loop, whose_strings_say_what_is_computed_has_the_gradient_of_that) {
  graph g;
  auto const words = placeholder<std::string, 4>(g, "words");
  auto const x = placeholder<double>(g, "x");
  auto const square = constant(g, std::string("square"));
  auto const [i, last, y] = while_loop([](auto k, auto...) { return k < 4; },
                                       [&](auto k, auto s, auto v) {
                                         auto const next =
                                             cond(s == square, [&] { return v * v; }, [&] { return v * 3.; });
                                         return std::tuple{k + 1, gather(words, k), next};
                                       },
                                       constant(g, 0), square, x);
  auto const [dx] = gradients(y, x);
  in_each_execution(g, [&](session& s) {
    auto const four = vector<std::string>({word('a'), "square", word('b'), "square"});
    auto const [got, slope] = s.run({{words, four}, {x, tensor(2.)}}, y, dx);  // ((x²)·3)²·3
    EXPECT_EQ(double(got), 432);
    EXPECT_EQ(double(slope), 864);
  });
}

}  // namespace
}  // namespace rill
