// Gamma numbers from a counter, on raw pointers: G. Marsaglia and W. W. Tsang, A simple method for generating gamma
// variables (ACM Transactions on Mathematical Software 26:3, 2000). All is computed in double.
#pragma once
#include <cmath>

#include "rill/ops/random/random_kernels.hpp"

namespace rill::kernels {

namespace detail {

// Words for number i that no other number reads, as long as there are fewer than 2^40 numbers.
inline philox::counter words_of_attempt(random_stream const& s, std::size_t i, std::uint64_t attempt) {
  return s.block(static_cast<std::uint64_t>(i) + (attempt << 40));
}
inline std::uint64_t first_word(philox::counter const& c) { return std::uint64_t{c[1]} << 32 | c[0]; }
inline std::uint64_t second_word(philox::counter const& c) { return std::uint64_t{c[3]} << 32 | c[2]; }

// A number between 0 and 1, neither of which it is.
inline double fraction_of(std::uint64_t word) { return (static_cast<double>(word >> 11) + 0.5) * 0x1p-53; }

// With the bits that packets have everywhere, unlike those of the standard library.
inline double log_of(double x) { return log(rill::packet<double, 16>(x))[0]; }
inline double exp_of(double x) { return exp(rill::packet<double, 16>(x))[0]; }

inline double normal_of(std::uint64_t word) {
  std::uint64_t const magnitude = word << 1 >> 1, left = (~std::uint64_t{0} >> 1) - magnitude;
  constexpr double unit = word_unit<double, std::uint64_t>;
  using P = rill::packet<double>;
  double const z = normal_quantile<double>(P((static_cast<double>(magnitude) + 0.5) * unit),
                                           P((static_cast<double>(left) + 0.5) * unit))[0];
  return word >> 63 ? -z : z;
}

// A cube of a normal number that is shifted and scaled, and accepted if a random number is below a bound. One in twenty
// or fewer is not; after a hundred attempts the last one stands.
inline double gamma_from_1(random_stream const& s, std::size_t i, double shape) {
  double const d = shape - 1. / 3, c = 1 / std::sqrt(9 * d);
  double v = 1;
  for (std::uint64_t attempt = 1; attempt <= 100; ++attempt) {
    auto const words = words_of_attempt(s, i, attempt);
    double const z = normal_of(first_word(words)), u = fraction_of(second_word(words)), w = 1 + c * z;
    if (w <= 0) continue;
    v = w * w * w;
    if (u < 1 - 0.0331 * (z * z) * (z * z)) break;
    if (log_of(u) < 0.5 * (z * z) + d * (1 - v + log_of(v))) break;
  }
  return d * v;
}

inline double gamma_of(random_stream const& s, std::size_t i, double shape) {
  if (!(shape >= 0)) return std::numeric_limits<double>::quiet_NaN();
  if (shape == 0 || shape == std::numeric_limits<double>::infinity()) return shape;
  if (shape >= 1) return gamma_from_1(s, i, shape);
  double const u = fraction_of(first_word(words_of_attempt(s, i, 0)));
  return gamma_from_1(s, i, shape + 1) * exp_of(log_of(u) / shape);
}

}  // namespace detail

/// Computes for each number f(stream, its place, its parameter).
template <class T, class F>
void fill_by_parameter(random_stream const& s, T const* parameters, T* to, std::size_t n, parallel const& threads,
                       F const& f) noexcept {
  std::size_t const each = 512;
  threads((n + each - 1) / each, [&](std::size_t chunk) {
    for (auto i = chunk * each; i < std::min(n, (chunk + 1) * each); ++i)
      to[i] = static_cast<T>(
          detail::rounded<T>(static_cast<detail::random_value<T>>(f(s, i, static_cast<double>(parameters[i])))));
  });
}

/// Computes gamma numbers with scale 1.
template <class T>
void fill_gamma(random_stream const& s, T const* shapes, T* to, std::size_t n, parallel const& threads) noexcept {
  fill_by_parameter(s, shapes, to, n, threads, detail::gamma_of);
}

}  // namespace rill::kernels
