// What the tests of refusals share: the error that something throws, and the sentence that it says.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "rill/base/error.hpp"

namespace rill {

/// The error that `f` throws; if it throws none, the test fails.
error error_of(auto&& f) {
  try {
    f();
  } catch (error const& e) {
    return e;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {code::internal, "nothing was thrown"};
}

/// Its code alone.
code refusal(auto&& f) { return error_of(f).code(); }

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
