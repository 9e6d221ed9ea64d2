// A call of an operation that is a function of its inputs, and how examples are written.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "rill/ops/list/operations.hpp"

namespace rill::test {

/// A call. float64 among the inputs stands for the element type that is tried; others are as they are.
struct example {
  std::string_view operation;
  std::function<std::vector<type>(std::int64_t n)> inputs;  ///< with an extent of n
  std::function<value(std::vector<value> const&)> record;
  bool positive = false;           ///< inputs are above 0
  bool refuses_nothing = false;    ///< n = 0 is an error
  std::int64_t indices_below = 3;  ///< integers that are inputs as they are
  bool differentiable = true;
  dtypes elements = {};        ///< that the first input may have; empty: as the operation says
  bool needs_extents = false;  ///< extents that only the run knows are refused
  bool composed = false;       ///< a function made of operations, which no list has; `elements` says what it takes
};

inline type d(std::initializer_list<dim> extents) { return {dtype::float64, extents}; }
inline type i32(std::initializer_list<dim> extents) { return {dtype::int32, extents}; }
inline type i64(std::initializer_list<dim> extents) { return {dtype::int64, extents}; }
inline type truth(std::initializer_list<dim> extents) { return {dtype::boolean, extents}; }

using in = std::vector<value> const&;

inline std::vector<example> unary(std::string_view name, value (*f)(value), bool positive = false) {
  return {{.operation = name,
           .inputs = [](auto n) { return std::vector{d({n, 3})}; },
           .record = [f](in x) { return f(x[0]); },
           .positive = positive}};
}

inline std::vector<example> binary(std::string_view name, value (*f)(value, value), bool differentiable = true) {
  auto const with = [&](std::function<std::vector<type>(std::int64_t)> inputs) {
    return example{.operation = name,
                   .inputs = std::move(inputs),
                   .record = [f](in x) { return f(x[0], x[1]); },
                   .differentiable = differentiable};
  };
  return {with([](auto n) { return std::vector{d({n, 3}), d({n, 3})}; }),
          with([](auto n) { return std::vector{d({n, 3}), d({3})}; }),
          with([](auto n) { return std::vector{d({n, 1}), d({2, 1, 3})}; }),
          with([](auto n) { return std::vector{d({}), d({n})}; })};
}

}  // namespace rill::test
