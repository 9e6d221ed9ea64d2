#include "rill/dsl/kernel_parts.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "rill/ops/base/kernels.hpp"

namespace rill {
namespace {

// An operation whose kernels are its element types' numbers.
struct numbered_op {
  [[maybe_unused]] static constexpr std::string_view name = "numbered";
  static constexpr dtypes elements = dtypes::numbers;
  using kernels = std::array<int, dtype_count>;
  template <dtypes Set> static constexpr kernels make_kernels() {
    kernels k{};
    for (std::size_t d = 0; d < dtype_count; ++d)
      if ((elements & Set).contains(static_cast<dtype>(d))) k[d] = static_cast<int>(d) + 1;
    return k;
  }
};

int kernel_for(dtype d) { return kernels_of<numbered_op>(d)[static_cast<std::size_t>(d)]; }

TEST(kernel_parts, common_element_types_are_there_from_the_start) {
  for (auto d : {dtype::int32, dtype::int64, dtype::float32, dtype::float64})
    EXPECT_EQ(kernel_for(d), static_cast<int>(d) + 1) << name(d);
}

TEST(kernel_parts, an_element_type_that_the_operation_does_not_take_has_no_kernel) {
  EXPECT_EQ(kernel_for(dtype::boolean), 0);
}

TEST(kernel_parts, an_operation_may_be_given_more_element_types) {
  detail::provide_kernels<numbered_op, dtype::int8>();
  detail::provide_kernels<numbered_op, dtypes{dtype::float16} | dtype::uint8>();
  detail::provide_kernels<numbered_op, dtype::int8>();
  for (auto d : {dtype::int8, dtype::float16, dtype::uint8, dtype::float32})
    EXPECT_EQ(kernel_for(d), static_cast<int>(d) + 1) << name(d);
}

#if !RILL_COMPILED
TEST(kernel_parts, a_kernel_that_is_not_there_is_an_error_that_says_what_to_do) {
  try {
    kernel_for(dtype::complex64);
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::unimplemented);
    EXPECT_NE(e.message().find("'numbered' for complex64"), std::string::npos) << e.what();
    EXPECT_NE(e.message().find("rill::use_elements<rill::dtype::complex64>()"), std::string::npos) << e.what();
    EXPECT_NE(e.message().find("link rill::compiled"), std::string::npos) << e.what();
  }
}
#endif

TEST(kernel_parts, the_element_types_of_types_are_a_set) {
  std::vector<type> const types{type(dtype::int8), type(dtype::float32), type(dtype::int8)};
  EXPECT_EQ(detail::elements_in(types), dtypes{dtype::int8} | dtype::float32);
  EXPECT_EQ(detail::elements_in(type(dtype::boolean)), dtypes{dtype::boolean});
}

}  // namespace
}  // namespace rill
