#include "rill/ops/random/uniform.hpp"

#include <limits>

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

struct statistics {
  double mean = 0, variance = 0, least = INFINITY, most = -INFINITY;
  explicit statistics(tensor const& t) {
    auto const v = test::to_doubles(t);
    auto const n = static_cast<double>(v.size());
    for (double x : v) mean += x / n, least = std::min(least, x), most = std::max(most, x);
    for (double x : v) variance += (x - mean) * (x - mean) / n;
  }
};

tensor draw(type const& t, double low, double high) {
  graph g{42};
  session s{g};
  return s.run(uniform(g, t, low, high));
}

TEST(uniform, is_even_in_every_element_type) {
  for (auto d : {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64}) {
    SCOPED_TRACE(name(d));
    statistics const s(draw({d, {500, 400}}, 0, 1));
    EXPECT_NEAR(s.mean, d == dtype::bfloat16 ? 0.5 - 1. / 512 : 0.5, 0.003);
    EXPECT_NEAR(s.variance, 1. / 12, 0.002);
    EXPECT_GE(s.least, 0);
    EXPECT_LT(s.most, 1);
  }
  for (auto d : {dtype::int8, dtype::int16, dtype::int32, dtype::int64}) {
    SCOPED_TRACE(name(d));
    statistics const s(draw({d, {500, 400}}, -3, 7));
    EXPECT_NEAR(s.mean, 1.5, 0.03);
    EXPECT_NEAR(s.variance, 99. / 12, 0.1);
    EXPECT_EQ(s.least, -3);
    EXPECT_EQ(s.most, 6);
  }
}

TEST(uniform, stays_below_its_upper_bound_where_rounding_would_reach_it) {
  for (auto d : {dtype::float16, dtype::bfloat16, dtype::float32}) {
    statistics const s(draw({d, {500, 400}}, 1, 1.01));
    EXPECT_LT(s.most, 1.01) << name(d);
    EXPECT_GE(s.least, 1) << name(d);
  }
}

TEST(uniform, draws_all_of_an_integer_type) {
  graph g;
  session s{g};
  statistics const all(s.run(uniform<std::uint8_t, 100, 100>(g, 0, 256)));
  EXPECT_EQ(all.least, 0);
  EXPECT_EQ(all.most, 255);
}

TEST(randint, draws_integers_below_its_upper_bound) {
  graph g;
  session s{g};
  auto die = randint<1000>(g, 1, 7);
  auto wide = randint<std::int64_t, 10, 10>(g, -5, 5);
  static_assert(decltype(die)::static_type == of<int, 1000>);
  static_assert(decltype(wide)::static_type == of<std::int64_t, 10, 10>);
  statistics const a(s.run(die)), b(s.run(wide));
  EXPECT_TRUE(a.least == 1 && a.most == 6 && b.least == -5 && b.most == 4);
}

TEST(uniform, is_the_same_for_a_seed_a_node_and_a_step_and_any_number_of_threads) {
  auto const draw_twice = [](std::uint64_t seed, int threads) {
    graph g{seed};
    auto const x = uniform<float, 300, 301>(g), y = uniform<float, 300, 301>(g);
    session s{g, {.threads = threads}};
    auto const [a, b] = s.run(x, y);
    return std::vector<tensor>{a, b, s.run(x)};
  };
  auto const one = draw_twice(7, 1), four = draw_twice(7, 4), other = draw_twice(8, 1);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(one[i], four[i]));
  EXPECT_FALSE(same_bits(one[0], one[1]));    // another node
  EXPECT_FALSE(same_bits(one[0], one[2]));    // another step
  EXPECT_FALSE(same_bits(one[0], other[0]));  // another seed
}

TEST(uniform, begins_the_same_whatever_its_extents) {
  auto const few = test::to_doubles(draw({dtype::float32, {7}}, 0, 1)),
             many = test::to_doubles(draw({dtype::float32, {7000}}, 0, 1));
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

TEST(uniform, takes_extents_from_another_value_and_gives_it_no_gradient) {
  graph g;
  auto x = placeholder<float, "n", 3>(g);
  auto y = uniform_like(x);
  static_assert(decltype(y)::static_type == of<float, "n", 3>);
  auto [dx] = gradients(sum(x * y), x);
  session s{g};
  auto const [a, b] = s.run({{x, tensor_of<of<float, 2, 3>>(test::counting(dtype::float32, {2, 3}))}}, y, dx);
  EXPECT_TRUE(same_bits(a, b));
  EXPECT_EQ(s.run({{x, tensor_of<of<float, 0, 3>>(test::counting(dtype::float32, {0, 3}))}}, y).elements(), 0);
}

TEST(uniform, draws_between_bounds_that_are_farther_apart_than_any_number_is_great) {
  graph g;
  session s{g};
  auto const most = std::numeric_limits<float>::max();
  auto const drawn = s.run(uniform<float, 1000>(g, -most, most));
  double mean = 0, square = 0;
  for (float x : drawn.values()) {
    EXPECT_GE(x, -most);
    EXPECT_LT(x, most);
    mean += x / (1000. * most), square += x / (1000. * most) * (x / most);
  }
  EXPECT_NEAR(mean, 0, 0.1);
  EXPECT_NEAR(square, 1 / 3., 0.05);
}

TEST(uniform, refuses_bounds_that_make_no_sense) {
  graph g;
  auto const refuses = [&](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("lower bound must be less than", [&] { uniform<float, 2>(g, 1, 1); });
  refuses("lower bound must be less than", [&] { uniform<float, 2>(g, NAN, 1.); });
  refuses("too far apart", [&] { uniform<double, 2>(g, -1.7e308, 1.7e308); });
  refuses("does not fit in the element type", [&] { uniform<half, 2>(g, 0., 1e6); });
  refuses("does not fit in the element type", [&] { uniform<float, 2>(g, -1e300, 0.); });
  refuses("lower bound must be less than", [&] { uniform<int, 2>(g, 5, 5); });
  refuses("does not fit in the element type", [&] { uniform<std::int8_t, 2>(g, 0, 200); });
  refuses("bounds of integers are integers", [&] { uniform<int, 2>(g, 0.5, 2.); });
  refuses("bounds of integers are integers", [&] { uniform<int, 2>(g, 0., 1e300); });
  refuses("even of uint64", [&] { uniform<std::uint64_t, 2>(g, 0, std::uint64_t{1} << 63); });
  refuses("only integers and floats", [&] { uniform(g, type{dtype::complex64, {2}}); });
}

}  // namespace
}  // namespace rill
