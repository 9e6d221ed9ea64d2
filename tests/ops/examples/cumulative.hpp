// Sums and products along an axis, sums by segment, norms and moments, and parts of complex numbers.
#pragma once
#include <cmath>

#include "example.hpp"

namespace rill::test {

inline std::vector<example> cumulative_examples() {
  std::vector<example> all;
  auto const block = [](auto n) { return std::vector{d({n, 2, 3})}; };
  auto const both = [](auto n) { return std::vector{d({n, 2, 3}), d({n, 2, 3})}; };
  for (std::int64_t axis : {0, 1, -1})
    for (bool exclusive : {false, true})
      for (bool reverse : {false, true}) {
        cumulative const how{exclusive, reverse};
        all.push_back(
            {.operation = "cumsum", .inputs = block, .record = [=](in x) { return cumsum(x[0], axis, how); }});
        all.push_back(
            {.operation = "cumprod", .inputs = block, .record = [=](in x) { return cumprod(x[0], axis, how); }});
        all.push_back({.operation = "linear_recurrence", .inputs = both, .record = [=](in x) {
                         return record_erased<ops::linear_recurrence_op>(*x[0].graph, {axis, reverse, exclusive}, x);
                       }});
        if (!exclusive)
          all.push_back(
              {.operation = "delayed", .inputs = block, .record = [=](in x) { return delayed(x[0], axis, reverse); }});
      }
  return all;
}

inline std::vector<example> segment_examples() {
  std::vector<example> all;
  auto const rows = [](auto n) { return std::vector{d({n, 2}), i32({n})}; };
  auto const pages = [](auto n) { return std::vector{d({n, 2, 3}), i64({n, 2})}; };
  auto const list = [](auto n) { return std::vector{d({n, 2})}; };
  auto const pairs = [](value x) { return floor_div(positions(x, 0), 2); };  // 0, 0, 1, 1, 2, …
  auto const fractions = dtypes::floats | dtypes::complexes;
  for (std::int64_t count : {3, 5}) {
    all.push_back({.operation = "segment_sum", .inputs = rows, .record = [=](in x) {
                     return unsorted_segment_sum(x[0], x[1], count);
                   }});
    all.push_back({.operation = "segment_sum",
                   .inputs = pages,
                   .record = [=](in x) { return unsorted_segment_mean(x[0], x[1] - 1, count); },
                   .elements = fractions});
    all.push_back({.operation = "segment_max", .inputs = rows, .record = [=](in x) {
                     return maximum(unsorted_segment_max(x[0], x[1] - 1, count), 0);  // of no rows it is infinite
                   }});
    all.push_back({.operation = "segment_max", .inputs = pages, .record = [=](in x) {
                     return minimum(unsorted_segment_min(x[0], x[1], count), 9);
                   }});
  }
  all.push_back(
      {.operation = "segment_sum", .inputs = list, .record = [=](in x) { return segment_sum(x[0], pairs(x[0]), 60); }});
  all.push_back({.operation = "segment_sum",
                 .inputs = list,
                 .record = [=](in x) { return segment_mean(x[0], pairs(x[0]), 60); },
                 .elements = fractions});
  all.push_back({.operation = "segment_max", .inputs = list, .record = [=](in x) {
                   return maximum(segment_max(x[0], pairs(x[0]), 60), 0);
                 }});
  for (bool mean : {false, true})
    all.push_back(
        {.operation = "segment_take",
         .inputs = [](auto n) { return std::vector{d({3, 2}), i32({n, 2})}; },
         .record =
             [=](in x) { return record_erased<ops::segment_take_op>(*x[0].graph, {3, false, mean}, {x[0], x[1] - 1}); },
         .elements = mean ? fractions : dtypes::numbers});
  return all;
}

inline std::vector<example> moment_examples() {
  std::vector<example> all;
  auto const composed = [&](std::string_view name, dtypes elements, std::vector<type> (*inputs)(std::int64_t),
                            std::function<value(in)> record, bool positive = false) {
    all.push_back({.operation = name,
                   .inputs = inputs,
                   .record = std::move(record),
                   .positive = positive,
                   .elements = elements,
                   .composed = true});
  };
  auto const block = +[](std::int64_t n) { return std::vector{d({n, 2, 3})}; };
  auto const fractions = dtypes::floats | dtypes::complexes;
  for (double p : {1., 2., 3.})
    for (auto const& axes : {extents{1}, extents{-1, 1}})
      composed("norm", fractions, block, [=](in x) { return norm(x[0], axes, p == 2, p); });
  composed("norm", fractions, block, [](in x) { return norm(x[0], extents{1}, false, INFINITY); });
  composed("moments", dtypes::floats, block, [](in x) {
    auto const [m, v] = moments(x[0], extents{1}, true);
    return m * v;
  });
  for (std::int64_t less : {0, 1})
    composed("standard_deviation", dtypes::floats, block,
             [=](in x) { return standard_deviation(x[0], extents{1, 2}, false, ddof{less}); });
  composed(
      "average", fractions, +[](std::int64_t n) { return std::vector{d({n, 2, 3}), d({2, 1})}; },
      [](in x) { return average(x[0], x[1], extents{1, 2}); }, true);
  return all;
}

inline std::vector<example> complex_examples() {
  std::vector<example> all;
  for (auto e : binary("complex", [](value x, value y) { return complex(x, y); })) all.push_back(e);
  for (auto e : unary("imag", [](value x) { return imag(x); })) all.push_back(e);
  auto const parts = dtypes{dtype::float32} | dtype::float64;
  struct function {
    std::string_view name;
    dtypes elements;
    value (*of)(value);
  };
  for (auto const& f : {function{"angle", dtypes::complexes, [](value x) { return angle(x); }},
                        function{"polar", parts, [](value x) { return polar(x, x * 0.5); }}})
    for (auto e : unary(f.name, f.of)) {
      e.elements = f.elements, e.composed = true;
      all.push_back(e);
    }
  return all;
}

}  // namespace rill::test
