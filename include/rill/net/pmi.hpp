// Addresses by the store of a launcher that has PMI-1, as MPICH's mpirun does: lines of text over an open file
// ("PMI: A Scalable Parallel Process-Management Interface", Balaji et al. 2010).
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "rill/base/c_locale.hpp"
#include "rill/base/config.hpp"
#include "rill/base/error.hpp"

namespace rill::net {

/// Stores the address of this process, waits for all, and returns the addresses of all by their ranks. `file` is the
/// launcher's (PMI_FD). Throws error(deadline_exceeded) if not all come in time, and error(unavailable) if the launcher
/// says something else than expected.
std::vector<std::string> exchange_by_pmi(int file, std::uint32_t rank, std::uint32_t processes, std::string const& own,
                                         std::chrono::nanoseconds timeout);

#if RILL_NET_RUNTIME
}  // namespace rill::net

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <system_error>

#include "rill/base/deadline.hpp"

namespace rill::net {

namespace detail {

/// A conversation with the launcher: each command is a line, and so is the answer.
class pmi_store {
 public:
  pmi_store(int file, std::chrono::nanoseconds timeout) : file_(file), end_(deadline_after(timeout)) {
    ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
    name_ = value_of("kvsname", ask("cmd=get_my_kvsname", "my_kvsname"));
  }

  void put(std::string const& key, std::string const& value) {
    ask("cmd=put kvsname=" + name_ + " key=" + key + " value=" + value, "put_result");
  }
  void wait_for_all() { ask("cmd=barrier_in", "barrier_out"); }
  std::string get(std::string const& key) {
    return value_of("value", ask("cmd=get kvsname=" + name_ + " key=" + key, "get_result"));
  }
  /// The launcher ends all processes if one leaves without it.
  void finish() { ask("cmd=finalize", "finalize_ack"); }

 private:
  [[noreturn]] static void refuse(std::string const& why) {
    throw error(code::unavailable, "the launcher's store of addresses (PMI) can't be used: " + why +
                                       "; set RILL_FIRST to the host of process 0 to do without it");
  }
  std::string ask(std::string const& command, std::string_view answer) {
    write_all(command + "\n");
    auto const line = read_line();
    if (value_of("cmd", line) != answer) refuse("'" + line + "' came as the answer to '" + command + "'");
    if (auto const rc = find("rc", line); rc && *rc != "0") refuse("'" + command + "' failed: '" + line + "'");
    return line;
  }
  static std::optional<std::string> find(std::string_view key, std::string_view line) {
    while (!line.empty()) {
      auto const word = line.substr(0, line.find(' '));
      if (word.starts_with(key) && word.size() > key.size() && word[key.size()] == '=')
        return std::string(word.substr(key.size() + 1));
      line.remove_prefix(std::min(word.size() + 1, line.size()));
    }
    return {};
  }
  static std::string value_of(std::string_view key, std::string_view line) {
    if (auto value = find(key, line)) return *value;
    refuse("'" + std::string(line) + "' has no " + std::string(key));
  }

  void write_all(std::string_view text) const {
    while (!text.empty()) {
      auto n = ::send(file_, text.data(), text.size(), MSG_NOSIGNAL);  // a launcher that has ended ends nobody
      if (n < 0 && errno == ENOTSOCK) n = ::write(file_, text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) refuse(system_message({errno, std::system_category()}));
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  std::string read_line() {
    for (;;) {
      if (auto const end = buffer_.find('\n'); end != buffer_.npos) {
        auto line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return line;
      }
      if (buffer_.size() > 4096) refuse("a line is longer than 4096 characters");
      wait_for_bytes();
      char bytes[1024];
      auto const n = ::read(file_, bytes, sizeof bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) refuse(n == 0 ? "it has closed the connection" : system_message({errno, std::system_category()}));
      buffer_.append(bytes, static_cast<std::size_t>(n));
    }
  }
  void wait_for_bytes() const {
    for (;;) {
      auto const left =
          std::chrono::duration_cast<std::chrono::milliseconds>(end_ - std::chrono::steady_clock::now()).count();
      if (left <= 0)
        throw error(code::deadline_exceeded,
                    "not all processes of the run have told the launcher their addresses in time: has one of them "
                    "ended, or does one not call cluster::from_environment?");
      pollfd p{.fd = file_, .events = POLLIN, .revents = 0};
      if (::poll(&p, 1, static_cast<int>(std::min<std::int64_t>(left, 1000000))) > 0) return;
    }
  }

  int const file_;
  std::chrono::steady_clock::time_point const end_;
  std::string name_, buffer_;
};

}  // namespace detail

RILL_NET_INLINE std::vector<std::string> exchange_by_pmi(int file, std::uint32_t rank, std::uint32_t processes,
                                                         std::string const& own, std::chrono::nanoseconds timeout) {
  detail::pmi_store store(file, timeout);
  store.put("rill-" + std::to_string(rank), own);
  store.wait_for_all();
  std::vector<std::string> all;
  for (std::uint32_t r = 0; r < processes; ++r) all.push_back(store.get("rill-" + std::to_string(r)));
  store.finish();
  return all;
}

#endif

}  // namespace rill::net
