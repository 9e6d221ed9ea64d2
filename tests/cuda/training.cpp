// Models that train on a GPU alone, without soft placement, to the host's bits.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emulated.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/rill.hpp"
#include "rounding.hpp"

namespace rill {
namespace {

/// What is recorded of a model, and how it is fed.
struct recorded_model {
  value loss;
  operation step;
  std::vector<feed> fed;
};
using recorder = std::function<recorded_model(graph&)>;

struct training_on_gpu : test::on_gpu {
  // Returns the loss after these steps, and the values of all variables by their names.
  static std::vector<std::pair<std::string, tensor>> train(recorder const& record, std::string_view where,
                                                           session_options options, int steps) {
    graph g(7);
    operation start;
    auto const m = g.on(where, [&] {
      return g.gradients_beside([&] {
        auto made = record(g);
        start = initializer(g);
        return made;
      });
    });
    options.threads = 1;
    options.state = std::make_shared<container>();
    session s{g, options};
    std::span<feed const> const fed(m.fed);
    s.run({}, start);
    for (int i = 0; i < steps; ++i) s.run(fed, m.step);
    std::vector<std::pair<std::string, tensor>> all{{"loss", tensor(s.run(fed, m.loss)).to(host)}};
    for (auto const& v : options.state->variables()) all.emplace_back(v->name(), v->read().to(host));
    return all;
  }
  static void expect_the_hosts_bits(recorder const& record, int steps) {
    auto const here = train(record, "cpu:0", {}, steps);
    auto const there = train(record, "gpu:0", {.devices = {gpu(0)}}, steps);
    ASSERT_EQ(here.size(), there.size());
    EXPECT_GT(here.size(), 4u);
    for (std::size_t i = 0; i < here.size(); ++i) {
      EXPECT_EQ(here[i].first, there[i].first);
      test::expect_the_hosts_numbers(there[i].second, here[i].second, here[i].first);
    }
  }
};

tensor waves(shape const& extents, double step) {
  tensor made(dtype::float32, extents);
  for (std::int64_t i = 0; i < made.elements(); ++i)
    made.mutable_data<float>()[i] = static_cast<float>(std::sin(step * static_cast<double>(i)));
  return made;
}
tensor labels(std::int64_t n, std::int32_t classes) {
  tensor made(dtype::int32, shape{n});
  for (std::int64_t i = 0; i < n; ++i)
    made.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i * 7 % classes);
  return made;
}

// A variable whose first value needs no random numbers.
value weights(graph& g, std::string const& name, extents const& e, double step) {
  tensor const first = waves(shape(e), step);
  return variable(constant(g, first), name);
}

TEST_F(training_on_gpu, of_a_network_with_two_layers) {
  expect_the_hosts_bits(
      [](graph& g) {
        value const x = placeholder<float, 32, 20>(g), y = placeholder<std::int32_t, 32>(g);
        value const h = relu(matmul(x, weights(g, "w1", {20, 16}, 0.37)) + weights(g, "b1", {16}, 0.2));
        value const logits = matmul(h, weights(g, "w2", {16, 10}, 0.11)) + weights(g, "b2", {10}, 0.5);
        value const loss = mean(softmax_cross_entropy(logits, y));
        return recorded_model{loss, adam(0.05f).minimize(loss), {{x, waves({32, 20}, 0.7)}, {y, labels(32, 10)}}};
      },
      20);
}

}  // namespace
}  // namespace rill
