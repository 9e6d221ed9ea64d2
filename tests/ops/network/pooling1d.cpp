#include "rill/ops/network/pooling1d.hpp"

#include "../run.hpp"

namespace rill {
namespace {

using sequences = expr<of<float, "n", 7, 3>>;
static_assert(decltype(max_pool1d(sequences{}))::static_type == of<float, "n", 3, 3>);
static_assert(decltype(avg_pool1d<pooling1d{.window = 3, .stride = 2, .pad = padding::same}>(
                  sequences{}))::static_type == of<float, "n", 4, 3>);

TEST(pooling1d, takes_the_largest_or_the_mean_of_each_window) {
  auto const x = test::from_doubles(dtype::float64, {1, 5, 1}, {1, 4, 2, 8, 5});
  auto const of_x = [&](auto record) { return test::to_doubles(test::run(record, {x})); };
  using doubles = std::vector<double>;
  EXPECT_EQ(of_x([](auto const& in) { return max_pool1d(in[0], {}); }), (doubles{4, 8}));
  EXPECT_EQ(of_x([](auto const& in) { return avg_pool1d(in[0], {.window = 3, .stride = 1}); }),
            (doubles{7 / 3., 14 / 3., 5}));
  EXPECT_EQ(of_x([](auto const& in) { return avg_pool1d(in[0], {.pad = padding::given, .before = 1}); }),
            (doubles{1, 3, 6.5}));
}

TEST(pooling1d, refuses_what_does_not_fit) {
  graph g;
  auto const x = placeholder(g, of<float, 2, 7, 3>);
  auto const refuses = [&](char const* words, auto record) {
    test::expect_error(code::invalid_argument, words, record);
  };
  refuses("`before` and `after` need padding::given", [&] { avg_pool1d(x, {.after = 1}); });
  refuses("padding never counts", [&] { max_pool1d(x, {.count_padding = true}); });
  refuses("windows must be two positive numbers", [&] { max_pool1d(x, {.window = 0}); });
  refuses("strides must be two positive numbers", [&] { max_pool1d(x, {.stride = -1}); });
  refuses("larger than the padded image", [&] { max_pool1d(x, {.window = 8}); });
}

}  // namespace
}  // namespace rill
