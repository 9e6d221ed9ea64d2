#include "rill/ops/network/conv1d.hpp"

#include "../run.hpp"

namespace rill {
namespace {

using sequences = expr<of<float, "n", "time", 3>>;
using filter = expr<of<float, 3, 3, 8>>;
static_assert(decltype(conv1d(sequences{}, filter{}))::static_type == of<float, "n", "time", 8>);
static_assert(decltype(conv1d<convolution1d{.stride = 2}>(expr<of<float, 2, 7, 3>>{}, filter{}))::static_type ==
              of<float, 2, 4, 8>);
static_assert(decltype(conv1d<convolution1d{.pad = padding::given, .before = 2}>(expr<of<float, 2, 7, 3>>{},
                                                                                 filter{}))::static_type ==
              of<float, 2, 7, 8>);

TEST(conv1d, sums_what_lies_before_for_a_causal_filter) {
  auto const y = test::run(
      [](auto const& in) { return conv1d(in[0], in[1], {.dilation = 2, .pad = padding::given, .before = 2}); },
      {test::from_doubles(dtype::float64, {1, 5, 1}, {1, 2, 3, 4, 5}),
       test::from_doubles(dtype::float64, {2, 1, 1}, {10, 1})});
  EXPECT_EQ(test::to_doubles(y), (std::vector<double>{1, 2, 13, 24, 35}));
}

TEST(conv1d, refuses_what_does_not_fit) {
  graph g;
  auto const x = placeholder(g, of<float, 2, 7, 3>), f = placeholder(g, of<float, 3, 3, 8>);
  auto const refuses = [&](char const* words, auto record) {
    test::expect_error(code::invalid_argument, words, record);
  };
  refuses("`before` and `after` need padding::given", [&] { conv1d(x, f, {.before = 1}); });
  refuses("a padding is negative", [&] { conv1d(x, f, {.pad = padding::given, .before = -1}); });
  refuses("strides must be two positive numbers", [&] { conv1d(x, f, {.stride = 0}); });
  refuses("differ in their channels", [&] { conv1d(x, placeholder(g, of<float, 3, 4, 8>), {}); });
  refuses("not of rank 4", [&] { conv1d(placeholder(g, of<float, 7, 3>), f, {}); });
}

}  // namespace
}  // namespace rill
