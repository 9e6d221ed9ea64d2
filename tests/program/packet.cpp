#include "rill/program/packet.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace {

using rill::mask;
using rill::packet;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class T> std::vector<T> some_numbers() {
  using limits = std::numeric_limits<T>;
  std::vector<T> all{T(0), T(1), T(2), T(3), T(7), T(100), limits::max(), limits::lowest(), static_cast<T>(-1)};
  if constexpr (std::is_floating_point_v<T>)
    all.insert(all.end(), {T(-0.0), T(0.5), T(-2.5), limits::infinity(), -limits::infinity(), T(nan), limits::min()});
  return all;
}

// What the lanes must be, computed in the simplest way.
template <class T> T wrapped(auto wide) { return static_cast<T>(wide); }
template <class T> struct expected {
  using word = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  static T sum(T a, T b) { return wrapped<T>(word(a) + word(b)); }
  static T difference(T a, T b) { return wrapped<T>(word(a) - word(b)); }
  static T product(T a, T b) { return wrapped<T>(word(a) * word(b)); }
  static T quotient(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return difference(0, a);
    }
    return static_cast<T>(a / b);
  }
};

template <class T> bool same(T a, T b) {
  return (a != a && b != b) || (a == b && std::signbit(static_cast<double>(a)) == std::signbit(static_cast<double>(b)));
}

/// Calls check(a, b, packet of a and others, packet of b and others, lane of a and b) for all pairs.
template <class T> void for_all_pairs(auto check) {
  using lanes_of = packet<T>;
  auto const numbers = some_numbers<T>();
  for (std::size_t i = 0; i < numbers.size() * numbers.size(); ++i) {
    T const a = numbers[i / numbers.size()], b = numbers[i % numbers.size()];
    T left[lanes_of::lanes], right[lanes_of::lanes];
    std::fill_n(left, lanes_of::lanes, T(5));
    std::fill_n(right, lanes_of::lanes, T(3));
    std::size_t const lane = i % lanes_of::lanes;
    left[lane] = a;
    right[lane] = b;
    check(a, b, lanes_of::load(left), lanes_of::load(right), lane);
  }
}

template <class T> class packets : public testing::Test {};
using types = testing::Types<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                             std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(packets, types);

TYPED_TEST(packets, compute_each_lane_as_a_number_that_wraps_and_never_traps) {
  using want = expected<TypeParam>;
  for_all_pairs<TypeParam>([](auto a, auto b, auto x, auto y, std::size_t lane) {
    EXPECT_TRUE(same((x + y)[lane], want::sum(a, b))) << +a << " + " << +b;
    EXPECT_TRUE(same((x - y)[lane], want::difference(a, b))) << +a << " - " << +b;
    EXPECT_TRUE(same((x * y)[lane], want::product(a, b))) << +a << " * " << +b;
    EXPECT_TRUE(same((x / y)[lane], want::quotient(a, b))) << +a << " / " << +b;
    if constexpr (std::is_floating_point_v<TypeParam>) EXPECT_TRUE(same((-x)[lane], -a));
    else EXPECT_EQ((-x)[lane], want::difference(0, a));
  });
}

TYPED_TEST(packets, compare_each_lane) {
  for_all_pairs<TypeParam>([](auto a, auto b, auto x, auto y, std::size_t lane) {
    EXPECT_EQ((x == y)[lane], a == b);
    EXPECT_EQ((x != y)[lane], a != b);
    EXPECT_EQ((x < y)[lane], a < b);
    EXPECT_EQ((x <= y)[lane], a <= b);
    EXPECT_EQ((x > y)[lane], a > b);
    EXPECT_EQ((x >= y)[lane], a >= b);
    EXPECT_EQ(equal(x, y)[lane], a == b);
    EXPECT_EQ(not_equal(x, y)[lane], a != b);
    EXPECT_EQ(less(x, y)[lane], a < b);
    EXPECT_EQ(less_equal(x, y)[lane], a <= b);
    EXPECT_EQ(greater(x, y)[lane], a > b);
    EXPECT_EQ(greater_equal(x, y)[lane], a >= b);
    EXPECT_TRUE(same(select(x < y, x, y)[lane], a < b ? a : b));
  });
}

TYPED_TEST(packets, find_the_larger_and_the_smaller_and_let_nan_through) {
  for_all_pairs<TypeParam>([](auto a, auto b, auto x, auto y, std::size_t lane) {
    bool const unordered = a != a || b != b;
    if (unordered) {
      EXPECT_NE(maximum(x, y)[lane], maximum(x, y)[lane]);
      EXPECT_NE(minimum(x, y)[lane], minimum(x, y)[lane]);
    } else {
      EXPECT_EQ(maximum(x, y)[lane], std::max(a, b));
      EXPECT_EQ(minimum(x, y)[lane], std::min(a, b));
    }
  });
}

TYPED_TEST(packets, take_absolute_values_and_signs) {
  using T = TypeParam;
  for (T const a : some_numbers<T>()) {
    EXPECT_TRUE(same(sign(packet<T>(a))[0], a > T(0) ? T(1) : a < T(0) ? static_cast<T>(-1) : a)) << +a;
    if constexpr (std::is_floating_point_v<T>) {
      EXPECT_EQ(is_nan(packet<T>(a))[0], std::isnan(a));
      EXPECT_EQ(is_inf(packet<T>(a))[0], std::isinf(a));
      EXPECT_EQ(is_finite(packet<T>(a))[0], std::isfinite(a));
    }
    if constexpr (std::is_floating_point_v<T>) EXPECT_TRUE(same(abs(packet<T>(a))[0], std::abs(a)));
    else EXPECT_EQ(abs(packet<T>(a))[0], a < T(0) ? expected<T>::difference(0, a) : a);
  }
}

TYPED_TEST(packets, read_and_write_any_number_of_lanes_at_any_address) {
  using T = TypeParam;
  constexpr std::size_t lanes = packet<T>::lanes;
  T numbers[lanes + 1];
  for (std::size_t i = 0; i <= lanes; ++i) numbers[i] = static_cast<T>(i + 1);
  for (std::size_t count = 0; count <= lanes; ++count) {
    auto const some = packet<T>::load(numbers + 1, count);
    T written[lanes + 1] = {};
    some.store(written, lanes);
    for (std::size_t i = 0; i < lanes; ++i) EXPECT_EQ(written[i], i < count ? numbers[i + 1] : T(0));
    std::fill_n(written, lanes + 1, T(99));
    packet<T>::load(numbers).store(written + 1, count);
    for (std::size_t i = 0; i < lanes; ++i) EXPECT_EQ(written[i + 1], i < count ? numbers[i] : T(99));
  }
}

TYPED_TEST(packets, masks_are_bools_in_memory) {
  using truth = mask<TypeParam>;
  bool flags[truth::lanes + 1];
  for (std::size_t i = 0; i <= truth::lanes; ++i) flags[i] = i % 3 == 1;
  for (std::size_t count = 0; count <= truth::lanes; ++count) {
    auto const some = truth::load(flags + 1, count);
    bool written[truth::lanes];
    some.store(written);
    for (std::size_t i = 0; i < truth::lanes; ++i) {
      EXPECT_EQ(some[i], i < count && flags[i + 1]);
      EXPECT_EQ(written[i], some[i]);
    }
    std::fill_n(written, truth::lanes, true);
    (!truth(true)).store(written, count);
    for (std::size_t i = 0; i < truth::lanes; ++i) EXPECT_EQ(written[i], i >= count);
  }
}

TYPED_TEST(packets, masks_know_logic) {
  using truth = mask<TypeParam>;
  for (bool a : {false, true})
    for (bool b : {false, true}) {
      EXPECT_EQ((truth(a) & truth(b))[0], a && b);
      EXPECT_EQ((truth(a) | b)[0], a || b);
      EXPECT_EQ((truth(a) ^ b)[0], a != b);
      EXPECT_EQ((truth(a) == b)[0], a == b);
      EXPECT_EQ((truth(a) != b)[0], a != b);
      EXPECT_EQ((!truth(a))[0], !a);
      EXPECT_EQ(logical_and(truth(a), truth(b))[0], a && b);
      EXPECT_EQ(logical_or(truth(a), truth(b))[0], a || b);
      EXPECT_EQ(logical_xor(truth(a), truth(b))[0], a != b);
      EXPECT_EQ(logical_not(truth(a))[0], !a);
    }
}

TYPED_TEST(packets, masks_are_all_true_only_where_every_lane_is) {
  using truth = mask<TypeParam>;
  EXPECT_TRUE(truth(true).all());
  EXPECT_FALSE(truth(false).all());
  for (std::size_t i = 0; i < truth::lanes; ++i) {
    bool flags[truth::lanes];
    std::fill_n(flags, truth::lanes, true);
    flags[i] = false;
    EXPECT_FALSE(truth::load(flags).all());
  }
}

TYPED_TEST(packets, mix_with_plain_numbers_of_any_type) {
  packet<TypeParam> const x(3);
  EXPECT_EQ((1.f + x)[0], TypeParam(4));
  EXPECT_EQ((x * 2u)[0], TypeParam(6));
  EXPECT_EQ(maximum(x, 5)[0], TypeParam(5));
  EXPECT_EQ(select(x > 2, 1, 0.0)[0], TypeParam(1));
  auto y = x;
  y += 4;
  y -= 1;
  y *= 5;
  y /= 2;
  EXPECT_EQ(y[0], TypeParam(15));
}

TEST(packet, of_integers_shifts_and_combines_bits) {
  packet<std::int32_t> const x(-9);
  EXPECT_EQ((x >> 1)[0], -5);
  EXPECT_EQ((x << 1)[0], -18);
  EXPECT_EQ((x & 6)[0], -9 & 6);
  EXPECT_EQ((x | 6)[0], -9 | 6);
  EXPECT_EQ((x ^ 6)[0], -9 ^ 6);
  EXPECT_EQ((~x)[0], 8);
}

template <class T> class packets_of_integers : public testing::Test {};
using integers = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                                std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(packets_of_integers, integers);

TYPED_TEST(packets_of_integers, shift_each_lane_by_its_own_number_of_bits_or_all_out) {
  using T = TypeParam;
  constexpr int width = 8 * sizeof(T);
  for (T a : {T(1), T(-1), std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T(86)})
    for (int by : {0, 1, 3, width - 1, width, width + 1, 100, -1, -128}) {
      bool const out = static_cast<T>(by) >= width || static_cast<T>(by) < T(0);
      T const left = out ? T(0) : static_cast<T>(static_cast<std::uint64_t>(a) << by);
      T const right = out ? static_cast<T>(a < T(0) ? -1 : 0) : static_cast<T>(a >> by);
      packet<T> const x(a), y(by);
      EXPECT_EQ((x << y)[0], left) << +a << " << " << by;
      EXPECT_EQ((x >> y)[0], right) << +a << " >> " << by;
      EXPECT_EQ(shift_left(x, y)[packet<T>::lanes - 1], left);
      EXPECT_EQ(shift_right(x, y)[packet<T>::lanes - 1], right);
    }
  EXPECT_EQ(bit_and(packet<T>(12), 10)[0], T(8));
  EXPECT_EQ(bit_or(packet<T>(12), 10)[0], T(14));
  EXPECT_EQ(bit_xor(packet<T>(12), 10)[0], T(6));
  EXPECT_EQ(bit_not(packet<T>(12))[0], static_cast<T>(~T(12)));
}

TEST(packet, of_reals_has_the_correctly_rounded_square_root) {
  for (float a : some_numbers<float>()) EXPECT_TRUE(same(sqrt(packet<float>(a))[0], std::sqrt(a))) << a;
  for (double a : some_numbers<double>()) EXPECT_TRUE(same(sqrt(packet<double>(a))[1], std::sqrt(a))) << a;
  float many[packet<float>::lanes];
  for (std::size_t i = 0; i < packet<float>::lanes; ++i) many[i] = static_cast<float>(i);
  for (std::size_t i = 0; i < packet<float>::lanes; ++i)
    EXPECT_EQ(sqrt(packet<float>::load(many))[i], std::sqrt(static_cast<float>(i)));
}

}  // namespace
