#include "rill/run/session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "base/forked.hpp"
#include "base/sentence.hpp"
#include "rill/base/pool.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/array/as.hpp"
#include "rill/ops/array/concat.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/fill.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/check/print.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/control/function.hpp"
#include "rill/ops/control/while_loop.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/matrix/matmul.hpp"
#include "rill/ops/queues/queue.hpp"
#include "rill/ops/random/normal.hpp"
#include "rill/ops/state/assign.hpp"
#include "rill/ops/sum/sum.hpp"
#include "rill/run/queue_runner.hpp"
#include "rill/state/container.hpp"
#include "run/late_at.hpp"

namespace rill {
namespace {

enum class failure { none, error, exception, number, memory };

/// Passes x on, or fails as `how` says: what a user's operation may do.
struct fragile_op {
  static constexpr std::string_view name = "fragile";
  static constexpr std::int8_t arity = 1;
  static constexpr rill::effect effect = rill::effect::reads;
  static inline failure how = failure::none;
  static constexpr type infer(no_attributes, type const& x) { return x; }
  static kernel cpu(kernel_request const& r) {
    return kernel([n = elements(r.outputs[0].shape())](kernel_call const& call) {
      if (how == failure::error) throw error(code::out_of_range, "too much");
      if (how == failure::exception) throw std::runtime_error("oh no");
      if (how == failure::number) throw 7;
      if (how == failure::memory) throw std::bad_alloc();
      std::copy_n(call.in<float>(0), n, call.out<float>(0));
    });
  }
};

/// Waits until its step is cancelled or too late, and tells that it has begun to.
struct waiting_op {
  static constexpr std::string_view name = "waiting";
  static constexpr std::int8_t arity = 0;
  static constexpr std::size_t outputs = 0;
  static constexpr rill::effect effect = rill::effect::writes;
  static constexpr std::array<type, 0> infer(no_attributes, std::span<type const>) { return {}; }
  static inline std::atomic<bool> begun = false;
  static kernel cpu(kernel_request const&) {
    return kernel([](kernel_call const& call) {
      for (begun = true;;) {
        call.step.check();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
};

// ---- what comes back

TEST(session, runs_the_first_program_of_the_guide) {
  graph g;
  auto const a = constant<float, 2, 2>(g, {1, 2, 3, 4});
  auto const x = placeholder<float, 2, "n">(g, "x");
  auto const y = matmul(a, x) * 0.5f;
  session s(g);
  auto const result = s.run({{x, matrix<float>({{1}, {2}})}}, y);
  static_assert(std::same_as<decltype(result), tensor_of<of<float, 2, "n">> const>);
  EXPECT_TRUE(same_bits(result, matrix<float>({{2.5f}, {5.5f}})));
}

TEST(session, gives_typed_erased_and_named_results_in_order_and_nothing_for_operations) {
  graph g;
  auto const x = constant(g, 3.f);
  value const y = neg(value(x));
  auto const nothing = no_op(g, "nothing");
  session s(g);
  auto const [a, b, c] = s.run(x, nothing, y, "neg:0");
  float const number = a;
  EXPECT_EQ(number, 3);
  EXPECT_EQ(b.item<float>(), -3);
  EXPECT_TRUE(same_bits(b, c));
  static_assert(std::is_void_v<decltype(s.run(nothing))>);
  s.run(nothing);
}

TEST(session, takes_the_outputs_of_a_prepared_step_and_vectors_of_values) {
  graph g;
  auto const x = placeholder<float, 2>(g, "x");
  auto const v = variable<float, 2>(g, "v");
  auto const put = assign(v, x);
  value const sum = x + x, product = x * x;
  session s(g);
  auto const fed = vector<float>({1, 3});
  auto const [a, b] = s.run({{x, fed}}, outputs(x + x, operation(put), product));
  static_assert(std::same_as<decltype(a), tensor_of<of<float, 2>> const>);
  EXPECT_EQ(a.at<float>(1), 6);
  EXPECT_EQ(b.at<float>(1), 9);
  auto const all = s.run({{x, fed}}, std::vector{sum, product, sum}, operation(put), timeout(std::chrono::hours(1)));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].at<float>(0), 1);
  EXPECT_TRUE(same_bits(all[0], all[2]));
  s.run({{x, fed}}, std::vector<operation>{operation(put)});
  EXPECT_EQ(s.run(std::vector<value>{v})[0].at<float>(1), 3);
}

TEST(session, sets_and_gets_variables_without_a_step) {
  graph g;
  auto const v = variable<float, "n">(g, "v");
  auto const twice = v + v;
  session s(g);
  auto t = vector<float>({1, 2});
  s.set(v, t);
  t.mutable_data<float>()[0] = 9;  // the variable has a copy
  EXPECT_EQ(s.get(v).at<float>(0), 1);
  EXPECT_EQ(s.run(twice).at<float>(1), 4);
  s.set(variable_value(v), vector<float>({1, 2, 3}));
  EXPECT_EQ(s.get(variable_value(v)).elements(), 3);
  EXPECT_EQ(s.steps(), 1u);
}

TEST(session, says_what_was_wrong_with_a_variable_that_is_set) {
  graph g, other;
  auto const v = variable<float, 2>(g, "v");
  auto const x = placeholder<float, 2>(g, "x");
  session s(g);
  auto const refuses = [](code c, char const* words, auto f) {
    try {
      f();
      ADD_FAILURE() << words;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), c);
      EXPECT_NE(e.message().find(words), std::string::npos) << e.what();
    }
  };
  refuses(code::failed_precondition, "has no value", [&] { s.get(v); });
  refuses(code::invalid_argument, "float32[3]", [&] { s.set(variable_value(v), vector<float>({1, 2, 3})); });
  refuses(code::invalid_argument, "empty tensor handle", [&] { s.set(variable_value(v), tensor()); });
  refuses(code::invalid_argument, "an empty handle", [&] { s.get(variable_value()); });
  refuses(code::invalid_argument, "belongs to another graph",
          [&] { s.get(variable_value(variable<float>(other, "w"))); });
  refuses(code::invalid_argument, "a value of the graph", [&] { s.get(variable_value{x}); });
}

TEST(session, fetches_any_number_of_names) {
  graph g;
  constant(g, tensor(1.f), "a");
  constant(g, tensor(2.f), "b");
  session s(g);
  auto const all = s.run(std::initializer_list<feed>{}, std::vector<std::string>{"a", "b:0", "a"});
  ASSERT_EQ(all.size(), 3);
  EXPECT_EQ(all[1].item<float>(), 2);
  EXPECT_TRUE(s.run(std::initializer_list<feed>{}, std::vector<std::string>{}).empty());
}

TEST(session, feeds_any_value_in_place_of_what_it_would_compute) {
  graph g;
  value const c = constant(g, 1.f), y = neg(c), z = square(y);
  session s(g);
  EXPECT_EQ(s.run({{y, tensor(5.f)}}, z).item<float>(), 25);
  EXPECT_EQ(s.run({{c, tensor(3.f)}}, z).item<float>(), 9);
  EXPECT_EQ(s.run(z).item<float>(), 1);
}

TEST(session, reads_a_scalar_bool_as_one) {
  graph g;
  auto const v = variable(g, of<float>, "v");
  session s(g);
  auto const ready = is_initialized(v);
  EXPECT_FALSE(s.run(ready));
  s.run(assign(v, constant(g, 1.f)));
  EXPECT_TRUE(s.run(ready));
}

// ---- bad feeds and fetches

TEST(session, says_what_was_wrong_with_a_feed) {
  graph g, other;
  auto const x = placeholder<float, "n", 2>(g, "x");
  value const y = neg(value(x));
  no_op(g, "nothing");
  value const foreign = constant(other, 1.f);
  session s(g);
  auto const with = [&](feed f) { return error_of([&] { s.run({f}, y); }); };
  EXPECT_EQ(with({value(x), matrix<float>({{1, 2, 3}})}).node(), "x");
  EXPECT_EQ(with({value(x), matrix<double>({{1, 2}})}).code(), code::invalid_argument);
  EXPECT_EQ(with({value(x), tensor(1.f)}).code(), code::invalid_argument);
  EXPECT_EQ(with({value(x), tensor()}).message(), "it was fed an empty tensor handle");
  EXPECT_EQ(with({"y", tensor(1.f)}).code(), code::not_found);
  EXPECT_EQ(with({"x:1", tensor(1.f)}).code(), code::not_found);
  EXPECT_EQ(with({foreign, tensor(1.f)}).message(), "a fed value belongs to another graph");
  EXPECT_EQ(with({"nothing", tensor(1.f)}).code(), code::invalid_argument);
  auto const fine = matrix<float>({{1, 2}});
  EXPECT_EQ(error_of([&] { s.run({{value(x), fine}, {"x", fine}}, y); }).message(), "it was fed twice");
  EXPECT_EQ(error_of([&] { s.run(y); }).node(), "x");
  EXPECT_EQ(s.run({{value(x), fine}}, y).at<float>(0, 1), -2);
}

TEST(session, says_what_was_wrong_with_a_fetch) {
  graph g, other;
  constant(g, tensor(1.f), "c");
  no_op(g, "nothing");
  value const foreign = constant(other, 1.f);
  session s(g);
  EXPECT_EQ(error_of([&] { s.run("d"); }).code(), code::not_found);
  EXPECT_EQ(error_of([&] { s.run("c:1"); }).code(), code::not_found);
  EXPECT_EQ(error_of([&] { s.run(foreign); }).message(), "a fetched value belongs to another graph");
  EXPECT_EQ(error_of([&] { s.run(operation(foreign)); }).code(), code::invalid_argument);
  EXPECT_EQ(error_of([&] { s.run(value()); }).message(), "a fetched value is an empty handle");
  EXPECT_EQ(error_of([&] { s.run(operation()); }).code(), code::invalid_argument);
  EXPECT_EQ(error_of([&] { s.run("nothing"); }).code(), code::invalid_argument);
  EXPECT_EQ(s.run("c").item<float>(), 1);
}

TEST(session, names_the_axis_that_two_feeds_disagree_about) {
  graph g;
  auto const x = placeholder<float, "n">(g, "x"), y = placeholder<float, "n">(g, "y");
  auto const z = x + y;
  session s(g);
  auto const e = error_of([&] { s.run({{x, vector<float>({1, 2})}, {y, vector<float>({1, 2, 3})}}, z); });
  EXPECT_EQ(e.code(), code::invalid_argument);
  EXPECT_NE(e.message().find("'n' is 2 elsewhere in this step and 3 here"), std::string::npos) << e.message();
}

TEST(session, runs_with_zero_rows) {
  graph g;
  auto const x = placeholder<float, "n", 2>(g, "x");
  auto const w = constant<float, 2, 3>(g, {1, 2, 3, 4, 5, 6});
  auto const y = matmul(x, w);
  auto const total = sum(y);
  session s(g);
  auto const [rows, number] = s.run({{value(x), tensor(dtype::float32, {0, 2})}}, y, total);
  EXPECT_EQ(rows.shape(), (shape{0, 3}));
  EXPECT_EQ(number.item<float>(), 0);
}

// ---- variables

TEST(session, says_which_variable_has_no_value) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  session s(g);
  auto const e = error_of([&] { s.run(v); });
  EXPECT_EQ(e.code(), code::failed_precondition);
  EXPECT_EQ(e.node(), "v");
  EXPECT_EQ(error_of([&] { s.run(assign_add(v, constant(g, 1.f))); }).code(), code::failed_precondition);
  s.run(initializer(g));
  EXPECT_EQ(s.run(v).item<float>(), 1);
}

TEST(session, reads_variables_as_the_step_found_them_unless_told_otherwise) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  auto const update = assign_add(v, constant(g, 10.f));
  auto const now = g.after({update}, [&] { return read(v); });
  session s(g);
  s.run(initializer(g));
  auto const [before, after, updated] = s.run(v, now, update);
  EXPECT_EQ(before.item<float>(), 1);
  EXPECT_EQ(after.item<float>(), 11);
  EXPECT_EQ(updated.item<float>(), 11);
}

TEST(session, keeps_results_that_later_updates_do_not_touch) {
  graph g;
  auto const v = variable(constant<float, 2>(g, {1, 2}), "v");
  auto const update = assign_add(v, constant<float, 2>(g, {1, 1}));
  session s(g);
  s.run(initializer(g));
  auto const first = s.run(v), second = s.run(update);
  s.run(operation(update));
  EXPECT_TRUE(same_bits(first, vector<float>({1, 2})));
  EXPECT_TRUE(same_bits(second, vector<float>({2, 3})));
}

TEST(session, refuses_two_updates_of_a_variable_without_an_order) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  auto const a = assign_add(v, constant(g, 1.f)), b = assign_sub(v, constant(g, 1.f));
  session s(g);
  s.run(initializer(g));
  EXPECT_EQ(error_of([&] { s.run(a, b); }).code(), code::failed_precondition);
  EXPECT_EQ(s.run(a).item<float>(), 2);
}

TEST(session, shares_variables_by_a_container) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  auto const state = std::make_shared<container>();
  session first(g, {.state = state}), second(g, {.state = state}), apart(g);
  first.run(initializer(g));
  EXPECT_EQ(second.run(v).item<float>(), 1);
  EXPECT_THROW(apart.run(v), error);
  state->reset();
  EXPECT_THROW(first.run(v), error);
}

TEST(session, follows_a_variable_whose_extents_change) {
  graph g;
  auto const v = variable(g, of<float, unknown>, "v");
  auto const fresh = placeholder(g, of<float, unknown>, "fresh");
  auto const set = assign(v, fresh);
  value const y = neg(value(v));
  session s(g);
  for (std::int64_t n : {2, 5, 1, 0, 3}) {
    tensor t(dtype::float32, {n});
    std::fill_n(t.mutable_data<float>(), n, 1.f);
    s.run({{fresh, t}}, operation(set));
    EXPECT_EQ(s.run(y).shape(), (shape{n}));
  }
}

// ---- failures

TEST(session, names_the_node_whatever_its_kernel_throws_and_runs_on) {
  graph g;
  auto const v = variable(constant(g, 1.f), "v");
  value const fragile = record_erased<fragile_op>(g, {}, {value(read(v))}, "fragile");
  auto const update = g.after({fragile}, [&] { return assign_add(v, constant(g, 1.f)); });
  session s(g);
  s.run(initializer(g));
  std::pair<failure, code> const cases[] = {{failure::error, code::out_of_range},
                                            {failure::exception, code::internal},
                                            {failure::number, code::internal},
                                            {failure::memory, code::resource_exhausted}};
  for (auto const& [how, expected] : cases) {
    fragile_op::how = how;
    auto const e = error_of([&] { s.run(update); });
    EXPECT_EQ(e.code(), expected);
    EXPECT_EQ(e.node(), "fragile");
    EXPECT_EQ(s.run(v).item<float>(), 1);
  }
  fragile_op::how = failure::none;
  EXPECT_EQ(s.run(update).item<float>(), 2);
}

/// Brings a tensor that may be none, or another than it said.
struct bringing_op {
  static constexpr std::string_view name = "bringing";
  static constexpr std::int8_t arity = 1;
  static constexpr rill::effect effect = rill::effect::reads;
  static inline tensor brought = {};
  static constexpr type infer(no_attributes, type const& x) { return x; }
  static kernel cpu(kernel_request const&) {
    kernel k([](kernel_call const& call) {
      if (brought) call.give(0, brought);
    });
    k.allocates_outputs = true;
    return k;
  }
};

TEST(session, says_what_a_kernel_gave_that_was_to_bring_its_output) {
  graph g;
  value const x = placeholder(g, of<float, 2>, "x");
  value const brings = record_erased<bringing_op>(g, {}, {x}, "brings");
  value const y = neg(brings);
  auto const fed = vector<float>({1, 2});
  for (auto const how : {execution::sequential, execution::parallel, execution::tagged}) {
    session s(g, {.threads = 2, .execution = how});
    bringing_op::brought = fed;
    EXPECT_TRUE(same_bits(s.run({{x, fed}}, y), vector<float>({-1, -2})));
    for (auto const& fetched : {y, brings}) {
      bringing_op::brought = {};
      auto const none = error_of([&] { s.run({{x, fed}}, fetched); });
      EXPECT_EQ(none.code(), code::internal);
      EXPECT_EQ(none.node(), "brings");
      EXPECT_NE(none.message().find("gave no tensor where a float32[2] was expected"), std::string::npos)
          << none.what();
      for (auto const& wrong :
           {tensor(vector<double>({1, 2})), tensor(matrix<float>({{1, 2}})), tensor(vector<float>({1, 2, 3}))}) {
        bringing_op::brought = wrong;
        auto const other = error_of([&] { s.run({{x, fed}}, fetched); });
        EXPECT_EQ(other.code(), code::internal);
        EXPECT_EQ(other.node(), "brings");
        EXPECT_NE(other.message().find("gave a " + wrong.type().text() + " where a float32[2] was expected"),
                  std::string::npos)
            << other.what();
      }
    }
    bringing_op::brought = fed;
    EXPECT_TRUE(same_bits(s.run({{x, fed}}, y), vector<float>({-1, -2})));
  }
  bringing_op::brought = {};
}

TEST(session, runs_and_ends_in_a_child_process) {
  if (!children_start_threads) GTEST_SKIP() << "the thread sanitizer starts no threads in a child process";
  for (int round = 0; round < 10; ++round) {
    graph g;
    auto const x = placeholder<float, 64>(g, "x");
    auto const q = fifo_queue<of<float>>(g, {.capacity = 2});
    auto const put = q.enqueue(constant(g, 1.f));
    auto const y = sum(exp(x) * sqrt(x));
    auto s = std::make_optional<session>(g, session_options{.threads = 3, .execution = execution::parallel});
    tensor ones(dtype::float32, {64});
    std::fill_n(ones.mutable_data<float>(), 64, 1.f);
    auto const expected = float(s->run({{x, ones}}, y));
    auto& runner = s->companion<std::optional<queue_runner>>().emplace(*s, put);
    while (q.in(s->state())->waiting() != 1) std::this_thread::yield();  // its thread waits for room
    EXPECT_TRUE(holds_in_a_child([&] {
      bool const same = float(s->run({{x, ones}}, y)) == expected;
      s.reset();
      return same;
    }));
    EXPECT_EQ(float(s->run({{x, ones}}, y)), expected);
    (void)runner;
  }
}

TEST(session, leaks_nothing_when_a_step_fails) {
  host_memory memory;
  graph g;
  value const x = placeholder(g, of<float, 1000>, "x");
  value const y = neg(record_erased<fragile_op>(g, {}, {square(x)}));
  {
    session s(g, {.memory = &memory});
    fragile_op::how = failure::exception;
    for (int i = 0; i < 3; ++i) EXPECT_THROW(s.run({{x, tensor(dtype::float32, {1000})}}, y), error);
    fragile_op::how = failure::none;
    s.run({{x, tensor(dtype::float32, {1000})}}, y);
    EXPECT_LE(memory.usage().count, 2);
  }
  EXPECT_EQ(memory.usage().count, 0);
}

TEST(session, ends_a_step_that_is_cancelled_or_too_late) {
  graph g;
  operation const forever = record_erased<waiting_op>(g, {}, {}, "forever");
  session s(g);
  EXPECT_NO_THROW(s.run(constant(g, 1.f), timeout{std::chrono::nanoseconds::max()}));
  EXPECT_EQ(test::late_at("'forever'", [&](timeout time) { s.run(forever, time); }),
            "deadline_exceeded: node 'forever': the step ran past its deadline");
  std::stop_source stop;
  waiting_op::begun = false;
  std::thread other([&] {
    while (!waiting_op::begun) std::this_thread::yield();
    stop.request_stop();
  });
  EXPECT_EQ(sentence([&] { s.run(forever, stop.get_token()); }), "cancelled: node 'forever': the step was cancelled");
  other.join();
  EXPECT_EQ(error_of([&] { s.run(forever, stop.get_token()); }).code(), code::cancelled);
}

// ---- growth, threads, memory

TEST(session, runs_a_graph_that_has_grown_since) {
  graph g;
  value const x = constant(g, 2.f);
  session s(g);
  EXPECT_EQ(s.run(x).item<float>(), 2);
  value const y = square(x);
  EXPECT_EQ(s.run(y).item<float>(), 4);
}

TEST(session, runs_steps_of_many_threads_while_another_extends_the_graph) {
  graph g;
  value const x = placeholder(g, of<float>, "x");
  value const y = square(x);
  session s(g, {.threads = 2});
  std::atomic<bool> done = false;
  std::vector<std::thread> runners;
  for (int t = 0; t < 3; ++t)
    runners.emplace_back([&, t] {
      auto const number = static_cast<float>(t);
      while (!done) EXPECT_EQ(s.run({{x, tensor(number)}}, y).item<float>(), number * number);
    });
  value last = y;
  for (int i = 0; i < 200; ++i) {
    last = neg(last);
    if (i % 20 != 0) continue;
    EXPECT_EQ(s.run({{"x", tensor(3.f)}}, last).item<float>(), i % 2 == 0 ? -9 : 9);
  }
  done = true;
  for (auto& r : runners) r.join();
}

TEST(session, loses_no_update_of_steps_that_run_at_once) {
  graph g;
  auto const v = variable(constant(g, 0.f), "v");
  auto const update = assign_add(v, constant(g, 1.f));
  session s(g, {.threads = 2});
  s.run(initializer(g));
  std::vector<std::thread> runners;
  for (int t = 0; t < 4; ++t)
    runners.emplace_back([&] {
      for (int i = 0; i < 100; ++i) s.run(operation(update));
    });
  for (auto& r : runners) r.join();
  EXPECT_EQ(s.run(v).item<float>(), 400);
  EXPECT_EQ(s.steps(), 402);
}

TEST(session, keeps_no_more_plans_than_it_is_told_to) {
  graph g;
  auto const x = placeholder<float, "n">(g, "x");
  value const y = neg(value(x));
  session s(g, {.plans = 2});
  for (int round = 0; round < 2; ++round)
    for (std::int64_t n = 1; n < 8; ++n)
      EXPECT_EQ(s.run({{value(x), tensor(dtype::float32, {n})}}, y).shape(), (shape{n}));
}

TEST(session, gives_its_memory_back_on_request_and_at_its_end) {
  host_memory memory;
  graph g;
  value const x = placeholder(g, of<float, 1000>, "x"), y = square(neg(x)), z = add(y, neg(y));
  {
    session s(g, {.memory = &memory});
    s.run({{x, tensor(dtype::float32, {1000})}}, z);
    s.trim();
    EXPECT_EQ(memory.usage().count, 0);
    s.run({{x, tensor(dtype::float32, {1000})}}, z);
  }
  EXPECT_EQ(memory.usage().count, 0);
}

TEST(session, gives_back_on_request_what_loops_branches_and_functions_keep) {
  graph g;
  auto const x = placeholder<float, 1000>(g, "x");
  auto const n = placeholder<int>(g, "n");
  auto const branch = cond(n < 3, [&] { return square(neg(x)); }, [&] { return neg(square(x)); });
  auto const halved =
      rill::function<"halved", of<float, 1000>(of<int>, of<float, 1000>)>(g, [](auto self, auto k, auto v) {
        return cond(k < 1, [&] { return v; }, [&] { return neg(self(k - 1, v)) * 0.5f; });
      });
  auto const called = halved(n, x);
  auto const [i, nested] = while_loop(
      [&](auto k, auto) { return k < n; },
      [&](auto k, auto v) {
        auto const half = halved(k, v);
        return std::tuple{k + 1, cond(k < 2, [&] { return square(neg(half)); }, [&] { return half + neg(v); })};
      },
      constant(g, 0), x);
  auto const [j, longer] = while_loop([&](auto k, auto) { return k < n; },
                                      [](auto k, auto v) {
                                        auto const less =
                                            cond(k < 2, [&] { return square(neg(v)); }, [&] { return v; });
                                        return std::tuple{k + 1, concat<0>(less, neg(v))};
                                      },
                                      constant(g, 0), as<of<float, unknown>>(x));
  auto const [slope] = gradients(sum(nested), x);  // which takes as many rows as there were iterations
  tensor const fed = [] {
    tensor t(dtype::float32, {1000});
    std::fill_n(t.mutable_data<float>(), 1000, 0.5f);
    return t;
  }();
  for (value y : {value(branch), value(called), value(nested), value(longer), value(slope)})
    for (auto wish : {execution::sequential, execution::automatic, execution::tagged}) {
      host_memory memory;
      session s(g, {.threads = 2, .memory = &memory, .passes = pass_options::none(), .execution = wish});
      auto const run = [&] { return s.run({{n, tensor(4)}, {x, fed}}, y).clone(); };
      auto const first = run();
      EXPECT_GT(memory.usage().count, 0);
      s.trim();
      EXPECT_EQ(memory.usage().current, 0) << y.name();
      EXPECT_TRUE(same_bits(run(), first)) << y.name();
    }
}

TEST(session, has_as_many_threads_as_it_is_told_or_those_of_a_pool) {
  graph g;
  EXPECT_EQ(session(g, {.threads = 3}).threads(), 3);
  EXPECT_EQ(session(g, {.pool = std::make_shared<pool>(2)}).threads(), 2);
  EXPECT_GE(session(g).threads(), 1);
}

TEST(session, explains_a_run) {
  graph g;
  auto const x = placeholder<float, "n", 2>(g, "x");
  auto const y = matmul(x, constant<float, 2, 1>(g, {1, 2}));
  session s(g);
  feed const one{value(x), matrix<float>({{1, 2}})};
  EXPECT_NE(s.explain({one}, y).find("matmul"), std::string::npos);
  EXPECT_EQ(s.explain({one}, y).find("planned when"), std::string::npos);
  auto const v = variable<float, unknown, 2>(g, "v");
  auto const set = assign(v, x);
  auto const later = g.after({set}, [&] { return matmul(read(v), constant<float, 2, 1>(g, {1, 2})); });
  auto const text = s.explain({one}, later);
  EXPECT_EQ(text.find("matmul"), std::string::npos) << text;
  EXPECT_NE(text.find("planned when they are known"), std::string::npos) << text;
}

TEST(session, whose_container_is_reset_within_a_step_leaves_the_step_what_it_has_read) {
  for (auto wish : {execution::sequential, execution::parallel, execution::tagged}) {
    graph g;
    auto const v = variable(constant(g, 3.f), "v");
    auto const said = print(identity(v), "now");
    auto const twice = said * 2.f;
    auto const state = std::make_shared<container>();
    session s(g, {.threads = 1, .state = state, .log = [&](auto const&) { state->reset(); }, .execution = wish});
    s.run(initializer(g));
    EXPECT_EQ(float(s.run(twice)), 6);
    EXPECT_EQ(refusal([&] { s.run(v); }), code::failed_precondition);
  }
}

TEST(session, keeps_variables_in_the_memory_that_it_is_given) {
  host_memory memory;
  graph g;
  auto const v = variable(fill(constant(g, 1.f), {1000}), "v");
  auto const up = assign_add(v, fill(constant(g, 1.f), {1000}));
  {
    session s(g, {.memory = &memory, .passes = {.fuse = false}});
    s.run(initializer(g));
    s.trim();
    EXPECT_GE(memory.usage().current, 4000);
    s.run(up);
    tensor const before = s.run(v);
    auto const held = host_allocator().usage().current;
    s.run(up);  // a copy, for `before` is kept
    EXPECT_EQ(host_allocator().usage().current, held);
    EXPECT_EQ(before.at<float>(0), 2);
    EXPECT_EQ(tensor(s.run(v)).at<float>(999), 3);
  }
  EXPECT_EQ(memory.usage().current, 0);
}

// Each of the values could be, and all of them are more bytes than can be counted.
TEST(session, of_more_bytes_than_can_be_counted_is_refused) {
  graph g;
  auto const huge = [](graph& in) {
    value all = constant(in, 0.f);
    for (int k = 0; k < 20; ++k)
      all = all + sum(slice(fill(constant(in, 1.f), shape{std::int64_t{1} << 58}), extents{k}, extents{2}));
    return all;
  };
  auto const straight = huge(g);
  auto const looped = while_loop([](auto i) { return i < 2.f; },
                                 [&](auto i) { return i + as<of<float>>(huge(*value(i).graph)); }, constant(g, 0.f));
  for (auto execution : {execution::sequential, execution::tagged, execution::parallel}) {
    session s{g, {.threads = 2, .passes = pass_options::none(), .execution = execution}};
    EXPECT_EQ(refusal([&] { s.run(straight); }), code::resource_exhausted);
    EXPECT_EQ(refusal([&] { s.run(looped); }), code::resource_exhausted);
  }
}

TEST(session, refuses_to_feed_an_empty_handle) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  session s{g};
  EXPECT_EQ(sentence([&] { s.run({{value(), tensor(1.f)}}, value(x)); }),
            "invalid_argument: a fed value is an empty handle");
}

TEST(session, draws_the_same_numbers_for_each_named_client) {
  graph g(7);
  auto const noise = normal<float, 8>(g);
  auto const draw = [&](bool both) {
    session s(g, {.threads = 2});
    std::vector<std::vector<tensor>> made(2);
    auto const work = [&](std::size_t i) {
      client const me(i == 0 ? "first" : "second");
      auto step = s.prepare(inputs(), outputs(noise), me);
      for (int k = 0; k < 50; ++k) made[i].emplace_back(k % 2 ? tensor(step()) : tensor(s.run(noise, me)));
    };
    std::thread one([&] { work(0); }), other([&] {
      if (both) work(1);
      else
        for (int k = 0; k < 20; ++k) s.run(noise);
    });
    one.join(), other.join();
    return made;
  };
  auto const a = draw(true), b = draw(true), c = draw(false);
  for (std::size_t k = 0; k < 50; ++k) {
    EXPECT_TRUE(same_bits(a[0][k], b[0][k])) << k;
    EXPECT_TRUE(same_bits(a[1][k], b[1][k])) << k;
    EXPECT_TRUE(same_bits(a[0][k], c[0][k])) << k;
    EXPECT_FALSE(same_bits(a[0][k], a[1][k])) << k;
  }
}

TEST(session, refuses_names_of_clients_that_are_none) {
  for (auto const* name : {"", "a:b", "\xff"})
    EXPECT_NE(sentence([&] { client{name}; }).find("expected the name of a client"), std::string::npos) << name;
}

TEST(session, is_no_text_and_neither_is_a_graph_but_mocks_may_take_them) {
  graph g;
  session const s(g);
  EXPECT_EQ(testing::PrintToString(s), "");
  EXPECT_EQ(testing::PrintToString(g), "");
}

}  // namespace
}  // namespace rill
