// The overhead of rill itself: nodes that do nothing or add two numbers, calls, and large graphs.
#pragma once
#include <atomic>
#include <rill/grad/gradients.hpp>
#include <rill/ops/array/constant.hpp>
#include <rill/ops/array/placeholder.hpp>
#include <rill/ops/control/flow.hpp>
#include <rill/ops/control/while_loop.hpp>
#include <rill/ops/math/arithmetic.hpp>
#include <rill/ops/math/comparison.hpp>
#include <rill/ops/math/exponential.hpp>
#include <rill/ops/queues/queue.hpp>
#include <rill/ops/state/assign.hpp>

#include "model.hpp"

namespace bench {

inline constexpr int null_operations = 10000, additions = 1000;

/// Runs ten thousand nodes that do nothing, and one node after all of them. Passes are off, so each kernel runs.
inline step null_wide() {
  auto m = std::make_shared<model>(as_written);
  std::vector<rill::operation> all;
  for (int i = 0; i < null_operations; ++i) all.push_back(rill::no_op(m->graph));
  return run_of(m, rill::group(m->graph, all));
}

/// Runs ten thousand nodes that do nothing, one after another.
inline step null_chain() {
  auto m = std::make_shared<model>(as_written);
  auto last = rill::no_op(m->graph);
  for (int i = 1; i < null_operations; ++i) last = m->graph.after({last}, [&] { return rill::no_op(m->graph); });
  return run_of(m, last);
}

/// Computes y = x + x + x + …, a thousand scalar additions without folding or fusion; y is not fetched.
inline step add_chain() {
  auto m = std::make_shared<model>(as_written);
  auto const x = rill::placeholder<float>(m->graph);
  auto y = x + x;
  for (int i = 1; i < additions; ++i) y = y + x;
  auto call = m->session.prepare(rill::inputs(x), rill::outputs(), y);
  return [m, call, one = rill::tensor(1.0f)]() mutable { call(one); };
}

inline constexpr int loop_iterations = 10000;

/// Counts to ten thousand in a loop of the graph, which measures the cost of an iteration with a minimal body.
inline step while_loop(rill::execution execution) {
  auto m = std::make_shared<model>(rill::pass_options{}, execution);
  auto const n = rill::while_loop([](auto i) { return i < loop_iterations; }, [](auto i) { return i + 1; },
                                  rill::placeholder_with_default(rill::constant(m->graph, 0)));
  auto call = m->session.prepare(rill::inputs(), rill::outputs(n));
  return [m, call]() mutable { call(); };
}

/// Counts the kernels of given operations that a step runs.
struct kernel_count final : rill::observer {
  std::atomic<std::int64_t> additions = 0, comparisons = 0;
  void node_ran(rill::node_record const& r) override {
    additions += r.operation == "add";
    comparisons += r.operation == "less";
  }
};

inline constexpr int body_additions = 10,
                     body_operations = body_additions + 2;  // plus the counter's addition and comparison

/// Runs a loop of ten thousand iterations in tagged execution, with ten additions each. This measures the cost of an
/// operation in a body, including the switches and merges of the iteration. Passes are off, so nothing is folded or
/// fused, and the body does not become one program. An observer checks that the first step runs the kernel of every
/// operation in every iteration.
inline step while_loop_of_additions() {
  auto m = std::make_shared<model>(as_written, rill::execution::tagged);
  auto const x = rill::placeholder<float>(m->graph);
  auto const add_all = [&](auto v) {
    for (int k = 0; k < body_additions; ++k) v = v + x;
    return v;
  };
  auto const sum = std::get<1>(rill::while_loop([](auto i, auto) { return i < loop_iterations; },
                                                [&](auto i, auto v) { return std::tuple{i + 1, add_all(v)}; },
                                                rill::placeholder_with_default(rill::constant(m->graph, 0)), x));
  kernel_count seen;
  m->session.run({{x, rill::tensor(1.0f)}}, sum, rill::observe(seen));
  if (seen.additions != loop_iterations * (body_additions + 1) || seen.comparisons != loop_iterations + 1)
    throw rill::error(rill::code::internal,
                      "the benchmark's loop must run each operation in each iteration, and some were folded or fused");
  auto call = m->session.prepare(rill::inputs(x), rill::outputs(sum));
  return [m, call, one = rill::tensor(1.0f)]() mutable { call(one); };
}

/// Enqueues a scalar and dequeues one, in one step.
inline step queue_pair() {
  auto m = std::make_shared<model>();
  auto const q = rill::fifo_queue<rill::of<float>>(m->graph, {.capacity = 100});
  auto const put = q.enqueue(rill::constant(m->graph, 1.f));
  auto call = m->session.prepare(rill::inputs(), rill::outputs(rill::dequeue(q)), put);
  return [m, call]() mutable { call(); };
}

/// Computes x + 1 on a vector of one element, which measures the cost of a call of a prepared step, from tensor to
/// tensor.
inline step run_call() {
  auto m = std::make_shared<model>();
  auto const x = rill::placeholder<float, 1>(m->graph);
  auto call = m->session.prepare(rill::inputs(x), rill::outputs(x + 1.0f));
  return [m, call, one = rill::vector({1.0f}).reshaped({1})]() mutable { call(one); };
}

/// Builds a graph of about `nodes` nodes without variables and runs it once. The values are small vectors, each
/// computed from one or two of the hundred before it. Returns the number of nodes.
inline std::size_t first_run(std::size_t nodes) {
  auto m = std::make_shared<model>();
  auto const fed = rill::placeholder<float, 16>(m->graph);
  std::vector<rill::expr<rill::of<float, 16>>> all{fed};
  while (m->graph.size() < nodes) {
    auto const i = all.size();
    auto const x = all.back(), y = all[i - 1 - i * 7919 % std::min<std::size_t>(i, 100)];
    all.push_back(i % 4 == 0 ? x + y : i % 4 == 1 ? x * y : i % 4 == 2 ? rill::tanh(x) : x - y);
  }
  m->session.run({{fed, normal({16})}}, all.back());
  return m->graph.size();
}

/// Does the same with a graph that trains: layers of vectors with two variables each, gradients and updates. The first
/// run includes the variables' first values.
inline std::size_t first_training_run(std::size_t nodes) {
  auto m = std::make_shared<model>();
  auto h = rill::value(rill::constant(m->graph, normal({16})));
  std::vector<rill::value> variables;
  std::vector<rill::variable_value> handles;
  auto const variable = [&] {
    handles.push_back(rill::variable(rill::constant(m->graph, normal({16})), "v" + std::to_string(handles.size())));
    variables.push_back(handles.back());
    return variables.back();
  };
  while (m->graph.size() < nodes * 3 / 7) h = rill::tanh(h * variable() + variable());
  auto const loss = h * h;
  auto const slopes = rill::gradients(loss, variables);
  std::vector<rill::operation> updates;
  for (std::size_t i = 0; i < slopes.size(); ++i) updates.push_back(rill::assign_sub(handles[i], slopes[i] * 0.01f));
  m->session.run(rill::initializer(m->graph));
  m->session.run(rill::group(m->graph, updates));
  return m->graph.size();
}

}  // namespace bench
