// What the connections of a process share: a thread that reads and writes, threads for what takes longer, and how
// connections are made.
#pragma once
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "rill/base/c_locale.hpp"
#include "rill/base/instruction_set.hpp"
#include "rill/base/thread.hpp"
#include "rill/net/address.hpp"
#include "rill/net/close_on_exec.hpp"
#include "rill/net/link.hpp"
#include "rill/net/messages.hpp"
#include "rill/net/monitor.hpp"
#include "rill/net/shared_memory.hpp"
#include "rill/net/tls_stream.hpp"
#include "rill/net/turns.hpp"
#include "rill/net/ucx_stream.hpp"

namespace rill::net {

namespace detail {

// Counts the encrypted networks that have threads. The last user of a network may be its own thread, so that the
// network ends a little later than its session. The process waits for that at its exit, because OpenSSL's exit would
// forget what the thread has of it. A network that is still in use then goes on, and the process ends after `patience`.
class living_networks {
 public:
  static void begin() {
    static at_exit const waits;  // begun after OpenSSL, so it ends before
    std::lock_guard lock(all().mutex);
    ++all().count;
  }
  static void end() {
    std::lock_guard lock(all().mutex);
    if (--all().count == 0) all().none.notify_all();
  }

 private:
  static constexpr std::chrono::milliseconds patience{500};
  struct counted {
    std::mutex mutex;
    std::condition_variable none;
    int count = 0;
  };
  static counted& all() {
    static auto* const made = new counted;  // is never freed, for threads may use it as the process ends
    return *made;
  }
  struct at_exit {
    unsigned const started_in = rill::detail::forks();
    ~at_exit() {
      if (started_in != rill::detail::forks()) return;  // the threads are not in this process
      std::unique_lock lock(all().mutex);
      all().none.wait_for(lock, patience, [] { return all().count == 0; });
    }
  };
};

}  // namespace detail

/// The connections of a process. Nothing of them blocks its thread.
class network : public std::enable_shared_from_this<network> {
 public:
  /// `task`: the name of this process in its cluster; empty: it is in none. `secured`: null: nothing is encrypted.
  static std::shared_ptr<network> make(net_options const& options, device_name task,
                                       std::shared_ptr<tls_context const> secured = nullptr) {
    if (options.ucx && secured)
      throw error(code::invalid_argument,
                  "UCX encrypts nothing: leave out net_options::ucx, or the key and the certificates");
    if (options.ucx) require_ucx();
    std::shared_ptr<network> made(new network(options, std::move(task), std::move(secured)), [](network* n) {
      if (n->is_parents()) return;  // its threads are not in this process
      // The last of its users may be a thread of its own, which can't wait for itself.
      if (n->is_own_thread()) std::thread([n] { delete n; }).detach();
      else delete n;
    });
    if (made->secured_) detail::living_networks::begin();
    made->thread_ = rill::detail::thread([n = made.get()] {
      for (;;) try {
          n->io_.run();
          return;
        } catch (...) {  // no memory for one handler: the others go on
        }
    });
    return made;
  }
  ~network() {
    work_.join();
    for (auto const& t : {reading_, client_reading_, client_work_}) t->finish();
    guard_.reset();
    io_.stop();
    thread_.join();
    if (secured_) detail::living_networks::end();
  }
  network(network const&) = delete;
  network& operator=(network const&) = delete;

  /// Whether this is a child process of fork() of the one that has made it, which has nothing of it.
  bool is_parents() const { return started_in_ != rill::detail::forks(); }
  net_options const& options() const { return options_; }
  device_name const& task() const { return task_; }
  asio::io_context& io() { return io_; }
  /// Threads for what may take long, or wait.
  asio::thread_pool& work() { return work_; }
  /// Threads that decode and free large input from tasks and servers.
  std::shared_ptr<turns> const& reading() const { return reading_; }
  /// The same for clients, so that they delay neither tasks nor the work that clients have asked for.
  std::shared_ptr<turns> const& client_reading() const { return client_reading_; }
  /// Threads for what clients ask for and what takes long.
  turns& client_work() { return *client_work_; }
  /// Frees something large, on a thread for that.
  template <class T> void let_go(T what) noexcept try {
    reading_->post("freed", [gone = std::make_shared<T>(std::move(what))] {});
  } catch (...) {  // no memory: it is freed here
  }
  void let_go_of(std::vector<tensor> all) noexcept {
    std::size_t bytes = 0;
    for (auto const& t : all) bytes += t.bytes();
    if (bytes > (std::size_t{1} << 20)) let_go(std::move(all));
  }
  std::shared_ptr<traffic_count> const& traffic() const { return traffic_; }
  /// What the steps of this process and of others do that take long.
  monitor& steps() { return steps_; }
  /// For the large tensors that come over all connections.
  std::shared_ptr<receive_memory> const& memory() const { return memory_; }

  /// Waits until the network's thread has done what it was told before, such as closing connections. Returns at once on
  /// a thread of its own.
  void settle() {
    if (is_parents() || is_own_thread()) return;
    std::promise<void> done;
    asio::post(io_, [&] { done.set_value(); });
    done.get_future().wait();
  }

  /// What this process says first on a connection.
  hello_body hello() const {
    return {.kernels = std::string(instruction_set()),
            .process = rill::detail::running_steps::here().process(),
            .task = task_};
  }
  /// Throws what a `hello` is refused for.
  void check(hello_body const& other) const {
    if (other.name != protocol_name) throw error(code::unauthenticated, "what came is no process of rill");
    if (other.version != protocol)
      throw error(code::failed_precondition, "it speaks version " + std::to_string(other.version) +
                                                 " of the protocol, and this process version " +
                                                 std::to_string(protocol));
    auto const mine = hello();
    if (other.kernels != mine.kernels && !options_.any_kernels)
      throw error(code::failed_precondition,
                  "it has kernels for " + other.kernels + ", and this process for " + mine.kernels +
                      ", whose results may have other bits: choose by rill::use_instruction_set, or allow it by "
                      "net_options::any_kernels");
  }

  /// Connects. The network's thread calls `done` with the connection, or with the reason for the failure. A name may
  /// have several addresses: they are tried one after the other, starting at index `first` and wrapping around; each
  /// gets an equal part of what remains of `net_options::connect_timeout`.
  void connect(address to, std::function<void(std::unique_ptr<byte_stream>, failure)> done, std::size_t first = 0) {
    auto const at = begin();
    asio::co_spawn(io_, attempt(at, std::move(to), first),
                   [at, done = std::move(done)](std::exception_ptr e, failure why) {
                     at->timer.cancel();
                     if (e) try {
                         std::rethrow_exception(e);
                       } catch (...) {
                         why = caught_failure();
                       }
                     if (at->is_over) why = in_vain();
                     if (why) done(nullptr, std::move(why));
                     else done(std::move(at->stream), nullptr);
                   });
  }

  /// A connection that is not there yet.
  struct beginning {
    explicit beginning(asio::io_context& io) : resolver(io), timer(io), turn_timer(io), socket(io) {}
    /// Ends it. On the network's thread.
    void give_up() {
      is_over = true;
      hang_up();
      resolver.cancel();
      timer.cancel();
      end_turn();
    }
    /// Ends the attempt at one address.
    void hang_up() {
      std::error_code ignored;
      if (socket.is_open()) socket.close(ignored);
      if (stream) stream->close();
    }
    /// Disarms the timer of the address tried last.
    void end_turn() {
      ++turn;
      turn_timer.cancel();
    }
    asio::ip::tcp::resolver resolver;
    asio::steady_timer timer, turn_timer;
    stream_socket socket;                 // until it is connected; then
    std::unique_ptr<byte_stream> stream;  // is there
    std::size_t turn = 0;                 // which of its addresses is tried
    bool is_late = false;                 // whether the current address timed out
    bool is_over = false;
  };
  /// Returns one that is given up after `net_options::connect_timeout`.
  std::shared_ptr<beginning> begin() {
    auto const made = std::make_shared<beginning>(io_);
    made->timer.expires_after(options_.connect_timeout);
    made->timer.async_wait([made](std::error_code e) {
      if (!e) made->give_up();
    });
    return made;
  }
  /// Makes `at` of a socket that was accepted, and returns who is at its other end. Throws error(unauthenticated).
  asio::awaitable<identity> accept(std::shared_ptr<beginning> at, stream_socket s) {
    set_options(s);
    identity who;
    at->socket = std::move(s);
    if (options_.ucx && co_await is_offered_ucx(at->socket)) at->stream = co_await take_ucx(at->socket);
    else who = co_await secure(*at, std::move(at->socket), true, {});
    at->timer.cancel();
    co_return who;
  }
  /// Makes `at` of a socket that was accepted where processes of this machine offer memory.
  asio::awaitable<identity> accept_memory(std::shared_ptr<beginning> at, stream_socket s) {
    at->socket = std::move(s);
    at->stream = co_await take_memory(at->socket);
    at->timer.cancel();
    co_return identity{};
  }
  /// Whether it shares memory with other processes at such an address.
  bool shares_memory(address const& a) const { return options_.shared_memory && !secured_ && a.is_local(); }

  /// Makes small messages leave at once. A Unix socket has no such setting.
  static void set_options(stream_socket& s) {
    std::error_code ignored;
    s.set_option(asio::ip::tcp::no_delay(true), ignored);
  }

 private:
  network(net_options const& options, device_name task, std::shared_ptr<tls_context const> secured)
      : options_(options),
        task_(std::move(task)),
        secured_(std::move(secured)),
        guard_(asio::make_work_guard(io_)),
        work_(2) {}
  bool is_own_thread() {
    return io_.get_executor().running_in_this_thread() || work_.get_executor().running_in_this_thread() ||
           reading_->is_own_thread() || client_reading_->is_own_thread() || client_work_->is_own_thread();
  }

  using clock = asio::steady_timer::clock_type;
  struct place {
    stream_socket::endpoint_type end;
    std::string text;
  };

  static failure in_vain() { return failed(code::unavailable, "it did not answer in time"); }
  asio::awaitable<failure> attempt(std::shared_ptr<beginning> at, address to, std::size_t first) {
    if (shares_memory(to)) {
      at->socket = stream_socket(io_);
      at->stream = co_await share_memory(at->socket, to);
      if (at->stream) co_return nullptr;
    }
    std::vector<place> places;
    if (to.is_unix()) places.push_back({asio::local::stream_protocol::endpoint(to.path), to.text()});
    else {
      // Names are looked up each time: a process that is back may have another address.
      std::error_code e;
      auto const found = co_await at->resolver.async_resolve(to.host, std::to_string(to.port),
                                                             asio::redirect_error(asio::use_awaitable, e));
      if (e) co_return failed(code::unavailable, {"its name can't be looked up: ", system_message(e)});
      for (auto const& f : found)
        places.push_back({f.endpoint(), address{.host = f.endpoint().address().to_string(), .port = to.port}.text()});
    }
    std::rotate(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(first % places.size()), places.end());
    co_return co_await try_each(at, to, places);
  }
  // An address that does not answer does not use up the time of the addresses after it.
  asio::awaitable<failure> try_each(std::shared_ptr<beginning> at, address const& to,
                                    std::vector<place> const& places) {
    std::string reasons;
    for (std::size_t k = 0; k < places.size() && !at->is_over; ++k) {
      begin_turn(at, (at->timer.expiry() - clock::now()) / static_cast<std::int64_t>(places.size() - k));
      std::error_code e;
      try {
        auto const why = co_await try_one(*at, to, places[k].end, e);
        at->end_turn();
        if (!at->is_late && !e) co_return why;
      } catch (...) {
        at->end_turn();
        if (!at->is_late) throw;
      }
      at->stream.reset();
      auto const reason = at->is_late ? in_vain()->message() : system_message(e);
      if (places.size() > 1) reasons += (k == 0 ? "" : ", ") + places[k].text + ": ";
      reasons += reason;
      if (at->is_late && places.size() == 1) co_return in_vain();
    }
    co_return failed(code::unavailable, {"it can't be reached: ", reasons});
  }
  void begin_turn(std::shared_ptr<beginning> const& at, clock::duration time) {
    at->is_late = false;
    at->turn_timer.expires_after(time);
    at->turn_timer.async_wait([at, turn = ++at->turn](std::error_code e) {
      if (e || at->turn != turn) return;
      at->is_late = true;
      at->hang_up();
    });
  }
  // Connects to one address. Sets `e` to why that was not possible, or returns why another would not help.
  asio::awaitable<failure> try_one(beginning& at, address const& to, stream_socket::endpoint_type const& end,
                                   std::error_code& e) {
    if (!co_await open(at, end, e)) co_return nullptr;
    if (options_.ucx && !to.is_unix()) {
      at.stream = co_await offer_ucx(at.socket);
      if (at.stream) co_return nullptr;
      if (!co_await open(at, end, e)) co_return nullptr;  // the other side hung up: it does not support UCX
    }
    auto const who = co_await secure(at, std::move(at.socket), false, to.host);
    if (!who.is_client) co_return nullptr;
    co_return failed(code::unauthenticated,
                     {"expected a task, but the other side authenticated as the client '", who.name, "'"});
  }
  // Connects the socket, and returns whether that was possible.
  asio::awaitable<bool> open(beginning& at, stream_socket::endpoint_type const& end, std::error_code& e) {
    e = asio::error::operation_aborted;
    if (at.is_over || at.is_late) co_return false;
    at.socket = stream_socket(io_);
    at.socket.open(end.protocol(), e);
    if (e) co_return false;
    close_on_exec(at.socket);
    co_await at.socket.async_connect(end, asio::redirect_error(asio::use_awaitable, e));
    if (!e && (at.is_over || at.is_late)) e = asio::error::operation_aborted;
    if (e) co_return false;
    set_options(at.socket);
    co_return true;
  }
  // Makes a stream of a socket, and returns who is at its other end.
  asio::awaitable<identity> secure(beginning& at, stream_socket s, bool is_server, std::string host) {
#if RILL_TLS
    if (secured_) {
      auto made = std::make_unique<tls_stream>(std::move(s), secured_, is_server, host);
      auto& tls = *made;
      at.stream = std::move(made);
      co_return co_await tls.shake_hands();
    }
#endif
    (void)is_server, (void)host;
    at.stream = std::make_unique<socket_stream>(std::move(s));
    co_return identity{};
  }

  unsigned const started_in_ = rill::detail::forks();
  net_options const options_;
  device_name const task_;
  std::shared_ptr<tls_context const> const secured_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  asio::thread_pool work_;
  std::shared_ptr<turns> const reading_ = std::make_shared<turns>(2);
  std::shared_ptr<turns> const client_reading_ = std::make_shared<turns>(1);
  std::shared_ptr<turns> const client_work_ = std::make_shared<turns>(2);
  std::shared_ptr<traffic_count> traffic_ = std::make_shared<traffic_count>();
  monitor steps_{io_, options_, [this](std::string text) {
                   asio::post(work_, [to = options_.report, text = std::move(text)] {
                     if (to) to(text);
                     else std::cerr << "rill: " + text + "\n" << std::flush;
                   });
                 }};
  std::shared_ptr<receive_memory> memory_ = std::make_shared<receive_memory>();
  rill::detail::thread thread_;
};

}  // namespace rill::net
