#include "rill/ops/base/for_each_type.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rill {
namespace {

TEST(for_each_type, calls_with_the_types_of_the_set_and_their_numbers) {
  std::vector<std::size_t> numbers;
  for_each_type<dtypes{dtype::float64} | dtype::boolean | dtype::string>([&]<class T>(std::size_t d) {
    EXPECT_EQ(dtype_of<T>, static_cast<dtype>(d));
    numbers.push_back(d);
  });
  EXPECT_EQ(numbers.size(), 3);
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  for_each_type<dtypes{}>([]<class>(std::size_t) { FAIL(); });
}

}  // namespace
}  // namespace rill
