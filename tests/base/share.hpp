// How much a test tries that is long with a sanitizer. RILL_TEST_ALL in the environment asks for all of it
// (tests/deep.sh).
#pragma once
#include <cstddef>
#include <cstdlib>

namespace rill::test {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RILL_TEST_ADDRESS_SANITIZER 1
#elif __has_feature(thread_sanitizer)
#define RILL_TEST_THREAD_SANITIZER 1
#endif
#endif
#if defined(RILL_TEST_ADDRESS_SANITIZER) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_sanitizer = true, thread_sanitizer = false;
#elif defined(RILL_TEST_THREAD_SANITIZER) || defined(__SANITIZE_THREAD__)
inline constexpr bool address_sanitizer = false, thread_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false, thread_sanitizer = false;
#endif

/// Returns `all`, or `few` with a sanitizer, which takes ten to thirty times as long.
inline int steps(int all, int few) {
  return (address_sanitizer || thread_sanitizer) && !std::getenv("RILL_TEST_ALL") ? few : all;
}

/// Tests that try thousands of inputs try each n-th. Returns n: 1, but 7 with the address sanitizer.
inline std::size_t share() { return address_sanitizer && !std::getenv("RILL_TEST_ALL") ? 7 : 1; }

}  // namespace rill::test
