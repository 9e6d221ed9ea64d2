// docs/ops.md is what this writes; it fails when the page is not what the list of operations says.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "../examples/source_folder.hpp"
#include "rill/ops/list/io_operations.hpp"
#include "rill/ops/list/registry.hpp"

namespace rill {
namespace {

std::string inputs_of(op_def const& op) {
  if (op.arity == -2) return "any number";
  if (op.arity == -1) return "one or more";
  return std::to_string(op.arity);
}

// The element types that an operation says it takes; nothing where it takes all, or each input has types of its own.
std::map<std::string_view, std::string> elements_of_operations() {
  static constexpr std::pair<dtypes, std::string_view> parts[] = {
      {dtypes::numbers, "numbers"},   {dtypes::reals, "reals"},
      {dtypes::integers, "integers"}, {dtypes::signed_integers, "signed integers"},
      {dtypes::floats, "floats"},     {dtypes::complexes, "complex numbers"},
      {dtype::boolean, "bool"},       {dtype::string, "strings"}};
  std::map<std::string_view, std::string> all;
  join<operations, io_operations>::for_each([&]<class Op>() {
    if constexpr (requires { Op::elements; }) {
      std::string& text = all[Op::name];
      dtypes left = Op::elements;
      if (left == dtypes::any_element) {
        text = "all";
        return;
      }
      for (auto const& [set, words] : parts) {
        if (!left.includes(set)) continue;
        text += (text.empty() ? "" : ", ") + std::string(words);
        left.bits &= ~set.bits;
      }
      for (std::size_t d = 0; d < dtype_count; ++d)
        if (left.contains(static_cast<dtype>(d)))
          text += (text.empty() ? "" : ", ") + std::string(name(static_cast<dtype>(d)));
    }
  });
  return all;
}

std::string page() {
  auto const elements = elements_of_operations();
  std::ostringstream s;
  s << "# Operations\n\n"
       "Written by the test `operations.are_those_of_the_page` from the lists in "
       "`include/rill/ops/list/operations.hpp` "
       "and\n"
       "`io_operations.hpp`, whose operations, the last ones here, come with `rill/io.hpp`;\n"
       "inverses and determinants, of `eigen_operations.hpp`, need Eigen and are not listed;\n"
       "`RILL_WRITE_DOCS=1 build/tests/test_ops --gtest_filter=operations.are_those*` writes it again.\n\n"
       "Element types: of the inputs that it computes with; where nothing is said it takes all, or those that its "
       "text names.\nReals are integers and floats, numbers are reals and complex numbers. An elementwise operation "
       "is fused with its\nneighbours. State: whether it reads or changes what outlives a step.\n\n"
       "| operation | what it gives | inputs | element types | derivative | elementwise | state |\n"
       "|---|---|---|---|---|---|---|\n";
  for (auto const* op : all_operations<io_operations>())
    s << "| `" << op->name << "` | " << op->doc << " | " << inputs_of(*op) << " | "
      << (elements.contains(op->name) ? elements.at(op->name) : "") << " | " << (op->grad ? "yes" : "") << " | "
      << (op->elementwise ? "yes" : "") << " | "
      << (op->effect == effect::none    ? ""
          : op->effect == effect::reads ? "reads"
                                        : "writes")
      << " |\n";
  return s.str();
}

TEST(operations, are_those_of_the_page) {
  auto const path = source_folder() / "docs/ops.md";
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
