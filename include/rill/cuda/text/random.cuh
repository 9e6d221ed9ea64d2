// Random numbers from a counter, by the host's own headers. Each thread computes the numbers that come from one block
// of the generator's words.
#pragma once
#include <cstdint>
#include <type_traits>

#include "rill/base/parallel.hpp"
#include "rill/base/philox.hpp"
#include "rill/cuda/text/global.cuh"
#include "rill/cuda/text/threads.cuh"

namespace rill::kernels::detail {

// In the place of the host's function of this name, which goes through tiles of the array: `to` are the thread's
// numbers. It is declared before the host's functions that call it, and its constraint makes it the better match.
template <class Word, class T, class F>
  requires std::is_unsigned_v<Word>
void for_random_tiles(random_stream const& s, T* to, std::size_t n, parallel const& own, F const& f);

}  // namespace rill::kernels::detail

#include "rill/ops/random/poisson_kernels.hpp"
#include "rill/ops/random/random_kernels.hpp"

namespace rill::kernels::detail {

/// How many numbers come from one block of words.
template <class Word> inline constexpr int numbers_of_block = sizeof(philox::counter) / sizeof(Word);

template <class Word, class T, class F>
  requires std::is_unsigned_v<Word>
void for_random_tiles(random_stream const& s, T* to, std::size_t, parallel const& own, F const& f) {
  constexpr int n = numbers_of_block<Word>;
  Word words[n];
  random_words(s, own.first, n, words);
  f(static_cast<Word const*>(words), n, to);
}

}  // namespace rill::kernels::detail

namespace rill::text {

/// Calls `fill(numbers, count, own)` for each of this thread's blocks of `Word`s, and writes the numbers. A block is
/// computed as a whole even if the array ends in it: numbers stay in registers if loops over them have a constant
/// count.
template <class Word, class T, class F> void for_each_block(global<T> to, long n, F const& fill) {
  constexpr int count = kernels::detail::numbers_of_block<Word>;
  struct alignas(count * sizeof(T)) block {
    T numbers[count];
  };
  auto const blocks = global<block>(to);
  for_each_index((n + count - 1) / count, [&](long i) {
    block drawn;
    fill(drawn.numbers, static_cast<std::size_t>(count), parallel{static_cast<std::size_t>(i * count)});
    if ((i + 1) * count <= n) blocks[i] = drawn;
    else
      for (int k = 0; k < count; ++k)
        if (i * count + k < n) to[i * count + k] = drawn.numbers[k];
  });
}

/// Draws n floats in [low, high).
template <class T> void draw_uniform(global<T> to, long n, random_stream const& s, double low, double high) {
  for_each_block<kernels::detail::random_word<T>>(to, n, [&](T* drawn, std::size_t count, parallel const& own) {
    kernels::fill_uniform(s, drawn, count, low, high, own);
  });
}
/// Draws n integers in [low, low + count); of all integers, for a count of 0.
template <class T>
void draw_integers(global<T> to, long n, random_stream const& s, std::int64_t low, std::uint64_t count) {
  for_each_block<std::uint64_t>(to, n, [&](T* drawn, std::size_t size, parallel const& own) {
    kernels::fill_integers(s, drawn, size, low, count, own);
  });
}
/// Draws n numbers of the normal distribution (kernels::fill_normal).
template <class T>
void draw_normal(global<T> to, long n, random_stream const& s, double mean, double deviation, double most,
                 double limit) {
  for_each_block<kernels::detail::random_word<T>>(to, n, [&](T* drawn, std::size_t count, parallel const& own) {
    kernels::fill_normal(s, drawn, count, mean, deviation, most, limit, own);
  });
}

/// Draws for each parameter the number draw(stream, its place, the parameter).
template <class T, class F>
void draw_by_parameter(global<T const> parameters, global<T> to, long n, random_stream const& s, F const& draw) {
  for_each_index(n, [&](long i) {
    T const parameter = parameters[i];
    T drawn;
    kernels::fill_by_parameter(
        s, &parameter, &drawn, 1, parallel{},
        [&](random_stream const& from, std::size_t, double of) { return draw(from, static_cast<std::size_t>(i), of); });
    to[i] = drawn;
  });
}
template <class T> void draw_gamma(global<T const> shapes, global<T> to, long n, random_stream const& s) {
  draw_by_parameter(shapes, to, n, s, [](random_stream const& from, std::size_t i, double shape) {
    return kernels::detail::gamma_of(from, i, shape);
  });
}
template <class T> void draw_poisson(global<T const> rates, global<T> to, long n, random_stream const& s) {
  draw_by_parameter(rates, to, n, s, [](random_stream const& from, std::size_t i, double rate) {
    return kernels::detail::poisson_of(from, i, rate);
  });
}

}  // namespace rill::text
