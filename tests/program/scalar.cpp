#include "rill/program/scalar.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <limits>

namespace {

using rill::bfloat16;
using rill::half;
using rill::lane_type_t;
using rill::packet;
using rill::scalar;
using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

static_assert(std::is_same_v<lane_type_t<float>, packet<float>>);
static_assert(std::is_same_v<lane_type_t<std::uint8_t>, packet<std::uint8_t>>);
static_assert(std::is_same_v<lane_type_t<half>, scalar<half>>);
static_assert(std::is_same_v<lane_type_t<bool>, scalar<bool>>);
static_assert(std::is_same_v<lane_type_t<complex64>, scalar<complex64>>);
static_assert(std::is_same_v<rill::short_lane_type_t<float>, packet<float, 16>>);
static_assert(std::is_same_v<rill::short_lane_type_t<half>, scalar<half>>);
static_assert(std::is_same_v<rill::half_lane_type_t<half>, scalar<half>>);
static_assert(2 * rill::half_lane_type_t<float>::lanes >= packet<float>::lanes);

/// The loop that kernels are: whole steps of lanes, then the rest.
template <class T, class U> void each(T const* x, U* y, std::size_t count, auto f) {
  using lanes_of = lane_type_t<T>;
  std::size_t i = 0;
  for (; i + lanes_of::lanes <= count; i += lanes_of::lanes) f(lanes_of::load(x + i)).store(y + i);
  if (i < count) f(lanes_of::load(x + i, count - i)).store(y + i, count - i);
}

template <class T> class lanes_of : public testing::Test {};
using types = testing::Types<float, double, std::int32_t, std::uint8_t, half, bfloat16, complex64, complex128>;
TYPED_TEST_SUITE(lanes_of, types);

TYPED_TEST(lanes_of, run_one_loop_for_packets_and_scalars) {
  TypeParam x[21], y[21];
  bool equal[21];
  for (int i = 0; i < 21; ++i) x[i] = rill::detail::number_as<TypeParam>(i);
  each(x, y, 21, [](auto a) { return select(a == 3, 1.f, 2 + a * a); });
  each(x, equal, 21, [](auto a) { return (a == 3) | !(a != 5); });
  for (int i = 0; i < 21; ++i) {
    // bfloat16 holds neither all squares nor all sums: each is rounded.
    auto const square = rill::detail::number_as<TypeParam>(i * i);
    TypeParam const want = i == 3 ? rill::detail::number_as<TypeParam>(1) : (scalar<TypeParam>(square) + 2).value;
    EXPECT_TRUE(y[i] == want) << i;
    EXPECT_EQ(equal[i], i == 3 || i == 5);
  }
}

template <class T> void expect_the_lanes_bits(T x) {
  auto const bits = [](T y) { return std::bit_cast<rill::detail::unsigned_word<sizeof(T)>>(y); };
  EXPECT_EQ(bits(exp(scalar<T>(x)).value), bits(exp(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(log(scalar<T>(x)).value), bits(log(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(tanh(scalar<T>(x)).value), bits(tanh(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(sigmoid(scalar<T>(x)).value), bits(sigmoid(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(sqrt(scalar<T>(x)).value), bits(sqrt(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(expm1(scalar<T>(x)).value), bits(expm1(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(log1p(scalar<T>(x)).value), bits(log1p(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(softplus(scalar<T>(x)).value), bits(softplus(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(silu(scalar<T>(x)).value), bits(silu(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(gelu(scalar<T>(x)).value), bits(gelu(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(gelu_tanh(scalar<T>(x)).value), bits(gelu_tanh(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(mish(scalar<T>(x)).value), bits(mish(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(normal_cdf(scalar<T>(x)).value), bits(normal_cdf(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(erf(scalar<T>(x)).value), bits(erf(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(sin(scalar<T>(x)).value), bits(sin(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(cos(scalar<T>(x)).value), bits(cos(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(tan(scalar<T>(x)).value), bits(tan(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(atan2(scalar<T>(x), 3).value), bits(atan2(packet<T>(x), 3)[0])) << x;
  EXPECT_EQ(bits(asin(scalar<T>(x)).value), bits(asin(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(acos(scalar<T>(x)).value), bits(acos(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(atan(scalar<T>(x)).value), bits(atan(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(sinh(scalar<T>(x)).value), bits(sinh(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(cosh(scalar<T>(x)).value), bits(cosh(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(asinh(scalar<T>(x)).value), bits(asinh(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(acosh(scalar<T>(x)).value), bits(acosh(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(atanh(scalar<T>(x)).value), bits(atanh(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(exp2(scalar<T>(x)).value), bits(exp2(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(log2(scalar<T>(x)).value), bits(log2(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(log10(scalar<T>(x)).value), bits(log10(packet<T>(x))[0])) << x;
  EXPECT_EQ(bits(pow(abs(scalar<T>(x)), 1.5).value), bits(pow(abs(packet<T>(x)), 1.5)[0])) << x;
  EXPECT_EQ(bits(mod(scalar<T>(x), 3).value), bits(mod(packet<T>(x), 3)[0])) << x;
  EXPECT_EQ(bits(floor_div(scalar<T>(x), 3).value), bits(floor_div(packet<T>(x), 3)[0])) << x;
}

TEST(scalar, of_a_type_with_packets_gives_the_bits_of_a_lane) {
  for (int i = -500; i < 500; ++i) {
    expect_the_lanes_bits(static_cast<float>(i) * 0.173f);
    expect_the_lanes_bits(i * 1.37);
  }
  EXPECT_EQ((scalar<std::int32_t>(7) / 0).value, 0);
  EXPECT_EQ((scalar<std::int8_t>(-128) / -1).value, -128);
  EXPECT_EQ((scalar<std::uint8_t>(200) + 100).value, 44);
  EXPECT_EQ((scalar<std::int16_t>(6) & 3).value, 2);
  EXPECT_EQ((~scalar<std::int16_t>(6) << 1 >> 2).value, -4);
}

TEST(scalar, of_16_bits_rounds_after_each_operation) {
  scalar<half> const one(1), small(0x1p-12f);
  EXPECT_EQ(((one + small) - one).value, 0.f);
  EXPECT_EQ((scalar<half>(65504) + 65504).value, std::numeric_limits<float>::infinity());
  EXPECT_EQ((scalar<bfloat16>(256) + 1).value, 256.f);
  for (unsigned bits = 0; bits < 0x7c00u; ++bits) {
    auto const x = std::bit_cast<half>(static_cast<std::uint16_t>(bits));
    ASSERT_EQ(sqrt(scalar<half>(x)).value.bits, half(std::sqrt(static_cast<float>(x))).bits);
    ASSERT_EQ(floor(scalar<half>(x)).value, std::floor(static_cast<float>(x)));
    ASSERT_EQ(round(scalar<half>(x)).value, std::nearbyint(static_cast<float>(x)));
    ASSERT_EQ(ceil(scalar<half>(x)).value, std::ceil(static_cast<float>(x)));
    ASSERT_EQ(trunc(scalar<half>(x)).value, std::trunc(static_cast<float>(x)));
    packet<float> const wide(static_cast<float>(x));
    ASSERT_EQ(sin(scalar<half>(x)).value.bits, half(sin(wide)[0]).bits) << bits;
    ASSERT_EQ(erf(scalar<half>(x)).value.bits, half(erf(wide)[0]).bits) << bits;
    ASSERT_EQ(tanh(scalar<half>(x)).value.bits, half(std::tanh(static_cast<double>(x))).bits) << bits;
  }
  EXPECT_EQ(maximum(one, 2).value, 2.f);
  EXPECT_EQ(minimum(one, 2).value, 1.f);
  EXPECT_EQ(abs(-one).value, 1.f);
  EXPECT_EQ(sign(-one).value, -1.f);
  EXPECT_TRUE(is_finite(one).value && is_inf(one / 0).value && is_nan(one * NAN).value);
  EXPECT_TRUE(less(one, 2).value && less_equal(one, 1).value && greater(one, 0).value && greater_equal(one, 1).value);
  EXPECT_TRUE(equal(one, 1).value && not_equal(one, 2).value);
  EXPECT_TRUE(std::isnan(static_cast<float>(maximum(one, std::numeric_limits<float>::quiet_NaN()).value)));
  EXPECT_TRUE((one < 2).value && (one <= 1).value && (one > 0).value && (one >= 1).value);
}

TEST(scalar, of_bool_knows_logic) {
  for (bool a : {false, true})
    for (bool b : {false, true}) {
      scalar<bool> const x(a), y(b);
      EXPECT_EQ((x & y).value, a && b);
      EXPECT_EQ((x | y).value, a || b);
      EXPECT_EQ((x ^ y).value, a != b);
      EXPECT_EQ(logical_xor(x == true, y == true).value, a != b);
      EXPECT_EQ(logical_and(x == true, logical_not(logical_or(y == true, y != y))).value, a && !b);
      EXPECT_EQ((!x).value, !a);
      EXPECT_EQ((x == y).value, a == b);
      EXPECT_EQ((x & (x != y)).value, a && a != b);
      EXPECT_EQ(select(x == y, x, true).value, a == b ? a : true);
    }
}

template <class Complex> void expect_near(Complex got, Complex want) {
  using real = typename Complex::value_type;
  EXPECT_LE(std::abs(got - want), 8 * std::numeric_limits<real>::epsilon() * std::abs(want)) << got << want;
}

template <class Complex> void expect_complex_arithmetic(Complex a, Complex b) {
  scalar<Complex> const x(a), y(b);
  expect_near((x + y).value, a + b);
  expect_near((x - y).value, a - b);
  expect_near((x * y).value, a * b);
  expect_near((x / y).value, a / b);
  expect_near((-x).value, -a);
  expect_near(exp(x).value, std::exp(a));
  expect_near(log(x).value, std::log(a));
  expect_near(tanh(x).value, std::tanh(a));
  expect_near(sqrt(x).value, std::sqrt(a));
  expect_near(sigmoid(x).value, Complex(1) / (Complex(1) + std::exp(-a)));
}

TEST(scalar, of_complex_numbers_computes_as_the_standard_library) {
  expect_complex_arithmetic<complex64>({1.5f, -2}, {0.25f, 3});
  expect_complex_arithmetic<complex64>({-0.5f, 0.25f}, {3, 0.125f});
  expect_complex_arithmetic<complex128>({1.5, -2}, {0.25, 3});
  expect_complex_arithmetic<complex128>({-0.5, 0.25}, {3, -0.125});
  EXPECT_EQ((1 / scalar<complex64>(complex64(0, 1e30f))).value, complex64(0, -1e-30f));
}

TEST(scalar, of_complex_numbers_has_a_sigmoid_without_overflow) {
  for (double y : {0., 1., -3.}) {
    EXPECT_EQ(sigmoid(scalar<complex128>(complex128(-1000, y))).value, complex128(0));
    EXPECT_EQ(sigmoid(scalar<complex128>(complex128(1000, y))).value, complex128(1));
    EXPECT_EQ(sigmoid(scalar<complex64>(complex64(-200, static_cast<float>(y)))).value, complex64(0));
  }
  expect_near(sigmoid(scalar<complex128>(complex128(-80, 1))).value, std::exp(complex128(-80, 1)));
}

TEST(scalar, of_complex_numbers_divided_by_zero_is_infinite_or_nan) {
  auto const quotient = (scalar<complex64>(1) / 0).value;
  EXPECT_EQ(quotient.real(), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(((scalar<complex64>(0) / 0).value).real()));
}

}  // namespace
