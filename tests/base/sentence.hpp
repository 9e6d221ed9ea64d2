// What the tests of refusals share: the sentence that an error says.
#pragma once
#include <string>

#include "rill/base/error.hpp"

namespace rill {

/// All that the error says that `f` throws, its code and node included; "" if nothing is thrown.
std::string sentence(auto&& f) {
  try {
    f();
  } catch (error const& e) {
    return e.what();
  }
  return "";
}

}  // namespace rill
