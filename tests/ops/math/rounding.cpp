#include "rill/ops/math/rounding.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill {
namespace {

using list = std::vector<double>;

TEST(abs, of_the_least_integer_is_itself_and_its_gradient_at_0_is_0) {
  auto const y =
      test::run([](auto const& in) { return abs(in[0]); }, {test::from_doubles(dtype::int8, {3}, {-128, -3, 3})});
  EXPECT_EQ(test::to_doubles(y), (list{-128, 3, 3}));
  graph g;
  auto x = placeholder<double, 4>(g, "x");
  auto [dx] = gradients(sum(abs(x)), x);
  session s{g};
  EXPECT_EQ(test::to_doubles(s.run({{x, rill::vector<double>({-2, -0.0, 0, 3})}}, dx)), (list{-1, 0, 0, 1}));
}

// What a user writes who knows that log(1 + exp(x)) overflows.
TEST(abs, and_maximum_give_the_stable_cross_entropy_its_gradient_at_0) {
  graph g;
  auto x = placeholder<double, 5>(g, "x"), z = placeholder<double, 5>(g, "z");
  auto const loss = maximum(x, 0.) - x * z + log(1. + exp(-abs(x)));
  auto [dx] = gradients(sum(loss), x);
  session s{g};
  auto const [got, want] =
      s.run({{x, rill::vector<double>({0, 0, -0.0, -3, 40})}, {z, rill::vector<double>({0, 1, 0.25, 1, 0})}}, dx,
            sigmoid(x) - z);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(got.values()[i], want.values()[i], 1e-15) << i;
}

TEST(sign, keeps_zeros_and_nan) {
  auto const y =
      test::to_doubles(test::run([](auto const& in) { return sign(in[0]); },
                                 {test::from_doubles(dtype::float32, {6}, {-3, -0.0, 0, 1e-40, INFINITY, NAN})}));
  EXPECT_EQ(list(y.begin(), y.end() - 1), (list{-1, 0, 0, 1, 1}));
  EXPECT_TRUE(std::signbit(y[1]) && std::isnan(y[5]));
}

TEST(round, takes_the_even_one_of_two_neighbours) {
  auto const y = test::run([](auto const& in) { return round(in[0]); },
                           {test::from_doubles(dtype::float64, {6}, {-1.5, -0.5, 0.5, 1.5, 2.5, 3.2})});
  EXPECT_EQ(test::to_doubles(y), (list{-2, 0, 0, 2, 2, 3}));
}

TEST(floor, and_the_other_steps_hand_on_no_gradient) {
  graph g;
  auto x = placeholder<double, 2>(g, "x");
  for (value y : {value(floor(x)), value(ceil(x)), value(round(x)), value(trunc(x)), value(sign(x)),
                  value(floor_div(x, x)), value(floor_div(x, 2.))})
    test::expect_error(code::invalid_argument, "does not depend on 'x'", [&] { gradients(y, {value(x)}); });
  auto [dx] = gradients(sum(x * floor(x)), x);
  session s{g};
  EXPECT_EQ(test::to_doubles(s.run({{x, rill::vector<double>({1.5, -1.5})}}, dx)), (list{1, -2}));
}

TEST(floor, refuses_integers) {
  graph g;
  test::expect_error(code::invalid_argument, "does not support this element type",
                     [&] { floor(value(placeholder(g, of<int, 2>))); });
}

TEST(mod, and_floor_div_put_together_what_was_divided) {
  for (auto d : {dtype::int8, dtype::int64, dtype::float32, dtype::float64}) {
    auto const x = test::from_doubles(d, {7, 1}, {-7, -6, -1, 0, 1, 6, 7}),
               y = test::from_doubles(d, {4}, {-3, -1, 2, 3});
    auto const z =
        test::run([](auto const& in) { return floor_div(in[0], in[1]) * in[1] + mod(in[0], in[1]); }, {x, y});
    auto const rest = test::to_doubles(test::run([](auto const& in) { return mod(in[0], in[1]); }, {x, y}));
    for (std::size_t i = 0; i < 28; ++i) {
      EXPECT_EQ(test::to_doubles(z)[i], test::to_doubles(x)[i / 4]) << i;
      double const by = test::to_doubles(y)[i % 4];
      EXPECT_TRUE(rest[i] == 0 || (rest[i] < 0) == (by < 0)) << i;
      EXPECT_LT(std::abs(rest[i]), std::abs(by)) << i;
    }
  }
}

TEST(mod, and_floor_div_of_integers_by_0_are_0) {
  for (auto d : {dtype::int8, dtype::uint8, dtype::int16, dtype::uint16, dtype::int32, dtype::uint32, dtype::int64,
                 dtype::uint64}) {
    auto const x = test::from_doubles(d, {3}, {0, 5, 100}), y = test::from_doubles(d, {}, {0});
    EXPECT_EQ(test::to_doubles(test::run([](auto const& in) { return mod(in[0], in[1]); }, {x, y})), (list{0, 0, 0}));
    EXPECT_EQ(test::to_doubles(test::run([](auto const& in) { return floor_div(in[0], in[1]); }, {x, y})),
              (list{0, 0, 0}));
  }
}

TEST(mod, and_floor_div_take_a_number_on_either_side) {
  graph g;
  auto x = placeholder<std::int32_t, 3>(g, "x");
  session s{g};
  auto const [a, b, c, d] =
      s.run({{x, rill::vector<std::int32_t>({-4, 3, 7})}}, mod(x, 3), mod(3, x), floor_div(x, 3), floor_div(-8, x));
  EXPECT_EQ(test::to_doubles(a), (list{2, 0, 1}));
  EXPECT_EQ(test::to_doubles(b), (list{-1, 0, 3}));
  EXPECT_EQ(test::to_doubles(c), (list{-2, 1, 2}));
  EXPECT_EQ(test::to_doubles(d), (list{2, -3, -2}));
}

}  // namespace
}  // namespace rill
