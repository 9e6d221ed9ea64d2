// Poisson numbers from a counter, on raw pointers: small rates by inversion, larger ones by W. Hörmann, The transformed
// rejection method for generating Poisson random variables (Insurance: Mathematics and Economics 12:1, 1993), algorithm
// PTRS; rates so large that their counts are no exact doubles by the normal distribution. All is computed in double.
#pragma once
#include "rill/ops/random/gamma_kernels.hpp"

namespace rill::kernels {

namespace detail {

// log(k!), within 1e-10 (J. Stirling's series).
inline double log_factorial(double k) {
  if (k < 10) {
    double product = 1;
    for (double i = 2; i <= k; ++i) product *= i;
    return log_of(product);
  }
  double const inverse = 1 / k, square = inverse * inverse;
  constexpr double half_log_two_pi = 0.91893853320467274178;
  return (k + 0.5) * log_of(k) - k + half_log_two_pi + inverse * (1. / 12 - square * (1. / 360 - square * (1. / 1260)));
}

// The first count whose cumulative probability exceeds the random fraction.
inline double poisson_by_inversion(std::uint64_t word, double rate) {
  double const u = fraction_of(word);
  double p = exp_of(-rate), sum = p, k = 0;
  while (u > sum && k < 200) p *= rate / ++k, sum += p;
  return k;
}

inline double poisson_by_rejection(random_stream const& s, std::size_t i, double rate) {
  double const b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  double const inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  double const log_rate = log_of(rate);
  double k = 0;
  for (std::uint64_t attempt = 1; attempt <= 100; ++attempt) {
    auto const words = words_of_attempt(s, i, attempt);
    double const u = fraction_of(first_word(words)) - 0.5, v = fraction_of(second_word(words));
    double const us = 0.5 - std::abs(u);
    k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (log_of(v * inverse_alpha / (a / (us * us) + b)) <= k * log_rate - rate - log_factorial(k)) return k;
  }
  return std::floor(rate);
}

inline double poisson_of(random_stream const& s, std::size_t i, double rate) {
  if (!(rate >= 0)) return std::numeric_limits<double>::quiet_NaN();
  if (rate == 0 || rate == std::numeric_limits<double>::infinity()) return rate;
  if (rate >= 0x1p32) return std::round(rate + std::sqrt(rate) * normal_of(first_word(words_of_attempt(s, i, 0))));
  return rate < 10 ? poisson_by_inversion(first_word(words_of_attempt(s, i, 0)), rate)
                   : poisson_by_rejection(s, i, rate);
}

}  // namespace detail

/// Computes counts of the Poisson distribution.
template <class T>
void fill_poisson(random_stream const& s, T const* rates, T* to, std::size_t n, parallel const& threads) noexcept {
  fill_by_parameter(s, rates, to, n, threads, detail::poisson_of);
}

}  // namespace rill::kernels
