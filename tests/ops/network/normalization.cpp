#include "rill/ops/network/normalization.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

using images = expr<of<float, "n", "height", "width", 6>>;
static_assert(decltype(layer_norm(images{}))::static_type == of<float, "n", "height", "width", 6>);
static_assert(decltype(rms_norm(images{}))::static_type == of<float, "n", "height", "width", 6>);
static_assert(std::same_as<decltype(group_norm(images{}, 3)), images>);
static_assert(std::same_as<decltype(instance_norm(images{})), images>);

using doubles = std::vector<double>;

// The mean and the variance of the numbers of x at which `in` is true.
std::pair<double, double> moments(doubles const& x, std::function<bool(std::size_t)> const& in) {
  double n = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (in(i)) ++n, sum += x[i], squares += x[i] * x[i];
  return {sum / n, squares / n - sum / n * (sum / n)};
}

TEST(group_norm, gives_each_group_of_channels_of_an_example_mean_0_and_variance_1) {
  auto const x = test::scattered(dtype::float64, {2, 3, 4, 6});
  for (std::int64_t groups : {1, 2, 3, 6}) {
    auto const y = test::to_doubles(test::run([=](auto const& in) { return group_norm(in[0], groups, 0); }, {x}));
    for (std::size_t n = 0; n < 2; ++n)
      for (std::int64_t group = 0; group < groups; ++group) {
        auto const [mean, variance] = moments(
            y, [&](std::size_t i) { return i / 72 == n && static_cast<std::int64_t>(i % 6) / (6 / groups) == group; });
        EXPECT_NEAR(mean, 0, 1e-14);
        EXPECT_NEAR(variance, 1, 1e-13);
      }
  }
}

TEST(group_norm, takes_extents_that_only_the_run_knows_but_channels) {
  graph g;
  auto const open = placeholder<double, "n", "height", "width", 6>(g, "open");
  auto const fixed = placeholder<double, 2, 3, 4, 6>(g, "fixed");
  auto const a = group_norm(open, 2);
  auto const b = group_norm(fixed, 2);
  auto const [da] = gradients(sum(a * a * a), open);
  auto const [db] = gradients(sum(b * b * b), fixed);
  session s{g};
  auto const x = test::scattered(dtype::float64, {2, 3, 4, 6});
  auto const [y, z, dy, dz] = s.run({{open, x}, {fixed, x}}, a, b, da, db);
  EXPECT_TRUE(same_bits(y, z));
  EXPECT_TRUE(same_bits(dy, dz));
}

TEST(instance_norm, is_a_group_norm_with_a_group_for_each_channel) {
  auto const x = test::scattered(dtype::float64, {2, 5, 3});
  auto const a = test::run([](auto const& in) { return instance_norm(in[0]); }, {x});
  auto const b = test::run([](auto const& in) { return group_norm(in[0], 3); }, {x});
  EXPECT_TRUE(same_bits(a, b));
}

TEST(rms_norm, keeps_the_direction_of_a_row) {
  auto const y = test::run([](auto const& in) { return rms_norm(in[0], 0); },
                           {test::from_doubles(dtype::float64, {1, 2}, {3, 4})});
  EXPECT_NEAR(test::to_doubles(y)[0], 3 / std::sqrt(12.5), 1e-15);
  EXPECT_NEAR(test::to_doubles(y)[1], 4 / std::sqrt(12.5), 1e-15);
}

TEST(normalisations, refuse_what_they_can_not_divide) {
  graph g;
  auto const p = [&](type const& t) { return placeholder(g, t); };
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("number of channels that 4 groups divide, got float32[2, 6]", [&] { group_norm(p(of<float, 2, 6>), 4); });
  refuses("known number of channels", [&] { group_norm(p(of<float, 2, unknown>), 2); });
  refuses("number of channels that 2 groups divide", [&] { group_norm(p(of<float, 2, 0>), 2); });
  refuses("expected [n, ..., channels], got float32[6]", [&] { group_norm(p(of<float, 6>), 2); });
  refuses("groups must be above 0", [&] { group_norm(p(of<float, 2, 6>), 0); });
  refuses("groups must be above 0", [&] { group_norm(p(of<float, 2, 6>), INT64_MIN); });
  refuses("with an axis between", [&] { instance_norm(p(of<float, 2, 6>)); });
  refuses("not of floats", [&] { group_norm(p(of<int, 2, 6>), 2); });
  refuses("not of floats", [&] { layer_norm(p(of<int, 2, 6>)); });
  refuses("not of floats", [&] { rms_norm(p(of<std::complex<float>, 2, 6>)); });
  refuses("axis is out of range", [&] { layer_norm(p(of<float>)); });
}

}  // namespace
}  // namespace rill
