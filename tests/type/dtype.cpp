#include "rill/type/dtype.hpp"

#include <gtest/gtest.h>

#include <set>

namespace rill {
namespace {

template <class F> void each_dtype(F&& f) {
  for (std::size_t i = 0; i < dtype_count; ++i) f(static_cast<dtype>(i));
}

TEST(dtype, is_visited_as_its_own_cpp_type) {
  each_dtype([](dtype d) {
    visit(d, [&]<class T>() {
      EXPECT_EQ(dtype_of<T>, d);
      EXPECT_EQ(size_of(d), sizeof(T));
    });
  });
}

TEST(dtype, has_a_name_of_its_own) {
  std::set<std::string_view> names;
  each_dtype([&](dtype d) { names.insert(name(d)); });
  EXPECT_EQ(names.size(), dtype_count);
  EXPECT_EQ(name(dtype::boolean), "bool");
  EXPECT_EQ(name(dtype::string), "string");
}

TEST(dtype, belongs_to_the_sets_that_operations_name) {
  static_assert(dtypes::integers.contains(dtype::uint8) && !dtypes::integers.contains(dtype::boolean));
  static_assert(dtypes::floats.contains(dtype::bfloat16) && !dtypes::floats.contains(dtype::complex64));
  static_assert((dtypes(dtype::int8) | dtype::string).contains(dtype::string));
  static_assert(!dtypes().contains(dtype::boolean));
  each_dtype([](dtype d) {
    EXPECT_TRUE(dtypes::any_element.contains(d));
    EXPECT_EQ(is_differentiable(d), is_float(d) || is_complex(d));
    EXPECT_EQ(dtypes::numbers.contains(d), d != dtype::boolean && d != dtype::string);
  });
}

}  // namespace
}  // namespace rill
