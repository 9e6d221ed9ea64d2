// Processes of a benchmark on this machine: each runs the benchmark's own program with other arguments, and ends with
// it.
#pragma once
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// A process that is told to end, and waited for, by the destructor.
class child {
 public:
  /// Starts this program with the arguments, and with `environment` ("NAME=VALUE") beside this process's own.
  child(std::vector<std::string> arguments, std::vector<std::string> const& environment = {}) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe can be made");
    arguments.insert(arguments.begin(), "cluster");
    std::vector<std::string> all = environment;
    for (auto e = environ; *e; ++e) all.emplace_back(*e);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    auto const failed =
        ::posix_spawn(&process_, "/proc/self/exe", &actions, nullptr, pointers(arguments).data(), pointers(all).data());
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (failed) throw std::runtime_error("no process can be started");
    said_ = ::fdopen(ends[0], "r");
  }
  ~child() {
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
    std::fclose(said_);
  }
  child(child const&) = delete;
  child& operator=(child const&) = delete;

  pid_t id() const { return process_; }
  /// Ends it at once.
  void kill() const { ::kill(process_, SIGKILL); }
  /// Returns the next line that it prints; empty: it has ended.
  std::string line() {
    char text[512];
    return std::fgets(text, sizeof text, said_) ? text : "";
  }
  /// Lets this process, a child, end when its parent has ended.
  static void end_with_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& all) {
    std::vector<char*> made;
    for (auto& each : all) made.push_back(each.data());
    made.push_back(nullptr);
    return made;
  }
  pid_t process_ = 0;
  FILE* said_ = nullptr;
};

/// Lets this process, and the children that don't choose another, run on one core alone.
inline void use_core(int which) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(which, &one);
  ::sched_setaffinity(0, sizeof one, &one);
}

/// Lets this process run on the first two cores.
inline void use_two_cores() {
  cpu_set_t both;
  CPU_ZERO(&both);
  CPU_SET(0, &both);
  CPU_SET(1, &both);
  ::sched_setaffinity(0, sizeof both, &both);
}

/// Addresses for processes on this machine: ports of TCP that are free now, or Unix sockets in a folder that is removed
/// again.
class addresses {
 public:
  explicit addresses(bool unix_sockets) {
    if (!unix_sockets) return;
    char name[] = "/tmp/rill-bench-XXXXXX";
    if (!::mkdtemp(name)) throw std::runtime_error("no folder can be made in /tmp");
    folder_ = name;
  }
  ~addresses() {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  addresses(addresses const&) = delete;
  addresses& operator=(addresses const&) = delete;

  bool are_unix() const { return !folder_.empty(); }
  /// Returns one that nobody has got before: "127.0.0.1:40000" or "unix:/tmp/rill-bench-x/1".
  std::string next() {
    return are_unix() ? "unix:" + folder_ + "/" + std::to_string(++count_) : "127.0.0.1:" + std::to_string(free_port());
  }

 private:
  static std::uint16_t free_port() {
    int const s = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t n = sizeof at;
    bool const ok = ::bind(s, reinterpret_cast<sockaddr*>(&at), n) == 0 &&
                    ::getsockname(s, reinterpret_cast<sockaddr*>(&at), &n) == 0;
    ::close(s);
    if (!ok) throw std::runtime_error("no port is free");
    return ntohs(at.sin_port);
  }
  std::string folder_;
  int count_ = 0;
};

}  // namespace bench
