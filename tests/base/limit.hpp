// How long a test may take. A test that hangs shows where: it prints the stacks of all its threads.
#pragma once
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <iterator>

namespace rill::test {

/// Returns the number in an environment variable, or `otherwise` if it is not set.
inline unsigned number_in(char const* variable, unsigned otherwise) {
  char const* const said = std::getenv(variable);
  return said ? static_cast<unsigned>(std::atoi(said)) : otherwise;
}

/// Gives the test that runs `seconds` from now on, where it has a limit: RILL_TEST_PATIENCE times as many if that is
/// set, for runs of many tests at once.
inline void allow(unsigned seconds) {
  if (std::getenv("RILL_TEST_LIMIT")) ::alarm(seconds * number_in("RILL_TEST_PATIENCE", 1));
}

/// Limits each test to the seconds in RILL_TEST_LIMIT; without it, and in a debugger, a test may take as long as it
/// likes. By a signal, because a thread that watches would be one thread more in tests that count them.
class limit final : public testing::EmptyTestEventListener {
 public:
  limit() {
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    struct sigaction act = {};
    act.sa_handler = end;
    ::sigaction(SIGALRM, &act, nullptr);
  }
  void OnTestStart(testing::TestInfo const&) override { allow(number_in("RILL_TEST_LIMIT", 0)); }
  void OnTestEnd(testing::TestInfo const&) override { ::alarm(0); }

 private:
  // Called by whichever thread gets the signal.
  static void end(int) {
    static constexpr char words[] = "\nThe test is out of time. Its threads are at:\n";
    (void)!::write(STDERR_FILENO, words, sizeof words - 1);
    char process[16] = {};
    std::to_chars(process, std::end(process) - 1, ::getpid());
    auto const child = ::fork();
    if (child == 0) {
      ::dup2(STDERR_FILENO, STDOUT_FILENO);
      ::execlp("gdb", "gdb", "-batch", "-nx", "-p", process, "-ex", "thread apply all backtrace 40",
               static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::waitpid(child, nullptr, 0);
    ::signal(SIGABRT, SIG_DFL);
    std::abort();
  }
};

}  // namespace rill::test
