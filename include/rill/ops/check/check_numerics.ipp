// Searches a tensor for numbers that are not finite.
#pragma once

#if RILL_KERNELS
#include <algorithm>
#include <atomic>

namespace rill::ops {

inline constexpr std::size_t words_at_once = 256;

// Whether any of the next words has all exponent bits set: without branches, so that the loop is vectorized.
template <class Word, Word Exponent> bool any_not_finite(Word const* at) {
  Word any = 0;
  for (std::size_t i = 0; i < words_at_once; ++i)
    any = static_cast<Word>(any | ((at[i] & Exponent) == Exponent ? 1 : 0));
  return any != 0;
}
inline void lower(std::atomic<std::size_t>& first, std::size_t to) {
  auto before = first.load();
  while (to < before && !first.compare_exchange_weak(before, to)) {
  }
}
template <class Word, Word Exponent, std::size_t Parts = 1>
std::size_t find_not_finite(void const* x, std::size_t n, parallel const& threads) {
  constexpr std::size_t chunk = 32768;
  std::atomic<std::size_t> first = n;
  threads((n + chunk - 1) / chunk, [&](std::size_t c) {
    auto const* const at = static_cast<Word const*>(x);
    auto const end = std::min(n, (c + 1) * chunk) * Parts;
    for (std::size_t i = c * chunk * Parts; i < end; i += words_at_once) {
      if (i + words_at_once <= end && !any_not_finite<Word, Exponent>(at + i)) continue;
      for (std::size_t k = i; k < std::min(end, i + words_at_once); ++k)
        if ((at[k] & Exponent) == Exponent) return lower(first, k / Parts);
    }
  });
  return first;
}

constexpr check_numerics_op::kernels check_numerics_op::make_kernels() {
  kernels k;
  auto const at = [&](dtype d) -> auto& { return k.find[static_cast<std::size_t>(d)]; };
  at(dtype::float16) = find_not_finite<std::uint16_t, 0x7c00>;
  at(dtype::bfloat16) = find_not_finite<std::uint16_t, 0x7f80>;
  at(dtype::float32) = find_not_finite<std::uint32_t, 0x7f800000>;
  at(dtype::float64) = find_not_finite<std::uint64_t, 0x7ff0000000000000>;
  at(dtype::complex64) = find_not_finite<std::uint32_t, 0x7f800000, 2>;
  at(dtype::complex128) = find_not_finite<std::uint64_t, 0x7ff0000000000000, 2>;
  return k;
}

}  // namespace rill::ops
#endif

#if RILL_DEFINITIONS
#include "rill/tensor/elements.hpp"

namespace rill::ops {

inline bool is_nan_at(dtype d, void const* x, std::size_t i) {
  return visit(d, [&]<class T>() {
    if constexpr (std::same_as<T, std::string> || std::integral<T>) return false;
    else {
      T const v = static_cast<T const*>(x)[i];
      return v != v;
    }
  });
}

inline kernel check_numerics_op::cpu(kernel_request const& r) {
  auto const d = r.inputs[0].element;
  auto const find_first = kernels_of<check_numerics_op>().find[static_cast<std::size_t>(d)];
  auto const n = static_cast<std::size_t>(rill::elements(r.inputs[0].shape()));
  kernel k([=, message = decode<attributes>(r.at.attributes).message](kernel_call const& call) {
    if (auto const i = find_first(call.in(0), n, call.threads); i != n)
      throw error(code::invalid_argument, (message.empty() ? "the value" : message) + " has " +
                                              (is_nan_at(d, call.in(0), i) ? "a NaN" : "an infinity") +
                                              ", first at element " + std::to_string(i) + " of " + std::to_string(n));
    if (call.in(0) != call.out(0)) copy_elements(d, call.out(0), call.in(0), n);
  });
  k.input_output_aliases = {{0, 0}};
  return k;
}

}  // namespace rill::ops
#endif
