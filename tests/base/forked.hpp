// Runs something in a child process that fork() makes.
#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace rill {

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
