// Trains a small network with several workers, each with a graph and a session of its own, on a thread of its own.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rill/rill.hpp"
#include "run/lanes/digits.hpp"

namespace rill::test {

template <class F> auto on_ps(graph& g, F const& f) { return g.on("/job:ps", f); }

/// A network whose variables ask for ps tasks.
struct network {
  graph g{7};
  expr<of<float, "n", 8>> x = placeholder<float, "n", 8>(g, "x");
  expr<of<float, "n", 2>> label = placeholder<float, "n", 2>(g, "label");
  variable_expr<of<float, 8, 16>> w = on_ps(g, [&] { return variable<float, 8, 16>(g, "w", glorot()); });
  variable_expr<of<float, 16>> b = on_ps(g, [&] { return variable<float, 16>(g, "b", zeros()); });
  variable_expr<of<float, 16, 2>> u = on_ps(g, [&] { return variable<float, 16, 2>(g, "u", glorot()); });
  expr<of<float>> loss;

  explicit network(double dropped = 0) {
    auto h = relu(matmul(x, w) + b);
    if (dropped > 0) h = dropout(h, dropped, true);
    loss = mean(square(matmul(h, u) - label));
  }
  std::vector<tensor> variables(session& s) {
    auto [first, second, third] = s.run(w, b, u);
    return {first, second, third};
  }
};

/// The batch of a worker in a step: of each a different one, with another number of rows.
struct batch {
  tensor images, labels;
};
inline batch batch_of(std::size_t worker, int step) {
  auto const rows = static_cast<std::int64_t>(2 + worker + static_cast<std::size_t>(step) % 3);
  auto const first = static_cast<std::int64_t>(worker) + step;
  return {digits(first + rows, 8).rows(first, first + rows), digits(first + rows, 2).rows(first, first + rows)};
}

/// How a test trains.
struct training {
  std::function<operation(value loss)> minimize;  ///< records the update
  double dropped = 0;
  int steps = 5;
};
/// What came of it: the losses of each worker, and the variables at the end.
struct trained {
  std::vector<std::vector<tensor>> losses;
  std::vector<tensor> variables;
};

/// Makes the session of a worker.
using session_maker = std::function<std::unique_ptr<session>(graph&, std::uint32_t worker)>;

/// Trains with `count` workers, which run their steps as they like.
inline trained train_together(std::uint32_t count, training const& how, session_maker const& make) {
  trained all;
  all.losses.resize(count);
  std::latch ready(1);
  auto const work = [&](std::uint32_t i) {
    network n(how.dropped);
    auto const train = how.minimize(n.loss);
    auto const s = make(n.g, i);
    if (i == 0) {
      s->run(initializer(n.g));
      ready.count_down();
    } else ready.wait();
    for (int step = 0; step < how.steps; ++step) {
      auto const [images, labels] = batch_of(i, step);
      all.losses[i].push_back(
          s->run({{n.x, images}, {n.label, labels}}, n.loss, train, timeout(std::chrono::seconds(60))));
    }
    if (i == 0) all.variables = n.variables(*s);
  };
  {
    std::vector<std::jthread> others;
    for (std::uint32_t i = 1; i < count; ++i) others.emplace_back(work, i);
    work(0);
  }
  return all;
}

inline void expect_same(trained const& a, trained const& b) {
  ASSERT_EQ(a.losses.size(), b.losses.size());
  for (std::size_t i = 0; i < a.losses.size(); ++i)
    for (std::size_t k = 0; k < a.losses[i].size(); ++k)
      EXPECT_TRUE(same_bits(a.losses[i][k], b.losses[i][k])) << "worker " << i << ", step " << k;
  ASSERT_EQ(a.variables.size(), b.variables.size());
  for (std::size_t i = 0; i < a.variables.size(); ++i) EXPECT_TRUE(same_bits(a.variables[i], b.variables[i])) << i;
}

/// Trains with sessions of one process that share a container.
inline trained train_here(std::uint32_t count, training const& how) {
  auto const state = std::make_shared<container>();
  return train_together(count, how, [&](graph& g, std::uint32_t i) {
    return std::make_unique<session>(
        g, session_options{.threads = 1, .state = state, .soft_placement = true, .worker = i});
  });
}

}  // namespace rill::test
