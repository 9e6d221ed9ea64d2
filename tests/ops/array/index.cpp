#include "rill/ops/array/index.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rill {
namespace {

template <class T> void reads(dtype element) {
  std::vector<T> const which{2, 0, 4};
  ops::index_reader const five(type(element, {3}), 5);
  EXPECT_EQ(five.count(), 3u);
  std::int64_t to[3];
  five(which.data(), to);
  EXPECT_EQ((std::vector<std::int64_t>(to, to + 3)), (std::vector<std::int64_t>{2, 0, 4}));

  auto const refused = [&](std::vector<T> const& at, std::int64_t rows) {
    try {
      ops::index_reader(type(element, {dim(static_cast<std::int64_t>(at.size()))}), rows).check(at.data());
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::invalid_argument);
      return e.message();
    }
    return std::string("taken");
  };
  EXPECT_EQ(refused(which, 4), "index 2 is 4, and there are 4 rows");
  EXPECT_EQ(refused({0, -1, 9}, 5), "index 1 is -1, and there are 5 rows");
  EXPECT_EQ(refused({0}, 0), "index 0 is 0, and there are 0 rows");
  EXPECT_EQ(refused({std::numeric_limits<T>::min()}, 5).substr(0, 8), "index 0 ");
  EXPECT_EQ(refused({}, 0), "taken");
}
TEST(index, is_read_and_checked) {
  reads<std::int32_t>(dtype::int32);
  reads<std::int64_t>(dtype::int64);
}

TEST(gathered, is_a_row_for_each_index) {
  constexpr type table = of<float, "words", 8>;
  EXPECT_EQ(ops::gathered(table, of<std::int32_t, 2, 3>), (of<float, 2, 3, 8>));
  EXPECT_EQ(ops::gathered(table, of<std::int32_t>), (of<float, 8>));
  EXPECT_FALSE(ops::gathered(table, type::of_unknown_rank(dtype::int32)).has_rank());
  EXPECT_THROW(ops::gathered(of<float>, of<std::int32_t, 2>), error);
}

}  // namespace
}  // namespace rill
