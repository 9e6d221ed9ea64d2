// How the cases of record_functions.py are recorded.
#pragma once
#include "recorded.hpp"

namespace rill::test {

inline recorder_map function_recorders() {
  recorder_map r;
  auto const unary = [&](std::string const& name, value (*f)(value)) {
    r[name] = [f](call const& c) { return f(c.x[0]); };
  };
  auto const binary = [&](std::string const& name, value (*f)(value, value)) {
    r[name] = [f](call const& c) { return f(c.x[0], c.x[1]); };
  };
  unary("asin", [](value x) { return asin(x); });
  unary("acos", [](value x) { return acos(x); });
  unary("atan", [](value x) { return atan(x); });
  unary("sinh", [](value x) { return sinh(x); });
  unary("cosh", [](value x) { return cosh(x); });
  unary("asinh", [](value x) { return asinh(x); });
  unary("acosh", [](value x) { return acosh(x); });
  unary("atanh", [](value x) { return atanh(x); });
  unary("exp2", [](value x) { return exp2(x); });
  unary("log2", [](value x) { return log2(x); });
  unary("log10", [](value x) { return log10(x); });
  unary("bit_not", [](value x) { return bit_not(x); });
  binary("bit_and", [](value x, value y) { return bit_and(x, y); });
  binary("bit_or", [](value x, value y) { return bit_or(x, y); });
  binary("bit_xor", [](value x, value y) { return bit_xor(x, y); });
  binary("shift_left", [](value x, value y) { return shift_left(x, y); });
  binary("shift_right", [](value x, value y) { return shift_right(x, y); });
  return r;
}

// What is said of each function, and one more for NumPy's own.
inline bound_map function_bounds() {
  return {{"asin", {4}},  {"acos", {4}},  {"atan", {3.25}}, {"sinh", {4}}, {"cosh", {3}}, {"asinh", {4}},
          {"acosh", {4}}, {"atanh", {4}}, {"exp2", {2.25}}, {"log2", {3}}, {"log10", {3}}};
}

}  // namespace rill::test
