#include "rill/ops/network/max_pool.hpp"

#include "../run.hpp"

namespace rill {
namespace {

static_assert(ops::max_pool_op::infer({}, of<float, "n", 8, 7, 3>) == of<float, "n", 4, 3, 3>);
static_assert(ops::max_pool_op::infer({.window = {3, 3}, .stride = {2, 2}, .pad = padding::same},
                                      of<float, "n", 8, 7, 3>) == of<float, "n", 4, 4, 3>);

TEST(max_pool, is_the_largest_of_each_window) {
  auto const x = test::scattered(dtype::float32, {2, 6, 7, 3});
  auto const y = test::run(
      [](auto const& in) {
        return max_pool(in[0], {.window = {3, 2}, .stride = {2, 3}, .pad = padding::given, .pads = {1, 1, 0, 1}});
      },
      {x});
  ASSERT_EQ(y.shape(), (shape{2, 3, 3, 3}));
  for (std::int64_t n = 0; n < 2; ++n)
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t j = 0; j < 3; ++j)
        for (std::int64_t c = 0; c < 3; ++c) {
          float most = -INFINITY;
          for (std::int64_t p = 2 * i - 1; p < 2 * i + 2; ++p)
            for (std::int64_t q = 3 * j; q < 3 * j + 2; ++q)
              if (p >= 0 && p < 6 && q < 7) most = std::max(most, x.at<float>(n, p, q, c));
          EXPECT_EQ(y.at<float>(n, i, j, c), most);
        }
}

TEST(max_pool, gives_the_gradient_and_picks_at_the_first_of_equals) {
  auto const x = test::from_doubles(dtype::float32, {1, 2, 4, 1}, {1, 2, 5, 5, 2, 0, NAN, 5});
  auto const dx = test::run([](auto const& in) { return max_pool_gradient(in[0], in[1], {}); },
                            {x, test::from_doubles(dtype::float32, {1, 1, 2, 1}, {3, 4})});
  EXPECT_EQ(test::to_doubles(dx), (std::vector<double>{0, 3, 0, 0, 0, 0, 4, 0}));
  auto const picked = test::run([](auto const& in) { return max_pool_pick(in[0], in[1], {}); },
                                {x, test::counting(dtype::float32, {1, 2, 4, 1})});
  EXPECT_EQ(test::to_doubles(picked), (std::vector<double>{2, 7}));
}

TEST(max_pool, refuses_what_does_not_fit) {
  graph g;
  auto const p = [&](type const& t) { return placeholder(g, t); };
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  auto const image = p(of<float, 1, 8, 8, 3>);
  refuses("larger than the padded image", [&] { max_pool(image, {.window = {9, 9}}); });
  refuses("not of rank 4", [&] { max_pool(p(of<float, 8, 8>), {}); });
  refuses("windows must be two positive numbers", [&] { max_pool(image, {.window = {0, 2}}); });
  refuses("windows must be two positive numbers", [&] { max_pool(image, {.window = {2}}); });
  refuses("strides must be two positive numbers", [&] { max_pool(image, {.stride = {1, 0}}); });
  refuses("must be smaller than the window", [&] { max_pool(image, {.pad = padding::given, .pads = {2, 0, 0, 0}}); });
  refuses("not of real numbers", [&] { max_pool(p(of<std::complex<float>, 1, 8, 8, 3>), {}); });
  refuses("not of the windows' extents", [&] { max_pool_gradient(image, p(of<float, 1, 4, 3, 3>), {}); });
  refuses("not of the windows' extents", [&] { max_pool_gradient(image, p(of<double, 1, 4, 4, 3>), {}); });
  refuses("not of the images' extents", [&] { max_pool_pick(image, p(of<float, 1, 4, 4, 3>), {}); });
}

}  // namespace
}  // namespace rill
