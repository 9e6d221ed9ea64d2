#include "rill/cuda/convolution_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "on_both.hpp"
#include "real_nvrtc.hpp"
#include "rill/cuda/product_kernel.hpp"
#include "rill/cuda/text/convolution_form.hpp"

namespace rill {
namespace {

constexpr dtype floats[] = {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64};

// A convolution of images with a filter that has so many results for each channel or, of channels by themselves, 0.
struct convolution_case {
  shape images, filter;
  convolution how = {};

  std::string text() const {
    std::string all = images.text() + " * " + filter.text();
    for (auto const* list : {&how.stride, &how.dilation, &how.pads}) {
      all += list == &how.stride ? ", strides" : list == &how.dilation ? ", dilations" : ", padding";
      for (auto const n : *list) all += " " + std::to_string(n);
    }
    return all + (how.pad == padding::same ? ", same" : how.pad == padding::valid ? ", valid" : ", given");
  }
};

struct convolution_kernels : test::on_both, testing::WithParamInterface<dtype> {
  // Where the host's products round twice, as on processors without FMA, numbers whose sums don't round.
  tensor numbers(shape const& extents, std::uint64_t seed) {
    static bool const round = host_rounds_once();
    std::mt19937_64 random(seed);
    return test::filled(GetParam(), extents, [&](std::int64_t) -> double {
      auto const bits = random();
      if (!round) return static_cast<double>(bits % 5) - 2;
      if (bits % 16 < 2) return bits % 16 == 0 ? 0 : -0.0;
      return (static_cast<double>(bits >> 11) * 0x1p-52 - 1) * (bits % 16 < 4 ? 1e-4 : 1);
    });
  }

  // Computes a convolution and its derivatives.
  void compare_parts(convolution_case const& c) {
    auto const of = std::string(name(GetParam())) + " " + c.text();
    bool const by_channels = c.filter.rank() == 3;
    auto const x = numbers(c.images, 1), filter = numbers(c.filter, 2), dy = numbers(result_of(c), 3);
    compare(
        {x, filter},
        [&](auto const& in) {
          return by_channels ? depthwise_conv2d(in[0], in[1], c.how) : conv2d(in[0], in[1], c.how);
        },
        of);
    compare(
        {x, filter, dy},
        [&](auto const& in) {
          return by_channels ? depthwise_conv2d_input_gradient(in[0], in[1], in[2], c.how)
                             : conv2d_input_gradient(in[0], in[1], in[2], c.how);
        },
        of + ", images");
    compare(
        {x, filter, dy},
        [&](auto const& in) {
          return by_channels ? depthwise_conv2d_filter_gradient(in[0], in[1], in[2], c.how)
                             : conv2d_filter_gradient(in[0], in[1], in[2], c.how);
        },
        of + ", filter");
  }

 private:
  static shape result_of(convolution_case const& c) {
    type const x(GetParam(), c.images), filter(GetParam(), c.filter);
    return c.filter.rank() == 3 ? ops::depthwise_conv2d_op::infer(c.how, x, filter).shape()
                                : ops::conv2d_op::infer(c.how, x, filter).shape();
  }
  static bool host_rounds_once() {
    double const x = 1 + 0x1p-30;
    graph g;
    auto const a = constant(g, tensor::copy<double>(std::vector{-1., x}, {1, 1, 1, 2}));
    auto const b = constant(g, tensor::copy<double>(std::vector{x * x, x}, {1, 1, 2, 1}));
    return session{g}.run(conv2d(a, b)).template item<double>() != 0;
  }
};

// Calls f(strides, dilations and padding) for combinations of them.
template <class F> void for_each_window(F const& f) {
  f(convolution{});
  f(convolution{.pad = padding::valid});
  f(convolution{.stride = {2, 1}, .dilation = {1, 2}});
  f(convolution{.stride = {2, 3}, .pad = padding::valid});
  f(convolution{.stride = {3, 2}, .dilation = {2, 3}, .pad = padding::given, .pads = {3, 1, 0, 6}});
  f(convolution{.dilation = {2, 2}, .pad = padding::given, .pads = {5, 4, 2, 7}});
}

TEST_P(convolution_kernels, have_the_hosts_bits_for_all_windows) {
  for_each_window([&](convolution const& how) {
    compare_parts({{2, 7, 6, 3}, {3, 2, 3, 5}, how});
    compare_parts({{2, 7, 6, 5}, {3, 2, 5}, how});
  });
}
TEST_P(convolution_kernels, have_the_hosts_bits_for_odd_extents) {
  compare_parts({{1, 1, 1, 1}, {1, 1, 1, 1}});
  compare_parts({{1, 1, 9, 2}, {1, 1, 2, 33}, {.stride = {1, 2}}});  // some pixels meet no tap
  compare_parts({{3, 2, 1, 1}, {5, 4, 1, 2}, {.stride = {2, 2}}});
  compare_parts({{1, 3, 3, 1}, {1, 1, 1}, {.stride = {3, 3}}});
  compare_parts({{1, 4, 9, 37}, {2, 2, 37}, {.stride = {1, 3}}});
  compare_parts({{67, 2, 2, 1}, {2, 2, 1}});  // several parts of the batch
  compare_parts({{130, 3, 1, 3}, {2, 1, 3}, {.pad = padding::valid}});
}
TEST_P(convolution_kernels, have_the_hosts_bits_for_deep_sums) {
  compare_parts({{1, 4, 5, 70}, {3, 3, 70, 3}});
  compare_parts({{1, 5, 4, 3}, {2, 3, 3, 80}, {.stride = {1, 2}}});
  compare_parts({{1, 70, 75, 1}, {1, 2, 1, 1}});  // the derivative of the filter has several parts
}
TEST_P(convolution_kernels, have_the_hosts_bits_of_nothing) {
  compare_parts({{0, 3, 3, 2}, {2, 2, 2, 3}});
  compare_parts({{2, 0, 3, 2}, {2, 2, 2, 3}});
  compare_parts({{2, 3, 3, 0}, {2, 2, 0, 3}, {.stride = {2, 1}}});
  compare_parts({{2, 3, 3, 2}, {2, 2, 2, 0}, {.stride = {2, 1}}});
  compare_parts({{0, 3, 3, 2}, {2, 2, 2}});
  compare_parts({{2, 3, 0, 2}, {2, 2, 2}});
  compare_parts({{2, 3, 3, 0}, {2, 2, 0}});
}
TEST_P(convolution_kernels, have_the_hosts_bits_of_transposed_convolutions) {
  auto const compare_transposed = [&](shape const& x, shape const& filter, transposed_convolution const& how) {
    compare(
        {numbers(x, 1), numbers(filter, 2)}, [&](auto const& in) { return conv2d_transpose(in[0], in[1], how); },
        std::string(name(GetParam())) + " " + x.text() + " transposed");
  };
  compare_transposed({2, 3, 4, 5}, {3, 2, 3, 5}, {});
  compare_transposed({2, 3, 4, 5}, {3, 3, 3, 5}, {.stride = {2, 3}});
  compare_transposed({1, 3, 2, 2}, {2, 3, 1, 2}, {.stride = {2, 2}, .dilation = {2, 1}, .pad = padding::valid});
  compare_transposed({1, 3, 2, 2}, {3, 3, 4, 2}, {.stride = {2, 2}, .size = {5, 4}});
  compare_transposed({0, 3, 2, 2}, {3, 3, 4, 2}, {.stride = {2, 2}});
}
TEST_P(convolution_kernels, have_the_hosts_bits_however_they_are_distributed) {
  int const large = cuda::product_plan{GetParam(), {}}.large_side();
  for (auto const& choices : {cuda::convolution_choices{large, false, false}, {large, true, true}, {32, false, true}}) {
    factory = [&](kernel_request const& r) { return cuda::convolution_kernel(r, choices); };
    compare_parts({{2, 7, 6, 3}, {3, 2, 3, 5}, {.stride = {2, 1}, .dilation = {1, 2}}});
    compare_parts({{1, 9, 8, 33}, {2, 2, 33, 65}, {.stride = {1, 2}}});
    compare_parts({{2, 7, 6, 5}, {3, 2, 5}, {.stride = {2, 3}, .dilation = {3, 2}}});
  }
}
TEST_P(convolution_kernels, multiply_zeros_beyond_images_by_what_is_not_finite) {
  auto const infinite = test::filled(GetParam(), {2, 3, 2, 4}, [](std::int64_t i) {
    return i % 11 == 5  ? std::nan("")
           : i % 7 == 3 ? std::numeric_limits<double>::infinity()
                        : static_cast<double>(i % 5 - 2);
  });
  auto const images = numbers({1, 3, 3, 2}, 1);
  compare({images, infinite}, [](auto const& in) { return conv2d(in[0], in[1], {}); }, "an infinite filter");
  compare(
      {images, numbers({3, 3, 2, 4}, 2),
       test::filled(GetParam(), {1, 3, 3, 4},
                    [](std::int64_t i) { return i == 7 ? -std::numeric_limits<double>::infinity() : 1; })},
      [](auto const& in) { return conv2d_filter_gradient(in[0], in[1], in[2], {}); }, "an infinite gradient");
}
INSTANTIATE_TEST_SUITE_P(each_type, convolution_kernels, testing::ValuesIn(test::types_to_test(floats)),
                         [](auto const& i) { return std::string(name(i.param)); });

// Operations that are made of convolutions, with their derivatives, in sessions that have no soft placement.
struct convolution_nodes : test::on_gpu {
  // Compares what `f` records of these operands, and the derivatives of its sum.
  template <class F> void compare(std::vector<shape> const& operands, F const& f) {
    auto const device = gpu(0);
    graph g;
    std::vector<value> in;
    std::vector<feed> feeds;
    for (auto const& extents : operands) {
      in.push_back(placeholder(g, type(dtype::float32, extents)));
      feeds.emplace_back(in.back(), test::filled(dtype::float32, extents, [](std::int64_t i) { return i % 7 - 3; }));
    }
    auto const record = [&] {
      auto const y = f(in);
      auto all = gradients(sum(y * y), in);
      all.push_back(y);
      return all;
    };
    std::vector<value> there, here;
    g.on("gpu:0", [&] { there = record(); });
    g.on("cpu:0", [&] { here = record(); });
    session s{g, {.devices = {device}}};
    auto const a = s.run(std::span<feed const>(feeds), there), b = s.run(std::span<feed const>(feeds), here);
    for (std::size_t i = 0; i < a.size(); ++i) test::expect_same_numbers(a[i].to(host), b[i], std::to_string(i));
  }
};

TEST_F(convolution_nodes, run_on_a_gpu) {
  compare({{2, 5, 4, 3}, {3, 2, 3, 2}}, [](auto const& in) { return conv2d(in[0], in[1], {.stride = {2, 1}}); });
  compare({{2, 5, 4, 3}, {3, 2, 2, 3}},
          [](auto const& in) { return conv2d_transpose(in[0], in[1], {.stride = {2, 1}}); });
  compare({{2, 5, 4, 3}, {3, 2, 3}}, [](auto const& in) { return depthwise_conv2d(in[0], in[1], {.stride = {2, 1}}); });
}
TEST_F(convolution_nodes, of_sequences_and_groups_run_on_a_gpu) {
  compare({{2, 9, 3}, {3, 3, 2}}, [](auto const& in) { return conv1d(in[0], in[1], {.stride = 2}); });
  compare({{1, 4, 5, 4}, {2, 2, 2, 6}}, [](auto const& in) { return grouped_conv2d(in[0], in[1], 2); });
  compare({{1, 4, 5, 2}, {2, 2, 2, 3}}, [](auto const& in) { return depthwise_conv2d(in[0], in[1], {}); });
}

TEST(divisors, divide_as_integers_do) {
  std::mt19937_64 random(1);
  for (std::int64_t const by : {1l, 2l, 3l, 7l, 64l, 255l, 641l, 65535l, 65537l, 1l << 30, (1l << 30) + 1, 2147483647l})
    for (int i = 0; i < 1000; ++i) {
      auto const some = static_cast<std::int64_t>(random() >> (33 + i % 31));
      std::int64_t const near = some / by * by;  // the quotients of it and of its neighbours differ
      for (auto const number : {some, near, std::max<std::int64_t>(near - 1, 0), std::int64_t{2147483647}}) {
        ASSERT_EQ(cuda::divisor(by).divide(static_cast<int>(number)), number / by) << number << " / " << by;
        ASSERT_EQ(cuda::divisor(by).divide(number), number / by);
      }
    }
  EXPECT_EQ(cuda::divisor(1l << 40).divide(std::int64_t{5} << 40), 5);
  EXPECT_EQ(cuda::divisor(0), 0);  // the extent of an array that is empty
}

TEST(convolution_kernel_of, has_convolutions_of_floats) {
  type const x(dtype::float32, {1, 2, 2, 1}), labels(dtype::int32, {1, 2, 2, 1}), z(dtype::complex64, {1, 2, 2, 1});
  auto const has = [](op_def const& op, std::vector<type> const& inputs) {
    return cuda::convolution_kernel_of(op, inputs) != nullptr;
  };
  EXPECT_TRUE(has(definition<ops::conv2d_op>(), {x, x}));
  EXPECT_TRUE(has(definition<ops::conv2d_input_gradient_op>(), {labels, x, x}));  // its extents alone are used
  EXPECT_FALSE(has(definition<ops::conv2d_op>(), {z, z}));
  EXPECT_FALSE(has(definition<ops::add_op>(), {x, x}));
}

// Every text, for each kind of card.
struct convolution_text_of : test::on_real_nvrtc, testing::WithParamInterface<dtype> {
  void add_texts_of(cuda::convolution_numbers const& of) {
    using enum cuda::convolution_part;
    auto const* const counters = of.wide ? "wide" : "";
    add_text(cuda::add_pixels_text(of), of.element, counters);
    add_text(cuda::depthwise_text(filter_gradient, of, true), of.element, "filter gradient in parts", counters);
    for (auto const& [part, called] : {std::pair(result, "result"), std::pair(images_gradient, "images gradient"),
                                       std::pair(filter_gradient, "filter gradient")}) {
      add_text(cuda::depthwise_text(part, of, false), of.element, called, counters);
      int const large = cuda::product_plan{of.element, {}}.large_side(), small = cuda::product_plan::small_side;
      add_text(cuda::convolution_text(part, of, large, false), of.element, called, "large tiles", counters);
      add_text(cuda::convolution_text(part, of, small, true), of.element, called, "small tiles", counters);
    }
  }
};
TEST_P(convolution_text_of, is_compiled_by_nvrtc) {
  add_texts_of({GetParam(), false});
  expect_compiled();
}
TEST_P(convolution_text_of, with_wide_counters_is_compiled_by_nvrtc) {
  add_texts_of({GetParam(), true});
  expect_compiled();
}
INSTANTIATE_TEST_SUITE_P(each_type, convolution_text_of, testing::ValuesIn(floats),
                         [](auto const& i) { return std::string(name(i.param)); });

}  // namespace
}  // namespace rill
