// Sockets stay out of programs that this process starts.
#pragma once
#include <fcntl.h>

namespace rill::net {

/// Keeps a socket out of programs that this process starts, which Asio does not do. In one that inherits it the
/// connection would stay open when this process closes it, and the other side would not hear that it has ended.
template <class Socket> void close_on_exec(Socket& s) { ::fcntl(s.native_handle(), F_SETFD, FD_CLOEXEC); }

}  // namespace rill::net
