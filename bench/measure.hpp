// The timing protocol of rill and its peers.
#pragma once
#include <algorithm>
#include <chrono>
#include <vector>

#include "model.hpp"

namespace bench {

inline double seconds_of(step const& f, int times) {
  auto const begin = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Returns the median nanoseconds per unit; a call of `f` performs `units` units. After three warm-up calls come seven
/// rounds, each with as many calls as fit into a seventh of two seconds.
inline double nanoseconds(step const& f, double units) {
  constexpr double budget = 2;
  constexpr int rounds = 7;
  seconds_of(f, 3);
  double const once = std::max(seconds_of(f, 1), 1e-7);
  int const repeat = std::max(1, static_cast<int>(budget / rounds / once));
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) times.push_back(seconds_of(f, repeat) / repeat / units * 1e9);
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[rounds / 2];
}

}  // namespace bench
