#include "rill/ops/array/expand_dims.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

static_assert(ops::expand_dims_op::infer({1}, of<float, "n", unknown>) == of<float, "n", 1, unknown>);
static_assert(ops::expand_dims_op::infer({-1}, of<float, unknown, unknown>) == of<float, unknown, unknown, 1>);
static_assert(ops::squeeze_op::infer({1}, of<float, "n", 1, unknown>) == of<float, "n", unknown>);
static_assert(ops::squeeze_op::infer({-1}, of<float, 2, unknown>) == of<float, 2>);

TEST(expand_dims, puts_in_an_axis_that_squeeze_takes_out) {
  auto const x = test::counting(dtype::int32, {2, 3});
  for (auto const& [axis, extents_of] :
       {std::pair{0, shape{1, 2, 3}}, {1, shape{2, 1, 3}}, {2, shape{2, 3, 1}}, {-2, shape{2, 1, 3}}}) {
    auto const at = axis;
    auto const y = test::run([=](auto const& in) { return expand_dims(in[0], at); }, {x});
    EXPECT_EQ(y.shape(), extents_of);
    EXPECT_TRUE(same_bits(test::run([=](auto const& in) { return squeeze(in[0], at); }, {y}), x));
  }
}

TEST(expand_dims, of_two_open_extents_has_a_gradient) {
  graph g;
  auto x = placeholder<float, "n", unknown>(g, "x");
  auto y = expand_dims<1>(x);
  static_assert(decltype(y)::static_type == of<float, "n", 1, unknown>);
  auto [dx] = gradients(sum(square(y)), x);
  session s{g};
  EXPECT_EQ(test::to_doubles(s.run({{x, test::counting(dtype::float32, {2, 2})}}, dx)),
            (std::vector<double>{2, 4, 6, 8}));
}

TEST(squeeze, refuses_an_axis_of_another_extent) {
  graph g;
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("the extent of the axis is not 1", [&] { squeeze(placeholder(g, of<float, 2, 1>), 0); });
  refuses("is out of range", [&] { squeeze(placeholder(g, of<float, 2, 1>), 2); });
  refuses("is out of range", [&] { expand_dims(placeholder(g, of<float, 2, 1>), 3); });
  refuses("at most 8", [&] { expand_dims(placeholder(g, of<float, 1, 1, 1, 1, 1, 1, 1, 1>), 0); });
  auto open = placeholder(g, of<float, unknown, 2>, "open");
  auto y = squeeze(open, 0);
  session s{g};
  refuses("the extent of the axis is not 1", [&] { s.run({{open, test::counting(dtype::float32, {3, 2})}}, y); });
}

}  // namespace
}  // namespace rill
