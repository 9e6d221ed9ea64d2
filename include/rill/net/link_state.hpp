// What the system knows of a connection whose other side says nothing.
#pragma once
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

namespace rill::net {

/// What tells a process that is stopped from a machine, or a link, that is gone: the first one's machine acknowledges
/// what it is sent, such as a frame each heartbeat.
struct tcp_state {
  std::uint32_t retransmits = 0;        ///< of what has not been acknowledged, one after the other
  std::uint32_t unacknowledged = 0;     ///< packets
  std::uint32_t last_acknowledged = 0;  ///< milliseconds ago

  /// "its machine still acknowledges what is sent: the process is stopped or blocked".
  std::string text() const {
    if (retransmits == 0 && (unacknowledged == 0 || last_acknowledged < 1000))
      return "its machine still acknowledges what is sent, so the process is stopped or blocked";
    return "its machine has not acknowledged anything for " + std::to_string(last_acknowledged) + " ms, with " +
           std::to_string(retransmits) + " retransmissions, so the link or the machine is gone";
  }
};

/// Returns that of a socket as a sentence; of one that is not TCP's, nothing.
inline std::string state_of(int socket) {
#ifdef __linux__
  tcp_info info = {};
  socklen_t size = sizeof info;
  int domain = 0;
  socklen_t domain_size = sizeof domain;
  if (::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) != 0) return {};
  if (domain != AF_INET && domain != AF_INET6) return {};
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  return tcp_state{info.tcpi_retransmits, info.tcpi_unacked, info.tcpi_last_ack_recv}.text();
#else
  (void)socket;
  return {};
#endif
}

}  // namespace rill::net
