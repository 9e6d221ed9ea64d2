// A call or more of each operation that makes or rearranges arrays.
#pragma once
#include "example.hpp"

namespace rill::test {

inline std::vector<example> making_examples() {
  std::vector<example> all;
  for (auto const& [from, to] : {std::pair{d({1, 3}), shape{2, 4, 3}}, {d({}), shape{3}}, {d({2, 1}), shape{2, 0}}})
    all.push_back({.operation = "broadcast_to",
                   .inputs = [from](auto) { return std::vector{from}; },
                   .record = [to](in x) { return broadcast_to(x[0], to); }});
  all.push_back({.operation = "full_like",
                 .inputs = [](auto n) { return std::vector{d({n, 3})}; },
                 .record = [](in x) { return full_like(x[0], 1); },
                 .differentiable = false,
                 .elements = dtypes::numeric_or_bool,
                 .composed = true});
  all.push_back({.operation = "range",  // one number: the second one is beyond the limit
                 .inputs = [](auto) { return std::vector{d({}), d({}), d({})}; },
                 .record = [](in x) { return record_erased<ops::range_op>(*x[0].graph, {1}, {x[0], x[1], x[2]}); },
                 .positive = true});
  for (std::int64_t count : {0, 1, 4})
    all.push_back({.operation = "linspace",
                   .inputs = [](auto) { return std::vector{d({}), d({})}; },
                   .record = [=](in x) { return linspace(x[0], x[1], count); },
                   .elements = dtypes::floats | dtypes::complexes,
                   .composed = true});
  return all;
}

inline std::vector<example> moving_examples() {
  std::vector<example> all;
  auto const cube = [](auto n) { return std::vector{d({n, 2, 3})}; };
  for (auto const& [first, count] : {std::pair{0, 2}, {1, 2}, {-3, 3}, {-1, 1}})
    all.push_back({.operation = "merge_axes", .inputs = cube, .record = [a = first, b = count](in x) {
                     return merge_axes(x[0], a, b);
                   }});
  for (auto const& [shifts, axes] :
       {std::pair{extents{1}, extents{0}}, {extents{-2, 7}, extents{2, 1}}, {extents{1, 1, 1}, extents{0, 1, 2}}})
    all.push_back({.operation = "roll", .inputs = cube, .record = [by = shifts, along = axes](in x) {
                     return roll(x[0], by, along);
                   }});
  for (auto const& [before, after] :
       {std::pair{extents{1, 0, 2}, extents{0, 3, 1}}, {extents{0, 0, 0}, extents{0, 0, 0}}}) {
    all.push_back({.operation = "pad",
                   .inputs = [](auto n) { return std::vector{d({n, 2, 3}), d({})}; },
                   .record = [a = before, b = after](in x) { return pad(x[0], a, b, x[1]); }});
    all.push_back({.operation = "unpad",
                   .inputs = [](auto n) { return std::vector{d({n + 1, 4, 3})}; },
                   .record = [a = before, b = after](in x) { return unpad(x[0], a, b); }});
  }
  for (auto beyond : {border::edge, border::reflect, border::symmetric, border::wrap}) {
    all.push_back({.operation = "source_positions",
                   .inputs = [](auto n) { return std::vector{d({2, n})}; },
                   .record = [=](in x) { return source_positions(x[0], {-1, beyond, 2, 5, 1, 2}); },
                   .refuses_nothing = true,
                   .differentiable = false});
    all.push_back({.operation = "pad with a border",
                   .inputs = [](auto n) { return std::vector{d({2, n, 2})}; },
                   .record = [=](in x) { return pad(x[0], {0, 2, 1}, {0, 1, 0}, beyond); },
                   .refuses_nothing = true,
                   .elements = dtypes::any_element,
                   .composed = true});
  }
  all.push_back({.operation = "source_positions",
                 .inputs = [](auto n) { return std::vector{d({2, n})}; },
                 .record = [](in x) { return source_positions(x[0], {.axis = 1, .times = 3}); },
                 .differentiable = false});
  for (int part : {0, 1, 2})
    all.push_back({.operation = "split_lengths",
                   .inputs = [](auto n) { return std::vector{d({n, 5, 2})}; },
                   .record =
                       [=](in x) {
                         return split_lengths(x[0], {2, part == 1 ? 3 : -1, 0}, -2)[static_cast<std::size_t>(part)];
                       }});
  for (auto const& times : {extents{2, 1, 3}, extents{1, 0, 1}})
    all.push_back({.operation = "tile",
                   .inputs = cube,
                   .record = [=](in x) { return tile(x[0], times); },
                   .elements = dtypes::any_element,
                   .composed = true});
  for (int axis : {0, 1, -1})
    all.push_back({.operation = "repeat",
                   .inputs = cube,
                   .record = [=](in x) { return repeat(x[0], 2, axis); },
                   .elements = dtypes::any_element,
                   .composed = true});
  return all;
}

inline std::vector<example> indexing_examples() {
  std::vector<example> all;
  auto const add = [&](std::string_view name, auto inputs, auto record) {
    all.push_back({.operation = name, .inputs = inputs, .record = record});
  };
  add(
      "gather_axis", [](auto n) { return std::vector{d({2, 3, n}), i32({2, 2})}; },
      [](in x) { return gather(x[0], x[1], 1); });
  add(
      "gather_axis", [](auto n) { return std::vector{d({n, 2, 3}), i64({n})}; },
      [](in x) { return gather(x[0], x[1], -1); });
  add(
      "gather_axis", [](auto n) { return std::vector{d({3, n}), i64({})}; },
      [](in x) { return gather(x[0], x[1], 0); });
  add(
      "scatter_axis", [](auto n) { return std::vector{i32({n}), d({2, n, 2}), d({2, 3, 2})}; },
      [](in x) { return scatter_axis(x[0], x[1], x[2], 1); });
  add(
      "take_along_axis", [](auto n) { return std::vector{d({2, 3, n}), i64({2, 4, n})}; },
      [](in x) { return take_along_axis(x[0], x[1], 1); });
  add(
      "take_along_axis", [](auto n) { return std::vector{d({n, 3}), i32({n, 2})}; },
      [](in x) { return take_along_axis(x[0], x[1], -1); });
  add(
      "scatter_along_axis", [](auto n) { return std::vector{i64({2, 4, n}), d({2, 4, n}), d({2, 3, n})}; },
      [](in x) { return scatter_along_axis(x[0], x[1], x[2], 1); });
  all.push_back({.operation = "row_numbers",
                 .inputs = [](auto n) { return std::vector{i32({n, 2}), d({3, 4, 2})}; },
                 .record = [](in x) { return record<ops::row_numbers_op>(x[0], x[1]); },
                 .differentiable = false});
  auto const compose = [&](std::string_view name, dtypes elements, auto inputs, auto record) {
    all.push_back({.operation = name, .inputs = inputs, .record = record, .elements = elements, .composed = true});
  };
  compose(
      "gather_nd", dtypes::any_element, [](auto n) { return std::vector{d({3, 4, n}), i64({n, 2})}; },
      [](in x) { return gather_nd(x[0], reshape(x[1], extents{-1, 2})); });
  compose(
      "scatter_nd", dtypes::numbers, [](auto n) { return std::vector{d({n, 2}), i32({n, 2})}; },
      [](in x) { return scatter_nd(reshape(x[1], extents{-1, 2}), x[0], {3, 4, 2}); });
  return all;
}

inline std::vector<example> ordering_examples() {
  std::vector<example> all;
  for (int axis : {0, 1, -1})
    for (bool down : {false, true})
      all.push_back({.operation = "sort",
                     .inputs = [](auto n) { return std::vector{d({n, 2, 3})}; },
                     .record = [=](in x) { return sort(x[0], axis, down); }});
  all.push_back({.operation = "sort",
                 .inputs = [](auto n) { return std::vector{d({3, n})}; },
                 .record = [](in x) { return top_k(x[0], 2, 0, dtype::int64)[0]; }});
  for (bool right : {false, true})
    all.push_back({.operation = "search_sorted",
                   .inputs = [](auto n) { return std::vector{d({5}), d({n, 2})}; },
                   .record = [=](in x) { return right ? search_sorted_right(x[0], x[1]) : search_sorted(x[0], x[1]); },
                   .differentiable = false});
  return all;
}

inline std::vector<example> diagonal_examples() {
  std::vector<example> all;
  auto const compose = [&](std::string_view name, dtypes elements, auto inputs, auto record) {
    all.push_back({.operation = name, .inputs = inputs, .record = record, .elements = elements, .composed = true});
  };
  auto const matrices = [](auto n) { return std::vector{d({2, n, 3})}; };
  for (int k : {0, 1, -1}) {
    compose("lower_triangle", dtypes::numeric_or_bool, matrices, [=](in x) { return lower_triangle(x[0], k); });
    compose("upper_triangle", dtypes::numeric_or_bool, matrices, [=](in x) { return upper_triangle(x[0], k); });
  }
  compose(
      "diag", dtypes::numeric_or_bool, [](auto n) { return std::vector{d({2, n})}; }, [](in x) { return diag(x[0]); });
  compose("diag_part", dtypes::any_element, matrices, [](in x) { return diag_part(x[0]); });
  compose("trace", dtypes::numbers, [](auto n) { return std::vector{d({4, n})}; }, [](in x) { return trace(x[0]); });
  return all;
}

inline std::vector<example> all_array_examples() {
  std::vector<example> all;
  for (auto const& list :
       {making_examples(), moving_examples(), indexing_examples(), ordering_examples(), diagonal_examples()})
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace rill::test
