#include "rill/run/plan/arena_pool.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace rill {
namespace {

TEST(arena_pool, keeps_one_arena_for_runs_one_after_another_as_large_as_the_largest) {
  host_memory memory;
  arena_pool pool(memory);
  for (std::size_t bytes : {100u, 4000u, 300u, 5000u, 4999u}) {
    auto lent = pool.lend(bytes);
    EXPECT_GE(lent.bytes(), bytes);
    pool.give_back(std::move(lent));
  }
  auto const kept = memory.usage();
  EXPECT_EQ(kept.count, 1);
  EXPECT_GE(kept.current, 5000);
  EXPECT_LE(kept.peak, kept.current) << "what is too small goes before a larger one is made";
}

TEST(arena_pool, allocates_nothing_more_for_runs_that_it_has_had) {
  host_memory memory;
  arena_pool pool(memory);
  std::int64_t total = 0;
  for (int round = 0; round < 3; ++round) {
    auto small = pool.lend(100), large = pool.lend(1000);
    pool.give_back(std::move(large)), pool.give_back(std::move(small));
    if (round == 0) total = memory.usage().total;
  }
  EXPECT_EQ(memory.usage().total, total);
  EXPECT_EQ(memory.usage().count, 2);
}

TEST(arena_pool, lends_the_smallest_that_is_enough_and_of_equal_ones_what_came_back_last) {
  host_memory memory;
  arena_pool pool(memory);
  auto a = pool.lend(1000), b = pool.lend(1000), c = pool.lend(5000);
  auto const *of_a = a.data(), *of_b = b.data(), *of_c = c.data();
  pool.give_back(std::move(b)), pool.give_back(std::move(c)), pool.give_back(std::move(a));
  auto const d = pool.lend(900), e = pool.lend(1000), f = pool.lend(1);
  EXPECT_EQ(d.data(), of_a);
  EXPECT_EQ(e.data(), of_b);
  EXPECT_EQ(f.data(), of_c);
}

TEST(arena_pool, does_not_lend_again_what_somebody_still_uses) {
  host_memory memory;
  arena_pool pool(memory);
  auto lent = pool.lend(1000);
  auto const still_sent = lent;
  pool.give_back(std::move(lent));
  EXPECT_NE(pool.lend(1000).data(), still_sent.data());
}

TEST(arena_pool, lends_thousands_at_once) {
  host_memory memory;
  arena_pool pool(memory);
  for (int round = 0; round < 2; ++round) {
    std::vector<buffer> lent;
    for (std::size_t i = 0; i < 100'000; ++i) lent.push_back(pool.lend(64 + i % 3 * 64));
    while (!lent.empty()) pool.give_back(std::move(lent.back())), lent.pop_back();
  }
  EXPECT_EQ(memory.usage().total, 100'000);
}

TEST(arena_pool, frees_what_is_not_lent) {
  host_memory memory;
  arena_pool pool(memory);
  auto a = pool.lend(100), b = pool.lend(100);
  pool.give_back(std::move(b));
  pool.trim();
  EXPECT_EQ(memory.usage().count, 1);
  pool.give_back(std::move(a));
  pool.trim();
  EXPECT_EQ(memory.usage().count, 0);
}

}  // namespace
}  // namespace rill
