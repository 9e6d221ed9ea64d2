#include "rill/run/plan/dependencies.hpp"

#include <gtest/gtest.h>

namespace rill {
namespace {

using id = plan_ids::instruction_id;

std::vector<id> list(std::span<id const> s) { return {s.begin(), s.end()}; }

// Nodes 0 → 1 → 2 → 3 and 0 → 3; node 1 is run by nothing.
dependencies chain() {
  step_order order{{0, 1, 2, 3}, {{1, 3}, {2}, {3}, {}}};
  id const instruction[]{id{0}, no_index<id>, id{1}, id{2}};
  return dependencies(order, instruction, 3);
}

TEST(dependencies, go_through_nodes_that_nothing_runs) {
  auto const d = chain();
  EXPECT_EQ(list(d.before(id{0})), std::vector<id>());
  EXPECT_EQ(list(d.before(id{1})), std::vector{id{0}});
  EXPECT_EQ(list(d.before(id{2})), std::vector({id{0}, id{1}}));
}

TEST(dependencies, are_kept_once_and_in_order) {
  auto d = dependencies(step_order{{0, 1, 2}, {{}, {}, {}}}, std::vector{id{0}, id{1}, id{2}}, 3);
  d.add(id{1}, id{2}), d.add(id{0}, id{2}), d.add(id{1}, id{2});
  EXPECT_EQ(list(d.before(id{2})), std::vector({id{0}, id{1}}));
}

TEST(ancestry, is_transitive_and_strict) {
  constexpr std::uint32_t n = 200;  // more than one word a row
  dependencies d(step_order{{}, {}}, {}, n);
  for (std::uint32_t i = 2; i < n; ++i) d.add(id{i - 2}, id{i});  // two chains
  ancestry const before(d);
  for (std::uint32_t a = 0; a < n; ++a)
    for (std::uint32_t b = 0; b < n; ++b) EXPECT_EQ(before(id{a}, id{b}), a < b && (b - a) % 2 == 0);
}

}  // namespace
}  // namespace rill
