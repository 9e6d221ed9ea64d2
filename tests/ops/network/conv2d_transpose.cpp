#include "rill/ops/network/conv2d_transpose.hpp"

#include "../run.hpp"

namespace rill {
namespace {

using how = transposed_convolution;
constexpr auto infer = [](how const& a, type const& x, type const& f) {
  return ops::conv2d_transpose_op::infer(a, x, f);
};
static_assert(infer({}, of<float, "n", "h", 4, 3>, of<float, 3, 3, 2, 3>) == of<float, "n", "h", 4, 2>);
static_assert(infer({.stride = {2, 3}}, of<float, "n", 5, 4, 3>, of<float, 3, 3, 2, 3>) == of<float, "n", 10, 12, 2>);
static_assert(infer({.stride = {2, 3}, .pad = padding::valid}, of<float, 1, 5, 4, 3>, of<float, 3, 2, 2, 3>) ==
              of<float, 1, 11, 11, 2>);
static_assert(infer({.stride = {2, 2}, .size = {9, 8}}, of<float, 1, 5, 4, 3>, of<float, 3, 2, 2, 3>) ==
              of<float, 1, 9, 8, 2>);
static_assert(infer({.pad = padding::given, .pads = {1, 0, 2, 2}}, of<float, 1, 5, 4, 3>, of<float, 3, 3, 2, 3>) ==
              of<float, 1, 6, 2, 2>);

TEST(conv2d_transpose, lays_the_filter_at_each_pixel_with_the_strides_between) {
  auto const y = test::run(
      [](auto const& in) { return conv2d_transpose(in[0], in[1], {.stride = {1, 3}, .pad = padding::valid}); },
      {test::from_doubles(dtype::float32, {1, 1, 2, 1}, {1, 10}), test::counting(dtype::float32, {1, 2, 1, 1})});
  EXPECT_EQ(y.shape(), (shape{1, 1, 5, 1}));
  EXPECT_EQ(test::to_doubles(y), (std::vector<double>{1, 2, 0, 10, 20}));
}

TEST(conv2d_transpose, is_the_input_gradient_of_the_convolution_of_its_result) {
  auto const x = test::scattered(dtype::float64, {2, 3, 2, 5}), f = test::scattered(dtype::float64, {3, 2, 4, 5}, 2),
             image = test::scattered(dtype::float64, {2, 6, 3, 4}, 3);
  auto const a = test::run(
      [](auto const& in) { return conv2d_transpose(in[0], in[1], {.stride = {2, 2}, .size = {6, 3}}); }, {x, f});
  auto const b = test::run(
      [](auto const& in) { return conv2d_input_gradient(in[2], in[1], in[0], {.stride = {2, 2}}); }, {x, f, image});
  EXPECT_TRUE(same_bits(a, b));
}

TEST(conv2d_transpose, refuses_what_does_not_fit) {
  graph g;
  auto const refuses = [&](char const* words, type const& x, type const& f, how const& a = {}) {
    test::expect_error(code::invalid_argument, words,
                       [&] { conv2d_transpose(placeholder(g, x), placeholder(g, f), a); });
  };
  auto const x = of<float, 1, 3, 3, 2>, f = of<float, 2, 2, 4, 2>;
  refuses("image and filter differ in their channels: 2 against 3", x, of<float, 2, 2, 2, 3>);
  refuses("the image is not of rank 4", of<float, 3, 3, 2>, f);
  refuses("the filter is not of rank 4", x, of<float, 2, 2, 2>);
  refuses("different element types", x, of<double, 2, 2, 4, 2>);
  refuses("not floats", of<int, 1, 3, 3, 2>, of<int, 2, 2, 4, 2>);
  refuses("does not give images of x's extents", x, f, {.stride = {2, 2}, .size = {4, 6}});
  refuses("does not give images of x's extents", x, f, {.size = {INT64_MAX / 8, 3}});
  refuses("two positive numbers", x, f, {.size = {0, 6}});
  refuses("two positive numbers", x, f, {.size = {6}});
  refuses("two positive numbers", x, f, {.stride = {0, 1}});
  refuses("no image is that small", x, f, {.pad = padding::given, .pads = {4, 4, 0, 0}});
  refuses("no image is that small", of<float, 1, 0, 3, 2>, f, {.pad = padding::valid});
  refuses("an extent is too large", of<float, 1, 4294967296, 3, 2>, f, {.stride = {2, 2}});
  refuses("too large", x, f, {.stride = {2, 2}, .size = {INT64_MAX, 3}});
}

}  // namespace
}  // namespace rill
