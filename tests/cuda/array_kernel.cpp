// Arrays that loops write row by row have the host's bits on a GPU, and its errors.
#include "rill/cuda/array_kernel.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "real_nvrtc.hpp"
#include "table_tests.hpp"

namespace rill {
namespace {

using test::any;
using test::index_types;
using values = std::vector<value>;

template <class Op> auto of_op(auto const& a) {
  return [a](values const& in) { return record_erased<Op>(*in[0].graph, a, in); };
}
template <class Op> auto of_op() { return of_op<Op>(no_attributes{}); }

// Which of n rows are written: those of which `f` says so.
template <class F> tensor written(std::int64_t n, F const& f) {
  tensor made(dtype::boolean, {n});
  for (std::int64_t i = 0; i < n; ++i) made.at<bool>(i) = f(i);
  return made;
}
bool always(std::int64_t) { return true; }
bool never(std::int64_t) { return false; }

struct array_kernels : test::on_both_with_indices, testing::WithParamInterface<dtype> {
  dtype element = GetParam();
};
INSTANTIATE_TEST_SUITE_P(each_type, array_kernels, testing::ValuesIn(test::types_to_test(test::moved_elements)),
                         [](auto const& i) { return std::string(name(i.param)); });

TEST_P(array_kernels, begin_without_rows_or_with_all) {
  for (auto const& row : {shape{}, shape{3, 5}, shape{0}})
    for (std::int64_t const n : {0, 1, 7}) {
      compare({any(dtype::int32, {n, 2}), any(dtype::int8, row)},
              of_op<ops::array_new_op>(ops::array_new_op::attributes{element}), "an array of " + std::to_string(n));
      compare({any(element, {n, 3})}, of_op<ops::array_full_op>(), "all of " + std::to_string(n));
    }
}

TEST_P(array_kernels, write_rows_as_the_host_does) {
  for (auto const index : index_types)
    for (auto const& rows : {shape{9, 3}, shape{9}, shape{9, 0}, shape{9, 1, 2}})
      for (auto const& which : {shape{}, shape{0}, shape{4}, shape{2, 2}}) {
        auto const values_of_rows = any(element, ops::gathered(type(element, rows), type(index, which)).shape(), 2);
        compare({any(element, rows), written(9, [](std::int64_t i) { return i % 2 == 0; }),
                 test::filled(index, which, [](std::int64_t i) { return 7 - 2 * i; }), values_of_rows},
                of_op<ops::array_write_op>(), "rows that are written");
      }
}

TEST_P(array_kernels, read_rows_as_the_host_does) {
  for (auto const index : index_types)
    for (auto const& rows : {shape{9, 3}, shape{9}, shape{9, 0}})
      for (auto const& which : {shape{}, shape{0}, shape{41}, shape{2, 3}})
        compare({any(element, rows), written(9, [](std::int64_t i) { return i % 2 == 0; }),
                 test::filled(index, which, [](std::int64_t i) { return i * 4 % 10; })},
                of_op<ops::array_read_op>(), "rows that are read");
}

TEST_P(array_kernels, give_all_rows_as_the_host_does) {
  for (auto const& rows : {shape{9, 3}, shape{1}, shape{0, 4}, shape{5, 0}})
    compare({any(element, rows), written(rows[0], always)}, of_op<ops::array_stack_op>(), "all rows");
}

struct arrays_on_gpu : test::on_both_with_indices {};

TEST_F(arrays_on_gpu, refuse_what_the_host_refuses_with_its_words) {
  auto const rows = any(dtype::float32, {2000, 2});
  for (auto const index : index_types) {
    auto const at = [&](auto const& f) { return test::filled(index, {1500}, f); };
    auto const write = [&](tensor const& before, tensor const& which, std::string const& words) {
      expect_same_refusal({rows, before, which, any(dtype::float32, {1500, 2})}, of_op<ops::array_write_op>(), words);
    };
    auto const read = [&](tensor const& before, tensor const& which, std::string const& words) {
      expect_same_refusal({rows, before, which}, of_op<ops::array_read_op>(), words);
    };
    auto const own = at([](std::int64_t i) { return i; }), out = at([](std::int64_t i) { return i < 1203 ? i : 2000; }),
               below = at([](std::int64_t i) { return i == 77 ? -1 : i; });
    // A row that is out of range is the error, whatever else is wrong.
    for (auto const& before : {written(2000, always), written(2000, never)}) {
      write(before, out, "index 1203 is 2000, and there are 2000 rows");
      write(before, below, "index 77 is -1, and there are 2000 rows");
      read(before, out, "index 1203 is 2000, and there are 2000 rows");
    }
    write(written(2000, [](std::int64_t i) { return i == 1100 || i == 1300; }), own, "row 1100 was already written");
    write(written(2000, never), at([](std::int64_t i) { return i == 1234 || i == 1400 ? 17 : i; }),
          "row 17 is written twice by one write");
    read(written(2000, [](std::int64_t i) { return i != 1100 && i != 1300; }), own,
         "row 1100 was read before it was written");
  }
  expect_same_refusal({rows, written(2000, [](std::int64_t i) { return i != 1100 && i != 1300; })},
                      of_op<ops::array_stack_op>(), "row 1100 was never written");
}

struct array_text : test::on_real_nvrtc {};
TEST_F(array_text, is_compiled_by_nvrtc) {
  for (auto const index : index_types) add_text(cuda::written_text(index), index);
  for (bool const wide : {false, true}) add_text(cuda::repeated_text(wide), wide ? "wide" : "");
  add_text(cuda::missing_text());
  expect_compiled();
}

}  // namespace
}  // namespace rill
