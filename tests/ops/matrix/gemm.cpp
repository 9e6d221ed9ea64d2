#include "rill/ops/matrix/gemm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "../threads.hpp"
#include "base/limit.hpp"
#include "rill/type/half.hpp"

namespace rill {
namespace {

using kernels::index;

template <class T> T number(std::mt19937& random) {
  auto const whole = static_cast<int>(random() % 2001) - 1000;
  if constexpr (std::is_integral_v<T>) return static_cast<T>(random());
  else if constexpr (requires(T x) { x.imag(); })
    return {static_cast<typename T::value_type>(whole) / 1000,
            static_cast<typename T::value_type>(random() % 1000) / 1000};
  else return T(static_cast<float>(whole) / 1000);
}

// A matrix in memory, in either order and with a gap between its lines.
template <class T> struct matrix {
  index rows, columns, row, column;
  std::vector<T> data;

  matrix(index m, index n, bool transposed, index gap, unsigned seed)
      : rows(m),
        columns(n),
        row(transposed ? 1 : n + gap),
        column(transposed ? m + gap : 1),
        data(static_cast<std::size_t>((transposed ? n : m) * (transposed ? m + gap : n + gap))) {
    std::mt19937 random(seed);
    for (auto& x : data) x = number<T>(random);
  }
  T operator()(index i, index j) const { return data[static_cast<std::size_t>(i * row + j * column)]; }
  kernels::matrix_view<T> view() const { return {data.data(), row, column}; }
};

template <class T>
std::vector<T> product(matrix<T> const& a, matrix<T> const& b, int threads = 1, index gap = 0, T before = T(7)) {
  std::vector<T> c(static_cast<std::size_t>(a.rows * (b.columns + gap)), before);
  auto loop = test::thread_loop(threads);
  std::vector<char> scratch(kernels::gemm_scratch_bytes<T>(a.rows, b.columns, a.columns, threads));
  kernels::gemm<T>(a.rows, b.columns, a.columns, a.view(), b.view(), c.data(), b.columns + gap, scratch.data(), loop);
  return c;
}

template <class T> bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T> void expect_plain_sums(matrix<T> const& a, matrix<T> const& b, double tolerance, index gap = 3) {
  auto const c = product(a, b, 1, gap);
  for (index i = 0; i < a.rows; ++i) {
    for (index j = 0; j < b.columns + gap; ++j) {
      auto const got = c[static_cast<std::size_t>(i * (b.columns + gap) + j)];
      if (j >= b.columns) {
        ASSERT_EQ(got, T(7)) << "wrote beyond row " << i;
      } else if constexpr (std::is_integral_v<T>) {
        std::uint64_t sum = 0;
        for (index k = 0; k < a.columns; ++k)
          sum += static_cast<std::uint64_t>(a(i, k)) * static_cast<std::uint64_t>(b(k, j));
        ASSERT_EQ(got, static_cast<T>(sum)) << i << ", " << j;
      } else {
        using wide = std::conditional_t<requires(T x) { x.imag(); }, std::complex<long double>, long double>;
        wide sum = 0;
        for (index k = 0; k < a.columns; ++k) sum += wide(a(i, k)) * wide(b(k, j));
        ASSERT_LE(std::abs(wide(got) - sum), tolerance * (4 + static_cast<double>(a.columns))) << i << ", " << j;
      }
    }
  }
}

template <class T> void expect_plain_sums(double tolerance) {
  index const sizes[][3] = {{1, 1, 1},     {1, 40, 3},   {7, 1, 5},     {3, 5, 0},     {12, 32, 8},    {13, 33, 9},
                            {32, 10, 128}, {64, 64, 64}, {65, 130, 17}, {200, 70, 40}, {50, 300, 310}, {9, 20, 4500}};
  for (auto const& [m, n, k] : sizes) {
    for (int form = 0; form < 4; ++form) {
      SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << ", form " << form);
      expect_plain_sums(matrix<T>(m, k, form & 1, form, 1), matrix<T>(k, n, form & 2, form % 3, 2), tolerance);
    }
  }
}

TEST(gemm, multiplies_floats_in_all_transpositions) { expect_plain_sums<float>(1e-7); }
TEST(gemm, multiplies_doubles_in_all_transpositions) { expect_plain_sums<double>(2e-16); }
TEST(gemm, multiplies_complex_numbers) {
  test::allow(300);
  expect_plain_sums<std::complex<float>>(2e-7);
  expect_plain_sums<std::complex<double>>(4e-16);
}
TEST(gemm, multiplies_integers_which_wrap) {
  test::allow(300);
  expect_plain_sums<std::int8_t>(0);
  expect_plain_sums<std::int16_t>(0);
  expect_plain_sums<std::int32_t>(0);
  expect_plain_sums<std::int64_t>(0);
  expect_plain_sums<std::uint8_t>(0);
  expect_plain_sums<std::uint16_t>(0);
  expect_plain_sums<std::uint32_t>(0);
  expect_plain_sums<std::uint64_t>(0);
}

// The product of the same numbers as floats, rounded.
template <class T> void expect_rounded_once(index m, index n, index k) {
  auto const a = matrix<T>(m, k, false, 0, 3), b = matrix<T>(k, n, true, 1, 4);
  auto wide_a = matrix<float>(m, k, false, 0, 0), wide_b = matrix<float>(k, n, true, 1, 0);
  for (std::size_t i = 0; i < a.data.size(); ++i) wide_a.data[i] = a.data[i];
  for (std::size_t i = 0; i < b.data.size(); ++i) wide_b.data[i] = b.data[i];
  auto const exact = product(wide_a, wide_b);
  auto const rounded = product(a, b);
  for (std::size_t i = 0; i < exact.size(); ++i) ASSERT_EQ(rounded[i].bits, T(exact[i]).bits);
}

TEST(gemm, sums_16_bit_floats_as_floats_and_rounds_once) {
  for (auto const k : {1, 64, 1000, 9000}) {
    expect_rounded_once<half>(13, 35, k);
    expect_rounded_once<bfloat16>(13, 35, k);
  }
  expect_rounded_once<half>(300, 300, 300);
}

TEST(gemm, gives_zeros_for_a_sum_of_nothing_and_writes_nothing_for_no_element) {
  auto const none = product(matrix<float>(3, 0, false, 0, 1), matrix<float>(0, 4, false, 0, 1));
  EXPECT_EQ(none, std::vector<float>(12, 0.0f));
  EXPECT_TRUE(product(matrix<float>(0, 5, false, 0, 1), matrix<float>(5, 4, false, 0, 1)).empty());
  EXPECT_EQ(product(matrix<float>(2, 5, false, 0, 1), matrix<float>(5, 0, false, 0, 1), 1, 3),
            std::vector<float>(6, 7.0f));
}

TEST(gemm, reads_operands_with_any_strides) {
  auto const a = matrix<double>(20, 60, false, 0, 1), b = matrix<double>(30, 80, false, 0, 2);
  std::vector<double> c(10 * 40), scratch(kernels::gemm_scratch_bytes<double>(10, 40, 30, 1) / sizeof(double) + 1);
  kernels::gemm<double>(10, 40, 30, {a.data.data(), 2 * 60, 2}, {b.data.data(), 80, 2}, c.data(), 40, scratch.data(),
                        {});
  for (index i = 0; i < 10; ++i) {
    for (index j = 0; j < 40; ++j) {
      double sum = 0;
      for (index k = 0; k < 30; ++k) sum += a(2 * i, 2 * k) * b(k, 2 * j);
      ASSERT_NEAR(c[static_cast<std::size_t>(i * 40 + j)], sum, 1e-14);
    }
  }
}

TEST(gemm, repeats_a_line_whose_stride_is_zero) {
  auto const a = matrix<float>(1, 30, false, 0, 1), b = matrix<float>(30, 1, false, 0, 2);
  std::vector<float> c(9 * 50), one(1), scratch(kernels::gemm_scratch_bytes<float>(9, 50, 30, 1) / sizeof(float) + 1);
  kernels::gemm<float>(1, 1, 30, {a.data.data(), 30, 1}, {b.data.data(), 1, 1}, one.data(), 1, scratch.data(), {});
  kernels::gemm<float>(9, 50, 30, {a.data.data(), 0, 1}, {b.data.data(), 1, 0}, c.data(), 50, scratch.data(), {});
  for (auto const x : c) ASSERT_EQ(x, one[0]);
}

TEST(gemm, passes_infinities_and_nans_on) {
  auto a = matrix<float>(4, 40, false, 0, 1), b = matrix<float>(40, 33, false, 0, 2);
  a.data[3] = std::numeric_limits<float>::infinity();
  a.data[40 + 5] = std::numeric_limits<float>::quiet_NaN();
  auto const c = product(a, b);
  EXPECT_TRUE(std::isinf(c[0]));
  EXPECT_TRUE(std::isnan(c[33]) && std::isnan(c[65]));
  for (std::size_t i = 66; i < c.size(); ++i) EXPECT_TRUE(std::isfinite(c[i]));
}

template <class T> void expect_same_bits_from_any_number_of_threads() {
  index const sizes[][3] = {{64, 64, 64}, {300, 500, 700}, {129, 1000, 33}, {25, 32, 20000}, {700, 10, 300}};
  for (auto const& [m, n, k] : sizes) {
    SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
    auto const a = matrix<T>(m, k, false, 0, 1), b = matrix<T>(k, n, true, 0, 2);
    auto const one = product(a, b, 1);
    EXPECT_TRUE(same_bits(product(a, b, 2), one));
    EXPECT_TRUE(same_bits(product(a, b, 8), one));
  }
}

TEST(gemm, gives_the_same_bits_from_any_number_of_threads) {
  expect_same_bits_from_any_number_of_threads<float>();
  expect_same_bits_from_any_number_of_threads<double>();
  expect_same_bits_from_any_number_of_threads<bfloat16>();
}

TEST(gemm, sums_a_row_alike_whatever_the_other_rows_and_the_order_in_memory) {
  for (index const k : {100, 784, 1500}) {
    auto const a = matrix<float>(150, k, false, 0, 1), b = matrix<float>(k, 90, false, 0, 2);
    auto a_turned = matrix<float>(150, k, true, 0, 0), b_turned = matrix<float>(k, 90, true, 0, 0);
    for (index i = 0; i < 150; ++i)
      for (index j = 0; j < k; ++j) a_turned.data[static_cast<std::size_t>(i + 150 * j)] = a(i, j);
    for (index i = 0; i < k; ++i)
      for (index j = 0; j < 90; ++j) b_turned.data[static_cast<std::size_t>(i + k * j)] = b(i, j);
    auto const whole = product(a, b);
    EXPECT_TRUE(same_bits(product(a_turned, b_turned), whole));
    auto first = matrix<float>(1, k, false, 0, 1);
    std::copy_n(a.data.begin() + 100 * k, k, first.data.begin());
    auto const alone = product(first, b);
    EXPECT_TRUE(same_bits(alone, std::vector<float>(whole.begin() + 100 * 90, whole.begin() + 101 * 90)));
  }
}

TEST(gemm, needs_scratch_that_does_not_grow_with_the_matrices) {
  EXPECT_LT(kernels::gemm_scratch_bytes<float>(8192, 8192, 8192, 1), std::size_t{5} << 18);
  EXPECT_LT(kernels::gemm_scratch_bytes<float>(32, 32, 1 << 20, 8), std::size_t{1} << 22);
}

}  // namespace
}  // namespace rill
