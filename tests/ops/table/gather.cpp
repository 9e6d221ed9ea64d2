#include "rill/ops/table/gather.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/array/as.hpp"
#include "rill/ops/array/one_hot.hpp"
#include "rill/ops/control/cond.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/state/assign.hpp"

namespace rill {
namespace {

TEST(gather, takes_rows_by_indices_of_any_rank) {
  for (auto d : {dtype::float32, dtype::int8, dtype::complex128, dtype::string})
    for (auto i : {dtype::int32, dtype::int64}) {
      auto const table = test::scattered(d, {4, 3});
      auto const which = test::from_doubles(i, {2, 2}, {3, 0, 1, 3});
      auto const y = test::run([](auto const& in) { return gather(in[0], in[1]); }, {table, which});
      ASSERT_EQ(y.shape(), (shape{2, 2, 3}));
      visit(d, [&]<class T>() {
        for (int k = 0; k < 3; ++k) {
          EXPECT_EQ(y.at<T>(0, 0, k), table.at<T>(3, k));
          EXPECT_EQ(y.at<T>(0, 1, k), table.at<T>(0, k));
          EXPECT_EQ(y.at<T>(1, 0, k), table.at<T>(1, k));
        }
      });
    }
}

TEST(gather, names_an_index_that_is_outside) {
  auto const table = test::scattered(dtype::float32, {4, 3});
  for (double bad : {-1., 4., 2147483647., -2147483648.}) {
    auto const which = test::from_doubles(dtype::int32, {3}, {0, bad, 1});
    test::expect_error(code::invalid_argument, "index 1 is " + std::to_string(static_cast<std::int64_t>(bad)),
                       [&] { test::run([](auto const& in) { return gather(in[0], in[1]); }, {table, which}); });
  }
  auto const none = test::from_doubles(dtype::int64, {1}, {0});
  test::expect_error(code::invalid_argument, "there are 0 rows", [&] {
    test::run([](auto const& in) { return gather(in[0], in[1]); }, {test::scattered(dtype::float32, {0, 3}), none});
  });
}

TEST(gather, has_a_sparse_gradient_that_adds_up_rows_that_come_twice) {
  graph g;
  auto table = placeholder<double, 4, 2>(g);
  auto which = placeholder<int, "n">(g);
  auto const parts = partial_gradients(sum(square(gather(table, which))), {table});
  ASSERT_TRUE(parts[0].sparse());
  session s{g};
  auto const r = s.run(
      {{table, tensor_of<of<double, 4, 2>>(test::counting(dtype::float64, {4, 2}))}, {which, vector<int>({2, 0, 2})}},
      densify(parts[0], table));
  EXPECT_EQ(test::to_doubles(r), (std::vector<double>{2, 4, 0, 0, 20, 24, 0, 0}));
}

TEST(gather, reads_a_variable_where_it_lies) {
  graph g;
  auto table = variable<float, 1000, 64>(g, "table");
  auto which = constant<int, 3>(g, {5, 999, 5});
  auto fill = assign(table, constant<float, 1000, 64>(g, test::counting(dtype::float32, {1000, 64})));
  auto rows = gather(table, which);
  static_assert(decltype(rows)::static_type == of<float, 3, 64>);
  session s{g};
  s.run(operation(fill));
  auto const r = s.run(rows);
  EXPECT_EQ(r.at<float>(1, 63), 64000);
  EXPECT_EQ(r.at<float>(2, 0), 321);
  // A step that gathers and updates holds no snapshot of the table: the update needs no copy of it.
  auto const parts = partial_gradients(sum(square(rows)), {table});
  ASSERT_TRUE(parts[0].sparse());
  host_allocator().reset_peak();
  auto const before = host_allocator().usage().current;
  s.run(parts[0].rows);
  EXPECT_LT(host_allocator().usage().peak - before, 1000 * 64 * 4);
}

TEST(gather, needs_a_variable_with_a_value) {
  graph g;
  auto rows = gather(variable<float, 4, 2>(g, "table"), constant<int, 1>(g, {2}));
  session s{g};
  test::expect_error(code::failed_precondition, "no value yet", [&] { s.run(rows); });
}

TEST(gather, and_other_uses_of_a_table_have_one_gradient_to_which_rows_are_added) {
  graph g;
  auto const table = placeholder<double, 4, 2>(g, "table");
  auto const y = sum(gather(table, constant<std::int32_t, 3>(g, {1, 3, 1}))) + sum(square(table)) +
                 sum(gather(table, constant(g, 0)));
  auto const [d] = gradients(y, table);
  session s(g);
  tensor const fed = test::scattered(dtype::float64, {4, 2});
  auto const got = s.run({{table, fed}}, d);
  double const times[4] = {1, 2, 0, 1};
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 2; ++c) EXPECT_NEAR(got.at<double>(r, c), 2 * fed.at<double>(r, c) + times[r], 1e-12);
  for (std::uint32_t i = 0; i < g.size(); ++i) EXPECT_NE(g[i].op->name, "scatter_like");
}

TEST(add_rows, refuses_what_does_not_fit) {
  graph g;
  value const table = placeholder(g, of<float, 4, 3>, "t"), which = placeholder(g, of<std::int64_t, 2>, "i");
  test::expect_error(code::invalid_argument, "not a row of the table's extents",
                     [&] { add_rows(table, which, placeholder(g, of<float, 2, 2>, "r")); });
  test::expect_error(code::invalid_argument, "another element type",
                     [&] { add_rows(table, which, placeholder(g, of<double, 2, 3>, "d")); });
  test::expect_error(code::invalid_argument, "neither int32 nor int64",
                     [&] { add_rows(table, value(placeholder(g, of<float, 2>, "w")), table); });
  test::expect_error(code::invalid_argument, "does not hold numbers", [&] {
    value const words = placeholder(g, of<std::string, 4>, "s");
    add_rows(words, which, placeholder(g, of<std::string, 2>, "q"));
  });
}

TEST(scatter_like, is_the_same_for_any_number_of_threads) {
  auto const rows = test::scattered(dtype::float32, {3000, 17}), table = test::scattered(dtype::float32, {500, 17});
  std::vector<double> which(3000);
  for (std::size_t i = 0; i < which.size(); ++i) which[i] = static_cast<double>(i * i % 500);
  auto const index = test::from_doubles(dtype::int32, {3000}, which);
  auto const record = [](auto const& in) { return scatter_like(in[0], in[1], in[2]); };
  auto const one = test::run(record, {index, rows, table}, 1), four = test::run(record, {index, rows, table}, 4);
  EXPECT_TRUE(same_bits(one, four));
  std::vector<double> wanted(500 * 17);
  auto const v = test::to_doubles(rows);
  for (std::size_t i = 0; i < 3000; ++i)
    for (std::size_t k = 0; k < 17; ++k) wanted[static_cast<std::size_t>(which[i]) * 17 + k] += v[i * 17 + k];
  auto const got = test::to_doubles(one);
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-4);
}

TEST(scatter_like, refuses_what_does_not_fit) {
  graph g;
  auto const p = [&](type const& t) { return placeholder(g, t); };
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("not a row", [&] { scatter_like(p(of<int, 3>), p(of<float, 3, 5>), p(of<float, 4, 2>)); });
  refuses("not a row", [&] { scatter_like(p(of<int, 3>), p(of<float, 2, 2>), p(of<float, 4, 2>)); });
  refuses("neither int32 nor int64", [&] { scatter_like(p(of<float, 3>), p(of<float, 3, 2>), p(of<float, 4, 2>)); });
  refuses("a scalar has no rows", [&] { scatter_like(p(of<int>), p(of<float>), p(of<float>)); });
  refuses("a scalar has no rows", [&] { gather(p(of<float>), p(of<int>)); });
  refuses("neither int32 nor int64", [&] { gather(p(of<float, 3>), p(of<float>)); });
  test::expect_error(code::invalid_argument, "index 0 is 4", [&] {
    test::run([](auto const& in) { return scatter_like(in[0], in[1], in[2]); },
              {test::from_doubles(dtype::int32, {1}, {4}), test::counting(dtype::float32, {1, 2}),
               test::counting(dtype::float32, {4, 2})});
  });
}

TEST(one_hot, has_a_one_at_the_index_or_nowhere) {
  auto const which = test::from_doubles(dtype::int32, {4}, {2, 0, -1, 3});
  for (auto d : {dtype::float32, dtype::boolean, dtype::int8, dtype::complex64, dtype::float16}) {
    auto const y = test::to_doubles(test::run([&](auto const& in) { return one_hot(in[0], 3, d); }, {which}));
    EXPECT_EQ(y, (std::vector<double>{0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0})) << name(d);
  }
  EXPECT_EQ(test::run([](auto const& in) { return one_hot(in[0], 0); }, {which}).elements(), 0);
  graph g;
  test::expect_error(code::invalid_argument, "depth is negative", [&] { one_hot(placeholder(g, of<int, 2>), -1); });
  test::expect_error(code::invalid_argument, "one_hot: strings are not supported",
                     [&] { one_hot(placeholder(g, of<int, 2>), 2, dtype::string); });
  test::expect_error(code::invalid_argument, "neither int32 nor int64",
                     [&] { one_hot(placeholder(g, of<float, 2>), 2); });
}

TEST(gather, from_a_variable_with_open_extents_follows_them_and_says_with_what_they_clash) {
  graph g;
  auto const table = variable<float, "rows", 2>(g, "table");
  auto const fresh = placeholder<float, unknown, 2>(g, "fresh");
  auto const set = assign(table, as<of<float, "rows", 2>>(value(fresh)));
  auto const x = placeholder<float, "rows">(g, "x");
  auto const last = gather(table, placeholder<int>(g, "which"));
  auto const inside = cond(
      placeholder<bool>(g, "p"), [&] { return gather(table, constant(g, 1)); },
      [&] { return gather(table, constant(g, 0)); });
  session s{g};
  test::expect_error(code::failed_precondition, "no value yet", [&] { s.run({{"which", tensor(0)}}, last); });
  for (int rows : {5, 7, 2}) {
    s.run({{fresh, test::counting(dtype::float32, {rows, 2})}}, operation(set));
    EXPECT_EQ(s.run({{"which", tensor(rows - 1)}}, last).at<float>(1), static_cast<float>(2 * rows));
    EXPECT_EQ(s.run({{"p", tensor(true)}}, inside).at<float>(1), 4);
    test::expect_error(code::invalid_argument, "there are " + std::to_string(rows) + " rows",
                       [&] { s.run({{"which", tensor(rows)}}, last); });
  }
  auto const both = [&](int rows) {
    return s.run({{x, tensor(dtype::float32, {rows})}, {"which", tensor(1)}}, last, identity(x));
  };
  EXPECT_EQ(std::get<0>(both(2)).at<float>(1), 4);
  test::expect_error(code::invalid_argument, "axis 'rows' is 3 elsewhere in this step and 2 here", [&] { both(3); });
}

}  // namespace
}  // namespace rill
