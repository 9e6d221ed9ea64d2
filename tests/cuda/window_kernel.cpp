#include "rill/cuda/window_kernel.hpp"

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "on_both.hpp"
#include "real_nvrtc.hpp"

namespace rill {
namespace {

using values = std::vector<value>;

constexpr dtype floats[] = {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64};

std::string text_of(shape const& x) {
  std::string all = "[";
  for (std::size_t i = 0; i < x.rank(); ++i) all += (i > 0 ? ", " : "") + std::to_string(x[i]);
  return all + "]";
}

// Pixels of every kind, or few different numbers, so that several pixels of a window are the largest, or several NaN.
tensor pixels(dtype element, shape const& x, std::uint64_t seed) {
  if (is_float(element) && seed % 2 != 0) return test::rows_of_every_kind(element, x, seed);
  bool const some_nan = is_float(element) && seed % 4 != 0;
  return test::filled(element, x, [=](std::int64_t i) {
    auto const small = (static_cast<std::uint64_t>(i) * 7 + seed) % 11 / 3;
    return small == 3 && some_nan ? std::nan("") : static_cast<double>(small);
  });
}
// Numbers whose sums round.
tensor changes(dtype element, shape const& x) {
  return test::filled(element, x, [](std::int64_t i) { return static_cast<double>(i * i % 89 - 40) / 7; });
}

struct windows_over {
  shape x;
  pooling how;
};
std::vector<windows_over> const all_windows{
    {{2, 4, 6, 3}, {}},                                                          // each pixel lies in one window
    {{1, 5, 7, 2}, {.window = {3, 3}, .stride = {1, 1}, .pad = padding::same}},  // in several
    {{2, 7, 5, 1}, {.window = {3, 2}, .stride = {2, 3}, .pad = padding::same}},  // or in none
    {{1, 9, 11, 5}, {.window = {2, 3}, .stride = {3, 4}}},
    {{1, 4, 5, 2}, {{3, 4}, {1, 2}, padding::given, {2, 1, 3, 0}}},
    {{1, 3, 3, 70}, {.window = {3, 2}, .stride = {2, 1}, .pad = padding::same}},
    {{1, 2, 3, 2}, {.window = {5, 7}, .stride = {1, 1}, .pad = padding::same}},  // larger than the image
    {{1, 1, 1, 1}, {.window = {1, 1}}},
    {{2, 0, 3, 2}, {{2, 2}, {1, 1}, padding::given, {1, 1, 1, 1}}},  // windows without pixels
    {{1, 0, 0, 1}, {.pad = padding::same}},
    {{0, 4, 4, 2}, {}},
    {{1, 4, 4, 0}, {}}};

struct window_kernels : test::on_both, testing::WithParamInterface<dtype> {
  std::string of(std::string_view what, shape const& x) const {
    return std::string(what) + " of " + std::string(name(GetParam())) + text_of(x);
  }
  void compare_max_pool(windows_over const& w, std::uint64_t seed) {
    compare(
        {pixels(GetParam(), w.x, seed)}, [&](values const& in) { return max_pool(in[0], w.how); }, of("max_pool", w.x));
  }
};
INSTANTIATE_TEST_SUITE_P(each_type, window_kernels,
                         testing::ValuesIn(test::types_to_test({dtype::int8, dtype::int16, dtype::int32, dtype::int64,
                                                                dtype::uint8, dtype::uint16, dtype::uint32,
                                                                dtype::uint64, dtype::float16, dtype::bfloat16,
                                                                dtype::float32, dtype::float64})),
                         [](auto const& i) { return std::string(name(i.param)); });

TEST_P(window_kernels, have_the_hosts_maxima) {
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    for (auto const& w : all_windows) compare_max_pool(w, seed);
}

struct window_kernels_of_floats : window_kernels {
  // The type of one element for each window.
  shape pooled(windows_over const& w) const { return ops::max_pool_op::infer(w.how, type(GetParam(), w.x)).shape(); }

  void compare_derivatives_of_maxima(windows_over const& w, std::uint64_t seed) {
    auto const x = pixels(GetParam(), w.x, seed);
    auto const dy = seed == 3 ? pixels(GetParam(), pooled(w), 5) : changes(GetParam(), pooled(w));
    compare(
        {x, dy}, [&](values const& in) { return max_pool_gradient(in[0], in[1], w.how); },
        of("max_pool_gradient", w.x));
    compare(
        {x, changes(GetParam(), w.x)}, [&](values const& in) { return max_pool_pick(in[0], in[1], w.how); },
        of("max_pool_pick", w.x));
  }
  void compare_means(windows_over const& w, bool count_padding, std::uint64_t seed) {
    average_pooling const how{w.how.window, w.how.stride, w.how.pad, w.how.pads, count_padding};
    auto const x = seed == 0 ? changes(GetParam(), w.x) : pixels(GetParam(), w.x, seed);
    auto const dy = seed == 0 ? changes(GetParam(), pooled(w)) : pixels(GetParam(), pooled(w), seed);
    compare({x}, [&](values const& in) { return avg_pool(in[0], how); }, of("avg_pool", w.x));
    compare(
        {x, dy}, [&](values const& in) { return avg_pool_gradient(in[0], in[1], how); }, of("avg_pool_gradient", w.x));
  }
};
INSTANTIATE_TEST_SUITE_P(each_type, window_kernels_of_floats, testing::ValuesIn(test::types_to_test(floats)),
                         [](auto const& i) { return std::string(name(i.param)); });

TEST_P(window_kernels_of_floats, have_the_hosts_derivatives_of_maxima) {
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    for (auto const& w : all_windows) compare_derivatives_of_maxima(w, seed);
}
TEST_P(window_kernels_of_floats, have_the_hosts_means) {
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    for (auto const& w : all_windows) compare_means(w, seed % 2 != 0, seed);
}
// A stride so large that places along an axis need 64 bits.
TEST_P(window_kernels_of_floats, count_in_64_bits_where_numbers_are_large) {
  windows_over const w{{2, 5, 4, 3}, {.window = {3, 2}, .stride = {INT32_MAX, 1}}};
  compare_max_pool(w, 0);
  compare_derivatives_of_maxima(w, 0);
  compare_means(w, true, 0);
}

struct new_extents {
  shape x;
  std::int64_t height, width;
};
std::vector<new_extents> const all_resizes{{{2, 3, 5, 2}, 7, 4},   {{3, 5, 2}, 1, 1},     {{1, 3, 5, 1}, 6, 10},
                                           {{7, 9, 3}, 3, 2},      {{1, 1, 1}, 4, 3},     {{2, 3, 5, 2}, 3, 5},
                                           {{1, 4, 1, 2}, 2, 5},   {{0, 4, 4, 1}, 2, 2},  {{3, 3, 0}, 5, 2},
                                           {{1, 1021, 1}, 1, 409}, {{1, 409, 1}, 2, 1021}};
// Positions among the pixels of this one need 64 bits.
new_extents const wide_resize{{1, 33'001, 1}, 1, 16'411};

struct resize_kernels_of_floats : window_kernels_of_floats {
  void compare_resize(new_extents const& e, std::uint64_t seed) {
    auto const x = seed == 0 ? changes(GetParam(), e.x) : pixels(GetParam(), e.x, seed);
    compare(
        {x}, [&](values const& in) { return resize_bilinear(in[0], e.height, e.width); }, of("resize_bilinear", e.x));
    auto const size = ops::resize_bilinear_op::infer({e.height, e.width}, type(GetParam(), e.x)).shape();
    auto const dy = seed == 0 ? changes(GetParam(), size) : pixels(GetParam(), size, seed);
    for (auto const method : {ops::interpolation::nearest, ops::interpolation::bilinear})
      compare(
          {x, dy}, [&](values const& in) { return resize_gradient(in[0], in[1], {e.height, e.width, method}); },
          of("resize_gradient", e.x));
  }
};
INSTANTIATE_TEST_SUITE_P(each_type, resize_kernels_of_floats, testing::ValuesIn(test::types_to_test(floats)),
                         [](auto const& i) { return std::string(name(i.param)); });

TEST_P(resize_kernels_of_floats, have_the_hosts_bits) {
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    for (auto const& e : all_resizes) compare_resize(e, seed);
}
TEST_P(resize_kernels_of_floats, count_in_64_bits_where_numbers_are_large) { compare_resize(wide_resize, 0); }

// Weights whose denominators are above 2^24: not all of their numerators are floats.
struct wide_weights : test::on_both {};
TEST_F(wide_weights, are_rounded_as_the_host_does) {
  auto const ends = tensor::copy<float>(std::vector<float>{0, 1}, {1, 2, 1});  // the results are the weights
  compare({ends}, [](values const& in) { return resize_bilinear(in[0], 1, 9'000'001); }, "resize_bilinear");
}

struct image_kernels : window_kernels {
  std::mt19937_64 random{1};

  tensor anything(shape const& x) { return test::operand(GetParam(), x, random); }
  tensor positions(dtype element, shape const& x) {
    return test::filled(element, x, [&](std::int64_t i) -> std::int64_t {
      auto const any = static_cast<std::int64_t>(random());
      return i % 2 == 0 ? any % 9 - 4 : element == dtype::int64 ? any : static_cast<std::int32_t>(any);
    });
  }
  void compare_crop(shape const& x, std::int64_t height, std::int64_t width, dtype position) {
    auto const begin = positions(position, x.rank() == 4 ? shape{x[0], 2} : shape{2});
    compare({anything(x), begin}, [&](values const& in) { return crop(in[0], in[1], height, width); }, of("crop", x));
    auto const part = ops::crop_op::infer({height, width}, type(GetParam(), x), begin.type()).shape();
    compare(
        {anything(x), begin, anything(part)},
        [&](values const& in) { return crop_gradient(in[0], in[1], in[2], {height, width}); }, of("crop_gradient", x));
  }
};
INSTANTIATE_TEST_SUITE_P(each_type, image_kernels, testing::ValuesIn(test::types_to_test(test::numbers_in_text)),
                         [](auto const& i) { return std::string(name(i.param)); });

TEST_P(image_kernels, resize_to_the_hosts_nearest_pixels) {
  auto all = all_resizes;
  all.push_back(wide_resize);
  for (auto const& e : all)
    compare(
        {anything(e.x)}, [&](values const& in) { return resize_nearest(in[0], e.height, e.width); },
        of("resize_nearest", e.x));
}
TEST_P(image_kernels, crop_as_the_host_does) {
  for (auto const position : {dtype::int32, dtype::int64}) {
    compare_crop({3, 7, 5, 3}, 4, 2, position);
    compare_crop({6, 5, 1}, 1, 4, position);
    compare_crop({2, 3, 3, 2}, 3, 3, position);
    compare_crop({0, 3, 3, 2}, 2, 3, position);
    compare_crop({2, 3, 0}, 2, 2, position);
  }
}

// Records `f` on both of a session's devices and runs it.
struct image_sessions : test::on_gpu {
  std::shared_ptr<gpu_device> on = gpu(0);

  void TearDown() override {
    on.reset();
    test::on_gpu::TearDown();
  }
  void expect_same_bits(std::vector<tensor> const& fed, std::function<values(values const&)> const& f) {
    graph g;
    values in, there, here;
    std::vector<feed> feeds;
    for (auto const& t : fed) feeds.emplace_back(in.emplace_back(placeholder(g, t.type())), t);
    g.on("gpu:0", [&] { there = f(in); });
    g.on("cpu:0", [&] { here = f(in); });
    session s{g, {.threads = 1, .devices = {on}}};
    auto const a = s.run(std::span<feed const>(feeds), there), b = s.run(std::span<feed const>(feeds), here);
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_NE(a[i].space(), nullptr) << i;
      EXPECT_TRUE(same_bits(a[i].to(host), b[i])) << i;
    }
  }
  std::string refusal(tensor const& fed, char const* where, std::function<value(value)> const& f) {
    graph g;
    auto const x = placeholder(g, type(fed.element(), {unknown, unknown, unknown, unknown}));
    auto const y = g.on(where, [&] { return f(x); });
    session s{g, {.threads = 1, .devices = {on}}};
    try {
      s.run({{x, fed}}, y);
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::invalid_argument);
      return e.message();
    }
    ADD_FAILURE() << "nothing was refused";
    return {};
  }
};

TEST_F(image_sessions, run_what_pooling_and_resizing_are_made_of) {
  auto const x = changes(dtype::float32, {2, 12, 9, 3}), line = changes(dtype::float32, {2, 11, 3});
  expect_same_bits({x, line}, [](values const& in) {
    auto const pooled = max_pool(in[0], {.window = {3, 3}, .stride = {2, 2}, .pad = padding::same});
    auto const mean = avg_pool(in[0], {.window = {3, 2}, .stride = {1, 1}});
    auto const changed = gradients(sum(square(upsample_bilinear(pooled, 2))) + sum(square(mean)), values{in[0]});
    return values{pooled,
                  mean,
                  changed[0],
                  adaptive_max_pool(in[0], 5, 3),
                  adaptive_avg_pool(in[0], 4, 3),
                  max_pool1d(in[1], {.window = 3, .stride = 2}),
                  avg_pool1d(in[1], {.window = 2}),
                  upsample_nearest(in[0], 2)};
  });
}
TEST_F(image_sessions, crop_complex_numbers) {
  auto const begin = tensor::copy<std::int64_t>(std::vector<std::int64_t>{1, -1, 5, 2}, {2, 2});
  for (auto const element : {dtype::complex64, dtype::complex128}) {
    auto const words = size_of(element) / 4;  // each of them a number
    tensor x(element, {2, 4, 3, 2});
    for (std::size_t i = 0; i < 48 * words; ++i) static_cast<float*>(x.mutable_raw())[i] = static_cast<float>(i + 1);
    expect_same_bits({x, begin}, [](values const& in) {
      auto const part = crop(in[0], in[1], 2, 2);
      return values{part, crop_gradient(in[0], in[1], part, {2, 2})};
    });
  }
}
TEST_F(image_sessions, refuse_extents_as_the_host_does) {
  auto const expect_same = [&](shape const& fed, std::string const& why, std::function<value(value)> const& f) {
    tensor const x(dtype::float32, fed);
    auto const there = refusal(x, "gpu:0", f);
    EXPECT_NE(there.find(why), std::string::npos) << there;
    EXPECT_EQ(there, refusal(x, "cpu:0", f));
  };
  expect_same({1, 2, 5, 1}, "larger than the padded image", [](value x) { return max_pool(x, {.window = {3, 3}}); });
  expect_same({1, 5, 2, 1}, "larger than the padded image", [](value x) { return avg_pool(x, {.window = {3, 3}}); });
  expect_same({1, 0, 2, 1}, "from 1 to 16777216", [](value x) { return resize_nearest(x, 3, 3); });
  expect_same({1, 2, 0, 1}, "from 1 to 16777216", [](value x) { return resize_bilinear(x, 3, 3); });
  expect_same({1, 2, 2, 1}, "higher than the image", [](value x) {
    return crop(x, constant(*x.graph, tensor::copy<int>(std::vector<int>{0, 0}, {1, 2})), 3, 1);
  });
}

TEST(window_kernel_of, knows_operations_on_images_alone) {
  EXPECT_NE(cuda::window_kernel_of(definition<ops::max_pool_op>()), nullptr);
  EXPECT_EQ(cuda::window_kernel_of(definition<ops::add_op>()), nullptr);
}

struct window_text : test::on_real_nvrtc {};
TEST_F(window_text, is_compiled_by_nvrtc) {
  for (auto const x : test::numbers_in_text) {
    if (x != dtype::boolean) add_text(cuda::pool_text("max_pool", x, false), x);
    if (!is_float(x)) continue;
    bool const also_wide = x == dtype::float32;
    for (auto const* function :
         {"max_pool_places", "max_pool_gradient", "max_pool_pick", "avg_pool", "avg_pool_gradient"})
      add_text(cuda::pool_text(function, x, also_wide), x, also_wide ? "wide" : "");
    for (bool const wide : {false, true}) {
      add_text(cuda::resize_bilinear_text(x, wide), x, wide ? "wide" : "");
      add_text(cuda::resize_gradient_text(x, wide), x, wide ? "wide" : "");
    }
  }
  for (std::size_t const bytes : {1u, 2u, 4u, 8u}) {
    bool const wide = bytes == 8;
    auto const* const counters = wide ? "wide" : "";
    add_text(cuda::resize_nearest_text(bytes, wide), bytes, counters);
    add_text(cuda::crop_text(bytes, dtype::int64, wide), bytes, counters);
    add_text(cuda::crop_gradient_text(bytes, dtype::int32, wide), bytes, counters);
  }
  expect_compiled();
}

}  // namespace
}  // namespace rill
