#include "rill/tensor/allocator.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace rill {
namespace {

class nothing_left final : public allocator {
  void* acquire(std::size_t) noexcept override { return nullptr; }
  void release(void*, std::size_t) noexcept override {}
};

TEST(allocator, aligns_and_counts) {
  host_memory memory;
  void* const a = memory.allocate(100);
  void* const b = memory.allocate(28);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % buffer_alignment, 0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b) % buffer_alignment, 0);
  EXPECT_EQ(memory.usage().current, 128);
  EXPECT_EQ(memory.usage().count, 2);
  memory.deallocate(a, 100);
  EXPECT_EQ(memory.usage().current, 28);
  EXPECT_EQ(memory.usage().peak, 128);
  memory.reset_peak();
  EXPECT_EQ(memory.usage().peak, 28);
  memory.deallocate(b, 28);
  EXPECT_EQ(memory.usage().current, 0);
  EXPECT_EQ(memory.usage().count, 0);
  EXPECT_EQ(memory.usage().total, 2);
}

TEST(allocator, says_that_there_is_no_memory) {
  nothing_left memory;
  try {
    memory.allocate(64);
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::resource_exhausted);
  }
  EXPECT_EQ(memory.usage().current, 0);
  EXPECT_EQ(memory.usage().total, 0);
}

// What stands before a buffer must not make a size that nobody has small.
TEST(allocator, has_no_memory_for_sizes_that_would_overflow) {
  host_memory memory;
  for (std::size_t bytes : {SIZE_MAX, SIZE_MAX - buffer_alignment + 1}) EXPECT_THROW(memory.allocate(bytes), error);
  EXPECT_EQ(memory.usage().current, 0);
}

TEST(allocator, counts_from_many_threads) {
  host_memory memory;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) memory.deallocate(memory.allocate(64), 64);
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(memory.usage().current, 0);
  EXPECT_EQ(memory.usage().total, 4000);
  EXPECT_GE(memory.usage().peak, 64);
  EXPECT_LE(memory.usage().peak, 4 * 64);
}

}  // namespace
}  // namespace rill
