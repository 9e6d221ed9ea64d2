#include "rill/run/executor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <string_view>
#include <thread>

#include "base/changed_float_environment.hpp"
#include "base/sentence.hpp"
#include "rill/base/processors.hpp"
#include "rill/rill.hpp"
#include "rill/run/compiled_step.hpp"

#if defined(__linux__)
#include <sched.h>
#endif

namespace rill {
namespace {

tensor rows(std::int64_t n) { return tensor(dtype::float32, {n}); }

run_request request(executor const& e, std::vector<std::pair<value, tensor>> const& feeds,
                    std::vector<value> const& fetches, std::vector<operation> const& targets = {}) {
  run_request r;
  for (auto const& [to, with] : feeds) e.add_feed(r, to, with);
  for (auto const& f : fetches) e.add_fetch(r, f);
  for (auto const& t : targets) e.add_target(r, t);
  return r;
}

std::string_view bytes(tensor const& t) {
  return {reinterpret_cast<char const*>(t.raw()), static_cast<std::size_t>(t.bytes())};
}

TEST(executor, compiles_a_step_once_for_each_signature_and_set_of_extents) {
  graph g;
  auto const x = placeholder<float, "n">(g, "x");
  value const y = neg(x), z = exp(x);
  executor e(g, {.threads = 1});
  auto const first = e.find(request(e, {{x, rows(1)}}, {y}));
  EXPECT_EQ(e.find(request(e, {{x, rows(1)}}, {y})), first);
  EXPECT_NE(e.find(request(e, {{x, rows(2)}}, {y})), first);
  EXPECT_NE(e.find(request(e, {{x, rows(1)}}, {z})), first);
  EXPECT_NE(e.find(request(e, {{x, rows(1)}}, {y, y})), first);
  EXPECT_NE(e.find(request(e, {{x, rows(1)}}, {y}, {z})), first);
  EXPECT_EQ(e.find(request(e, {{x, rows(1)}}, {y})), first);
}

TEST(executor, tells_the_numbers_of_targets_from_the_extents_of_what_is_fed) {
  graph g;
  value const x = placeholder(g, type::of_unknown_rank(dtype::float32), "x");
  auto const target = no_op(g);
  value const y = neg(x);
  ASSERT_EQ(target.node, 1);
  executor e(g, {.threads = 1});
  step_context step;
  EXPECT_EQ(e.run(request(e, {{x, tensor(2.f)}}, {y}, {target}), step)[0].shape(), shape{});
  EXPECT_EQ(e.run(request(e, {{x, rows(0)}}, {y}), step)[0].shape(), shape{0});
}

TEST(executor, keeps_no_step_if_it_is_told_so) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  executor e(g, {.threads = 1, .plans = 0});
  auto const r = request(e, {{x, tensor(1.f)}}, {neg(x)});
  EXPECT_NE(e.find(r), e.find(r));
  step_context step;
  EXPECT_EQ(e.run(r, step)[0].at<float>(), -1);
}

TEST(executor, knows_for_which_tensors_and_variables_a_step_was_made) {
  graph g;
  auto const x = placeholder<float, "n">(g, "x");
  auto const v = variable(g, of<float, unknown>, "v");
  executor e(g, {.threads = 1});
  auto const state = e.state().variable("v", of<float, unknown>);
  state->assign(rows(3));
  auto const step = e.find(request(e, {{x, rows(2)}}, {neg(x), neg(value(v))}));
  auto const fits = [&](tensor const& t) { return e.fits(*step, {&t, 1}); };
  EXPECT_TRUE(fits(rows(2)));
  EXPECT_FALSE(fits(rows(3)));
  EXPECT_FALSE(fits(tensor(1.f)));
  EXPECT_FALSE(fits(tensor(dtype::float64, {2})));
  auto const elsewhere = emulated("accelerator:0");
  EXPECT_FALSE(fits(rows(2).to(elsewhere)));
  state->assign(rows(4));
  EXPECT_FALSE(fits(rows(2)));
}

TEST(executor, makes_a_step_anew_for_other_extents_of_a_variable_that_only_a_body_reads) {
  graph g;
  auto const v = variable(g, of<float, unknown>, "v");
  value const y = fold([&](value s, value) { return add(s, sum(value(v))); }, value(constant(g, 0.f)),
                       value(constant<float, 2>(g, {0, 0})));
  executor e(g, {.threads = 1});
  auto const state = e.state().variable("v", of<float, unknown>);
  auto const run = [&](tensor const& now) {
    state->assign(now);
    step_context step;
    return e.run(request(e, {}, {y}), step)[0].at<float>();
  };
  EXPECT_EQ(run(vector<float>({1, 2})), 6);
  EXPECT_EQ(run(vector<float>({1, 2, 3})), 12);
  state->reset();
  step_context step;
  auto const text = sentence([&] { e.run(request(e, {}, {y}), step); });
  EXPECT_NE(text.find("node 'v'"), std::string::npos) << text;
}

TEST(executor, refuses_handles_from_inside_bodies_and_empty_ones) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  value inside;
  operation update;
  auto const v = variable(constant(g, 0.f), "v");
  cond(constant(g, true), [&] { inside = exp(x), update = operation(value(assign(v, x))); }, [] {});
  executor e(g, {.threads = 1});
  auto const said = [&](auto&& f) {
    run_request r;
    auto const text = sentence([&] { f(r); });
    EXPECT_TRUE(r.feeds.empty() && r.fetches.empty() && r.targets.empty() && r.with.empty());
    return text;
  };
  EXPECT_NE(said([&](auto& r) { e.add_fetch(r, inside); }).find("inside a loop or a branch"), std::string::npos);
  EXPECT_NE(said([&](auto& r) { e.add_fetch(r, {}); }).find("an empty handle"), std::string::npos);
  EXPECT_NE(said([&](auto& r) { e.add_target(r, {}); }).find("an empty handle"), std::string::npos);
  EXPECT_NE(said([&](auto& r) { e.add_target(r, update); }).find("another graph"), std::string::npos);
  EXPECT_NE(said([&](auto& r) { e.add_feed(r, inside, tensor(1.f)); }).find("another graph"), std::string::npos);
  EXPECT_NE(said([&](auto& r) { e.add_feed(r, {}, tensor(1.f)); }).find("an empty handle"), std::string::npos);
  EXPECT_NE(said([&](auto& r) { e.add_feed(r, x, {}); }).find("an empty tensor handle"), std::string::npos);
  EXPECT_NE(said([&](auto& r) { e.add_feed(r, x, rows(2)); }).find("it is a float32[] and was fed a float32[2]"),
            std::string::npos);
}

TEST(executor, refuses_to_feed_one_value_twice_and_keeps_the_first) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  executor e(g, {.threads = 1});
  auto r = request(e, {{x, tensor(1.f)}}, {x});
  EXPECT_EQ(sentence([&] { e.add_feed(r, x, tensor(2.f)); }), "invalid_argument: node 'x': it was fed twice");
  step_context step;
  EXPECT_EQ(e.run(r, step)[0].at<float>(), 1);
}

TEST(executor, counts_steps_even_those_that_fail) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  executor e(g, {.threads = 1});
  auto const r = request(e, {{x, tensor(-1.f)}}, {check_numerics(log(x), "bad")});
  e.set_steps(7);
  for (std::uint64_t number = 7; number < 9; ++number) {
    step_context step;
    EXPECT_THROW(e.run(r, step), error);
    EXPECT_EQ(step.number, number);
  }
  EXPECT_EQ(e.steps(), 9);
}

TEST(executor, gives_back_the_memory_of_every_step_that_it_keeps) {
  graph g;
  host_memory memory;
  auto const x = placeholder<float, "n">(g, "x");
  value const y = exp(x);
  executor e(g, {.threads = 1, .memory = &memory});
  for (std::int64_t n = 1; n < 4; ++n) {
    step_context step;
    e.run(request(e, {{x, rows(n)}}, {y}), step);
  }
  EXPECT_GT(memory.usage().current, 0);
  e.trim();
  EXPECT_EQ(memory.usage().current, 0);
}

TEST(executor, keeps_one_arena_for_the_steps_that_it_keeps) {
  graph g;
  host_memory memory;
  auto const x = placeholder<float, "n">(g, "x");
  auto const z = exp(x);
  value const y = sum(square(z) + neg(z));
  executor e(g, {.threads = 1, .memory = &memory, .passes = pass_options::none()});
  std::int64_t most = 0;
  for (std::int64_t n : {1000, 3000, 2000, 4000}) {
    step_context step;
    auto const r = request(e, {{x, rows(n)}}, {y});
    most = std::max(most, static_cast<std::int64_t>(e.find(r)->plan().memory.arena));
    e.run(r, step);
  }
  EXPECT_GE(most, 2 * 16000);
  EXPECT_LE(memory.usage().current, most + 1000) << "the results are there as well";
  auto const total = memory.usage().total;
  for (std::int64_t n : {4000, 1000, 2000}) {
    step_context step;
    e.run(request(e, {{x, rows(n)}}, {y}), step);
  }
  EXPECT_EQ(memory.usage().total, total);
}

// An operation that counts how often its kernel is made, and then cancels what it is told to.
std::atomic<int> kernels_made = 0;
std::optional<std::stop_source> to_stop;
struct counted_op {
  static constexpr std::string_view name = "counted";
  static constexpr std::int8_t arity = 1;
  static constexpr type infer(no_attributes, type const& x) { return x; }
  static kernel cpu(kernel_request const&) {
    if (++kernels_made == 100 && to_stop) to_stop->request_stop();
    return kernel([](kernel_call const&) {});
  }
};

TEST(executor, forgets_the_step_that_was_used_longest_ago) {
  graph g;
  auto const x = placeholder<float, "n">(g, "x");
  value const y = neg(x);
  executor e(g, {.threads = 1, .plans = 2});
  auto const find = [&](std::int64_t n) { return e.find(request(e, {{x, rows(n)}}, {y})); };
  auto const one = find(1), two = find(2);
  EXPECT_EQ(find(1), one);
  auto const three = find(3);
  EXPECT_EQ(find(1), one) << "it was used after the second";
  EXPECT_EQ(find(3), three);
  EXPECT_NE(find(2), two);
  EXPECT_NE(find(1), one);
}

TEST(executor, plans_no_further_when_the_step_is_cancelled_or_late) {
  graph g;
  auto const x = placeholder<float, "n">(g, "x");
  value y = x;
  for (int i = 0; i < 5000; ++i) y = record_erased<counted_op>(g, {}, {y});
  executor e(g, {.threads = 1});
  kernels_made = 0;
  step_context step;
  step.stop = to_stop.emplace().get_token();
  EXPECT_EQ(refusal([&] { e.run(request(e, {{x, rows(3)}}, {y}), step); }), code::cancelled);
  EXPECT_LT(kernels_made, 5000);
  to_stop.reset();
  step_context late;
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  kernels_made = 0;
  EXPECT_EQ(refusal([&] { e.run(request(e, {{x, rows(4)}}, {y}), late); }), code::deadline_exceeded);
  EXPECT_EQ(kernels_made, 0);
}

// x / 2 of small numbers and 1 + x, which flushing to 0 and rounding upwards change.
struct sensitive_step {
  sensitive_step() {
    for (std::int64_t i = 0; i < n; ++i) small.mutable_data<float>()[i] = 1e-38f;
  }
  graph g;
  static constexpr std::int64_t n = 100000;
  expr<of<float, n>> x = placeholder<float, n>(g, "x");
  expr<of<float, n>> y = x * 0.5f + (1.f + x) * 1e-38f;
  expr<of<float, n>> folded = x + (constant(g, 1e-38f) * 0.5f);
  tensor small{dtype::float32, {n}};
};

TEST(executor, computes_in_the_default_float_environment_and_gives_the_callers_back) {
  for (int const threads : {1, 4}) {
    sensitive_step one;
    session before(one.g, {.threads = threads});
    tensor const y = before.run({{one.x, one.small}}, one.y), folded = before.run({{one.x, one.small}}, one.folded);
    auto const prepared_before = before.prepare(inputs(one.x), outputs(one.y));
    test::changed_float_environment const changed;
    session after(one.g, {.threads = threads});
    for (auto* s : {&before, &after}) {
      EXPECT_EQ(bytes(tensor(s->run({{one.x, one.small}}, one.y))), bytes(y)) << threads;
      EXPECT_EQ(bytes(tensor(s->run({{one.x, one.small}}, one.folded))), bytes(folded)) << threads;
      auto prepared = s->prepare(inputs(one.x), outputs(one.y));
      EXPECT_EQ(bytes(tensor(prepared(one.small))), bytes(y)) << threads;
      EXPECT_TRUE(changed.is_here());
    }
    auto prepared = prepared_before;
    EXPECT_EQ(bytes(tensor(prepared(one.small))), bytes(y)) << threads;
    EXPECT_THROW(after.run(one.y), error);
    EXPECT_TRUE(changed.is_here());
  }
}

TEST(executor, computes_in_the_default_float_environment_on_other_threads_as_well) {
  sensitive_step one;
  tensor const y = session(one.g).run({{one.x, one.small}}, one.y);
  auto const on_device = one.g.on("accelerator:0", [&] { return one.x * 0.5f + (1.f + one.x) * 1e-38f; });
  auto const there = one.g.on("/job:a/task:1", [&] { return one.x * 0.5f + (1.f + one.x) * 1e-38f; });
  test::changed_float_environment const changed;
  session started(one.g, {.threads = 2});
  std::promise<tensor> result;
  started.start({{one.x, one.small}}, one.y, [&](auto r) { result.set_value(tensor(*r)); });
  EXPECT_EQ(bytes(result.get_future().get()), bytes(y));
  session devices(one.g, {.devices = {emulated("accelerator:0")}});
  EXPECT_EQ(bytes(tensor(devices.run({{one.x, one.small}}, on_device)).to(host)), bytes(y));
  local_cluster tasks({{"a", 2}}, [](auto const&) { return task_options{.threads = 1}; });
  session spread(one.g, {.target = tasks.target()});
  EXPECT_EQ(bytes(tensor(spread.run({{one.x, one.small}}, there))), bytes(y));
  EXPECT_TRUE(changed.is_here());
}

#if defined(__linux__)
TEST(executor, has_a_thread_for_each_processor_that_the_process_may_use) {
  graph g;
  EXPECT_EQ(session(g).threads(), detail::available_processors());
  std::thread([&] {
    cpu_set_t all, one;
    ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (std::size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i)
      if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(session(g).threads(), 1);
  }).join();
}
#endif

}  // namespace
}  // namespace rill
