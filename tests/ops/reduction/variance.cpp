#include "rill/ops/reduction/variance.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

static_assert(ops::variance_op::infer({extents{0}, true, 1}, of<float, "n", 3>) == of<float, 1, 3>);

double variance_of(tensor const& t, ddof by = {}, int threads = 1) {
  return test::to_doubles(test::run([&](auto const& in) { return variance(in[0], {}, false, by); }, {t}, threads))[0];
}

TEST(variance, is_sound_where_the_mean_is_far_larger) {
  for (std::int64_t n : {16, 1000, 20000}) {
    std::vector<double> v(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = 1e6 + (i % 2 ? 0.25 : -0.25);
    EXPECT_NEAR(variance_of(test::from_doubles(dtype::float32, {n}, v)), 0.0625, 1e-8) << n;
    EXPECT_NEAR(variance_of(test::from_doubles(dtype::float64, {n}, v)), 0.0625, 1e-12) << n;
    for (auto& each : v) each += 1e9;
    EXPECT_NEAR(variance_of(test::from_doubles(dtype::float64, {n}, v)), 0.0625, 1e-9) << n;
    EXPECT_EQ(variance_of(test::from_doubles(dtype::float32, {n}, std::vector<double>(v.size(), 0.1))), 0) << n;
  }
}

TEST(variance, divides_by_less_where_asked_and_is_NaN_where_nothing_is_left) {
  auto const x = test::from_doubles(dtype::float64, {4}, {1, 2, 3, 6});
  EXPECT_DOUBLE_EQ(variance_of(x), 3.5);
  EXPECT_DOUBLE_EQ(variance_of(x, ddof{1}), 14 / 3.);
  EXPECT_TRUE(std::isnan(variance_of(x, ddof{4})));
  EXPECT_TRUE(std::isnan(variance_of(x, ddof{9})));
  EXPECT_EQ(variance_of(test::from_doubles(dtype::float64, {1}, {5})), 0);
  EXPECT_TRUE(std::isnan(variance_of(tensor(dtype::float64, shape{0}))));
  EXPECT_TRUE(std::isnan(variance_of(test::from_doubles(dtype::float64, {2}, {1, INFINITY}))));
  test::expect_error(code::invalid_argument, "ddof is negative", [&] { variance_of(x, ddof{-1}); });
}

TEST(variance, goes_over_any_axes_in_one_order_for_any_number_of_threads) {
  auto const x = test::scattered(dtype::float64, {3, 300, 2, 70});
  for (auto const& axes : {extents{0}, extents{1}, extents{3}, extents{0, 2}, extents{1, 3}, extents{0, 1, 2}}) {
    SCOPED_TRACE(axes.text());
    auto const of = [&](int threads, auto f) {
      return test::run([&](auto const& in) { return f(in[0]); }, {x}, threads);
    };
    auto const one = of(1, [&](value v) { return variance(v, axes); });
    EXPECT_TRUE(same_bits(one, of(4, [&](value v) { return variance(v, axes); })));
    auto const plain = test::to_doubles(
        of(1, [&](value v) { return mean(square(v - broadcast_like(mean(v, axes, true), v)), axes, false); }));
    auto const got = test::to_doubles(one);
    ASSERT_EQ(got.size(), plain.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], plain[i], 1e-13);
  }
}

TEST(variance, is_typed_and_counts_what_the_run_finds_for_its_gradient) {
  graph g;
  auto const x = placeholder<double, "n", 2>(g);
  auto const y = variance<0>(x, ddof{1});
  static_assert(decltype(y)::static_type == of<double, 2>);
  static_assert(decltype(variance<-1>(x, keep))::static_type == of<double, "n", 1>);
  auto const dx = gradients(sum(y), x);
  session s{g};
  auto const fed = tensor_of<of<double, 3, 2>>(test::from_doubles(dtype::float64, {3, 2}, {1, 0, 2, 0, 6, 3}));
  EXPECT_EQ(test::to_doubles(s.run({{x, fed}}, std::get<0>(dx))), (std::vector<double>{-2, -1, -1, -1, 3, 2}));
  auto const open = placeholder(g, type::of_unknown_rank(dtype::float64));
  auto const d = gradients(sum(variance(open, extents{-2}, false, ddof{1}), {}), {open})[0];
  EXPECT_EQ(test::to_doubles(s.run({{open, fed}}, d)), (std::vector<double>{-2, -1, -1, -1, 3, 2}));
}

}  // namespace
}  // namespace rill
