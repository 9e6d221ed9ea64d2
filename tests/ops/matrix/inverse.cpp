#include "rill/ops/matrix/inverse.hpp"

#include "decomposed.hpp"
#include "rill/graph/codec.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/ops/matrix/determinant.hpp"

namespace rill {
namespace {

static_assert(ops::inverse_op::infer({}, of<float, "n", 3, 3>) == of<float, "n", 3, 3>);

tensor inverse_of(tensor const& t, int threads = 1) {
  return test::run([](auto const& in) { return inverse(in[0]); }, {t}, threads);
}

TEST(inverse, times_the_matrix_is_the_unit_matrix) {
  for (auto d : {dtype::float32, dtype::float64, dtype::complex64, dtype::complex128})
    for (std::int64_t n : {1, 2, 5, 40}) {
      auto const x = test::well_conditioned(d, 3, n);
      auto const unit =
          test::to_doubles(test::run([](auto const& in) { return matmul(in[0], inverse(in[0]), transposed{}); }, {x}));
      for (std::size_t i = 0; i < unit.size(); ++i) {
        auto const at = static_cast<std::int64_t>(i) % (n * n);
        EXPECT_NEAR(unit[i], at / n == at % n ? 1 : 0, d == dtype::float32 || d == dtype::complex64 ? 1e-5 : 1e-13);
      }
      EXPECT_TRUE(same_bits(inverse_of(x), inverse_of(x, 4)));
    }
}

TEST(inverse, needs_rows_to_be_exchanged) {
  auto const y = inverse_of(test::from_doubles(dtype::float64, {2, 2}, {0, 2, 4, 0}));
  EXPECT_EQ(test::to_doubles(y), (std::vector<double>{0, 0.25, 0.5, 0}));
}

TEST(inverse, names_the_matrix_of_the_batch_that_is_singular) {
  std::vector<double> v;
  for (int i = 0; i < 3000; ++i) v.insert(v.end(), {1, 2, 3, i == 2345 || i == 2800 ? 6. : 4.});
  for (int threads : {1, 4})
    test::expect_error(code::invalid_argument, "matrix 2345 of the batch of 3000 is singular",
                       [&] { inverse_of(test::from_doubles(dtype::float64, {3000, 2, 2}, v), threads); });
  EXPECT_TRUE(std::isnan(test::to_doubles(inverse_of(test::from_doubles(dtype::float64, {1, 1}, {NAN})))[0]));
}

TEST(inverse, of_nothing_is_nothing) {
  EXPECT_EQ(inverse_of(tensor(dtype::float32, shape{0, 3, 3})).shape(), (shape{0, 3, 3}));
  EXPECT_EQ(inverse_of(tensor(dtype::float32, shape{2, 0, 0})).shape(), (shape{2, 0, 0}));
}

TEST(inverse, refuses_what_is_not_square) {
  graph g;
  auto const refuses = [&](char const* words, type const& t) {
    test::expect_error(code::invalid_argument, words, [&] { inverse(value(placeholder(g, t))); });
  };
  refuses("not a square matrix", of<float, 2, 3>);
  refuses("not a square matrix", of<float, 3>);
  refuses("not of float32, float64 or complex", of<int, 3, 3>);
  refuses("not of float32, float64 or complex", of<half, 3, 3>);
  auto const open = placeholder(g, type::of_unknown_rank(dtype::float32));
  session s{g};
  test::expect_error(code::invalid_argument, "not a square matrix",
                     [&] { s.run({{open, tensor(dtype::float32, shape{2, 3})}}, inverse(value(open))); });
}

TEST(inverse, has_derivatives_of_finite_differences_twice_also_of_complex_numbers) {
  for (auto d : {dtype::float64, dtype::complex128}) {
    auto const fed = test::well_conditioned(d, 2, 3);
    test::expect_derivatives([](value x) { return inverse(x); }, fed, 2);
    test::expect_derivatives([](value x) { return record_erased<ops::inverse_op>(*x.graph, {true}, {x}); }, fed, 2);
    test::expect_derivatives([](value x) { return determinant(x); }, fed, 2);
  }
}

TEST(inverse, travels_with_its_graph) {
  graph g;
  auto const x = placeholder<float, 2, 2>(g, "x");
  auto const name = (determinant(inverse(x)) + 1.f).name();
  auto const again = graph_from_bytes(to_bytes(g), all_operations<type_list<ops::inverse_op, ops::determinant_op>>());
  session s(*again);
  auto const y = s.run({{"x", test::from_doubles(dtype::float32, {2, 2}, {2, 0, 0, 4})}}, std::vector{name})[0];
  EXPECT_FLOAT_EQ(y.item<float>(), 1.125f);
}

}  // namespace
}  // namespace rill
