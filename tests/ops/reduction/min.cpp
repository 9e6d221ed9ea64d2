#include "rill/ops/reduction/min.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/reduction/argmax.hpp"

namespace rill {
namespace {

static_assert(ops::min_op::infer({extents{0}, true}, of<float, "n", 3>) == of<float, 1, 3>);

TEST(min, gives_NaN_where_there_is_one_and_argmin_its_place) {
  auto const x = test::from_doubles(dtype::float32, {3, 3}, {1, NAN, -5, 7, 2, 2, -INFINITY, NAN, NAN});
  auto const least = test::to_doubles(test::run([](auto const& in) { return min(in[0], extents{1}); }, {x}));
  EXPECT_TRUE(std::isnan(least[0]));
  EXPECT_EQ(least[1], 2);
  EXPECT_TRUE(std::isnan(least[2]));
  EXPECT_EQ(test::to_doubles(test::run([](auto const& in) { return argmin(in[0], 1); }, {x})),
            (std::vector<double>{1, 1, 1}));
}

// A line is searched in packets; columns are not.
TEST(min, is_found_at_any_place_of_long_lines_and_columns) {
  for (std::int64_t n : {1, 31, 64, 100, 5000})
    for (std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
      std::vector<double> v(static_cast<std::size_t>(n), 9);
      v[static_cast<std::size_t>(at)] = -3;
      for (auto const& [extent, axis] : {std::pair{shape{1, n}, 1}, {shape{n, 1, 1}, 0}}) {
        auto const x = test::from_doubles(dtype::int8, extent, v);
        auto const a = axis;
        EXPECT_EQ(test::to_doubles(test::run([&](auto const& in) { return argmin(in[0], a); }, {x}))[0],
                  static_cast<double>(at));
        EXPECT_EQ(test::to_doubles(test::run([&](auto const& in) { return min(in[0], extents{a}); }, {x}))[0], -3);
      }
    }
}

TEST(min, shares_its_gradient_among_equals_as_max_does) {
  graph g;
  auto const x = placeholder(g, of<double, 4>);
  auto const least = gradients(min(x, {}), {x})[0], most = gradients(max(x, {}), {x})[0];
  session s{g};
  auto const fed = test::from_doubles(dtype::float64, {4}, {1, 3, 1, 3});
  EXPECT_EQ(test::to_doubles(s.run({{x, fed}}, least)), (std::vector<double>{0.5, 0, 0.5, 0}));
  EXPECT_EQ(test::to_doubles(s.run({{x, fed}}, most)), (std::vector<double>{0, 0.5, 0, 0.5}));
}

TEST(min, of_nothing_is_refused) {
  auto const none = tensor(dtype::float32, shape{2, 0});
  test::expect_error(code::invalid_argument, "min: there are no elements",
                     [&] { test::run([](auto const& in) { return min(in[0], extents{1}); }, {none}); });
  test::expect_error(code::invalid_argument, "argmin: the axis has no elements",
                     [&] { test::run([](auto const& in) { return argmin(in[0], 1); }, {none}); });
}

}  // namespace
}  // namespace rill
