// What other systems make of the same numbers by attention and recurrent layers: layers.py records it.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "../examples/source_folder.hpp"
#include "rill/io/npz.hpp"
#include "rill/rill.hpp"

namespace rill::test {

/// A tensor of layers.npz: `framework.case.what`.
inline tensor recorded(std::string const& name) {
  static auto const all = [] {
    std::map<std::string, tensor> m;
    for (auto const& member : read_npz(source_folder() / "tests/train/layers.npz")) m[member.name] = member.value;
    return m;
  }();
  auto const found = all.find(name);
  if (found == all.end()) throw error(code::not_found, "layers.npz has no " + name);
  return found->second;
}

/// Compares float32 tensors: what sums of a few dozen rounded numbers may be off by.
inline void expect_recorded(tensor const& got, std::string const& name) {
  auto const want = recorded(name);
  ASSERT_EQ(got.shape(), want.shape()) << name;
  for (std::int64_t i = 0; i < got.elements(); ++i)
    ASSERT_NEAR(got.data<float>()[i], want.data<float>()[i], 3e-6 * (1 + std::abs(want.data<float>()[i])))
        << name << ", element " << i;
}

}  // namespace rill::test
