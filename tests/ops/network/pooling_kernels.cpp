#include "rill/ops/network/pooling_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "../threads.hpp"
#include "rill/type/half.hpp"

namespace rill {
namespace {

using kernels::index;
using kernels::pooling_shape;

std::size_t input_size(pooling_shape const& s) {
  return static_cast<std::size_t>(s.batch * s.height * s.width * s.channels);
}
std::size_t output_size(pooling_shape const& s) {
  return static_cast<std::size_t>(s.batch * s.out_height * s.out_width * s.channels);
}

// Few different values, so that there are ties.
template <class T> std::vector<T> numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> result(count);
  for (auto& x : result) x = T(static_cast<float>(static_cast<int>(random() % 21) - 10));
  return result;
}

template <class T> struct results {
  std::vector<T> output, gradient;
  bool operator==(results const& other) const {
    auto const same = [](auto const& a, auto const& b) {
      return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
    };
    return same(output, other.output) && same(gradient, other.gradient);
  }
};

template <class T>
results<T> run(pooling_shape const& s, std::vector<T> const& input, std::vector<T> const& gradient, int threads = 1) {
  auto loop = test::thread_loop(threads);
  results<T> r{std::vector<T>(output_size(s), T(7)), std::vector<T>(input_size(s), T(7))};
  kernels::max_pool<T>(s, input.data(), r.output.data(), loop);
  std::vector<typename kernels::detail::pooling<T>::V> sums(input_size(s));
  kernels::max_pool_gradient<T>(s, input.data(), gradient.data(), r.gradient.data(), sums.data(), loop);
  return r;
}

template <class T>
results<T> plain(pooling_shape const& s, std::vector<T> const& input, std::vector<T> const& gradient) {
  results<T> r{{}, {}};
  std::vector<typename kernels::detail::pooling<T>::V> sums(input_size(s));
  for (std::size_t o = 0; o < output_size(s); ++o) {
    auto rest = static_cast<index>(o);
    index const c = rest % s.channels, x = (rest /= s.channels) % s.out_width, y = (rest /= s.out_width) % s.out_height;
    index const b = rest / s.out_height;
    T largest = -std::numeric_limits<float>::infinity() < 0 ? T(-std::numeric_limits<float>::infinity()) : T(0);
    std::size_t place = input.size();
    for (index row = y * s.stride_y - s.top; row < y * s.stride_y - s.top + s.window_height; ++row)
      for (index column = x * s.stride_x - s.left; column < x * s.stride_x - s.left + s.window_width; ++column) {
        if (row < 0 || row >= s.height || column < 0 || column >= s.width) continue;
        auto const i = static_cast<std::size_t>(((b * s.height + row) * s.width + column) * s.channels + c);
        if (place < input.size() && !(input[i] > largest || (input[i] != input[i] && largest == largest))) continue;
        largest = input[i], place = i;
      }
    r.output.push_back(largest);
    if (place < input.size()) sums[place] = sums[place] + gradient[o];
  }
  for (auto const sum : sums) r.gradient.push_back(static_cast<T>(sum));
  return r;
}

template <class T> void expect_plain(pooling_shape const& s, std::vector<T> const& input) {
  auto const gradient = numbers<T>(output_size(s), 2);
  auto const expected = plain(s, input, gradient), got = run(s, input, gradient);
  for (std::size_t i = 0; i < input.size(); ++i) ASSERT_EQ(got.gradient[i], expected.gradient[i]) << i;
  for (std::size_t i = 0; i < expected.output.size(); ++i) {
    ASSERT_TRUE(got.output[i] == expected.output[i] ||
                (got.output[i] != got.output[i] && expected.output[i] != expected.output[i]));
  }
}

std::vector<pooling_shape> shapes() {
  // Windows that tile the image, as they lie and with padding, and that leave a row or a column out.
  std::vector<pooling_shape> all{{2, 4, 6, 5, 2, 2, 2, 3, 2, 2},        {1, 9, 8, 40, 3, 4, 3, 2, 3, 4},
                                 {2, 5, 6, 64, 2, 3, 3, 2, 2, 3, 1, 0}, {1, 5, 4, 16, 3, 2, 2, 3, 3, 2, 1, 1},
                                 {1, 5, 6, 16, 2, 2, 2, 3, 2, 2},       {1, 4, 7, 3, 2, 2, 2, 3, 2, 2}};
  std::mt19937 random(1);
  auto const upto = [&](int most) { return static_cast<index>(random() % static_cast<unsigned>(most)); };
  for (int i = 0; i < 200; ++i) {
    all.push_back({.batch = upto(4),
                   .height = upto(9),
                   .width = 1 + upto(9),
                   .channels = upto(3) == 0 ? 16 * (1 + upto(8)) : upto(40),
                   .window_height = 1 + upto(4),
                   .window_width = 1 + upto(4),
                   .out_height = upto(7),
                   .out_width = 1 + upto(7),
                   .stride_y = 1 + upto(4),
                   .stride_x = 1 + upto(3),
                   .top = upto(4),
                   .left = upto(4)});
  }
  return all;
}

TEST(pooling_kernels, agree_with_plain_loops_for_any_window_stride_and_padding) {
  for (auto const& s : shapes()) {
    expect_plain(s, numbers<float>(input_size(s), 1));
    expect_plain(s, numbers<double>(input_size(s), 1));
    expect_plain(s, numbers<half>(input_size(s), 1));
    expect_plain(s, numbers<bfloat16>(input_size(s), 1));
  }
}

TEST(pooling_kernels, let_a_nan_be_the_largest_of_its_window_and_give_it_the_gradient) {
  for (auto const& s : shapes()) {
    auto input = numbers<float>(input_size(s), 1);
    for (std::size_t i = 0; i < input.size(); i += 5) input[i] = std::numeric_limits<float>::quiet_NaN();
    expect_plain(s, input);
  }
}

TEST(pooling_kernels, take_the_least_value_where_a_window_has_no_pixel) {
  auto const s = pooling_shape{1, 2, 2, 1, 1, 1, 2, 1, 5, 1, 0, 0};
  EXPECT_EQ(run<float>(s, {1, 2, 3, 4}, {1, 1}).output[1], -std::numeric_limits<float>::infinity());
  std::vector<std::int32_t> integers{1, 2, 3, 4}, least(2);
  kernels::max_pool<std::int32_t>(s, integers.data(), least.data(), {});
  EXPECT_EQ(least, (std::vector<std::int32_t>{1, std::numeric_limits<std::int32_t>::min()}));
}

TEST(pooling_kernels, add_to_zero_whether_windows_tile_the_image_or_not) {
  for (index stride : {1, 2}) {
    auto const s = pooling_shape{1, 2, 4, 1, 2, 2, 1, 2, stride, stride};
    EXPECT_EQ(s.tiles(), stride == 2);
    auto const got = run<float>(s, {1, 9, 3, 4, 5, 6, 7, 8}, {-0.0f, -0.0f});
    for (float g : got.gradient) EXPECT_TRUE(g == 0 && !std::signbit(g));
  }
}

TEST(pooling_kernels, give_the_same_bits_from_any_number_of_threads) {
  for (auto const& s : {pooling_shape{7, 28, 28, 32, 2, 2, 14, 14, 2, 2}, {3, 20, 20, 100, 3, 3, 20, 20, 1, 1, 1, 1}}) {
    auto const input = numbers<float>(input_size(s), 1), gradient = numbers<float>(output_size(s), 2);
    auto const one = run(s, input, gradient);
    EXPECT_TRUE(run(s, input, gradient, 2) == one);
    EXPECT_TRUE(run(s, input, gradient, 8) == one);
  }
}

}  // namespace
}  // namespace rill
