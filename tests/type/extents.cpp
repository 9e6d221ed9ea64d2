#include "rill/type/extents.hpp"

#include <gtest/gtest.h>

namespace rill {
namespace {

TEST(extents, is_a_list_of_up_to_eight_integers) {
  constexpr extents e{3, -1, 5};
  static_assert(e.size() == 3 && !e.empty() && e[1] == -1);
  static_assert(extents().empty());
  static_assert(e.contains(5) && !e.contains(0));
  EXPECT_EQ(e.text(), "[3, -1, 5]");
  EXPECT_EQ(extents().text(), "[]");
}

TEST(extents, grows_to_eight_and_refuses_a_ninth) {
  extents e;
  for (int i = 0; i < 8; ++i) e.push_back(i);
  EXPECT_THROW(e.push_back(8), error);
  EXPECT_EQ(e.size(), 8);
  static_assert(!std::is_constructible_v<extents, int, int, int, int, int, int, int, int, int>);
}

TEST(extents, equals_a_list_of_the_same_numbers_and_length) {
  static_assert(extents{1, 2} == extents{1, 2});
  static_assert(extents{1, 2} != extents{2, 1});
  static_assert(extents{0} != extents{});
}

}  // namespace
}  // namespace rill
