#include "rill/ops/array/subscript.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

using ops::subscripts;

static_assert(detail::subscripts_of(2).of(of<float, "n", 4>) == of<float, 4>);
static_assert(detail::subscripts_of(all(), -1).of(of<float, "n", 4>) == of<float, "n">);
static_assert(detail::subscripts_of(seq{.step = -1}, seq{1, 3}).of(of<float, "n", 4>) == of<float, "n", 2>);
static_assert(detail::subscripts_of(seq{1}, seq{.step = 3}).of(of<float, "n", 4>) == of<float, unknown, 2>);

// What Python's range(*slice(begin, end, step).indices(n)) has.
std::vector<std::int64_t> positions(seq s, std::int64_t n) {
  auto const p = detail::subscripts_of(s).along(0, n);
  std::vector<std::int64_t> all;
  for (std::int64_t k = 0; k < p.count; ++k) all.push_back(p.first + k * p.step);
  return all;
}

TEST(subscript, has_the_positions_of_python) {
  using list = std::vector<std::int64_t>;
  EXPECT_EQ(positions({}, 4), (list{0, 1, 2, 3}));
  EXPECT_EQ(positions({1, 3}, 4), (list{1, 2}));
  EXPECT_EQ(positions({.begin = -2}, 4), (list{2, 3}));
  EXPECT_EQ(positions({.end = -1}, 4), (list{0, 1, 2}));
  EXPECT_EQ(positions({.begin = -9, .end = 9}, 4), (list{0, 1, 2, 3}));
  EXPECT_EQ(positions({.begin = 3, .end = 1}, 4), (list{}));
  EXPECT_EQ(positions({.step = 3}, 8), (list{0, 3, 6}));
  EXPECT_EQ(positions({.step = -1}, 4), (list{3, 2, 1, 0}));
  EXPECT_EQ(positions({.step = -2}, 4), (list{3, 1}));
  EXPECT_EQ(positions({.begin = 1, .step = -1}, 4), (list{1, 0}));
  EXPECT_EQ(positions({.begin = 9, .end = -3, .step = -1}, 4), (list{3, 2}));
  EXPECT_EQ(positions({.begin = -9, .step = -1}, 4), (list{}));
  EXPECT_EQ(positions({.begin = 2}, 0), (list{}));
  EXPECT_EQ(positions({.step = -1}, 0), (list{}));
  EXPECT_EQ(positions({.begin = INT64_MAX, .end = INT64_MIN + 1, .step = INT64_MIN}, 4), (list{3}));
  EXPECT_EQ(positions({.begin = 1, .end = INT64_MAX, .step = INT64_MAX}, 4), (list{1}));
}

TEST(subscript, takes_positions_of_each_axis) {
  auto const x = test::counting(dtype::float32, {3, 4, 5});
  auto const taken = [&](auto... at) { return test::run([&](auto const& in) { return in[0](at...); }, {x}); };
  auto const row = taken(1);
  ASSERT_EQ(row.shape(), (shape{4, 5}));
  EXPECT_EQ(row.at<float>(2, 3), x.at<float>(1, 2, 3));
  auto const last = taken(all(), all(), -1);
  ASSERT_EQ(last.shape(), (shape{3, 4}));
  EXPECT_EQ(last.at<float>(2, 3), x.at<float>(2, 3, 4));
  auto const stepped = taken(seq{.step = -2}, 2, seq{.begin = 1, .step = 3});
  ASSERT_EQ(stepped.shape(), (shape{2, 2}));
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 2; ++k) EXPECT_EQ(stepped.at<float>(i, k), x.at<float>(2 - 2 * i, 2, 1 + 3 * k));
  EXPECT_EQ(taken(1, 2, 3).item<float>(), x.at<float>(1, 2, 3));
  EXPECT_EQ(taken(seq{2, 2}).shape(), (shape{0, 4, 5}));
}

TEST(subscript, takes_strings_and_any_number_of_threads) {
  auto const words = vector<std::string>({"a", "", "long enough to be on the heap"});
  EXPECT_TRUE(same_bits(test::run([](auto const& in) { return in[0](seq{.step = -2}); }, {words}),
                        vector<std::string>({"long enough to be on the heap", "a"})));
  auto const x = test::scattered(dtype::float64, {61, 40, 7});
  for (auto const& at : {detail::subscripts_of(seq{.step = 2}, 3), detail::subscripts_of(all(), seq{30, 2, -3}),
                         detail::subscripts_of(all(), all(), seq{.step = 2})}) {
    auto const f = [&](auto const& in) { return subscript(in[0], at); };
    EXPECT_TRUE(same_bits(test::run(f, {x}, 1), test::run(f, {x}, 4)));
  }
}

TEST(subscript, keeps_what_the_compiler_knows) {
  graph g;
  auto const x = placeholder<float, "n", 4, 6>(g);
  static_assert(decltype(x[0])::static_type == of<float, 4, 6>);
  static_assert(decltype(x(all(), 2))::static_type == of<float, "n", 6>);
  static_assert(decltype(x(seq{1}, all(), seq{2, 4}))::static_type == of<float, unknown, 4, unknown>);
  auto const y = subscript<all(), seq{0, 3}, -1>(x);
  static_assert(decltype(y)::static_type == of<float, "n", 3>);
  auto const z = x(all(), seq{0, 3}, -1);
  EXPECT_EQ(z.type(), (of<float, "n", 3>));  // the graph knows more than the compiler
  auto const which = placeholder<std::int32_t>(g);
  static_assert(decltype(x[which])::static_type == of<float, 4, 6>);
  session s{g};
  auto const fed = tensor_of<of<float, 2, 4, 6>>(test::counting(dtype::float32, {2, 4, 6}));
  auto const [a, b, c] = s.run({{x, fed}, {which, tensor(std::int32_t{1})}}, y, z, x[which]);
  EXPECT_TRUE(same_bits(a, b));
  EXPECT_EQ(a.at<float>(1, 2), fed.at<float>(1, 2, 5));
  EXPECT_TRUE(same_bits(c, fed.rows(1, 2).reshaped({4, 6})));
}

TEST(subscript, has_a_gradient_that_is_0_beside_the_part) {
  graph g;
  auto const x = placeholder<float, 2, 4>(g);
  auto const y = x(1, seq{.step = -2});
  auto const [dx] = gradients(sum(y * y), x);
  session s{g};
  auto const r = s.run({{x, tensor_of<of<float, 2, 4>>(test::counting(dtype::float32, {2, 4}))}}, dx);
  EXPECT_EQ(test::to_doubles(r), (std::vector<double>{0, 0, 0, 0, 0, 12, 0, 16}));
}

TEST(subscript, refuses_what_is_not_there) {
  graph g;
  auto const x = placeholder(g, of<float, 3, unknown>);
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("an index is out of range for its axis: 3 against 3", [&] { x[3]; });
  refuses("an index is out of range for its axis: -4 against 3", [&] { x[-4]; });
  refuses("more subscripts than the operand has axes", [&] { x(0, 0, 0); });
  refuses("a step is 0", [&] { x(seq{.step = 0}); });
  auto const y = x(0, 5);
  session s{g};
  EXPECT_EQ(s.run({{x, test::counting(dtype::float32, {3, 6})}}, y).item<float>(), 6);  // which counts from 1
  refuses("an index is out of range for its axis: 5 against 5 (float32[3, 5])",
          [&] { s.run({{x, test::counting(dtype::float32, {3, 5})}}, y); });
  refuses("different lengths", [&] { subscript(x, subscripts{{0}, {}, {1}}); });
}

}  // namespace
}  // namespace rill
