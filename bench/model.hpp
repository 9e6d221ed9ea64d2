// What all cases share: a graph with its session, numbers to fill tensors with, and the number of threads.
#pragma once
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <rill/run/session.hpp>
#include <string>
#include <thread>

namespace bench {

/// What is timed: one call is one step, call or graph.
using step = std::function<void()>;

/// RILL_THREADS, or every processor: the peers read the same variable.
inline int threads() {
  char const* given = std::getenv("RILL_THREADS");
  int const asked = given != nullptr ? std::atoi(given) : 0;
  return asked > 0 ? asked : static_cast<int>(std::thread::hardware_concurrency());
}

/// A graph and the session that runs it; steps hold a share of it.
struct model {
  rill::graph graph;
  rill::session session;
  explicit model(rill::pass_options passes = {}, rill::execution execution = rill::execution::automatic)
      : session(graph, {.threads = threads(), .passes = passes, .execution = execution}) {}
};

/// The graph is run as it was written: nothing merged, folded or fused.
inline rill::pass_options const as_written = rill::pass_options::none();

/// A step that runs one node, and all that it waits for. Nothing is fetched.
inline step run_of(std::shared_ptr<model> m, rill::operation last) {
  auto call = m->session.prepare(rill::inputs(), rill::outputs(), last);
  return [m, call]() mutable { call(); };
}

/// Normally distributed numbers.
inline rill::tensor normal(rill::shape const& extents, float deviation = 0.05f) {
  static std::mt19937 bits(7);
  rill::tensor t(rill::dtype::float32, extents);
  std::normal_distribution<float> draw(0, deviation);
  for (float& x : std::span(t.mutable_data<float>(), static_cast<std::size_t>(t.elements()))) x = draw(bits);
  return t;
}

inline rill::tensor zeros(rill::shape const& extents) {
  rill::tensor t(rill::dtype::float32, extents);
  std::fill_n(t.mutable_data<float>(), t.elements(), 0.0f);
  return t;
}

/// Whole numbers in [0, end).
inline rill::tensor integers(rill::shape const& extents, std::int32_t end) {
  static std::mt19937 bits(8);
  rill::tensor t(rill::dtype::int32, extents);
  std::uniform_int_distribution<std::int32_t> draw(0, end - 1);
  for (auto& x : std::span(t.mutable_data<std::int32_t>(), static_cast<std::size_t>(t.elements()))) x = draw(bits);
  return t;
}

}  // namespace bench
