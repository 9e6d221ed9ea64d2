#include "rill/cuda/convolution_kernel.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "on_both.hpp"
#include "real_nvrtc.hpp"
#include "rill/cuda/product_kernel.hpp"

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
INSTANTIATE_TEST_SUITE_P(each_type, convolution_kernels, testing::ValuesIn(floats),
                         [](auto const& i) { return std::string(name(i.param)); });

}  // namespace
}  // namespace rill
