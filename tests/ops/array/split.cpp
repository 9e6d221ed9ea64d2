#include "rill/ops/array/split.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

static_assert(ops::split_op::part({3, 1}, of<float, "n", 6>) == of<float, "n", 2>);
static_assert(ops::split_op::part({3, 0}, of<float, "n", 6>) == of<float, unknown, 6>);
static_assert(ops::split_op::part({1, 0}, of<float, "n", 6>) == of<float, "n", 6>);

TEST(split, gives_equal_parts_that_concat_puts_together_again) {
  for (auto d : {dtype::float32, dtype::boolean, dtype::string, dtype::complex128})
    for (std::int64_t axis : {0, 1, -1}) {
      auto const x = test::counting(d, {4, 6, 2});
      auto const together = [=](auto const& in) { return concat(split(in[0], 2, axis), axis); };
      EXPECT_TRUE(same_bits(test::run(together, {x}), x)) << name(d) << axis;
      auto const second = test::run([=](auto const& in) { return split(in[0], 2, axis)[1]; }, {x});
      auto begin = extents{0, 0, 0}, size = extents{-1, -1, -1};
      auto const at = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
      begin[at] = x.shape()[at] / 2;
      EXPECT_TRUE(same_bits(second, test::run([=](auto const& in) { return slice(in[0], begin, size); }, {x})));
    }
}

TEST(split, has_a_gradient_that_is_0_for_parts_that_nobody_took) {
  graph g;
  auto x = placeholder<float, 2, 6>(g, "x");
  auto [a, b, c] = split<3, 1>(x);
  static_assert(decltype(a)::static_type == of<float, 2, 2>);
  auto [dx] = gradients(sum(a * a) + sum(c), x);
  auto [once] = gradients(sum(b), x);
  session s{g};
  auto const [two, one] = s.run({{x, tensor_of<of<float, 2, 6>>(test::counting(dtype::float32, {2, 6}))}}, dx, once);
  EXPECT_EQ(test::to_doubles(two), (std::vector<double>{2, 4, 0, 0, 1, 1, 14, 16, 0, 0, 1, 1}));
  EXPECT_EQ(test::to_doubles(one), (std::vector<double>{0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0}));
}

TEST(split, of_open_extents_is_checked_by_the_run) {
  graph g;
  auto x = placeholder<float, "n", 2>(g, "x");
  auto const parts = split<2>(x);
  static_assert(decltype(parts[0] + parts[1])::static_type == of<float, unknown, 2>);
  auto [dx] = gradients(sum(parts[1]), x);
  session s{g};
  EXPECT_EQ(s.run({{x, test::counting(dtype::float32, {6, 2})}}, parts[1]).at<float>(0, 0), 7);
  EXPECT_EQ(test::to_doubles(s.run({{x, test::counting(dtype::float32, {2, 2})}}, dx)),
            (std::vector<double>{0, 0, 1, 1}));
  test::expect_error(code::invalid_argument, "does not fall into that many equal parts",
                     [&] { s.run({{x, test::counting(dtype::float32, {5, 2})}}, parts[1]); });
}

TEST(split, refuses_what_does_not_divide) {
  graph g;
  auto x = placeholder(g, of<float, 3, 4>);
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("does not fall into that many equal parts", [&] { split(x, 2); });
  refuses("the axis lies outside", [&] { split(x, 3, 2); });
  refuses("the number of parts is not between", [&] { split(x, 0); });
  refuses("the number of parts is not between", [&] { split(x, INT64_MAX); });
}

TEST(split, has_as_many_parts_as_a_node_has_outputs) {
  graph g;
  auto const all = split(placeholder(g, of<float, unknown>, "x"), 65535, 0);
  ASSERT_EQ(all.size(), 65535u);
  tensor in(dtype::float32, {65535});
  for (int i = 0; i < 65535; ++i) in.mutable_data<float>()[i] = static_cast<float>(i);
  session s{g};
  EXPECT_EQ(s.run({{"x", in}}, all[65534]).item<float>(), 65534);
  auto const more = placeholder(g, of<float, 65536>, "more");
  test::expect_error(code::invalid_argument, "between 1 and 65535", [&] { split(more, 65536, 0); });
}

}  // namespace
}  // namespace rill
