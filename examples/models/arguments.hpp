// The command line of these programs: `program [steps]`.
#pragma once
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

namespace models {

/// Calls `run(steps)` with the number on the command line, or with the usual one, and returns what main returns: 0, or
/// 1 with a sentence on stderr.
template <class Run> int main_of(int count, char** words, long usual, Run const& run) {
  try {
    long steps = usual;
    if (count > 1) {
      auto const* const end = words[1] + std::strlen(words[1]);
      auto const [stop, problem] = std::from_chars(words[1], end, steps);
      if (count > 2 || problem != std::errc() || stop != end || steps < 1)
        throw std::invalid_argument("expected a number of steps from 1 on, got '" + std::string(words[1]) + "'");
    }
    run(steps);
    return 0;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s: %s\n", words[0], e.what());
    return 1;
  }
}

/// Throws unless the model has learnt: `expect(accuracy > 0.9, "…")`.
inline void expect(bool has_learnt, char const* what) {
  if (!has_learnt) throw std::runtime_error(std::string("it has not learnt: ") + what);
}

}  // namespace models
