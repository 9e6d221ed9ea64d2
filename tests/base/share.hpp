// How much of a long walk over inputs a test tries.
#pragma once
#include <cstddef>
#include <cstdlib>

namespace rill::test {

/// Tests that try thousands of inputs try each n-th. n is 1, but 7 with the address sanitizer, which takes thirty times
/// as long; RILL_TEST_ALL in the environment makes it 1 again (tests/deep.sh).
inline std::size_t share() {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  return std::getenv("RILL_TEST_ALL") ? 1 : 7;
#endif
#endif
  return 1;
}

}  // namespace rill::test
