#include "rill/run/tagged/walk.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "base/limit.hpp"
#include "base/sentence.hpp"
#include "ops/run.hpp"
#include "rill/rill.hpp"
#include "run/late_at.hpp"
#include "run/wait/late_wait.hpp"
#include "run/wait/many_steps.hpp"

namespace rill {
namespace {

session_options tagged_on(int threads, std::shared_ptr<container> state = {}) {
  session_options o;
  o.threads = threads, o.execution = execution::tagged, o.state = std::move(state);
  return o;
}

// Runs a graph in sequential execution and with tags on 1, 2 and 4 threads, each session twice.
template <class Check> void in_both_executions(graph& g, Check const& check) {
  for (auto [execution, threads] :
       {std::pair{execution::sequential, 1}, {execution::tagged, 1}, {execution::tagged, 2}, {execution::tagged, 4}}) {
    SCOPED_TRACE(execution == execution::sequential ? "straight" : "tagged on " + std::to_string(threads));
    session s(g, {.threads = threads, .execution = execution});
    for (int again = 0; again < 2; ++again) check(s);
  }
}

TEST(tagged_walk, runs_a_loop_of_two_variables) {
  graph g;
  auto const w = constant<float, 2, 2>(g, {1, 1, 0, 1});
  auto const [n, v] =
      while_loop([](auto i, auto) { return i < 10; }, [&](auto i, auto x) { return std::tuple{i + 1, matmul(x, w)}; },
                 constant(g, 0), constant<float, 2, 2>(g, {1, 0, 0, 1}), parallel_iterations(10));
  in_both_executions(g, [&](session& s) {
    auto const [count, power] = s.run(n, v);
    EXPECT_EQ(std::int32_t(count), 10);
    EXPECT_TRUE(same_bits(power, matrix<float>({{1, 10}, {0, 1}})));
  });
}

TEST(tagged_walk, takes_rows_of_strings) {
  graph g;
  auto const names = placeholder<std::string, "n">(g, "names");
  auto const wanted = placeholder<std::string>(g, "wanted");
  auto const found = map([&](auto name) { return cast<float>(name == wanted); }, names);
  std::string const late(40, 'z');  // too long to lie in the string itself
  in_both_executions(g, [&](session& s) {
    auto const in = vector<std::string>({"a", late, "", late, "b"});
    EXPECT_TRUE(same_bits(s.run({{names, in}, {wanted, tensor(late)}}, found), vector<float>({0, 1, 0, 1, 0})));
    EXPECT_EQ(s.run({{names, tensor(dtype::string, {0})}, {wanted, tensor(late)}}, found).elements(), 0);
  });
}

TEST(tagged_walk, runs_the_branch_that_is_chosen) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y = cond(x > 0.f, [&] { return log(x); }, [&] { return x * 2.f; });
  in_both_executions(g, [&](session& s) {
    EXPECT_EQ(float(s.run({{x, tensor(1.f)}}, y)), 0.f);
    EXPECT_EQ(float(s.run({{x, tensor(-3.f)}}, y)), -6.f);
  });
}

TEST(tagged_walk, runs_loops_in_loops) {
  graph g;
  auto const m = placeholder<float, "rows", 3>(g, "m");
  auto const sums =
      map([](auto row) { return fold([](auto a, auto b) { return a * 2.f + b; }, sum(row) * 0.f, row); }, m);
  in_both_executions(g, [&](session& s) {
    EXPECT_TRUE(same_bits(s.run({{m, matrix<float>({{1, 2, 3}, {4, 5, 6}})}}, sums), vector<float>({11, 32})));
    EXPECT_EQ(s.run({{m, tensor(dtype::float32, {0, 3})}}, sums).shape(), shape{0});
  });
}

TEST(tagged_walk, draws_the_random_numbers_of_the_sequential_execution) {
  graph g;
  auto const x = placeholder<float, 5>(g, "x");
  auto const noisy = map([&](auto v) { return map([&](auto) { return v + normal<float, 3>(g); }, x); }, x);
  auto const backwards =
      fold_right([&](auto sum, auto v) { return sum * 0.5f + v * uniform<float>(g); }, constant(g, 0.f), x);
  tensor const fed = vector<float>({1, 2, 3, 4, 5});
  session straight(g, {.threads = 1, .execution = execution::sequential}), with_tags(g, tagged_on(2));
  for (int step = 0; step < 3; ++step) {
    auto const [a, b] = straight.run({{x, fed}}, noisy, backwards);
    auto const [c, d] = with_tags.run({{x, fed}}, noisy, backwards);
    EXPECT_TRUE(same_bits(a, c));
    EXPECT_TRUE(same_bits(b, d));
  }
}

TEST(tagged_walk, updates_happen_in_the_order_of_iterations) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  auto const x = placeholder<float, "n">(g, "x");
  auto const seen = map(
      [&](auto row) {
        auto const u = assign(v, v * 2.f + row);
        return cond(row > 2.f, [&] { return assign_add(v, row); }, [&] { return u * 1.f; });
      },
      x, parallel_iterations(32));
  std::vector<tensor> all;
  for (auto [execution, threads] :
       {std::pair{execution::sequential, 1}, {execution::tagged, 1}, {execution::tagged, 3}}) {
    session s(g, {.threads = threads, .execution = execution});
    s.run(initializer(g));
    all.push_back(s.run({{x, vector<float>({1, 2, 3, 4, 1, 5})}}, seen));
    all.push_back(s.run(v));
  }
  for (std::size_t i = 2; i < all.size(); ++i) EXPECT_TRUE(same_bits(all[i], all[i % 2])) << i;
}

TEST(tagged_walk, a_body_comes_after_the_effects_of_the_condition) {
  graph g;
  auto const v = variable(constant(g, 1.), "v");
  auto const q = fifo_queue<of<double>>(g, {.capacity = 10});
  auto const put = q.enqueue_many(constant<double, 4>(g, {1, 2, 3, 4}));
  auto const seen = [&](auto taken) {
    return while_loop(
        [&](auto i, auto) {
          assign_add(v, taken());
          return i < 3;
        },
        [&](auto i, auto s) { return std::tuple{i + 1, s * 10. + v}; }, constant(g, 0), constant(g, 0.));
  };
  auto const counted = std::get<1>(seen([&] { return constant(g, 1.); }));
  auto const waited = std::get<1>(seen([&] { return q.dequeue(); }));
  in_both_executions(g, [&](session& s) {
    s.run(initializer(g));
    EXPECT_EQ(double(s.run(counted)), 234);
    EXPECT_EQ(double(s.run(v)), 5) << "and after the last iteration";
    s.run(put);
    EXPECT_EQ(double(s.run(waited)), 691);  // 6, 8 and 11
    EXPECT_EQ(double(s.run(v)), 15);
  });
}

TEST(tagged_walk, differentiates_as_the_sequential_execution_does) {
  graph g;
  auto const x = placeholder<double, 4>(g, "x"), w = placeholder<double, 4>(g, "w");
  auto const [n, y] = while_loop([](auto i, auto) { return i < 6; },
                                 [&](auto i, auto v) {
                                   auto const next =
                                       cond(sum(v) > 0.0, [&] { return tanh(v * w); }, [&] { return v + w; });
                                   return std::tuple{i + 1, next};
                                 },
                                 constant(g, 0), x);
  auto const [dx, dw] = gradients(sum(y * y), x, w);
  auto const [ddw] = gradients(sum(dx), w);
  tensor const at = vector<double>({0.3, -0.2, 0.5, 0.1}), by = vector<double>({0.7, 1.1, -0.4, 0.9});
  session straight(g, {.threads = 1, .execution = execution::sequential});
  auto const [a, b, c] = straight.run({{x, at}, {w, by}}, dx, dw, ddw);
  in_both_executions(g, [&](session& s) {
    auto const [d, e, f] = s.run({{x, at}, {w, by}}, dx, dw, ddw);
    EXPECT_TRUE(same_bits(a, d));
    EXPECT_TRUE(same_bits(b, e));
    EXPECT_TRUE(same_bits(c, f));
  });
}

// Tells how many of its kernels were inside at once; each stays until there are two, for as long as it has patience.
struct meeting_op {
  static constexpr std::string_view name = "meeting";
  static constexpr std::int8_t arity = 1;
  static constexpr type infer(no_attributes, type const& x) { return x; }
  static cost work(no_attributes, std::span<type const>, std::span<type const>) { return {1e6, 0}; }
  static kernel cpu(kernel_request const&) {
    return kernel([](kernel_call const& call) {
      std::unique_lock lock(mutex);
      most = std::max(most, ++inside);
      wake.notify_all();
      wake.wait_for(lock, patience, [] { return most > 1; });
      --inside;
      *call.out<float>(0) = *call.in<float>(0) * 2.f;
    });
  }
  static inline std::mutex mutex;
  static inline std::condition_variable wake;
  static inline int inside = 0, most = 0;
  static inline std::chrono::milliseconds patience{};
};

TEST(tagged_walk, iterations_run_at_once_as_far_as_they_may) {
  auto const most_at_once = [](std::int64_t parallel, std::chrono::milliseconds patience) {
    graph g;
    auto const x = placeholder<float, "n">(g, "x");
    auto const y = map([](auto row) { return record<meeting_op>(row); }, x, parallel_iterations(parallel));
    session s(g, tagged_on(2));
    meeting_op::most = 0, meeting_op::patience = patience;
    EXPECT_TRUE(same_bits(s.run({{x, vector<float>({1, 2, 3})}}, y), vector<float>({2, 4, 6})));
    return meeting_op::most;
  };
  EXPECT_EQ(most_at_once(1, std::chrono::milliseconds(100)), 1);
  EXPECT_EQ(most_at_once(2, std::chrono::seconds(30)), 2);
}

TEST(tagged_walk, waits_in_a_body_hold_no_thread) {
  // One thread; the loop waits for elements that another step of the same thread's session puts into the queue later.
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 100}, "q"),
             out = fifo_queue<of<float>>(g, {.capacity = 100}, "out");
  auto const x = placeholder<float>(g, "x");
  auto const taken = while_loop([](auto i) { return i < 5; },
                                [&](auto i) {
                                  out.enqueue(q.dequeue() * 2.f);
                                  return i + 1;
                                },
                                constant(g, 0));
  auto const put = while_loop([](auto i) { return i < 5; },
                              [&](auto i) {
                                q.enqueue(x + cast<float>(i));
                                return i + 1;
                              },
                              constant(g, 0));
  session s(g, {.threads = 1});
  auto const [a, b] = s.run({{x, tensor(1.f)}}, taken, put);  // in one step: neither may hold the only thread
  EXPECT_EQ(std::int32_t(a), 5);
  EXPECT_EQ(std::int32_t(b), 5);
  for (float wanted : {2.f, 4.f, 6.f, 8.f, 10.f}) EXPECT_EQ(float(s.run(out.dequeue())), wanted);
}

TEST(tagged_walk, a_kernel_that_begins_to_wait_when_the_step_has_failed_is_told) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y = while_loop([](auto i, auto) { return i < 1; },
                            [](auto i, auto a) {
                              auto const early = record<test::early_op>(a), bad = record<test::failing_op>(a);
                              return std::tuple(i + 1, early + bad + record<test::late_op>(a));
                            },
                            constant(g, 0), x);
  session s(g, tagged_on(3));
  for (int i = 0; i < 20; ++i) {
    test::late_wait::reset();
    auto const text = sentence([&] { s.run({{x, 1.f}}, std::get<1>(y), timeout(std::chrono::seconds(60))); });
    EXPECT_NE(text.find("it fails"), std::string::npos) << text;
  }
}

TEST(tagged_walk, a_kernel_that_begins_to_wait_when_the_step_is_to_end_is_told) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const y =
      while_loop([](auto i, auto) { return i < 1; },
                 [](auto i, auto a) { return std::tuple(i + 1, record<test::ended_op>(a)); }, constant(g, 0), x);
  for (int threads : {1, 2}) {
    session s(g, tagged_on(threads));
    for (int i = 0; i < 20; ++i) {
      test::late_wait::reset();
      std::stop_source stop;
      std::thread other([&] {
        test::late_wait::wait_for(test::late_wait::late_runs);
        stop.request_stop();
      });
      auto const stopped = sentence([&] { s.run({{x, 1.f}}, std::get<1>(y), stop.get_token()); });
      EXPECT_NE(stopped.find("cancelled"), std::string::npos) << stopped;
      other.join();
      auto const late = sentence([&] { s.run({{x, 1.f}}, std::get<1>(y), timeout(std::chrono::milliseconds(2))); });
      EXPECT_NE(late.find("past its deadline"), std::string::npos) << late;
    }
  }
}

TEST(tagged_walk, steps_that_fail_beside_a_wait_all_end) {
  test::allow(300);
  graph g;
  auto const q = fifo_queue<of<float>>(g, {}, "q");
  auto const x = placeholder<float>(g, "x");
  auto const y = while_loop(
      [](auto i, auto) { return i < 2; },
      [&](auto i, auto a) { return std::tuple(i + 1, q.dequeue() + check_numerics(log(a), "of the logarithm")); },
      constant(g, 0), x);
  session s(g, tagged_on(2));
  for (int i = 0; i < test::many_steps; ++i)
    ASSERT_NE(sentence([&] {
                s.run({{x, -1.f}}, std::get<1>(y), timeout(std::chrono::seconds(60)));
              }).find("of the logarithm"),
              std::string::npos);
  EXPECT_EQ(q.in(s.state())->waiting(), 0u);
}

TEST(tagged_walk, a_step_that_waits_in_a_loop_ends_by_a_deadline_a_cancellation_or_an_error_elsewhere) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 2}, "q");
  auto const x = placeholder<float>(g, "x");
  auto const sum_of = while_loop([](auto i, auto) { return i < 3; },
                                 [&](auto i, auto sum) { return std::tuple{i + 1, sum + q.dequeue()}; }, constant(g, 0),
                                 constant(g, 0.f));
  auto const total = std::get<1>(sum_of);
  auto const bad = check_numerics(log(x), "bad");
  for (int threads : {1, 2}) {
    session s(g, {.threads = threads});
    EXPECT_NE(sentence([&] { s.run(total, timeout{std::chrono::milliseconds(5)}); }).find("deadline"),
              std::string::npos);
    std::stop_source stop;
    std::thread other([&] {
      while (q.in(s.state())->waiting() == 0) std::this_thread::yield();
      stop.request_stop();
    });
    EXPECT_NE(sentence([&] { s.run(total, stop.get_token()); }).find("cancelled"), std::string::npos);
    other.join();
    auto const text = sentence([&] { s.run({{x, tensor(-1.f)}}, total, bad, timeout{std::chrono::seconds(20)}); });
    EXPECT_NE(text.find("check_numerics"), std::string::npos) << text;
    // No ghost waits: the three elements that come now go to who asks now.
    for (float e : {1.f, 2.f}) s.run({{x, tensor(e)}}, q.enqueue(x));
    std::thread late([&] { s.run({{x, tensor(4.f)}}, q.enqueue(x)); });
    EXPECT_EQ(float(s.run(total)), 7);
    late.join();
  }
}

TEST(tagged_walk, a_deadline_says_in_which_iteration_it_ended_the_step) {
  graph g;
  auto const endless = while_loop([](auto i) { return i >= 0; }, [](auto i) { return (i + 1) * 0; }, constant(g, 0));
  for (auto execution : {execution::sequential, execution::tagged}) {
    session s(g, {.threads = 1, .execution = execution});
    auto const text = test::late_at("in iteration ", [&](timeout time) { s.run(endless, time); });
    EXPECT_NE(text.find("past its deadline"), std::string::npos) << text;
    EXPECT_NE(text.find("in iteration "), std::string::npos) << text;
  }
}

TEST(tagged_walk, keeps_memory_for_iterations_that_run_at_once_alone) {
  graph g;
  auto const n = placeholder<std::int32_t>(g, "n");
  auto const x = placeholder<float, 1024>(g, "x");
  auto const [i, y] =
      while_loop([&](auto k, auto) { return k < n; }, [](auto k, auto v) { return std::tuple{k + 1, tanh(v) + v}; },
                 constant(g, 0), x, parallel_iterations(4));
  tensor const fed(dtype::float32, {1024});
  auto const peak = [&](int times) {
    host_memory memory;
    session s(g, {.threads = 1, .memory = &memory, .execution = execution::tagged});
    s.run({{n, tensor(times)}, {x, fed}}, y);
    return memory.usage().peak;
  };
  EXPECT_EQ(peak(20), peak(2000));
}

TEST(tagged_walk, a_step_without_memory_for_an_iteration_fails_and_the_session_goes_on) {
  struct scarce final : allocator {
    void* acquire(std::size_t bytes) noexcept override {
      return static_cast<std::size_t>(usage().current) + bytes > most
                 ? nullptr
                 : ::operator new(bytes, std::align_val_t{buffer_alignment}, std::nothrow);
    }
    void release(void* p, std::size_t) noexcept override { ::operator delete(p, std::align_val_t{buffer_alignment}); }
    std::size_t most = std::size_t{1} << 30;
  } memory;
  graph g;
  auto const x = placeholder<float, 1024>(g, "x");
  auto const [i, y] = while_loop([](auto k, auto) { return k < 6; },
                                 [](auto k, auto v) { return std::tuple{k + 1, tanh(v) + v}; }, constant(g, 0), x);
  auto const fed = tensor::copy<float>(std::vector<float>(1024), {1024});
  session s(g, {.threads = 1, .memory = &memory, .execution = execution::tagged});
  auto step = s.prepare(inputs(x), outputs(y));
  memory.most = static_cast<std::size_t>(memory.usage().current) + 20'000;
  EXPECT_NE(sentence([&] { step(fed); }).find("no memory"), std::string::npos);
  memory.most = std::size_t{1} << 30;
  EXPECT_TRUE(same_bits(step(fed), fed));
}

TEST(tagged_walk, calls_in_a_function_that_waits_lie_as_deep_as_in_the_sequential_execution) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {.capacity = 100});
  auto const n = placeholder<int>(g, "n");
  auto const count = function<"count", of<float>(of<int>)>(
      g,
      [&](auto self, auto k) {
        return cond(k < 1, [&] { return constant(g, 0.f); }, [&] { return self(k - 1) + 1.f; });
      },
      depth_limit{3});
  auto const taken = function<"taken", of<float>>(g, [&](auto a) { return q.dequeue() + count(n) + a; });
  auto const y = map([&](auto row) { return taken(row); }, constant<float, 2>(g, {1, 2}));
  auto const put = q.enqueue_many(constant<float, 2>(g, {10, 20}));
  in_both_executions(g, [&](session& s) {
    s.run(put);
    EXPECT_TRUE(same_bits(s.run({{n, tensor(1)}}, y), vector<float>({12, 23})));
    auto const text = sentence([&] { s.run({{n, tensor(2)}}, y); });
    EXPECT_NE(text.find("in the function 'count', 3 calls deep"), std::string::npos) << text;
    EXPECT_NE(text.find("'count' is called within 3 calls"), std::string::npos) << text;
  });
}

TEST(tagged_walk, threads_may_run_it_at_the_same_time) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  auto const y = map([](auto v) { return cond(v > 2.f, [&] { return v * v; }, [&] { return v - 1.f; }); }, x);
  tensor const fed = vector<float>({0, 1, 2, 3, 4, 5, 6, 7}), wanted = vector<float>({-1, 0, 1, 9, 16, 25, 36, 49});
  session s(g, tagged_on(2));
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t)
    all.emplace_back([&] {
      for (int k = 0; k < 50; ++k) EXPECT_TRUE(same_bits(s.run({{x, fed}}, y), wanted));
    });
  for (auto& t : all) t.join();
}

TEST(tagged_walk, an_observer_is_told_of_the_nodes_of_every_iteration) {
  struct counting final : observer {
    void node_ran(node_record const& r) override { times += r.operation == "tanh"; }
    int times = 0;
  } watch;
  graph g;
  auto const y =
      while_loop([](auto i, auto) { return i < 7; }, [](auto i, auto v) { return std::tuple{i + 1, tanh(v)}; },
                 constant(g, 0), constant(g, 1.f));
  session s(g, {.threads = 2, .passes = pass_options::none(), .execution = execution::tagged});
  s.run(std::get<1>(y), observe(watch));
  EXPECT_EQ(watch.times, 7);
}

TEST(tagged_walk, lets_go_of_strings_where_a_step_ends_early) {
  std::string const late(40, 'z');  // too long to lie in the string itself
  graph g;
  auto const q = fifo_queue<of<std::string>>(g, {.capacity = 10});
  auto const put = q.enqueue_many(constant<std::string, 3>(g, {late, late, late}));
  auto const n = placeholder<std::int32_t>(g, "n");
  auto const words = placeholder<std::string, 4>(g, "words");
  auto const [i, last, seen] = while_loop([&](auto k, auto...) { return k < n; },
                                          [&](auto k, auto s, auto) {
                                            auto const taken = q.dequeue();
                                            auto const other = [&] { return gather(words, k - k / 4 * 4); };
                                            return std::tuple{k + 1, cond(taken == s, other, [&] { return taken; }), s};
                                          },
                                          constant(g, 0), constant(g, std::string()), constant(g, std::string()));
  tensor const four = vector<std::string>({late, "y", late, "w"});
  for (int threads : {1, 3}) {
    session s(g, tagged_on(threads));
    for (int again = 0; again < 2; ++again) {
      s.run(put);
      std::stop_source stop;
      std::thread other([&] {
        while (q.in(s.state())->waiting() == 0) std::this_thread::yield();
        stop.request_stop();
      });
      auto const text = sentence([&] { s.run({{n, tensor(100)}, {words, four}}, last, stop.get_token()); });
      EXPECT_NE(text.find("cancelled"), std::string::npos) << text;
      other.join();
      s.run(put);
      auto const [a, b] = s.run({{n, tensor(3)}, {words, four}}, last, seen);
      EXPECT_EQ(std::string(a), late);
      EXPECT_EQ(std::string(b), "y");
    }
  }
}

}  // namespace
}  // namespace rill
