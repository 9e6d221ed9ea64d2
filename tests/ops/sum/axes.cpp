#include "rill/ops/sum/axes.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace rill {
namespace {

using ops::reduced;
using ops::reduction;
using marks = std::array<bool, max_rank>;

// Sums of the marked axes, an element at a time.
std::vector<std::int64_t> sums(shape const& x, std::vector<std::int64_t> const& values, marks const& gone) {
  std::int64_t left = 1;
  for (std::size_t i = 0; i < x.rank(); ++i) left *= gone[i] ? 1 : x[i];
  std::vector<std::int64_t> y(static_cast<std::size_t>(left));
  for (std::size_t n = 0; n < values.size(); ++n) {
    auto rest = static_cast<std::int64_t>(n);
    std::int64_t to = 0, apart = 1;
    for (std::size_t i = x.rank(); i-- > 0; rest /= x[i])
      if (!gone[i]) to += rest % x[i] * apart, apart *= x[i];
    y[static_cast<std::size_t>(to)] += values[n];
  }
  return y;
}

std::vector<std::int64_t> pass(ops::reduction_pass const& p, std::vector<std::int64_t> const& x) {
  std::vector<std::int64_t> y(static_cast<std::size_t>(p.outer * p.inner));
  for (std::ptrdiff_t o = 0; o < p.outer; ++o)
    for (std::ptrdiff_t m = 0; m < p.middle; ++m)
      for (std::ptrdiff_t i = 0; i < p.inner; ++i)
        y[static_cast<std::size_t>(o * p.inner + i)] += x[static_cast<std::size_t>((o * p.middle + m) * p.inner + i)];
  return y;
}

TEST(axes, passes_one_after_the_other_sum_the_marked_axes) {
  std::mt19937 random(4);
  for (int round = 0; round < 500; ++round) {
    shape x;
    marks gone{};
    for (auto rank = random() % 6; x.rank() < rank;) {
      gone[x.rank()] = random() % 2 != 0;
      x.push_back(static_cast<std::int64_t>(1 + random() % 4));
    }
    std::vector<std::int64_t> values(static_cast<std::size_t>(elements(x)));
    std::iota(values.begin(), values.end(), 1);
    auto const expected = sums(x, values, gone);
    for (auto const& p : ops::reduction_passes(x, gone)) values = pass(p, values);
    EXPECT_EQ(values, expected) << x.text();
  }
}

TEST(axes, that_are_neighbours_go_in_one_pass) {
  auto const passes = ops::reduction_passes(shape{2, 3, 4, 5, 6}, marks{false, true, true, false, true});
  ASSERT_EQ(passes.size(), 2u);
  EXPECT_EQ(passes[0].middle, 6);  // the last axis first
  EXPECT_EQ(passes[0].outer, 2 * 3 * 4 * 5);
  EXPECT_EQ(passes[1].outer, 2);
  EXPECT_EQ(passes[1].middle, 12);
  EXPECT_EQ(passes[1].inner, 5);
  EXPECT_EQ(ops::reduction_passes(shape{2, 1, 3}, marks{true, false, true}).size(), 1u);  // an extent of 1 parts none
}

TEST(axes, leave_a_type) {
  constexpr type x = of<float, 2, "batch", 4>;
  EXPECT_EQ(reduced({}, x), of<float>);
  EXPECT_EQ(reduced({{1}}, x), (of<float, 2, 4>));
  EXPECT_EQ(reduced({{-1, 0}}, x), (of<float, "batch">));
  EXPECT_EQ(reduced({{1}, true}, x), (of<float, 2, 1, 4>));
  auto const any = type::of_unknown_rank(dtype::float32);
  EXPECT_EQ(reduced({}, any), of<float>);
  EXPECT_FALSE(reduced({{0}}, any).has_rank());
  EXPECT_FALSE(reduced({{}, true}, any).has_rank());
}

TEST(axes, are_refused_outside_and_twice) {
  EXPECT_THROW(ops::reduced_axes({2}, 2), error);
  EXPECT_THROW(ops::reduced_axes({-3}, 2), error);
  EXPECT_THROW(ops::reduced_axes({1, -1}, 2), error);
  EXPECT_THROW(ops::reduced_axes({0}, 0), error);
}

}  // namespace
}  // namespace rill
