#include "rill/place/placement.hpp"

#include "place/targets.hpp"

namespace rill {
namespace {

TEST(placement, is_written_into_the_nodes) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  auto const a = g.on("accelerator", [&] { return exp(x); });
  auto const b = g.near(a, [&] { return neg(x); });
  auto sub = part_of(g, {a, b}, {}, {x});
  auto const devices = machine();
  apply(place(sub, devices), devices, sub);
  for (auto const& n : sub.nodes) EXPECT_EQ(n.colocated, "");
  EXPECT_EQ(sub[at(sub, x)].device, "/device:cpu:0");
  EXPECT_EQ(sub[at(sub, a)].device, "/device:accelerator:1");
  EXPECT_EQ(sub[at(sub, b)].device, "/device:accelerator:1");
  auto const again = place(sub, devices);
  EXPECT_EQ(again.nodes[at(sub, b)].device, accelerator1);
}

TEST(placement, has_a_reason_for_each_kind) {
  graph g;
  auto const x = placeholder<float, 8>(g, "x");
  auto const sub = part_of(g, {exp(x)}, {}, {x});
  std::set<std::string> seen;
  for (auto why = place_reason::asked_for; why <= place_reason::open_extents;
       why = static_cast<place_reason>(static_cast<int>(why) + 1)) {
    placement const p{{{0, place_reason::fed, 0}, {0, why, 0}}, {{1, "asked for '/device:tpu:0'"}}};
    EXPECT_TRUE(seen.insert(p.reason(sub, 1)).second) << p.reason(sub, 1);
  }
  EXPECT_EQ(seen.size(), 18u);
}

}  // namespace
}  // namespace rill
