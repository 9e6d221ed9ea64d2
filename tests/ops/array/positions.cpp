#include "rill/ops/array/positions.hpp"

#include "../run.hpp"

namespace rill {
namespace {

static_assert(ops::positions_op::infer({1}, of<float, 2, "n">) == of<std::int32_t, "n">);
static_assert(ops::positions_op::infer({-1, dtype::int64}, of<bool, 2, 3>) == of<std::int64_t, 3>);

TEST(positions, number_the_places_of_an_axis_that_only_the_run_knows) {
  graph g;
  auto const x = placeholder<float, 2, "n">(g, "x");
  auto const narrow = positions<1>(x);
  auto const wide = positions<1, std::int64_t>(x);
  static_assert(decltype(wide)::static_type == of<std::int64_t, "n">);
  session s{g};
  auto const [a, b] = s.run({{x, test::counting(dtype::float32, {2, 3})}}, narrow, wide);
  EXPECT_EQ(test::to_doubles(a), (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(test::to_doubles(b), (std::vector<double>{0, 1, 2}));
}

TEST(positions, refuses_other_axes_and_other_elements) {
  graph g;
  auto const x = placeholder(g, of<float, 2, 3>);
  test::expect_error(code::invalid_argument, "is out of range", [&] { positions(x, 2); });
  test::expect_error(code::invalid_argument, "must be int32 or int64", [&] { positions(x, 0, dtype::float32); });
}

}  // namespace
}  // namespace rill
