#include "rill/ops/array/merge_axes.hpp"

#include "../run.hpp"

namespace rill {
namespace {

static_assert(ops::merge_axes_op::infer({0, 2}, of<float, "n", 2, 3>) == of<float, unknown, 3>);
static_assert(ops::merge_axes_op::infer({-2, 2}, of<float, "n", 2, 3>) == of<float, "n", 6>);
static_assert(ops::merge_axes_op::infer({1, 1}, of<float, "n", "m">) == of<float, "n", "m">);

TEST(merge_axes, keeps_elements_and_several_extents_that_are_not_known) {
  graph g;
  auto const x = placeholder(g, of<float, "a", "b", "c">);
  auto const y = merge_axes(x, 0, 2);
  session s{g};
  EXPECT_EQ(s.run({{x, test::counting(dtype::float32, {2, 3, 2})}}, y).shape(), (shape{6, 2}));
}

TEST(merge_axes, refuses_axes_that_there_are_not) {
  graph g;
  auto const x = placeholder(g, of<float, 2, 3>);
  auto const refuses = [](char const* why, auto f) { test::expect_error(code::invalid_argument, why, f); };
  refuses("out of range for the rank", [&] { merge_axes(x, 2, 1); });
  refuses("the number of axes is not between 1", [&] { merge_axes(x, 1, 2); });
  refuses("the number of axes is not between 1", [&] { merge_axes(x, 0, 0); });
  refuses("more elements than 64 bits can count",
          [&] { merge_axes(placeholder(g, type(dtype::float32, {dim(INT64_MAX), dim(2)})), 0, 2); });
}

}  // namespace
}  // namespace rill
