// Tensors of any element type from doubles, and back: what the tests of operations compare.
#pragma once
#include <charconv>
#include <cmath>
#include <complex>
#include <iterator>
#include <string>
#include <vector>

#include "rill/tensor/tensor.hpp"

namespace rill::test {

/// A number in decimal digits, and back, with a point in every locale.
inline std::string digits_of(double number) {
  char digits[400];
  return {digits, std::to_chars(digits, std::end(digits), number, std::chars_format::fixed, 6).ptr};
}
inline double number_of(std::string const& digits) {
  double number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

/// A tensor with the given elements, converted: bools are whether they are not 0, integers cut fractions off.
inline tensor from_doubles(dtype d, shape const& extents, std::vector<double> const& values) {
  tensor t(d, extents);
  visit(d, [&]<class T>() {
    auto* to = t.mutable_data<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_same_v<T, std::string>) to[i] = digits_of(values[i]);
      else if constexpr (std::is_same_v<T, bool>) to[i] = values[i] != 0;
      else if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>)
        to[i] = T(static_cast<float>(values[i]));
      else if constexpr (requires { typename T::value_type; })
        to[i] = T(static_cast<typename T::value_type>(values[i]));
      else to[i] = static_cast<T>(values[i]);
    }
  });
  return t;
}

/// The elements as doubles; of complex numbers the real parts.
inline std::vector<double> to_doubles(tensor const& t) {
  std::vector<double> values;
  visit(t.element(), [&]<class T>() {
    for (T const& v : t.span<T>()) {
      if constexpr (std::is_same_v<T, std::string>) values.push_back(number_of(v));
      else if constexpr (requires { v.real(); }) values.push_back(static_cast<double>(v.real()));
      else values.push_back(static_cast<double>(v));
    }
  });
  return values;
}

/// A tensor of floats of one type from its elements.
template <element T> tensor tensor_from(shape const& extents, std::vector<double> const& values) {
  return from_doubles(dtype_of<T>, extents, values);
}

}  // namespace rill::test
