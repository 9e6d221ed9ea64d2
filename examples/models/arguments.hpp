// The command line of these programs: `program [steps]`, and `program [steps] [--device cpu|gpu]` of those that run on
// a GPU.
#pragma once
#include <charconv>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace models {

/// What the command line says.
struct arguments {
  long steps;
  std::string device = "cpu";
};

/// Parses the command line. Throws std::invalid_argument.
inline arguments parse(int count, char** words, long usual, bool takes_device) {
  arguments a{usual};
  for (int i = 1; i < count; ++i) {
    std::string const word = words[i];
    if (word == "--device" && takes_device) {
      a.device = i + 1 < count ? words[++i] : "";
      if (a.device != "cpu" && a.device != "gpu") throw std::invalid_argument("--device: expected cpu or gpu");
      continue;
    }
    auto const* const end = word.data() + word.size();
    auto const [stop, problem] = std::from_chars(word.data(), end, a.steps);
    if (problem != std::errc() || stop != end || a.steps < 1)
      throw std::invalid_argument("expected a number of steps from 1 on, got '" + word + "'");
  }
  return a;
}

/// Calls `run(steps)`, or `run(steps, device)`, with what is on the command line, and returns what main returns: 0, or
/// 1 with a sentence on stderr. `usual`: the number of steps that are taken without one.
template <class Run> int main_of(int count, char** words, long usual, Run const& run) {
  constexpr bool takes_device = std::is_invocable_v<Run, long, std::string_view>;
  try {
    auto const a = parse(count, words, usual, takes_device);
    if constexpr (takes_device) run(a.steps, a.device);
    else run(a.steps);
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
