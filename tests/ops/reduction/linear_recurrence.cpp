#include "rill/ops/reduction/linear_recurrence.hpp"

#include "../run.hpp"

namespace rill {
namespace {

using list = std::vector<double>;

TEST(linear_recurrence, of_rewards_gives_discounted_returns) {
  auto const rewards = test::from_doubles(dtype::float64, {4}, {1, 0, 0, 8});
  auto const got = test::run([](auto const& in) { return linear_recurrence(0.5, in[0], 0, true); }, {rewards});
  EXPECT_EQ(test::to_doubles(got), (list{2, 2, 4, 8}));
}

TEST(linear_recurrence, has_a_static_type_and_does_not_read_the_first_factor) {
  graph g;
  auto a = placeholder<float, 2, "n">(g, "a"), b = placeholder<float, 2, "n">(g, "b");
  auto y = linear_recurrence<1>(a, b);
  static_assert(decltype(y)::static_type == of<float, 2, "n">);
  session s{g};
  auto const got =
      s.run({{a, matrix<float>({{NAN, 2, 3}, {INFINITY, 0, -1}})}, {b, matrix<float>({{1, 1, 1}, {5, 6, 7}})}}, y);
  EXPECT_EQ(test::to_doubles(got), (list{1, 3, 10, 5, 6, 1}));
}

TEST(linear_recurrence, refuses_operands_that_do_not_match) {
  graph g;
  auto const x = placeholder(g, of<float, 2, 3>), y = placeholder(g, of<float, 2, 4>), z = placeholder(g, of<float, 3>),
             w = placeholder(g, of<double, 2, 3>), i = placeholder(g, of<int, 2, 3>);
  test::expect_error(code::invalid_argument, "different extents", [&] { linear_recurrence(x, y, 0); });
  test::expect_error(code::invalid_argument, "different ranks", [&] { linear_recurrence(x, z, 0); });
  test::expect_error(code::invalid_argument, "different element types", [&] { linear_recurrence(x, w, 0); });
  test::expect_error(code::invalid_argument, "not of floats", [&] { linear_recurrence(i, i, 0); });
  test::expect_error(code::invalid_argument, "axis is out of range", [&] { linear_recurrence(x, x, 2); });
}

TEST(delayed, moves_elements_of_any_type_by_one_place) {
  auto const x = test::counting(dtype::int16, {2, 3});
  for (auto const& [axis, reverse, want] : {std::tuple{0, false, list{0, 0, 0, 1, 2, 3}},
                                            {0, true, list{4, 5, 6, 0, 0, 0}},
                                            {-1, false, list{0, 1, 2, 0, 4, 5}},
                                            {1, true, list{2, 3, 0, 5, 6, 0}}})
    EXPECT_EQ(test::to_doubles(test::run([&](auto const& in) { return delayed(in[0], axis, reverse); }, {x})), want);
}

}  // namespace
}  // namespace rill
