// How far a function of packets is from the exact one, and whether its bits depend on what they must not.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "rill/program/elementary.hpp"

namespace rill::test {

template <class T> constexpr T infinity = std::numeric_limits<T>::infinity();

/// The distance of `got` from `want` in units of the last place that T has at `want`; beyond the largest number
/// infinity stands for the next power of two.
template <class T, class Wide> Wide error_in_ulp(T got, Wide want) {
  using limits = std::numeric_limits<T>;
  if (std::isnan(want)) return std::isnan(got) ? Wide(0) : infinity<Wide>;
  if (std::isinf(want) || want == 0) return got == static_cast<T>(want) ? Wide(0) : infinity<Wide>;
  Wide const beyond = std::ldexp(Wide(1), limits::max_exponent);
  Wide const found = std::isinf(got) ? std::copysign(beyond, Wide(got)) : Wide(got);
  Wide const bounded = std::abs(want) > beyond ? std::copysign(beyond, want) : want;
  int const exponent = std::min(std::max(std::ilogb(want), limits::min_exponent - 1), limits::max_exponent - 1);
  return std::abs(found - bounded) / std::ldexp(Wide(1), exponent + 1 - limits::digits);
}

/// The largest error over packets that `next` fills lane by lane.
template <class T, class Wide, class Function> Wide worst_error(Function f, std::size_t samples, auto next) {
  Wide worst = 0;
  for (std::size_t done = 0; done < samples; done += packet<T>::lanes) {
    T x[packet<T>::lanes], y[packet<T>::lanes];
    for (T& number : x) number = next();
    f(packet<T>::load(x)).store(y);
    for (std::size_t i = 0; i < packet<T>::lanes; ++i)
      worst = std::max(worst, error_in_ulp<T>(y[i], Function::exact(Wide(x[i]))));
  }
  return worst;
}

/// Floats of all signs, sizes and kinds, `apart` representable numbers from one another.
template <class Function> double worst_error_of_sampled_floats(Function f, std::uint32_t apart = 1021) {
  std::uint32_t word = 0;
  return worst_error<float, double>(f, (std::size_t{1} << 32) / apart,
                                    [&] { return std::bit_cast<float>(word += apart); });
}

/// Half of them any bits, half of them between -limit and limit.
template <class Function>
long double worst_error_of_random_doubles(Function f, double limit, std::size_t samples = 1'000'000) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> between(-limit, limit);
  bool any = false;
  return worst_error<double, long double>(
      f, samples, [&] { return (any = !any) ? std::bit_cast<double>(random()) : between(random); });
}

/// The same for functions of two numbers: any bits, or numbers between -limit and limit, the first of them as it is or
/// as an exponent of e.
template <class T, class Wide, class Function>
Wide worst_error_of_pairs(Function f, double limit, double exponents, std::size_t samples = 200'000) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> between(-limit, limit), exponent(-exponents, exponents);
  constexpr std::size_t lanes = packet<T>::lanes;
  Wide worst = 0;
  for (std::size_t done = 0; done < samples; done += lanes) {
    T x[lanes], y[lanes], z[lanes];
    for (std::size_t i = 0; i < lanes; ++i) {
      auto const kind = random() % 3;
      x[i] = static_cast<T>(kind == 0 ? between(random) : std::exp(exponent(random)));
      y[i] = static_cast<T>(between(random));
      if (kind != 1) continue;
      x[i] = std::bit_cast<T>(static_cast<detail::word_of<T>>(random()));
      y[i] = std::bit_cast<T>(static_cast<detail::word_of<T>>(random()));
    }
    f(packet<T>::load(x), packet<T>::load(y)).store(z);
    for (std::size_t i = 0; i < lanes; ++i) {
      auto const error = error_in_ulp<T>(z[i], Function::exact(Wide(x[i]), Wide(y[i])));
      EXPECT_LT(error, 10) << x[i] << ", " << y[i] << ": " << z[i];
      worst = std::max(worst, error);
    }
  }
  return worst;
}

/// The same numbers in registers of another size, and in other lanes of theirs.
template <class T> void expect_the_same_in_every_lane(auto f, double limit) {
  static std::mt19937_64 random(2);
  std::uniform_real_distribution<double> between(-limit, limit);
  T x[packet<T>::lanes], y[packet<T>::lanes];
  for (T& number : x) number = static_cast<T>(between(random));
  f(packet<T>::load(x)).store(y);
  for (std::size_t i = 0; i < packet<T>::lanes; ++i)
    ASSERT_EQ(std::bit_cast<detail::word_of<T>>(y[i]), std::bit_cast<detail::word_of<T>>(f(packet<T, 16>(x[i]))[1]))
        << x[i];
}

/// A hash of the bits of functions at many numbers, the same for every instruction set that this file is built for.
/// `functions` calls its first argument with each result for the second one.
template <class T> std::uint64_t hash_of_results(auto functions) {
  std::mt19937_64 random(3);
  std::uint64_t hash = 0;
  auto const add = [&](packet<T> y) {
    hash = (hash ^ std::bit_cast<detail::word_of<T>>(y[0])) * 0x9e37'79b9'7f4a'7c15u;
  };
  for (int i = 0; i < 4096; ++i)
    functions(add, packet<T>(static_cast<T>(std::ldexp(static_cast<double>(random() >> 11) - 0x1p52, -47))));
  return hash;
}

}  // namespace rill::test
