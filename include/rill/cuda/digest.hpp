// SHA-256 (FIPS 180-4), by which compiled kernels are known.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "rill/base/config.hpp"

namespace rill::cuda {

/// The SHA-256 of some bytes.
using digest = std::array<std::uint8_t, 32>;

/// Returns the SHA-256 of `bytes`.
digest digest_of(std::string_view bytes);

/// Returns a digest as bytes, to be part of what is digested or stored.
inline std::string_view bytes_of(digest const& d) { return {reinterpret_cast<char const*>(d.data()), d.size()}; }

/// Returns the digits of a digest: 64 hexadecimal ones.
std::string hexadecimal(digest const& d);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <bit>
#include <cstddef>

namespace rill::cuda {

namespace detail {

/// The state of a computation, and its steps (FIPS 180-4, sections 5 and 6.2).
class sha256 {
 public:
  void add_block(char const* bytes) {
    std::array<std::uint32_t, 64> w;
    for (std::size_t t = 0; t < 16; ++t) w[t] = word_at(bytes + 4 * t);
    for (std::size_t t = 16; t < 64; ++t)
      w[t] = (std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ w[t - 2] >> 10) + w[t - 7] +
             (std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ w[t - 15] >> 3) + w[t - 16];
    auto [a, b, c, d, e, f, g, h] = state_;
    for (std::size_t t = 0; t < 64; ++t) {
      auto const t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + k[t] + w[t];
      auto const t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    std::uint32_t const after[] = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state_[i] += after[i];
  }
  digest get() const {
    digest d;
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - i % 4 * 8));
    return d;
  }

 private:
  static std::uint32_t word_at(char const* p) {
    std::uint32_t w = 0;
    for (int i = 0; i < 4; ++i) w = w << 8 | static_cast<unsigned char>(p[i]);
    return w;
  }
  static constexpr std::uint32_t k[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
      0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
      0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
      0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
      0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
      0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
      0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
};

}  // namespace detail

RILL_CUDA_INLINE digest digest_of(std::string_view bytes) {
  constexpr std::size_t block = 64;
  detail::sha256 sum;
  std::size_t at = 0;
  for (; bytes.size() - at >= block; at += block) sum.add_block(bytes.data() + at);
  // Behind the bytes stand a bit that is set, zeros, and the number of bits at the end of a block.
  std::string last(bytes.substr(at));
  last += static_cast<char>(0x80);
  last.resize(last.size() > block - 8 ? 2 * block : block, '\0');
  for (std::size_t i = 0; i < 8; ++i)
    last[last.size() - 1 - i] = static_cast<char>(static_cast<std::uint64_t>(bytes.size()) * 8 >> 8 * i);
  for (at = 0; at < last.size(); at += block) sum.add_block(last.data() + at);
  return sum.get();
}

RILL_CUDA_INLINE std::string hexadecimal(digest const& d) {
  std::string digits;
  for (auto const byte : d) {
    digits += "0123456789abcdef"[byte >> 4];
    digits += "0123456789abcdef"[byte & 15];
  }
  return digits;
}

}  // namespace rill::cuda
#endif
