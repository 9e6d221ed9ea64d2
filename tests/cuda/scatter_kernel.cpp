// Rows that a GPU adds at indices, and what it computes of segments, have the host's bits.
#include "rill/cuda/scatter_kernel.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "real_nvrtc.hpp"
#include "rill/cuda/copy_kernel.hpp"
#include "rill/cuda/row_sort.hpp"
#include "rill/cuda/segment_kernel.hpp"
#include "rill/cuda/sorted_rows.hpp"
#include "table_tests.hpp"

namespace rill {
namespace {

using test::any;
using test::index_types;
using test::indices;
using values = std::vector<value>;

constexpr dtype reals[] = {dtype::int8,    dtype::int16,    dtype::int32,   dtype::int64,
                           dtype::uint8,   dtype::uint16,   dtype::uint32,  dtype::uint64,
                           dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64};
constexpr dtype numbers[] = {dtype::int8,    dtype::int16,   dtype::int32,     dtype::int64,     dtype::uint8,
                             dtype::uint16,  dtype::uint32,  dtype::uint64,    dtype::float16,   dtype::bfloat16,
                             dtype::float32, dtype::float64, dtype::complex64, dtype::complex128};

// Numbers of several sizes, whose sums depend on the order, and all kinds of numbers.
tensor sizes(dtype element, shape const& extents, std::uint64_t seed = 2) {
  std::mt19937_64 random(seed);
  auto const one = [&] {
    auto const bits = random();
    double const size = std::ldexp(1 + static_cast<double>(bits >> 40) / (1 << 24), static_cast<int>(bits % 9) - 6);
    return bits & 16 ? size : -size;
  };
  return visit(element, [&]<class T>() -> tensor {
    if constexpr (std::is_same_v<T, std::string>) throw error(code::internal, "no numbers");
    else {
      tensor made(element, extents);
      auto* const at = static_cast<T*>(made.mutable_raw());
      for (std::int64_t i = 0; i < elements(extents); ++i) {
        if constexpr (std::is_integral_v<T>) at[i] = static_cast<T>(random());
        else if constexpr (requires(T z) { z.real(); }) {
          auto const real = static_cast<typename T::value_type>(one());
          at[i] = T(real, static_cast<typename T::value_type>(one()));
        } else at[i] = static_cast<T>(one());
      }
      return made;
    }
  });
}

std::string of(dtype element, dtype index, std::string const& what) {
  return what + " of " + std::string(name(element)) + " at " + std::string(name(index));
}

struct scatter_kernels : test::on_both, testing::WithParamInterface<dtype> {
  dtype element = GetParam();
  // Calls f(table, which, a row for each index); large tables for some types alone.
  template <class F> void for_each_table(F const& f) {
    struct extents_of_both {
      shape table, which;
    };
    std::vector<extents_of_both> all{{{5, 3}, {}},  {{5, 3}, {0}}, {{1, 1}, {1}},        {{7}, {41}},
                                     {{3, 0}, {4}}, {{9}, {2, 3}}, {{4, 1, 5}, {3, 11}}, {{2, 3}, {300}}};
    if (element == dtype::float16 || element == dtype::float32)
      all.insert(all.end(), {{{300, 3}, {5000}}, {{1}, {4200}}, {{70'000}, {500}}});
    for (auto const index : index_types)
      for (auto const& [table, which] : all) {
        shape const rows = ops::gathered(type(element, table), type(index, which)).shape();
        for (auto const make : {sizes, any})
          f(make(element, table, 1), indices(index, which, table[0]), make(element, rows, 2),
            of(element, index, table.text() + " with rows " + rows.text()));
      }
  }
};
INSTANTIATE_TEST_SUITE_P(each_type, scatter_kernels, testing::ValuesIn(test::types_to_test(numbers)),
                         [](auto const& i) { return std::string(name(i.param)); });

TEST_P(scatter_kernels, add_rows_to_zeros_as_the_host_does) {
  for_each_table([&](tensor const& table, tensor const& which, tensor const& rows, std::string const& what) {
    compare({which, rows, table}, [](values const& in) { return scatter_like(in[0], in[1], in[2]); }, what);
  });
}

TEST_P(scatter_kernels, add_rows_to_a_table_as_the_host_does) {
  for_each_table([&](tensor const& table, tensor const& which, tensor const& rows, std::string const& what) {
    compare({table, which, rows}, [](values const& in) { return add_rows(in[0], in[1], in[2]); }, what);
  });
}

TEST_P(scatter_kernels, add_elements_along_an_axis_as_the_host_does) {
  for (auto const index : index_types)
    for (auto const& y : {shape{3, 5, 4}, shape{1, 1, 1}, shape{0, 5, 4}, shape{2, 3, 0}, shape{3, 2, 90}})
      for (std::int64_t axis = 0; axis < 3; ++axis)
        for (auto const& which : {shape{}, shape{0}, shape{6}, shape{2, 30}})
          if (auto const n = y[static_cast<std::size_t>(axis)]; n > 0) {
            auto const x = ops::gathered_along(axis, type(element, y), type(index, which)).shape();
            compare(
                {indices(index, which, n), sizes(element, x), any(dtype::int8, y)},
                [&](values const& in) { return scatter_axis(in[0], in[1], in[2], axis); },
                of(element, index, "axis " + std::to_string(axis) + " of " + y.text()));
          }
}

TEST_P(scatter_kernels, add_elements_at_their_own_indices_as_the_host_does) {
  for (auto const index : index_types)
    for (auto const& y : {shape{3, 5, 4}, shape{1, 1, 1}, shape{0, 5, 4}, shape{2, 3, 0}})
      for (std::size_t axis = 0; axis < 3; ++axis)
        for (std::int64_t const count : {0, 1, 70}) {
          std::array<std::int64_t, 3> x{y[0], y[1], y[2]};
          x[axis] = count;
          shape const which{x[0], x[1], x[2]};
          if (y[axis] > 0)
            compare(
                {indices(index, which, y[axis]), sizes(element, which), any(dtype::int8, y)},
                [&](values const& in) {
                  return scatter_along_axis(in[0], in[1], in[2], static_cast<std::int64_t>(axis));
                },
                of(element, index, "own indices on axis " + std::to_string(axis) + " of " + y.text()));
        }
}

// Segments of rows, with some left out and some empty.
template <class F> void for_each_ids(F const& f) {
  struct ids_of_segments {
    shape ids;
    std::int64_t count;
  };
  for (auto const index : index_types)
    for (auto const& [ids, count] : {ids_of_segments{{}, 1}, {{0}, 6}, {{1}, 6}, {{41}, 1}, {{2, 30}, 6}, {{900}, 300}})
      for (bool const sorted : {false, true}) {
        if (sorted && ids.rank() != 1) continue;
        auto const n = elements(ids), last = count - 1;
        f(test::filled(index, ids,
                       [&](std::int64_t i) { return sorted ? i * last / (n + 1) : (i * i + 2 * i) % (last + 2) - 1; }),
          count, sorted);
      }
}

TEST_P(scatter_kernels, add_up_segments_as_the_host_does) {
  for_each_ids([&](tensor const& ids, std::int64_t count, bool sorted) {
    for (auto const& row : {shape{}, shape{0}, shape{1, 3}})
      for (bool const mean : {false, true}) {
        if (mean && !is_differentiable(element)) continue;
        auto const x = ops::gathered(stacked(type(element, row), dim(count)), ids.type()).shape();
        ops::segment_sum_attributes const a{count, sorted, mean};
        compare(
            {sizes(element, x), ids},
            [&](values const& in) { return record_erased<ops::segment_sum_op>(*in[0].graph, a, {in[0], in[1]}); },
            of(element, ids.element(), "sums of " + std::to_string(count) + " segments"));
        auto const segments = stacked(type(element, row), dim(count)).shape();
        compare(
            {any(element, segments), ids},
            [&](values const& in) { return record_erased<ops::segment_take_op>(*in[0].graph, a, {in[0], in[1]}); },
            of(element, ids.element(), "rows of " + std::to_string(count) + " segments"));
      }
  });
}

struct extremes_of_segments : test::on_both, testing::WithParamInterface<dtype> {};
INSTANTIATE_TEST_SUITE_P(each_type, extremes_of_segments, testing::ValuesIn(test::types_to_test(reals)),
                         [](auto const& i) { return std::string(name(i.param)); });
TEST_P(extremes_of_segments, are_the_hosts) {
  auto const element = GetParam();
  for_each_ids([&](tensor const& ids, std::int64_t count, bool sorted) {
    for (auto const& row : {shape{}, shape{0}, shape{3}})
      for (bool const least : {false, true})
        for (auto const make : {sizes, any}) {
          auto const x = ops::gathered(stacked(type(element, row), dim(count)), ids.type()).shape();
          ops::segment_max_op::attributes const a{count, sorted, least};
          compare(
              {make(element, x, 3), ids},
              [&](values const& in) { return record_erased<ops::segment_max_op>(*in[0].graph, a, {in[0], in[1]}); },
              of(element, ids.element(), "extremes of " + std::to_string(count) + " segments"));
        }
  });
}

struct scatter_on_gpu : test::on_both_with_indices {};

TEST_F(scatter_on_gpu, refuses_indices_out_of_range_with_the_hosts_words) {
  auto const table = any(dtype::float32, {5, 3});
  for_each_bad({2000}, 5, [&](tensor const& which, std::string const& words) {
    auto const rows = any(dtype::float32, {2000, 3});
    expect_same_refusal(
        {which, rows, table}, [](values const& in) { return scatter_like(in[0], in[1], in[2]); },
        words + ", and there are 5 rows");
    expect_same_refusal(
        {table, which, rows}, [](values const& in) { return add_rows(in[0], in[1], in[2]); },
        words + ", and there are 5 rows");
    expect_same_refusal(
        {which, any(dtype::float32, {2, 2000, 3}), any(dtype::int8, {2, 5, 3})},
        [](values const& in) { return scatter_axis(in[0], in[1], in[2], 1); }, words + ", and axis 1 has 5 elements");
    expect_same_refusal(
        {which, any(dtype::float32, {2000, 0}), any(dtype::float32, {5, 0})},
        [](values const& in) { return scatter_like(in[0], in[1], in[2]); }, words);
  });
  for_each_bad({2, 400, 3}, 5, [&](tensor const& which, std::string const& words) {
    expect_same_refusal(
        {which, any(dtype::int16, {2, 400, 3}), any(dtype::int8, {2, 5, 3})},
        [](values const& in) { return scatter_along_axis(in[0], in[1], in[2], 1); },
        words + ", and axis 1 has 5 elements");
  });
  expect_same_refusal(
      {indices(dtype::int32, {1}, 1), any(dtype::float32, {1, 2}), any(dtype::float32, {0, 2})},
      [](values const& in) { return scatter_like(in[0], in[1], in[2]); }, "there are 0 rows");
}

TEST_F(scatter_on_gpu, refuses_ids_of_segments_with_the_hosts_words) {
  auto const expect = [&](auto const& id, bool sorted, std::string const& words) {
    for (auto const index : index_types) {
      auto const ids = test::filled(index, {1000}, id);
      ops::segment_sum_attributes const a{7, sorted, true};
      auto const rows = any(dtype::float32, {1000, 2}), segments = any(dtype::float32, {7, 2});
      expect_same_refusal(
          {rows, ids},
          [&](values const& in) { return record_erased<ops::segment_sum_op>(*in[0].graph, a, {in[0], in[1]}); }, words);
      expect_same_refusal(
          {rows, ids},
          [&](values const& in) {
            return record_erased<ops::segment_max_op>(*in[0].graph, {7, sorted, false}, {in[0], in[1]});
          },
          words);
      expect_same_refusal(
          {segments, ids},
          [&](values const& in) { return record_erased<ops::segment_take_op>(*in[0].graph, a, {in[0], in[1]}); },
          words);
    }
  };
  expect([](std::int64_t i) { return i == 700 || i == 800 ? 7 : i % 7 - 1; }, false,
         "segment id 700 is 7, and there are 7 segments");
  expect([](std::int64_t i) { return i == 0 || i == 800 ? -1 : i / 200; }, true,
         "segment id 0 is -1, and sorted ids are not");
  expect([](std::int64_t i) { return i == 500 || i == 800 ? 1 : i / 200; }, true,
         "segment id 500 is 1, after 2, and sorted ids ascend");
}

// Updates of some rows of variables in the memory of a GPU and of the host.
struct updates_of_rows : test::on_both, testing::WithParamInterface<dtype> {
  dtype element = GetParam();

  // Returns the variable's value after the update, and then the one after an update with an index out of range.
  tensor updated(char const* where, auto const& update, tensor const& table, tensor const& which, tensor const& rows) {
    graph g;
    value const x = placeholder(g, table.type()), at = placeholder(g, which.type()), with = placeholder(g, rows.type());
    value after;
    operation start, step;
    g.on(where, [&] {
      auto const v = variable(g, table.type(), "v");
      start = group(g, {assign(v, x)});
      step = update(v, at, with);
      after = reverse(v, {0});
    });
    session s{g, {.threads = 1, .devices = {on}}};
    s.run({{x, table}}, start);
    s.run({{at, which}, {with, rows}}, step);
    auto const bad =
        test::filled(which.element(), which.shape(), [&](std::int64_t i) { return i % (table.shape()[0] + 1); });
    try {
      s.run({{at, bad}, {with, rows}}, step);
      ADD_FAILURE() << "an index is out of range";
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::invalid_argument);
      EXPECT_NE(e.message().find("index 5 is 5, and there are 5 rows"), std::string::npos) << e.what();
    }
    return tensor(s.run({}, after)).to(host);
  }
  void compare_updates(auto const& update, std::string const& what) {
    for (auto const index : index_types) {
      auto const table = sizes(element, {5, 3}), which = indices(index, {4, 11}, 5),
                 rows = sizes(element, {4, 11, 3}, 5);
      test::expect_same_numbers(updated("gpu:0", update, table, which, rows),
                                updated("cpu:0", update, table, which, rows), of(element, index, what));
    }
  }
};
INSTANTIATE_TEST_SUITE_P(each_type, updates_of_rows, testing::ValuesIn(test::types_to_test(numbers)),
                         [](auto const& i) { return std::string(name(i.param)); });
TEST_P(updates_of_rows, add_subtract_and_assign_as_the_host_does) {
  compare_updates([](auto v, value at, value with) { return scatter_add(v, at, with); }, "scatter_add");
  compare_updates([](auto v, value at, value with) { return scatter_sub(v, at, with); }, "scatter_sub");
  compare_updates([](auto v, value at, value with) { return scatter_update(v, at, with); }, "scatter_update");
}

struct scatter_text : test::on_real_nvrtc {};
TEST_F(scatter_text, is_compiled_by_nvrtc) {
  for (bool const wide : {false, true}) {
    auto const* const counters = wide ? "wide" : "";
    add_text(cuda::sort_text(wide), counters);
    for (auto const index : index_types) {
      add_text(cuda::row_keys_text(index, wide), index, counters);
      add_text(cuda::element_keys_text(index, wide), index, counters);
      add_text(cuda::segment_keys_text(index, wide), index, counters);
    }
    for (std::size_t const bytes : {1u, 2u, 4u, 8u, 16u}) add_text(cuda::assign_text(bytes, wide), bytes, counters);
  }
  for (auto const element : reals)
    for (auto const* how : {"row_sum", "row_difference", "row_max", "row_min"})
      add_text(cuda::join_text(how, element, false), how, element);
  add_text(cuda::join_text("row_sum", dtype::float32, true), "row_sum", dtype::float32, "wide");
  for (auto const element : {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64})
    add_text(cuda::join_text("row_mean", element, false), "row_mean", element);
  for (std::size_t const bytes : {1u, 2u, 4u, 8u}) add_text(cuda::fill_text(bytes), bytes);
  for (auto const index : index_types) {
    add_text(cuda::check_segments_text(index), index);
    for (auto const element : reals) add_text(cuda::take_segments_text(element, index), element, index);
  }
  expect_compiled();
}

}  // namespace
}  // namespace rill
