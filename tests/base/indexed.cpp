#include "rill/base/indexed.hpp"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

namespace rill {
namespace {

enum class apple : std::uint32_t {};
enum class pear : std::uint32_t {};

template <class Vector, class Index>
concept takes = requires(Vector v, Index i) { v[i]; };

TEST(indexed, gives_an_element_an_index_by_which_it_is_found) {
  indexed<apple, std::string> names;
  EXPECT_TRUE(names.empty());
  auto const first = names.push_back("boskoop"), second = names.push_back("gala");
  EXPECT_EQ(as_integer(first), 0);
  EXPECT_EQ(names[first], "boskoop");
  names[second] += "!";
  EXPECT_EQ(std::as_const(names)[second], "gala!");
  EXPECT_EQ(names.size(), 2);
  static_assert(takes<indexed<apple, int>, apple>);
  static_assert(!takes<indexed<apple, int>, pear> && !takes<indexed<apple, int>, int>);
}

TEST(indexed, walks_over_its_indices_in_order) {
  indexed<pear, int> all(3, 7);
  std::uint32_t expected = 0;
  for (auto i : all.indices()) {
    EXPECT_EQ(as_integer(i), expected++);
    EXPECT_EQ(all[i], 7);
  }
  EXPECT_EQ(expected, 3);
  indexed<pear, int> const none;
  for ([[maybe_unused]] auto i : none.indices()) ADD_FAILURE() << "an empty vector has no index";
}

TEST(indexed, has_an_index_behind_its_last_element) {
  indexed<apple, int> all(2);
  EXPECT_EQ(all.end_index(), apple{2});
  EXPECT_EQ(next(apple{1}), all.end_index());
  EXPECT_EQ(all.push_back(1), as_index<apple>(2));
  all.resize(1);
  EXPECT_EQ(all.end_index(), apple{1});
}

TEST(indexed, has_an_index_that_names_no_element) {
  EXPECT_EQ(as_integer(no_index<apple>), UINT32_MAX);
  indexed<apple, bool> flags(2);
  flags[apple{1}] = true;
  EXPECT_FALSE(flags[apple{0}]);
  EXPECT_TRUE(flags[apple{1}]);
}

}  // namespace
}  // namespace rill
