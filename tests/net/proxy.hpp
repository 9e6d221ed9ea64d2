// A bad network: passes bytes between two sockets, until it is told to do it badly.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "rill/net/address.hpp"
#include "rill/net/asio.hpp"

namespace rill::test {

/// Listens at a Unix socket, and passes what comes to another one and back. Other threads tell it what to do.
class proxy {
 public:
  proxy(std::string const& at, std::string to) : to_(std::move(to)), acceptor_(io_, endpoint(at)) {
    accept();
    thread_ = std::thread([this] { io_.run(); });
  }
  ~proxy() {
    io_.stop();
    thread_.join();
  }
  proxy(proxy const&) = delete;
  proxy& operator=(proxy const&) = delete;

  /// Connections that are made from now on lead to another socket.
  void lead_to(std::string to) {
    asio::post(io_, [this, to = std::move(to)] { to_ = to; });
  }
  /// Passes nothing on any more, and closes nothing; or goes on where it was.
  void stall(bool on = true) {
    asio::post(io_, [this, on] {
      stalls_ = on;
      if (!on)
        for (auto const& w : ways_) w->move();
    });
  }
  /// Passes no answers on any more, as if whoever has connected did not read; or goes on where it was.
  void hold_answers(bool on = true) {
    asio::post(io_, [this, on] {
      holds_answers_ = on;
      if (!on)
        for (auto const& w : ways_) w->move();
    });
  }
  /// Takes all bytes, and passes none on; or passes what comes from now on.
  void drop(bool on = true) {
    asio::post(io_, [this, on] { drops_ = on; });
  }
  /// Holds all bytes back for this time.
  void delay(std::chrono::milliseconds by) {
    asio::post(io_, [this, by] { delay_ = by; });
  }
  /// Closes all connections.
  void cut() {
    asio::post(io_, [this] { close_all(); });
  }
  /// Closes all connections when that many more bytes have passed, perhaps in the middle of a frame.
  void cut_after(std::size_t bytes) {
    asio::post(io_, [this, bytes] { left_ = bytes; });
  }
  /// The number of bytes that have passed.
  std::size_t passed() const { return passed_; }

 private:
  using socket = asio::local::stream_protocol::socket;
  static asio::local::stream_protocol::endpoint endpoint(std::string const& text) {
    return {rill::address::parse(text).path};
  }

  // One direction of a connection.
  struct way : std::enable_shared_from_this<way> {
    way(proxy& p, std::shared_ptr<socket> a, std::shared_ptr<socket> b, bool is_back)
        : of(p), from(std::move(a)), to(std::move(b)), is_of_answers(is_back), timer(p.io_) {}
    void move() {
      if (of.stalls_ || (is_of_answers && of.holds_answers_) || std::exchange(moves, true)) return;
      from->async_read_some(asio::buffer(buffer), [self = shared_from_this()](std::error_code e, std::size_t n) {
        if (e) return self->close();
        self->timer.expires_after(self->of.delay_);
        self->timer.async_wait([self, n](std::error_code) { self->pass(n); });
      });
    }
    void pass(std::size_t n) {
      auto const last = of.left_ <= n;
      if (last) n = of.left_;
      of.left_ -= n;
      if (of.drops_) {
        moves = false;
        return move();
      }
      asio::async_write(*to, asio::buffer(buffer, n),
                        [self = shared_from_this(), last](std::error_code e, std::size_t m) {
                          self->of.passed_ += m;
                          self->moves = false;
                          if (last) self->of.close_all();
                          else if (e) self->close();
                          else self->move();
                        });
    }
    void close() const {
      std::error_code ignored;
      from->close(ignored);
      to->close(ignored);
    }
    proxy& of;
    std::shared_ptr<socket> from, to;
    bool const is_of_answers;
    asio::steady_timer timer;
    bool moves = false;
    char buffer[16384];
  };

  void accept() {
    acceptor_.async_accept([this](std::error_code e, socket s) {
      if (e) return;
      auto const a = std::make_shared<socket>(std::move(s)), b = std::make_shared<socket>(io_);
      std::error_code none;
      b->connect(endpoint(to_), none);
      if (!none)
        for (auto const& w : {std::make_shared<way>(*this, a, b, false), std::make_shared<way>(*this, b, a, true)}) {
          ways_.push_back(w);
          w->move();
        }
      accept();
    });
  }
  void close_all() {
    left_ = SIZE_MAX;
    for (auto const& w : std::exchange(ways_, {})) w->close();
  }

  asio::io_context io_{1};
  std::string to_;
  asio::local::stream_protocol::acceptor acceptor_;
  std::list<std::shared_ptr<way>> ways_;
  bool stalls_ = false, holds_answers_ = false, drops_ = false;
  std::chrono::milliseconds delay_{0};
  std::size_t left_ = SIZE_MAX;
  std::atomic<std::size_t> passed_ = 0;
  std::thread thread_;
};

}  // namespace rill::test
