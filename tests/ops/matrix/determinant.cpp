#include "rill/ops/matrix/determinant.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

static_assert(ops::determinant_op::infer({}, of<float, "n", 3, 3>) == of<float, "n">);
static_assert(ops::determinant_op::infer({}, of<float, 3, 3>) == of<float>);

std::vector<double> determinants(tensor const& t) {
  return test::to_doubles(test::run([](auto const& in) { return determinant(in[0]); }, {t}));
}

TEST(determinant, is_that_of_each_matrix_of_a_batch) {
  auto const x = test::from_doubles(dtype::float64, {2, 2, 2, 2}, {1, 2, 3, 4, 0, 1, 1, 0, 2, 0, 0, 5, 1, 2, 2, 4});
  EXPECT_EQ(test::run([](auto const& in) { return determinant(in[0]); }, {x}).shape(), (shape{2, 2}));
  auto const y = determinants(x);
  EXPECT_NEAR(y[0], -2, 1e-15);
  EXPECT_EQ(y[1], -1);  // rows were exchanged
  EXPECT_EQ(y[2], 10);
  EXPECT_EQ(y[3], 0);  // singular
}

TEST(determinant, of_a_matrix_without_rows_is_1) {
  EXPECT_EQ(determinants(tensor(dtype::float32, shape{3, 0, 0})), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(determinants(tensor(dtype::float32, shape{0, 3, 3})), (std::vector<double>{}));
}

TEST(determinant, of_a_singular_matrix_has_no_derivative_and_says_so) {
  graph g;
  auto const x = placeholder<double, 2, 2>(g);
  auto const [dx] = gradients(determinant(x), x);
  session s{g};
  auto const at = [](std::vector<double> const& v) {
    return tensor_of<of<double, 2, 2>>(test::from_doubles(dtype::float64, {2, 2}, v));
  };
  auto const d = test::to_doubles(s.run({{x, at({1, 2, 3, 4})}}, dx));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(d[i], (std::vector<double>{4, -3, -2, 1}[i]), 1e-14);
  test::expect_error(code::invalid_argument, "is singular", [&] { s.run({{x, at({1, 2, 2, 4})}}, dx); });
}

TEST(determinant, refuses_what_is_not_square) {
  graph g;
  value const wide = placeholder(g, of<float, 2, 3>), whole = placeholder(g, of<int, 2, 2>);
  test::expect_error(code::invalid_argument, "determinant: the operand is not a square matrix",
                     [&] { determinant(wide); });
  test::expect_error(code::invalid_argument, "determinant: the operand is not of float32", [&] { determinant(whole); });
}

}  // namespace
}  // namespace rill
