#include "rill/ops/matrix/solve.hpp"

#include "decomposed.hpp"

namespace rill {
namespace {

template <type T> using handle = expr<T>;
static_assert(decltype(solve(handle<of<float, "n", 3, 3>>(), handle<of<float, 3, 2>>()))::static_type ==
              of<float, "n", 3, 2>);
static_assert(decltype(solve(handle<of<float, "n", 3, 3>>(), handle<of<float, 3>>()))::static_type ==
              of<float, "n", 3>);

tensor solved(tensor const& a, tensor const& b, system_form how = {}, int threads = 1) {
  return test::run([&](auto const& in) { return solve(in[0], in[1], how); }, {a, b}, threads);
}

TEST(solve, times_the_matrix_is_the_right_hand_side) {
  for (auto d : {dtype::float32, dtype::float64, dtype::complex64, dtype::complex128})
    for (std::int64_t n : {1, 2, 5, 40}) {
      auto const a = test::well_conditioned(d, 3, n), b = test::scattered(d, {3, n, 2});
      auto const x = solved(a, b);
      test::expect_close(test::run([](auto const& in) { return matmul(in[0], in[1], transposed{}); }, {a, x}), b,
                         test::precision_of(d));
      EXPECT_TRUE(same_bits(x, solved(a, b, {}, 4)));
    }
}

TEST(solve, broadcasts_batches) {
  auto const one = test::well_conditioned(dtype::float64, 1, 3), many = test::scattered(dtype::float64, {4, 3, 2});
  auto const x = solved(one, many);
  ASSERT_EQ(x.shape(), (shape{4, 3, 2}));
  test::expect_close(test::run([](auto const& in) { return matmul(in[0], in[1], transposed{}); }, {one, x}), many,
                     1e-13);
  auto const several = test::well_conditioned(dtype::float64, 4, 3), vector = test::scattered(dtype::float64, {3});
  auto const y = solved(several, vector);
  ASSERT_EQ(y.shape(), (shape{4, 3}));
  auto const column = test::from_doubles(dtype::float64, {3, 1}, test::to_doubles(vector));
  EXPECT_EQ(test::to_doubles(y), test::to_doubles(solved(several, column)));
}

TEST(solve, transposes_and_conjugates_the_matrix_first) {
  using number = std::complex<double>;
  tensor a(dtype::complex128, shape{2, 2}), b(dtype::complex128, shape{2, 1});
  number const of_a[] = {{2, 0}, {0, 2}, {0, 0}, {4, 0}}, of_b[] = {{2, 0}, {4, 0}};
  std::copy(std::begin(of_a), std::end(of_a), a.mutable_data<number>());
  std::copy(std::begin(of_b), std::end(of_b), b.mutable_data<number>());
  auto const x = [&](system_form how) {
    auto const y = solved(a, b, how);
    return std::vector(y.data<number>(), y.data<number>() + 2);
  };
  EXPECT_EQ(x({}), (std::vector<number>{{1, -1}, {1, 0}}));
  EXPECT_EQ(x({.conjugated = true}), (std::vector<number>{{1, 1}, {1, 0}}));
  EXPECT_EQ(x({.transposed = true}), (std::vector<number>{{1, 0}, {1, -0.5}}));
  EXPECT_EQ(x({.transposed = true, .conjugated = true}), (std::vector<number>{{1, 0}, {1, 0.5}}));
}

TEST(solve, names_the_matrix_of_the_batch_that_is_singular) {
  auto const a = test::from_doubles(dtype::float64, {2, 2, 2}, {1, 2, 3, 4, 1, 2, 2, 4});
  test::expect_error(code::invalid_argument, "solve: matrix 1 of the batch of 2 is singular",
                     [&] { solved(a, test::counting(dtype::float64, {2, 1})); });
}

TEST(solve, of_nothing_is_nothing) {
  EXPECT_EQ(solved(tensor(dtype::float32, shape{2, 0, 0}), tensor(dtype::float32, shape{2, 0, 3})).shape(),
            (shape{2, 0, 3}));
  EXPECT_EQ(solved(tensor(dtype::float32, shape{0, 3, 3}), tensor(dtype::float32, shape{3, 3})).shape(),
            (shape{0, 3, 3}));
}

TEST(solve, refuses_operands_that_do_not_fit) {
  graph g;
  auto const refuses = [&](char const* words, type const& a, type const& b) {
    test::expect_error(code::invalid_argument, words,
                       [&] { solve(value(placeholder(g, a)), value(placeholder(g, b))); });
  };
  refuses("not a square matrix", of<float, 2, 3>, of<float, 2, 3>);
  refuses("as many rows as the matrix: 2 against 3", of<float, 3, 3>, of<float, 2, 3>);
  refuses("different element types", of<float, 3, 3>, of<double, 3, 3>);
  refuses("not of float32, float64 or complex", of<int, 3, 3>, of<int, 3, 3>);
  refuses("do not broadcast", of<float, 2, 3, 3>, of<float, 4, 3, 3>);
  refuses("the right-hand side is not a matrix", of<float, 3, 3>, of<float>);
}

}  // namespace
}  // namespace rill
