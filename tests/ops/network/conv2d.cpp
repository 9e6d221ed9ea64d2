#include "rill/ops/network/conv2d.hpp"

#include "../run.hpp"

namespace rill {
namespace {

static_assert(ops::conv2d_op::infer({}, of<float, "n", 8, "w", 3>, of<float, 3, 3, 3, 16>) ==
              of<float, "n", 8, "w", 16>);
static_assert(ops::conv2d_op::infer({.stride = {2, 2}}, of<float, "n", 7, "w", 3>, of<float, 3, 3, 3, 16>) ==
              of<float, "n", 4, unknown, 16>);
static_assert(ops::conv2d_op::infer({.dilation = {2, 1}, .pad = padding::valid}, of<float, 1, 7, 7, 3>,
                                    of<float, 3, 3, 3, 16>) == of<float, 1, 3, 5, 16>);
static_assert(ops::conv2d_op::infer({.pad = padding::given, .pads = {1, 2, 0, 0}}, of<float, 1, 7, 7, 3>,
                                    of<float, 3, 3, 3, 16>) == of<float, 1, 8, 5, 16>);

// By plain loops, padding found as TensorFlow's documentation says.
tensor plain(tensor const& x, tensor const& f, convolution const& how) {
  auto const& s = x.shape();
  auto const& t = f.shape();
  std::int64_t stride[2], dilation[2], before[2], out[2];
  for (std::size_t i = 0; i < 2; ++i) {
    stride[i] = how.stride.empty() ? 1 : how.stride[i];
    dilation[i] = how.dilation.empty() ? 1 : how.dilation[i];
    auto const extent = s[i + 1], reach = (t[i] - 1) * dilation[i] + 1;
    if (how.pad == padding::same) {
      out[i] = (extent + stride[i] - 1) / stride[i];
      auto const remainder = extent % stride[i];
      auto const total = std::max<std::int64_t>(0, remainder == 0 ? reach - stride[i] : reach - remainder);
      before[i] = total / 2;
    } else {
      before[i] = how.pad == padding::given ? how.pads[2 * i] : 0;
      auto const after = how.pad == padding::given ? how.pads[2 * i + 1] : 0;
      out[i] = (extent + before[i] + after - reach) / stride[i] + 1;
    }
  }
  tensor y(dtype::float64, {s[0], out[0], out[1], t[3]});
  auto* to = y.mutable_data<double>();
  for (std::int64_t n = 0; n < s[0]; ++n)
    for (std::int64_t i = 0; i < out[0]; ++i)
      for (std::int64_t j = 0; j < out[1]; ++j)
        for (std::int64_t o = 0; o < t[3]; ++o) {
          double sum = 0;
          for (std::int64_t k = 0; k < t[0]; ++k)
            for (std::int64_t l = 0; l < t[1]; ++l) {
              auto const p = i * stride[0] - before[0] + k * dilation[0],
                         q = j * stride[1] - before[1] + l * dilation[1];
              if (p < 0 || p >= s[1] || q < 0 || q >= s[2]) continue;
              for (std::int64_t c = 0; c < s[3]; ++c) sum += x.at<double>(n, p, q, c) * f.at<double>(k, l, c, o);
            }
          *to++ = sum;
        }
  return y;
}

TEST(conv2d, is_what_plain_loops_compute) {
  convolution const ways[] = {{},
                              {.pad = padding::valid},
                              {.stride = {2, 2}},
                              {.stride = {3, 1}, .pad = padding::valid},
                              {.stride = {2, 3}, .dilation = {2, 1}},
                              {.dilation = {1, 3}, .pad = padding::same},
                              {.stride = {2, 2}, .pad = padding::given, .pads = {3, 0, 1, 2}},
                              {.stride = {5, 5}, .pad = padding::given, .pads = {0, 0, 0, 0}}};
  for (auto const& how : ways)
    for (auto const& image : {shape{2, 9, 8, 3}, shape{1, 7, 10, 1}})
      for (auto const& filter : {extents{3, 3}, extents{1, 1}, extents{4, 2}}) {
        auto const x = test::scattered(dtype::float64, image);
        auto const f = test::scattered(dtype::float64, shape{filter[0], filter[1], image[3], 5}, 2);
        auto const y = test::run([&](auto const& in) { return conv2d(in[0], in[1], how); }, {x, f}, 2);
        auto const wanted = plain(x, f, how);
        ASSERT_EQ(y.shape(), wanted.shape());
        for (std::int64_t i = 0; i < y.elements(); ++i)
          ASSERT_NEAR(y.data<double>()[i], wanted.data<double>()[i], 1e-12);
      }
}

TEST(conv2d, takes_nothing_and_gives_nothing_or_zeros) {
  auto const run = [](shape const& x, shape const& f) {
    return test::run([](auto const& in) { return conv2d(in[0], in[1], {}); },
                     {test::counting(dtype::float32, x), test::counting(dtype::float32, f)});
  };
  EXPECT_EQ(run({0, 4, 4, 2}, {3, 3, 2, 5}).shape(), (shape{0, 4, 4, 5}));
  EXPECT_EQ(run({2, 0, 4, 2}, {3, 3, 2, 5}).shape(), (shape{2, 0, 4, 5}));
  EXPECT_EQ(run({2, 4, 4, 2}, {3, 3, 2, 0}).shape(), (shape{2, 4, 4, 0}));
  EXPECT_EQ(test::to_doubles(run({1, 2, 2, 0}, {3, 3, 0, 1})), std::vector<double>(4, 0.));
}

TEST(conv2d, refuses_what_does_not_fit) {
  graph g;
  auto const p = [&](type const& t) { return placeholder(g, t); };
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  auto const image = p(of<float, 1, 8, 8, 3>), filter = p(of<float, 3, 3, 3, 4>);
  refuses("image and filter differ in their channels", [&] { conv2d(p(of<float, 1, 8, 8, 4>), filter, {}); });
  refuses("the image is not of rank 4", [&] { conv2d(p(of<float, 8, 8, 3>), filter, {}); });
  refuses("the filter is not of rank 4", [&] { conv2d(image, p(of<float, 3, 3, 3>), {}); });
  refuses("not floats", [&] { conv2d(p(of<int, 1, 8, 8, 3>), p(of<int, 3, 3, 3, 4>), {}); });
  refuses("larger than the padded image", [&] { conv2d(p(of<float, 1, 2, 8, 3>), filter, {.pad = padding::valid}); });
  refuses("larger than the padded image", [&] { conv2d(image, filter, {.dilation = {4, 4}, .pad = padding::valid}); });
  refuses("strides must be two positive numbers", [&] { conv2d(image, filter, {.stride = {0, 1}}); });
  refuses("strides must be two positive numbers", [&] { conv2d(image, filter, {.stride = {1}}); });
  refuses("strides must be two positive numbers", [&] { conv2d(image, filter, {.stride = {1, -2}}); });
  refuses("strides must be two positive numbers",
          [&] { conv2d(image, filter, {.stride = {1, std::int64_t{1} << 40}}); });
  refuses("dilations must be two positive numbers", [&] { conv2d(image, filter, {.dilation = {1, 0}}); });
  refuses("height and width of the filter must be", [&] { conv2d(image, p(of<float, 0, 3, 3, 4>), {}); });
  refuses("if, and only if", [&] { conv2d(image, filter, {.pad = padding::given}); });
  refuses("if, and only if", [&] { conv2d(image, filter, {.pads = {1, 1, 1, 1}}); });
  refuses("four numbers", [&] { conv2d(image, filter, {.pad = padding::given, .pads = {1, 1}}); });
  refuses("a padding is negative", [&] { conv2d(image, filter, {.pad = padding::given, .pads = {1, 1, -1, 1}}); });
  refuses("unknown padding", [&] { conv2d(image, filter, {.pad = static_cast<padding>(9)}); });
  refuses("does not have the extents of the result of conv2d",
          [&] { conv2d_input_gradient(image, filter, p(of<float, 1, 7, 8, 4>), {}); });
  refuses("does not have the extents of the result of conv2d",
          [&] { conv2d_input_gradient(image, filter, p(of<float, 1, 8, 8, 3>), {}); });
  refuses("does not have the extents of the result of conv2d",
          [&] { conv2d_filter_gradient(image, filter, p(of<float, 2, 8, 8, 4>), {}); });
  refuses("image and filter differ in their channels",
          [&] { conv2d_filter_gradient(image, p(of<float, 3, 3, 1, 4>), p(of<float, 1, 8, 8, 4>), {}); });
}

}  // namespace
}  // namespace rill
