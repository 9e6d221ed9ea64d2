#include "rill/tensor/range_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace rill {
namespace {

TEST(range_pool, takes_the_smallest_range_that_is_large_enough) {
  range_pool pool(1024);
  auto const a = pool.take(256), b = pool.take(64), c = pool.take(128), d = pool.take(64);
  ASSERT_TRUE(a && b && c && d);
  pool.give_back(*a);
  pool.give_back(*c);
  EXPECT_EQ(pool.take(100), c);  // 128 bytes, not the 256 or the 512 at the end
  EXPECT_EQ(pool.take(200), a);
}

TEST(range_pool, joins_neighbours_that_are_free) {
  range_pool pool(256);
  auto const a = pool.take(64), b = pool.take(64), c = pool.take(64), d = pool.take(64);
  EXPECT_FALSE(pool.take(1));
  pool.give_back(*b);
  pool.give_back(*d);
  EXPECT_EQ(pool.free_bytes(), 128);
  EXPECT_EQ(pool.largest_free(), 64);
  EXPECT_DOUBLE_EQ(pool.fragmentation(), 0.5);
  pool.give_back(*c);  // between two that are free
  EXPECT_EQ(pool.largest_free(), 192);
  EXPECT_DOUBLE_EQ(pool.fragmentation(), 0);
  EXPECT_EQ(pool.take(192), b);
  pool.give_back(*a);
}

TEST(range_pool, names_the_nodes_that_have_the_most) {
  range_pool pool(4096);
  pool.take(64, "bias");
  pool.take(2048, "weights");
  pool.take(512, "hidden");
  auto const most = pool.largest_taken(2);
  ASSERT_EQ(most.size(), 2);
  EXPECT_EQ(most[0].node, "weights");
  EXPECT_EQ(most[0].bytes, 2048);
  EXPECT_EQ(most[1].node, "hidden");
}

TEST(range_pool, has_nothing_for_more_bytes_than_there_are) {
  range_pool pool(128), empty(0);
  EXPECT_FALSE(pool.take(129));
  EXPECT_FALSE(pool.take(SIZE_MAX));
  EXPECT_TRUE(pool.take(128));
  EXPECT_FALSE(empty.take(1));
}

TEST(range_pool, hands_out_ranges_that_never_overlap_and_is_one_range_in_the_end) {
  struct piece {
    std::size_t offset, bytes;
  };
  std::mt19937 random(7);
  range_pool pool(1 << 16);
  std::vector<piece> held;
  for (int turn = 0; turn < 20'000; ++turn) {
    if (random() % 2 == 0) {
      auto const bytes = random() % 3000;
      if (auto const at = pool.take(bytes)) held.push_back({*at, std::max<std::size_t>(bytes, 1)});
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      pool.give_back(held.back().offset);
      held.pop_back();
    }
    if (turn % 100 != 0) continue;
    auto sorted = held;
    std::sort(sorted.begin(), sorted.end(), [](auto const& a, auto const& b) { return a.offset < b.offset; });
    for (std::size_t i = 0; i + 1 < sorted.size(); ++i)
      ASSERT_LE(sorted[i].offset + sorted[i].bytes, sorted[i + 1].offset);
  }
  for (auto const& each : held) pool.give_back(each.offset);
  EXPECT_EQ(pool.largest_free(), std::size_t{1} << 16);
}

}  // namespace
}  // namespace rill
