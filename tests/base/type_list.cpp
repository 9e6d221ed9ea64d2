#include "rill/base/type_list.hpp"

#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

namespace rill {
namespace {

TEST(type_list, is_gone_through_in_order) {
  std::vector<std::size_t> sizes;
  type_list<double, char, double, std::int32_t>::for_each([&]<class T>() { sizes.push_back(sizeof(T)); });
  EXPECT_EQ(sizes, (std::vector<std::size_t>{8, 1, 8, 4}));
  type_list<>::for_each([&]<class>() { sizes.clear(); });
  EXPECT_EQ(sizes.size(), 4);
}

TEST(type_list, is_joined_to_others_in_order) {
  using all = join<type_list<int, char>, type_list<>, type_list<float>, type_list<int>>;
  static_assert(std::is_same_v<all, type_list<int, char, float, int>>);
  static_assert(std::is_same_v<join<type_list<int>>, type_list<int>>);
  EXPECT_EQ(all::size, 4);
}

}  // namespace
}  // namespace rill
