#include "rill/run/plan/dependencies.hpp"

#include <gtest/gtest.h>

namespace rill {
namespace {

std::vector<std::uint32_t> list(std::span<std::uint32_t const> s) { return {s.begin(), s.end()}; }

// Nodes 0 → 1 → 2 → 3 and 0 → 3; node 1 is run by nothing.
dependencies chain() {
  step_order order{{0, 1, 2, 3}, {{1, 3}, {2}, {3}, {}}};
  std::uint32_t const instruction[]{0, dependencies::none, 1, 2};
  return dependencies(order, instruction, 3);
}

TEST(dependencies, go_through_nodes_that_nothing_runs) {
  auto const d = chain();
  EXPECT_EQ(list(d.before(0)), std::vector<std::uint32_t>());
  EXPECT_EQ(list(d.before(1)), std::vector<std::uint32_t>({0}));
  EXPECT_EQ(list(d.before(2)), std::vector<std::uint32_t>({0, 1}));
}

TEST(dependencies, are_kept_once_and_in_order) {
  auto d = dependencies(step_order{{0, 1, 2}, {{}, {}, {}}}, std::vector<std::uint32_t>{0, 1, 2}, 3);
  d.add(1, 2), d.add(0, 2), d.add(1, 2);
  EXPECT_EQ(list(d.before(2)), std::vector<std::uint32_t>({0, 1}));
}

TEST(ancestry, is_transitive_and_strict) {
  constexpr std::uint32_t n = 200;  // more than one word a row
  dependencies d(step_order{{}, {}}, {}, n);
  for (std::uint32_t i = 2; i < n; ++i) d.add(i - 2, i);  // two chains
  ancestry const before(d);
  for (std::uint32_t a = 0; a < n; ++a)
    for (std::uint32_t b = 0; b < n; ++b) EXPECT_EQ(before(a, b), a < b && (b - a) % 2 == 0);
}

}  // namespace
}  // namespace rill
