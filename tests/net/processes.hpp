// Servers in processes of their own, which tests kill and stop. Each runs this test program again, with one test of it.
#pragma once
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rill::test {

/// A process of this program.
class process {
 public:
  /// `test`: what it runs, a disabled test; `with`: variables of its environment.
  process(std::string const& test, std::map<std::string, std::string> const& with) {
    std::vector<std::string> words{"/proc/self/exe", "--gtest_filter=" + test, "--gtest_also_run_disabled_tests",
                                   "--gtest_brief=1"};
    std::vector<std::string> variables;
    for (auto at = environ; *at != nullptr; ++at) {
      auto const name = std::string_view(*at).substr(0, std::string_view(*at).find('='));
      if (!with.contains(std::string(name)) && !name.starts_with("GTEST_")) variables.emplace_back(*at);
    }
    for (auto const& [name, value] : with) variables.push_back(name + "=" + value);
    auto const raw = [](std::vector<std::string>& all) {
      std::vector<char*> pointers;
      for (auto& each : all) pointers.push_back(each.data());
      pointers.push_back(nullptr);
      return pointers;
    };
    EXPECT_EQ(::posix_spawn(&id_, "/proc/self/exe", nullptr, nullptr, raw(words).data(), raw(variables).data()), 0);
  }
  ~process() {
    if (id_ > 0) end(SIGKILL);
  }
  process(process const&) = delete;
  process& operator=(process const&) = delete;

  pid_t id() const { return id_; }
  /// Stops it, and waits until it stands still; or lets it go on.
  void stop() const {
    ::kill(id_, SIGSTOP);
    int status = 0;
    ::waitpid(id_, &status, WUNTRACED);
  }
  void go_on() const { ::kill(id_, SIGCONT); }
  /// Ends it, and waits for that.
  void end(int signal) {
    ::kill(id_, signal);
    wait();
  }
  /// Waits until it has ended by itself. Returns the status of waitpid.
  int wait() {
    int status = 0;
    ::waitpid(id_, &status, 0);
    id_ = -1;
    return status;
  }

 private:
  pid_t id_ = -1;
};

}  // namespace rill::test
