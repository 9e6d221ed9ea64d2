// The bytes of a connection, whatever carries them: a socket, an encrypted one, memory that two processes share.
#pragma once
#include <cerrno>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "rill/net/asio.hpp"
#include "rill/net/link_state.hpp"

namespace rill::net {

using stream_socket = asio::generic::stream_protocol::socket;

/// Bytes both ways. One thread reads while one other may write; whoever waits does so on the connection's thread.
class byte_stream {
 public:
  virtual ~byte_stream() = default;
  virtual asio::any_io_executor executor() = 0;
  /// Waits for bytes, and returns how many have come, at least one. Throws std::system_error at the end of the stream.
  virtual asio::awaitable<std::size_t> read(asio::mutable_buffer to) = 0;
  /// Writes what can be written without waiting, and returns how many bytes that were; none is no error. What was not
  /// taken is offered again, from its first byte on. On any thread, one at a time.
  virtual std::size_t write(std::span<asio::const_buffer const> from, std::error_code& e) = 0;
  /// Waits until `write` may take more. Throws std::system_error.
  virtual asio::awaitable<void> writable() = 0;
  /// Returns what the system knows of a side that says nothing, as a sentence: whether its machine is still there.
  /// Empty: nothing.
  virtual std::string state() { return {}; }
  /// Tells the other side that no more will be written; what it sends can still be read. Returns whether it was told. A
  /// TCP socket that is closed with bytes that nobody has read takes back what the other side has not read yet, so
  /// whoever has something to say before it closes calls this, and closes when the other side has.
  virtual bool finish() { return false; }
  /// Whoever waits ends. On the connection's thread.
  virtual void close() = 0;
};

/// Whether a call on a socket has failed because it would have to wait.
inline bool would_wait(std::error_code const& e) {
  return e == asio::error::would_block || e == asio::error::try_again;
}

/// A socket as it is.
class socket_stream final : public byte_stream {
 public:
  explicit socket_stream(stream_socket s) : socket_(std::move(s)) { socket_.non_blocking(true); }

  asio::any_io_executor executor() override { return socket_.get_executor(); }
  asio::awaitable<std::size_t> read(asio::mutable_buffer to) override {
    return socket_.async_read_some(to, asio::use_awaitable);
  }
  std::size_t write(std::span<asio::const_buffer const> from, std::error_code& e) override {
    auto const n = socket_.write_some(from, e);
    if (would_wait(e)) e.clear();
    return n;
  }
  asio::awaitable<void> writable() override {
    return socket_.async_wait(asio::socket_base::wait_write, asio::use_awaitable);
  }
  std::string state() override { return state_of(socket_.native_handle()); }
  bool finish() override {
    std::error_code e;
    socket_.shutdown(asio::socket_base::shutdown_send, e);
    return !e;
  }
  void close() override {
    std::error_code ignored;
    socket_.close(ignored);
  }

 private:
  stream_socket socket_;
};

}  // namespace rill::net
