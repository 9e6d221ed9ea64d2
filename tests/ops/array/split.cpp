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
  test::expect_error(code::invalid_argument, "is not a multiple of the number of parts",
                     [&] { s.run({{x, test::counting(dtype::float32, {5, 2})}}, parts[1]); });
}

TEST(split, refuses_what_does_not_divide) {
  graph g;
  auto x = placeholder(g, of<float, 3, 4>);
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("is not a multiple of the number of parts", [&] { split(x, 2); });
  refuses("the axis is out of range", [&] { split(x, 3, 2); });
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

TEST(split_lengths, gives_parts_of_which_one_is_what_the_others_leave) {
  graph g;
  auto const x = placeholder<float, "n", 6>(g, "x");
  auto const [a, b, c] = split_lengths<extents{2, -1, 1}, 1>(x);
  static_assert(decltype(a)::static_type == of<float, "n", 2> && decltype(b)::static_type == of<float, "n", 3>);
  auto const rows = split_lengths(x, {1, -1});
  auto const cut = split_at(x, {2, 2, 5}, -1);
  auto const [dx] = gradients(sum(b) + sum(c * c), x);
  session s{g};
  auto const in = matrix<float>({{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}});
  auto const [p, q, r] = s.run({{x, in}}, a, b, dx);
  EXPECT_TRUE(same_bits(p, matrix<float>({{1, 2}, {7, 8}})));
  EXPECT_TRUE(same_bits(q, matrix<float>({{3, 4, 5}, {9, 10, 11}})));
  EXPECT_TRUE(same_bits(r, matrix<float>({{0, 0, 1, 1, 1, 12}, {0, 0, 1, 1, 1, 24}})));
  EXPECT_TRUE(same_bits(s.run({{x, in}}, rows[1]), matrix<float>({{7, 8, 9, 10, 11, 12}})));
  EXPECT_EQ(s.run({{x, in}}, cut[1]).shape(), (shape{2, 0}));
  EXPECT_TRUE(same_bits(s.run({{x, in}}, cut[3]), matrix<float>({{6}, {12}})));
  auto const strict = split_lengths(x, {1, 2});
  test::expect_error(code::invalid_argument, "is not the extent of the axis: 3 against 2",
                     [&] { s.run({{x, in}}, strict[0]); });
}

TEST(split_lengths, refuses_lengths_that_do_not_fit) {
  graph g;
  value const x = placeholder(g, of<float, 3, 4>);
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("is not the extent of the axis: 4 against 3", [&] { split_lengths(x, {2, 2}); });
  refuses("is not the extent of the axis: 4 against 3", [&] { split_lengths(x, {4, -1}); });
  refuses("a length is negative", [&] { split_lengths(x, {-1, -1}); });
  refuses("a length is negative", [&] { split_lengths(x, {5, -2}); });
  refuses("does not fit in 64 bits", [&] { split_lengths(x, {INT64_MAX, INT64_MAX}); });
  refuses("the axis is out of range", [&] { split_lengths(x, {1, 2}, 2); });
  refuses("the number of parts is not between", [&] { split_lengths(x, {}); });
  refuses("less than the position before it", [&] { split_at(x, {2, 1}); });
}

}  // namespace
}  // namespace rill
