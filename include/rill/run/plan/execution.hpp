// The ways in which the nodes of a step are walked.
#pragma once
#include <cstdint>

namespace rill {

/// How the nodes of a step are walked. The results are the same bits.
enum class execution : std::uint8_t {
  automatic,   ///< parallel where independent work outweighs a hand-over between threads
  sequential,  ///< one after the other on the calling thread; kernels may use all threads
  parallel,    ///< each as soon as what it waits for has run, on any thread
  tagged,      ///< the same, and in loops and branches too, several iterations at once
};

}  // namespace rill
