#include "rill/ops/array/extents_of.hpp"

#include <gtest/gtest.h>

#include "rill/rill.hpp"

namespace rill {

static_assert(ops::extents_of_op::infer({}, of<float, 2, "n">) == of<std::int64_t, 2>);
static_assert(ops::extents_of_op::infer({}, of<bool>) == of<std::int64_t, 0>);
static_assert(ops::extents_of_op::infer({}, type::of_unknown_rank(dtype::float16)) == of<std::int64_t, unknown>);

TEST(extents_of, are_those_that_the_step_finds) {
  graph g;
  auto const x = placeholder<float, 2, unknown>(g, "x");
  auto const many = extents_of(x);
  auto const none = extents_of(sum(x));
  session s(g);
  for (std::int64_t n : {0, 3}) {
    auto const [a, b] = s.run({{x, tensor(dtype::float32, {2, n})}}, many, none);
    EXPECT_TRUE(same_bits(a, vector<std::int64_t>({2, n})));
    EXPECT_EQ(b.shape(), shape{0});
  }
}

TEST(extents_of, what_else_the_step_settles_come_when_it_has_run) {
  graph g;
  auto const x = placeholder<bool, unknown>(g, "x");
  auto const found = extents_of(where(x));
  session s(g);
  EXPECT_TRUE(same_bits(s.run({{x, vector<bool>({true, false, true})}}, found), vector<std::int64_t>({2})));
}

}  // namespace rill
