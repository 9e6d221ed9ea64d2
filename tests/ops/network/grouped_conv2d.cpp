#include "rill/ops/network/grouped_conv2d.hpp"

#include "../run.hpp"
#include "rill/ops/network/depthwise_conv2d.hpp"

namespace rill {
namespace {

using images = expr<of<float, "n", 8, 8, 4>>;
static_assert(decltype(grouped_conv2d<2>(images{}, expr<of<float, 3, 3, 2, 6>>{}))::static_type ==
              of<float, "n", 8, 8, 6>);
static_assert(decltype(grouped_conv2d<4, convolution{.stride = {2, 2}}>(images{},
                                                                        expr<of<float, 3, 3, 1, 4>>{}))::static_type ==
              of<float, "n", 4, 4, 4>);

TEST(grouped_conv2d, of_one_group_is_conv2d_and_of_groups_of_one_channel_depthwise_conv2d) {
  auto const x = test::scattered(dtype::float64, {2, 5, 4, 4}), f = test::scattered(dtype::float64, {3, 2, 4, 2}, 2),
             thin = test::scattered(dtype::float64, {3, 2, 1, 8}, 3);
  auto const run = [](auto const& record, std::vector<tensor> const& in) {
    return test::to_doubles(test::run(record, in));
  };
  EXPECT_EQ(run([](auto const& in) { return grouped_conv2d(in[0], in[1], 1); }, {x, f}),
            run([](auto const& in) { return conv2d(in[0], in[1], {}); }, {x, f}));
  auto const a = run([](auto const& in) { return grouped_conv2d(in[0], in[1], 4); }, {x, thin}),
             b = run([](auto const& in) { return depthwise_conv2d(in[0], in[1], {}); },
                     {x, thin.reshaped({3, 2, 4, 2})});
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-14);
}

TEST(grouped_conv2d, refuses_groups_that_do_not_divide) {
  graph g;
  auto const x = placeholder(g, of<float, 1, 5, 5, 6>);
  auto const refuses = [&](char const* words, type const& f, std::int64_t groups) {
    test::expect_error(code::invalid_argument, words, [&] { grouped_conv2d(x, placeholder(g, f), groups); });
  };
  refuses("not a multiple of the number of parts", of<float, 3, 3, 2, 8>, 4);
  refuses("not a multiple of the number of parts", of<float, 3, 3, 2, 8>, 3);
  refuses("differ in their channels", of<float, 3, 3, 6, 8>, 2);
  for (std::int64_t wrong : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX, INT64_MIN})
    refuses("number of parts is not between", of<float, 3, 3, 3, 8>, wrong);
}

}  // namespace
}  // namespace rill
