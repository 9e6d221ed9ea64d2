// How many steps a test of many takes; fewer by a sanitizer, which takes thirty times as long for each.
#pragma once

namespace rill::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int many_steps = 3000;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr int many_steps = 3000;
#else
inline constexpr int many_steps = 100'000;
#endif
#else
inline constexpr int many_steps = 100'000;
#endif

}  // namespace rill::test
