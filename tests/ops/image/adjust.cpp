#include "rill/ops/image/adjust.hpp"

#include <set>

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/array/slice.hpp"

namespace rill {
namespace {

void expect_near(tensor const& t, std::vector<double> const& wanted, double tolerance) {
  auto const got = test::to_doubles(t);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance) << i;
}

// What TensorFlow 2.21 makes of these images by the functions of tf.image.
tensor image() { return test::scattered(dtype::float32, {1, 3, 4, 2}, 0); }
tensor whole() {
  tensor t(dtype::uint8, {2, 2, 3});
  for (std::int64_t i = 0; i < 12; ++i) t.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 23);
  return t;
}
template <class F> tensor applied(F f, tensor const& x) {
  return test::run([&](auto const& in) { return value(f(in[0])); }, {x});
}

TEST(adjust, adds_brightness_as_tensorflow_does) {
  expect_near(applied([](value x) { return adjust_brightness(x, 0.3); }, whole()),
              {76.0, 99.0, 122.0, 145.0, 168.0, 191.0, 214.0, 237.0, 255.0, 255.0, 255.0, 255.0}, 0);
  expect_near(applied([](value x) { return adjust_brightness(x, -0.25); }, whole()),
              {0.0, 0.0, 0.0, 5.0, 28.0, 51.0, 74.0, 97.0, 120.0, 143.0, 166.0, 189.0}, 0);
  expect_near(
      applied([](value x) { return adjust_brightness(x, 0.5); }, vector<double>({-1, 0.25}).reshaped({1, 2, 1})),
      {-0.5, 0.75}, 0);
}

TEST(adjust, changes_contrast_as_tensorflow_does) {
  expect_near(applied([](value x) { return adjust_contrast(x, 1.7); }, whole()),
              {0.0, 0.0, 0.0, 44.0, 67.0, 91.0, 162.0, 185.0, 208.0, 255.0, 255.0, 255.0}, 0);
  expect_near(applied([](value x) { return adjust_contrast(x, 0.5); }, image()),
              {-0.510734, 0.479739,  0.396405, 0.386878,  0.303545,  0.294017,  0.210684,  0.201157,
               0.117823,  0.108296,  0.024963, 0.015435,  -0.067898, -0.077426, -0.160759, -0.170286,
               -0.25362,  -0.263147, -0.34648, -0.356008, -0.439341, -0.448868, 0.467798,  0.458271},
              1e-6);
}

TEST(adjust, standardizes_as_tensorflow_does) {
  auto const f = [](value x) { return per_image_standardization(x); };
  expect_near(applied(f, image()),
              {-1.630658, 1.431962,  1.28284,   1.133717,  0.984595,  0.835473,  0.68635,   0.537228,
               0.388106,  0.238983,  0.089861,  -0.059261, -0.208384, -0.357506, -0.506628, -0.655751,
               -0.804873, -0.953995, -1.103118, -1.25224,  -1.401362, -1.550485, 1.512135,  1.363013},
              2e-6);
  expect_near(applied(f, whole()),
              {-1.593255, -1.303572, -1.01389, -0.724207, -0.434524, -0.144841, 0.144841, 0.434524, 0.724207, 1.01389,
               1.303572, 1.593255},
              2e-6);
  expect_near(applied(f, test::from_doubles(dtype::float32, {2, 2, 1}, {3, 3, 3, 3})), {0, 0, 0, 0}, 0);
}

TEST(adjust, standardizes_images_of_one_colour_with_a_finite_derivative) {
  for (auto element : {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64}) {
    // (x - mean) 2 for 4 values: 1.5 at the pixel itself, -0.5 at the others.
    auto const d = test::run(
        [](auto const& in) {
          auto const y = slice(per_image_standardization(in[0]), {0, 0, 0}, {1, 1, 1});
          return gradients(sum(y), std::vector<value>{in[0]})[0];
        },
        {test::from_doubles(element, {2, 2, 1}, {3, 3, 3, 3})});
    EXPECT_EQ(test::to_doubles(d), (std::vector<double>{1.5, -0.5, -0.5, -0.5}));
  }
}

TEST(adjust, standardizes_images_whose_extents_the_step_tells) {
  graph g;
  auto const x = placeholder(g, of<float, unknown, unknown, unknown, 2>);
  session s{g};
  auto const y = per_image_standardization(value(x));
  auto const two = test::scattered(dtype::float32, {2, 3, 4, 2});
  auto const both = s.run({{x, two}}, y), second = s.run({{x, two.rows(1, 2)}}, y);
  EXPECT_TRUE(same_bits(both.rows(1, 2).clone(), second));
}

TEST(adjust, keeps_types_that_the_compiler_knows) {
  graph g;
  auto const x = placeholder<std::uint8_t, unknown, 4, 4, 3>(g);
  static_assert(std::same_as<decltype(adjust_brightness(x, 0.1)), decltype(adjust_contrast(x, 2))>);
  static_assert(decltype(random_brightness(x, 0.1))::static_type == of<std::uint8_t, unknown, 4, 4, 3>);
  static_assert(decltype(per_image_standardization(x))::static_type == of<float, unknown, 4, 4, 3>);
  static_assert(decltype(per_image_standardization(placeholder<half, 4, 4, 3>(g)))::static_type == of<half, 4, 4, 3>);
}

/// The changes of `steps` images by f, each an image of two pixels, 1 and 3; fails if an image's pixels were changed
/// differently.
std::vector<double> drawn(value (*f)(value), bool batch, bool known = true) {
  graph g(7);
  auto const x = placeholder(
      g, batch ? type(dtype::float64, {known ? dim(50) : unknown, 1, 2, 1}) : type(dtype::float64, {1, 2, 1}));
  auto const y = f(x);
  session s{g};
  std::vector<double> all;
  for (int step = 0; step < 20; ++step) {
    tensor in(dtype::float64, batch ? shape{50, 1, 2, 1} : shape{1, 2, 1});
    for (std::int64_t i = 0; i < in.elements(); ++i) in.mutable_data<double>()[i] = i % 2 == 0 ? 1 : 3;
    auto const out = s.run({{x, in}}, y);
    for (std::int64_t i = 0; i < in.elements(); i += 2) {
      auto const a = out.data<double>()[i], b = out.data<double>()[i + 1];
      all.push_back(a - 1);
      EXPECT_TRUE(std::abs(a - 1 - (b - 3)) < 1e-12 || std::abs(a + b - 4) < 1e-12);
    }
  }
  return all;
}

TEST(adjust, draws_changes_for_each_image_and_step) {
  auto const brighter = [](value x) { return random_brightness(x, 0.5); };
  auto const sharper = [](value x) { return random_contrast(x, 0.5, 1.5); };
  for (bool batch : {false, true})
    for (value (*f)(value) : {+brighter, +sharper}) {
      auto const all = drawn(f, batch);
      EXPECT_EQ(all, drawn(f, batch));
      std::set<double> const different(all.begin(), all.end());
      EXPECT_GT(different.size(), all.size() - 3);
      EXPECT_GE(*different.begin(), -0.5);
      EXPECT_LE(*different.rbegin(), 0.5);
      EXPECT_LT(*different.begin(), -0.2);
      EXPECT_GT(*different.rbegin(), 0.2);
    }
  EXPECT_EQ(drawn(+brighter, true, false), drawn(+brighter, true, false));
}

TEST(adjust, refuses_what_has_no_range) {
  graph g;
  auto const x = placeholder(g, of<std::int32_t, 2, 2, 1>);
  test::expect_error(code::invalid_argument, "images of floats or uint8", [&] { adjust_brightness(value(x), 0.1); });
  test::expect_error(code::invalid_argument, "images of floats or uint8", [&] { adjust_contrast(value(x), 2); });
  auto const flat = placeholder(g, of<float, 2, 2>);
  test::expect_error(code::invalid_argument, "need [height", [&] { random_brightness(value(flat), 0.1); });
  test::expect_error(code::invalid_argument, "must be positive", [&] { random_brightness(value(flat), 0); });
  test::expect_error(code::invalid_argument, "0 <= low < high", [&] { random_contrast(value(flat), 2, 1); });
}

}  // namespace
}  // namespace rill
