// The decimal digits of a floating-point number, and its two notations.
#pragma once
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "rill/base/config.hpp"
#include "rill/type/half.hpp"

namespace rill {

/// A finite number as d.ddd... times 10 to the power of `exponent`, without trailing zeros.
struct decimal {
  std::string digits;  ///< never empty; "0" for zero
  int exponent = 0;
  bool negative = false;
};

namespace decimals {

decimal read_scientific(char const* first, char const* last);

/// Rounds `x` to `digits` significant digits, correctly, ties to even.
decimal rounded(double x, int digits);

template <class T> bool same_number(double x, T value) {
  T const back(static_cast<float>(x));
  return static_cast<float>(back) == static_cast<float>(value);
}

}  // namespace decimals

/// Returns the decimal with the fewest digits that reads back as the same `T`.
template <class T> decimal shortest_decimal(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    char text[64];
    auto const end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
    return decimals::read_scientific(text, end);
  } else {  // std::to_chars has no shortest form for half and bfloat16: five digits always suffice
    auto const x = static_cast<double>(static_cast<float>(value));
    // A tie is rounded to the even digit, which may not read back as a power of two; just above x the tie is rounded
    // up.
    for (int digits = 1; digits < 5; ++digits)
      for (double near : {x, std::nextafter(x, 2 * x)}) {
        char text[64];
        auto const end = std::to_chars(text, text + sizeof text, near, std::chars_format::scientific, digits - 1).ptr;
        double read = 0;
        std::from_chars(text, end, read);
        if (decimals::same_number(read, value)) return decimals::read_scientific(text, end);
      }
    return decimals::rounded(x, 5);
  }
}

/// The digits before and after the decimal point: 1203.5 is {"1203", "5"}.
struct positional {
  std::string whole, fraction;
  explicit positional(decimal const& d);
};

/// Returns an exponent as text, with its sign and at least `digits` digits: "+05".
std::string exponent_text(int exponent, std::size_t digits = 2);

#if RILL_RUNTIME

namespace decimals {

RILL_INLINE decimal read_scientific(char const* first, char const* last) {
  decimal d;
  d.negative = *first == '-';
  char const* e = std::find(first, last, 'e');
  for (char const* p = first + d.negative; p != e; ++p)
    if (*p != '.') d.digits += *p;
  while (d.digits.size() > 1 && d.digits.back() == '0') d.digits.pop_back();
  std::from_chars(e + (e[1] == '+' ? 2 : 1), last, d.exponent);
  return d;
}

RILL_INLINE decimal rounded(double x, int digits) {
  char text[1100];
  auto const end = std::to_chars(text, text + sizeof text, x, std::chars_format::scientific, digits - 1).ptr;
  return read_scientific(text, end);
}

}  // namespace decimals

RILL_INLINE positional::positional(decimal const& d) {
  auto const n = static_cast<int>(d.digits.size());
  if (d.exponent < 0) {
    whole = "0";
    if (d.digits != "0") fraction = std::string(static_cast<std::size_t>(-d.exponent - 1), '0') + d.digits;
  } else if (n <= d.exponent + 1) {
    whole = d.digits + std::string(static_cast<std::size_t>(d.exponent + 1 - n), '0');
  } else {
    whole = d.digits.substr(0, static_cast<std::size_t>(d.exponent + 1));
    fraction = d.digits.substr(static_cast<std::size_t>(d.exponent + 1));
  }
}

RILL_INLINE std::string exponent_text(int exponent, std::size_t digits) {
  auto text = std::to_string(std::abs(exponent));
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return (exponent < 0 ? "-" : "+") + text;
}

#endif

}  // namespace rill
