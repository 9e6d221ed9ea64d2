// What tests of training loops train.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "rill/io.hpp"
#include "rill/rill.hpp"
#include "train/single_steps.hpp"

namespace rill::test::loops {

inline constexpr std::int64_t examples = 47;

inline auto data_of(std::int64_t size, std::int64_t passes, batches_options o = {}) {
  return batches(std::tuple{test::digits(examples, 8), test::digits(examples, 2)}, size, epochs(passes), o);
}

inline training_options quiet(std::filesystem::path const& folder) {
  training_options o;
  o.directory = folder;
  o.save = {.steps = 4, .time = {}};
  o.log = [](std::string_view) {};
  o.stop_on_signals = false;
  o.wait = std::chrono::seconds(20);
  return o;
}

using test::expect_same;

/// A network that draws random numbers, with what trains it and a session.
struct trainer {
  test::network n{0.3};
  operation train;
  session s;

  trainer()
      : train(adam{.rate = 0.05f}.minimize(n.loss)), s(n.g, session_options{.threads = 1, .soft_placement = true}) {}
  trainer(target const& on, operation (*minimize)(value)) : train(minimize(n.loss)), s(n.g, on) {}

  training_result run(training_options o, std::int64_t passes = 3) {
    training_loop loop(s, std::move(o));
    auto const data = data_of(5, passes, loop.share({.seed = 3}));
    return loop.run(inputs(n.x, n.label), n.loss, train, data);
  }
};

inline operation in_rounds(value loss) { return synchronous(adam{.rate = 0.05f}, replicas(3)).minimize(loss); }
inline operation alone(value loss) { return adam{.rate = 0.05f}.minimize(loss); }

}  // namespace rill::test::loops
