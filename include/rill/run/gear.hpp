// The ways in which the nodes of a step are walked.
#pragma once
#include <cstdint>

namespace rill {

/// How the nodes of a step are walked. The results are the same bits.
enum class gear : std::uint8_t {
  automatic,  ///< forked where independent work outweighs a hand-over between threads
  straight,   ///< one after the other on the calling thread; kernels may use all threads
  forked,     ///< each as soon as what it waits for has run, on any thread
  tagged,     ///< the same, and in loops and branches too, several iterations at once
};

}  // namespace rill
