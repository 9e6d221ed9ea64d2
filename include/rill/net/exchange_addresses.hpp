// How the processes of a run learn each other's addresses, whoever has started them.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/net/bound_socket.hpp"
#include "rill/net/launch.hpp"

namespace rill::net {

/// Returns the addresses of all processes by their ranks. `socket`: where this process listens; null if the launcher
/// has told all addresses. Throws error(failed_precondition) if the host of process 0 is not known, and what `meet`,
/// `exchange_by_pmix` and `exchange_by_pmi` throw.
std::vector<std::string> exchange_addresses(launch const& l, bound_socket const* socket,
                                            std::chrono::nanoseconds timeout);

#if RILL_NET_RUNTIME
}  // namespace rill::net

#include "rill/net/address.hpp"
#include "rill/net/pmi.hpp"
#include "rill/net/pmix.hpp"
#include "rill/net/rendezvous.hpp"
#include "rill/net/surroundings.hpp"

namespace rill::net {

namespace detail {

/// Where others reach this process, if that is to be known before they have been reached.
inline std::string own_address(launch const& l, bound_socket const& socket) {
  auto const host = !l.own_host.empty() ? l.own_host
                    : socket.is_open()  ? surroundings::of_this_process().full_name("")
                                        : "127.0.0.1";
  return address{.host = host, .port = socket.port()}.text();
}

}  // namespace detail

RILL_NET_INLINE std::vector<std::string> exchange_addresses(launch const& l, bound_socket const* socket,
                                                            std::chrono::nanoseconds timeout) {
  if (l.by == launch::store::names) return l.all;
  if (l.by == launch::store::pmi)
    return exchange_by_pmi(l.pmi_file, l.rank, l.processes, detail::own_address(l, *socket), timeout);
  if (l.by == launch::store::pmix)
    if (auto all = exchange_by_pmix(l.processes, detail::own_address(l, *socket), timeout)) return *std::move(all);
  if (l.first_host.empty())
    throw error(code::failed_precondition, l.launcher +
                                               " does not tell on which host process 0 runs: set RILL_FIRST to "
                                               "its name, or install libpmix (libpmix.so.2)");
  return meet({.rank = l.rank,
               .processes = l.processes,
               .host = l.first_host,
               .port = l.first_port,
               .ports = l.ports,
               .token = l.token,
               .own_host = l.own_host,
               .own_port = socket->port(),
               .open = socket->is_open(),
               .timeout = timeout});
}

#endif

}  // namespace rill::net
