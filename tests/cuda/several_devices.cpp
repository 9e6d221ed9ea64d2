// Models over several GPUs, over tasks with a GPU each, and with values that wait on the host, to the bits of one
// device.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "emulated.hpp"
#include "rill/cuda/dlpack.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/rill.hpp"
#include "rounding.hpp"

namespace rill {
namespace {

tensor waves(shape const& extents, double step) {
  tensor made(dtype::float32, extents);
  for (std::int64_t i = 0; i < made.elements(); ++i)
    made.mutable_data<float>()[i] = static_cast<float>(std::sin(step * static_cast<double>(i)));
  return made;
}

// A network of four layers; `where` says on which device a layer lies.
struct layered {
  graph g{3};
  value x = placeholder<float, 12, 8>(g, "x");
  value loss;
  operation step;

  layered(std::function<std::string(int)> const& where, std::function<operation(graph&, value)> const& train) {
    g.gradients_beside([&] {
      value h = x;
      for (int i = 0; i < 4; ++i)
        h = g.on(where(i), [&] {
          value const w = variable(constant(g, waves({8, 8}, 0.3 + i)), "w" + std::to_string(i));
          return value(tanh(matmul(h, w)) * 1.5f);
        });
      g.on(where(3), [&] {
        loss = mean(square(h));
        step = train(g, loss);
      });
    });
  }
  std::vector<tensor> run(session& s, int steps = 5) {
    s.run(initializer(g));
    std::vector<tensor> losses;
    for (int i = 0; i < steps; ++i) losses.push_back(s.run({{x, waves({12, 8}, 0.7)}}, loss, step).to(host));
    return losses;
  }
};
operation descend(graph&, value loss) { return gradient_descent{.rate = 0.2f}.minimize(loss); }

struct several_gpus : test::on_gpu {
  static std::vector<tensor> on_host() {
    layered m([](int) { return std::string(); }, descend);
    session s{m.g, {.threads = 1}};
    return m.run(s);
  }
  static void expect_same(std::vector<tensor> const& a, std::vector<tensor> const& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) test::expect_the_hosts_numbers(a[i], b[i], "loss " + std::to_string(i));
    EXPECT_FALSE(same_bits(a.front(), a.back()));
  }
};

TEST_F(several_gpus, share_the_layers_of_a_model) {
  layered m([](int i) { return "gpu:" + std::to_string(i % 2); }, descend);
  session s{m.g, {.threads = 1, .devices = {gpu(0), gpu(1)}}};
  expect_same(m.run(s), on_host());
}

TEST_F(several_gpus, copy_from_each_other_without_the_host) {
  auto const copies = [] { return test::on_own_gpu() ? 0 : RILL_EMULATED(rill_emulated_direct_copies)(); };
  graph g;
  auto const x = placeholder<float, 4>(g, "x");
  auto const y = g.on("gpu:0", [&] { return exp(x); });
  auto const z = g.on("gpu:1", [&] { return sum(y); });
  auto const feed = vector<float>({1, 2, 3, 4});
  auto const one = gpu(0), two = gpu(1);
  session s{g, {.threads = 1, .devices = {one, two}}}, here{g, {.threads = 1, .soft_placement = true}};
  auto const text = s.explain({{x, feed}}, z, stages::kernels);
  EXPECT_NE(text.find("from /device:gpu:0 to /device:gpu:1"), text.npos) << text;
  auto const before = copies();
  test::expect_the_hosts_numbers(s.run({{x, feed}}, z).to(host), here.run({{x, feed}}, z), "z");
  EXPECT_TRUE(same_bits(waves({3000}, 0.1).to(one).to(two), waves({3000}, 0.1)));
  EXPECT_TRUE(test::on_own_gpu() || copies() == before + 2);
}

using emulated_several_gpus = test::only_emulated<several_gpus>;

TEST_F(emulated_several_gpus, copy_through_the_driver_where_they_may_not_access_each_other) {
  auto const copies = [] { return RILL_EMULATED(rill_emulated_direct_copies)(); };
  auto const before = copies();
  RILL_EMULATED(rill_emulated_refuse_peers)(true);
  EXPECT_TRUE(same_bits(waves({3000}, 0.1).to(gpu(0)).to(gpu(1)), waves({3000}, 0.1)));
  RILL_EMULATED(rill_emulated_refuse_peers)(false);
  EXPECT_EQ(copies(), before);
}

TEST_F(emulated_several_gpus, copy_from_devices_of_another_kind_through_the_host) {
  auto const other = emulated("accelerator:0", {.peers = true});
  EXPECT_TRUE(same_bits(waves({3000}, 0.1).to(other).to(gpu(0)).to(other), waves({3000}, 0.1)));
}

// A variable is unlocked before its update has run: a copy to another GPU waits for the update nevertheless.
TEST_F(emulated_several_gpus, copy_what_a_kernel_is_still_to_write) {
  auto const one = gpu(0), two = gpu(1);
  graph g;
  auto const w = g.on("gpu:0", [&] { return variable<float, 3>(g, "w", zeros()); });
  auto const add = assign_add(w, constant<float, 3>(g, {1, 1, 1}));
  auto const state = std::make_shared<container>();
  session s{g, {.threads = 1, .state = state, .devices = {one, two}}};
  s.run(initializer(g));
  RILL_EMULATED(rill_emulated_hold_launch)(1);
  auto const launched = RILL_EMULATED(rill_emulated_launches)();
  auto step = std::async(std::launch::async, [&] { s.run(add); });
  while (RILL_EMULATED(rill_emulated_launches)() == launched) std::this_thread::yield();
  auto const value = state->find_variable("w")->read();
  auto copy = std::async(std::launch::async, [&] { return value.to(two); });
  EXPECT_EQ(copy.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  RILL_EMULATED(rill_emulated_release_launches)();
  EXPECT_EQ(copy.get().to(host).at<float>(0), 1);
  step.get();
}

// It also waits for a stream of another library that is still to write.
TEST_F(emulated_several_gpus, copy_what_another_library_is_still_to_write) {
  auto const one = gpu(0), two = gpu(1), producer = gpu(0);
  auto const write = producer->find(
      "#include \"rill/cuda/text/global.cuh\"\n"
      "using namespace rill::text;\n"
      "extern \"C\" __global__ void write(global<float> to) { to[0] = 7; }\n",
      "write");
  tensor made = tensor::copy<float>(std::vector<float>{1}, shape{1}).to(producer->memory());
  auto* const lent = to_dlpack(made, nullptr);
  cuda::card const card(std::make_shared<cuda::driver const>(), 0);
  RILL_EMULATED(rill_emulated_hold_launch)(1);
  {
    auto const current = card.use();
    void* to = made.storage().data();
    void* parameters[] = {&to};
    producer->launch(*write, {1, 1}, parameters);
  }
  tensor taken = from_dlpack(lent, one, producer->stream_of_kernels());
  auto copy = std::async(std::launch::async, [&] { return taken.to(two); });
  EXPECT_EQ(copy.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  RILL_EMULATED(rill_emulated_release_launches)();
  EXPECT_EQ(copy.get().to(host).at<float>(0), 7);
  taken = {};
  auto const current = card.use();
  producer->wait();
}

TEST_F(emulated_several_gpus, name_both_ends_of_a_copy_from_a_lost_one) {
  auto const one = gpu(0), two = gpu(1);
  tensor const there = waves({30}, 0.1).to(one);
  ASSERT_TRUE(RILL_EMULATED(rill_emulated_lose_device)(0, cuda::status::ecc_uncorrectable));
  auto const why = test::refusal([&] { there.to(two); });
  EXPECT_EQ(why.code(), code::unavailable);
  EXPECT_NE(why.message().find("in a copy from 'gpu:0' to 'gpu:1'"), std::string::npos) << why.what();
}

TEST_F(several_gpus, serve_two_devices_of_one_card) {
  layered m([](int i) { return "gpu:" + std::to_string(i % 2); }, descend);
  session s{m.g, {.threads = 1, .devices = {gpu(0), gpu(std::string_view("0"), 1)}}};
  expect_same(m.run(s), on_host());
}

TEST_F(several_gpus, of_the_tasks_of_a_cluster_send_and_receive) {
  local_cluster cluster({{"worker", 2}}, [](device_name const& task) {
    return task_options{.threads = 1, .devices = {gpu(std::to_string(task.task.value()), 0)}};
  });
  layered m([](int i) { return "/job:worker/task:" + std::to_string(i % 2) + "/device:gpu:0"; }, descend);
  session s(m.g, cluster.target());
  expect_same(m.run(s), on_host());
}

TEST_F(several_gpus, keep_what_derivatives_read_on_the_host_if_they_are_told_to) {
  auto const peak_of = [](auto const& train) {
    auto const on = gpu(0);
    layered m([](int) { return std::string("gpu:0"); }, train);
    session s{m.g, {.threads = 1, .devices = {on}}};
    m.run(s, 2);
    on->memory().reset_peak();
    expect_same(m.run(s), on_host());
    return on->memory().usage().peak;
  };
  auto const offloading = [](graph& g, value loss) { return g.offload_saved([&] { return descend(g, loss); }); };
  EXPECT_LT(peak_of(offloading), peak_of(descend));
}

TEST_F(several_gpus, need_the_memory_that_a_session_says) {
  auto const on = gpu(0);
  layered m([](int) { return std::string("gpu:0"); }, descend);
  auto const state = std::make_shared<container>();
  session{m.g, {.threads = 1, .state = state, .devices = {on}}}.run(initializer(m.g));  // its plan has first values
  session s{m.g, {.threads = 1, .state = state, .devices = {on}}};
  auto const told = s.memory({{m.x, waves({12, 8}, 0.7)}}, m.loss, m.step);
  auto const& need = told.of("gpu:0");
  EXPECT_TRUE(need.exact()) << told.text();
  EXPECT_EQ(need.variables, 4 * 64 * sizeof(float));
  auto const run = [&] { return s.run({{m.x, waves({12, 8}, 0.7)}}, m.loss, m.step).to(host); };
  run();
  on->memory().reset_peak();
  run();
  EXPECT_LE(on->memory().usage().peak, static_cast<std::int64_t>(need.peak)) << told.text();
}

TEST_F(several_gpus, run_the_bodies_of_loops_and_their_derivatives) {
  auto const derivative = [](std::string_view where, session_options options) {
    graph g;
    auto const x = placeholder<float, 6>(g, "x");
    auto const dx = g.on(where, [&] {
      return g.gradients_beside([&] {
        auto const [i, y] =
            while_loop([](auto k, auto) { return k < 4; },
                       [](auto k, auto v) { return std::tuple{k + 1, tanh(v * 1.5f)}; }, constant(g, 0), x);
        auto const [d] = gradients(sum(y), x);
        return value(d);
      });
    });
    options.threads = 1;
    session s{g, options};
    return tensor(s.run({{x, waves({6}, 0.9)}}, dx)).to(host);
  };
  EXPECT_TRUE(same_bits(derivative("gpu:0", {.devices = {gpu(0)}, .soft_placement = true}), derivative("", {})));
}

}  // namespace
}  // namespace rill
