// Bytes between two processes with nothing on top: what a socket itself takes.
#pragma once
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "processes.hpp"

namespace bench {

/// A socket that blocks.
class raw_socket {
 public:
  raw_socket(bool is_unix, int fd) : fd_(fd) {
    int const one = 1;
    if (!is_unix) ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }
  ~raw_socket() { ::close(fd_); }
  raw_socket(raw_socket const&) = delete;
  raw_socket& operator=(raw_socket const&) = delete;

  /// Both return whether the other process is still there.
  bool send(char const* from, std::size_t n) {
    for (std::size_t at = 0; at < n;) {
      auto const sent = ::send(fd_, from + at, n - at, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      at += static_cast<std::size_t>(sent);
    }
    return true;
  }
  bool receive(char* to, std::size_t n) {
    for (std::size_t at = 0; at < n;) {
      auto const came = ::recv(fd_, to + at, n - at, 0);
      if (came <= 0) return false;
      at += static_cast<std::size_t>(came);
    }
    return true;
  }

 private:
  int fd_;
};

/// An address for the functions of the system.
struct raw_address {
  explicit raw_address(std::string const& text) : is_unix(text.starts_with("unix:")) {
    if (is_unix) {
      auto& u = reinterpret_cast<sockaddr_un&>(storage);
      u.sun_family = AF_UNIX;
      std::strncpy(u.sun_path, text.c_str() + 5, sizeof u.sun_path - 1);
      size = sizeof u;
    } else {
      auto& i = reinterpret_cast<sockaddr_in&>(storage);
      i.sin_family = AF_INET;
      i.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      i.sin_port = htons(static_cast<std::uint16_t>(std::stoi(text.substr(text.find(':') + 1))));
      size = sizeof i;
    }
  }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  bool is_unix;
  sockaddr_storage storage = {};
  socklen_t size = 0;
};

/// Asks a second process for bytes: one byte there says how many come back, 1 or `many`.
class raw_transfer {
 public:
  static constexpr std::size_t many = 64 << 20;

  explicit raw_transfer(addresses& from) : to_(many) {
    auto const text = from.next();
    raw_address at(text);
    int const listening = ::socket(at.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(listening, at.get(), at.size) != 0 || ::listen(listening, 1) != 0)
      throw std::runtime_error("nobody can listen at " + text);
    other_ = std::make_unique<child>(std::vector<std::string>{"raw", text});
    socket_ = std::make_unique<raw_socket>(at.is_unix, ::accept(listening, nullptr, nullptr));
    ::close(listening);
  }
  void round_trip() { ask('1', 1); }
  void large() { ask('2', many); }

  /// The second process.
  static int answer(std::string const& text) {
    raw_address at(text);
    int const fd = ::socket(at.storage.ss_family, SOCK_STREAM, 0);
    if (::connect(fd, at.get(), at.size) != 0) return 1;
    raw_socket s(at.is_unix, fd);
    std::vector<char> const bytes(many, 'x');
    char asked = 0;
    while (s.receive(&asked, 1)) s.send(bytes.data(), asked == '1' ? 1 : many);
    return 0;
  }

 private:
  void ask(char what, std::size_t n) {
    if (!socket_->send(&what, 1) || !socket_->receive(to_.data(), n))
      throw std::runtime_error("the other process has gone");
  }
  std::vector<char> to_;
  std::unique_ptr<child> other_;
  std::unique_ptr<raw_socket> socket_;
};

/// Two processes that wake each other by a word of memory that both have mapped.
class raw_futex {
 public:
  raw_futex() : path_("/dev/shm/rill-bench-" + std::to_string(::getpid()) + "-" + std::to_string(made()++)) {
    words_ = map(path_, O_CREAT | O_EXCL);
    other_ = std::make_unique<child>(std::vector<std::string>{"futex", path_});
    round_trip();
  }
  ~raw_futex() { ::unlink(path_.c_str()); }
  void round_trip() {
    give(words_[0]);
    await(words_[1]);
  }
  /// The second process.
  static int answer(std::string const& path) {
    auto* const words = map(path, 0);
    for (;;) {
      await(words[0]);
      give(words[1]);
    }
  }

 private:
  using word = std::atomic<std::uint32_t>;
  static int& made() {
    static int n = 0;
    return n;
  }
  static word* map(std::string const& path, int flags) {
    int const fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | flags, 0600);
    if (fd < 0 || ::ftruncate(fd, 2 * sizeof(word)) != 0) throw std::runtime_error("nobody can write " + path);
    auto* const at = ::mmap(nullptr, 2 * sizeof(word), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (at == MAP_FAILED) throw std::runtime_error("nobody can map " + path);
    return static_cast<word*>(at);
  }
  static void give(word& w) {
    w.store(1);
    ::syscall(SYS_futex, &w, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  static void await(word& w) {
    while (w.exchange(0) == 0) ::syscall(SYS_futex, &w, FUTEX_WAIT, 0, nullptr, nullptr, 0);
  }
  std::string path_;
  word* words_ = nullptr;
  std::unique_ptr<child> other_;
};

}  // namespace bench
