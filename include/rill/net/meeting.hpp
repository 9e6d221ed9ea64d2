// The processes of a run that meet (rendezvous.hpp), and what they say.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/base/error.hpp"

namespace rill::net {

/// A process that is to meet the others of its run.
struct meeting {
  std::uint32_t rank = 0, processes = 1;
  std::string host = "127.0.0.1";  ///< of process 0
  std::uint16_t port = 0;          ///< at which it waits
  std::uint16_t ports = 1;         ///< how many ports from there it may take, if others have the first
  std::string token = {};          ///< what no other run has
  std::string own_host = {};       ///< at which the others reach this process; empty: the one that process 0 sees
  std::uint16_t own_port = 0;
  bool open = false;  ///< whether processes of other hosts take part
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);
};

#if RILL_NET_RUNTIME
}  // namespace rill::net

#include <unistd.h>

#include <memory>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "rill/net/asio.hpp"
#include "rill/net/messages.hpp"

namespace rill::net {

namespace detail::rendezvous {

using asio::ip::tcp;
using clock = std::chrono::steady_clock;

inline constexpr std::string_view greeting = "rill:rendezvous:1";
/// How long a process may take for a message that it can send at once.
inline constexpr auto patience = std::chrono::seconds(5);
/// The most connections of which process 0 does not know yet who they are.
inline constexpr int most_strangers = 256;

struct join_body {
  std::string name{greeting};
  std::string token = {}, who = {}, own = {};
  std::uint32_t rank = 0, processes = 0;
  std::int64_t time_left = 0;  ///< in nanoseconds
  auto fields() { return std::tie(name, token, who, own, rank, processes, time_left); }
};
enum class says : std::uint8_t { joined, table, refused, other_run };
struct reply_body {
  std::uint8_t what = 0, code = 0;
  std::string why = {};
  std::vector<std::string> addresses = {};
  auto fields() { return std::tie(what, code, why, addresses); }
};

inline std::string framed(std::string const& body) {
  auto const n = static_cast<std::uint32_t>(body.size());
  return std::string(reinterpret_cast<char const*>(&n), sizeof n) + body;
}
template <class Body> asio::awaitable<Body> receive(tcp::socket& s, std::size_t most) {
  std::uint32_t n = 0;
  co_await asio::async_read(s, asio::buffer(&n, sizeof n), asio::use_awaitable);
  if (n > most) throw error(code::data_loss, "a message is longer than one may be");
  std::string text(n, '\0');
  co_await asio::async_read(s, asio::buffer(text), asio::use_awaitable);
  Body body;
  read_body(text, body);
  co_return body;
}
/// "host n1, process 4711".
inline std::string who_am_i() {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '?';
  return "host " + std::string(host) + ", process " + std::to_string(::getpid());
}
inline std::string text_of(tcp::endpoint const& e) {
  auto a = e.address();
  if (a.is_v6() && a.to_v6().is_v4_mapped()) a = asio::ip::make_address_v4(asio::ip::v4_mapped, a.to_v6());
  return a.to_string();
}
/// Closes a socket unless it is told in time not to.
class closing_timer {
 public:
  closing_timer(asio::io_context& io, std::shared_ptr<tcp::socket> s, clock::time_point at) : timer_(io, at) {
    timer_.async_wait([s = std::move(s)](std::error_code e) {
      if (!e) s->close(e);
    });
  }

 private:
  asio::steady_timer timer_;
};

}  // namespace detail::rendezvous

#endif

}  // namespace rill::net
