#include "rill/ops/network/adaptive_pool.hpp"

#include "../run.hpp"

namespace rill {
namespace {

using images = expr<of<float, "n", 6, 5, 3>>;
static_assert(decltype(adaptive_avg_pool<2, 5>(images{}))::static_type == of<float, "n", 2, 5, 3>);
static_assert(decltype(adaptive_max_pool<4, 7>(images{}))::static_type == of<float, "n", 4, 7, 3>);

TEST(adaptive_pool, has_windows_that_overlap_where_the_extents_do_not_divide) {
  auto const x = test::from_doubles(dtype::float64, {1, 1, 5, 1}, {1, 2, 3, 4, 50});
  auto const of_x = [&](auto record) { return test::to_doubles(test::run(record, {x})); };
  using doubles = std::vector<double>;
  EXPECT_EQ(of_x([](auto const& in) { return adaptive_avg_pool(in[0], 1, 2); }), (doubles{2, 19}));
  EXPECT_EQ(of_x([](auto const& in) { return adaptive_max_pool(in[0], 1, 2); }), (doubles{3, 50}));
  EXPECT_EQ(of_x([](auto const& in) { return adaptive_max_pool(in[0], 1, 1); }), doubles{50});
  EXPECT_EQ(of_x([](auto const& in) { return adaptive_avg_pool(in[0], 2, 5); }),
            (doubles{1, 2, 3, 4, 50, 1, 2, 3, 4, 50}));
}

TEST(adaptive_pool, refuses_what_does_not_fit) {
  graph g;
  auto const refuses = [&](std::string const& words, type const& x, std::int64_t height, std::int64_t width) {
    test::expect_error(code::invalid_argument, words, [&] { adaptive_avg_pool(placeholder(g, x), height, width); });
  };
  refuses("known height and width, got float32[2, ?, 5, 3]", of<float, 2, unknown, 5, 3>, 2, 2);
  refuses("known height and width, got float32[2, 0, 5, 3]", of<float, 2, 0, 5, 3>, 2, 2);
  refuses("known height and width, got float32[2, 5, 3]", of<float, 2, 5, 3>, 2, 2);
  refuses("adaptive_avg_pool: expected floats, got int32[2, 5, 5, 3]; cast it", of<int, 2, 5, 5, 3>, 2, 2);
  auto const x = of<float, 2, 5, 5, 3>;
  for (std::int64_t wrong : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX, INT64_MIN, std::int64_t{65536}})
    refuses("a height and width from 1 to 65535, got 2 and " + std::to_string(wrong), x, 2, wrong);
}

}  // namespace
}  // namespace rill
