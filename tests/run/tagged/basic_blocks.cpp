#include "rill/run/tagged/basic_blocks.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rill::detail {
namespace {

constexpr auto either = tagged_plan::either;

// A frame as it is written down: who there is, and who hands tokens to whom.
struct drawing {
  std::vector<station> stations;
  std::vector<station_edge> edges;

  std::uint32_t add(std::vector<std::uint32_t> const& after, double nanoseconds = 10) {
    station s;
    s.nanoseconds = nanoseconds;
    stations.push_back(s);
    auto const at = static_cast<std::uint32_t>(stations.size() - 1);
    for (auto from : after) edges.push_back({from, at, either, 0});
    return at;
  }
  std::uint32_t add_switch(std::vector<std::uint32_t> const& after, std::uint32_t asked) {
    auto const s = add(after);
    stations[s].asked = asked;
    return s;
  }
  std::uint32_t add_behind(std::uint32_t of_switch, std::uint8_t port) {
    auto const s = add({});
    edges.push_back({of_switch, s, port, 0});
    return s;
  }
  std::uint32_t add_merge(std::vector<std::uint32_t> const& of) {
    auto const s = add({});
    stations[s].merges = stations[s].heads = true;
    for (std::uint32_t i = 0; i < of.size(); ++i) edges.push_back({of[i], s, either, i});
    return s;
  }
  // Which block each station is in, as letters.
  std::string blocks() {
    forming = {};
    forming.place(stations, edges);
    std::string s;
    for (std::uint32_t i = 0; i < stations.size(); ++i) s += static_cast<char>('a' + forming.block_of(i));
    return s;
  }
  tagged_plan::frame laid() {
    tagged_plan::frame f;
    for (std::uint32_t i = 0; i < stations.size(); ++i) stations[i].does.node = i;
    blocks();
    forming.lay(stations, f);
    return f;
  }
  block_builder forming;
};

TEST(basic_blocks, a_chain_is_one) {
  drawing d;
  auto last = d.add({});
  for (int i = 0; i < 4; ++i) last = d.add({last});
  EXPECT_EQ(d.blocks(), "aaaaa");
}

TEST(basic_blocks, end_where_chains_meet) {
  drawing d;
  auto const x = d.add({}), y = d.add({});
  auto const both = d.add({x, y});
  d.add({both});
  d.add({x});
  EXPECT_EQ(d.blocks(), "abcca");
}

TEST(basic_blocks, what_comes_of_one_block_twice_stays_in_it) {
  drawing d;
  auto const x = d.add({}), y = d.add({x}), z = d.add({x});
  d.add({y, z});
  EXPECT_EQ(d.blocks(), "aaaa");
}

TEST(basic_blocks, lie_behind_each_way_of_a_switch) {
  drawing d;
  auto const x = d.add({}), s = d.add_switch({x}, 7), t = d.add_switch({x}, 7);
  auto const yes = d.add_behind(s, 1), no = d.add_behind(s, 0);
  d.add_behind(t, 1);  // asked the same thing: lives and dies with the others of its way
  d.add({yes});
  d.add({no});
  EXPECT_EQ(d.blocks(), "aaabcbbc");
}

TEST(basic_blocks, of_two_conditions_are_two) {
  drawing d;
  auto const x = d.add({}), s = d.add_switch({x}, 7), t = d.add_switch({x}, 8);
  d.add_behind(s, 1);
  d.add_behind(t, 1);
  EXPECT_EQ(d.blocks(), "aaabc");
}

TEST(basic_blocks, begin_at_a_merge) {
  drawing d;
  auto const x = d.add({}), s = d.add_switch({x}, 7);
  auto const yes = d.add_behind(s, 1), no = d.add_behind(s, 0);
  auto const m = d.add_merge({no, yes});
  d.add({m});
  EXPECT_EQ(d.blocks(), "aabcdd");
  auto const f = d.laid();
  ASSERT_EQ(f.blocks.size(), 4u);
  // Each way is an edge that says what was asked and what must be answered; a merge is told which of its inputs came.
  ASSERT_EQ(f.edges.size(), 4u);
  for (auto e = f.blocks[0].first_edge; e < f.blocks[0].last_edge; ++e) {
    EXPECT_EQ(f.edges[e].asked, 7u);
    EXPECT_EQ(f.edges[e].port, f.edges[e].to == 1 ? 1 : 0);
  }
  EXPECT_EQ(f.edges[f.blocks[1].first_edge].input, 1u);
  EXPECT_EQ(f.edges[f.blocks[2].first_edge].input, 0u);
  EXPECT_EQ(f.sources, std::vector<std::uint32_t>{0});
  EXPECT_TRUE(f.blocks[3].ends);
}

TEST(basic_blocks, count_a_token_for_each_edge) {
  drawing d;
  auto const x = d.add({}), y = d.add({});
  d.add({x, y});
  d.add({x, y});
  auto const f = d.laid();
  ASSERT_EQ(f.counts.size(), 4u);
  EXPECT_EQ(f.counts[2], 2 * tagged_plan::token);
  EXPECT_EQ(f.counts[3], 2 * tagged_plan::token);
  EXPECT_EQ(f.sources, (std::vector<std::uint32_t>{0, 1}));
}

TEST(basic_blocks, do_not_grow_long) {
  drawing d;
  auto last = d.add({}, 1'500);
  last = d.add({last}, 400);
  last = d.add({last}, 400);
  d.add({last}, 10);
  EXPECT_EQ(d.blocks(), "aabb");
}

TEST(basic_blocks, leave_out_what_does_nothing) {
  drawing d;
  auto const x = d.add({});
  auto const passed = d.add({x});
  d.stations[passed].nothing = true;
  d.add({passed});
  auto const f = d.laid();
  ASSERT_EQ(f.blocks.size(), 1u);
  ASSERT_EQ(f.operations.size(), 2u);
  EXPECT_EQ(f.operations[1].node, 2u);
}

TEST(basic_blocks, wait_for_what_arrives) {
  drawing d;
  d.add({});
  d.stations[0].arrives = d.stations[0].heads = true;
  EXPECT_TRUE(d.laid().sources.empty());
}

}  // namespace
}  // namespace rill::detail
