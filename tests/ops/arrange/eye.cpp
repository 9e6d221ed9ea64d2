#include "rill/ops/arrange/eye.hpp"

#include "../run.hpp"

namespace rill {
namespace {

TEST(eye, has_ones_on_a_diagonal) {
  graph g;
  auto const square = eye<float, 2>(g);
  static_assert(decltype(square)::static_type == of<float, 2, 2>);
  auto const wide = eye<int, 2, 3, 1>(g);
  static_assert(decltype(wide)::static_type == of<int, 2, 3>);
  value const tall = eye(g, 3, 2, dtype::float64, -1), empty = eye(g, 0, 2);
  session s{g};
  auto const [a, b, c, d] = s.run(square, wide, tall, empty);
  EXPECT_TRUE(same_bits(a, matrix<float>({{1, 0}, {0, 1}})));
  EXPECT_TRUE(same_bits(b, matrix<int>({{0, 1, 0}, {0, 0, 1}})));
  EXPECT_TRUE(same_bits(c, matrix<double>({{0, 0}, {1, 0}, {0, 1}})));
  EXPECT_EQ(d.shape(), (shape{0, 2}));
}

TEST(eye, refuses_extents_and_diagonals_that_there_are_not) {
  graph g;
  test::expect_error(code::invalid_argument, "an extent is negative", [&] { eye(g, -1, 2); });
  test::expect_error(code::invalid_argument, "does not fit in 64 bits",
                     [&] { eye(g, 2, 2, dtype::float32, INT64_MAX); });
}

}  // namespace
}  // namespace rill
