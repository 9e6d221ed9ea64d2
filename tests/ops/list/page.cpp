// docs/ops.md is what this writes; it fails when the page is not what the list of operations says.
#include <gtest/gtest.h>

#include "rill/ops/list/io_operations.hpp"
#include "rill/ops/list/registry.hpp"
#include "table.hpp"

namespace rill {
namespace {

std::string page() {
  return "# Operations\n\n"
         "Written by the test `operations.are_those_of_the_page` from the lists in "
         "`include/rill/ops/list/operations.hpp` "
         "and\n"
         "`io_operations.hpp`, whose operations, the last ones here, come with `rill/io.hpp`;\n"
         "decompositions of matrices, of `eigen_operations.hpp`, need Eigen and have [a table of their own]"
         "(eigen_ops.md);\n"
         "`RILL_WRITE_DOCS=1 build/tests/test_ops --gtest_filter=operations.are_those*` writes it again.\n\n"
         "Element types: of the inputs that it computes with; where nothing is said it takes all, or those that its "
         "text names.\nReals are integers and floats, numbers are reals and complex numbers. An elementwise operation "
         "is fused with its\nneighbours. State: whether it reads or changes what outlives a step.\n\n" +
         test::table_of<join<operations, io_operations>>(all_operations<io_operations>());
}

TEST(operations, are_those_of_the_page) { test::expect_page("ops.md", page()); }

TEST(operations, each_have_a_name_of_their_own_and_a_sentence) {
  std::vector<std::string_view> names;
  for (auto const* op : all_operations<io_operations>()) {
    EXPECT_FALSE(op->doc.empty()) << op->name;
    EXPECT_EQ(std::count(names.begin(), names.end(), op->name), 0) << op->name;
    names.push_back(op->name);
  }
  EXPECT_GE(names.size(), 50u);
}

}  // namespace
}  // namespace rill
