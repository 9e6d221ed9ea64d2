// Random numbers from a counter: Philox4x32-10 of J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, "Parallel
// random numbers: as easy as 1, 2, 3" (SC'11). Any thread can compute any number of the stream directly, and always
// gets the same one.
#pragma once
#include <array>
#include <cstdint>

namespace rill {

/// Maps a key and a counter to four random words; neighbouring counters give independent words.
class philox {
 public:
  using counter = std::array<std::uint32_t, 4>;
  using key = std::array<std::uint32_t, 2>;

  static constexpr counter words(counter c, key k) {
    for (int round = 0; round < 10; ++round) {
      std::uint64_t const a = std::uint64_t{0xD2511F53u} * c[0], b = std::uint64_t{0xCD9E8D57u} * c[2];
      c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(b),
           static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(a)};
      k[0] += 0x9E3779B9u;  // the golden ratio
      k[1] += 0xBB67AE85u;  // the square root of 3, less 1
    }
    return c;
  }
};

/// A stream of random words for a key and a step.
struct random_stream {
  std::uint64_t key = 0, step = 0;

  /// Returns the i-th block of four words.
  constexpr philox::counter block(std::uint64_t i) const {
    return philox::words({low(i), high(i), low(step), high(step)}, {low(key), high(key)});
  }
  /// Returns a key from two numbers that users choose, often small and similar.
  static constexpr std::uint64_t key_of(std::uint64_t seed, std::uint64_t number) {
    return mixed(mixed(seed) + number);
  }

 private:
  static constexpr std::uint32_t low(std::uint64_t v) { return static_cast<std::uint32_t>(v); }
  static constexpr std::uint32_t high(std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); }
  // The finaliser of SplitMix64 (G. L. Steele, D. Lea and C. H. Flood, OOPSLA'14).
  static constexpr std::uint64_t mixed(std::uint64_t v) {
    v += 0x9E3779B97F4A7C15u;
    v = (v ^ (v >> 30)) * 0xBF58476D1CE4E5B9u;
    v = (v ^ (v >> 27)) * 0x94D049BB133111EBu;
    return v ^ (v >> 31);
  }
};

}  // namespace rill
