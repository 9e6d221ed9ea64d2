// What the scripts of tests/train/values have recorded.
#pragma once
#include <map>
#include <string>

#include "../examples/source_folder.hpp"
#include "rill/io/npz.hpp"

namespace rill::test {

/// Returns the member of an archive of tests/train/values.
inline tensor recorded_value(std::string const& archive, std::string const& member) {
  static std::map<std::string, std::map<std::string, tensor>> archives;
  auto& all = archives[archive];
  if (all.empty())
    for (auto const& each : read_npz(source_folder() / "tests/train/values" / (archive + ".npz")))
      all[each.name] = each.value;
  auto const found = all.find(member);
  if (found == all.end()) throw error(code::not_found, archive + ".npz has no " + member);
  return found->second;
}

}  // namespace rill::test
