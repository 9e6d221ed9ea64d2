#include "rill/run/plan/schedule.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <set>
#include <stop_token>
#include <thread>

#include "rill/rill.hpp"
#include "rill/run/compiled_step.hpp"

namespace rill {
namespace {

// An operation that ends only when so many calls of it have begun.
struct meeting {
  std::atomic<int> arrived{0};
  int wanted = 2;
} meet;
struct meet_op {
  static constexpr std::string_view name = "meet";
  static constexpr std::int8_t arity = 1;
  static constexpr type infer(no_attributes, type const& x) { return x; }
  static kernel cpu(kernel_request const&) {
    return kernel([](kernel_call const& call) {
      ++meet.arrived;
      auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (meet.arrived < meet.wanted) {
        if (std::chrono::steady_clock::now() > end) throw error(code::deadline_exceeded, "nobody else came");
        std::this_thread::yield();
      }
      *call.out<float>(0) = *call.in<float>(0) + 1;
    });
  }
};

// An operation that fails, after a while.
struct fail_op {
  static constexpr std::string_view name = "fail";
  static constexpr std::int8_t arity = 1;
  static constexpr type infer(no_attributes, type const& x) { return x; }
  static kernel cpu(kernel_request const&) {
    return kernel([](kernel_call const& call) {
      if (*call.in<float>(0) < 0) throw error(code::out_of_range, "below zero");
      *call.out<float>(0) = *call.in<float>(0);
    });
  }
};

tensor filled(std::int64_t n, float with) {
  tensor t(dtype::float32, {n});
  std::fill_n(t.mutable_data<float>(), n, with);
  return t;
}

session_options with(int threads, execution g) {
  session_options o;
  o.threads = threads;
  o.execution = g;
  o.passes = pass_options::none();
  return o;
}

TEST(schedule, independent_nodes_run_at_the_same_time) {
  graph g;
  auto const x = placeholder(g, of<float, 1>, "x");
  auto const sum = add(value(record<meet_op>(value(x))), value(record<meet_op>(value(neg(x)))));
  session s(g, with(2, execution::parallel));
  for (int i = 0; i < 50; ++i) {
    meet.arrived = 0;
    EXPECT_EQ(s.run({{x, filled(1, 3)}}, sum).at<float>(0), 2);
  }
}

TEST(schedule, a_loop_inside_a_node_gets_the_threads_that_have_no_node) {
  graph g;
  auto const x = placeholder(g, {dtype::float32, {512, 512}}, "x");
  auto const y = matmul(matmul(x, x), x);
  tensor fed(dtype::float32, {512, 512});
  std::fill_n(fed.mutable_data<float>(), 512 * 512, .01f);
  session forked(g, with(4, execution::parallel)), straight(g, with(1, execution::sequential));
  EXPECT_TRUE(same_bits(forked.run({{x, fed}}, y), straight.run({{x, fed}}, y)));
}

TEST(schedule, the_first_error_is_the_steps_and_the_step_can_be_run_again) {
  graph g;
  auto const x = placeholder(g, of<float, 1>, "x");
  std::vector<value> ends;
  for (int i = 0; i < 20; ++i) ends.push_back(exp(value(record<fail_op>(value(i == 7 ? neg(x) : add(x, x))))));
  auto const sum = add_n(ends);
  session s(g, with(3, execution::parallel));
  for (int i = 0; i < 20; ++i) {
    try {
      s.run({{x, vector<float>({1})}}, sum);
      FAIL();
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::out_of_range);
      EXPECT_EQ(e.node(), "fail_7");
    }
    EXPECT_EQ(s.run({{x, vector<float>({0})}}, sum).at<float>(0), 20);
  }
}

TEST(schedule, a_deadline_and_a_cancellation_end_the_step) {
  graph g;
  auto const x = placeholder(g, of<float, 100>, "x");
  value y = x;
  for (int i = 0; i < 100; ++i) y = tanh(y);
  session s(g, with(2, execution::parallel));
  std::stop_source stop;
  stop.request_stop();
  auto const fed = filled(100, 0);
  try {
    s.run({{x, fed}}, y, stop.get_token());
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::cancelled);
  }
  try {
    s.run({{x, fed}}, y, timeout{std::chrono::nanoseconds(1)});
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::deadline_exceeded);
  }
}

struct counting : observer {
  std::atomic<bool> inside{false};
  std::multiset<std::string> seen;
  void node_ran(node_record const& r) override {
    EXPECT_FALSE(inside.exchange(true));
    std::this_thread::yield();  // whoever does not wait comes now
    seen.emplace(r.name);
    inside = false;
  }
};

TEST(schedule, the_observer_is_told_of_each_node_once_and_one_at_a_time) {
  graph g;
  auto const x = placeholder(g, of<float, 8>, "x");
  std::vector<value> ends;
  for (int i = 0; i < 30; ++i) ends.push_back(tanh(neg(x)));
  auto const sum = add_n(ends);
  session s(g, with(4, execution::parallel));
  counting who;
  s.run({{x, filled(8, 1)}}, sum, observe(who));
  EXPECT_EQ(who.seen.size(), 61);
  EXPECT_EQ(std::set<std::string>(who.seen.begin(), who.seen.end()).size(), 61);
}

TEST(schedule, what_waits_midway_in_a_step_goes_on_from_there) {
  graph g;
  auto const q = fifo_queue<of<float>>(g, {}, "q");
  auto const v = variable(constant(g, 3.f), "v");
  std::vector<value> taken;
  for (int i = 0; i < 5; ++i) taken.push_back(q.dequeue());
  auto const before = neg(value(v));
  auto const total = add_n(taken);
  value const product = value(v) * total;
  auto const puts = placeholder<float>(g, "x");
  auto const put = q.enqueue(puts);
  for (int ready = 0; ready <= 5; ++ready)
    for (int threads : {1, 2}) {
      session s(g, with(threads, execution::automatic));
      s.run(initializer(g));
      for (int i = 0; i < ready; ++i) s.run({{puts, tensor(1.f)}}, put);
      std::thread other([&] {
        while (q.in(s.state())->size() != 0) std::this_thread::yield();
        for (int i = ready; i < 5; ++i) s.run({{puts, tensor(1.f)}}, put);
      });
      counting who;
      auto const [negative, times] = s.run(before, product, observe(who));
      other.join();
      EXPECT_EQ(negative.template item<float>(), -3);
      EXPECT_EQ(times.template item<float>(), 15);
      EXPECT_EQ(who.seen.size(), std::set<std::string>(who.seen.begin(), who.seen.end()).size());
      EXPECT_EQ(who.seen.size(), 9);
    }
}

TEST(schedule, the_observer_is_told_of_nodes_inside_bodies_one_at_a_time_too) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  std::vector<value> ends;
  for (int i = 0; i < 4; ++i)
    ends.push_back(while_loop([](auto v) { return v < 300.f; }, [](auto v) { return v + 1.f; }, x));
  value const sum = add_n(ends);
  session s(g, with(4, execution::parallel));
  counting who;
  EXPECT_EQ(s.run({{x, tensor(0.f)}}, sum, observe(who)).at<float>(), 1200);
  EXPECT_EQ(who.seen.count("body/add"), 300);
  EXPECT_EQ(who.seen.count("loop_3"), 1);
}

TEST(schedule, training_gives_the_same_bits_in_either_execution_on_any_number_of_threads) {
  graph g(5);
  auto const x = placeholder(g, of<float, 16, 8>, "x");
  auto const label = placeholder(g, of<std::int32_t, 16>, "label");
  auto const hidden = relu(dense(x, 12, "first")), other = tanh(dense(x, 12, "second"));
  auto const loss = mean(softmax_cross_entropy(dense(hidden * other, 4, "last"), label));
  auto const train = adam{}.minimize(loss);
  tensor images(dtype::float32, {16, 8}), labels(dtype::int32, {16});
  for (int i = 0; i < 128; ++i) images.mutable_data<float>()[i] = static_cast<float>(i % 13) / 13 - .4f;
  for (int i = 0; i < 16; ++i) labels.mutable_data<std::int32_t>()[i] = i % 4;
  auto const trained = [&](int threads, execution execution, pass_options passes) {
    session_options o;
    o.threads = threads, o.execution = execution, o.passes = passes;
    session s(g, o);
    s.run(initializer(g));
    std::vector<float> losses;
    for (int i = 0; i < 20; ++i) losses.push_back(s.run({{x, images}, {label, labels}}, loss, train).data<float>()[0]);
    return losses;
  };
  auto const expected = trained(1, execution::sequential, {});
  for (auto passes : {pass_options{}, pass_options::none()})
    for (int threads : {1, 2, 4}) EXPECT_EQ(trained(threads, execution::parallel, passes), expected);
}

// Random graphs of operations that share memory and of variables that are read and updated.
TEST(schedule, random_graphs_give_the_same_bits_in_either_execution) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    graph g;
    auto const x = placeholder(g, {dtype::float32, {33}}, "x");
    std::vector<value> values{x};
    std::vector<operation> updates;
    std::vector<variable_value> variables;
    for (int i = 0; i < 4; ++i) {
      variables.push_back(variable(constant(g, filled(33, .5f)), std::string(1, static_cast<char>('a' + i))));
      values.push_back(variables.back());
    }
    auto const any = [&] { return values[random() % values.size()]; };
    for (int i = 0; i < 60; ++i) switch (random() % 6) {
        case 0:
          values.push_back(neg(any()));
          break;
        case 1:
          values.push_back(mul(any(), any()));
          break;
        case 2:
          values.push_back(tanh(any()));
          break;
        case 3:
          values.push_back(broadcast_like(mean(any()), x));
          break;
        case 4:
          values.push_back(reshape(reshape(any(), {3, 11}), {33}));
          break;
        default:
          values.push_back(sub(any(), any()));
      }
    for (auto const& v : variables) updates.push_back(assign_add(v, tanh(any())));
    auto const run = [&](int threads, execution execution) {
      session s(g, with(threads, execution));
      s.run(initializer(g));
      std::vector<tensor> all;
      tensor fed(dtype::float32, {33});
      for (int i = 0; i < 33; ++i) fed.mutable_data<float>()[i] = static_cast<float>(i) / 33;
      for (int i = 0; i < 3; ++i) {
        auto results = s.run({{x, fed}}, values.back(), values[values.size() - 9], group(g, updates));
        all.push_back(std::get<0>(results)), all.push_back(std::get<1>(results));
      }
      for (auto const& v : s.state().variables()) all.push_back(v->read());
      return all;
    };
    auto const expected = run(1, execution::sequential);
    for (int threads : {1, 2, 3}) {
      auto const got = run(threads, execution::parallel);
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(got[i], expected[i])) << seed << " " << i;
    }
  }
}

TEST(schedule, happens_by_itself_only_where_it_outweighs_a_hand_over) {
  graph g;
  auto const x = placeholder(g, of<float, 64, 64>, "x");
  std::vector<value> products;
  for (int i = 0; i < 40; ++i) products.push_back(matmul(tanh(value(x)), x));
  session two(g, with(2, execution::automatic)), one(g, with(1, execution::automatic));
  tensor const fed(dtype::float32, {64, 64});
  EXPECT_NE(two.explain({{x, fed}}, value(add_n(products))).find("in parallel execution"), std::string::npos);
  EXPECT_EQ(one.explain({{x, fed}}, value(add_n(products))).find("in parallel execution"), std::string::npos);
  EXPECT_EQ(two.explain({{x, fed}}, add(products[0], products[1])).find("in parallel execution"), std::string::npos);
  std::vector<feed> const feeds{{x, fed}};
  EXPECT_NE(two.explain(std::span(feeds), value(add_n(products))).find("in parallel execution"), std::string::npos);
}

TEST(schedule, does_not_count_the_reading_of_variables_which_copies_nothing) {
  graph g;
  std::vector<value> read;
  for (int i = 0; i < 8; ++i) read.push_back(variable(constant(g, filled(65536, 1)), "v" + std::to_string(i)));
  session s(g, with(2, execution::automatic));
  s.run(initializer(g));
  EXPECT_EQ(s.explain({}, value(add_n(read))).find("in parallel execution"), std::string::npos);
}

TEST(schedule, an_update_waits_for_those_who_look_so_that_nothing_is_copied) {
  graph g;
  auto const v = variable(constant(g, filled(100000, 1)), "v");
  value const twice = add(v, v), update = assign_add(v, tanh(value(v)));
  host_memory memory;
  auto o = with(2, execution::parallel);
  o.memory = &memory;
  session s(g, o);
  s.run(initializer(g));
  auto const sum = rill::sum(twice);
  s.run(sum, operation(update));
  auto const before = memory.usage().total;
  for (int i = 0; i < 20; ++i) s.run(sum, operation(update));
  EXPECT_EQ(memory.usage().total - before, 0);
}

/// A graph of so many nodes, each made of those shortly before it, into which comes what queues hand out; with `loop`,
/// by way of a loop in which a kernel waits.
value mesh(graph& g, std::size_t nodes, std::size_t queues, bool loop) {
  std::mt19937 random(9);
  std::vector<value> all{constant(g, vector<std::int32_t>({1, 2, 3, 4}))};
  auto const one = [&] { return all[all.size() - 1 - random() % std::min<std::size_t>(all.size(), 30)]; };
  for (std::size_t i = 1, next = 0; i < nodes; ++i) {
    if (next < queues && i >= (next + 1) * nodes / (queues + 2)) {
      auto const q = fifo_queue<of<std::int32_t, 4>>(g, {}, "q" + std::to_string(next++));
      auto const came =
          loop && next == 2
              ? value(std::get<1>(while_loop([](auto k, auto) { return k < 3; },
                                             [&](auto k, auto x) { return std::tuple{k + 1, x + q.dequeue()}; },
                                             constant(g, 0), as<of<std::int32_t, 4>>(one()))))
              : value(q.dequeue());
      all.push_back(add(one(), came));
    } else all.push_back(i % 3 == 0 ? add(one(), one()) : neg(one()));
  }
  return all.back();
}

TEST(schedule, a_large_step_shares_memory_whatever_comes_first) {
  constexpr std::size_t queues = 12;
  for (bool loop : {false, true}) {
    graph g;
    auto const y = mesh(g, 5000, queues, loop);
    std::vector<operation> puts;
    for (std::size_t q = 0; q < queues; ++q)
      puts.push_back(fifo_queue<of<std::int32_t, 4>>(g, {}, "q" + std::to_string(q))
                         .enqueue(constant(g, vector<std::int32_t>({5, 6, 7, static_cast<std::int32_t>(q)}))));
    auto const fill = [&](session& s, std::size_t q) {
      for (int times = loop && q == 1 ? 3 : 1; times > 0; --times) s.run(puts[q]);
    };
    session all_there(g, with(1, execution::sequential));
    for (std::size_t q = 0; q < queues; ++q) fill(all_there, q);
    tensor const expected = all_there.run(y);
    session s(g, with(3, execution::automatic));
    run_request r;
    s.executor().add_fetch(r, y);
    auto const& plan = s.executor().find(r)->plan();
    EXPECT_TRUE(plan.forks());
    EXPECT_LT(plan.memory.arena, 5000 * 64 / 5);
    std::mt19937 random(2);
    for (int round = 0; round < 10; ++round) {
      std::vector<std::size_t> order(queues);
      for (std::size_t q = 0; q < queues; ++q) order[q] = q;
      std::shuffle(order.begin(), order.end(), random);
      std::thread giver([&] {
        for (auto q : order) {
          fill(s, q);
          if (random() % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
      });
      tensor const made = s.run(y);
      giver.join();
      EXPECT_TRUE(same_bits(made, expected)) << round;
    }
  }
}

TEST(schedule, a_chain_that_waits_twice_needs_no_more_memory_than_one_that_does_not) {
  graph g;
  auto const q = fifo_queue<of<float, 1000>>(g, {});
  value const x = placeholder(g, of<float, 1000>, "x"), first = q.dequeue(), second = q.dequeue();
  value y = first;
  for (int i = 0; i < 5000; ++i) y = add(y, i == 2500 ? second : x);
  session s(g, with(2, execution::automatic));
  run_request r;
  s.executor().add_feed(r, x, filled(1000, 1));
  s.executor().add_fetch(r, value(neg(y)));
  auto const step = s.executor().find(r);
  EXPECT_TRUE(step->plan().forks());
  EXPECT_LE(step->plan().memory.arena, 2 * 4096u);
}

}  // namespace
}  // namespace rill
