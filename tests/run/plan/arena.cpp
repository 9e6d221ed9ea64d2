#include "rill/run/plan/arena.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/sentence.hpp"

namespace rill {
namespace {

using id = plan_ids::instruction_id;

/// A block that is in use from one instruction to another.
memory_block block(std::size_t bytes, std::uint32_t first, std::uint32_t last) { return {bytes, id{first}, id{last}}; }

void expect_no_overlap(std::vector<memory_block> const& blocks, std::size_t size) {
  for (auto const& a : blocks) {
    EXPECT_EQ(a.offset % buffer_alignment, 0);
    EXPECT_LE(a.offset + a.bytes, size);
    for (auto const& b : blocks)
      if (&a != &b && a.first <= b.last && b.first <= a.last && a.bytes != 0 && b.bytes != 0) {
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset);
      }
  }
}

TEST(memory, needs_none_for_nothing) {
  std::vector<memory_block> none;
  EXPECT_EQ(plan_memory(none), 0);
}

TEST(memory, is_shared_by_blocks_that_do_not_meet) {
  std::vector<memory_block> blocks{block(128, 0, 1), block(128, 2, 3), block(64, 4, 4)};
  EXPECT_EQ(plan_memory(blocks), 128);
}

TEST(memory, is_not_shared_at_the_instruction_where_one_ends_and_one_begins) {
  std::vector<memory_block> blocks{block(64, 0, 1), block(64, 1, 2)};
  EXPECT_EQ(plan_memory(blocks), 128);
  expect_no_overlap(blocks, 128);
}

TEST(memory, is_rounded_up_to_the_alignment) {
  std::vector<memory_block> blocks{block(1, 0, 0), block(65, 0, 0)};
  EXPECT_EQ(plan_memory(blocks), 3 * 64);
}

TEST(memory, keeps_blocks_apart_that_live_at_the_same_time) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::vector<memory_block> blocks;
    std::size_t alive_at_most = 0;
    for (int i = 0; i < 200; ++i) {
      auto const first = static_cast<std::uint32_t>(random() % 1000);
      blocks.push_back(block(random() % 5000, first, first + static_cast<std::uint32_t>(random() % 300)));
    }
    auto const size = plan_memory(blocks);
    expect_no_overlap(blocks, size);
    for (std::uint32_t at = 0; at < 1300; ++at) {
      std::size_t alive = 0;
      for (auto const& b : blocks) alive += b.first <= id{at} && id{at} <= b.last ? (b.bytes + 63) / 64 * 64 : 0;
      alive_at_most = std::max(alive_at_most, alive);
    }
    EXPECT_GE(size, alive_at_most);
    EXPECT_LE(size, alive_at_most * 3 / 2);
  }
}

TEST(memory, gives_equal_blocks_the_same_places_every_time) {
  std::vector<memory_block> a(50, block(256, 0, 9)), b = a;
  plan_memory(a);
  plan_memory(b);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].offset, b[i].offset);
}

TEST(memory, of_more_bytes_than_can_be_counted_is_refused) {
  for (std::size_t small : {0u, 4000u}) {  // by size, and by time
    std::vector<memory_block> blocks(small, block(64, 0, 9));
    for (int i = 0; i < 4; ++i) blocks.push_back(block(std::size_t{1} << 62, 0, 9));
    EXPECT_EQ(refusal([&] { plan_memory(blocks); }), code::resource_exhausted) << small;
    blocks.pop_back();
    EXPECT_EQ(plan_memory(blocks), (std::size_t{3} << 62) + 64 * small);
  }
}

}  // namespace
}  // namespace rill
