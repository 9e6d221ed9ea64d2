#include "rill/base/fixed_string.hpp"

#include <gtest/gtest.h>

namespace rill {
namespace {

template <fixed_string S> constexpr std::string_view text = S;

TEST(fixed_string, is_a_template_argument_that_reads_as_it_was_written) {
  static_assert(text<"swish"> == "swish");
  static_assert(text<""> == "");
  static_assert(text<"a\0b">.size() == 3);
  EXPECT_NE(&text<"a">, &text<"b">);
}

}  // namespace
}  // namespace rill
