// A network that tests train step by step, in one process or over tasks.
#pragma once
#include <gtest/gtest.h>

#include <vector>

#include "rill/rill.hpp"
#include "train/workers.hpp"

namespace rill::test {

/// A network that draws random numbers, with the slots of an optimizer, and a session that trains it.
struct trainer {
  network n{0.3};
  operation step = adam{.rate = 0.05f}.minimize(n.loss);
  session s;

  explicit trainer(target const& where) : s(n.g, where) {}
  trainer() : s(n.g, session_options{.threads = 1, .soft_placement = true}) {}
  /// Runs the steps of these numbers, and returns their losses.
  std::vector<tensor> run(int from, int to) {
    std::vector<tensor> losses;
    for (int i = from; i < to; ++i) {
      auto const b = batch_of(0, i);
      losses.push_back(s.run({{n.x, b.images}, {n.label, b.labels}}, n.loss, step));
    }
    return losses;
  }
  /// Gives the variables their first values, runs three steps, and returns the variables' values then.
  std::vector<tensor> begin() {
    s.run(initializer(n.g));
    run(0, 3);
    return n.variables(s);
  }
};

inline void expect_same(std::vector<tensor> const& a, std::vector<tensor> const& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i], b[i])) << i;
}

}  // namespace rill::test
