// Where a process accepts connections.
#pragma once
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "rill/base/c_locale.hpp"
#include "rill/net/bound_socket.hpp"
#include "rill/net/close_on_exec.hpp"
#include "rill/net/served_link.hpp"

namespace rill::net {

/// Calls `f` on a network's thread, and waits until that is done. Not on that thread.
template <class F> void finish_on(asio::io_context& io, F const& f) {
  std::promise<void> done;
  asio::post(io, [&] {
    f();
    done.set_value();
  });
  done.get_future().wait();
}

/// Accepts connections, and keeps them.
class listener : public std::enable_shared_from_this<listener> {
 public:
  explicit listener(std::shared_ptr<served_task const> of)
      : of_(std::move(of)), acceptor_(of_->net->io()), memory_acceptor_(of_->net->io()) {}

  /// Listens at an address, and returns it with its actual port. Of a host name's addresses, takes the first that this
  /// machine has. Throws error(unavailable) if that port is taken, or if the machine has none of them.
  address listen(address at) try {
    if (at.is_unix()) {
      remove_if_unused(at.path);
      listen_at(asio::local::stream_protocol::endpoint(at.path));
      path_ = at.path;
      file_ = id_of(path_);
    } else listen_at_own(at);
    if (!at.is_unix() && at.port == 0) {
      auto const got = acceptor_.local_endpoint();
      auto const* const raw = reinterpret_cast<sockaddr_in const*>(got.data());  // the port lies there in IPv6, too
      at.port = ntohs(raw->sin_port);
    }
    return at;
  } catch (std::system_error const& e) {
    throw error(code::unavailable, "no server can listen at " + at.text() + ": " + system_text(e));
  }
  /// Listens by a socket that does so already, and returns whether it was still there.
  bool listen_by(bound_socket& s) {
    auto const file = s.take();
    if (file < 0) return false;
    acceptor_.assign({s.is_ipv6() ? AF_INET6 : AF_INET, IPPROTO_TCP}, file);
    return true;
  }
  /// Takes memory of other processes of this machine, too, if it may. `at`: where it listens.
  void take_memory(address const& at) {
    if (!of_->net->shares_memory(at)) return;
    std::error_code e;
    auto const end = memory_endpoint(at);
    memory_acceptor_.open(end.protocol(), e);
    if (!e) close_on_exec(memory_acceptor_);
    if (!e) memory_acceptor_.bind(end, e);  // a process that was stopped may have the name
    if (!e) memory_acceptor_.listen(asio::socket_base::max_listen_connections, e);
    if (e) memory_acceptor_.close(e);
  }
  void start() {
    asio::post(of_->net->io(), [self = shared_from_this()] {
      self->accept(self->acceptor_);
      if (self->memory_acceptor_.is_open()) self->accept(self->memory_acceptor_);
    });
  }
  /// Whether something that was sent to whoever has connected has not left this process. Not on the network's thread.
  bool is_writing() {
    bool is_busy = false;
    finish_on(of_->net->io(),
              [&] { is_busy = std::ranges::any_of(links_, [](auto const& l) { return l->is_writing(); }); });
    return is_busy;
  }
  /// Accepts nobody any more, and closes all connections. Not on the network's thread.
  void end() {
    finish_on(of_->net->io(), [&] {
      std::error_code ignored;
      acceptor_.close(ignored);
      memory_acceptor_.close(ignored);
      auto const all = links_;
      for (auto const& l : all) l->close(failed(code::unavailable, "the process is about to end"));
      for (auto const& s : strangers_) s->give_up();
      of_->steps->drop_master(rill::detail::running_steps::here().process(), step_table::over());
    });
    if (file_ && id_of(path_) == file_) ::unlink(path_.c_str());
  }

 private:
  using acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;
  using endpoint = asio::generic::stream_protocol::endpoint;

  void listen_at(endpoint const& end) {
    std::error_code ignored;
    acceptor_.close(ignored);
    acceptor_.open(end.protocol());
    close_on_exec(acceptor_);
    if (end.protocol().family() != AF_UNIX) acceptor_.set_option(asio::socket_base::reuse_address(true));
    acceptor_.bind(end);
    acceptor_.listen();
  }
  // If the address is taken, the process there may be this task: the next address is not tried.
  void listen_at_own(address const& at) {
    asio::ip::tcp::resolver resolver(of_->net->io());
    auto const found = resolver.resolve(at.host, std::to_string(at.port));
    for (auto each = found.begin();;) try {
        return listen_at(each->endpoint());
      } catch (std::system_error const& e) {
        auto const why = e.code().value();  // Asio's category knows no std::errc for all of them
        bool const is_elsewhere = why == EADDRNOTAVAIL || why == EAFNOSUPPORT;
        if (!is_elsewhere || ++each == found.end()) throw;
      }
  }
  void accept(acceptor& by) {
    by.async_accept([self = shared_from_this(), &by](std::error_code e, stream_socket s) {
      if (!by.is_open()) return;
      if (e) return self->accept_later(by);  // too many open files, for instance
      close_on_exec(s);
      self->greet(std::move(s), &by == &self->memory_acceptor_);
      self->accept(by);
    });
  }
  // Lets it prove who it is.
  void greet(stream_socket s, bool offers_memory) {
    auto const ungreeted = std::ranges::count_if(links_, [](auto const& l) { return !l->is_greeted(); });
    if (strangers_.size() + static_cast<std::size_t>(ungreeted) >= most_strangers) return;
    auto& net = *of_->net;
    auto const at = *strangers_.insert(net.begin()).first;
    asio::co_spawn(net.io(), offers_memory ? net.accept_memory(at, std::move(s)) : net.accept(at, std::move(s)),
                   [self = shared_from_this(), at](std::exception_ptr e, identity who) {
                     auto const& n = *self->of_->net;
                     self->strangers_.erase(at);
                     if (e) at->give_up();
                     if (!at->stream || at->is_over) return;
                     auto const l = std::make_shared<link>(std::move(at->stream), n.options(), n.traffic(), n.memory(),
                                                           n.reading());
                     self->add(std::make_shared<served_link>(self->of_, l, std::move(who)));
                   });
  }
  void accept_later(acceptor& by) {
    auto const timer = std::make_shared<asio::steady_timer>(of_->net->io(), std::chrono::milliseconds(100));
    timer->async_wait([self = shared_from_this(), timer, &by](std::error_code) {
      if (by.is_open()) self->accept(by);
    });
  }
  void add(std::shared_ptr<served_link> const& l) {
    links_.insert(l);
    l->when_replaced = [self = weak_from_this()](hello_body const& by) {
      auto const still = self.lock();
      if (!still) return;
      auto const all = still->links_;
      for (auto const& each : all) each->replace_by(by);
    };
    l->when_closed = [self = weak_from_this(), l = l.get()] {
      auto const still = self.lock();
      if (!still) return;
      std::erase_if(still->links_, [&](auto const& each) { return each.get() == l; });
    };
    l->start();
  }
  // Which file it is: another process may have put its own in the place of one that was removed.
  using file_id = std::pair<dev_t, ino_t>;
  static std::optional<file_id> id_of(std::string const& path) {
    struct stat about = {};
    if (::stat(path.c_str(), &about) != 0) return {};
    return file_id(about.st_dev, about.st_ino);
  }
  // A socket of the file system that a process has left behind, in which nobody listens, is in the way of the next.
  void remove_if_unused(std::string const& path) const {
    if (!std::filesystem::is_socket(path)) return;
    stream_socket s(of_->net->io());
    std::error_code e;
    s.connect(asio::local::stream_protocol::endpoint(path), e);
    if (e == asio::error::connection_refused) ::unlink(path.c_str());
  }

  std::shared_ptr<served_task const> of_;
  acceptor acceptor_, memory_acceptor_;
  std::set<std::shared_ptr<served_link>> links_;
  std::string path_;             // of its Unix socket, and
  std::optional<file_id> file_;  // which file that is; null: it has none
  // How many may be about to say who they are; more are hung up on.
  static constexpr std::size_t most_strangers = 100;
  std::set<std::shared_ptr<network::beginning>> strangers_;
};

}  // namespace rill::net
