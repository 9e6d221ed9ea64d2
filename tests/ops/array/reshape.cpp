#include "rill/ops/array/reshape.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

using ops::reshaped;

static_assert(reshaped(of<float, 2, 6>, of<float, 3, unknown>) == of<float, 3, 4>);
static_assert(reshaped(of<float, "n", 8, 8>, of<float, "n", 64>) == of<float, "n", 64>);
static_assert(reshaped(of<float, "n", 8, 8>, of<float, unknown, 64>) == of<float, unknown, 64>);
static_assert(reshaped(of<float, "n", 8, 8>, of<float, "n", unknown>) == of<float, "n", 64>);
static_assert(reshaped(of<float, 5, 8, 8>, of<float, "n", 64>) == of<float, 5, 64>);
static_assert(reshaped(of<float, 0, 8, 8>, of<float, "n", 64>) == of<float, 0, 64>);
static_assert(reshaped(of<float, "a", "b", 4>, of<float, "b", 2, "a", 2>) == of<float, "b", 2, "a", 2>);
static_assert(reshaped(of<float>, of<float, 1, 1>) == of<float, 1, 1>);
static_assert(reshaped(of<float, 0, 3>, of<float, 7, 0>) == of<float, 7, 0>);

TEST(reshape, keeps_the_elements_in_their_order) {
  auto const x = test::counting(dtype::float32, {2, 6});
  auto const y = test::run([](auto const& in) { return reshape(in[0], extents{3, -1}); }, {x});
  EXPECT_EQ(y.shape(), (shape{3, 4}));
  EXPECT_EQ(test::to_doubles(y), test::to_doubles(x));
}

TEST(reshape, infers_an_extent_that_only_the_run_knows) {
  graph g;
  auto x = placeholder<float, "n", 2, 3>(g);
  auto y = reshape<"n", 6>(x);
  static_assert(decltype(y)::static_type == of<float, "n", 6>);
  auto z = reshape<unknown, 3>(x);
  auto [dx] = gradients(sum(z * z), x);
  session s{g};
  auto const fed = tensor_of<of<float, 4, 2, 3>>(test::counting(dtype::float32, {4, 2, 3}));
  auto const [a, b, c] = s.run({{x, fed}}, y, z, dx);
  EXPECT_EQ(a.shape(), (shape{4, 6}));
  EXPECT_EQ(b.shape(), (shape{8, 3}));
  EXPECT_EQ(c.shape(), (shape{4, 2, 3}));
  EXPECT_EQ(c.values()[5], 12);
}

// One number for the whole step, as docs/guide.md says: also where a name is given to what the run computes.
TEST(reshape, gives_a_name_that_is_one_number_in_the_whole_step) {
  graph g;
  auto x = placeholder<float, unknown, 6>(g);
  auto rows = placeholder<float, "batch", 3>(g);
  auto y = reshape<"batch", 3>(x);
  static_assert(decltype(y)::static_type == of<float, "batch", 3>);
  auto both = y + rows;
  static_assert(decltype(both)::static_type == of<float, "batch", 3>);
  session s{g};
  auto const fed = [](shape const& extents) { return test::counting(dtype::float32, extents); };
  EXPECT_EQ(s.run({{x, fed({2, 6})}, {rows, fed({4, 3})}}, both).shape(), (shape{4, 3}));
  for (auto const& [of_x, of_rows] : {std::pair{shape{2, 6}, shape{5, 3}}, {shape{2, 6}, shape{1, 3}}})
    test::expect_error(code::invalid_argument, "'batch'", [&] { s.run({{x, fed(of_x)}, {rows, fed(of_rows)}}, both); });
  // Names that two values were given by hand are one axis too.
  auto z = reshape<"batch", 1>(placeholder<float, unknown>(g, "z"));
  auto sum = y * z;
  EXPECT_EQ(s.run({{x, fed({2, 6})}, {"z", fed({4})}}, sum).shape(), (shape{4, 3}));
  test::expect_error(code::invalid_argument, "'batch'", [&] { s.run({{x, fed({2, 6})}, {"z", fed({1})}}, sum); });
}

TEST(reshape, refuses_another_number_of_elements) {
  graph g;
  auto x = placeholder(g, of<float, 2, 6>);
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("number of elements changes", [&] { reshape(x, extents{5}); });
  refuses("number of elements changes", [&] { reshape(x, extents{5, -1}); });
  refuses("at most one extent", [&] { reshape(x, extents{-1, -1}); });
  refuses("an extent is negative", [&] { reshape(x, extents{-2, 6}); });
  refuses("can't be inferred", [&] { reshape(placeholder(g, of<float, 0, 3>), extents{0, -1}); });
  refuses("more elements than 64 bits can count", [&] { reshape(x, extents{std::int64_t{1} << 62, 16}); });
  refuses("number of elements changes",
          [&] { record_erased<ops::reshape_like_op>(g, {}, {x, placeholder(g, of<float, 5>)}); });
  auto open = placeholder(g, of<float, unknown, 3>);
  auto y = reshape(open, extents{-1, 4});
  session s{g};
  refuses("number of elements changes", [&] { s.run({{open, test::counting(dtype::float32, {2, 3})}}, y); });
  EXPECT_EQ(s.run({{open, test::counting(dtype::float32, {4, 3})}}, y).shape(), (shape{3, 4}));
}

static_assert(ops::flatten_rows_op::infer({}, of<float, 4, 5, 3>) == of<float, 20, 3>);
static_assert(ops::flatten_rows_op::infer({}, of<float, "batch", "time", 3>) == of<float, unknown, 3>);
static_assert(ops::flatten_rows_op::infer({}, of<float, "batch", unknown>) == of<float, "batch", unknown>);
static_assert(ops::flatten_rows_op::infer({}, of<float, 3>) == of<float, 1, 3>);

TEST(flatten_rows, makes_a_matrix_of_open_extents) {
  graph g;
  auto const x = placeholder(g, of<float, unknown, unknown, unknown>);
  auto const y = flatten_rows(x);
  session s{g};
  EXPECT_EQ(s.run({{x, test::counting(dtype::float32, {2, 3, 4})}}, y).shape(), (shape{6, 4}));
  test::expect_error(code::invalid_argument, "a scalar has no rows", [&] { flatten_rows(placeholder(g, of<float>)); });
}

}  // namespace
}  // namespace rill
