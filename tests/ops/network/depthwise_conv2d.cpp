#include "rill/ops/network/depthwise_conv2d.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

static_assert(ops::depthwise_conv2d_op::infer({}, of<float, "n", 8, "w", 3>, of<float, 3, 3, 3>) ==
              of<float, "n", 8, "w", 3>);
static_assert(ops::depthwise_conv2d_op::infer({.stride = {2, 2}, .pad = padding::valid}, of<float, 1, 7, 6, 3>,
                                              of<float, 3, 3, unknown>) == of<float, 1, 3, 2, 3>);
using images = expr<of<float, "n", 8, 8, 3>>;
static_assert(decltype(depthwise_conv2d(images{}, expr<of<float, 3, 3, 3>>{}))::static_type == of<float, "n", 8, 8, 3>);
static_assert(decltype(depthwise_conv2d(images{}, expr<of<float, 3, 3, 3, 1>>{}))::static_type ==
              of<float, "n", 8, 8, 3>);
static_assert(decltype(depthwise_conv2d(images{}, expr<of<float, 3, 3, 3, 4>>{}))::static_type ==
              of<float, "n", 8, 8, 12>);
static_assert(decltype(separable_conv2d(images{}, expr<of<float, 3, 3, 3, 2>>{},
                                        expr<of<float, 1, 1, 6, 5>>{}))::static_type == of<float, "n", 8, 8, 5>);

// The convolution with a filter of [height, width, channels, channels] that is 0 beside the diagonal.
tensor on_a_diagonal(tensor const& f) {
  auto const& s = f.shape();
  tensor all(f.element(), {s[0], s[1], s[2], s[2]});
  std::vector<double> const from = test::to_doubles(f);
  std::vector<double> to(static_cast<std::size_t>(all.elements()), 0.);
  auto const channels = static_cast<std::size_t>(s[2]);
  for (std::size_t i = 0; i < from.size(); ++i) to[i * channels + i % channels] = from[i];
  return test::from_doubles(f.element(), all.shape(), to);
}

TEST(depthwise_conv2d, is_a_conv2d_whose_channels_do_not_meet) {
  convolution const ways[] = {{},
                              {.stride = {2, 3}, .pad = padding::valid},
                              {.stride = {3, 2}, .dilation = {2, 3}},
                              {.stride = {5, 1}, .pad = padding::given, .pads = {4, 3, 1, 6}}};
  for (std::int64_t channels : {1, 3, 16, 47, 70})  // parts of a register, registers, and blocks of them
    for (auto const& how : ways) {
      auto const x = test::scattered(dtype::float64, {3, 9, 8, channels}),
                 f = test::scattered(dtype::float64, {3, 2, channels}, 2), whole = on_a_diagonal(f);
      auto const expect = [&](auto const& mine, auto const& other, tensor const& filter, tensor const& theirs) {
        auto const a = test::to_doubles(test::run(mine, {x, filter}, 2)),
                   b = test::to_doubles(test::run(other, {x, theirs}));
        ASSERT_EQ(a.size(), b.size());
        for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-12) << channels << " channels, " << i;
      };
      expect([&](auto const& in) { return depthwise_conv2d(in[0], in[1], how); },
             [&](auto const& in) { return conv2d(in[0], in[1], how); }, f, whole);
      expect(
          [&](auto const& in) { return gradients(sum(square(depthwise_conv2d(in[0], in[1], how)), {}), {in[0]})[0]; },
          [&](auto const& in) { return gradients(sum(square(conv2d(in[0], in[1], how)), {}), {in[0]})[0]; }, f, whole);
      auto const mine = test::run(
          [&](auto const& in) { return gradients(sum(square(depthwise_conv2d(in[0], in[1], how)), {}), {in[1]})[0]; },
          {x, f});
      auto const other =
          test::run([&](auto const& in) { return gradients(sum(square(conv2d(in[0], in[1], how)), {}), {in[1]})[0]; },
                    {x, whole});
      auto const a = test::to_doubles(mine), b = test::to_doubles(other);
      for (std::size_t i = 0; i < a.size(); ++i) {
        auto const n = static_cast<std::size_t>(channels);
        ASSERT_NEAR(a[i], b[i * n + i % n], 1e-11) << channels << " channels, " << i;
      }
    }
}

TEST(depthwise_conv2d, has_a_filter_gradient_of_the_same_bits_from_any_number_of_threads_and_for_many_images) {
  auto const x = test::scattered(dtype::float32, {130, 4, 3, 5}), f = test::scattered(dtype::float32, {2, 2, 5}, 2),
             dy = test::scattered(dtype::float32, {130, 4, 3, 5}, 3);
  auto const record = [](auto const& in) { return depthwise_conv2d_filter_gradient(in[0], in[1], in[2], {}); };
  auto const one = test::run(record, {x, f, dy}, 1), four = test::run(record, {x, f, dy}, 4);
  EXPECT_TRUE(same_bits(one, four));
  auto const exact = test::to_doubles(
      test::run(record, {test::scattered(dtype::float64, {130, 4, 3, 5}), test::scattered(dtype::float64, {2, 2, 5}, 2),
                         test::scattered(dtype::float64, {130, 4, 3, 5}, 3)}));
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(test::to_doubles(one)[i], exact[i], 1e-4);
}

TEST(depthwise_conv2d, repeats_channels_for_a_multiplier_where_only_the_run_knows_the_images_extents) {
  graph g;
  auto const open = placeholder<double, "n", "height", "width", 3>(g, "open");
  auto const fixed = placeholder<double, 2, 4, 5, 3>(g, "fixed");
  auto const f = placeholder<double, 2, 2, 3, 2>(g, "f");
  auto const a = depthwise_conv2d(open, f);
  auto const b = depthwise_conv2d(fixed, f);
  static_assert(decltype(a)::static_type == of<double, "n", "height", "width", 6>);
  auto const [da] = gradients(sum(square(a)), open);
  auto const [db] = gradients(sum(square(b)), fixed);
  session s{g};
  auto const x = test::scattered(dtype::float64, {2, 4, 5, 3});
  auto const [p, q, dp, dq] =
      s.run({{open, x}, {fixed, x}, {f, test::scattered(dtype::float64, {2, 2, 3, 2})}}, a, b, da, db);
  EXPECT_TRUE(same_bits(p, q));
  EXPECT_TRUE(same_bits(dp, dq));
}

TEST(depthwise_conv2d, refuses_what_does_not_fit) {
  graph g;
  auto const p = [&](type const& t) { return placeholder(g, t); };
  auto const refuses = [&](char const* words, type const& x, type const& f, convolution const& how = {}) {
    test::expect_error(code::invalid_argument, words, [&] { depthwise_conv2d(p(x), p(f), how); });
  };
  auto const x = of<float, 1, 5, 5, 3>;
  refuses("image and filter differ in their channels: 3 against 4", x, of<float, 2, 2, 4>);
  refuses("image and filter differ in their channels: 6 against 8", x, of<float, 2, 2, 4, 2>);
  refuses("the filter is not of rank 3", x, of<float, 2, 2>);
  refuses("the image is not of rank 4", of<float, 5, 5, 3>, of<float, 2, 2, 3>);
  refuses("different element types", x, of<double, 2, 2, 3>);
  refuses("not floats", of<int, 1, 5, 5, 3>, of<int, 2, 2, 3>);
  refuses("larger than the padded image", x, of<float, 6, 2, 3>, {.pad = padding::valid});
  refuses("strides must be two positive numbers", x, of<float, 2, 2, 3>, {.stride = {0, 1}});
  refuses("from 1 to 65535", x, of<float, 2, 2, 3, 0>);
  refuses("from 1 to 65535", x, of<float, 2, 2, 3, 65536>);
  refuses("from 1 to 65535", x, of<float, 2, 2, 3, unknown>);
  refuses("extents of a filter", x, of<float, unknown, 2, 3, 2>);
}

}  // namespace
}  // namespace rill
