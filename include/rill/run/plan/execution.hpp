// The ways in which the nodes of a step are walked.
#pragma once
#include <cstdint>

namespace rill {

/// How the nodes of a step are walked. The results are the same bits.
enum class execution : std::uint8_t {
  automatic,   ///< parallel if running independent nodes at once saves more than passing work between threads costs
  sequential,  ///< one after the other on the calling thread; kernels may use all threads
  parallel,    ///< each as soon as all nodes that it waits for have run, on any thread
  tagged,      ///< like parallel, in loops and branches too, several iterations at once
};

}  // namespace rill
