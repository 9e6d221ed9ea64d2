#include "rill/ops/image/upsample.hpp"

#include "../run.hpp"

namespace rill {
namespace {

static_assert(decltype(upsample_nearest<2>(expr<of<float, "n", 4, 5, 3>>{}))::static_type == of<float, "n", 8, 10, 3>);
static_assert(decltype(upsample_bilinear<3>(expr<of<std::uint8_t, 4, 5, 3>>{}))::static_type == of<float, 12, 15, 3>);

TEST(upsample, repeats_pixels_or_blends_them) {
  auto const x = test::from_doubles(dtype::float64, {1, 2, 1}, {0, 4});
  auto const of_x = [&](auto record) { return test::to_doubles(test::run(record, {x})); };
  using doubles = std::vector<double>;
  EXPECT_EQ(of_x([](auto const& in) { return upsample_nearest(in[0], 2); }), (doubles{0, 0, 4, 4, 0, 0, 4, 4}));
  EXPECT_EQ(of_x([](auto const& in) { return upsample_bilinear(in[0], 2); }), (doubles{0, 1, 3, 4, 0, 1, 3, 4}));
}

TEST(upsample, refuses_what_does_not_fit) {
  graph g;
  auto const refuses = [&](char const* words, type const& x, std::int64_t factor) {
    test::expect_error(code::invalid_argument, words, [&] { upsample_nearest(placeholder(g, x), factor); });
  };
  refuses("known height and width", of<float, 2, unknown, 5, 3>, 2);
  refuses("known height and width", of<float, 5, 3>, 2);
  for (std::int64_t wrong : {std::int64_t{0}, std::int64_t{-2}, INT64_MAX, INT64_MIN})
    refuses("factor must be from 1 to 16777216", of<float, 2, 5, 5, 3>, wrong);
  refuses("from 1 to 16777216", of<float, 2, 5, 5, 3>, 16777216);
  refuses("up to 16777216", of<float, 2, 4611686018427387904, 5, 3>, 16);
}

}  // namespace
}  // namespace rill
