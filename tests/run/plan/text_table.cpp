#include "rill/run/plan/text_table.hpp"

#include <gtest/gtest.h>

namespace rill::detail {
namespace {

TEST(text_table, has_columns_as_wide_as_their_widest_cell_and_none_that_are_empty) {
  text_table t;
  t.add({"0", "a", "", "x"});
  t.add({"10", "long", "", ""});
  t.add({"2", "", "", "y"});
  EXPECT_EQ(t.text(), "0   a     x\n10  long\n2         y\n");
  EXPECT_EQ(text_table().text(), "");
}

TEST(text_table, indents_lines_that_are_not_empty) {
  EXPECT_EQ(indented("a\n\n  b\n"), "  a\n\n    b\n");
  EXPECT_EQ(paragraph("head", "a\nb\n"), "head\n  a\n  b\n");
  EXPECT_EQ(paragraph("head", ""), "");
}

TEST(text_table, puts_commas_between_texts) {
  EXPECT_EQ(comma_list({}), "");
  EXPECT_EQ(comma_list({"a", "b", "c"}), "a, b, c");
}

}  // namespace
}  // namespace rill::detail
