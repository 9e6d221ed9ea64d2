#include "rill/ops/array/slice.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

static_assert(ops::slice_op::infer({extents{0, 1}, extents{-1, 2}}, of<float, "n", 4>) == of<float, "n", 2>);
static_assert(ops::slice_op::infer({extents{1, 1}, extents{-1, -1}}, of<float, "n", 4>) == of<float, unknown, 3>);

TEST(slice, takes_a_box) {
  auto const x = test::counting(dtype::float32, {3, 4, 5});
  auto const y = test::run([](auto const& in) { return slice(in[0], {1, 0, 2}, {2, -1, 2}); }, {x});
  ASSERT_EQ(y.shape(), (shape{2, 4, 2}));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      for (int k = 0; k < 2; ++k) EXPECT_EQ(y.at<float>(i, j, k), x.at<float>(i + 1, j, k + 2));
}

TEST(slice, takes_strings_and_empty_boxes) {
  auto const x = test::counting(dtype::string, {4});
  EXPECT_EQ(test::run([](auto const& in) { return slice(in[0], {1}, {2}); }, {x}).at<std::string>(0),
            x.at<std::string>(1));
  EXPECT_EQ(test::run([](auto const& in) { return slice(in[0], {4}, {-1}); }, {x}).elements(), 0);
  EXPECT_EQ(
      test::run([](auto const& in) { return slice(in[0], {0, 1}, {-1, 1}); }, {test::counting(dtype::int8, {0, 2})})
          .shape(),
      (shape{0, 1}));
}

TEST(slice, has_a_gradient_that_is_0_beside_the_box) {
  graph g;
  auto x = placeholder<float, 3, 4>(g);
  auto y = slice<extents{1, 1}, extents{1, 2}>(x);
  static_assert(decltype(y)::static_type == of<float, 1, 2>);
  auto [dx] = gradients(sum(y * y), x);
  session s{g};
  auto const r = s.run({{x, tensor_of<of<float, 3, 4>>(test::counting(dtype::float32, {3, 4}))}}, dx);
  EXPECT_EQ(test::to_doubles(r), (std::vector<double>{0, 0, 0, 0, 0, 12, 14, 0, 0, 0, 0, 0}));
}

TEST(slice, refuses_boxes_that_reach_out) {
  graph g;
  auto x = placeholder(g, of<float, 3, 4>);
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("extends beyond", [&] { slice(x, {0, 1}, {1, 4}); });
  refuses("begin is beyond the end", [&] { slice(x, {0, 5}, {1, -1}); });
  refuses("begin is negative", [&] { slice(x, {0, -1}, {1, 1}); });
  refuses("size is negative", [&] { slice(x, {0, 0}, {1, -2}); });
  refuses("a number for each axis", [&] { slice(x, {0}, {1}); });
  refuses("different lengths", [&] { slice(x, {0, 0}, {1}); });
  refuses("extends beyond", [&] { slice(x, {0, 1}, {1, INT64_MAX}); });
  auto open = placeholder(g, of<float, unknown>);
  auto y = slice(open, {1}, {3});
  session s{g};
  EXPECT_EQ(s.run({{open, test::counting(dtype::float32, {4})}}, y).elements(), 3);
  refuses("extends beyond", [&] { s.run({{open, test::counting(dtype::float32, {3})}}, y); });
}

}  // namespace
}  // namespace rill
