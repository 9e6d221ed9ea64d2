#include "rill/run/tagged/basic_blocks.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rill::detail {
namespace {

using block_id = tagged_plan::block_id;
using ids = std::vector<station_id>;

constexpr auto either = tagged_plan::either;

// A frame as it is written down: who there is, and who hands tokens to whom.
struct drawing {
  indexed<station_id, station> stations;
  std::vector<station_edge> edges;

  station_id add(ids const& after, double nanoseconds = 10) {
    station s;
    s.nanoseconds = nanoseconds;
    auto const at = stations.push_back(s);
    for (auto from : after) edges.push_back({from, at, either, 0});
    return at;
  }
  station_id add_switch(ids const& after, std::uint32_t asked) {
    auto const s = add(after);
    stations[s].asked = tagged_plan::kept_id{asked};
    return s;
  }
  station_id add_behind(station_id of_switch, std::uint8_t port) {
    auto const s = add({});
    edges.push_back({of_switch, s, port, 0});
    return s;
  }
  station_id add_merge(ids const& of) {
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
    for (auto i : stations.indices()) s += static_cast<char>('a' + as_integer(forming.block_of(i)));
    return s;
  }
  tagged_plan::frame laid() {
    tagged_plan::frame f;
    for (auto i : stations.indices()) stations[i].does.node = as_integer(i);
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
  for (auto e : index_range(f.blocks[block_id{0}].first_edge, f.blocks[block_id{0}].last_edge)) {
    EXPECT_EQ(as_integer(f.edges[e].asked), 7u);
    EXPECT_EQ(f.edges[e].port, f.edges[e].to == block_id{1} ? 1 : 0);
  }
  EXPECT_EQ(f.edges[f.blocks[block_id{1}].first_edge].input, 1u);
  EXPECT_EQ(f.edges[f.blocks[block_id{2}].first_edge].input, 0u);
  EXPECT_EQ(f.sources, std::vector{block_id{0}});
  EXPECT_TRUE(f.blocks[block_id{3}].ends);
}

TEST(basic_blocks, count_a_token_for_each_edge) {
  drawing d;
  auto const x = d.add({}), y = d.add({});
  d.add({x, y});
  d.add({x, y});
  auto const f = d.laid();
  ASSERT_EQ(f.counts.size(), 4u);
  EXPECT_EQ(f.counts[block_id{2}], 2 * tagged_plan::token);
  EXPECT_EQ(f.counts[block_id{3}], 2 * tagged_plan::token);
  EXPECT_EQ(f.sources, (std::vector{block_id{0}, block_id{1}}));
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
  EXPECT_EQ(f.operations[tagged_plan::operation_id{1}].node, 2u);
}

TEST(basic_blocks, wait_for_what_arrives) {
  drawing d;
  d.add({});
  d.stations[station_id{0}].arrives = d.stations[station_id{0}].heads = true;
  EXPECT_TRUE(d.laid().sources.empty());
}

}  // namespace
}  // namespace rill::detail
