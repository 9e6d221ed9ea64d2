// Tables of operations, as docs/ has them.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <string>

#include "../examples/source_folder.hpp"
#include "rill/graph/op_def.hpp"

namespace rill::test {

inline std::string inputs_of(op_def const& op) {
  if (op.arity == -2) return "any number";
  if (op.arity == -1) return "one or more";
  return std::to_string(op.arity);
}

// The element types that an operation says it takes; nothing where it takes all, or each input has types of its own.
template <class Operations> std::map<std::string_view, std::string> elements_of_operations() {
  static constexpr std::pair<dtypes, std::string_view> parts[] = {
      {dtypes::numbers, "numbers"},   {dtypes::reals, "reals"},
      {dtypes::integers, "integers"}, {dtypes::signed_integers, "signed integers"},
      {dtypes::floats, "floats"},     {dtypes::complexes, "complex numbers"},
      {dtype::boolean, "bool"},       {dtype::string, "strings"}};
  std::map<std::string_view, std::string> all;
  Operations::for_each([&]<class Op>() {
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

// A table of operations, a row for each, in the order of `defined`. `on_gpu`: whether a GPU runs it, by its name.
template <class Operations>
std::string table_of(std::span<op_def const* const> defined,
                     std::map<std::string_view, std::string> const& on_gpu = {}) {
  auto const elements = elements_of_operations<Operations>();
  std::ostringstream s;
  s << "| operation | what it gives | inputs | element types | derivative | elementwise | state |"
    << (on_gpu.empty() ? "\n|---|---|---|---|---|---|---|\n" : " GPU |\n|---|---|---|---|---|---|---|---|\n");
  for (auto const* op : defined) {
    s << "| `" << op->name << "` | " << op->doc << " | " << inputs_of(*op) << " | "
      << (elements.contains(op->name) ? elements.at(op->name) : "") << " | " << (op->grad ? "yes" : "") << " | "
      << (op->elementwise ? "yes" : "") << " | "
      << (op->effect == effect::none    ? ""
          : op->effect == effect::reads ? "reads"
                                        : "writes")
      << " |";
    if (auto const at = on_gpu.find(op->name); at != on_gpu.end()) s << " " << at->second << " |";
    else if (!on_gpu.empty()) s << " |";
    s << "\n";
  }
  return s.str();
}

// Expects a page of docs/ to have this text; writes it with RILL_WRITE_DOCS in the environment.
inline void expect_page(std::string const& name, std::string const& text) {
  auto const path = source_folder() / "docs" / name;
  if (std::getenv("RILL_WRITE_DOCS")) std::ofstream(path) << text;
  std::ostringstream there;
  there << std::ifstream(path).rdbuf();
  EXPECT_EQ(there.str(), text) << "docs/" << name << " is out of date";
}

}  // namespace rill::test
