// What traces steps: told of each node as it runs.
#pragma once
#include <chrono>
#include <cstdint>
#include <string_view>

namespace rill {

/// One node that has run.
struct node_record {
  std::string_view name, operation;
  std::uint64_t step;
  std::chrono::steady_clock::time_point begin, end;
};

/// Derive from it to follow steps (OSDI'16 §5's tracer). Calls come from the threads that run nodes, one at a time for
/// each step; the observer must outlive the run and must not throw. One that runs a step itself must not run it on a
/// device of the step that it follows: that device's thread may be the one that calls.
class observer {
 public:
  virtual ~observer() = default;
  virtual void step_begins(std::uint64_t) {}  ///< with its number
  virtual void node_ran(node_record const&) = 0;
  virtual void step_ended(std::uint64_t) {}  ///< also of a step that failed
};

/// Among the fetches of a run: who watches it.
struct observe {
  explicit observe(observer& o) : who(&o) {}
  observer* who;
};

}  // namespace rill
