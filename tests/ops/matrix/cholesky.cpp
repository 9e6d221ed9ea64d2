#include "rill/ops/matrix/cholesky.hpp"

#include "decomposed.hpp"

namespace rill {
namespace {

static_assert(ops::cholesky_op::infer({}, of<float, "n", 3, 3>) == of<float, "n", 3, 3>);

tensor cholesky_of(tensor const& t, int threads = 1) {
  return test::run([](auto const& in) { return cholesky(in[0]); }, {t}, threads);
}

TEST(cholesky, times_its_adjoint_is_the_matrix) {
  for (auto d : {dtype::float32, dtype::float64, dtype::complex64, dtype::complex128})
    for (std::int64_t n : {1, 2, 5, 40}) {
      auto const positive = test::run(
          [&](auto const& in) {
            return matmul(in[0], in[0], transposed{.b = true}) * (1. / static_cast<double>(n * n));
          },
          {test::well_conditioned(d, 3, n)});
      auto const l = cholesky_of(positive);
      auto const again = test::run([](auto const& in) { return matmul(in[0], in[0], transposed{.b = true}); }, {l});
      test::expect_close(again, positive, test::precision_of(d));
      EXPECT_TRUE(same_bits(l, cholesky_of(positive, 4)));
    }
}

TEST(cholesky, is_lower_triangular) {
  EXPECT_EQ(test::to_doubles(cholesky_of(test::from_doubles(dtype::float64, {2, 2}, {4, 2, 2, 10}))),
            (std::vector<double>{2, 0, 1, 3}));
}

TEST(cholesky, takes_the_symmetric_part_of_other_matrices) {
  auto const part = test::from_doubles(dtype::float64, {2, 2}, {4, 2, 2, 10});
  EXPECT_TRUE(same_bits(cholesky_of(test::from_doubles(dtype::float64, {2, 2}, {4, 1, 3, 10})), cholesky_of(part)));
}

TEST(cholesky, of_hermitian_matrices_has_a_real_diagonal) {
  using number = std::complex<double>;
  tensor t(dtype::complex128, shape{2, 2});
  number const x[] = {{4, 0}, {0, -2}, {0, 2}, {10, 0}};
  std::copy(std::begin(x), std::end(x), t.mutable_data<number>());
  auto const l = cholesky_of(t);
  EXPECT_EQ(std::vector(l.data<number>(), l.data<number>() + 4), (std::vector<number>{{2, 0}, {0, 0}, {0, 1}, {3, 0}}));
}

TEST(cholesky, names_the_matrix_of_the_batch_that_is_not_positive_definite) {
  std::vector<double> v;
  for (int i = 0; i < 3000; ++i) v.insert(v.end(), {1, 2, 2, i == 2345 || i == 2800 ? 4. : 5.});
  for (int threads : {1, 4})
    test::expect_error(code::invalid_argument, "matrix 2345 of the batch of 3000 is not positive definite",
                       [&] { cholesky_of(test::from_doubles(dtype::float64, {3000, 2, 2}, v), threads); });
  EXPECT_TRUE(std::isnan(test::to_doubles(cholesky_of(test::from_doubles(dtype::float64, {1, 1}, {NAN})))[0]));
}

TEST(cholesky, of_nothing_is_nothing) {
  EXPECT_EQ(cholesky_of(tensor(dtype::float32, shape{0, 3, 3})).shape(), (shape{0, 3, 3}));
  EXPECT_EQ(cholesky_of(tensor(dtype::float32, shape{2, 0, 0})).shape(), (shape{2, 0, 0}));
}

TEST(cholesky, refuses_what_is_not_square) {
  test::expect_refused([](value x) { return cholesky(x); }, "not a square matrix", of<float, 2, 3>);
  test::expect_refused([](value x) { return cholesky(x); }, "not a square matrix", of<float, 3>);
  test::expect_refused([](value x) { return cholesky(x); }, "not of float32, float64 or complex", of<int, 3, 3>);
}

}  // namespace
}  // namespace rill
