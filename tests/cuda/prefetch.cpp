// Batches that are copied to a GPU while a step runs there.
#include "rill/train/prefetch.hpp"

#include <memory>
#include <tuple>
#include <vector>

#include "emulated.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/rill.hpp"
#include "rounding.hpp"

namespace rill {
namespace {

struct prefetch_to_gpu : test::on_gpu {
  // Batches of 16 examples of 4 × 4,500 features, more bytes than copies that are not staged have; the last has 2.
  static auto source() {
    tensor x(dtype::float32, {50, 4, 4500}), y(dtype::int32, {50});
    for (std::int64_t i = 0; i < x.elements(); ++i)
      x.mutable_data<float>()[i] = static_cast<float>(i * 7919 % 1009) / 1009;
    for (std::int32_t i = 0; i < 50; ++i) y.mutable_data<std::int32_t>()[i] = i;
    return batches(std::tuple{tensor_of<of<float, 50, 4, 4500>>(x), tensor_of<of<std::int32_t, 50>>(y)}, 16, epochs(3),
                   {.seed = 5});
  }
  static std::shared_ptr<gpu_device> present() {
    auto made = gpu(0);
    EXPECT_FALSE(made->absence());
    return made;
  }
  // Returns the weights after the first `steps` of the batches, which are prefetched if the session has a GPU.
  static tensor train(std::shared_ptr<gpu_device> const& on, int steps = 1000) {
    graph g;
    auto const x = placeholder<float, "n", 4, 4500>(g);
    auto const y = placeholder<std::int32_t, "n">(g);
    auto const [w, step] = g.on(on ? "gpu:0" : "cpu:0", [&] {
      auto const v = variable(zeros<float, 4, 4500>(g), "w");
      return std::pair(v, gradient_descent{1e-5f}.minimize(mean(square(sum<1, 2>(x * v) - cast<float>(y)))));
    });
    session_options how{.threads = 1};
    if (on) how.devices = {on}, how.soft_placement = on->absence() != nullptr;
    session s{g, how};
    s.run(initializer(g));
    auto const run = [&](auto&& range) {
      for (auto const& [features, labels] : range) {
        if (steps-- == 0) break;
        s.run({{x, features}, {y, labels}}, step);
      }
    };
    if (on) run(prefetch(source(), on));
    else run(source());
    return s.get(w).to(host);
  }
};

TEST_F(prefetch_to_gpu, trains_to_the_hosts_bits) {
  tensor const here = train(nullptr);
  EXPECT_NE(here.at<float>(1, 7), 0);
  test::expect_the_hosts_numbers(train(present()), here, "w");
}

TEST_F(prefetch_to_gpu, ends_in_the_middle) {
  test::expect_the_hosts_numbers(train(present(), 5), train(nullptr, 5), "w");
}

TEST_F(prefetch_to_gpu, stays_on_the_host_without_the_gpu) {
  auto const none = gpu(999);
  ASSERT_TRUE(none->absence());
  for (auto const& [features, labels] : prefetch(source(), none)) EXPECT_EQ(features.device(), "host");
  EXPECT_TRUE(same_bits(train(none), train(nullptr)));
}

TEST_F(prefetch_to_gpu, has_the_batches_in_order_and_their_positions) {
  auto const on = present();
  auto alone = source();
  auto ahead = prefetch(source(), on, 3);
  auto expected = alone.begin();
  for (auto const& [features, labels] : ahead) {
    EXPECT_EQ(features.device(), "gpu:0");
    EXPECT_TRUE(same_bits(features, std::get<0>(*expected)));
    EXPECT_TRUE(same_bits(labels, std::get<1>(*expected)));
    EXPECT_EQ(ahead.position(), alone.position());
    ++expected;
  }
  EXPECT_TRUE(expected == alone.end());
}

TEST_F(prefetch_to_gpu, says_that_there_is_no_room) {
  auto const on = gpu(0, {.memory = 3 << 20});  // of batches of 1.1 MiB two
  auto ahead = prefetch(source(), on, 3);
  EXPECT_EQ(test::refusal([&] {
              std::vector<tensor> kept;
              for (auto const& [features, labels] : ahead) kept.push_back(features);
            }).code(),
            code::resource_exhausted);
  EXPECT_EQ(ahead.position(), (batch_position{0, 32}));
  ahead.resume(ahead.position());
  auto const third = ahead.begin();
  EXPECT_EQ(std::get<1>(*third).elements(), 16);
}

}  // namespace
}  // namespace rill
