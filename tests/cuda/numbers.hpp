// Numbers for tests that compare a GPU's results with the host's.
#pragma once
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "rill/tensor/tensor.hpp"
#include "rill/type/dtype.hpp"

namespace rill::test {

/// The element types that kernels of a GPU compute with.
inline constexpr dtype numbers_in_text[] = {
    dtype::boolean, dtype::int8,   dtype::int16,   dtype::int32,    dtype::int64,   dtype::uint8,  dtype::uint16,
    dtype::uint32,  dtype::uint64, dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64};

/// All element types but strings: what kernels of a GPU move.
inline constexpr dtype moved_elements[] = {dtype::boolean, dtype::int8,      dtype::int16,     dtype::int32,
                                           dtype::int64,   dtype::uint8,     dtype::uint16,    dtype::uint32,
                                           dtype::uint64,  dtype::float16,   dtype::bfloat16,  dtype::float32,
                                           dtype::float64, dtype::complex64, dtype::complex128};

/// Whether this program has a sanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool has_sanitizer = true;
#elif defined(__has_feature)
inline constexpr bool has_sanitizer = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool has_sanitizer = false;
#endif

/// Returns these element types; in programs with a sanitizer two of them at most. There tests take ten times as long,
/// and a sanitizer sees the host's side of a kernel, which is the same for each type.
inline std::vector<dtype> types_to_test(std::span<dtype const> all) {
  if (!has_sanitizer || all.size() <= 2) return {all.begin(), all.end()};
  return {all[0], all.back()};
}
inline std::vector<dtype> types_to_test(std::initializer_list<dtype> all) {
  return types_to_test(std::span<dtype const>(all.begin(), all.size()));
}

/// Returns the seeds of the orders of threads with which a test runs: two; with a sanitizer one, because tests take ten
/// times as long there.
inline std::vector<unsigned long long> thread_orders() {
  if (has_sanitizer) return {7};
  return {0, 7};
}

/// Numbers of each kind: of any bits, and those at which functions differ.
template <class T> T any_number(std::mt19937_64& random) {
  auto const bits = random();
  if constexpr (std::is_same_v<T, bool>) return bits % 2 != 0;
  else if constexpr (requires(T z) { z.real(); }) {
    auto const real = any_number<typename T::value_type>(random);
    return T(real, any_number<typename T::value_type>(random));
  } else {
    if (bits % 3 == 0) {
      std::array<std::byte, sizeof(T)> some;
      std::memcpy(some.data(), &bits, sizeof(T));
      return std::bit_cast<T>(some);
    }
    if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<std::int64_t>(bits % 200) - 100);
    else {
      constexpr double values[] = {0, -0.0, 1, -1, 0.5, 2, 3, 10, -7.25, 100, 1e-3, 255, -128};
      if (bits % 3 == 1) return T(values[bits / 3 % std::size(values)]);
      return T(static_cast<double>(static_cast<std::int64_t>(bits % 20'000) - 10'000) / 1000);
    }
  }
}
/// A tensor of such numbers.
inline tensor operand(dtype element, shape const& extents, std::mt19937_64& random) {
  return visit(element, [&]<class T>() -> tensor {
    if constexpr (std::is_same_v<T, std::string>) throw error(code::internal, "no text has such numbers");
    else {
      tensor made(element, extents);
      auto* const at = static_cast<T*>(made.mutable_raw());
      for (std::int64_t i = 0; i < elements(extents); ++i) at[i] = any_number<T>(random);
      return made;
    }
  });
}

template <class T> bool is_nan_number(T v) {
  if constexpr (std::is_integral_v<T>) return false;
  else return v != v;
}
template <class T> void expect_same_numbers(T const* there, T const* here, std::int64_t n, std::string const& of) {
  for (std::int64_t i = 0; i < n; ++i)
    if (std::memcmp(&there[i], &here[i], sizeof(T)) != 0 && !(is_nan_number(there[i]) && is_nan_number(here[i]))) {
      ADD_FAILURE() << of << " of element " << i << " differs: " << static_cast<double>(there[i]) << " there, "
                    << static_cast<double>(here[i]) << " here";
      return;
    }
}
/// Expects the same bits of two results that aren't both NaN, and of the parts of complex numbers.
inline void expect_same_numbers(tensor const& there, tensor const& here, std::string const& of) {
  visit(here.element(), [&]<class T>() {
    if constexpr (std::is_same_v<T, std::string>) ADD_FAILURE() << of << ": strings are no numbers";
    else if constexpr (requires(T z) { z.real(); }) {
      using part = typename T::value_type;
      expect_same_numbers(static_cast<part const*>(there.raw()), static_cast<part const*>(here.raw()),
                          2 * here.elements(), of);
    } else expect_same_numbers(there.span<T>().data(), here.span<T>().data(), here.elements(), of);
  });
}

}  // namespace rill::test
