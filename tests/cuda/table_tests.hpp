// What tests of operations on tables of rows share.
#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "on_both.hpp"

namespace rill::test {

inline constexpr dtype index_types[] = {dtype::int32, dtype::int64};

inline tensor any(dtype element, shape const& extents, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  return operand(element, extents, random);
}
/// Indices below n, of which some occur several times and others never.
inline tensor indices(dtype index, shape const& extents, std::int64_t n) {
  return filled(index, extents, [n](std::int64_t i) { return (i * i + 2 * i) % n; });
}

/// Tests of kernels that check indices.
class on_both_with_indices : public on_both {
 protected:
  /// Expects that the host and the GPU refuse inputs with the same words.
  template <class F> void expect_same_refusal(std::vector<tensor> const& inputs, F const& f, std::string const& words) {
    auto const here = failure_here(inputs, f), there = failure_there(inputs, f);
    ASSERT_TRUE(here && there) << words;
    EXPECT_EQ(there->code(), here->code());
    EXPECT_EQ(there->message(), here->message());
    EXPECT_NE(there->message().find(words), std::string::npos) << there->message();
  }
  /// Calls `f` with indices of which the one at 1003 is the first that is bad.
  template <class F> void for_each_bad(shape const& extents, std::int64_t n, F const& f) {
    for (auto const index : index_types)
      for (std::int64_t const bad : {std::int64_t{-1}, n, std::int64_t{INT32_MIN}, std::int64_t{INT32_MAX}})
        f(filled(index, extents, [&](std::int64_t i) { return i >= 1003 && i % 7 < 3 ? bad : i % n; }),
          "index 1003 is " + std::to_string(bad));
  }
};

}  // namespace rill::test
