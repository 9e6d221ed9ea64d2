#include "rill/ops/control/function.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "base/limit.hpp"
#include "base/sentence.hpp"
#include "rill/graph/codec.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/rill.hpp"
#include "run/late_at.hpp"

namespace rill {
namespace {

using values = std::vector<value>;
using namespace std::chrono_literals;

// All passes, and none: then calls run as calls.
auto const both_ways = {pass_options{.verify = true}, pass_options::none()};

auto fibonacci(graph& g) {
  return rill::function<"fib", of<int>(of<int>)>(
      g, [](auto self, auto n) { return cond(n < 2, [&] { return n; }, [&] { return self(n - 1) + self(n - 2); }); });
}
// x to the n-th, n times around.
auto power(graph& g) {
  return rill::function<"power", of<double>(of<double>, of<int>)>(g, [&](auto self, auto x, auto n) {
    return cond(n < 1, [&] { return x * 0. + 1.; }, [&] { return x * self(x, n - 1); });
  });
}

TEST(function, is_called_like_an_operation_and_has_its_results_types) {
  graph g;
  auto const x = placeholder<float, 2>(g, "x"), y = placeholder<float, 2>(g, "y");
  auto const swish = rill::function<"swish", of<float, 2>, of<float, 2>>(
      g, [](auto a, auto b) { return std::tuple{a * sigmoid(b), sum(a)}; });
  auto const [product, total] = swish(x, y);
  static_assert(decltype(product)::static_type == of<float, 2>);
  static_assert(decltype(total)::static_type == of<float>);
  EXPECT_EQ(product.origin().op->name, "call");
  EXPECT_EQ(product.origin().name, "swish");
  for (auto const& passes : both_ways) {
    session s(g, {.passes = passes});
    auto const [p, t] = s.run({{x, vector<float>({1, 2})}, {y, vector<float>({0, 0})}}, product, total);
    EXPECT_TRUE(same_bits(p, vector<float>({0.5f, 1})));
    EXPECT_EQ(float(t), 3);
  }
}

TEST(function, takes_any_extent_for_a_named_axis_in_each_call) {
  graph g;
  auto const scaled = rill::function<"scaled", of<float, "n">, of<float, "n">>(g, [](auto a, auto b) { return a * b; });
  auto const x = constant<float, 2>(g, {1, 2});
  auto const y = constant<float, 3>(g, {1, 2, 3});
  auto const batch = placeholder<float, "batch">(g, "batch");
  auto const a = scaled(x, x);
  auto const b = scaled(y, y);
  auto const c = scaled(batch, batch);
  static_assert(decltype(a)::static_type == of<float, 2>);
  static_assert(decltype(b)::static_type == of<float, 3>);
  static_assert(decltype(c)::static_type == of<float, "batch">);
  for (auto const& passes : both_ways) {
    session s(g, {.passes = passes});
    auto const [p, q, r] = s.run({{batch, vector<float>({5})}}, a, b, c);
    EXPECT_TRUE(same_bits(p, vector<float>({1, 4})));
    EXPECT_TRUE(same_bits(q, vector<float>({1, 4, 9})));
    EXPECT_TRUE(same_bits(r, vector<float>({25})));
  }
  EXPECT_NE(sentence([&] { scaled(value(x), value(y)); })
                .find("have different extents in a function's arguments: in a call of "
                      "'scaled' axis 'n' is 2 and 3"),
            std::string::npos)
      << sentence([&] { scaled(value(x), value(y)); });
}

TEST(function, is_recorded_once_and_kept_once) {
  graph g;
  int recorded = 0;
  auto const x = placeholder<float>(g, "x");
  auto const f = rill::function<"f", of<float>>(g, [&](auto a) {
    ++recorded;
    return exp(a) + a;
  });
  auto const y = f(f(f(x)));
  EXPECT_EQ(recorded, 1);
  EXPECT_EQ(g.size(), 4);  // x and three calls
  ASSERT_EQ(g.functions().defined().size(), 1);
  EXPECT_EQ(called_by(y.origin()), &f.definition());
  EXPECT_EQ(find_function(g, "f").results, std::vector<type>{of<float>});
}

TEST(function, gives_what_it_mentions_from_outside_to_each_call) {
  graph g;
  auto const x = placeholder<float>(g, "x"), w = placeholder<float>(g, "w"), unused = placeholder<float>(g, "unused");
  auto const f = rill::function<"f", of<float>>(g, [&](auto a) {
    neg(unused);
    return a * w;
  });
  auto const y = cond(constant(g, 0.f) < x, [&] { return f(f(x)); }, [&] { return f(w); });
  for (auto const& passes : both_ways) {
    session s(g, {.passes = passes});
    EXPECT_EQ(float(s.run({{x, tensor(3.f)}, {w, tensor(2.f)}}, y)), 12);
    EXPECT_EQ(float(s.run({{x, tensor(-3.f)}, {w, tensor(2.f)}}, y)), 4);
  }
}

TEST(function, calls_itself) {
  graph g;
  auto const n = placeholder<int>(g, "n");
  auto const y = fibonacci(g)(n);
  static_assert(decltype(y)::static_type == of<int>);
  for (auto const& passes : both_ways) {
    session s(g, {.passes = passes});
    for (auto [k, wanted] : {std::pair{0, 0}, {1, 1}, {2, 1}, {15, 610}})
      EXPECT_EQ(int(s.run({{n, tensor(k)}}, y)), wanted);
  }
}

TEST(function, that_calls_itself_hands_on_what_it_takes_from_outside) {
  graph g;
  auto const n = placeholder<int>(g, "n"), step = placeholder<int>(g, "step");
  auto const calls = variable(constant(g, 0), "calls");
  auto const count = rill::function<"count", of<int>(of<int>)>(g, [&](auto self, auto k) {
    assign_add(calls, constant(g, 1));
    return cond(k < 1, [&] { return k; }, [&] { return self(k - 1) + step; });
  });
  auto const y = count(n);
  EXPECT_EQ(y.origin().op->name, "updating_call");
  session s(g);
  s.run(initializer(g));
  EXPECT_EQ(int(s.run({{n, tensor(7)}, {step, tensor(3)}}, y)), 21);
  EXPECT_EQ(s.run(value(calls)).at<int>(), 8);
}

TEST(function, returns_several_values_from_itself_and_nothing_where_it_only_updates) {
  graph g;
  auto const n = placeholder<int>(g, "n");
  auto const v = variable(constant(g, 0.f), "v");
  auto const divided =
      rill::function<"divided", returns(of<int>, of<int>)(of<int>, of<int>)>(g, [&](auto self, auto a, auto b) {
        return cond(
            a < b, [&] { return std::tuple{a * 0, a}; },
            [&] {
              auto const [q, r] = self(a - b, b);
              return std::tuple{q + 1, r};
            });
      });
  auto const [q, r] = divided(n, constant(g, 7));
  auto const add_up = rill::function<"add_up", returns()(of<int>)>(g, [&](auto self, auto k) {
    assign_add(v, constant(g, 2.f));
    cond(k < 1, [] {}, [&] { self(k - 1); });
  });
  operation const added = add_up(n);
  session s(g);
  s.run(initializer(g));
  auto const [a, b] = s.run({{n, tensor(45)}}, q, r);
  EXPECT_EQ(int(a), 6);
  EXPECT_EQ(int(b), 3);
  s.run({{n, tensor(4)}}, added);
  EXPECT_EQ(s.run(value(v)).at<float>(), 10);
}

TEST(function, that_does_not_end_is_an_error_that_names_it_and_the_depth) {
  graph g;
  auto const n = placeholder<int>(g, "n");
  auto const endless = rill::function<"endless", of<int>(of<int>)>(g, [](auto self, auto k) { return self(k + 1); });
  auto const y = endless(n);
  session s(g);
  try {
    s.run({{n, tensor(0)}}, y);
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::resource_exhausted);
    EXPECT_NE(e.message().find("the function 'endless' is called within 1000 calls"), std::string::npos) << e.what();
    EXPECT_LT(e.message().size(), 400);  // not one sentence for each call
  }
  auto const m = rill::function<"shallow", of<int>(of<int>)>(
      g, [](auto self, auto k) { return cond(k < 1, [&] { return k; }, [&] { return self(k - 1) + 1; }); },
      depth_limit{5});
  auto const z = m(n);
  EXPECT_EQ(int(s.run({{n, tensor(4)}}, z)), 4);
  EXPECT_NE(sentence([&] { s.run({{n, tensor(5)}}, z); }).find("within 5 calls"), std::string::npos);
}

TEST(function, may_call_itself_deeper_than_the_stack_of_one_thread) {
  graph g;
  auto const n = placeholder<int>(g, "n");
  auto const down = rill::function<"down", of<int>(of<int>)>(
      g, [](auto self, auto k) { return cond(k < 1, [&] { return k; }, [&] { return self(k - 1) + 1; }); },
      depth_limit{10000});
  auto const y = down(n);
  session s(g, {.threads = 2});
  EXPECT_EQ(int(s.run({{n, tensor(6000)}}, y)), 6000);
  EXPECT_NE(sentence([&] { s.run({{n, tensor(20000)}}, y); }).find("within 10000 calls"), std::string::npos);
  EXPECT_EQ(int(s.run({{n, tensor(20)}}, y)), 20);
}

TEST(function, runs_on_many_threads_at_once) {
  graph g;
  auto const n = placeholder<int>(g, "n");
  auto const fib = fibonacci(g);
  auto const y = fib(n) + fib(n + 1);
  session s(g, {.threads = 2, .execution = execution::parallel});
  std::vector<std::thread> clients;
  std::vector<int> got(4);
  for (int i = 0; i < 4; ++i)
    clients.emplace_back([&, i] { got[static_cast<std::size_t>(i)] = int(s.run({{n, tensor(8 + i)}}, y)); });
  for (auto& c : clients) c.join();
  EXPECT_EQ(got, (std::vector<int>{55, 89, 144, 233}));
}

TEST(function, reads_and_updates_variables_when_a_call_runs) {
  for (auto const& passes : both_ways) {
    graph g;
    auto const v = variable(constant(g, 1.f), "v");
    auto const twice = rill::function<"twice">(g, [&] { return v * 2.f; });
    auto const grow = rill::function<"grow">(g, [&] { assign_add(v, constant(g, 10.f)); });
    auto const before = twice();
    EXPECT_EQ(before.origin().op->name, "reading_call");
    auto const grown = grow();
    auto const after = g.after({grown}, [&] { return twice(); });
    session s(g, {.passes = passes});
    s.run(initializer(g));
    EXPECT_EQ(float(s.run(before)), 2);
    auto const [a, b] = s.run(before, after);
    EXPECT_EQ(float(a), 2);
    EXPECT_EQ(float(b), 22);
    auto const again = grow();
    EXPECT_NE(sentence([&] { s.run(grown, again); }).find("have no order"), std::string::npos);
  }
}

TEST(function, draws_other_numbers_in_each_call_and_the_same_whatever_the_passes) {
  graph g(7);
  auto const noise = rill::function<"noise">(g, [&] { return uniform<float, 4>(g); });
  auto const a = noise(), b = noise();
  session s(g), plain(g, {.passes = pass_options::none()});
  auto const [x, y] = s.run(a, b);
  EXPECT_FALSE(same_bits(x, y));
  auto const [p, q] = plain.run(a, b);
  EXPECT_TRUE(same_bits(x, p));
  EXPECT_TRUE(same_bits(y, q));
  EXPECT_FALSE(same_bits(s.run(a), x));  // the next step
}

TEST(function, that_calls_itself_draws_other_numbers_in_each_of_its_calls) {
  graph g(7);
  using std::int64_t;
  auto const digits = rill::function<"digits", of<int64_t>(of<int>)>(g, [&](auto self, auto n) {
    auto const drawn = uniform<int64_t>(g, 0, 1000);
    return cond(n < 2, [&] { return drawn; }, [&] { return drawn + self(n - 1) * int64_t{1000}; });
  });
  auto const y = digits(constant(g, 4));
  session s(g);
  auto const drawn = s.run(y).item<int64_t>();
  std::set<int64_t> each;
  for (int64_t rest = drawn, i = 0; i < 4; ++i, rest /= 1000) each.insert(rest % 1000);
  EXPECT_EQ(each.size(), 4) << drawn;
}

TEST(function, stands_in_loops_and_in_other_functions) {
  graph g;
  auto const x = placeholder<float, 3>(g, "x");
  auto const f = rill::function<"f", of<float>>(g, [](auto a) { return a * a + 1.f; });
  auto const twice = rill::function<"twice", of<float>>(g, [&](auto a) { return f(f(a)); });
  auto const rows = map([&](auto row) { return twice(row); }, x);
  auto const [n, v] =
      while_loop([](auto i, auto) { return i < 3; }, [&](auto i, auto a) { return std::tuple{i + 1, f(a)}; },
                 constant(g, 0), constant(g, 1.f));
  for (auto const& passes : both_ways) {
    session s(g, {.passes = passes});
    EXPECT_TRUE(same_bits(s.run({{x, vector<float>({0, 1, 2})}}, rows), vector<float>({2, 5, 26})));
    EXPECT_EQ(float(s.run(v)), 26);
  }
}

TEST(function, an_error_says_in_which_function_and_at_which_node) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const f =
      rill::function<"careful", of<float>>(g, [](auto a) { return check_numerics(log(a), "bad logarithm"); });
  auto const y = f(x);
  session s(g, {.passes = pass_options::none()});
  auto const text = sentence([&] { s.run({{x, tensor(-1.f)}}, y); });
  EXPECT_NE(text.find("in the function 'careful', node 'careful/body/check_numerics': "), std::string::npos) << text;
  EXPECT_EQ(float(s.run({{x, tensor(1.f)}}, y)), 0);
}

TEST(function, that_calls_itself_says_once_where_an_error_was) {
  graph g;
  auto const n = placeholder<int>(g, "n");
  auto const first = rill::function<"first", of<int>(of<int>)>(
      g,
      [&](auto self, auto k) {
        auto const twice = [&](auto i, auto sum) { return std::tuple{i + 1, sum + self(k - 1)}; };
        auto const below = [&] {
          return std::get<1>(while_loop([](auto i, auto) { return i < 2; }, twice, constant(g, 0), constant(g, 0)));
        };
        return cond(k < 1, [&] { return k; }, below);
      },
      depth_limit{7});
  auto const second = rill::function<"second", of<int>>(g, [&](auto k) { return first(k) + 1; });
  value const y = first(n), z = second(n);
  session s(g, {.threads = 1, .passes = pass_options::none()});
  auto const text = [&](value v) { return sentence([&] { s.run({{n, tensor(100)}}, v); }); };
  auto const innermost = [](std::string const& depth) {
    return "in the function 'first', " + depth +
           " calls deep, node 'first/body/cond': in the branch for false, node "
           "'first/body/otherwise/loop': in iteration 0, node 'first/body/otherwise/body/first': the function "
           "'first' "
           "is called within 7 calls: its recursion does not end, or needs a higher depth_limit";
  };
  EXPECT_EQ(text(y), "resource_exhausted: node 'first': " + innermost("7"));
  EXPECT_EQ(text(z),
            "resource_exhausted: node 'second': in the function 'second', node 'second/body/first': " + innermost("7"));
}

TEST(function, whose_kernel_waits_holds_no_thread) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 1000});
  auto const take = rill::function<"take", of<float>>(g, [&](auto a) { return a * dequeue(q); });
  auto const both = rill::function<"both", of<float>>(g, [&](auto a) { return std::tuple{take(a), a + take(a)}; });
  auto const x = placeholder<float>(g, "x");
  std::vector<value> all;
  for (int i = 0; i < 50; ++i) {
    auto const [one, other] = both(x);
    all.insert(all.end(), {one, other});
  }
  auto const total = add_n(all);
  auto const [n, looped] = while_loop(
      [](auto i, auto) { return i < 10; },
      [&](auto i, auto t) { return std::tuple{i + 1, cond(i < 5, [&] { return t + take(x); }, [&] { return t; })}; },
      constant(g, 0), constant(g, 0.f));
  auto const put = q.enqueue_many(constant(g, tensor::copy<float>(std::vector<float>(105, 2), {105})));
  for (int threads : {1, 2}) {
    session s(g, {.threads = threads});
    timeout const soon{60s};
    auto const [sum, in_loop] = s.run({{x, tensor(3.f)}}, total, looped, put, soon);
    EXPECT_EQ(sum.item<float>(), 100 * 6 + 50 * 3);
    EXPECT_EQ(float(in_loop), 5 * 6);
    EXPECT_EQ(std::int64_t(s.run(q.size())), 0);
  }
}

TEST(function, lets_a_hundred_steps_wait_on_a_pool_of_one_thread) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 1000});
  auto const take = rill::function<"take", of<float>>(g, [&](auto a) { return a * dequeue(q); });
  auto const x = placeholder<float>(g, "x");
  auto const y = take(x);
  session s(g, {.pool = std::make_shared<pool>(1)});
  std::vector<std::thread> steps;
  std::atomic<float> total = 0;
  for (int i = 0; i < 100; ++i) steps.emplace_back([&] { total += float(s.run({{x, tensor(2.f)}}, y)); });
  while (q.in(s.state())->waiting() != 100) std::this_thread::yield();
  auto const put = q.enqueue(x);
  for (int i = 0; i < 100; ++i) s.run({{x, tensor(1.f)}}, put);
  for (auto& t : steps) t.join();
  EXPECT_EQ(total, 200);
}

TEST(function, whose_kernel_waits_says_and_draws_and_updates_the_same_in_every_execution) {
  graph g(3);
  auto const q = fifo_queue<of<float>>(g, {.capacity = 100});
  auto const v = variable(constant(g, 1.f), "v");
  auto const noisy = rill::function<"noisy", of<float>>(g, [&](auto a) {
    auto const taken = dequeue(q);
    assign(v, v * 2.f + taken);
    return std::tuple{a, taken + uniform<float>(g), constant(g, 5.f)};
  });
  auto const outer = rill::function<"outer", of<float>>(g, [&](auto a) { return std::get<1>(noisy(a)); });
  auto const x = placeholder<float, 3>(g, "x");
  auto const rows = map([&](auto row) { return std::get<1>(noisy(row)) + uniform<float>(g); }, x);
  auto const alone = noisy(constant(g, 7.f));
  auto const [n, sum] = while_loop([](auto i, auto) { return i < 3; },
                                   [&](auto i, auto t) { return std::tuple{i + 1, t + std::get<1>(noisy(t))}; },
                                   constant(g, 0), constant(g, 0.f));
  auto const put = q.enqueue_many(placeholder_with_default(constant<float, 6>(g, {1, 2, 3, 4, 5, 6})));
  auto const deep = outer(constant(g, 1.f));
  std::vector<std::vector<tensor>> all;
  std::vector<std::string> said;
  for (auto [execution, threads] : {std::pair{execution::sequential, 1},
                                    {execution::automatic, 1},
                                    {execution::automatic, 2},
                                    {execution::tagged, 2}}) {
    session s(g, {.threads = threads, .execution = execution});
    s.run(initializer(g));
    s.run(put);
    auto& mine = all.emplace_back();
    mine.push_back(s.run({{x, vector<float>({1, 2, 3})}}, rows));
    mine.push_back(s.run(v));
    auto const [same, drawn, five] = s.run(std::get<0>(alone), std::get<1>(alone), std::get<2>(alone));
    mine.insert(mine.end(), {same, drawn, five, s.run(v)});
    s.run(q.close());
    said.push_back(sentence([&] { s.run(sum); }));
    said.back() += "; " + sentence([&] { s.run(deep); });
  }
  for (auto const& each : all)
    for (std::size_t i = 0; i < each.size(); ++i) EXPECT_TRUE(same_bits(each[i], all[0][i])) << i;
  for (auto const& each : said) EXPECT_EQ(each, said[0]);
  EXPECT_NE(
      said[0].find("in iteration 2, node 'body_1/noisy': in the function 'noisy', node 'noisy/body/queue/dequeue'"),
      std::string::npos)
      << said[0];
  EXPECT_NE(
      said[0].find("in the function 'outer', node 'outer/body/noisy': in the function 'noisy', 2 calls deep, node"),
      std::string::npos)
      << said[0];
}

TEST(function, that_calls_itself_and_waits_holds_the_thread_that_runs_it) {
  graph g;
  auto const q = fifo_queue<of<float>>(g);
  auto const sum_of = rill::function<"sum_of", of<float>(of<int>)>(g, [&](auto self, auto n) {
    return cond(n < 1, [&] { return constant(g, 0.f); }, [&] { return dequeue(q) + self(n - 1); });
  });
  auto const y = sum_of(constant(g, 5));
  auto const put = q.enqueue(constant(g, 2.f));
  session s(g, {.threads = 1});
  std::thread other([&] {
    for (int i = 0; i < 5; ++i) s.run(put);
  });
  EXPECT_EQ(float(s.run(y)), 10);
  other.join();
  auto const text = test::late_at("in the function 'sum_of'", [&](timeout time) { s.run(y, time); });
  EXPECT_NE(text.find("in the function 'sum_of'"), std::string::npos) << text;
  EXPECT_NE(text.find("past its deadline"), std::string::npos) << text;
}

// Steps that may end early carry failures out of deep calls; other steps throw them.
TEST(function, fails_with_the_same_words_whether_or_not_its_step_has_a_deadline) {
  graph g;
  auto const n = placeholder<int>(g, "n");
  auto const x = placeholder<float>(g, "x");
  auto const root = [](auto v) { return check_numerics(log(v), "a logarithm"); };
  auto const direct = rill::function<"direct", of<float>(of<int>, of<float>)>(g, [&](auto self, auto k, auto v) {
    return cond(k < 1, [&] { return root(v); }, [&] { return self(k - 1, v) + 1.f; });
  });
  auto const chosen = rill::function<"chosen", of<float>(of<int>, of<float>)>(g, [&](auto self, auto k, auto v) {
    return cond(
        k < 1, [&] { return root(v); },
        [&] {
          return cond(
              k < 150, [&] { return self(k - 1, v); }, [&] { return self(k - 1, v) * direct(constant(g, 1), abs(v)); });
        });
  });
  auto const looping = rill::function<"looping", of<float>(of<int>, of<float>)>(g, [&](auto self, auto k, auto v) {
    return cond(
        k < 1, [&] { return direct(constant(g, 3), v); },
        [&] {
          auto const [i, sum] = while_loop([](auto j, auto) { return j < 2; },
                                           [&](auto j, auto s) { return std::tuple{j + 1, s + self(k - 1, v)}; },
                                           constant(g, 0), constant(g, 0.f));
          return sum;
        });
  });
  for (auto const& passes : both_ways) {
    session s(g, {.threads = 2, .passes = passes});
    for (auto const& [y, deep] : {std::pair{direct(n, x), 300}, {chosen(n, x), 300}, {looping(n, x), 4}})
      for (int k : {0, 1, 2, 3, deep}) {
        auto const step = [&](float v, auto const&... how) {
          return float(s.run({{n, tensor(k)}, {x, tensor(v)}}, y, how...));
        };
        auto const wanted = sentence([&] { step(-1); });
        EXPECT_NE(wanted.find("a logarithm"), std::string::npos) << wanted;
        EXPECT_EQ(sentence([&] { step(-1, timeout(1h)); }), wanted);
        EXPECT_EQ(step(2, timeout(1h)), step(2));
      }
  }
}

TEST(function, ends_by_a_deadline_however_deep_it_is) {
  graph g;
  auto const n = placeholder<int>(g, "n");
  auto const deep = rill::function<"deep", of<int>(of<int>)>(
      g, [](auto self, auto k) { return cond(k < 1, [&] { return k; }, [&] { return self(k + 1) + 1; }); },
      depth_limit{1'000'000'000});
  auto const y = deep(n);
  session s(g, {.threads = 1});
  auto const text = test::late_at("calls deep", [&](timeout time) { s.run({{n, tensor(1)}}, y, time); });
  EXPECT_NE(text.find("the step ran past its deadline"), std::string::npos) << text;
  EXPECT_LT(text.size(), 400);
  EXPECT_EQ(int(s.run({{n, tensor(0)}}, y, timeout(1h))), 0);
}

TEST(function, defined_twice_is_one_and_another_of_its_name_is_refused) {
  graph g;
  auto const x = placeholder<float>(g, "x"), z = placeholder<float>(g, "z");
  auto const define = [&](float by) {
    return rill::function<"f", of<float>>(
        g, [&](auto a) { return cond(a < by, [&] { return exp(a) * by; }, [&] { return a + x; }); });
  };
  EXPECT_EQ(&define(2).definition(), &define(2).definition());
  EXPECT_NE(sentence([&] { define(3); }).find("the graph has another function 'f'"), std::string::npos);
  EXPECT_NE(
      sentence([&] { rill::function<"f", of<float>>(g, [&](auto a) { return a + z; }); }).find("another function"),
      std::string::npos);
  auto const recursive = [&] { return fibonacci(g); };
  EXPECT_EQ(&recursive().definition(), &recursive().definition());
  EXPECT_EQ(g.functions().defined().size(), 2);
  session s(g);
  EXPECT_EQ(float(s.run({{x, tensor(1.f)}}, define(2)(constant(g, 3.f)))), 4);
}

TEST(function, whose_recording_fails_leaves_the_graph_usable_and_the_name_free) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  value leaked;
  EXPECT_NE(sentence([&] {
              rill::function<"f", of<float>>(g, [&](auto a) {
                leaked = a;
                return variable(a, "v") + 1.f;
              });
            }).find("make it outside"),
            std::string::npos);
  EXPECT_THROW(find_function(g, "f"), error);
  EXPECT_THROW(neg(leaked), error);
  auto const f = rill::function<"f", of<float>>(g, [](auto a) { return -a; });
  session s(g);
  EXPECT_EQ(float(s.run({{x, tensor(2.f)}}, f(x))), -2);
}

TEST(function, refuses_values_from_inside_of_bodies_and_names_that_are_none) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  EXPECT_NE(sentence([&] {
              cond(
                  constant(g, true),
                  [&] {
                    auto const inner = exp(x);
                    return rill::function<"f", of<float>>(g, [&](auto a) { return a + inner; })(x);
                  },
                  [&] { return x; });
            }).find("a value from inside the body"),
            std::string::npos);
  EXPECT_THROW((rill::function<"a/b", of<float>>(g, [](auto a) { return a; })), error);
  EXPECT_THROW(rill::function(g, "", {}, [](values const&) { return values{}; }), error);
  session s(g);
  EXPECT_EQ(float(s.run({{x, tensor(1.f)}}, neg(x))), -1);
}

TEST(function, may_be_defined_and_called_when_a_session_has_run) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  session s(g);
  EXPECT_EQ(float(s.run({{x, tensor(2.f)}}, x * 2.f)), 4);
  auto const f = rill::function<"f", of<float>>(g, [](auto a) { return a * a; });
  auto const y = f(x);
  EXPECT_EQ(float(s.run({{x, tensor(3.f)}}, y)), 9);
  auto const later = rill::function<"g", of<float>>(g, [&](auto a) { return f(a) + y; });
  EXPECT_EQ(float(s.run({{x, tensor(3.f)}}, later(x))), 18);
}

TEST(function, checks_erased_arguments_when_they_are_recorded) {
  graph g;
  value const x = placeholder(g, of<float, 2>, "x"), n = placeholder(g, of<int>, "n");
  auto const f = rill::function<"f", of<float, 2>>(g, [](auto a) { return -a; });
  value const y = f(x);
  EXPECT_EQ(y.type(), (of<float, 2>));
  EXPECT_NE(sentence([&] { f(n); }).find("'f' takes a float32[2] as argument 0 and was given an int32[]"),
            std::string::npos)
      << sentence([&] { f(n); });
  EXPECT_NE(sentence([&] { call(g, "f", x, x); }).find("takes 1 argument, got 2"), std::string::npos);
  EXPECT_NE(sentence([&] { call(g, "h", x); }).find("not_found: the graph has no function 'h'"), std::string::npos);
}

TEST(function, of_types_that_only_the_run_knows_calls_itself_by_its_name) {
  graph g;
  value const n = placeholder(g, of<int>, "n");
  rill::function(g, "fib", {of<int>}, {of<int>}, [&](values const& in) {
    value const k = in[0], two = constant(g, 2), one = constant(g, 1);
    return values{cond(
        less(k, two), [&] { return k; },
        [&] { return add(call(g, "fib", sub(k, one))[0], call(g, "fib", sub(k, two))[0]); })};
  });
  auto const y = call(g, "fib", n);
  ASSERT_EQ(y.size(), 1);
  session s(g);
  EXPECT_EQ(s.run({{n, tensor(10)}}, y[0]).at<int>(), 55);
  EXPECT_NE(sentence([&] {
              rill::function(g, "loop", {of<int>}, [&](values const& in) { return call(g, "loop", in).values; });
            }).find("declare the types that it returns"),
            std::string::npos);
  EXPECT_NE(sentence([&] {
              rill::function(g, "wrong", {of<int>}, {of<float>}, [&](values const& in) { return in; });
            }).find("is declared to return a float32[] and returns an int32[]"),
            std::string::npos);
  EXPECT_NE(sentence([&] {
              rill::function(g, "few", {of<int>}, {of<int>, of<int>}, [&](values const& in) { return in; });
            }).find("is declared to return 2 values and returns 1"),
            std::string::npos);
}

TEST(function, whose_body_does_not_keep_what_its_signature_says_is_refused_when_the_step_is_planned) {
  graph g;
  value const x = placeholder(g, of<float, unknown>, "x"), n = constant(g, 2), one = constant(g, 1);
  auto const define = [&](std::string const& name, type const& argument, type const& returned, auto const& next) {
    rill::function(g, name, {argument, of<int>}, {returned}, [&](values const& in) {
      return values{cond(
          less(in[1], one), [&] { return sum(in[0], extents{}); },
          [&] { return call(g, name, next(in[0]), sub(in[1], one))[0]; })};
    });
    return call(g, name, x, n)[0];
  };
  auto const same = [](value v) { return v; };
  value const more = constant(g, vector<float>({0}));
  auto const longer = [&](value v) { return concat(values{v, more}, 0); };
  value const total = define("total", of<float, unknown>, of<float>, same);
  value const ever_longer = define("ever_longer", of<float, unknown>, of<float>, longer);
  rill::function(g, "three", {of<float, unknown>, of<int>}, {of<float, 3>}, [&](values const& in) {
    return values{
        cond(less(in[1], one), [&] { return in[0]; }, [&] { return call(g, "three", in[0], sub(in[1], one))[0]; })};
  });
  value const three = call(g, "three", x, n)[0];
  EXPECT_EQ(three.type(), (of<float, 3>));
  session s(g);
  auto const run = [&](value y) { return sentence([&] { s.run({{x, vector<float>({1, 2})}}, y); }); };
  EXPECT_EQ(run(total), "");
  EXPECT_NE(run(ever_longer).find("'ever_longer' is called with arguments of more than 64 types"), std::string::npos)
      << run(ever_longer);
  EXPECT_LT(run(ever_longer).size(), 600);
  EXPECT_NE(run(three).find("where its signature says float32[3]"), std::string::npos) << run(three);
  EXPECT_EQ(s.run({{x, vector<float>({1, 2, 3})}}, three).elements(), 3);
}

// Those below the mean, then the others, each sorted: numbers that are alike are.
auto quicksort(graph& g) {
  return rill::function<"sorted", of<float, unknown>(of<float, unknown>)>(g, [&](auto self, auto x) {
    auto const middle = mean(x);
    return cond(
        sum(square(x - middle)) < 0.25f, [&] { return x; },
        [&] { return concat<0>(self(gather(x, where(x < middle))), self(gather(x, where(x >= middle)))); });
  });
}

TEST(function, calls_itself_with_extents_that_its_body_settles) {
  graph g;
  auto const x = placeholder<float, unknown>(g, "x");
  auto const y = quicksort(g)(x);
  for (auto const& passes : both_ways) {
    session s(g, {.threads = 2, .passes = passes});
    for (std::int64_t n : {0, 1, 2, 40, 7, 40}) {
      tensor fed(dtype::float32, {n});
      for (std::int64_t i = 0; i < n; ++i) fed.mutable_data<float>()[i] = static_cast<float>(i * 29 % 97 % 31);
      auto wanted = fed.clone();
      std::sort(wanted.mutable_data<float>(), wanted.mutable_data<float>() + n);
      EXPECT_TRUE(same_bits(s.run({{x, fed}}, y), wanted)) << n;
    }
  }
}

TEST(function, that_calls_itself_with_settled_extents_runs_on_many_threads_at_once) {
  graph g;
  auto const x = placeholder<float, unknown>(g, "x");
  auto const y = quicksort(g)(x);
  session s(g, {.threads = 1});
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 3; ++k)
        EXPECT_TRUE(same_bits(s.run({{x, vector<float>({5, static_cast<float>(t), 9, 3})}}, y),
                              t < 3 ? vector<float>({static_cast<float>(t), 3, 5, 9}) : vector<float>({})));
    });
  for (auto& t : threads) t.join();
}

TEST(function, whose_body_settles_extents_that_its_signature_does_not_allow_is_refused_when_it_runs) {
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  auto const first = rill::function<"high", of<float, 2>(of<float, 4>, of<int>)>(g, [](auto self, auto v, auto n) {
    return cond(n < 1, [&] { return value(gather(v, where(v > 0.f))); }, [&] { return value(self(v, n - 1)); });
  });
  auto const y = first(x, constant(g, 2));
  session s(g);
  EXPECT_TRUE(same_bits(s.run({{x, vector<float>({1, -1, 2, -2})}}, y), vector<float>({1, 2})));
  auto const text = sentence([&] { s.run({{x, vector<float>({1, 1, 2, -2})}}, y); });
  EXPECT_NE(text.find("the function 'high' returns a float32[3] where its signature says float32[2]"),
            std::string::npos)
      << text;
}

TEST(cond, and_while_loop_take_as_many_erased_values_as_the_run_says) {
  graph g;
  value const p = placeholder(g, of<bool>, "p"), x = placeholder(g, of<float>, "x");
  auto const all = cond(p, [&] { return values{x, neg(x)}; }, [&] { return values{neg(x), x}; });
  ASSERT_EQ(all.size(), 2);
  auto const looped =
      while_loop([&](values const& in) { return less(in[0], value(constant(g, 3))); },
                 [&](values const& in) { return values{add(in[0], value(constant(g, 1))), mul(in[1], x)}; },
                 values{constant(g, 0), x});
  ASSERT_EQ(looped.size(), 2);
  session s(g);
  EXPECT_EQ(s.run({{p, tensor(false)}, {x, tensor(2.f)}}, all[0]).at<float>(), -2);
  EXPECT_EQ(s.run({{x, tensor(2.f)}}, looped[1]).at<float>(), 16);
  EXPECT_NE(sentence([&] {
              cond(p, [&] { return values{x, x}; }, [&] { return values{x}; });
            }).find("the branches return different numbers of values"),
            std::string::npos);
  auto const loop = [&](values const& verdict, values const& next) {
    return sentence(
        [&] { while_loop([&](auto const&) { return verdict; }, [&](auto const&) { return next; }, values{x}); });
  };
  EXPECT_NE(loop({p}, {x, x}).find("the body must return the loop variables' own types"), std::string::npos);
  EXPECT_NE(loop({p}, {p}).find("the body must return the loop variables' own types"), std::string::npos);
  EXPECT_NE(loop({x}, {x}).find("the condition must be a scalar of bool"), std::string::npos);
  EXPECT_NE(loop({}, {x}).find("the condition must be a scalar of bool"), std::string::npos);
  EXPECT_NE(sentence([&] {
              while_loop([&](auto const&) { return p; }, [](auto const& in) { return in; }, values{});
            }).find("there are no loop variables"),
            std::string::npos);
}

// ---------------------------------------------------------------------------------------------------------------------
// Derivatives

TEST(function_gradient, is_that_of_the_body_for_arguments_captures_and_variables_again_and_again) {
  graph g;
  auto const x = placeholder<double>(g, "x"), c = placeholder<double>(g, "c");
  auto const w = variable(constant(g, 3.), "w");
  auto const body = [&](auto a) { return exp(a * c) * w + a * a * a; };
  auto const f = rill::function<"f", of<double>>(g, body);
  auto const y = f(x) * f(c), z = body(x) * body(c);
  auto const [dx, dc, dw] = gradients(y, x, c, w);
  auto const [ddx] = gradients(dx * dw, x);
  auto const [ex, ec, ew] = gradients(z, x, c, w);
  auto const [eex] = gradients(ex * ew, x);
  for (auto const& passes : both_ways) {
    session s(g, {.passes = passes});
    s.run(initializer(g));
    auto const got = s.run({{x, tensor(0.7)}, {c, tensor(-0.4)}}, y, dx, dc, dw, ddx);
    auto const wanted = s.run({{x, tensor(0.7)}, {c, tensor(-0.4)}}, z, ex, ec, ew, eex);
    auto const list = [](auto const& all) {
      return std::apply([](auto const&... t) { return std::vector<double>{double(t)...}; }, all);
    };
    auto const a = list(got), b = list(wanted);
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_DOUBLE_EQ(a[i], b[i]) << i;
  }
}

TEST(function_gradient, is_a_function_that_all_calls_share) {
  graph g;
  auto const x = placeholder<float>(g, "x"), z = placeholder<float>(g, "z");
  auto const f = rill::function<"f", of<float>, of<float>>(g, [](auto a, auto b) { return a * b; });
  auto const [dx, dz] = gradients(f(f(x, z), z), x, z);
  EXPECT_EQ(g.functions().defined().size(), 2);
  EXPECT_EQ(find_function(g, "f/gradient").arguments.size(), 3);
  gradients(f(x, z), x);  // with respect to one argument alone
  EXPECT_EQ(find_function(g, "f/gradient/0").results.size(), 1);
  session s(g, {.passes = pass_options::none()});
  auto const [a, b] = s.run({{x, tensor(3.f)}, {z, tensor(5.f)}}, dx, dz);
  EXPECT_EQ(float(a), 25);
  EXPECT_EQ(float(b), 30);
}

TEST(function_gradient, of_one_that_calls_itself_agrees_with_finite_differences_again_and_again) {
  graph g;
  auto const x = placeholder<double>(g, "x");
  auto const n = placeholder<int>(g, "n");
  auto const y = power(g)(x, n);
  auto const [d] = gradients(y, x);
  auto const [dd] = gradients(d, x);
  auto const [ddd] = gradients(dd, x);
  EXPECT_TRUE(find_function(g, "power/gradient").recursive);
  for (auto const& passes : both_ways) {
    session s(g, {.passes = passes});
    auto const at = [&](double v, auto const& what) { return double(s.run({{x, tensor(v)}, {n, tensor(5)}}, what)); };
    EXPECT_DOUBLE_EQ(at(2, y), 32);
    EXPECT_DOUBLE_EQ(at(2, d), 80);
    EXPECT_DOUBLE_EQ(at(2, dd), 160);
    EXPECT_DOUBLE_EQ(at(2, ddd), 240);
    for (double v : {0.3, -1.2}) EXPECT_NEAR(at(v, d), (at(v + 1e-6, y) - at(v - 1e-6, y)) / 2e-6, 1e-6);
  }
}

TEST(function_gradient, of_one_that_calls_itself_twice_reaches_what_it_took_from_outside) {
  graph g;
  auto const x = placeholder<double, 2>(g, "x"), c = placeholder<double, 2>(g, "c");
  auto const w = variable(constant<double, 2>(g, {0.5, 0.25}), "w");
  auto const tree = rill::function<"tree", of<double, 2>(of<double, 2>, of<int>)>(g, [&](auto self, auto a, auto n) {
    return cond(n < 1, [&] { return a * c; }, [&] { return self(a * w, n - 1) + self(tanh(a), n - 1) * c; });
  });
  auto const y = sum(tree(x, constant(g, 3)));
  auto const [dx, dc, dw] = gradients(y, x, c, w);
  session s(g), plain(g, {.passes = pass_options::none()});
  s.run(initializer(g)), plain.run(initializer(g));
  std::vector<double> const at{0.4, -0.7}, with{1.5, 0.8};
  auto const value_at = [&](std::vector<double> a, std::vector<double> b) {
    return double(s.run({{x, vector<double>({a[0], a[1]})}, {c, vector<double>({b[0], b[1]})}}, y));
  };
  std::vector<feed> const fed{{x, vector<double>({at[0], at[1]})}, {c, vector<double>({with[0], with[1]})}};
  auto const [a, b, v] = s.run(fed, dx, dc, dw);
  for (std::size_t i = 0; i < 2; ++i) {
    auto up = at, down = at;
    up[i] += 1e-6, down[i] -= 1e-6;
    EXPECT_NEAR(a.data<double>()[i], (value_at(up, with) - value_at(down, with)) / 2e-6, 1e-7);
    up = down = with;
    up[i] += 1e-6, down[i] -= 1e-6;
    EXPECT_NEAR(b.data<double>()[i], (value_at(at, up) - value_at(at, down)) / 2e-6, 1e-7);
  }
  auto const weights = s.state().variable("w", of<double, 2>);
  auto const moved = [&](double by) {
    weights->assign(tensor(vector<double>({0.5 + by, 0.25})));
    return value_at(at, with);
  };
  EXPECT_NEAR(v.data<double>()[0], (moved(1e-6) - moved(-1e-6)) / 2e-6, 1e-7);
  auto const [p, q, r] = plain.run(fed, dx, dc, dw);
  EXPECT_TRUE(same_bits(a, p) && same_bits(b, q) && same_bits(v, r));
}

TEST(function_gradient, draws_the_numbers_that_the_call_drew) {
  graph g(3);
  auto const x = placeholder<double>(g, "x");
  auto const f = rill::function<"f", of<double>(of<double>, of<int>)>(g, [&](auto self, auto a, auto n) {
    auto const drawn = uniform<double>(g);
    return cond(n < 1, [&] { return a; }, [&] { return drawn * self(a, n - 1); });
  });
  auto const y = f(x, constant(g, 4));
  auto const [dx] = gradients(y, x);
  session s(g);
  for (int step = 0; step < 3; ++step) {
    auto const [a, b] = s.run({{x, tensor(2.)}}, y, dx);
    EXPECT_DOUBLE_EQ(double(a), 2 * double(b));
  }
}

TEST(function_gradient, passes_through_loops_and_branches_around_calls) {
  graph g;
  auto const x = placeholder<double>(g, "x");
  auto const f = rill::function<"f", of<double>>(g, [](auto a) { return a * a * 0.5; });
  auto const [n, y] = while_loop([](auto i, auto) { return i < 3; },
                                 [&](auto i, auto a) { return std::tuple{i + 1, f(a)}; }, constant(g, 0), x);
  auto const z = cond(constant(g, 0.) < x, [&] { return y + f(x); }, [&] { return x; });
  auto const [d] = gradients(z, x);
  for (auto const& passes : both_ways) {
    session s(g, {.passes = passes});  // y = x^8 / 128
    EXPECT_DOUBLE_EQ(double(s.run({{x, tensor(2.)}}, d)), 8 * 128. / 128 + 2);
    EXPECT_DOUBLE_EQ(double(s.run({{x, tensor(-2.)}}, d)), 1);
  }
}

TEST(function_gradient, of_extents_that_only_a_call_knows_has_those_of_the_argument) {
  graph g;
  auto const x = placeholder<double, unknown>(g, "x");
  auto const total =
      rill::function<"total", of<double>(of<double, unknown>, of<int>)>(g, [](auto self, auto a, auto n) {
        return cond(n < 1, [&] { return sum(a); }, [&] { return self(a * a, n - 1); });
      });
  auto const [d] = gradients(total(x, constant(g, 2)), x);
  session s(g);
  EXPECT_TRUE(same_bits(s.run({{x, vector<double>({1, 2, 3})}}, d), vector<double>({4, 32, 108})));
}

TEST(function_gradient, of_a_body_that_settles_extents_is_that_of_what_it_computes) {
  graph g;
  auto const x = placeholder<double, 4>(g, "x");
  auto const high = rill::function<"high", of<double, 4>>(g, [](auto v) {
    auto const some = gather(v, where(v > 0.));
    return sum(some * some * some);
  });
  auto const y = high(x) + high(x * 2.);
  auto const [d] = gradients(y, x);
  auto const [dd] = gradients(sum(d), x);
  for (auto const& passes : both_ways) {
    session s(g, {.passes = passes});
    auto const [first, second] = s.run({{x, vector<double>({1, -1, 2, -2})}}, d, dd);
    EXPECT_TRUE(same_bits(first, vector<double>({27, 0, 108, 0})));
    EXPECT_TRUE(same_bits(second, vector<double>({54, 0, 108, 0})));
  }
}

TEST(function_gradient, is_refused_where_there_is_none) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const v = variable(constant(g, 1.f), "v");
  auto const f = rill::function<"f">(g, [&] {
    auto const now = v * 2.f;
    assign(v, now);
    return now;
  });
  EXPECT_NE(sentence([&] { gradients(f(), v); }).find("reads and updates a variable, here 'v', has no gradient"),
            std::string::npos);
  EXPECT_NE(sentence([&] {
              rill::function<"own", of<float>(of<float>)>(g, [](auto self, auto a) {
                auto const [d] = gradients(self(a), a);
                return d;
              });
            }).find("'own' is differentiated while it is recorded"),
            std::string::npos);
  EXPECT_THROW(gradients(rill::function<"constant">(g, [&] { return constant(g, 1.f); })(), x), error);
}

// ---------------------------------------------------------------------------------------------------------------------
// As bytes, and drawn

TEST(function, travels_as_bytes_and_is_called_by_its_name_there) {
  graph g;
  auto const x = placeholder<double>(g, "x");
  auto const w = variable(constant(g, 3.), "w");
  auto const f = rill::function<"f", of<double>(of<double>, of<int>)>(
      g,
      [&](auto self, auto a, auto n) { return cond(n < 1, [&] { return a * x; }, [&] { return self(a * w, n - 1); }); },
      depth_limit{50});
  auto const y = f(x, constant(g, 2));
  auto const [d] = gradients(y, x);
  auto const bytes = to_bytes(g);
  auto const again = graph_from_bytes(bytes, all_operations());
  EXPECT_EQ(to_bytes(*again), bytes);
  auto const& there = find_function(*again, "f");
  EXPECT_EQ(there.most.calls, 50);
  EXPECT_TRUE(there.recursive);
  EXPECT_EQ(there.effect, effect::reads);
  auto const n = constant(*again, 3);
  auto const z = call(*again, "f", again->find("x"), n)[0];
  auto const dz = gradients(z, values{again->find("x")})[0];
  session s(*again), first(g);
  s.run(initializer(*again)), first.run(initializer(g));
  EXPECT_EQ(s.run({{"x", tensor(2.)}}, y.name()).at<double>(), 36);
  EXPECT_EQ(s.run({{"x", tensor(2.)}}, d.name()).at<double>(), double(first.run({{x, tensor(2.)}}, d)));
  EXPECT_EQ(s.run({{"x", tensor(2.)}}, z).at<double>(), 108);
  EXPECT_EQ(s.run({{"x", tensor(2.)}}, dz).at<double>(), 108);
}

TEST(function, with_any_bit_of_its_bytes_changed_is_read_or_refused) {
  test::allow(300);
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const f = rill::function<"f", of<float>(of<float>)>(
      g, [&](auto self, auto a) { return cond(a < 1.f, [&] { return a; }, [&] { return self(a - x); }); });
  rill::function<"h", of<float>>(g, [&](auto a) { return f(f(a)); })(x);
  auto const bytes = to_bytes(g);
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); bit += 3) {
    auto changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    try {
      auto const again = graph_from_bytes(changed, all_operations());
      EXPECT_EQ(to_bytes(*again), changed);
    } catch (error const&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, bytes.size() / 3);
}

TEST(function, of_bytes_that_calls_what_is_not_there_is_refused) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const first = rill::function<"first", of<float>>(g, [](auto a) { return -a; });
  rill::function<"other", of<float>>(g, [&](auto a) { return first(a); })(x);
  auto bytes = to_bytes(g);
  auto const refusal = [&](std::string const& from, std::string const& to, std::size_t which) {
    auto changed = bytes;
    std::size_t at = changed.find(from);
    for (; which > 0; --which) at = changed.find(from, at + 1);
    changed.replace(at, from.size(), to);
    return sentence([&] { graph_from_bytes(changed, all_operations()); });
  };
  EXPECT_NE(refusal("first", "fxrst", 0).find("a node calls the function 'first', which is not in the graph"),
            std::string::npos)
      << refusal("first", "fxrst", 0);
  EXPECT_NE(refusal("first", "other", 0).find("two functions have one name"), std::string::npos)
      << refusal("first", "other", 0);
}

TEST(function, nests_calls_only_so_deep_that_no_stack_ends) {
  graph g;
  auto const nest = [&](int depth) {
    for (int i = 0; i < depth; ++i)
      rill::function(g, "f" + std::to_string(i), {of<float>}, [&](values const& in) {
        if (i == 0) return values{neg(in[0])};
        auto const below = "f" + std::to_string(i - 1);
        return values{call(g, below, call(g, below, in)[0])[0]};  // 2^i calls if all are counted
      });
  };
  EXPECT_EQ(sentence([&] { nest(128); }), "");
  EXPECT_NE(sentence([&] { nest(129); }).find("'f128' nests bodies and calls more than 128 deep"), std::string::npos);
  EXPECT_EQ(to_bytes(*graph_from_bytes(to_bytes(g), all_operations())), to_bytes(g));
  EXPECT_EQ(call(g, "f127", constant(g, 1.f))[0].type(), of<float>);
  auto const y = call(g, "f10", constant(g, 1.f))[0];
  for (auto const& passes : both_ways) {
    session s(g, {.passes = passes});
    EXPECT_EQ(s.run(y).at<float>(), 1);
  }
}

TEST(function, takes_and_returns_strings) {
  std::string const far(40, 'f'), near(40, 'n');  // too long to lie in the string itself
  graph g;
  auto const x = placeholder<std::string>(g, "x"), y = placeholder<std::string>(g, "y");
  auto const n = placeholder<int>(g, "n");
  auto const turned = rill::function<"turned", of<std::string>, of<std::string>>(
      g, [](auto a, auto b) { return std::tuple{b, a, stack(a, b)}; });
  auto const [first, second, all] = turned(x, y);
  auto const taken = rill::function<"taken", of<std::string>(of<int>, of<std::string>, of<std::string>)>(
      g, [](auto self, auto k, auto a, auto b) {
        return cond(k < 1, [&] { return a; }, [&] { return self(k - 1, b, a); });
      });
  auto const deep = taken(n, x, y);
  for (auto const& passes : both_ways)
    for (auto wish : {execution::sequential, execution::tagged}) {
      session s(g, {.threads = 2, .passes = passes, .execution = wish});
      for (int k = 0; k < 4; ++k) {
        auto const [a, b, c, d] =
            s.run({{n, tensor(k)}, {x, tensor(far)}, {y, tensor(near)}}, first, second, all, deep);
        EXPECT_EQ(std::string(a), near);
        EXPECT_EQ(std::string(b), far);
        EXPECT_TRUE(same_bits(c, vector<std::string>({far, near})));
        EXPECT_EQ(std::string(d), k % 2 == 0 ? far : near);
      }
    }
}

TEST(function, is_the_same_if_its_nodes_lie_beside_the_same_nodes) {
  graph g;
  auto const w = variable(constant(g, 1.f), "w"), v = variable(constant(g, 1.f), "v");
  auto const define = [&](auto const& beside) {
    return rill::function<"f", of<float>>(g, [&](auto a) {
      value const first = g.near(beside, [&] { return value(exp(a)); });
      return value(first + g.near(first, [&] { return value(a * a); }));
    });
  };
  auto const f = define(w);
  EXPECT_EQ(&define(w).definition(), &f.definition());
  EXPECT_NE(sentence([&] { define(v); }).find("the graph has another function 'f'"), std::string::npos);
}

TEST(function, of_which_a_body_has_the_first_call_asks_for_what_is_asked_for_there) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  graph::rule const ones = [](auto const&, value, value dy) { return std::vector<value>{dy}; };
  cond(
      x < 1.f,
      [&] {
        return g.on("/device:gpu:1", [&] {
          return g.with_gradient("exp", ones,
                                 [&] { return rill::function<"f", of<float>>(g, [&](auto a) { return exp(a); })(x); });
        });
      },
      [&] {
        return g.near(neg(x), [&] { return rill::function<"h", of<float>>(g, [](auto a) { return exp(a); })(x); });
      });
  std::size_t seen = 0;
  for (auto const* f : g.functions().defined())
    for (auto const& n : f->body->nodes) {
      if (n.op != &definition<ops::exp_op>()) continue;
      ++seen;
      EXPECT_EQ(n.device, f->name == "f" ? "/device:gpu:1" : "");
      EXPECT_EQ(n.rule >= 0, f->name == "f");
      EXPECT_EQ(n.colocated, "") << "a function is near no node of a body";
    }
  EXPECT_EQ(seen, 2u);
  EXPECT_EQ(value(neg(x)).origin().device, "");
}

}  // namespace
}  // namespace rill
