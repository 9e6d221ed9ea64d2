// Process 0 of a run, to which the others tell their addresses (rendezvous.hpp).
#pragma once
#include "rill/net/address.hpp"
#include "rill/net/close_on_exec.hpp"
#include "rill/net/meeting.hpp"

#if RILL_NET_RUNTIME
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "rill/base/deadline.hpp"

namespace rill::net::detail::rendezvous {

/// Process 0, for as long as the others come.
class host {
 public:
  explicit host(meeting const& m) : m_(m), members_(m.processes), acceptor_(io_), timer_(io_) {
    if (m.processes > 1) listen();
    members_[0] = {.who = who_am_i(), .own = address{.host = m.host, .port = m.own_port}.text()};
    if (!m.own_host.empty()) members_[0]->own = address{.host = m.own_host, .port = m.own_port}.text();
    end_at(deadline_after(m.timeout));
  }

  std::vector<std::string> run() {
    if (m_.processes > 1) asio::co_spawn(io_, accept(), asio::detached), io_.run();
    if (why_) throw error(*why_);
    std::vector<std::string> all;
    for (auto const& m : members_) all.push_back(m->own);
    return all;
  }

 private:
  struct member {
    std::string who = {}, own = {};
    std::shared_ptr<tcp::socket> socket = {};
    bool is_told = false;  // that it has joined
  };

  void listen() {
    std::error_code e;
    for (std::uint16_t k = 0; k < m_.ports; ++k)
      for (bool v6 : {true, false}) {
        if (v6 && !m_.open) continue;
        auto const port = static_cast<std::uint16_t>(m_.port + k);
        auto const end =
            v6 ? tcp::endpoint(tcp::v6(), port)
               : tcp::endpoint(m_.open ? asio::ip::address_v4::any() : asio::ip::address_v4::loopback(), port);
        acceptor_.open(end.protocol(), e);
        if (!e) close_on_exec(acceptor_);
        if (!e && v6) acceptor_.set_option(asio::ip::v6_only(false), e);
        if (!e) acceptor_.set_option(asio::socket_base::reuse_address(true), e);
        if (!e) acceptor_.bind(end, e);
        if (!e) acceptor_.listen(asio::socket_base::max_listen_connections, e);
        if (!e) return;
        std::error_code ignored;
        acceptor_.close(ignored);
      }
    throw error(code::unavailable, "process 0 can't wait for the others at port " + std::to_string(m_.port) + ": " +
                                       e.message() + "; set RILL_PORT to a port that is free");
  }

  asio::awaitable<void> accept() {
    for (;;) {
      auto const s = std::make_shared<tcp::socket>(io_);
      std::error_code e;
      co_await acceptor_.async_accept(*s, asio::redirect_error(asio::use_awaitable, e));
      if (!acceptor_.is_open()) co_return;
      if (e) {  // too many open files, for instance
        asio::steady_timer later(io_, std::chrono::milliseconds(50));
        co_await later.async_wait(asio::use_awaitable);
      } else if (strangers_ < most_strangers) {
        close_on_exec(*s);
        asio::co_spawn(io_, serve(s), asio::detached);
      }
    }
  }
  asio::awaitable<void> serve(std::shared_ptr<tcp::socket> s) try {
    auto const rank = co_await welcome(s);
    if (!rank) co_return;
    auto& m = members_[*rank];
    m->is_told = true;
    if (++present_ == m_.processes) co_return tell_all({.what = static_cast<std::uint8_t>(says::table)});
    char more = 0;
    std::error_code e;
    co_await s->async_read_some(asio::buffer(&more, 1), asio::redirect_error(asio::use_awaitable, e));
    if (is_over_) co_return;
    m.reset();  // it has left, and may come again
    --present_;
  } catch (std::exception const&) {  // a stranger, or a process that has left while it joined
  }
  /// Returns the rank of a process that has joined.
  asio::awaitable<std::optional<std::uint32_t>> welcome(std::shared_ptr<tcp::socket> s) {
    ++strangers_;
    auto const leaves = std::shared_ptr<void>(nullptr, [this](void*) { --strangers_; });
    closing_timer const late(io_, s, clock::now() + patience);
    auto const join = co_await receive<join_body>(*s, 4096);
    auto const answer = admit(join, s);
    auto const text = framed(body_of(answer));
    std::error_code e;
    co_await asio::async_write(*s, asio::buffer(text), asio::redirect_error(asio::use_awaitable, e));
    if (static_cast<says>(answer.what) != says::joined) co_return std::nullopt;
    if (!e && !is_over_) co_return join.rank;
    members_[join.rank].reset();
    co_return std::nullopt;
  }

  reply_body admit(join_body const& join, std::shared_ptr<tcp::socket> const& s) {
    auto const refused = [](says what, std::string why) {
      return reply_body{.what = static_cast<std::uint8_t>(what),
                        .code = static_cast<std::uint8_t>(code::failed_precondition),
                        .why = std::move(why)};
    };
    if (join.name != greeting || join.token != m_.token)
      return refused(says::other_run, "at this address is a process of another run, or RILL_TOKEN differs");
    if (is_over_) return refused(says::other_run, "all processes of this run were there already");
    if (join.processes != m_.processes)
      return refused(says::refused, "process 0 was told of " + std::to_string(m_.processes) + " processes, and rank " +
                                        std::to_string(join.rank) + " of " + std::to_string(join.processes));
    if (join.rank >= m_.processes) return refused(says::refused, "there is no rank " + std::to_string(join.rank));
    auto& m = members_[join.rank];
    if (m)
      return refused(says::refused,
                     "two processes have rank " + std::to_string(join.rank) + ": " + m->who + ", and " + join.who);
    (void)address::parse(join.own);
    m = {.who = join.who, .own = join.own, .socket = s};
    if (std::error_code e; m_.open && m_.own_host.empty() && address{.host = m_.host}.is_local())
      if (auto const seen = s->local_endpoint(e); !e && !seen.address().is_loopback())
        members_[0]->own = address{.host = text_of(seen), .port = m_.own_port}.text();
    // It would leave before, and the others wait in vain.
    end_at(std::min(end_, deadline_after(std::chrono::nanoseconds(std::max<std::int64_t>(join.time_left, 0)))));
    return {.what = static_cast<std::uint8_t>(says::joined)};
  }

  void end_at(clock::time_point t) {
    end_ = t;
    timer_.expires_at(t);
    timer_.async_wait([this](std::error_code e) {
      if (e || is_over_) return;
      why_ = failed(code::deadline_exceeded, {missing()});
      tell_all({.what = static_cast<std::uint8_t>(says::refused),
                .code = static_cast<std::uint8_t>(code::deadline_exceeded),
                .why = missing()});
    });
  }
  std::string missing() const {
    std::string ranks;
    int named = 0;
    for (std::uint32_t r = 0; r < m_.processes; ++r)
      if (!(members_[r] && (r == 0 || members_[r]->is_told)) && ++named <= 20)
        ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
    return std::to_string(present_) + " of " + std::to_string(m_.processes) +
           " processes came in time; missing: rank " + ranks +
           (named > 20 ? " and " + std::to_string(named - 20) + " others" : "");
  }

  /// Sends the last message to all, and ends `run` when it has left.
  void tell_all(reply_body last) {
    if (std::exchange(is_over_, true)) return;
    std::error_code ignored;
    acceptor_.close(ignored);
    timer_.cancel();
    if (static_cast<says>(last.what) == says::table)
      for (auto const& m : members_) last.addresses.push_back(m->own);
    auto const text = std::make_shared<std::string const>(framed(body_of(last)));
    auto const sent = std::shared_ptr<void>(nullptr, [this](void*) { io_.stop(); });
    for (auto const& m : members_) {
      if (!m || !m->is_told) continue;
      asio::async_write(*m->socket, asio::buffer(*text), [s = m->socket, text, sent](std::error_code e, std::size_t) {
        s->shutdown(tcp::socket::shutdown_send, e);
      });
    }
    timer_.expires_after(patience);  // one that was stopped does not read
    timer_.async_wait([this](std::error_code e) {
      if (!e) io_.stop();
    });
  }

  meeting const m_;
  std::uint32_t present_ = 1;
  int strangers_ = 0;
  bool is_over_ = false;
  clock::time_point end_;
  failure why_;
  asio::io_context io_{1};
  std::vector<std::optional<member>> members_;
  tcp::acceptor acceptor_;
  asio::steady_timer timer_;
};

}  // namespace rill::net::detail::rendezvous
#endif
