#include "rill/ops/matrix/eigh.hpp"

#include "decomposed.hpp"

namespace rill {
namespace {

constexpr std::array<type, 2> inferred = ops::eigh_op::infer({}, of<float, "n", 3, 3>),
                              wanted{of<float, "n", 3>, of<float, "n", 3, 3>};
static_assert(inferred == wanted);

std::array<tensor, 2> eigh_of(tensor const& t, int threads = 1) {
  auto const part = [&](std::size_t i) {
    return test::run(
        [&](auto const& in) {
          auto const [w, v] = eigh(in[0]);
          return i == 0 ? w : v;
        },
        {t}, threads);
  };
  return {part(0), part(1)};
}

tensor symmetric(dtype d, std::int64_t n) {
  return test::run([](auto const& in) { return matmul(in[0], in[0], transposed{.b = true}) - 1.; },
                   {test::scattered(d, {3, n, n})});
}

TEST(eigh, gives_vectors_that_the_matrix_stretches_by_the_values) {
  for (auto d : {dtype::float32, dtype::float64})
    for (std::int64_t n : {1, 2, 5, 40}) {
      auto const x = symmetric(d, n);
      auto const [w, v] = eigh_of(x);
      auto const stretched = test::run([](auto const& in) { return in[0] * expand_dims(in[1], -2); }, {v, w});
      test::expect_close(test::run([](auto const& in) { return matmul(in[0], in[1], transposed{}); }, {x, v}),
                         stretched, test::precision_of(d) * 10);
      test::expect_close(test::run([](auto const& in) { return matmul(in[0], in[0], transposed{.a = true}); }, {v}),
                         test::units(d, 3, n), test::precision_of(d));
      auto const values = test::to_doubles(w);
      for (std::size_t i = 1; i < values.size(); ++i)
        EXPECT_TRUE(values[i - 1] <= values[i] || i % static_cast<std::size_t>(n) == 0);
      EXPECT_TRUE(same_bits(v, eigh_of(x, 4)[1]));
    }
}

TEST(eigh, makes_the_largest_element_of_a_vector_positive) {
  auto const [w, v] = eigh_of(test::from_doubles(dtype::float64, {2, 2}, {-2, 0, 0, -3}));
  EXPECT_EQ(test::to_doubles(w), (std::vector<double>{-3, -2}));
  EXPECT_EQ(test::to_doubles(v), (std::vector<double>{0, 1, 1, 0}));
}

TEST(eigh, of_equal_eigenvalues_has_derivatives_of_the_values_but_not_of_the_vectors) {
  graph g;
  value const x = placeholder<double, 2, 2>(g);
  auto const [w, v] = eigh(x);
  session s{g};
  auto const at = [&](value target) {
    return test::to_doubles(
        s.run({{x, test::units(dtype::float64, 1, 2).reshaped(shape{2, 2})}}, gradients(target, {x})[0]));
  };
  EXPECT_EQ(at(sum(w, extents{})), (std::vector<double>{1, 0, 0, 1}));
  EXPECT_FALSE(std::isfinite(at(sum(v * v * v, extents{}))[1]));
}

TEST(eigh, of_a_nan_is_nan) {
  auto const [w, v] = eigh_of(test::from_doubles(dtype::float64, {2, 2, 2}, {1, 0, 0, NAN, 1, 0, 0, 2}));
  auto const values = test::to_doubles(w);
  EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[1]));
  EXPECT_EQ(values[3], 2);
  EXPECT_TRUE(std::isnan(test::to_doubles(v)[0]));
}

TEST(eigh, refuses_complex_numbers_and_what_is_not_square) {
  auto const f = [](value x) { return std::get<0>(eigh(x)); };
  test::expect_refused(f, "not of float32 or float64", of<std::complex<float>, 3, 3>);
  test::expect_refused(f, "not a square matrix", of<float, 2, 3>);
}

}  // namespace
}  // namespace rill
