#include "rill/ops/network/convolution_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "../threads.hpp"
#include "rill/type/half.hpp"

namespace rill {
namespace {

using kernels::convolution_shape;
using kernels::index;

std::size_t input_size(convolution_shape const& s) {
  return static_cast<std::size_t>(s.batch * s.height * s.width * s.channels);
}
std::size_t filter_size(convolution_shape const& s) { return static_cast<std::size_t>(s.elements() * s.out_channels); }
std::size_t output_size(convolution_shape const& s) { return static_cast<std::size_t>(s.pixels() * s.out_channels); }

template <class T> std::vector<T> numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> result(count);
  for (auto& x : result) x = T(static_cast<float>(static_cast<int>(random() % 201) - 100) / 100);
  return result;
}

// Calls f(input, filter, output) with the offsets of the numbers that meet.
template <class F> void for_each_product(convolution_shape const& s, F const& f) {
  for (index b = 0; b < s.batch; ++b)
    for (index y = 0; y < s.out_height; ++y)
      for (index x = 0; x < s.out_width; ++x)
        for (index i = 0; i < s.filter_height; ++i)
          for (index j = 0; j < s.filter_width; ++j) {
            index const row = y * s.stride_y - s.top + i * s.dilation_y;
            index const column = x * s.stride_x - s.left + j * s.dilation_x;
            if (row < 0 || row >= s.height || column < 0 || column >= s.width) continue;
            for (index c = 0; c < s.channels; ++c)
              for (index o = 0; o < s.out_channels; ++o)
                f(static_cast<std::size_t>(((b * s.height + row) * s.width + column) * s.channels + c),
                  static_cast<std::size_t>(((i * s.filter_width + j) * s.channels + c) * s.out_channels + o),
                  static_cast<std::size_t>(((b * s.out_height + y) * s.out_width + x) * s.out_channels + o));
          }
}

template <class T> struct results {
  std::vector<T> output, input_gradient, filter_gradient;
};

// All three kernels on input, filter and a gradient of the output.
template <class T>
results<T> run(convolution_shape const& s, std::vector<T> const& input, std::vector<T> const& filter,
               std::vector<T> const& gradient, int threads = 1) {
  auto loop = test::thread_loop(threads);
  results<T> r{std::vector<T>(output_size(s), T(7)), std::vector<T>(input_size(s), T(7)),
               std::vector<T>(filter_size(s), T(7))};
  std::vector<char> forward(kernels::convolve_scratch_bytes<T>(s, threads));
  kernels::convolve<T>(s, input.data(), filter.data(), r.output.data(), forward.data(), loop);
  std::vector<char> to_filter(kernels::convolve_filter_gradient_scratch_bytes<T>(s, threads));
  kernels::convolve_filter_gradient<T>(s, input.data(), gradient.data(), r.filter_gradient.data(), to_filter.data(),
                                       loop);
  std::vector<char> to_input(kernels::convolve_input_gradient_scratch_bytes<T>(s, threads));
  kernels::convolve_input_gradient<T>(s, filter.data(), gradient.data(), r.input_gradient.data(), to_input.data(),
                                      loop);
  return r;
}

template <class T> void expect_near(std::vector<T> const& got, std::vector<double> const& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::abs(static_cast<double>(got[i]) - expected[i]), tolerance * (1 + std::abs(expected[i]))) << i;
  }
}

template <class T> void expect_plain_sums(convolution_shape const& s, double tolerance) {
  auto const input = numbers<T>(input_size(s), 1), filter = numbers<T>(filter_size(s), 2),
             gradient = numbers<T>(output_size(s), 3);
  std::vector<double> output(output_size(s)), input_gradient(input_size(s)), filter_gradient(filter_size(s));
  for_each_product(s, [&](std::size_t i, std::size_t f, std::size_t o) {
    output[o] += static_cast<double>(input[i]) * static_cast<double>(filter[f]);
    input_gradient[i] += static_cast<double>(gradient[o]) * static_cast<double>(filter[f]);
    filter_gradient[f] += static_cast<double>(input[i]) * static_cast<double>(gradient[o]);
  });
  auto const got = run<T>(s, input, filter, gradient);
  expect_near(got.output, output, tolerance);
  expect_near(got.input_gradient, input_gradient, tolerance);
  expect_near(got.filter_gradient, filter_gradient, tolerance);
}

// Shapes of all kinds, small enough for the plain loop.
std::vector<convolution_shape> shapes() {
  std::vector<convolution_shape> all;
  std::mt19937 random(1);
  auto const upto = [&](int most) { return static_cast<index>(random() % static_cast<unsigned>(most)); };
  for (int i = 0; i < 150; ++i) {
    auto s = convolution_shape{.batch = 1 + upto(3),
                               .height = 1 + upto(12),
                               .width = 1 + upto(12),
                               .channels = 1 + upto(5),
                               .filter_height = 1 + upto(5),
                               .filter_width = 1 + upto(5),
                               .out_channels = 1 + upto(40),
                               .out_height = 0,
                               .out_width = 0,
                               .stride_y = 1 + upto(3),
                               .stride_x = 1 + upto(4),
                               .top = upto(4),
                               .left = upto(3),
                               .dilation_y = 1 + upto(3),
                               .dilation_x = 1 + upto(3)};
    s.out_height = 1 + (s.height + 3) / s.stride_y;
    s.out_width = 1 + upto(8);
    all.push_back(s);
  }
  return all;
}

convolution_shape same(index batch, index side, index channels, index filter, index out_channels) {
  return {.batch = batch,
          .height = side,
          .width = side,
          .channels = channels,
          .filter_height = filter,
          .filter_width = filter,
          .out_channels = out_channels,
          .out_height = side,
          .out_width = side,
          .top = (filter - 1) / 2,
          .left = (filter - 1) / 2};
}

TEST(convolution_kernels, agree_with_plain_loops_for_any_stride_padding_and_dilation) {
  for (auto const& s : shapes()) {
    SCOPED_TRACE(testing::Message() << "stride " << s.stride_y << ", " << s.stride_x << ", dilation " << s.dilation_y
                                    << ", " << s.dilation_x);
    expect_plain_sums<float>(s, 1e-4);
    expect_plain_sums<double>(s, 1e-12);
  }
}

TEST(convolution_kernels, agree_with_plain_loops_when_the_sum_is_cut_into_blocks) {
  expect_plain_sums<float>(same(2, 14, 32, 5, 64), 1e-3);
  expect_plain_sums<float>(same(9, 28, 1, 5, 32), 1e-3);
  expect_plain_sums<double>(same(3, 9, 70, 3, 40), 1e-11);
}

TEST(convolution_kernels, crop_the_image_when_the_padding_is_negative) {
  auto s = same(2, 9, 3, 3, 5);
  s.top = -2, s.left = -1, s.out_height = 4, s.out_width = 5;
  expect_plain_sums<float>(s, 1e-4);
}

TEST(convolution_kernels, sum_16_bit_floats_as_floats) {
  expect_plain_sums<half>(same(2, 7, 30, 3, 20), 1e-3);
  expect_plain_sums<bfloat16>(same(2, 7, 30, 3, 20), 8e-3);
  auto strided = same(2, 7, 30, 3, 20);
  strided.stride_y = strided.stride_x = 2;
  strided.out_height = strided.out_width = 4;
  expect_plain_sums<bfloat16>(strided, 8e-3);
}

TEST(convolution_kernels, give_zeros_for_sums_of_nothing) {
  expect_plain_sums<float>(same(0, 5, 2, 3, 4), 0);
  expect_plain_sums<float>(same(2, 5, 0, 3, 4), 0);
  expect_plain_sums<float>(same(2, 5, 3, 3, 0), 0);
  expect_plain_sums<float>(same(2, 0, 3, 3, 4), 0);
  auto nothing = same(2, 5, 3, 3, 4);
  nothing.out_height = 0;
  expect_plain_sums<float>(nothing, 0);
  nothing = same(2, 5, 3, 0, 4);
  expect_plain_sums<float>(nothing, 0);
}

TEST(convolution_kernels, give_the_same_bits_from_any_number_of_threads) {
  auto strided = same(8, 20, 6, 5, 24);
  strided.stride_y = strided.stride_x = 2;
  strided.out_height = strided.out_width = 10;
  for (auto const& s : {same(10, 14, 16, 5, 32), same(20, 28, 1, 5, 32), strided}) {
    auto const input = numbers<float>(input_size(s), 1), filter = numbers<float>(filter_size(s), 2),
               gradient = numbers<float>(output_size(s), 3);
    auto const one = run<float>(s, input, filter, gradient);
    for (int threads : {2, 8}) {
      auto const many = run<float>(s, input, filter, gradient, threads);
      EXPECT_EQ(one.output, many.output);
      EXPECT_EQ(one.input_gradient, many.input_gradient);
      EXPECT_EQ(one.filter_gradient, many.filter_gradient);
    }
  }
}

TEST(convolution_kernels, need_little_scratch) {
  auto const s = same(64, 14, 32, 5, 64);
  EXPECT_LT(kernels::convolve_scratch_bytes<float>(s, 2), std::size_t{1} << 20);
  EXPECT_LT(kernels::convolve_input_gradient_scratch_bytes<float>(s, 2), std::size_t{5} << 18);
  EXPECT_LT(kernels::convolve_filter_gradient_scratch_bytes<float>(s, 2), std::size_t{1} << 21);
}

}  // namespace
}  // namespace rill
