#include "rill/ops/array/source_positions.hpp"

#include "../run.hpp"

namespace rill {
namespace {

std::vector<double> sources(std::int64_t extent, ops::source_positions_op::attributes const& a) {
  return test::to_doubles(
      test::run([&](auto const& in) { return source_positions(in[0], a); }, {tensor(dtype::float32, {extent})}));
}

TEST(source_positions, go_on_beyond_the_ends_as_the_border_says) {
  using list = std::vector<double>;
  EXPECT_EQ(sources(3, {0, border::edge, 2, 1}), (list{0, 0, 0, 1, 2, 2}));
  EXPECT_EQ(sources(3, {0, border::reflect, 2, 3}), (list{2, 1, 0, 1, 2, 1, 0, 1}));
  EXPECT_EQ(sources(3, {0, border::symmetric, 4, 1}), (list{2, 2, 1, 0, 0, 1, 2, 2}));
  EXPECT_EQ(sources(3, {0, border::wrap, 1, 4}), (list{2, 0, 1, 2, 0, 1, 2, 0}));
  EXPECT_EQ(sources(1, {0, border::reflect, 2, 1}), (list{0, 0, 0, 0}));
  EXPECT_EQ(sources(2, {.times = 2, .each = 2}), (list{0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(sources(0, {.times = 2}), list{});
  EXPECT_EQ(sources(2, {.times = 0}), list{});
}

TEST(source_positions, refuse_what_can_not_be_copied) {
  graph g;
  auto const x = placeholder(g, of<float, 0>), y = placeholder(g, of<float, 5>);
  auto const refuses = [](char const* why, auto f) { test::expect_error(code::invalid_argument, why, f); };
  refuses("an axis without elements can't be padded", [&] { source_positions(x, {.before = 1}); });
  refuses("a number of elements is negative", [&] { source_positions(y, {.after = -1}); });
  refuses("out of range for the operand's rank", [&] { source_positions(y, {.axis = 1}); });
  refuses("unknown border", [&] { source_positions(y, {.beyond = static_cast<border>(4)}); });
  refuses("does not fit in 64 bits", [&] { source_positions(y, {.before = INT64_MAX}); });
  refuses("more elements than 64 bits can count", [&] { source_positions(y, {.times = INT64_MAX}); });
}

}  // namespace
}  // namespace rill
