#include "rill/ops/sum/sum.hpp"

#include <random>

#include "../run.hpp"
#include "rill/ops/reduction/argmax.hpp"

namespace rill {
namespace {

// Rules that programs are compiled by.
static_assert(ops::sum_op::infer({}, of<float, 2, 3>) == of<float>);
static_assert(ops::sum_op::infer({extents{-1}}, of<float, "n", 3>) == of<float, "n">);
static_assert(ops::sum_op::infer({extents{0}, true}, of<float, "n", 3>) == of<float, 1, 3>);
static_assert(ops::mean_op::infer({extents{1}}, type::of_unknown_rank(dtype::float32)) ==
              type::of_unknown_rank(dtype::float32));
static_assert(ops::mean_op::infer({}, type::of_unknown_rank(dtype::float32)) == of<float>);

// A reduction by plain loops over all elements.
std::vector<double> reduced(tensor const& x, unsigned mask, double start,
                            std::function<double(double, double)> const& f) {
  auto const& s = x.shape();
  shape kept;
  for (std::size_t i = 0; i < s.rank(); ++i) kept.push_back(mask >> i & 1u ? 1 : s[i]);
  std::vector<double> y(static_cast<std::size_t>(elements(kept)), start);
  auto const values = test::to_doubles(x);
  for (std::size_t at = 0; at < values.size(); ++at) {
    std::size_t rest = at, to = 0, apart = 1;
    for (std::size_t i = s.rank(); i-- > 0; rest /= static_cast<std::size_t>(s[i])) {
      to += (mask >> i & 1u ? 0 : rest % static_cast<std::size_t>(s[i])) * apart;
      apart *= static_cast<std::size_t>(kept[i]);
    }
    y[to] = f(y[to], values[at]);
  }
  return y;
}

TEST(reductions, of_one_element_each_are_that_element_also_if_it_is_minus_0) {
  tensor const x = rill::matrix<float>({{-0.f, 0, -1}});
  for (bool keep : {false, true}) {
    auto const wanted = keep ? x : x.reshaped({3});
    EXPECT_TRUE(same_bits(test::run([&](auto const& in) { return sum(in[0], extents{0}, keep); }, {x}), wanted));
    EXPECT_TRUE(same_bits(test::run([&](auto const& in) { return mean(in[0], extents{0}, keep); }, {x}), wanted));
    EXPECT_TRUE(same_bits(test::run([&](auto const& in) { return max(in[0], extents{0}, keep); }, {x}), wanted));
  }
}

TEST(reductions, go_over_any_axes) {
  auto const x = test::scattered(dtype::float64, {3, 4, 1, 5, 2});
  for (unsigned mask = 1; mask < 32; ++mask)
    for (bool keep : {false, true}) {
      SCOPED_TRACE(mask);
      extents axes;
      double count = 1;
      for (unsigned i = 0; i < 5; ++i)
        if (mask >> i & 1u)
          axes.push_back(i % 2 ? static_cast<int>(i) - 5 : static_cast<int>(i)),
              count *= static_cast<double>(x.shape()[i]);
      auto const check = [&](auto record, std::vector<double> const& wanted) {
        auto const y = test::run([&](auto const& in) { return record(in[0]); }, {x});
        EXPECT_EQ(y.rank(), keep ? 5 : 5 - axes.size());
        auto const v = test::to_doubles(y);
        ASSERT_EQ(v.size(), wanted.size());
        for (std::size_t i = 0; i < v.size(); ++i) EXPECT_NEAR(v[i], wanted[i], 1e-12);
      };
      auto const sums = reduced(x, mask, 0, [](double a, double b) { return a + b; });
      check([&](value v) { return sum(v, axes, keep); }, sums);
      auto means = sums;
      for (auto& m : means) m /= count;
      check([&](value v) { return mean(v, axes, keep); }, means);
      check([&](value v) { return max(v, axes, keep); },
            reduced(x, mask, -INFINITY, [](double a, double b) { return std::max(a, b); }));
    }
}

TEST(reductions, find_the_place_of_the_largest) {
  auto const x = test::scattered(dtype::float32, {3, 4, 5});
  for (int axis : {0, 1, 2, -1}) {
    auto const y = test::to_doubles(test::run([&](auto const& in) { return argmax(in[0], axis); }, {x}));
    auto const at = static_cast<unsigned>(axis < 0 ? axis + 3 : axis);
    auto const most = reduced(x, 1u << at, -INFINITY, [](double a, double b) { return std::max(a, b); });
    std::size_t next = 0;
    std::int64_t index[3], limit[3] = {3, 4, 5};
    auto const where = static_cast<std::size_t>(at);
    for (index[0] = 0; index[0] < (where == 0 ? 1 : limit[0]); ++index[0])
      for (index[1] = 0; index[1] < (where == 1 ? 1 : limit[1]); ++index[1])
        for (index[2] = 0; index[2] < (where == 2 ? 1 : limit[2]); ++index[2], ++next) {
          auto place = std::vector(index, index + 3);
          place[where] = static_cast<std::int64_t>(y[next]);
          EXPECT_EQ(x.at<float>(place[0], place[1], place[2]), static_cast<float>(most[next]));
        }
  }
}

TEST(reductions, of_nothing_are_0_NaN_and_errors) {
  auto const x = test::counting(dtype::float32, {0, 3});
  EXPECT_EQ(test::to_doubles(test::run([](auto const& in) { return sum(in[0], extents{0}); }, {x})),
            (std::vector<double>{0, 0, 0}));
  EXPECT_TRUE(std::isnan(test::run([](auto const& in) { return mean(in[0], extents{}); }, {x}).item<float>()));
  test::expect_error(code::invalid_argument, "max: there are no elements",
                     [&] { test::run([](auto const& in) { return max(in[0], extents{0}); }, {x}); });
  test::expect_error(code::invalid_argument, "argmax: the axis has no elements",
                     [&] { test::run([](auto const& in) { return argmax(in[0], 0); }, {x}); });
  EXPECT_EQ(test::run([](auto const& in) { return max(in[0], extents{1}); }, {x}).elements(),
            0);  // no results to decide
  EXPECT_EQ(test::run([](auto const& in) { return argmax(in[0], 1); }, {x}).elements(), 0);
}

TEST(reductions, find_NaN) {
  auto const x = test::from_doubles(dtype::float32, {2, 3}, {1, NAN, 5, 7, 2, 1});
  auto const most = test::to_doubles(test::run([](auto const& in) { return max(in[0], extents{1}); }, {x}));
  EXPECT_TRUE(std::isnan(most[0]));
  EXPECT_EQ(most[1], 7);
  EXPECT_EQ(test::to_doubles(test::run([](auto const& in) { return argmax(in[0], 1); }, {x})),
            (std::vector<double>{1, 0}));
}

TEST(reductions, sum_halves_beyond_their_precision) {
  std::vector<double> ones(100000, 1);
  auto const x = test::from_doubles(dtype::float16, {100000}, ones);
  EXPECT_EQ(static_cast<float>(test::run([](auto const& in) { return mean(in[0], extents{}); }, {x}).item<half>()),
            1.f);
}

TEST(reductions, refuse_axes_that_are_not_there) {
  graph g;
  auto x = placeholder(g, of<float, 2, 3>);
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("out of range for the operand's rank", [&] { sum(x, extents{2}); });
  refuses("out of range for the operand's rank", [&] { mean(x, extents{-3}); });
  refuses("names an axis twice", [&] { max(x, extents{1, -1}); });
  refuses("out of range for the operand's rank", [&] { argmax(x, 2); });
  refuses("the index must be int32 or int64", [&] { argmax(x, 0, dtype::int8); });
  refuses("out of range for the operand's rank", [&] { argmax(value(constant(g, 1.f)), 0); });
  refuses("not of floats or complex numbers", [&] { mean(value(constant(g, 1)), {}); });
  // The rank may come to light only when the step runs.
  auto open = placeholder(g, type::of_unknown_rank(dtype::float32));
  auto y = sum(open, extents{1});
  session s{g};
  EXPECT_EQ(s.run({{open, test::counting(dtype::float32, {2, 3})}}, y).shape(), (shape{2}));
  refuses("out of range for the operand's rank", [&] { s.run({{open, test::counting(dtype::float32, {3})}}, y); });
}

}  // namespace
}  // namespace rill
