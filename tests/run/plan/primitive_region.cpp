#include "rill/run/plan/primitive_region.hpp"

#include <gtest/gtest.h>

#include "pass/subgraphs.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

TEST(as_primitive_region, is_one_node_that_takes_what_the_part_was_fed) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const [no, yes] = tagged::switch_(x, x < 0.f);
  auto const [y, which] = tagged::merge(-no, yes);
  auto const whole = as_primitive_region(part_of(g, {y, which}, {}, {x}));
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_TRUE(is_primitive_region(whole[1]));
  EXPECT_EQ(whole.inputs, std::vector<std::uint32_t>{0});
  EXPECT_EQ(whole[1].outputs, (std::vector<type>{of<float>, of<std::int32_t>}));
  EXPECT_EQ(whole.targets, std::vector<std::uint32_t>{1}) << "it runs for what it does";
  EXPECT_NO_THROW(verify(whole));
}

TEST(has_primitives, sees_those_that_were_written_by_hand_alone) {
  graph g;
  auto const x = placeholder<float>(g, "x");
  auto const chosen = cond(x < 0.f, [&] { return -x; }, [&] { return x * 2.f; });
  EXPECT_FALSE(has_primitives(part_of(g, {chosen}, {}, {x})));
  auto const [no, yes] = tagged::switch_(x, x < 0.f);
  EXPECT_TRUE(has_primitives(part_of(g, {no}, {}, {x})));
}

}  // namespace
}  // namespace rill
