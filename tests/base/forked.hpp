// Runs something in a child process that fork() makes.
#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RILL_TEST_THREAD_SANITIZER 1
#endif
#endif

namespace rill {

/// Whether a child process of several threads can start threads of its own: not with the thread sanitizer's run time.
#ifdef RILL_TEST_THREAD_SANITIZER
inline constexpr bool children_start_threads = false;
#else
inline constexpr bool children_start_threads = true;
#endif

/// Whether `f()` returns true, and ends at all, in a child process. One that hangs is ended after a minute.
template <class F> bool holds_in_a_child(F const& f) {
  auto const child = ::fork();
  if (child == 0) {
    bool holds = false;
    try {
      holds = f();
    } catch (...) {
    }
    ::_exit(holds ? 0 : 1);
  }
  EXPECT_GT(child, 0);
  int status = 0;
  for (int i = 0; i < 60'000; ++i) {
    if (::waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return false;
}

}  // namespace rill
