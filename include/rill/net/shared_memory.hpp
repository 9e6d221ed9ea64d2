// Connections between processes of one machine through memory that they share. A Unix socket beside it wakes whoever
// waits, and ends when a process does.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "rill/base/error.hpp"
#include "rill/net/address.hpp"
#include "rill/net/asio.hpp"
#include "rill/net/byte_stream.hpp"
#include "rill/net/close_on_exec.hpp"

namespace rill::net {

/// A descriptor that is closed again.
class descriptor {
 public:
  explicit descriptor(int fd = -1) : fd_(fd) {}
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

/// Two rings of bytes, one for each direction, in memory that two processes have mapped. A process believes nothing
/// that the other may have written there: it keeps its own positions, and checks the other's.
class shared_rings {
 public:
  static constexpr std::size_t capacity = std::size_t{1} << 20;  // fits into a second-level cache; a power of two

  /// What lies before the bytes of a ring, a cache line for each side.
  struct head {
    alignas(64) std::atomic<std::uint64_t> written;  ///< bytes, since the beginning
    std::atomic<std::uint32_t> reader_waits;
    alignas(64) std::atomic<std::uint64_t> read;
    std::atomic<std::uint32_t> writer_waits;
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  /// Returns new memory, whose size nobody can change: reading what was cut off would end this process.
  static descriptor make() {
    descriptor d(::memfd_create("rill", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (d.get() < 0 || ::ftruncate(d.get(), static_cast<off_t>(bytes)) != 0 ||
        ::fcntl(d.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
      throw std::system_error(errno, std::generic_category());
    return d;
  }
  /// Maps memory that `make` has made, maybe in another process. Throws error(data_loss) if it is other memory.
  explicit shared_rings(descriptor const& of) {
    struct stat s;
    auto const seals = ::fcntl(of.get(), F_GET_SEALS);
    if (::fstat(of.get(), &s) != 0 || s.st_size != static_cast<off_t>(bytes) || seals < 0 ||
        (seals & F_SEAL_SHRINK) == 0)
      throw error(code::data_loss, "what came is no memory to be shared");
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, of.get(), 0);
    if (at == MAP_FAILED) throw std::system_error(errno, std::generic_category());
    at_ = static_cast<char*>(at);
  }
  ~shared_rings() { ::munmap(at_, bytes); }
  shared_rings(shared_rings const&) = delete;
  shared_rings& operator=(shared_rings const&) = delete;

  head& head_of(int ring) { return *reinterpret_cast<head*>(at_ + ring * 2048); }
  char* bytes_of(int ring) { return at_ + 4096 + static_cast<std::size_t>(ring) * capacity; }

 private:
  static constexpr std::size_t bytes = 4096 + 2 * capacity;
  char* at_;
};

/// A connection through shared memory.
class memory_stream final : public byte_stream {
 public:
  /// `is_first`: whether this side has made the memory.
  memory_stream(stream_socket bell, descriptor const& memory, bool is_first)
      : bell_(std::move(bell)),
        space_(bell_.get_executor()),
        rings_(memory),
        out_(rings_.head_of(is_first ? 0 : 1)),
        in_(rings_.head_of(is_first ? 1 : 0)),
        to_(rings_.bytes_of(is_first ? 0 : 1)),
        from_(rings_.bytes_of(is_first ? 1 : 0)) {
    bell_.non_blocking(true);
  }

  asio::any_io_executor executor() override { return bell_.get_executor(); }
  asio::awaitable<std::size_t> read(asio::mutable_buffer to) override {
    for (;;) {
      if (auto const n = take(to)) co_return n;
      in_.reader_waits.store(1);
      if (auto const n = take(to)) {
        in_.reader_waits.store(0);
        co_return n;
      }
      std::error_code e;
      char rung[64];
      co_await bell_.async_read_some(asio::buffer(rung), asio::redirect_error(asio::use_awaitable, e));
      space_.cancel();
      if (!e) continue;
      if (auto const n = take(to)) co_return n;  // what was written before the end
      throw std::system_error(e);
    }
  }
  std::size_t write(std::span<asio::const_buffer const> from, std::error_code& e) override {
    auto space = space_left(e);
    std::size_t written = 0;
    for (auto const& b : from) {
      auto const n = std::min(b.size(), space - written);
      copy_in(static_cast<char const*>(b.data()), n);
      written += n;
      if (n < b.size()) break;
    }
    if (written == 0) return 0;
    out_.written.store(written_);
    if (out_.reader_waits.exchange(0) != 0) ring();
    return written;
  }
  asio::awaitable<void> writable() override {
    out_.writer_waits.store(1);
    std::error_code e;
    if (space_left(e) > 0 || e) {
      out_.writer_waits.store(0);
      co_return;
    }
    waits_for_space_ = true;
    space_.expires_at(std::chrono::steady_clock::time_point::max());
    co_await space_.async_wait(asio::redirect_error(asio::use_awaitable, e));
    waits_for_space_ = false;
    if (!bell_.is_open()) throw std::system_error(make_error_code(asio::error::operation_aborted));
  }
  void close() override {
    std::error_code ignored;
    bell_.close(ignored);
    space_.cancel();
  }
  /// Tells the side that has made the memory that it is taken.
  asio::awaitable<void> accept() {
    char const one = 'y';
    co_await asio::async_write(bell_, asio::buffer(&one, 1), asio::use_awaitable);
  }

 private:
  static constexpr auto capacity = shared_rings::capacity;

  std::size_t take(asio::mutable_buffer to) {
    auto const there = in_.written.load() - read_;
    if (there > capacity) throw error(code::data_loss, "what lies in shared memory is no ring");
    auto const n = std::min<std::size_t>(there, to.size());
    if (n == 0) return 0;
    auto const at = read_ % capacity;
    auto const first = std::min(n, capacity - at);
    std::memcpy(to.data(), from_ + at, first);
    std::memcpy(static_cast<char*>(to.data()) + first, from_, n - first);
    in_.read.store(read_ += n);
    if (in_.writer_waits.exchange(0) != 0) ring();
    if (waits_for_space_) hear();
    return n;
  }
  std::size_t space_left(std::error_code& e) {
    auto const used = written_ - out_.read.load();
    if (used <= capacity) return capacity - used;
    e = asio::error::connection_reset;  // the other side has written nonsense
    return 0;
  }
  void copy_in(char const* from, std::size_t n) {
    auto const at = written_ % capacity;
    auto const first = std::min(n, capacity - at);
    std::memcpy(to_ + at, from, first);
    std::memcpy(to_, from + first, n - first);
    written_ += n;
  }
  // Wakes the other side. A socket that takes no more wakes it, too.
  void ring() {
    char const one = 1;
    std::error_code ignored;
    bell_.write_some(asio::buffer(&one, 1), ignored);
  }
  // Looks whether there is space, while there is always something to read.
  void hear() {
    char rung[64];
    std::error_code none;
    if (bell_.read_some(asio::buffer(rung), none) > 0) space_.cancel();
  }

  stream_socket bell_;
  asio::steady_timer space_;  // is cancelled when there may be some
  shared_rings rings_;
  shared_rings::head& out_;
  shared_rings::head& in_;
  char* const to_;
  char const* const from_;
  std::uint64_t written_ = 0, read_ = 0;
  bool waits_for_space_ = false;
};

/// Returns where a process that listens at an address of this machine takes memory to be shared: a name that goes with
/// it.
inline asio::local::stream_protocol::endpoint memory_endpoint(address const& of) {
  return {std::string("\0rill/", 6) + (of.host == "localhost" ? address{"127.0.0.1", of.port}.text() : of.text())};
}
/// Whether the process at the other end of a Unix socket belongs to the user of this one.
inline bool is_of_this_user(stream_socket& s) {
  ucred other;
  socklen_t n = sizeof other;
  return ::getsockopt(s.native_handle(), SOL_SOCKET, SO_PEERCRED, &other, &n) == 0 && other.uid == ::geteuid();
}

/// Hands a descriptor over to the process at the other end of a Unix socket.
inline void send_descriptor(stream_socket& s, descriptor const& d) {
  char one = 'm';
  iovec text{&one, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr m{};
  m.msg_iov = &text, m.msg_iovlen = 1, m.msg_control = control, m.msg_controllen = sizeof control;
  auto* const c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof(int));
  int const fd = d.get();
  std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
  if (::sendmsg(s.native_handle(), &m, MSG_NOSIGNAL) != 1) throw std::system_error(errno, std::generic_category());
}
/// Takes a descriptor that was handed over. Throws error(data_loss) if none was.
inline descriptor receive_descriptor(stream_socket& s) {
  char one = 0;
  iovec text{&one, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr m{};
  m.msg_iov = &text, m.msg_iovlen = 1, m.msg_control = control, m.msg_controllen = sizeof control;
  auto const n = ::recvmsg(s.native_handle(), &m, MSG_CMSG_CLOEXEC);
  auto const* const c = n == 1 ? CMSG_FIRSTHDR(&m) : nullptr;
  if (c == nullptr || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int)))
    throw error(code::data_loss, "no memory came to be shared");
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(c), sizeof fd);
  return descriptor(fd);
}

/// Shares memory with a process that listens at an address of this machine. Returns null if it does not take any soon:
/// it may have none, and a stopped process may have the name of the one that has taken its place.
inline asio::awaitable<std::unique_ptr<byte_stream>> share_memory(stream_socket& s, address to) {
  std::error_code e;
  auto const end = memory_endpoint(to);
  s.open(end.protocol(), e);
  if (e) co_return nullptr;
  close_on_exec(s);
  co_await s.async_connect(end, asio::redirect_error(asio::use_awaitable, e));
  if (e || !is_of_this_user(s)) co_return nullptr;
  auto const memory = shared_rings::make();
  send_descriptor(s, memory);
  auto const timer = std::make_shared<asio::steady_timer>(s.get_executor(), std::chrono::seconds(1));
  auto const open = std::make_shared<stream_socket*>(&s);
  timer->async_wait([open, timer](std::error_code late) {
    std::error_code ignored;
    if (!late && *open != nullptr) (*open)->close(ignored);
  });
  char taken = 0;
  co_await asio::async_read(s, asio::buffer(&taken, 1), asio::redirect_error(asio::use_awaitable, e));
  *open = nullptr;
  timer->cancel();
  if (e || !s.is_open()) co_return nullptr;
  co_return std::make_unique<memory_stream>(std::move(s), memory, true);
}
/// Takes the memory that a process offers which has connected.
inline asio::awaitable<std::unique_ptr<byte_stream>> take_memory(stream_socket& s) {
  if (!is_of_this_user(s)) throw error(code::unauthenticated, "it is another user's process");
  s.non_blocking(true);
  co_await s.async_wait(asio::socket_base::wait_read, asio::use_awaitable);
  auto const memory = receive_descriptor(s);
  auto made = std::make_unique<memory_stream>(std::move(s), memory, false);
  co_await made->accept();
  co_return made;
}

}  // namespace rill::net
