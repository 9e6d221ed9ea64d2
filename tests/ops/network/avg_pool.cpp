#include "rill/ops/network/avg_pool.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

static_assert(ops::avg_pool_op::infer({}, of<float, "n", 8, 7, 3>) == of<float, "n", 4, 3, 3>);
static_assert(ops::avg_pool_op::infer({.window = {3, 3}, .stride = {2, 2}, .pad = padding::same},
                                      of<float, "n", 8, 7, 3>) == of<float, "n", 4, 4, 3>);
using images = expr<of<float, "n", 8, 7, 3>>;
static_assert(decltype(avg_pool(images{}))::static_type == of<float, "n", 4, 3, 3>);
static_assert(decltype(global_avg_pool(images{}))::static_type == of<float, "n", 3>);
static_assert(decltype(global_max_pool(images{}, keep))::static_type == of<float, "n", 1, 1, 3>);

// Windows of 3 x 2 and strides of 2 x 3, with a row above, and a row and a column behind.
average_pooling how(bool counted) {
  return {.window = {3, 2}, .stride = {2, 3}, .pad = padding::given, .pads = {1, 1, 0, 1}, .count_padding = counted};
}

TEST(avg_pool, is_the_mean_of_each_window_with_or_without_padding) {
  for (std::int64_t channels : {1, 3, 130})
    for (bool counted : {false, true}) {
      auto const x = test::scattered(dtype::float64, {2, 6, 7, channels});
      auto const y = test::run([&](auto const& in) { return avg_pool(in[0], how(counted)); }, {x});
      ASSERT_EQ(y.shape(), (shape{2, 3, 3, channels}));
      for (std::int64_t n = 0; n < 2; ++n)
        for (std::int64_t i = 0; i < 3; ++i)
          for (std::int64_t j = 0; j < 3; ++j)
            for (std::int64_t c = 0; c < channels; ++c) {
              double sum = 0, count = 0;
              for (std::int64_t p = 2 * i - 1; p < 2 * i + 2; ++p)
                for (std::int64_t q = 3 * j; q < 3 * j + 2; ++q)
                  if (p >= 0 && p < 6 && q < 7) sum += x.at<double>(n, p, q, c), ++count;
              EXPECT_NEAR(y.at<double>(n, i, j, c), sum / (counted ? 6 : count), 1e-15);
            }
    }
}

TEST(avg_pool, shares_the_gradient_of_a_window_out_among_its_pixels) {
  graph g;
  auto const x = placeholder<double, 1, 3, 3, 1>(g);
  auto const ones = avg_pool<average_pooling{.window = {2, 2}, .stride = {1, 1}, .pad = padding::same}>(x);
  auto const counted =
      avg_pool<average_pooling{.window = {2, 2}, .stride = {1, 1}, .pad = padding::same, .count_padding = true}>(x);
  auto const [a] = gradients(sum(ones), x);
  auto const [b] = gradients(sum(counted), x);
  session s{g};
  auto const at = tensor_of<of<double, 1, 3, 3, 1>>(test::scattered(dtype::float64, {1, 3, 3, 1}));
  auto const [da, db] = s.run({{x, at}}, a, b);
  // Windows at the right and the lower edge have 2 pixels, the one in the corner has 1.
  EXPECT_EQ(test::to_doubles(da), (std::vector<double>{0.25, 0.5, 0.75, 0.5, 1, 1.5, 0.75, 1.5, 2.25}));
  EXPECT_EQ(test::to_doubles(db), (std::vector<double>{0.25, 0.5, 0.5, 0.5, 1, 1, 0.5, 1, 1}));
}

TEST(avg_pool, of_halves_is_rounded_once) {
  // 2048 + 1 is 2048 in half precision.
  auto const x = test::from_doubles(dtype::float16, {1, 2, 2, 1}, {2048, 1, 1, 2});
  EXPECT_EQ(test::to_doubles(test::run([](auto const& in) { return avg_pool(in[0], {}); }, {x})),
            std::vector<double>{513});
}

TEST(avg_pool, of_whole_images_is_a_number_for_each_channel) {
  auto const x = test::counting(dtype::float32, {2, 2, 3, 2});
  EXPECT_EQ(test::to_doubles(test::run([](auto const& in) { return global_avg_pool(in[0]); }, {x})),
            (std::vector<double>{6, 7, 18, 19}));
  EXPECT_EQ(test::to_doubles(test::run([](auto const& in) { return global_max_pool(in[0]); }, {x})),
            (std::vector<double>{11, 12, 23, 24}));
  graph g;
  value const text = placeholder(g, of<float, 2, 3, 4>);
  test::expect_error(code::invalid_argument, "not of rank 4", [&] { global_avg_pool(text); });
  test::expect_error(code::invalid_argument, "not of rank 4", [&] { global_max_pool(text, keep); });
}

TEST(avg_pool, refuses_what_does_not_fit) {
  graph g;
  auto const p = [&](type const& t) { return placeholder(g, t); };
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  auto const image = p(of<float, 1, 8, 8, 3>);
  refuses("larger than the padded image", [&] { avg_pool(image, {.window = {9, 9}}); });
  refuses("not of rank 4", [&] { avg_pool(p(of<float, 8, 8>), {}); });
  refuses("windows must be two positive numbers", [&] { avg_pool(image, {.window = {0, 2}}); });
  refuses("must be smaller than the window", [&] { avg_pool(image, {.pad = padding::given, .pads = {2, 0, 0, 0}}); });
  refuses("not of floats", [&] { avg_pool(p(of<int, 1, 8, 8, 3>), {}); });
  refuses("not of the windows' extents", [&] { avg_pool_gradient(image, p(of<float, 1, 4, 3, 3>), {}); });
}

}  // namespace
}  // namespace rill
