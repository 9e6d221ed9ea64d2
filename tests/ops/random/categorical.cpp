#include "rill/ops/random/categorical.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/cast.hpp"

namespace rill {
namespace {

static_assert(ops::categorical_op::infer({}, of<float, "n", 10>) == of<int, "n">);
static_assert(ops::categorical_op::infer({5, dtype::int64}, of<float, "n", 10>) == of<std::int64_t, "n", 5>);

tensor draw(tensor const& logits, std::int64_t samples, int threads = 1) {
  return test::run([&](auto const& in) { return categorical(in[0], samples); }, {logits}, threads);
}

TEST(categorical, draws_classes_as_often_as_their_probabilities_say) {
  for (auto d : {dtype::float32, dtype::float64, dtype::float16, dtype::bfloat16}) {
    SCOPED_TRACE(name(d));
    std::vector<double> const p{0.125, 0.5, 0, 0.25, 0.125};
    std::vector<double> logits;
    for (double each : p) logits.push_back(std::log(each) + 5);
    auto const y = test::to_doubles(draw(test::from_doubles(d, {1, 5}, logits), 200000));
    std::vector<double> part(5);
    for (double c : y) part[static_cast<std::size_t>(c)] += 1 / 200000.;
    for (std::size_t c = 0; c < 5; ++c) EXPECT_NEAR(part[c], p[c], d == dtype::bfloat16 ? 0.012 : 0.005) << c;
    EXPECT_EQ(part[2], 0);
  }
}

TEST(categorical, draws_the_only_class_there_is_and_from_many) {
  auto const one = draw(test::from_doubles(dtype::float32, {3, 2}, {-INFINITY, 3, 2, -INFINITY, -1e30, 1e30}), -1);
  EXPECT_EQ(one.shape(), (shape{3}));
  EXPECT_EQ(test::to_doubles(one), (std::vector<double>{1, 0, 1}));
  auto const many =
      test::to_doubles(draw(test::from_doubles(dtype::float64, {2, 5000}, std::vector<double>(10000)), 1000));
  double mean = 0;
  for (double c : many) {
    EXPECT_TRUE(c >= 0 && c < 5000);
    mean += c / 2000;
  }
  EXPECT_NEAR(mean, 2499.5, 150);
}

TEST(categorical, is_the_same_for_a_seed_a_node_and_a_step_and_any_number_of_threads) {
  auto const draw_twice = [](std::uint64_t seed, int threads) {
    graph g{seed};
    auto const x = constant<float, 4, 3>(g, {1, 2, 3, 1, 1, 1, 0, 5, 0, 2, 2, 1});
    auto const a = categorical<2000>(x), b = categorical<2000>(x);
    session s{g, {.threads = threads}};
    auto const [y, z] = s.run(a, b);
    return std::vector<tensor>{y, z, s.run(a)};
  };
  auto const one = draw_twice(7, 1), four = draw_twice(7, 4), other = draw_twice(8, 1);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(one[i], four[i]));
  EXPECT_FALSE(same_bits(one[0], one[1]));    // another node
  EXPECT_FALSE(same_bits(one[0], one[2]));    // another step
  EXPECT_FALSE(same_bits(one[0], other[0]));  // another seed
}

TEST(categorical, names_the_row_that_is_no_distribution) {
  double const inf = INFINITY;
  for (auto const& bad : {std::vector<double>{-inf, -inf}, {1, NAN}, {inf, 1}})
    for (int threads : {1, 4})
      test::expect_error(code::invalid_argument, "the logits of row 1 are no distribution", [&] {
        draw(test::from_doubles(dtype::float32, {3, 2}, {0, 0, bad[0], bad[1], 0, 0}), -1, threads);
      });
  test::expect_error(code::invalid_argument, "there are no classes",
                     [&] { draw(tensor(dtype::float32, shape{3, 0}), -1); });
  EXPECT_EQ(draw(tensor(dtype::float32, shape{0, 0}), -1).shape(), (shape{0}));
  EXPECT_EQ(draw(tensor(dtype::float32, shape{3, 4}), 0).shape(), (shape{3, 0}));
  graph g;
  value const x = placeholder(g, of<int, 3, 4>), scalar = placeholder(g, of<float>);
  test::expect_error(code::invalid_argument, "the logits are not floats", [&] { categorical(x, -1); });
  test::expect_error(code::invalid_argument, "no axis of classes", [&] { categorical(scalar, -1); });
  test::expect_error(code::invalid_argument, "samples is negative",
                     [&] { categorical(value(placeholder(g, of<float, 3>)), -2); });
}

TEST(categorical, has_a_gradient_of_nothing) {
  graph g;
  auto const x = placeholder<double, 2, 3>(g);
  auto const [dx] = gradients(sum(x * cast<double>(categorical<3>(x))), x);
  session s{g};
  EXPECT_EQ(s.run({{x, tensor_of<of<double, 2, 3>>(test::scattered(dtype::float64, {2, 3}))}}, dx).shape(),
            (shape{2, 3}));
}

TEST(categorical, is_counted_as_other_draws_are) {
  auto const drawn = [](bool others) {
    graph g{5};
    auto const x = placeholder<float, 4>(g, "x");
    auto const c = categorical<100>(constant<float, 1, 3>(g, {1, 2, 3}));
    session s{g};
    std::vector<tensor> all;
    for (int i = 0; i < 3; ++i) {
      all.push_back(s.run(c));
      if (others) s.run({{x, vector<float>({1, 2, 3, 4})}}, x + 1.f);
    }
    return all;
  };
  auto const alone = drawn(false), among = drawn(true);
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_TRUE(same_bits(alone[i], among[i])) << i;
}

}  // namespace
}  // namespace rill
