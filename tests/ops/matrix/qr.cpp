#include "rill/ops/matrix/qr.hpp"

#include "decomposed.hpp"

namespace rill {
namespace {

template <type T> using handle = expr<T>;
template <type T> using results = decltype(qr(handle<T>()));
static_assert(
    std::same_as<results<of<float, "n", 4, 3>>, std::tuple<expr<of<float, "n", 4, 3>>, expr<of<float, "n", 3, 3>>>>);
static_assert(std::same_as<results<of<float, 2, 3>>, std::tuple<expr<of<float, 2, 2>>, expr<of<float, 2, 3>>>>);
static_assert(decltype(lstsq(handle<of<float, "n", 4, 3>>(), handle<of<float, 4, 2>>()))::static_type ==
              of<float, "n", 3, 2>);

std::array<tensor, 2> qr_of(tensor const& t, int threads = 1) {
  auto const part = [&](std::size_t i) {
    return test::run(
        [&](auto const& in) {
          auto const [q, r] = qr(in[0]);
          return i == 0 ? q : r;
        },
        {t}, threads);
  };
  return {part(0), part(1)};
}

tensor product(tensor const& a, tensor const& b, transposed how = {}) {
  return test::run([&](auto const& in) { return matmul(how.a ? conj(in[0]) : in[0], in[1], how); }, {a, b});
}

TEST(qr, times_each_other_is_the_matrix) {
  for (auto d : {dtype::float32, dtype::float64, dtype::complex64, dtype::complex128})
    for (auto const& [rows, columns] :
         std::initializer_list<std::array<std::int64_t, 2>>{{1, 1}, {5, 5}, {5, 2}, {2, 5}, {60, 40}}) {
      auto const x = test::scattered(d, {3, rows, columns});
      auto const k = std::min(rows, columns);
      auto const [q, r] = qr_of(x);
      test::expect_close(product(q, r), x, test::precision_of(d));
      test::expect_close(product(q, q, {.a = true}), test::units(d, 3, k), test::precision_of(d));
      auto const v = test::to_doubles(r);
      for (std::int64_t i = 0; i < r.elements(); ++i) {
        auto const row = i / columns % k, column = i % columns;
        if (column < row) {
          EXPECT_EQ(v[static_cast<std::size_t>(i)], 0);
        }
        if (column == row) {
          EXPECT_GE(v[static_cast<std::size_t>(i)], 0);
        }
      }
      EXPECT_TRUE(same_bits(q, qr_of(x, 4)[0]) && same_bits(r, qr_of(x, 4)[1]));
    }
}

TEST(qr, of_wide_matrices_has_derivatives_twice) {
  auto const both = [](value x) {
    auto const [q, r] = qr(x);
    return concat({q, r}, -1);
  };
  for (auto d : {dtype::float64, dtype::complex128})
    test::expect_derivatives(both, test::well_conditioned(d, 1, 2, 3, 2), 2);
}

TEST(qr, of_dependent_columns_has_no_derivative_and_says_so) {
  graph g;
  value const x = placeholder<double, 2, 2>(g);
  auto const dx = gradients(sum(std::get<1>(qr(x)), extents{}), {x})[0];
  session s{g};
  test::expect_error(code::invalid_argument, "is singular",
                     [&] { s.run({{x, test::from_doubles(dtype::float64, {2, 2}, {0, 1, 0, 1})}}, dx); });
}

TEST(qr, of_matrices_without_elements_has_none) {
  auto const [q, r] = qr_of(tensor(dtype::float32, shape{2, 3, 0}));
  EXPECT_EQ(q.shape(), (shape{2, 3, 0}));
  EXPECT_EQ(r.shape(), (shape{2, 0, 0}));
}

TEST(qr, must_know_before_the_step_that_there_are_fewer_rows) {
  graph g;
  value const x = placeholder(g, of<float, unknown, 3>);
  value const q = std::get<0>(qr(x));
  session s{g};
  EXPECT_EQ(s.run({{x, test::counting(dtype::float32, {4, 3})}}, q).shape(), (shape{4, 3}));
  test::expect_error(code::invalid_argument, "fewer rows than columns",
                     [&] { s.run({{x, test::counting(dtype::float32, {2, 3})}}, q); });
}

TEST(qr, refuses_what_is_no_matrix) {
  auto const f = [](value x) { return std::get<0>(qr(x)); };
  test::expect_refused(f, "not a matrix", of<float, 3>);
  test::expect_refused(f, "not of float32, float64 or complex", of<int, 3, 3>);
}

TEST(lstsq, leaves_an_error_that_is_orthogonal_to_the_columns) {
  for (auto d : {dtype::float64, dtype::complex128}) {
    auto const a = test::scattered(d, {2, 7, 3}), b = test::scattered(d, {7, 2});
    auto const x = test::run([](auto const& in) { return lstsq(in[0], in[1]); }, {a, b});
    ASSERT_EQ(x.shape(), (shape{2, 3, 2}));
    auto const left = test::run([](auto const& in) { return matmul(in[0], in[2], transposed{}) - in[1]; }, {a, b, x});
    test::expect_close(product(a, left, {.a = true}), test::from_doubles(d, {2, 3, 2}, std::vector<double>(12)), 1e-12);
  }
}

TEST(lstsq, of_fewer_equations_than_unknowns_is_the_smallest_solution) {
  auto const a = test::from_doubles(dtype::float64, {1, 2}, {3, 4}),
             b = test::from_doubles(dtype::float64, {1, 1}, {50});
  auto const x = test::run([](auto const& in) { return lstsq(in[0], in[1]); }, {a, b});
  test::expect_close(x, test::from_doubles(dtype::float64, {2, 1}, {6, 8}), 1e-13);
  test::expect_derivatives(
      [](value each) { return lstsq(each, constant(*each.graph, test::counting(dtype::float64, {2, 2}))); },
      test::well_conditioned(dtype::float64, 1, 2, 3, 2), 2);
}

TEST(lstsq, refuses_dependent_columns_and_operands_that_do_not_fit) {
  test::expect_error(code::invalid_argument, "is singular", [] {
    test::run([](auto const& in) { return lstsq(in[0], in[1]); },
              {test::from_doubles(dtype::float64, {2, 2}, {0, 1, 0, 1}), test::counting(dtype::float64, {2, 1})});
  });
  graph g;
  auto const refuses = [&](char const* words, type const& a, type const& b) {
    test::expect_error(code::invalid_argument, words,
                       [&] { lstsq(value(placeholder(g, a)), value(placeholder(g, b))); });
  };
  refuses("lstsq: the operands have different numbers of rows: 4 against 3", of<float, 4, 2>, of<float, 3, 2>);
  refuses("lstsq: the operands have different element types", of<float, 4, 2>, of<double, 4, 2>);
  refuses("lstsq: the right-hand side is not a matrix", of<float, 4, 2>, of<float, 4>);
}

}  // namespace
}  // namespace rill
