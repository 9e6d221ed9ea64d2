#include "rill/ops/matrix/svd.hpp"

#include "decomposed.hpp"

namespace rill {
namespace {

constexpr std::array<type, 3> inferred = ops::svd_op::infer({}, of<float, "n", 2, 3>),
                              wanted{of<float, "n", 2, 2>, of<float, "n", 2>, of<float, "n", 2, 3>};
static_assert(inferred == wanted);
static_assert(ops::svd_op::infer({}, of<float, unknown, 3>)[1] == of<float, unknown>);

std::array<tensor, 3> svd_of(tensor const& t, int threads = 1) {
  auto const part = [&](std::size_t i) {
    return test::run(
        [&](auto const& in) {
          auto const [u, s, vt] = svd(in[0]);
          return std::array{u, s, vt}[i];
        },
        {t}, threads);
  };
  return {part(0), part(1), part(2)};
}

TEST(svd, times_each_other_is_the_matrix) {
  for (auto d : {dtype::float32, dtype::float64})
    for (auto const& [rows, columns] :
         std::initializer_list<std::array<std::int64_t, 2>>{{1, 1}, {5, 5}, {5, 2}, {2, 5}, {60, 40}}) {
      auto const x = test::scattered(d, {3, rows, columns});
      auto const k = std::min(rows, columns);
      auto const [u, s, vt] = svd_of(x);
      auto const again = test::run(
          [](auto const& in) { return matmul(in[0] * expand_dims(in[1], -2), in[2], transposed{}); }, {u, s, vt});
      test::expect_close(again, x, test::precision_of(d));
      auto const squares = [](tensor const& t, transposed how) {
        return test::run([&](auto const& in) { return matmul(in[0], in[0], how); }, {t});
      };
      test::expect_close(squares(u, {.a = true}), test::units(d, 3, k), test::precision_of(d));
      test::expect_close(squares(vt, {.b = true}), test::units(d, 3, k), test::precision_of(d));
      auto const values = test::to_doubles(s);
      for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_GE(values[i], 0);
        EXPECT_TRUE(i % static_cast<std::size_t>(k) == 0 || values[i - 1] >= values[i]);
      }
      EXPECT_TRUE(same_bits(u, svd_of(x, 4)[0]) && same_bits(vt, svd_of(x, 4)[2]));
    }
}

TEST(svd, makes_the_largest_element_of_a_left_vector_positive) {
  auto const [u, s, vt] = svd_of(test::from_doubles(dtype::float64, {2, 2}, {-2, 0, 0, -3}));
  EXPECT_EQ(test::to_doubles(u), (std::vector<double>{0, 1, 1, 0}));
  EXPECT_EQ(test::to_doubles(s), (std::vector<double>{3, 2}));
  EXPECT_EQ(test::to_doubles(vt), (std::vector<double>{0, -1, -1, 0}));
}

TEST(svd, of_equal_or_zero_values_has_derivatives_of_the_values) {
  graph g;
  value const x = placeholder<double, 2, 2>(g);
  auto const dx = gradients(sum(std::get<1>(svd(x)), extents{}), {x})[0];
  session s{g};
  auto const at = [&](std::vector<double> const& v) {
    return test::to_doubles(s.run({{x, test::from_doubles(dtype::float64, {2, 2}, v)}}, dx));
  };
  EXPECT_EQ(at({1, 0, 0, 1}), (std::vector<double>{1, 0, 0, 1}));
  EXPECT_EQ(at({2, 0, 0, 0})[0], 1);
}

TEST(svd, of_a_nan_is_nan) {
  auto const [u, s, vt] = svd_of(test::from_doubles(dtype::float64, {2, 1, 1}, {NAN, -2}));
  EXPECT_TRUE(std::isnan(test::to_doubles(s)[0]) && std::isnan(test::to_doubles(u)[0]));
  EXPECT_EQ(test::to_doubles(s)[1], 2);
  EXPECT_EQ(test::to_doubles(vt)[1], -1);
}

TEST(svd, of_matrices_without_elements_has_none) {
  auto const [u, s, vt] = svd_of(tensor(dtype::float32, shape{2, 3, 0}));
  EXPECT_EQ(u.shape(), (shape{2, 3, 0}));
  EXPECT_EQ(s.shape(), (shape{2, 0}));
  EXPECT_EQ(vt.shape(), (shape{2, 0, 0}));
}

TEST(svd, refuses_complex_numbers_and_what_is_no_matrix) {
  auto const f = [](value x) { return std::get<0>(svd(x)); };
  test::expect_refused(f, "not of float32 or float64", of<std::complex<float>, 3, 3>);
  test::expect_refused(f, "not a matrix", of<float, 3>);
}

}  // namespace
}  // namespace rill
