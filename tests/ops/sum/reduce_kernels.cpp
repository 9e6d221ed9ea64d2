#include "rill/ops/sum/reduce_kernels.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "../threads.hpp"
#include "rill/ops/reduction/argmax_kernels.hpp"
#include "rill/type/half.hpp"

namespace rill {
namespace {

using kernels::index;
using kernels::reduce_shape;

// Plain memory; std::vector<bool> is none.
template <class T> struct array {
  explicit array(index count) : size(static_cast<std::size_t>(count)), data(new T[size + 1]()) {}
  T& operator[](index i) { return data[static_cast<std::size_t>(i)]; }
  bool operator==(array const& other) const { return std::memcmp(data.get(), other.data.get(), size * sizeof(T)) == 0; }

  std::size_t size;
  std::unique_ptr<T[]> data;
};

template <class T> T number(std::mt19937& random) {
  if constexpr (std::is_same_v<T, bool>) return random() % 50 == 0;
  else if constexpr (std::is_integral_v<T>) return static_cast<T>(random());
  else if constexpr (requires(T x) { x.imag(); })
    return {static_cast<typename T::value_type>(random() % 100), static_cast<typename T::value_type>(random() % 50)};
  else return T(static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 1000);
}

template <class T> array<T> numbers(reduce_shape const& s, unsigned seed = 1) {
  std::mt19937 random(seed);
  array<T> result(s.outer * s.middle * s.inner);
  for (std::size_t i = 0; i < result.size; ++i) result.data[i] = number<T>(random);
  return result;
}

enum class kind { sum, mean, max };

template <kind Kind, class T> array<T> reduced(reduce_shape const& s, array<T> const& from, int threads = 1) {
  auto loop = test::thread_loop(threads);
  array<T> to(s.outer * s.inner);
  array<char> scratch(static_cast<index>(kernels::reduce_scratch_bytes<T>(s)));
  if constexpr (Kind == kind::sum) kernels::reduce_sum<T>(s, from.data.get(), to.data.get(), scratch.data.get(), loop);
  else if constexpr (Kind == kind::mean)
    kernels::reduce_mean<T>(s, from.data.get(), to.data.get(), scratch.data.get(), loop);
  else kernels::reduce_max<T>(s, from.data.get(), to.data.get(), scratch.data.get(), loop);
  return to;
}

std::vector<reduce_shape> shapes() {
  return {{1, 1, 1},   {3, 10, 1},   {5, 37, 1},   {2, 4096, 1}, {1, 50001, 1}, {300, 20, 1}, {4, 3, 5},
          {2, 10, 10}, {1, 300, 33}, {2, 1000, 2}, {3, 7, 2500}, {1, 2049, 64}, {40, 5, 4},   {2, 0, 3},
          {2, 0, 1},   {0, 5, 1},    {3, 5, 0},    {1, 9, 1024}, {7, 257, 17},  {1, 129, 1}};
}

// Calls f(outer, inner, elements) for each line along the middle extent.
template <class T, class F> void for_each_line(reduce_shape const& s, array<T>& from, F const& f) {
  for (index o = 0; o < s.outer; ++o)
    for (index i = 0; i < s.inner; ++i) {
      std::vector<T> line;
      for (index m = 0; m < s.middle; ++m) line.push_back(from[(o * s.middle + m) * s.inner + i]);
      f(o * s.inner + i, line);
    }
}

template <class T, class Wide> void expect_sums(double tolerance) {
  for (auto const& s : shapes()) {
    SCOPED_TRACE(testing::Message() << s.outer << ", " << s.middle << ", " << s.inner);
    auto from = numbers<T>(s);
    auto sums = reduced<kind::sum>(s, from);
    for_each_line(s, from, [&](index at, std::vector<T> const& line) {
      Wide sum{}, size{};
      for (auto const x : line) sum += static_cast<Wide>(x), size += static_cast<Wide>(std::abs(static_cast<Wide>(x)));
      ASSERT_LE(std::abs(static_cast<Wide>(sums[at]) - sum), tolerance * std::abs(size)) << at;
    });
  }
}

template <class T> void expect_wrapped_sums() {
  for (auto const& s : shapes()) {
    auto from = numbers<T>(s);
    auto sums = reduced<kind::sum>(s, from);
    for_each_line(s, from, [&](index at, std::vector<T> const& line) {
      std::uint64_t sum = 0;
      for (auto const x : line) sum += static_cast<std::uint64_t>(x);
      ASSERT_EQ(sums[at], static_cast<T>(sum)) << s.outer << ", " << s.middle << ", " << s.inner << " at " << at;
    });
  }
}

TEST(reduce_kernels, add_floating_point_numbers) {
  expect_sums<float, double>(4e-7);
  expect_sums<double, long double>(1e-15);
}

TEST(reduce_kernels, add_16_bit_floats_as_floats) {
  expect_sums<half, double>(1e-3);
  expect_sums<bfloat16, double>(8e-3);
  auto const s = reduce_shape{1, 100000, 1};
  array<half> ones(s.middle);
  for (index i = 0; i < s.middle; ++i) ones[i] = half(0.5f);
  EXPECT_EQ(reduced<kind::sum>(s, ones)[0], half(50000.0f));
}

TEST(reduce_kernels, add_complex_numbers) {
  expect_sums<std::complex<float>, std::complex<double>>(4e-7);
  expect_sums<std::complex<double>, std::complex<double>>(1e-15);
}

TEST(reduce_kernels, add_integers_which_wrap) {
  expect_wrapped_sums<std::int8_t>();
  expect_wrapped_sums<std::int16_t>();
  expect_wrapped_sums<std::int32_t>();
  expect_wrapped_sums<std::int64_t>();
  expect_wrapped_sums<std::uint8_t>();
  expect_wrapped_sums<std::uint16_t>();
  expect_wrapped_sums<std::uint32_t>();
  expect_wrapped_sums<std::uint64_t>();
}

TEST(reduce_kernels, divide_a_mean_before_it_is_rounded) {
  auto const s = reduce_shape{2, 300000, 1};
  array<half> large(2 * s.middle);
  for (index i = 0; i < 2 * s.middle; ++i) large[i] = half(60000.0f);
  EXPECT_EQ(reduced<kind::mean>(s, large)[1], 60000.0f);
  EXPECT_TRUE(std::isnan(reduced<kind::mean>({1, 0, 1}, array<float>(0))[0]));
  auto pairs = numbers<std::complex<float>>({1, 4, 1});
  auto const mean = reduced<kind::mean>({1, 4, 1}, pairs)[0];
  EXPECT_EQ(mean, (pairs[0] + pairs[1] + pairs[2] + pairs[3]) / 4.0f);
}

template <class T> void expect_maxima() {
  for (auto const& s : shapes()) {
    auto from = numbers<T>(s);
    auto maxima = reduced<kind::max>(s, from);
    for_each_line(s, from, [&](index at, std::vector<T> const& line) {
      if (line.empty()) return;
      auto largest = line[0];
      for (auto const x : line) largest = x > largest ? x : largest;
      ASSERT_TRUE(maxima[at] == largest) << s.outer << ", " << s.middle << ", " << s.inner << " at " << at;
    });
  }
}

TEST(reduce_kernels, find_the_largest) {
  expect_maxima<float>();
  expect_maxima<double>();
  expect_maxima<half>();
  expect_maxima<bfloat16>();
  expect_maxima<std::int8_t>();
  expect_maxima<std::int16_t>();
  expect_maxima<std::int32_t>();
  expect_maxima<std::int64_t>();
  expect_maxima<std::uint8_t>();
  expect_maxima<std::uint16_t>();
  expect_maxima<std::uint32_t>();
  expect_maxima<std::uint64_t>();
}

TEST(reduce_kernels, find_whether_any_bool_is_true) {
  expect_maxima<bool>();
  EXPECT_FALSE(reduced<kind::max>({1, 0, 1}, array<bool>(0))[0]);
}

TEST(reduce_kernels, take_the_least_value_as_the_largest_of_nothing) {
  EXPECT_EQ(reduced<kind::max>({1, 0, 1}, array<float>(0))[0], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(reduced<kind::max>({1, 0, 1}, array<std::int32_t>(0))[0], std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(reduced<kind::max>({1, 0, 1}, array<std::int8_t>(0))[0], -128);
}

TEST(reduce_kernels, let_a_nan_be_the_largest_wherever_it_is) {
  for (auto const& s : {reduce_shape{1, 10, 1}, {1, 200, 1}, {1, 9000, 1}, {2, 300, 5}, {1, 6, 40}}) {
    for (index place = 0; place < s.middle; place += 1 + s.middle / 13) {
      auto from = numbers<float>(s);
      from[place * s.inner] = std::numeric_limits<float>::quiet_NaN();
      auto maxima = reduced<kind::max>(s, from);
      EXPECT_TRUE(std::isnan(maxima[0])) << place;
      for (index i = 1; i < s.outer * s.inner; ++i) EXPECT_FALSE(std::isnan(maxima[i]));
    }
  }
}

template <class T, class Index> void expect_first_of_the_largest() {
  for (auto const& s : shapes()) {
    if (s.middle == 0) continue;
    auto from = numbers<T>(s);
    array<Index> places(s.outer * s.inner);
    kernels::argmax<T, Index>(s, from.data.get(), places.data.get(), test::thread_loop(2));
    for_each_line(s, from, [&](index at, std::vector<T> const& line) {
      std::size_t place = 0;
      for (std::size_t i = 1; i < line.size(); ++i) place = line[i] > line[place] ? i : place;
      ASSERT_EQ(static_cast<std::size_t>(places[at]), place) << s.outer << ", " << s.middle << ", " << s.inner;
    });
  }
}

TEST(reduce_kernels, find_where_the_first_of_the_largest_is) {
  expect_first_of_the_largest<float, std::int32_t>();
  expect_first_of_the_largest<double, std::int64_t>();
  expect_first_of_the_largest<half, std::int32_t>();
  expect_first_of_the_largest<bfloat16, std::int32_t>();
  expect_first_of_the_largest<std::int8_t, std::int64_t>();
  expect_first_of_the_largest<std::uint16_t, std::int32_t>();
  expect_first_of_the_largest<std::int32_t, std::int32_t>();
  expect_first_of_the_largest<std::int64_t, std::int64_t>();
  expect_first_of_the_largest<bool, std::int32_t>();
}

TEST(reduce_kernels, find_the_first_nan_before_anything_larger) {
  for (auto const& s : {reduce_shape{1, 10, 1}, {1, 200, 1}, {1, 60, 3}}) {
    for (index place = 0; place < s.middle; ++place) {
      auto from = numbers<float>(s);
      for (index nan = place; nan < s.middle; nan += 7) from[nan * s.inner] = std::numeric_limits<float>::quiet_NaN();
      std::int64_t places[3] = {};
      kernels::argmax<float, std::int64_t>(s, from.data.get(), places, {});
      ASSERT_EQ(places[0], place);
    }
  }
}

TEST(reduce_kernels, give_the_same_bits_from_any_number_of_threads) {
  auto all = shapes();
  all.insert(all.end(), {{1, 3000000, 1}, {2, 20000, 64}, {500, 500, 3}, {3, 40, 5000}});
  for (auto const& s : all) {
    auto const from = numbers<float>(s);
    auto const one = reduced<kind::sum>(s, from);
    for (int threads : {2, 8}) {
      EXPECT_TRUE(reduced<kind::sum>(s, from, threads) == one);
      EXPECT_TRUE(reduced<kind::max>(s, from, threads) == reduced<kind::max>(s, from));
    }
  }
}

TEST(reduce_kernels, give_the_same_bits_from_every_instruction_set) {
  std::uint32_t hash = 0;
  for (auto const& s : shapes()) {
    auto sums = reduced<kind::sum>(s, numbers<float>(s));
    for (index i = 0; i < s.outer * s.inner; ++i)
      hash = (hash << 5 | hash >> 27) ^ std::bit_cast<std::uint32_t>(sums[i]);
  }
  EXPECT_EQ(hash, 2383369667u);
}

TEST(reduce_kernels, err_little_on_long_sums) {
  auto const s = reduce_shape{1, 10000000, 1};
  array<float> from(s.middle);
  for (index i = 0; i < s.middle; ++i) from[i] = 0.1f;
  EXPECT_NEAR(reduced<kind::sum>(s, from)[0], static_cast<double>(0.1f) * 1e7, 2.0);
}

}  // namespace
}  // namespace rill
