// Elements at indices on a GPU have the host's bits, and bad indices are the host's errors.
#include "rill/cuda/gather_kernel.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "real_nvrtc.hpp"
#include "rill/cuda/index_check.hpp"
#include "table_tests.hpp"

namespace rill {
namespace {

using values = std::vector<value>;

using test::any;
using test::index_types;
using test::indices;

struct gather_kernels : test::on_both, testing::WithParamInterface<dtype> {
  dtype element = GetParam();
  template <class F> void for_each_index_type(F const& f) {
    for (auto const index : index_types) f(index, std::string(name(element)) + " at " + std::string(name(index)));
  }
};
INSTANTIATE_TEST_SUITE_P(each_type, gather_kernels, testing::ValuesIn(test::types_to_test(test::moved_elements)),
                         [](auto const& i) { return std::string(name(i.param)); });

TEST_P(gather_kernels, take_rows_as_the_host_does) {
  for_each_index_type([&](dtype index, std::string const& of) {
    for (auto const& table : {shape{5, 3}, shape{7}, shape{1, 1}, shape{3, 0}, shape{4, 1, 5}, shape{3, 300}})
      for (auto const& which : {shape{}, shape{0}, shape{1}, shape{2, 3}, shape{41}})
        compare(
            {any(element, table), indices(index, which, table[0])},
            [](values const& in) { return gather(in[0], in[1]); }, "rows of " + of + " " + table.text());
  });
}

TEST_P(gather_kernels, take_elements_along_an_axis_as_the_host_does) {
  for_each_index_type([&](dtype index, std::string const& of) {
    for (auto const& x : {shape{3, 5, 4}, shape{1, 1, 1}, shape{0, 5, 4}, shape{2, 3, 0}})
      for (std::int64_t axis = 0; axis < 3; ++axis)
        for (auto const& which : {shape{}, shape{0}, shape{6}, shape{2, 3}})
          if (auto const n = x[static_cast<std::size_t>(axis)]; n > 0)
            compare(
                {any(element, x), indices(index, which, n)},
                [&](values const& in) { return gather(in[0], in[1], axis); },
                "axis " + std::to_string(axis) + " of " + of);
  });
}

TEST_P(gather_kernels, take_elements_by_their_own_indices_as_the_host_does) {
  for_each_index_type([&](dtype index, std::string const& of) {
    for (auto const& x : {shape{3, 5, 4}, shape{1, 1, 1}, shape{0, 5, 4}, shape{2, 3, 0}})
      for (std::int64_t axis = 0; axis < 3; ++axis)
        for (std::int64_t const count : {0, 1, 7}) {
          std::array<std::int64_t, 3> which{x[0], x[1], x[2]};
          which[static_cast<std::size_t>(axis)] = count;
          if (auto const n = x[static_cast<std::size_t>(axis)]; n > 0)
            compare(
                {any(element, x), indices(index, {which[0], which[1], which[2]}, n)},
                [&](values const& in) { return take_along_axis(in[0], in[1], axis); },
                "own indices on axis " + std::to_string(axis) + " of " + of);
        }
  });
}

TEST_P(gather_kernels, write_one_hot_rows_as_the_host_does) {
  for_each_index_type([&](dtype index, std::string const& of) {
    for (auto const& which : {shape{}, shape{0}, shape{5}, shape{3, 7}})
      for (std::int64_t const depth : {0, 1, 6})  // indices below 0 and from the depth on have rows of zeros
        compare(
            {test::filled(index, which, [](std::int64_t i) { return i % 9 - 2; })},
            [&](values const& in) { return one_hot(in[0], depth, element); }, "one_hot of " + of);
  });
}

struct gather_on_gpu : test::on_both_with_indices {};

TEST_F(gather_on_gpu, refuses_rows_out_of_range_with_the_hosts_words) {
  auto const f = [](values const& in) { return gather(in[0], in[1]); };
  for (auto const& table : {shape{5, 3}, shape{5, 0}})
    for_each_bad({2000}, 5, [&](tensor const& which, std::string const& words) {
      expect_same_refusal({any(dtype::float32, table), which}, f, words + ", and there are 5 rows");
    });
  expect_same_refusal({any(dtype::float32, {0, 3}), indices(dtype::int32, {1}, 1)}, f, "there are 0 rows");
}

TEST_F(gather_on_gpu, refuses_elements_out_of_range_with_the_hosts_words) {
  for (auto const& x : {shape{2, 5, 3}, shape{0, 5, 3}, shape{2, 5, 0}})
    for_each_bad({2000}, 5, [&](tensor const& which, std::string const& words) {
      expect_same_refusal(
          {any(dtype::int16, x), which}, [](values const& in) { return gather(in[0], in[1], 1); },
          words + ", and axis 1 has 5 elements");
    });
  for_each_bad({2, 400, 3}, 5, [&](tensor const& which, std::string const& words) {
    expect_same_refusal(
        {any(dtype::int16, {2, 5, 3}), which}, [](values const& in) { return take_along_axis(in[0], in[1], 1); },
        words + ", and axis 1 has 5 elements");
  });
}

TEST_F(gather_on_gpu, numbers_lists_of_indices_as_the_host_does) {
  auto const f = [](values const& in) { return record_erased<ops::row_numbers_op>(*in[0].graph, {}, {in[0], in[1]}); };
  for (auto const index : index_types) {
    for (std::int64_t const axes : {1, 2, 3})
      for (std::int64_t const n : {0, 1, 301}) {
        auto const which = test::filled(index, {n, axes}, [](std::int64_t i) { return i * i % 3; });
        compare({which, any(dtype::float32, {3, 4, 5})}, f, "row numbers");
      }
    for (std::int64_t const bad : {-1, 4}) {
      auto const which = test::filled(
          index, {900, 2}, [&](std::int64_t i) { return i > 1000 && i % 2 == 1 && i % 3 != 0 ? bad : i % 3; });
      expect_same_refusal({which, any(dtype::float32, {3, 4, 5})}, f,
                          "index 1 of element 500 is " + std::to_string(bad) + ", and axis 1 has 4 elements");
    }
  }
}

// A variable in the memory of a GPU.
struct gather_variable_on_gpu : test::on_both {
  graph g;
  tensor const table = any(dtype::float32, {5, 3}), which = indices(dtype::int64, {2, 4}, 5);

  void expect_rows(tensor const& found, tensor const& of, tensor const& at) {
    ASSERT_NE(found.space(), nullptr);
    tensor const rows = found.to(host);
    for (std::int64_t i = 0; i < at.elements(); ++i)
      for (std::int64_t j = 0; j < 3; ++j) {
        auto const value =
            of.span<float>()[static_cast<std::size_t>(at.span<std::int64_t>()[static_cast<std::size_t>(i)] * 3 + j)];
        EXPECT_EQ(std::memcmp(&rows.span<float>()[static_cast<std::size_t>(i * 3 + j)], &value, sizeof value), 0);
      }
  }
};

TEST_F(gather_variable_on_gpu, reads_rows_there) {
  auto const x = placeholder(g, type(dtype::float32, {5, 3})), at = placeholder(g, type(dtype::int64, {2, 4}));
  value rows;
  operation start;
  g.on("gpu:0", [&] {
    auto const v = variable(g, type(dtype::float32, {5, 3}), "v");
    start = group(g, {assign(v, x)});
    rows = gather(v, at);
  });
  session s{g, {.threads = 1, .devices = {on}}};
  s.run({{x, table}}, start);
  expect_rows(s.run({{at, which}}, rows), table, which);
  try {
    s.run({{at, test::filled(dtype::int64, {2, 4}, [](std::int64_t i) { return i; })}}, rows);
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::invalid_argument);
    EXPECT_NE(e.message().find("index 5 is 5, and there are 5 rows"), std::string::npos) << e.what();
  }
}

struct gather_text : test::on_real_nvrtc {};
TEST_F(gather_text, is_compiled_by_nvrtc) {
  for (auto const index : index_types) {
    for (std::size_t const bytes : {1u, 2u, 4u, 8u, 16u}) {
      for (bool const wide : {false, true})
        for (bool const own : {false, true})
          add_text(cuda::take_text(bytes, index, own, wide), bytes, index, own ? "own" : "", wide ? "wide" : "");
      add_text(cuda::one_hot_text(bytes, index), bytes, index);
    }
    for (std::size_t const axes : {1u, 8u})
      add_text(cuda::row_numbers_text(index, axes), index, std::to_string(axes) + " axes");
    add_text(cuda::range_check_text(index), index);
  }
  add_text(cuda::begin_check_text());
  expect_compiled();
}

}  // namespace
}  // namespace rill
