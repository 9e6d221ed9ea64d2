// docs/ops.md is what this writes; it fails when the page is not what the list of operations says.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "rill/ops/io_operations.hpp"
#include "rill/ops/registry.hpp"

namespace rill {
namespace {

std::string inputs_of(op_def const& op) {
  if (op.arity == -2) return "any number";
  if (op.arity == -1) return "one or more";
  return std::to_string(op.arity);
}

std::string page() {
  std::ostringstream s;
  s << "# Operations\n\n"
       "Written by the test `operations.are_those_of_the_page` from the lists in `include/rill/ops/operations.hpp` "
       "and\n"
       "`io_operations.hpp`, whose operations, the last ones here, come with `rill/io.hpp`;\n"
       "`RILL_WRITE_DOCS=1 build/tests/test_ops --gtest_filter=operations.are_those*` writes it again.\n\n"
       "An elementwise operation is fused with its neighbours. State: whether it reads or changes what outlives a "
       "step.\n\n"
       "| operation | what it gives | inputs | derivative | elementwise | state |\n|---|---|---|---|---|---|\n";
  for (auto const* op : all_operations<io_operations>())
    s << "| `" << op->name << "` | " << op->doc << " | " << inputs_of(*op) << " | " << (op->grad ? "yes" : "") << " | "
      << (op->elementwise ? "yes" : "") << " | "
      << (op->effect == effect::none    ? ""
          : op->effect == effect::reads ? "reads"
                                        : "writes")
      << " |\n";
  return s.str();
}

TEST(operations, are_those_of_the_page) {
  auto const path = std::string(RILL_SOURCE_DIR) + "/docs/ops.md";
  if (std::getenv("RILL_WRITE_DOCS")) std::ofstream(path) << page();
  std::ostringstream there;
  there << std::ifstream(path).rdbuf();
  EXPECT_EQ(there.str(), page()) << "docs/ops.md is out of date";
}

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
