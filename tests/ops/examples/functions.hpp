// Inverse, hyperbolic and other elementary functions, and bits of integers.
#pragma once
#include "example.hpp"

namespace rill::test {

inline std::vector<example> function_examples() {
  std::vector<example> all;
  auto const add = [&](std::vector<example> more) { all.insert(all.end(), more.begin(), more.end()); };
  // Inputs are between 0.4 and 2.3, of either sign.
  add(unary("asin", [](value x) { return asin(x * 0.4); }));
  add(unary("acos", [](value x) { return acos(x * 0.4); }));
  add(unary("atan", [](value x) { return atan(x); }));
  add(unary("sinh", [](value x) { return sinh(x); }));
  add(unary("cosh", [](value x) { return cosh(x); }));
  add(unary("asinh", [](value x) { return asinh(x); }));
  add(unary("acosh", [](value x) { return acosh(x + 1); }, true));
  add(unary("atanh", [](value x) { return atanh(x * 0.4); }));
  add(unary("exp2", [](value x) { return exp2(x); }));
  add(unary("log2", [](value x) { return log2(x); }, true));
  add(unary("log10", [](value x) { return log10(x); }, true));
  add(binary("bit_and", [](value x, value y) { return bit_and(x, y); }, false));
  add(binary("bit_or", [](value x, value y) { return bit_or(x, y); }, false));
  add(binary("bit_xor", [](value x, value y) { return bit_xor(x, y); }, false));
  add(binary("shift_left", [](value x, value y) { return shift_left(x, y); }, false));
  add(binary("shift_right", [](value x, value y) { return shift_right(x, y); }, false));
  for (auto e : unary("bit_not", [](value x) { return bit_not(x); })) {
    e.differentiable = false;
    all.push_back(e);
  }
  return all;
}

}  // namespace rill::test
