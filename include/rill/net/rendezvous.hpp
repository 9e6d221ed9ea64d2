// How the processes of a run learn each other's addresses: they tell process 0 theirs, and get the table of all.
//
// Process 0 listens at an address that all know. The others connect, join, hear that they have joined, and wait for the
// table. Each message is short, and its length (4 bytes) stands before it.
#pragma once
#include <string>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/net/meeting.hpp"

namespace rill::net {

/// Returns the addresses of all processes by their ranks; at once if there is one. Throws error(deadline_exceeded), on
/// all that came, with who is missing; error(unavailable) if process 0 can't be reached or its port is taken;
/// error(failed_precondition) if two processes have one rank or count the processes differently.
std::vector<std::string> meet(meeting const& m);

#if RILL_NET_RUNTIME
}  // namespace rill::net

#include <algorithm>
#include <exception>
#include <memory>
#include <system_error>
#include <utility>

#include "rill/base/c_locale.hpp"
#include "rill/base/deadline.hpp"
#include "rill/net/close_on_exec.hpp"
#include "rill/net/rendezvous_host.hpp"

namespace rill::net {

namespace detail::rendezvous {

/// Another process.
class guest {
 public:
  explicit guest(meeting const& m) : m_(m), end_(deadline_after(m.timeout)) {}

  std::vector<std::string> run() {
    asio::co_spawn(io_, try_until_end(), [this](std::exception_ptr e) {
      if (e) why_ = e;
      io_.stop();
    });
    io_.run();
    if (why_) std::rethrow_exception(why_);
    return std::move(all_);
  }

 private:
  asio::awaitable<void> try_until_end() {
    for (auto pause = std::chrono::milliseconds(20);; pause = std::min(pause * 2, std::chrono::milliseconds(500))) {
      for (std::uint16_t k = 0; k < m_.ports; ++k) {
        auto const port = static_cast<std::uint16_t>(m_.port + k);
        try {
          if (co_await attempt(port)) co_return;
        } catch (std::system_error const& e) {
          if (clock::now() < end_)  // what the deadline has ended says nothing
            last_ = e.code() == asio::error::eof ? "it closed the connection" : system_text(e);
        } catch (error const& e) {
          if (e.code() != code::data_loss) throw;
          last_ = "what answers there is no process of rill";
        }
        if (clock::now() >= end_)
          throw error(code::unavailable, "process 0 of the run was not reached in time at " +
                                             address{.host = m_.host, .port = port}.text() + ": " + last_);
      }
      asio::steady_timer later(io_, pause);
      co_await later.async_wait(asio::use_awaitable);
    }
  }
  /// Tries each address of process 0. Returns whether the table has come. Throws error for what ends all attempts;
  /// std::system_error, and error(data_loss), if another may succeed.
  asio::awaitable<bool> attempt(std::uint16_t port) {
    tcp::resolver resolver(io_);
    auto const found = co_await resolver.async_resolve(m_.host, std::to_string(port), asio::use_awaitable);
    auto left = static_cast<std::int64_t>(found.size());
    for (auto const& each : found) {
      auto const now = clock::now();
      auto const time = std::min<clock::duration>(patience, (end_ - now) / left);
      try {
        if (co_await attempt(each.endpoint(), now + time)) co_return true;
      } catch (std::system_error const&) {
        if (left == 1) throw;
      } catch (error const& e) {
        if (e.code() != code::data_loss || left == 1) throw;
      }
      --left;
    }
    co_return false;
  }
  /// `latest`: when it has answered, or another is tried.
  asio::awaitable<bool> attempt(tcp::endpoint end, clock::time_point latest) {
    auto const s = std::make_shared<tcp::socket>(io_);
    reply_body reply;
    {
      closing_timer const late(io_, s, latest);
      co_await s->async_connect(end, asio::use_awaitable);
      close_on_exec(*s);
      auto const join = framed(body_of(joining(*s)));
      co_await asio::async_write(*s, asio::buffer(join), asio::use_awaitable);
      reply = co_await receive<reply_body>(*s, 4096);
    }
    if (static_cast<says>(reply.what) == says::joined) {
      // Process 0 knows this deadline, and says who is missing.
      closing_timer const late(io_, s, end_ < clock::time_point::max() - patience ? end_ + patience : end_);
      reply = co_await receive<reply_body>(*s, 4096 + std::size_t{320} * m_.processes);
    }
    switch (static_cast<says>(reply.what)) {
      case says::table:
        if (reply.addresses.size() != m_.processes) throw error(code::data_loss, "process 0 has sent another table");
        all_ = std::move(reply.addresses);
        co_return true;
      case says::refused:
        throw as_error({.code = reply.code, .message = reply.why});
      default:
        last_ = reply.why;
        co_return false;
    }
  }
  // A process on the host of process 0 may reach it by a device that others don't: they know the host by its name.
  join_body joining(tcp::socket const& s) const {
    auto const seen = s.local_endpoint();
    auto const host = !m_.own_host.empty()                      ? m_.own_host
                      : m_.open && seen.address().is_loopback() ? m_.host
                                                                : text_of(seen);
    return {.token = m_.token,
            .who = who_am_i(),
            .own = address{.host = host, .port = m_.own_port}.text(),
            .rank = m_.rank,
            .processes = m_.processes,
            .time_left = std::chrono::nanoseconds(end_ - clock::now()).count()};
  }

  meeting const m_;
  clock::time_point const end_;
  std::string last_ = "nobody answered";
  std::vector<std::string> all_;
  std::exception_ptr why_;
  asio::io_context io_{1};
};

}  // namespace detail::rendezvous

RILL_NET_INLINE std::vector<std::string> meet(meeting const& m) try {
  return m.rank == 0 ? detail::rendezvous::host(m).run() : detail::rendezvous::guest(m).run();
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill::net
