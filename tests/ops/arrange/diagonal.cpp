#include "rill/ops/arrange/diagonal.hpp"

#include "../run.hpp"

namespace rill {
namespace {

TEST(diagonal, is_put_into_a_matrix_and_taken_out_of_it) {
  graph g;
  auto const v = placeholder<float, "n">(g);
  auto const m = diag(v);
  auto const back = diag_part(m);
  auto const wide = placeholder<float, 2, 3>(g);
  static_assert(decltype(diag_part(wide))::static_type == of<float, 2>);
  static_assert(decltype(diag(diag_part(wide)))::static_type == of<float, 2, 2>);
  session s{g};
  auto const in = vector<float>({1, INFINITY});
  auto const [a, b] = s.run({{v, in}}, m, back);
  EXPECT_TRUE(same_bits(a, matrix<float>({{1, 0}, {0, INFINITY}})));
  EXPECT_TRUE(same_bits(b, in));
  auto const t = trace(wide);
  EXPECT_EQ(s.run({{wide, matrix<float>({{1, NAN, 3}, {NAN, 5, 6}})}}, t).item<float>(), 6);
}

TEST(diagonal, of_matrices_of_open_extents_is_found_by_the_run) {
  graph g;
  auto const x = placeholder(g, of<int, "b", unknown, unknown>);
  auto const y = diag_part(x);
  session s{g};
  EXPECT_TRUE(same_bits(s.run({{x, test::counting(dtype::int32, {1, 3, 2})}}, y), matrix<int>({{1, 4}})));
  EXPECT_TRUE(same_bits(s.run({{x, test::counting(dtype::int32, {2, 2, 3})}}, y), matrix<int>({{1, 5}, {7, 11}})));
  EXPECT_EQ(s.run({{x, tensor(dtype::int32, {2, 0, 3})}}, y).shape(), (shape{2, 0}));
}

TEST(triangles, end_at_a_diagonal_and_keep_nothing_beyond_it) {
  auto const lower = [](std::int64_t k) {
    return test::run([&](auto const& in) { return lower_triangle(in[0], k); }, {matrix<float>({{1, NAN}, {3, 4}})});
  };
  EXPECT_TRUE(same_bits(lower(0), matrix<float>({{1, 0}, {3, 4}})));
  EXPECT_TRUE(same_bits(lower(-1), matrix<float>({{0, 0}, {3, 0}})));
  EXPECT_TRUE(same_bits(lower(INT64_MIN), matrix<float>({{0, 0}, {0, 0}})));
  EXPECT_TRUE(std::isnan(lower(INT64_MAX).at<float>(0, 1)));
  graph g;
  auto const x = placeholder<float, "n", "m">(g);
  auto const upper = upper_triangle(x);
  static_assert(decltype(upper)::static_type == of<float, "n", "m">);
  session s{g};
  EXPECT_TRUE(
      same_bits(s.run({{x, matrix<float>({{1, 2, 3}, {4, 5, 6}})}}, upper), matrix<float>({{1, 2, 3}, {0, 5, 6}})));
}

TEST(diagonal, needs_a_matrix) {
  graph g;
  value const v = placeholder(g, of<float, 3>), some = placeholder(g, type::of_unknown_rank(dtype::float32));
  auto const refuses = [](char const* why, auto f) { test::expect_error(code::invalid_argument, why, f); };
  refuses("not a matrix", [&] { diag_part(v); });
  refuses("rank must be known", [&] { diag_part(some); });
  refuses("expected a matrix or an array of matrices", [&] { lower_triangle(v); });
  refuses("the axis is out of range", [&] { diag(value(constant(g, 1.f))); });
}

}  // namespace
}  // namespace rill
