// What the tests of deadlines share: a step whose time is over when it has come to a place, on a slow machine as well.
#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "base/sentence.hpp"
#include "rill/run/feed.hpp"

namespace rill::test {

/// What `run(timeout)` says, which runs a step that never ends: with `place` in it, because its time is over there. A
/// deadline may come before the step is there, so that each attempt has twice the time of the last one.
std::string late_at(std::string_view place, auto const& run) {
  using namespace std::chrono_literals;
  std::string said;
  for (auto time = 10ms; time < 30s && said.find(place) == std::string::npos; time *= 2)
    said = sentence([&] { run(timeout(time)); });
  return said;
}

}  // namespace rill::test
