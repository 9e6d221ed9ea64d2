#include "rill/tensor/buffer.hpp"

#include <gtest/gtest.h>

namespace rill {
namespace {

TEST(buffer, gives_its_memory_back_with_the_last_reference) {
  host_memory memory;
  {
    auto const a = buffer::allocate(100, memory);
    auto const b = a;
    EXPECT_EQ(a, b);
    EXPECT_EQ(a.bytes(), 100);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % buffer_alignment, 0);
    EXPECT_EQ(memory.usage().count, 1);
  }
  EXPECT_EQ(memory.usage().count, 0);
}

TEST(buffer, knows_whether_it_is_the_only_reference) {
  auto a = buffer::allocate(8);
  EXPECT_TRUE(a.unique());
  auto b = a;
  EXPECT_FALSE(a.unique());
  b = buffer();
  EXPECT_TRUE(a.unique());
  auto const c = std::move(a);
  EXPECT_TRUE(c.unique());
  EXPECT_FALSE(a);
  EXPECT_FALSE(buffer().unique());
}

TEST(buffer, survives_assignment_to_itself) {
  auto a = buffer::allocate(8);
  auto& same = a;
  a = same;
  EXPECT_TRUE(a.unique());
}

TEST(buffer, keeps_an_owner_as_long_as_it_lives) {
  auto const owner = std::make_shared<int>(5);
  auto a = buffer::adopt(owner.get(), sizeof(int), owner);
  EXPECT_EQ(owner.use_count(), 2);
  EXPECT_EQ(a.data(), owner.get());
  a = buffer();
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(buffer, holds_strings_that_are_destroyed) {
  auto const a = buffer::strings(3);
  auto* const s = static_cast<std::string*>(a.data());
  s[2] = "a string that does not fit its own object, so that a leak would be seen";
  EXPECT_TRUE(s[0].empty());
}

TEST(buffer, of_strings_is_counted) {
  auto const before = host_allocator().usage().current;
  {
    auto const a = buffer::strings(100);
    EXPECT_GE(host_allocator().usage().current - before, static_cast<std::int64_t>(100 * sizeof(std::string)));
  }
  EXPECT_EQ(host_allocator().usage().current, before);
}

TEST(buffer, of_no_bytes_is_a_buffer) {
  EXPECT_TRUE(buffer::allocate(0));
  EXPECT_TRUE(buffer::strings(0));
  EXPECT_FALSE(buffer());
  EXPECT_EQ(buffer().bytes(), 0);
}

TEST(buffer, refuses_a_size_beyond_the_address_space) {
  EXPECT_THROW(buffer::allocate(SIZE_MAX), error);
  EXPECT_THROW(buffer::allocate(SIZE_MAX / 2 - 1), error);
  EXPECT_THROW(buffer::strings(SIZE_MAX / 8), error);
}

}  // namespace
}  // namespace rill
