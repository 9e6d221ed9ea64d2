#include "rill/ops/array/transpose.hpp"

#include "../run.hpp"

namespace rill {
namespace {

static_assert(ops::transpose_op::infer({}, of<float, "n", 3, 4>) == of<float, 4, 3, "n">);
static_assert(ops::transpose_op::infer({extents{1, 2, 0}}, of<float, "n", 3, 4>) == of<float, 3, 4, "n">);
static_assert(ops::transpose_op::infer({extents{0, -1, 1}}, of<float, "n", 3, 4>) == of<float, "n", 4, 3>);

// By plain loops: element i of the result from its index.
void expect_transposed(tensor const& x, extents const& axes, int threads = 1) {
  SCOPED_TRACE(x.type().text() + " by " + axes.text());
  auto const y = test::run([&](auto const& in) { return transpose(in[0], axes); }, {x}, threads);
  auto const from = test::to_doubles(x), to = test::to_doubles(y);
  ASSERT_EQ(from.size(), to.size());
  for (std::size_t at = 0; at < to.size(); ++at) {
    std::array<std::int64_t, max_rank> index{};
    auto rest = static_cast<std::int64_t>(at);
    for (std::size_t i = y.rank(); i-- > 0; rest /= y.shape()[i])
      index[static_cast<std::size_t>(axes[i] < 0 ? axes[i] + static_cast<std::int64_t>(y.rank()) : axes[i])] =
          rest % y.shape()[i];
    std::int64_t source = 0;
    for (std::size_t i = 0; i < x.rank(); ++i) source = source * x.shape()[i] + index[i];
    ASSERT_EQ(to[at], from[static_cast<std::size_t>(source)]) << at;
  }
}

TEST(transpose, moves_elements_of_every_size) {
  for (auto d :
       {dtype::boolean, dtype::int8, dtype::float16, dtype::float32, dtype::int64, dtype::complex64, dtype::complex128})
    for (auto const& axes : {extents{1, 0}, extents{0, 1}}) expect_transposed(test::scattered(d, {37, 41}), axes);
}

TEST(transpose, permutes_in_all_ways) {
  std::array<int, 4> p{0, 1, 2, 3};
  do
    for (auto const& s : {shape{3, 4, 5, 6}, shape{2, 1, 3, 1}, shape{33, 1, 2, 35}})
      expect_transposed(test::counting(dtype::int32, s), extents{p[0], p[1], p[2], p[3]});
  while (std::next_permutation(p.begin(), p.end()));
}

TEST(transpose, works_on_large_matrices_with_any_number_of_threads) {
  auto const x = test::counting(dtype::int32, {517, 303});
  expect_transposed(x, extents{1, 0}, 4);
  expect_transposed(test::counting(dtype::int32, {7, 130, 99}), extents{-1, -3, -2}, 4);
}

TEST(transpose, takes_scalars_and_nothing) {
  EXPECT_EQ(test::run([](auto const& in) { return transpose(in[0], {}); }, {tensor(3.f)}).item<float>(), 3.f);
  EXPECT_EQ(
      test::run([](auto const& in) { return transpose(in[0], {}); }, {test::counting(dtype::float32, {0, 4})}).shape(),
      (shape{4, 0}));
}

TEST(transpose, refuses_what_is_no_permutation) {
  graph g;
  auto x = placeholder(g, of<float, 2, 3>);
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("does not name every axis", [&] { transpose(x, extents{0}); });
  refuses("names an axis twice", [&] { transpose(x, extents{0, -2}); });
  refuses("out of range for the operand's rank", [&] { transpose(x, extents{0, 2}); });
}

}  // namespace
}  // namespace rill
