// Uniform and normal numbers from a counter, on raw pointers: element i is a function of the stream and of i alone.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "rill/base/parallel.hpp"
#include "rill/base/philox.hpp"
#include "rill/program/elementary.hpp"
#include "rill/type/half.hpp"

namespace rill::kernels {

namespace detail {

inline constexpr std::size_t random_tile = 256;  // elements at a time

// The words of elements [first, first + n): 32 bits each, or 64.
inline void random_words(random_stream const& s, std::size_t first, std::size_t n, std::uint32_t* to) {
  for (std::size_t i = 0; i < n; i += 4) {
    auto const block = s.block((first + i) / 4);
    for (std::size_t k = 0; k < 4; ++k) to[i + k] = block[k];
  }
}
inline void random_words(random_stream const& s, std::size_t first, std::size_t n, std::uint64_t* to) {
  for (std::size_t i = 0; i < n; i += 2) {
    auto const block = s.block((first + i) / 2);
    for (std::size_t k = 0; k < 2; ++k) to[i + k] = std::uint64_t{block[2 * k + 1]} << 32 | block[2 * k];
  }
}

// Calls f(words, count, result) for tiles of the result, by threads.
template <class Word, class T, class F>
void for_random_tiles(random_stream const& s, T* to, std::size_t n, parallel const& threads, F const& f) {
  constexpr std::size_t chunk = 16 * random_tile;
  threads((n + chunk - 1) / chunk, [&](std::size_t c) {
    Word words[random_tile];
    for (std::size_t at = c * chunk; at < std::min(n, (c + 1) * chunk); at += random_tile) {
      auto const count = std::min(random_tile, n - at);
      random_words(s, at, count, words);
      f(static_cast<Word const*>(words), count, to + at);
    }
  });
}

// The quantile function of the normal distribution, by M. J. Wichura's algorithm AS 241 (Applied Statistics 37:3,
// 1988): PPND7 for float, which stays off its far tail, and PPND16 for double. Additions, multiplications, divisions,
// a logarithm and square roots, in one order: the same bits everywhere.
template <class V> struct quantile;

template <> struct quantile<float> {
  using P = rill::packet<float>;
  static constexpr float a[] = {3.3871327179e+0f, 5.0434271938e+1f, 1.5929113202e+2f, 5.9109374720e+1f};
  static constexpr float b[] = {1.f, 1.7895169469e+1f, 7.8757757664e+1f, 6.7187563600e+1f};
  static constexpr float c[] = {1.4234372777e+0f, 2.7568153900e+0f, 1.3067284816e+0f, 1.7023821103e-1f};
  static constexpr float d[] = {1.f, 7.3700164250e-1f, 1.2021132975e-1f};
  static P tail(P r) { return of(c, r - 1.6f) / of(d, r - 1.6f); }

  template <std::size_t N> static P of(float const (&terms)[N], P x) {
    P y = terms[N - 1];
    for (std::size_t i = N - 1; i-- > 0;) y = y * x + terms[i];
    return y;
  }
};

template <> struct quantile<double> {
  using P = rill::packet<double>;
  static constexpr double a[] = {3.3871328727963666080e+0, 1.3314166789178437745e+2, 1.9715909503065514427e+3,
                                 1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                 3.3430575583588128105e+4, 2.5090809287301226727e+3};
  static constexpr double b[] = {1.,
                                 4.2313330701600911252e+1,
                                 6.8718700749205790830e+2,
                                 5.3941960214247511077e+3,
                                 2.1213794301586595867e+4,
                                 3.9307895800092710610e+4,
                                 2.8729085735721942674e+4,
                                 5.2264952788528545610e+3};
  static constexpr double c[] = {1.42343711074968357734e+0, 4.63033784615654529590e+0, 5.76949722146069140550e+0,
                                 3.64784832476320460504e+0, 1.27045825245236838258e+0, 2.41780725177450611770e-1,
                                 2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr double d[] = {1.,
                                 2.05319162663775882187e+0,
                                 1.67638483018380384940e+0,
                                 6.89767334985100004550e-1,
                                 1.48103976427480074590e-1,
                                 1.51986665636164571966e-2,
                                 5.47593808499534494600e-4,
                                 1.05075007164441684324e-9};
  static constexpr double e[] = {6.65790464350110377720e+0, 5.46378491116411436990e+0, 1.78482653991729133580e+0,
                                 2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                 2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr double f[] = {1.,
                                 5.99832206555887937690e-1,
                                 1.36929880922735805310e-1,
                                 1.48753612908506148525e-2,
                                 7.86869131145613259100e-4,
                                 1.84631831751005468180e-5,
                                 1.42151175831644588870e-7,
                                 2.04426310338993978564e-15};
  static P tail(P r) { return select(r <= 5, of(c, r - 1.6) / of(d, r - 1.6), of(e, r - 5) / of(f, r - 5)); }

  template <std::size_t N> static P of(double const (&terms)[N], P x) {
    P y = terms[N - 1];
    for (std::size_t i = N - 1; i-- > 0;) y = y * x + terms[i];
    return y;
  }
};

// The quantile of 0.5 + q, 0 <= q < 0.5, where `rest` is 0.5 - q (given too, for it says more where q is near 0.5).
template <class V> rill::packet<V> normal_quantile(rill::packet<V> q, rill::packet<V> rest) {
  using t = quantile<V>;
  auto const r = V(0.180625) - q * q;
  auto const central = q * (t::of(t::a, r) / t::of(t::b, r));
  auto const outer = t::tail(sqrt(-log(rest)));
  return select(q <= V(0.425), central, outer);
}

template <class T> using random_word = std::conditional_t<std::is_same_v<T, double>, std::uint64_t, std::uint32_t>;
template <class T> using random_value = std::conditional_t<std::is_same_v<T, double>, double, float>;

// 2^-bits of the word.
template <class V, class Word> inline constexpr V word_unit = V(1) / (V(Word{1} << (8 * sizeof(Word) - 1)) * 2);

// Writes quantiles of the parts of (-most, most) that the words say, from a word's sign and its magnitude.
template <class V, class Word> void fill_quantiles(Word const* words, std::size_t n, V most, V* to) {
  constexpr V unit = word_unit<V, Word>;  // a magnitude of all ones is just under 0.5
  using P = rill::packet<V>;
  V q[random_tile] = {}, rest[random_tile] = {};
  V const scale = most * 2;
  for (std::size_t i = 0; i < n; ++i) {
    Word const magnitude = words[i] << 1 >> 1, left = static_cast<Word>(~Word{0} >> 1) - magnitude;
    q[i] = (static_cast<V>(magnitude) + V(0.5)) * unit * scale;
    rest[i] = most == V(0.5) ? (static_cast<V>(left) + V(0.5)) * unit : V(0.5) - q[i];
  }
  V values[random_tile + P::lanes];
  for (std::size_t i = 0; i < n; i += P::lanes) normal_quantile<V>(P::load(q + i), P::load(rest + i)).store(values + i);
  for (std::size_t i = 0; i < n; ++i) to[i] = words[i] >> (8 * sizeof(Word) - 1) ? -values[i] : values[i];
}

template <class T> T rounded(random_value<T> v) {
  if constexpr (std::is_same_v<T, random_value<T>>) return v;
  else return T(v);
}

}  // namespace detail

/// Computes numbers in [low, high), evenly: as many bits of fraction as T has.
template <class T>
void fill_uniform(random_stream const& s, T* to, std::size_t n, double low, double high,
                  parallel const& threads) noexcept {
  using V = detail::random_value<T>;
  using Word = detail::random_word<T>;
  constexpr int bits = std::is_same_v<T, double>  ? 53
                       : std::is_same_v<T, float> ? 24
                       : std::is_same_v<T, half>  ? 11
                                                  : 8;
  constexpr V unit = V(1) / static_cast<V>(std::uint64_t{1} << bits);
  // Bounds that are farther apart than the greatest number are halved, and what is drawn doubled.
  V const scale = std::isinf(static_cast<V>(high - low)) ? V(2) : V(1);
  auto const first = static_cast<V>(low) / scale, width = static_cast<V>(high / scale - low / scale);
  detail::for_random_tiles<Word>(s, to, n, threads, [=](Word const* words, std::size_t count, T* y) {
    for (std::size_t i = 0; i < count; ++i) {
      V const v = first + static_cast<V>(words[i] >> (8 * sizeof(Word) - bits)) * unit * width;
      y[i] = detail::rounded<T>(v * scale);
      if (!(static_cast<double>(y[i]) < high)) y[i] = detail::rounded<T>(first * scale);  // it was rounded up
    }
  });
}

namespace detail {

// The upper 64 bits of a product, from halves: of a random word and a count, a number below the count.
inline std::uint64_t upper_product(std::uint64_t word, std::uint64_t count) {
  std::uint64_t const a = word >> 32, b = word & 0xffffffffu, p = count >> 32, q = count & 0xffffffffu;
  std::uint64_t const middle = a * q + (b * q >> 32), other = b * p + (middle & 0xffffffffu);
  return a * p + (middle >> 32) + (other >> 32);
}

// 64 bits that are number i's own.
inline std::uint64_t random_word_at(random_stream const& s, std::uint64_t i) {
  auto const block = s.block(i);
  return std::uint64_t{block[1]} << 32 | block[0];
}

}  // namespace detail

/// Computes integers in [low, low + count), evenly up to 1 in 2^64 / count; all of them, for a count of 0.
template <class T>
void fill_integers(random_stream const& s, T* to, std::size_t n, std::int64_t low, std::uint64_t count,
                   parallel const& threads) noexcept {
  detail::for_random_tiles<std::uint64_t>(s, to, n, threads, [=](std::uint64_t const* words, std::size_t size, T* y) {
    for (std::size_t i = 0; i < size; ++i) {
      std::uint64_t const at = count == 0 ? words[i] : detail::upper_product(words[i], count);
      y[i] = static_cast<T>(static_cast<std::uint64_t>(low) + at);
    }
  });
}

/// Computes normal numbers; `most` is how much probability is taken from each side of the median: 0.5 is all.
template <class T>
void fill_normal(random_stream const& s, T* to, std::size_t n, double mean, double deviation, double most, double limit,
                 parallel const& threads) noexcept {
  using V = detail::random_value<T>;
  using Word = detail::random_word<T>;
  detail::for_random_tiles<Word>(s, to, n, threads, [=](Word const* words, std::size_t count, T* y) {
    V values[detail::random_tile];
    detail::fill_quantiles<V>(words, count, static_cast<V>(most), values);
    auto const edge = static_cast<V>(limit);
    for (std::size_t i = 0; i < count; ++i) {
      V const z = values[i] < -edge ? -edge : values[i] > edge ? edge : values[i];
      y[i] = detail::rounded<T>(static_cast<V>(mean) + static_cast<V>(deviation) * z);
    }
  });
}

/// The numbers below n in an order of which each is as likely, up to 1 in 2^64 / n (R. A. Fisher and F. Yates; D. E.
/// Knuth, The Art of Computer Programming, algorithm 3.4.2P).
template <class Index> void fill_permutation(random_stream const& s, Index* to, std::size_t n) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    auto const j = static_cast<std::size_t>(detail::upper_product(detail::random_word_at(s, i), i + 1));
    to[i] = to[j];
    to[j] = static_cast<Index>(i);
  }
}

/// Computes for each of `rows` rows of n logits the sums of exp(x - largest) up to each of them: NaN at the end of a
/// row that has a NaN, an infinity above, or nothing above minus infinity.
template <class T>
void sum_up_powers(std::size_t rows, std::size_t n, T const* logits, double* to, parallel const& threads) noexcept {
  using P = rill::packet<double>;
  std::size_t const each = 4096 / (n + 1) + 1;
  threads((rows + each - 1) / each, [&](std::size_t chunk) {
    for (std::size_t row = chunk * each; row < std::min(rows, (chunk + 1) * each); ++row) {
      T const* const x = logits + row * n;
      double* const sums = to + row * n;
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, static_cast<double>(x[i]));
      for (std::size_t i = 0; i < n; i += P::lanes) {
        std::size_t const count = std::min(n - i, std::size_t{P::lanes});
        double powers[P::lanes] = {};
        for (std::size_t k = 0; k < count; ++k) powers[k] = static_cast<double>(x[i + k]) - largest;
        exp(P::load(powers)).store(powers);
        for (std::size_t k = 0; k < count; ++k) sums[i + k] = sum += powers[k];
      }
    }
  });
}

}  // namespace rill::kernels
