// Stands for rill/base/parallel.hpp in CUDA source: threads share the numbers of a kernel before they call what the
// host calls, so a thread goes through all chunks of its own numbers.
#pragma once
#include <cstddef>

namespace rill {

struct parallel {
  std::size_t first = 0;  ///< the place of the thread's first number in the whole array

  template <class F> void operator()(std::size_t chunks, F const& f) const {
    for (std::size_t i = 0; i < chunks; ++i) f(i);
  }
};

}  // namespace rill
