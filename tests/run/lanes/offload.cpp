// Values that only derivatives read: on the host meanwhile, or computed again (graph::offload_saved, recompute).
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rill/rill.hpp"
#include "run/lanes/digits.hpp"

namespace rill {
namespace {

struct outcome {
  std::vector<tensor> losses;
  std::int64_t peak = 0;
};

// Trains ten layers, each by `layer(g, f)`, with the derivatives that `derive(g, f)` records.
template <class Layer, class Derive> outcome train(session_options o, Layer const& layer, Derive const& derive) {
  graph g(3);
  auto x = placeholder<float, "n", 16>(g, "x");
  auto [loss, step] = g.on(o.devices.empty() ? "" : "accelerator", [&] {
    value h = x;
    for (int i = 0; i < 10; ++i) {
      auto w = variable<float, 16, 16>(g, "w" + std::to_string(i), glorot());
      h = layer(g, [&] { return value(sigmoid(tanh(matmul(h, value(w))))); });
    }
    auto l = mean(square(h));
    return std::pair(l, derive(g, [&] { return gradient_descent{.rate = 0.1f}.minimize(l); }));
  });
  session s{g, o};
  s.run(initializer(g));
  outcome all;
  for (int i = 0; i < 3; ++i) {
    if (i == 2 && !o.devices.empty()) o.devices[0]->memory().reset_peak();
    all.losses.push_back(s.run({{x, test::digits(512, 16)}}, loss, step).to(host));
  }
  if (!o.devices.empty()) all.peak = o.devices[0]->memory().usage().peak;
  return all;
}
auto const plainly = [](graph&, auto const& f) { return f(); };

void expect_same(outcome const& a, outcome const& b) {
  for (std::size_t i = 0; i < a.losses.size(); ++i) EXPECT_TRUE(same_bits(a.losses[i], b.losses[i])) << i;
}

TEST(offload, keeps_what_derivatives_read_on_the_host_with_the_same_bits) {
  auto const offload = [](graph& g, auto const& f) { return g.offload_saved(f); };
  for (auto how : {execution::sequential, execution::parallel}) {
    session_options const o{.threads = 2, .execution = how, .devices = {emulated("accelerator:0")}};
    auto const kept = train(o, plainly, plainly), there = train(o, plainly, offload);
    expect_same(kept, train({}, plainly, plainly));
    expect_same(kept, there);
    EXPECT_LT(there.peak * 3, kept.peak * 2) << static_cast<int>(how);
  }
  expect_same(train({}, plainly, offload), train({}, plainly, plainly));
}

TEST(offload, leaves_the_memory_of_recomputed_layers_with_the_same_bits) {
  auto const again = [](graph& g, auto const& f) { return recompute(g, f); };
  session_options const o{.threads = 2, .devices = {emulated("accelerator:0")}};
  auto const kept = train(o, plainly, plainly), recomputed = train(o, again, plainly);
  expect_same(kept, recomputed);
  EXPECT_LT(recomputed.peak, kept.peak);
}

// The rows that a loop saves for its derivative lie in the host's memory throughout.
TEST(offload, of_a_loop_needs_no_room_on_the_device_for_each_iteration) {
  auto const fast = emulated("accelerator:0");
  graph g;
  auto n = placeholder<std::int32_t>(g, "n");
  auto x = placeholder<float, 256>(g, "x");
  auto const [i, v] = while_loop([&](auto k, auto) { return k < n; },
                                 [&](auto k, auto u) {
                                   auto next = g.on("accelerator", [&] { return tanh(u * 0.5f + x); });
                                   return std::tuple(k + 1, next);
                                 },
                                 constant(g, 0), x);
  auto const [dx] = gradients(sum(v), x);
  session s{g, {.devices = {fast}}};
  session plain{g, {.soft_placement = true}};
  auto const at = tensor::copy<float>(std::vector<float>(256, 0.25f), {256});
  std::vector<std::int64_t> peaks;
  for (int times : {10, 100}) {
    s.run({{n, tensor(times)}, {x, at}}, dx);
    fast->memory().reset_peak();
    EXPECT_TRUE(
        same_bits(s.run({{n, tensor(times)}, {x, at}}, dx).to(host), plain.run({{n, tensor(times)}, {x, at}}, dx)));
    peaks.push_back(fast->memory().usage().peak);
  }
  EXPECT_EQ(peaks[0], peaks[1]);
}

TEST(offload, works_beside_the_nodes_that_derivatives_are_of_and_over_two_devices) {
  using nesting = std::function<operation(graph&, std::function<operation()>)>;
  auto const losses = [](std::vector<std::shared_ptr<device>> const& devices, nesting const& derive) {
    graph g(3);
    auto x = placeholder<float, "n", 16>(g, "x");
    value h = x;
    for (int i = 0; i < 6; ++i)
      h = g.on(i % 2 ? "accelerator:1" : "accelerator:0", [&] {
        auto w = variable<float, 16, 16>(g, "w" + std::to_string(i), glorot());
        return value(sigmoid(tanh(matmul(h, value(w)))));
      });
    auto const loss = mean(square(h));
    auto const step = derive(g, [&] { return gradient_descent{.rate = 0.1f}.minimize(loss); });
    session s{g, {.threads = 2, .devices = devices, .soft_placement = devices.empty()}};
    s.run(initializer(g));
    std::vector<tensor> all;
    for (int i = 0; i < 3; ++i) all.push_back(s.run({{x, test::digits(512, 16)}}, loss, step).to(host));
    return all;
  };
  auto const plain = losses({}, [](graph&, auto const& f) { return f(); });
  nesting const both[] = {
      [](graph& g, auto const& f) { return g.gradients_beside([&] { return g.offload_saved(f); }); },
      [](graph& g, auto const& f) { return g.offload_saved([&] { return g.gradients_beside(f); }); },
      [](graph& g, auto const& f) {
        return g.on("accelerator:1", [&] { return g.offload_saved([&] { return g.gradients_beside(f); }); });
      }};
  for (auto const& derive : both) {
    auto const there = losses({emulated("accelerator:0"), emulated("accelerator:1")}, derive);
    for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(same_bits(there[i], plain[i])) << i;
  }
}

}  // namespace
}  // namespace rill
