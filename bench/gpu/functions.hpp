// The functions whose bits are compared, and the numbers for which: one text, for the processor and for a GPU.
#pragma once
#include <bit>
#include <cstdint>

#include "rill/base/philox.hpp"
#include "rill/ops/math/cast_kernels.hpp"
#include "rill/program/error_function.hpp"
#include "rill/program/power.hpp"
#include "rill/program/trigonometry.hpp"

// Functions of packets, as lambdas of `fuse` have them; those of several lines stand so in ops/math/activations.hpp.
namespace bench::lanes {

// clang-format off
struct exp_of { template <class X> static X at(X x) { return exp(x); } };
struct expm1_of { template <class X> static X at(X x) { return expm1(x); } };
struct log_of { template <class X> static X at(X x) { return log(x); } };
struct log1p_of { template <class X> static X at(X x) { return log1p(x); } };
struct tanh_of { template <class X> static X at(X x) { return tanh(x); } };
struct sigmoid_of { template <class X> static X at(X x) { return sigmoid(x); } };
struct softplus_of { template <class X> static X at(X x) { return softplus(x); } };
struct erf_of { template <class X> static X at(X x) { return erf(x); } };
struct sin_of { template <class X> static X at(X x) { return sin(x); } };
struct cos_of { template <class X> static X at(X x) { return cos(x); } };
struct tan_of { template <class X> static X at(X x) { return tan(x); } };
struct sqrt_of { template <class X> static X at(X x) { return sqrt(x); } };
struct rsqrt_of { template <class X> static X at(X x) { return 1 / sqrt(x); } };
struct reciprocal_of { template <class X> static X at(X x) { return 1 / x; } };
struct silu_of { template <class X> static X at(X x) { return x * sigmoid(x); } };
struct gelu_of { template <class X> static X at(X x) { return x * 0.5 * (1 + erf(x * 0.70710678118654752)); } };
struct gelu_tanh_of { template <class X> static X at(X x) { return x * sigmoid(1.5957691216057308 * (x + 0.044715 * (x * x * x))); } };
struct round_of { template <class X> static X at(X x) { return round(x); } };
struct floor_of { template <class X> static X at(X x) { return floor(x); } };
struct ceil_of { template <class X> static X at(X x) { return ceil(x); } };
struct trunc_of { template <class X> static X at(X x) { return trunc(x); } };
struct sign_of { template <class X> static X at(X x) { return sign(x); } };
struct polynomial_of { template <class X> static X at(X x) { return ((x * 0.125 - 0.75) * x + 1.5) * x - 2; } };

struct add_of { template <class X> static X at(X x, X y) { return x + y; } };
struct mul_of { template <class X> static X at(X x, X y) { return x * y; } };
struct div_of { template <class X> static X at(X x, X y) { return x / y; } };
struct maximum_of { template <class X> static X at(X x, X y) { return maximum(x, y); } };
struct pow_of { template <class X> static X at(X x, X y) { return pow(x, y); } };
struct atan2_of { template <class X> static X at(X x, X y) { return atan2(x, y); } };
struct mod_of { template <class X> static X at(X x, X y) { return mod(x, y); } };
struct floor_div_of { template <class X> static X at(X x, X y) { return floor_div(x, y); } };
// clang-format on

}  // namespace bench::lanes

// Functions of plain numbers.
namespace bench::numbers {

template <class To> struct cast_to {
  template <class From> static To at(From x) {
    if constexpr (requires { x.bits; }) return static_cast<To>(static_cast<float>(x));
    else if constexpr (requires(To y) { y.bits; }) return To(x);
    else return rill::kernels::detail::saturated<To>(x);
  }
};

struct random_word_of {
  static std::uint32_t at(std::uint64_t i) { return rill::random_stream{0x0123'4567'89ab'cdef, 7}.block(i / 4)[i % 4]; }
};

}  // namespace bench::numbers

namespace bench::inputs {

/// A number whose bits all depend on all of i's (the finaliser of SplitMix64, as in rill/base/philox.hpp).
constexpr std::uint64_t mixed(std::uint64_t i) {
  i += 0x9E37'79B9'7F4A'7C15u;
  i = (i ^ (i >> 30)) * 0xBF58'476D'1CE4'E5B9u;
  i = (i ^ (i >> 27)) * 0x94D0'49BB'1331'11EBu;
  return i ^ (i >> 31);
}

/// The numbers from 0 on.
struct counted {
  using element = std::uint64_t;
  static constexpr int arity = 1;
  static std::uint64_t operand(std::uint64_t i, int) { return i; }
};

/// Every pattern of T's bits, of at most 32.
template <class T> struct every {
  using element = T;
  static constexpr int arity = 1;
  using word = rill::detail::unsigned_word<sizeof(T)>;
  static T operand(std::uint64_t i, int) { return std::bit_cast<T>(static_cast<word>(i)); }
};

/// Every sign and exponent of a double in turn, with a fraction that is random, or all zeros or ones.
struct doubles {
  using element = double;
  static constexpr int arity = 1;
  static double operand(std::uint64_t i, int) {
    std::uint64_t const chosen = mixed(i), kind = i >> 12 & 15;
    std::uint64_t const fraction = kind == 0 ? 0 : kind == 1 ? ~std::uint64_t{0} : kind == 2 ? chosen << 29 : chosen;
    return std::bit_cast<double>((i & 0xfff) << 52 | (fraction & 0xf'ffff'ffff'ffff));
  }
};

/// Pairs of floats: the upper halves of their bits come from i in an order in which any run of numbers is spread over
/// all pairs of them, and 2^32 are each of them once; of the lower halves some are 0 and the others random.
struct float_pairs {
  using element = float;
  static constexpr int arity = 2;
  static float operand(std::uint64_t i, int at) {
    auto const both = static_cast<std::uint32_t>(i * 0x9E37'79B1u);  // odd: no two of 2^32 are equal
    std::uint32_t const upper = at == 0 ? both & 0xffff'0000u : both << 16;
    auto const chosen = static_cast<std::uint32_t>(mixed(2 * i + static_cast<unsigned>(at)));
    return std::bit_cast<float>(upper | ((chosen >> 16 & 3) == 0 ? 0 : chosen & 0xffff));
  }
};

/// Pairs of floats of either sign from 2^-8 to 2^8, whose powers are mostly finite.
struct near_pairs {
  using element = float;
  static constexpr int arity = 2;
  static float operand(std::uint64_t i, int at) {
    std::uint64_t const chosen = mixed(2 * i + static_cast<unsigned>(at));
    auto const exponent = 119 + static_cast<std::uint32_t>(chosen >> 60);
    return std::bit_cast<float>((static_cast<std::uint32_t>(chosen) & 0x807f'ffffu) | exponent << 23);
  }
};

/// Pairs of random integers, each shifted right by a random number of bits; one of 16 is 0, 1, -1, or the least or
/// greatest integer of a signed type.
template <class T> struct integer_pairs {
  using element = T;
  static constexpr int arity = 2;
  static T operand(std::uint64_t i, int at) {
    constexpr unsigned bits = 8 * sizeof(T);
    constexpr std::uint64_t least = std::uint64_t{1} << (bits - 1);
    std::uint64_t const chosen = mixed(2 * i + static_cast<unsigned>(at));
    if (chosen >> 60 == 0) {
      std::uint64_t const which = chosen % 5;
      return static_cast<T>(which < 2 ? which : which == 2 ? ~std::uint64_t{0} : which == 3 ? least : least - 1);
    }
    return static_cast<T>(static_cast<std::int64_t>(mixed(chosen)) >> (64 - bits + chosen % bits));
  }
};

}  // namespace bench::inputs
