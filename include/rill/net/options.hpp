// How the processes of a cluster talk with each other.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "rill/graph/op_def.hpp"

namespace rill {

/// Times and limits of a process of a cluster. The processes of a cluster need not have the same.
struct net_options {
  /// How long a session waits for the processes of its cluster to be there.
  std::chrono::nanoseconds start_timeout = std::chrono::seconds(60);
  /// After this time without a connection, or without an answer to its first message, a process counts as not there.
  std::chrono::nanoseconds connect_timeout = std::chrono::seconds(5);
  /// How often a process that has nothing else to say tells the others that it is there.
  std::chrono::nanoseconds heartbeat = std::chrono::milliseconds(500);
  /// After this time without a word a connection counts as lost, and steps that need it fail.
  std::chrono::nanoseconds silence = std::chrono::seconds(10);
  /// How long a process that is there may take for an answer that is no step's, such as compiling a share.
  std::chrono::nanoseconds answer_timeout = std::chrono::minutes(10);
  /// How long a process that is there may take to end its share of a step that is to end; then the step ends without
  /// it.
  std::chrono::nanoseconds stop_timeout = std::chrono::seconds(10);
  /// When something in a step of this process has lasted so long, such as a wait or a kernel, that is reported; again
  /// when the step has lasted twice as long. What lasts in step after step is reported once a minute.
  std::chrono::nanoseconds report_after = std::chrono::seconds(1);
  /// Is called with each report, several lines, on a thread of its own; empty: it is written to standard error.
  std::function<void(std::string_view)> report = {};
  /// The most bytes of messages and tensors that may be on their way over one connection at once.
  std::uint64_t most_incoming = std::uint64_t{64} << 30;
  /// The most bytes of a share of a step that comes, with its constants. Larger arrays are variables, or are fed.
  std::uint64_t most_share = std::uint64_t{4} << 30;
  /// Whether processes of one machine and one user share memory instead of sending bytes through a socket, unless they
  /// prove who they are by a key or certificates.
  bool shared_memory = true;
  /// Whether processes that all have this send their bytes by UCX: InfiniBand, RoCE, or what UCX_TLS names. Not
  /// encrypted, so a server with it needs `server_options::trusted_network`. Needs libucx where the program was built.
  bool ucx = false;
  /// Whether processes with kernels for other instruction sets may work together: bits may differ then.
  bool any_kernels = false;
};

/// What a client from outside may do on a server. Those of one cluster's tasks are not limited.
struct client_limits {
  /// The operations that its steps may have; empty: those of tasks (`server_options::operations`).
  std::span<op_def const* const> operations = {};
  std::size_t connections = 100;  ///< of all clients together
  /// Compiled shares of steps, per connection. A share beyond this many fails with `resource_exhausted`.
  std::size_t shares = 1000;
  std::uint64_t share = std::uint64_t{256} << 20;  ///< bytes of a share of a step, with its constants
  /// Requests that take long, such as compiling a share, and that are not answered yet, per connection. A request
  /// beyond this many fails with `resource_exhausted`.
  std::size_t requests = 100;
  /// Steps that run, or whose results have not left the server yet, per connection. A step beyond this many fails with
  /// `resource_exhausted`.
  std::size_t steps = 1000;
  std::uint64_t incoming = std::uint64_t{4} << 30;  ///< bytes on their way at once, of one connection
  /// Bytes of results that the client has not read yet, per connection. When this many are unread, a step with further
  /// results fails with `resource_exhausted`; results of at most `outgoing / steps` bytes are exempt. A connection that
  /// leaves more bytes of other messages unread, such as printed lines, is closed.
  std::uint64_t outgoing = std::uint64_t{1} << 30;
  /// After this time a step ends; zero: it may take as long as it says.
  std::chrono::nanoseconds step_time = {};
};

/// What has gone over the connections of a process.
struct net_traffic {
  std::uint64_t messages_sent = 0, messages_received = 0;
  std::uint64_t bytes_sent = 0, bytes_received = 0;  ///< with the heads of frames
};

}  // namespace rill
