#include "rill/ops/table/scatter_update.hpp"

#include "../run.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/state/assign.hpp"

namespace rill {
namespace {

// What a variable is after an update of its rows.
std::vector<double> updated(bool subtract, tensor const& table, tensor const& which, tensor const& rows,
                            int threads = 1) {
  graph g;
  auto const v = variable(constant(g, table), "v");
  auto const i = placeholder(g, which.type()), r = placeholder(g, rows.type());
  auto const update = subtract ? scatter_sub(v, i, r) : scatter_add(v, i, r);
  session s{g, {.threads = threads}};
  s.run(initializer(g));
  s.run({{i, which}, {r, rows}}, update);
  return test::to_doubles(s.run(v));
}

TEST(scatter, adds_and_subtracts_rows) {
  for (auto d : {dtype::float32, dtype::bfloat16, dtype::int8, dtype::int64, dtype::complex64})
    for (auto index : {dtype::int32, dtype::int64}) {
      auto const table = test::counting(d, {3, 2}), rows = test::counting(d, {3, 2});
      auto const which = test::from_doubles(index, {3}, {2, 0, 2});  // one row twice
      EXPECT_EQ(updated(false, table, which, rows), (std::vector<double>{4, 6, 3, 4, 11, 14}));
      EXPECT_EQ(updated(true, table, which, rows), (std::vector<double>{-2, -2, 3, 4, -1, -2}));
    }
}

TEST(scatter, takes_indices_and_rows_of_any_rank) {
  auto const which = test::from_doubles(dtype::int32, {2, 1}, {1, 0});
  EXPECT_EQ(updated(false, test::counting(dtype::float32, {2}), which, test::counting(dtype::float32, {2, 1})),
            (std::vector<double>{3, 3}));
  auto const none = test::from_doubles(dtype::int32, {0}, {});
  EXPECT_EQ(updated(false, test::counting(dtype::float32, {2, 1}), none, test::counting(dtype::float32, {0, 1})),
            (std::vector<double>{1, 2}));
  EXPECT_TRUE(
      updated(false, test::counting(dtype::float32, {2, 0}), which, test::counting(dtype::float32, {2, 1, 0})).empty());
}

TEST(scatter, has_the_same_bits_on_any_number_of_threads) {
  auto const table = test::scattered(dtype::float32, {100, 500}), rows = test::scattered(dtype::float32, {300, 500}, 2);
  std::vector<double> numbers;
  for (int i = 0; i < 300; ++i) numbers.push_back((i * 37) % 100);
  auto const which = test::from_doubles(dtype::int64, {300}, numbers);
  EXPECT_EQ(updated(true, table, which, rows, 1), updated(true, table, which, rows, 2));
}

TEST(scatter, refuses_rows_that_there_are_not_and_writes_nothing) {
  graph g;
  auto const v = variable(constant<float, 2, 2>(g, {1, 2, 3, 4}), "v");
  auto const i = placeholder<std::int32_t, 2>(g);
  auto const update = scatter_add(v, i, constant<float, 2, 2>(g, {1, 1, 1, 1}));
  session s{g, {.threads = 1}};
  s.run(initializer(g));
  for (double bad : {2.0, -1.0, 2147483647.0, -2147483648.0})
    test::expect_error(code::invalid_argument, "2 rows", [&] {
      s.run({{i, tensor_of<of<std::int32_t, 2>>(test::from_doubles(dtype::int32, {2}, {0, bad}))}}, update);
    });
  EXPECT_EQ(test::to_doubles(s.run(v)), (std::vector<double>{1, 2, 3, 4}));
}

TEST(scatter, refuses_what_does_not_fit) {
  graph g;
  auto v = [&, n = 0](type const& t) mutable { return variable(g, t, "v" + std::to_string(n++)); };
  auto const p = [&](type const& t) { return placeholder(g, t); };
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("not have one row", [&] { scatter_add(v(of<float, 3, 2>), p(of<int, 4>), p(of<float, 3, 2>)); });
  refuses("not have one row", [&] { scatter_add(v(of<float, 3, 2>), p(of<int, 4>), p(of<float, 4, 3>)); });
  refuses("not have one row", [&] { scatter_add(v(of<float, 3, 2>), p(of<int, 4>), p(of<float, 4>)); });
  refuses("element type", [&] { scatter_add(v(of<float, 3, 2>), p(of<int, 4>), p(of<double, 4, 2>)); });
  refuses("int32 or int64", [&] { scatter_add(v(of<float, 3, 2>), p(of<float, 4>), p(of<float, 4, 2>)); });
  refuses("a scalar", [&] { scatter_add(v(of<float>), p(of<int, 4>), p(of<float, 4>)); });
  refuses("needs a variable of numbers", [&] { scatter_add(v(of<bool, 3>), p(of<int, 4>), p(of<bool, 4>)); });
}

TEST(scatter_update, assigns_rows_of_which_the_last_with_an_index_stays) {
  for (auto d : {dtype::float32, dtype::int8, dtype::string}) {
    graph g;
    auto const v = variable(constant(g, test::counting(d, {3, 2})), "v");
    auto const i = placeholder(g, of<int, 3>), rows = placeholder(g, type(d, {3, 2}));
    auto const update = scatter_update(v, i, rows);
    session s{g};
    s.run(initializer(g));
    s.run({{i, vector<int>({2, 0, 2})}, {rows, test::from_doubles(d, {3, 2}, {10, 20, 30, 40, 50, 60})}}, update);
    EXPECT_EQ(test::to_doubles(s.run(v)), (std::vector<double>{30, 40, 3, 4, 50, 60}));
    test::expect_error(code::invalid_argument, "index 1 is 3, and there are 3 rows",
                       [&] { s.run({{i, vector<int>({2, 3, 1})}, {rows, test::counting(d, {3, 2})}}, update); });
    EXPECT_EQ(test::to_doubles(s.run(v)), (std::vector<double>{30, 40, 3, 4, 50, 60}));  // nothing was written
  }
}

}  // namespace
}  // namespace rill
