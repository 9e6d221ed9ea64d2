// A short list of integers as a structural value: axes, permutations, strides, offsets.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "rill/base/error.hpp"

namespace rill {

/// The highest rank of a tensor.
inline constexpr std::size_t max_rank = 8;

/// Up to `max_rank` integers. A structural value, so that `slice<{0, 1}, {2, 3}>(x)` can be written.
struct extents {
  std::array<std::int64_t, max_rank> values{};
  std::uint8_t count = 0;

  constexpr extents() = default;
  template <std::integral... Integer>
    requires(sizeof...(Integer) > 0 && sizeof...(Integer) <= max_rank)
  constexpr extents(Integer... each) : values{static_cast<std::int64_t>(each)...}, count(sizeof...(Integer)) {}

  constexpr std::size_t size() const { return count; }
  constexpr bool empty() const { return count == 0; }
  constexpr std::int64_t operator[](std::size_t i) const { return values[i]; }
  constexpr std::int64_t& operator[](std::size_t i) { return values[i]; }
  constexpr std::int64_t const* begin() const { return values.data(); }
  constexpr std::int64_t const* end() const { return values.data() + count; }
  constexpr void push_back(std::int64_t each) {
    expects(count < max_rank, "a list of extents or axes has more than 8 entries; the highest rank is 8");
    values[count++] = each;
  }
  constexpr bool contains(std::int64_t each) const {
    for (auto v : *this)
      if (v == each) return true;
    return false;
  }
  std::string text() const try {
    std::string s = "[";
    for (std::size_t i = 0; i < count; ++i) s += (i ? ", " : "") + std::to_string(values[i]);
    return s + "]";
  } catch (...) {
    rethrow_as_error();
  }
  // By hand: std::array's comparison of temporaries is no constant expression in libstdc++'s debug mode.
  friend constexpr bool operator==(extents const& a, extents const& b) {
    for (std::size_t i = 0; i < max_rank; ++i)
      if (a.values[i] != b.values[i]) return false;
    return a.count == b.count;
  }
};

}  // namespace rill
