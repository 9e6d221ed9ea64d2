#include "rill/ops/matrix/triangular_solve.hpp"

#include "decomposed.hpp"

namespace rill {
namespace {

template <type T> using handle = expr<T>;
static_assert(decltype(triangular_solve(handle<of<float, 3, 3>>(), handle<of<float, "n", 3, 2>>()))::static_type ==
              of<float, "n", 3, 2>);

std::vector<double> solved(std::vector<double> const& a, triangle_form how) {
  return test::to_doubles(
      test::run([&](auto const& in) { return triangular_solve(in[0], in[1], how); },
                {test::from_doubles(dtype::float64, {2, 2}, a), test::from_doubles(dtype::float64, {2}, {2, 8})}));
}

TEST(triangular_solve, reads_only_its_triangle) {
  EXPECT_EQ(solved({2, NAN, 4, 1}, {}), (std::vector<double>{1, 4}));
  EXPECT_EQ(solved({2, NAN, 4, 1}, {.transposed = true}), (std::vector<double>{-15, 8}));
  EXPECT_EQ(solved({2, 4, NAN, 1}, {.upper = true}), (std::vector<double>{-15, 8}));
  EXPECT_EQ(solved({2, 4, NAN, 1}, {.upper = true, .transposed = true}), (std::vector<double>{1, 4}));
}

TEST(triangular_solve, has_derivatives_only_with_respect_to_its_triangle) {
  graph g;
  auto const a = placeholder<double, 2, 2>(g);
  auto const [da] = gradients(sum(triangular_solve(a, constant(g, test::counting(dtype::float64, {2, 1})))), a);
  session s{g};
  EXPECT_EQ(test::to_doubles(s.run({{a, test::from_doubles(dtype::float64, {2, 2}, {2, 7, 4, 1})}}, da))[1], 0);
}

TEST(triangular_solve, names_the_matrix_of_the_batch_that_is_singular) {
  test::expect_error(code::invalid_argument, "triangular_solve: matrix 0 of the batch of 1 is singular",
                     [] { solved({1, 2, 3, 0}, {}); });
}

TEST(triangular_solve, refuses_operands_that_do_not_fit) {
  graph g;
  test::expect_error(code::invalid_argument, "as many rows as the matrix: 2 against 3", [&] {
    triangular_solve(value(placeholder(g, of<float, 3, 3>)), value(placeholder(g, of<float, 2, 3>)));
  });
}

}  // namespace
}  // namespace rill
