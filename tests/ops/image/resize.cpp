#include "rill/ops/image/resize.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

static_assert(ops::resize_nearest_op::infer({5, 6}, of<std::uint8_t, "n", 8, unknown, 3>) ==
              of<std::uint8_t, "n", 5, 6, 3>);
static_assert(ops::resize_bilinear_op::infer({5, 6}, of<float, 8, 7, 3>) == of<float, 5, 6, 3>);

// What TensorFlow 2.21 makes of this image by tf.image.resize.
tensor image() { return test::scattered(dtype::float32, {1, 3, 4, 2}, 0); }

tensor bilinear(tensor const& x, std::int64_t height, std::int64_t width, int threads = 1) {
  return test::run([=](auto const& in) { return resize_bilinear(in[0], height, width); }, {x}, threads);
}
tensor nearest(tensor const& x, std::int64_t height, std::int64_t width) {
  return test::run([=](auto const& in) { return resize_nearest(in[0], height, width); }, {x});
}

void expect_near(tensor const& t, std::vector<double> const& wanted, double tolerance) {
  auto const got = test::to_doubles(t);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance) << i;
}

TEST(resize, interpolates_as_tensorflow_does) {
  expect_near(
      bilinear(image(), 5, 6),
      {-1.0,      0.907139,  -0.092861, 0.814279,  0.783325,  0.690464,  0.659511,  0.56665,   0.535696,  0.442836,
       0.442836,  0.349975,  -0.497154, 0.609985,  0.009985,  0.517124,  0.486171,  0.39331,   0.362356,  0.269496,
       0.238542,  0.145681,  0.145681,  0.052821,  0.257114,  0.164254,  0.164254,  0.071393,  0.040439,  -0.052421,
       -0.083375, -0.176236, -0.207189, -0.30005,  -0.30005,  -0.392911, -0.188617, -0.281478, -0.281478, -0.374339,
       -0.405292, -0.498153, -0.529106, -0.621967, -0.052921, -0.145781, 0.454219,  0.361358,  -0.485771, -0.578632,
       -0.578632, -0.671493, -0.702446, -0.795307, -0.826261, -0.919121, 0.049925,  -0.042936, 0.957064,  0.864204},
      1e-6);
  expect_near(bilinear(image(), 2, 2),
              {-0.028582, 0.628557, 0.349975, 0.257114, -0.392911, -0.485771, -0.014353, -0.107214}, 1e-6);
}

TEST(resize, takes_the_nearest_pixel_as_tensorflow_does) {
  expect_near(
      nearest(image(), 5, 3),
      {-1.0,      0.907139,  0.628557, 0.535696, 0.442836,  0.349975,  -1.0,      0.907139,  0.628557,  0.535696,
       0.442836,  0.349975,  0.257114, 0.164254, -0.114329, -0.207189, -0.30005,  -0.392911, -0.485771, -0.578632,
       -0.857214, -0.950075, 0.957064, 0.864204, -0.485771, -0.578632, -0.857214, -0.950075, 0.957064,  0.864204},
      1e-6);
}

TEST(resize, gives_tensorflows_gradient) {
  graph g;
  auto const x = placeholder(g, of<float, 1, 3, 4, 2>);
  auto const from_one = constant(g, test::counting(dtype::float32, {1, 5, 6, 2}));
  auto const loss = sum(resize_bilinear(value(x), 5, 6) * (from_one - 1), extents{});
  session s{g};
  expect_near(s.run({{x, image()}}, gradients(loss, {x}).at(0)),
              {12.4,       14.799999,  19.333328,  21.733328,  26.26667,   28.66667,   33.199997,  35.599995,
               66.599991,  69.299988,  74.399979,  77.099983,  82.200005,  84.900009,  89.999992,  92.699989,
               106.000008, 108.400009, 112.933319, 115.333328, 119.866676, 122.266701, 126.800003, 129.200027},
              1e-4);
}

TEST(resize, keeps_an_image_of_the_same_size) {
  for (auto d : {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64}) {
    auto const x = test::scattered(d, {2, 5, 7, 3});
    EXPECT_TRUE(same_bits(bilinear(x, 5, 7), x));
    EXPECT_TRUE(same_bits(nearest(x, 5, 7), x));
  }
}

TEST(resize, takes_single_images_and_many_and_any_threads) {
  auto const x = test::scattered(dtype::float32, {3, 9, 8, 2});
  auto const y = bilinear(x, 20, 5);
  EXPECT_TRUE(same_bits(y, bilinear(x, 20, 5, 4)));
  for (std::int64_t i = 0; i < 3; ++i)
    EXPECT_TRUE(
        same_bits(bilinear(x.rows(i, i + 1).reshaped({9, 8, 2}), 20, 5), y.rows(i, i + 1).reshaped({20, 5, 2})));
}

TEST(resize, does_not_spread_what_is_infinite_beyond_its_neighbours) {
  auto const x = test::from_doubles(dtype::float32, {1, 3, 1}, {INFINITY, 1, 2});
  EXPECT_EQ(test::to_doubles(bilinear(x, 2, 3)), (std::vector<double>{INFINITY, 1, 2, INFINITY, 1, 2}));
}

TEST(resize, makes_floats_of_whole_pixels) {
  auto const x = test::from_doubles(dtype::uint8, {1, 2, 1}, {0, 255});
  expect_near(bilinear(x, 1, 4), {0, 63.75, 191.25, 255}, 0);
  EXPECT_EQ(nearest(x, 2, 1).type(), (of<std::uint8_t, 2, 1, 1>));
  graph g;
  auto const typed_image = placeholder<std::uint8_t, 8, 8, 3>(g);
  static_assert(decltype(resize_bilinear<4, 5>(typed_image))::static_type == of<float, 4, 5, 3>);
  static_assert(decltype(resize_nearest<4, 5>(typed_image))::static_type == of<std::uint8_t, 4, 5, 3>);
}

TEST(resize, refuses_what_is_no_image) {
  graph g;
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  auto const p = [&](type const& t) { return placeholder(g, t); };
  refuses("is not [height, width, channels]", [&] { resize_nearest(p(of<float, 8, 8>), 4, 4); });
  refuses("the height and width of the result", [&] { resize_nearest(p(of<float, 8, 8, 3>), 0, 4); });
  refuses("the height and width of the result", [&] { resize_bilinear(p(of<float, 8, 8, 3>), 4, 1 << 25); });
  refuses("the height and width of an image", [&] { resize_bilinear(p(of<float, 0, 8, 3>), 4, 4); });
  refuses("pixels are real numbers", [&] { resize_nearest(p(of<std::string, 8, 8, 3>), 4, 4); });
  refuses("not floats", [&] { resize_bilinear(p(of<std::complex<float>, 8, 8, 3>), 4, 4); });
  refuses("extents", [&] { resize_gradient(p(of<float, 8, 8, 3>), p(of<float, 4, 5, 3>), {4, 4}); });
}

}  // namespace
}  // namespace rill
