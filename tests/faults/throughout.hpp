// Calls something again and again, while the n-th who asks for memory, or a thread, gets nothing.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <string>

#include "faults/failing.hpp"
#include "rill/base/error.hpp"

namespace rill::faults {

// What came of a call: its own result, an error of rill, or what must not leave it.
enum class outcome { done, refused, other };

template <class F> outcome outcome_of(what kind, faults::plan p, F const& f, std::string& said) {
  faults::arm(kind, p);
  try {
    f();
    faults::disarm(kind);
    return outcome::done;
  } catch (error const& e) {
    faults::disarm(kind);
    said = e.what();
    return outcome::refused;
  } catch (std::exception const& e) {
    faults::disarm(kind);
    said = std::string("not an error of rill: ") + e.what();
  } catch (...) {
    faults::disarm(kind);
    said = "something that is no exception";
  }
  return outcome::other;
}

// For each n (of many, about `points` of them): calls `f(setting)` on what `make()` makes, while the n-th who asks gets
// nothing, then `check(setting)`, which must find all as it is to be.
template <class Make, class F, class Check>
void fail_throughout(what kind, int points, Make const& make, F const& f, Check const& check) {
  std::int64_t asked = 0, refused = 0;
  {
    auto whole = make();
    faults::arm(kind, {});
    f(*whole);
    asked = faults::disarm(kind);
    check(*whole);
  }
  for (bool const all : {false, true}) {
    auto const step = std::max<std::int64_t>(asked / points, 1);
    for (std::int64_t n = 1; n <= asked; n += n < 64 ? 1 : step) {
      SCOPED_TRACE("the first that fails is " + std::to_string(n) + " of " + std::to_string(asked) +
                   (all ? ", and all after it" : ""));
      auto one = make();
      std::string said;
      auto const came = outcome_of(kind, {n, all}, [&] { f(*one); }, said);
      EXPECT_NE(came, outcome::other) << said;
      refused += came == outcome::refused;
      ASSERT_NO_THROW(check(*one)) << "after " << said;
      if (testing::Test::HasFailure()) return;
    }
  }
  if (kind == what::memory) {
    EXPECT_GT(refused, 0);
  }
}

}  // namespace rill::faults
