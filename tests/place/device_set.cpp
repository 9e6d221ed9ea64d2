#include "rill/place/device_set.hpp"

#include <gtest/gtest.h>

namespace rill {
namespace {

TEST(device_set, holds_what_was_inserted_in_ascending_order) {
  for (std::size_t const n : {1u, 63u, 64u, 65u, 200u}) {
    device_set s(n);
    EXPECT_TRUE(s.empty());
    for (auto i = n; i > 0; i -= std::min<std::size_t>(i, 7)) s.insert(i - 1);
    std::vector<std::uint32_t> seen;
    s.for_each([&](std::uint32_t i) { seen.push_back(i); });
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    EXPECT_EQ(seen.size(), s.size());
    EXPECT_EQ(seen.back(), n - 1);
    for (auto i : seen) EXPECT_TRUE(s.contains(i));
  }
}

TEST(device_set, of_all_has_each_and_no_more) {
  for (std::size_t const n : {1u, 64u, 65u, 130u}) {
    device_set const all(n, true);
    EXPECT_EQ(all.size(), n);
    std::uint32_t most = 0;
    all.for_each([&](std::uint32_t i) { most = i; });
    EXPECT_EQ(most, n - 1);
  }
}

TEST(device_set, is_cut_with_another) {
  device_set a(100), b(100), both(100);
  for (auto i : {3, 70, 99}) a.insert(static_cast<std::size_t>(i));
  for (auto i : {3, 71, 99}) b.insert(static_cast<std::size_t>(i));
  both.insert(3), both.insert(99);
  EXPECT_EQ(a & b, both);
  EXPECT_TRUE((a & device_set(100)).empty());
  EXPECT_EQ(a & device_set(100, true), a);
}

}  // namespace
}  // namespace rill
