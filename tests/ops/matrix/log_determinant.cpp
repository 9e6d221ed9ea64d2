#include "rill/ops/matrix/log_determinant.hpp"

#include "decomposed.hpp"

namespace rill {
namespace {

constexpr std::array<type, 2> inferred = ops::log_determinant_op::infer({}, of<std::complex<float>, "n", 3, 3>),
                              wanted{of<std::complex<float>, "n">, of<float, "n">};
static_assert(inferred == wanted);

std::array<tensor, 2> log_determinant_of(tensor const& t) {
  auto const part = [&](std::size_t i) {
    return test::run(
        [&](auto const& in) {
          auto const [sign, logarithm] = log_determinant(in[0]);
          return i == 0 ? sign : logarithm;
        },
        {t});
  };
  return {part(0), part(1)};
}

TEST(log_determinant, neither_overflows_nor_underflows) {
  std::int64_t const n = 400;
  for (double const each : {1e-3, -1e3}) {
    auto v = test::to_doubles(test::units(dtype::float32, 1, n));
    for (auto& x : v) x *= each;
    auto const [sign, logarithm] = log_determinant_of(test::from_doubles(dtype::float32, {n, n}, v));
    EXPECT_EQ(sign.item<float>(), 1);
    EXPECT_NEAR(logarithm.item<float>(), n * std::log(std::abs(each)), 1e-2);
  }
}

TEST(log_determinant, has_the_sign_of_the_determinant) {
  auto const [sign, logarithm] =
      log_determinant_of(test::from_doubles(dtype::float64, {3, 2, 2}, {0, 1, 1, 0, 1, 2, 2, 4, 2, 0, 0, 5}));
  EXPECT_EQ(test::to_doubles(sign), (std::vector<double>{-1, 0, 1}));
  EXPECT_EQ(test::to_doubles(logarithm)[0], 0);
  EXPECT_EQ(test::to_doubles(logarithm)[1], -INFINITY);
  EXPECT_NEAR(test::to_doubles(logarithm)[2], std::log(10), 1e-15);
}

TEST(log_determinant, of_a_matrix_without_rows_is_that_of_1) {
  auto const [sign, logarithm] = log_determinant_of(tensor(dtype::float32, shape{2, 0, 0}));
  EXPECT_EQ(test::to_doubles(sign), (std::vector<double>{1, 1}));
  EXPECT_EQ(test::to_doubles(logarithm), (std::vector<double>{0, 0}));
}

TEST(log_determinant, has_derivatives_of_the_logarithm_twice_also_of_complex_numbers) {
  for (auto d : {dtype::float64, dtype::complex128})
    test::expect_derivatives([](value x) { return std::get<1>(log_determinant(x)); }, test::well_conditioned(d, 2, 3),
                             2);
}

TEST(log_determinant, refuses_what_is_not_square) {
  auto const f = [](value x) { return std::get<0>(log_determinant(x)); };
  test::expect_refused(f, "log_determinant: the operand is not a square matrix", of<float, 2, 3>);
  test::expect_refused(f, "log_determinant: the operand is not of float32", of<int, 2, 2>);
}

}  // namespace
}  // namespace rill
