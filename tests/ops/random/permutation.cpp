#include "rill/ops/random/permutation.hpp"

#include <map>
#include <numeric>

#include "../run.hpp"
#include "rill/device/emulated.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/control/while_loop.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/random/categorical.hpp"

namespace rill {
namespace {

static_assert(ops::permutation_op::infer({5, dtype::int64}, {}) == of<std::int64_t, 5>);

TEST(permutation, holds_each_number_once) {
  for (std::int64_t n : {0, 1, 2, 1000, 100001})
    for (auto d : {dtype::int32, dtype::int64}) {
      graph g{5};
      session s{g};
      auto v = test::to_doubles(s.run(permutation(g, n, d)));
      std::vector<double> all(static_cast<std::size_t>(n));
      std::iota(all.begin(), all.end(), 0);
      if (n > 2) {
        EXPECT_NE(v, all);
      }
      std::sort(v.begin(), v.end());
      EXPECT_EQ(v, all);
    }
}

TEST(permutation, has_each_order_as_often_as_the_others) {
  graph g{5};
  session s{g};
  auto const p = permutation<4>(g);
  std::map<std::vector<double>, int> seen;
  for (int i = 0; i < 24000; ++i) ++seen[test::to_doubles(s.run(p))];
  EXPECT_EQ(seen.size(), 24u);
  double distance = 0;  // chi squared with 23 degrees of freedom: above 49.7 once in a thousand seeds
  for (auto const& [order, count] : seen) distance += (count - 1000.) * (count - 1000.) / 1000;
  EXPECT_LT(distance, 49.7);
}

TEST(permutation, is_the_same_for_a_seed_a_node_and_a_step_and_any_number_of_threads) {
  auto const draw_twice = [](std::uint64_t seed, int threads) {
    graph g{seed};
    auto const a = permutation<5000>(g), b = permutation<5000>(g);
    session s{g, {.threads = threads}};
    auto const [y, z] = s.run(a, b);
    return std::vector<tensor>{y, z, s.run(a)};
  };
  auto const one = draw_twice(7, 1), four = draw_twice(7, 4), other = draw_twice(8, 1);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(one[i], four[i]));
  EXPECT_FALSE(same_bits(one[0], one[1]));
  EXPECT_FALSE(same_bits(one[0], one[2]));
  EXPECT_FALSE(same_bits(one[0], other[0]));
}

TEST(permutation, brings_rows_of_several_values_in_one_order_and_back_in_gradients) {
  graph g{1};
  auto const x = placeholder<float, "n", 2>(g);
  auto const order = permutation_of_rows(x);
  static_assert(decltype(order)::static_type == of<std::int64_t, "n">);
  auto const y = gather(x, order), z = shuffle(x);
  static_assert(decltype(z)::static_type == of<float, "n", 2>);
  auto const [dx] = gradients(sum(z * z), x);
  session s{g};
  auto const fed = tensor_of<of<float, 50, 2>>(test::counting(dtype::float32, {50, 2}));
  auto const [which, rows, d] = s.run({{x, fed}}, order, y, dx);
  for (std::int64_t i = 0; i < 50; ++i)
    EXPECT_EQ(rows.tensor::at<float>(i, 1), 2 * static_cast<float>(which.tensor::at<std::int64_t>(i)) + 2);
  for (std::int64_t i = 0; i < 50; ++i) EXPECT_EQ(d.tensor::at<float>(i, 0), 2 * fed.tensor::at<float>(i, 0));
}

TEST(permutation, is_another_one_in_each_iteration_of_a_loop) {
  graph g{1};
  session s{g};
  auto const rows = map([&](auto) { return permutation<100>(g); }, constant<int, 3>(g, {0, 0, 0}));
  auto const y = test::to_doubles(s.run(rows));
  EXPECT_NE(std::vector<double>(y.begin(), y.begin() + 100), std::vector<double>(y.begin() + 100, y.begin() + 200));
}

TEST(permutation, refuses_what_has_no_rows) {
  graph g;
  value const scalar = placeholder(g, of<float>);
  test::expect_error(code::invalid_argument, "a scalar has no rows", [&] { permutation_of_rows(scalar); });
  test::expect_error(code::invalid_argument, "the count is negative", [&] { permutation(g, -1); });
  test::expect_error(code::invalid_argument, "int32 or int64", [&] { permutation(g, 3, dtype::int8); });
  test::expect_error(code::invalid_argument, "ask for int64", [&] {
    session s{g};
    s.run(permutation(g, std::int64_t{1} << 33));
  });
}

TEST(permutation, is_counted_as_other_draws_are) {
  auto const drawn = [](bool others) {
    graph g{5};
    auto const p = permutation<100>(g);
    auto const x = placeholder<float>(g, "x");
    auto const rows = shuffle(permutation<50>(g));
    auto const y = x + 1.f;
    session s{g};
    std::vector<tensor> all;
    for (int i = 0; i < 3; ++i) {
      all.push_back(s.run(p));
      if (others) s.run({{x, 1.f}}, y);
      all.push_back(s.run(rows));
    }
    EXPECT_EQ(s.draws().others.at(""), 6u);
    return all;
  };
  auto const alone = drawn(false), among = drawn(true);
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_TRUE(same_bits(alone[i], among[i])) << i;
}

TEST(permutation, runs_on_the_device_that_it_asks_for_or_elsewhere_with_soft_placement) {
  graph g{5};
  auto const p = g.on("accelerator:0", [&] { return permutation<100>(g); });
  auto const classes = g.on("accelerator:0", [&] { return categorical<100>(constant<float, 1, 3>(g, {1, 2, 3})); });
  session here{g, {.soft_placement = true}};
  session there{g, {.devices = {emulated("accelerator:0")}}};
  auto const [a, b] = here.run(p, classes);
  auto const [c, d] = there.run(p, classes);
  EXPECT_EQ(c.device(), "accelerator:0");
  EXPECT_TRUE(same_bits(a, c));
  EXPECT_TRUE(same_bits(b, d));
}

}  // namespace
}  // namespace rill
