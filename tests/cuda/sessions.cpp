// Sessions on a GPU under stress: threads and sessions beside each other, loops, checkpoints, and memory over many
// steps. They run on an emulated GPU, and on this machine's own (tests/gpu/run.sh).
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emulated.hpp"
#include "io/scratch.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/rill.hpp"
#include "rill/train/saver.hpp"
#include "rounding.hpp"

namespace rill {
namespace {

tensor ramp(shape const& extents, float step) {
  tensor made(dtype::float32, extents);
  for (std::int64_t i = 0; i < made.elements(); ++i)
    made.mutable_data<float>()[i] = static_cast<float>(i % 97 - 48) * step;
  return made;
}

// A network with two layers and its own variables, whose weights and updates are on one device.
struct network {
  graph g{5};
  value x, y, loss;
  operation start, step;
  std::vector<feed> fed;

  explicit network(std::string_view where) {
    x = placeholder<float, 16, 12>(g), y = placeholder<float, 16, 4>(g);
    g.on(where, [&] {
      return g.gradients_beside([&] {
        value const h = tanh(matmul(x, weights({12, 8}, "w1")) + weights({8}, "b1"));
        value const error = matmul(h, weights({8, 4}, "w2")) + weights({4}, "b2") - y;
        loss = mean(error * error);
        step = adam(0.01f).minimize(loss);
        start = initializer(g);
      });
    });
    fed = {{x, ramp({16, 12}, 0.02f)}, {y, ramp({16, 4}, 0.01f)}};
  }

  void train(session& s, int steps) const {
    for (int i = 0; i < steps; ++i) s.run(std::span<feed const>(fed), step);
  }
  tensor loss_of(session& s) const { return tensor(s.run(std::span<feed const>(fed), loss)).to(host); }

 private:
  value weights(shape const& extents, std::string const& name) {
    return variable(constant(g, ramp(extents, 0.003f)), name);
  }
};

struct gpu_sessions : test::on_gpu {
  std::shared_ptr<gpu_device> on = gpu(0);

  session_options options() const {
    return {.threads = 1, .state = std::make_shared<container>(), .devices = {on}, .soft_placement = true};
  }
  static tensor trained_on_the_host(int steps) {
    network n("cpu:0");
    session s{n.g, {.threads = 1, .state = std::make_shared<container>()}};
    s.run(n.start);
    n.train(s, steps);
    return n.loss_of(s);
  }
  void TearDown() override {
    on.reset();
    on_gpu::TearDown();
  }
};

TEST_F(gpu_sessions, have_a_gpu) {
  auto const why = on->absence();
  EXPECT_FALSE(why) << why->what();
}

TEST_F(gpu_sessions, train_two_models_in_two_threads_to_the_hosts_bits) {
  constexpr int steps = 25;
  auto const train = [&] {
    network n("gpu:0");
    session s{n.g, options()};
    s.run(n.start);
    n.train(s, steps);
    return n.loss_of(s);
  };
  auto first = std::async(std::launch::async, train), second = std::async(std::launch::async, train);
  auto const here = trained_on_the_host(steps);
  test::expect_the_hosts_numbers(first.get(), here, "the first loss");
  test::expect_the_hosts_numbers(second.get(), here, "the second loss");
}

TEST_F(gpu_sessions, run_steps_of_one_session_in_two_threads) {
  graph g;
  auto const x = placeholder<float, 700>(g);
  auto const f = [&] { return value(sum(exp(x * 0.1f) * x)); };
  auto const there = g.on("gpu:0", f), here = g.on("cpu:0", f);
  session s{g, options()};
  auto const runs = [&](float step) {
    auto const fed = ramp({700}, step);
    tensor const right = s.run({{x, fed}}, here);
    for (int i = 0; i < 40; ++i)
      if (!same_bits(tensor(s.run({{x, fed}}, there)).to(host), right)) return false;
    return true;
  };
  auto first = std::async(std::launch::async, runs, 0.01f), second = std::async(std::launch::async, runs, -0.02f);
  EXPECT_TRUE(first.get() && second.get());
}

TEST_F(gpu_sessions, share_variables_that_both_update) {
  graph g;
  auto const made = g.on("gpu:0", [&] {
    return g.hogwild([&] {
      auto const w = variable<float, 300>(g, "w", zeros());
      return std::pair(value(w), value(assign_add(w, fill<300>(constant(g, 1.f)))));
    });
  });
  auto const& [w, add] = made;
  auto const shared = options();
  session a{g, shared}, b{g, shared};
  a.run(initializer(g));
  auto const runs = [&](session& s) {
    for (int i = 0; i < 50; ++i) s.run({}, add);
  };
  auto first = std::async(std::launch::async, [&] { runs(a); }),
       second = std::async(std::launch::async, [&] { runs(b); });
  first.get(), second.get();
  auto const sums = tensor(b.run({}, w)).to(host);
  for (float const each : sums.span<float>()) ASSERT_EQ(each, 100.f);
}

// Loops whose bodies are on the GPU.
struct gpu_loops : gpu_sessions {
  // Records `f(x)` for both devices, and expects equal bits.
  template <class F> void compare(F const& f, tensor const& fed) {
    graph g;
    auto const x = as<of<float, 6, 40>>(placeholder(g, fed.type()));
    std::vector<value> there, here;
    g.on("gpu:0", [&] { g.gradients_beside([&] { there = f(g, x); }); });
    g.on("cpu:0", [&] { here = f(g, x); });
    session s{g, options()};
    std::vector<feed> const feeds{{value(x), fed}};
    for (int i = 0; i < 3; ++i) {
      auto const a = s.run(std::span<feed const>(feeds), there), b = s.run(std::span<feed const>(feeds), here);
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t k = 0; k < a.size(); ++k)
        test::expect_the_hosts_numbers(a[k].to(host), b[k], "result " + std::to_string(k));
    }
    // The loop is the host's; what it runs is not.
    auto const said = s.explain(std::span<feed const>(feeds), there.back(), stages::all);
    EXPECT_NE(said.find("device_region"), std::string::npos) << said;
  }
};

TEST_F(gpu_loops, of_a_while_loop_and_its_gradient_have_the_hosts_bits) {
  compare(
      [](graph& g, auto x) {
        auto const [n, y] =
            while_loop([](auto i, auto) { return i < 12; },
                       [](auto i, auto v) { return std::tuple{i + 1, tanh(v * 0.9f + 0.1f)}; }, constant(g, 0), x);
        auto const [dx] = gradients(sum(y * y), x);
        return std::vector<value>{n, y, dx};
      },
      ramp({6, 40}, 0.02f));
}

TEST_F(gpu_loops, of_a_scan_and_its_gradient_have_the_hosts_bits) {
  compare(
      [](graph& g, auto x) {
        auto const zero = fill<40>(constant(g, 0.f));
        value const all = scan([](auto state, auto row) { return tanh(state * 0.5f + row); }, zero, x);
        auto const [dx] = gradients(sum(all), x);
        return std::vector<value>{all, dx};
      },
      ramp({6, 40}, 0.02f));
}

TEST_F(gpu_loops, whose_condition_reads_what_the_gpu_computes_end_as_the_hosts_do) {
  compare(
      [](graph&, auto x) {
        auto const y = while_loop([](auto v) { return sum(v * v) > 0.5f; }, [](auto v) { return v * 0.7f; }, x);
        return std::vector<value>{y};
      },
      ramp({6, 40}, 0.02f));
}

// Checkpoints cross between a GPU and the host.
struct gpu_checkpoints : gpu_sessions, testing::WithParamInterface<std::array<char const*, 2>> {};
INSTANTIATE_TEST_SUITE_P(both_ways, gpu_checkpoints,
                         testing::Values(std::array{"gpu:0", "cpu:0"}, std::array{"cpu:0", "gpu:0"},
                                         std::array{"gpu:0", "gpu:0"}),
                         [](auto const& i) {
                           return std::string(i.param[0], 3) + "_to_" + std::string(i.param[1], 3);
                         });

TEST_P(gpu_checkpoints, go_on_with_the_bits_of_a_training_that_did_not_stop) {
  scratch const folder;
  {
    network n(GetParam()[0]);
    session s{n.g, options()};
    s.run(n.start);
    n.train(s, 6);
    saver(n.g, folder / "saved").save(s);
  }
  network n(GetParam()[1]);
  session s{n.g, options()};
  ASSERT_TRUE(saver(n.g, folder / "saved").restore(s));
  n.train(s, 6);
  test::expect_the_hosts_numbers(n.loss_of(s), trained_on_the_host(12), "the loss");
}

// Memory that the driver reports as free.
struct gpu_memory_over_time : gpu_sessions {
  static constexpr std::size_t mebibyte = std::size_t{1} << 20;
  // What stays allocated may change by the driver's own needs. Each of the steps makes more than one tensor of a
  // mebibyte, so that one that is kept shows.
  std::size_t const slack = test::on_own_gpu() ? 32 * mebibyte : 4 * mebibyte;
  int const times = test::on_own_gpu() ? 300 : 12;

  static std::size_t free_bytes() {
    cuda::driver const d;
    cuda::device_id id = 0;
    cuda::context context = nullptr;
    d(d.call().device, &id, 0);
    d(d.call().retain_primary_context, &context, id);
    std::size_t left = 0, all = 0;
    {
      cuda::context_scope const scope(d, context);
      d(d.call().memory_info, &left, &all);
    }
    d(d.call().release_primary_context, id);
    return left;
  }
  // Calls `f` so many times, and expects that the driver then has as much memory as after the first calls.
  template <class F> void expect_kept(F const& f) {
    for (int i = 0; i < 3; ++i) f();
    on->trim();
    auto const before = free_bytes();
    auto const held = on->memory().usage().current;
    for (int i = 0; i < times; ++i) f();
    on->trim();
    EXPECT_GE(free_bytes() + slack, before);
    EXPECT_EQ(on->memory().usage().current, held);
  }
};

TEST_F(gpu_memory_over_time, is_free_again_after_many_steps) {
  graph g;
  constexpr std::int64_t n = 1 << 18;
  auto const x = placeholder<float, n>(g);
  auto const y = g.on("gpu:0", [&] { return value(x * 2.f + 1.f); });
  session s{g, options()};
  auto const fed = ramp({n}, 0.5f);
  expect_kept([&] {
    tensor const there = s.run({{x, fed}}, y);
    ASSERT_EQ(there.to(host).at<float>(0), fed.at<float>(0) * 2 + 1);
  });
}

TEST_F(gpu_memory_over_time, is_free_again_after_many_sessions_and_devices) {
  constexpr std::int64_t n = 1 << 18;
  auto const fed = ramp({n}, 0.5f);
  expect_kept([&] {
    graph g;
    auto const y = g.on(
        "gpu:0", [&] { return value(assign_add(variable<float, n>(g, "v", zeros()), fill<n>(constant(g, 1.f)))); });
    session s{g, {.threads = 1, .state = std::make_shared<container>(), .devices = {gpu(0)}, .soft_placement = true}};
    s.run(initializer(g));
    ASSERT_EQ(tensor(s.run({}, y)).to(host).at<float>(n - 1), 1.f);
  });
}

TEST_F(gpu_memory_over_time, of_which_there_is_too_little_fails_a_step_and_serves_the_next) {
  auto const small = gpu(0, {.memory = 4 * mebibyte});
  graph g;
  auto const x = placeholder(g, type(dtype::float32, {"n"}));
  auto const y = g.on("gpu:0", [&] { return exp(x) + 1.f; });
  session s{g, {.threads = 1, .devices = {small}}};
  for (int i = 0; i < 5; ++i) {
    EXPECT_THROW(s.run({{x, ramp({1 << 20}, 0.01f)}}, y), error);
    EXPECT_EQ(tensor(s.run({{x, ramp({97}, 0.f)}}, y)).to(host).at<float>(0), 2.f);
  }
  EXPECT_EQ(small->memory().usage().current, 0);
}

}  // namespace
}  // namespace rill
