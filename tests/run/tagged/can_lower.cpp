#include "rill/run/tagged/can_lower.hpp"

#include <gtest/gtest.h>

#include "pass/subgraphs.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

bool can_lower(value const& made) {
  auto const sub = part_of(*made.graph, {made});
  container state;
  for (auto const& n : sub.nodes) {
    if (!has_bodies(n) && !called_by(n)) continue;
    std::vector<type> inputs;
    for (auto e : n.inputs) inputs.push_back(sub.type_of(e));
    return rill::can_lower(n, inputs, state, {});
  }
  ADD_FAILURE() << "there is nothing to lower";
  return false;
}

TEST(can_lower, loops_and_branches_of_known_extents) {
  graph g;
  auto const x = constant<float, 3>(g, {1, 2, 3});
  EXPECT_TRUE(can_lower(map([](auto v) { return v * 2.f; }, x)));
  EXPECT_TRUE(can_lower(cond(constant(g, true), [&] { return x; }, [&] { return -x; })));
  EXPECT_TRUE(can_lower(while_loop([](auto k) { return k < 3; },
                                   [&](auto k) { return cond(k < 1, [&] { return k + 1; }, [&] { return k + 2; }); },
                                   constant(g, 0))));
}

// A frame has room for values of one type: what settles extents in it, at any depth, has no place there.
TEST(can_lower, nothing_that_settles_extents_as_it_runs) {
  graph g;
  auto const p = constant(g, true);
  auto const x = constant<float, 3>(g, {1, 2, 3});
  auto const chosen = [&] { return sum(gather(x, reshape<unknown>(where(x > 1.5f)))); };
  EXPECT_FALSE(can_lower(cond(p, chosen, [&] { return sum(x); })));
  EXPECT_FALSE(can_lower(cond(p, [&] { return cond(p, chosen, [&] { return sum(x); }); }, [&] { return sum(x); })));
  auto const grown = while_loop([](auto v) { return sum(v) < 9.f; }, [](auto v) { return concat<0>(v, v); },
                                as<of<float, unknown>>(value(constant<float, 1>(g, {1}))));
  EXPECT_FALSE(can_lower(grown));
}

TEST(can_lower, calls_whose_functions_do) {
  graph g;
  auto const twice = function<"twice", of<float, 3>>(g, [](auto x) { return x + x; });
  EXPECT_TRUE(can_lower(twice(constant<float, 3>(g, {1, 2, 3}))));
}

}  // namespace
}  // namespace rill
