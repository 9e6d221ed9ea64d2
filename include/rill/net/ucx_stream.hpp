// Connections by UCX (openucx.org): InfiniBand, RoCE and what else it finds between two machines. A TCP connection
// beside it tells both sides where the other's UCX is, and ends when a process does.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "rill/base/error.hpp"
#include "rill/net/asio.hpp"
#include "rill/net/byte_stream.hpp"

#if RILL_UCX
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>
#include <string_view>
#include <system_error>

#include "rill/net/ucx_library.hpp"
#endif

namespace rill::net {

/// Throws error(unavailable) if UCX can't be used here, and error(unimplemented) if this program was built without it.
void require_ucx();
/// Offers the process at the other end of a connection to go on by UCX. Returns null if it does not take that: the
/// connection is of no use then.
asio::awaitable<std::unique_ptr<byte_stream>> offer_ucx(stream_socket& s);
/// Returns whether the process at the other end of a connection offers UCX, when its first bytes have come.
asio::awaitable<bool> is_offered_ucx(stream_socket& s);
/// Takes what a process offers. Throws error(data_loss) if that is nonsense.
asio::awaitable<std::unique_ptr<byte_stream>> take_ucx(stream_socket& s);

#if RILL_UCX

namespace detail {

/// One end of a connection, with a worker of its own: no other connection waits for it. All members on one thread at a
/// time.
class ucx_end {
 public:
  ucx_end() {
    ucp_worker_params_t how{};
    how.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    how.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    check_ucx(ucx_.worker_create(ucx_context(), &how, &worker_), "make a worker");
    if (auto const s = ucx_.worker_get_efd(worker_, &event_); s != UCS_OK) {
      ucx_.worker_destroy(worker_);
      check_ucx(s, "make a descriptor to wait at");
    }
  }
  ~ucx_end() {
    if (left_ > 0) ucx_.release(end_, came_);
    if (end_) {
      ucp_request_param_t now{};
      now.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
      now.flags = UCP_EP_CLOSE_FLAG_FORCE;
      finish(ucx_.ep_close(end_, &now));
    }
    for (auto const& c : chunks_) finish(c.request);
    finish(flushed_);
    ucx_.worker_destroy(worker_);
  }
  ucx_end(ucx_end const&) = delete;
  ucx_end& operator=(ucx_end const&) = delete;

  /// Where the other side finds this one.
  std::string address() const {
    ucp_address_t* at = nullptr;
    std::size_t n = 0;
    check_ucx(ucx_.worker_get_address(worker_, &at, &n), "say where it is");
    std::string text(reinterpret_cast<char const*>(at), n);
    ucx_.worker_release_address(worker_, at);
    return text;
  }
  void connect(std::string const& to) {
    ucp_ep_params_t how{};
    how.field_mask =
        UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    how.address = reinterpret_cast<ucp_address_t const*>(to.data());
    how.err_mode = UCP_ERR_HANDLING_MODE_PEER;  // otherwise a process that ends takes this one with it
    how.err_handler = {[](void* self, ucp_ep_h, ucs_status_t) { static_cast<ucx_end*>(self)->is_lost_ = true; }, this};
    check_ucx(ucx_.ep_create(worker_, &how, &end_), "connect");
  }
  /// A descriptor that becomes readable when there is something to do.
  int event() const { return event_; }
  /// Does what there is to do, and returns whether there was anything.
  bool progress() {
    bool any = false;
    while (ucx_.worker_progress(worker_) != 0) any = true;
    for (auto& c : chunks_)
      if (c.request && ucx_.request_status(c.request) != UCS_INPROGRESS) {
        if (ucx_.request_status(c.request) != UCS_OK) is_lost_ = true;
        ucx_.request_free(std::exchange(c.request, nullptr));
        any = true;
      }
    return any;
  }
  /// Returns whether one may wait for `event`; otherwise there is something to do already.
  bool may_wait() { return ucx_.worker_arm(worker_) == UCS_OK; }
  /// Wakes the thread that waits at `event`.
  void wake() { ucx_.worker_signal(worker_); }
  bool is_lost() const { return is_lost_; }

  /// Takes what has come.
  std::size_t take(void* to, std::size_t most) {
    if (left_ == 0) {
      auto* const data = ucx_.receive(end_, &left_);
      if (data == nullptr) return left_ = 0;
      if (UCS_PTR_IS_ERR(data)) {
        is_lost_ = true;
        return left_ = 0;
      }
      came_ = data, at_ = static_cast<char const*>(data);
    }
    auto const n = std::min(left_, most);
    std::memcpy(to, at_, n);
    at_ += n;
    left_ -= n;
    if (left_ == 0) ucx_.release(end_, came_);
    return n;
  }
  /// Whether there is room for bytes that are to be sent.
  bool has_room() const { return std::any_of(chunks_.begin(), chunks_.end(), is_free); }
  /// Sends as many of these bytes as there is room for, and returns how many that were.
  std::size_t send(std::span<asio::const_buffer const> from) {
    std::size_t sent = 0, all = 0;
    for (auto const& b : from) all += b.size();
    while (sent < all && !is_lost_) {
      auto const at = std::find_if(chunks_.begin(), chunks_.end(), is_free);
      if (at == chunks_.end()) break;
      auto& c = *at;
      std::size_t n = 0;
      for (std::size_t skipped = sent; auto const& b : from) {
        auto const passed = std::min(skipped, b.size());
        skipped -= passed;
        auto const part = std::min(b.size() - passed, chunk_bytes - n);
        std::memcpy(c.bytes.get() + n, static_cast<char const*>(b.data()) + passed, part);
        n += part;
        if (n == chunk_bytes) break;
      }
      ucp_request_param_t none{};
      auto* const r = ucx_.send(end_, c.bytes.get(), n, &none);
      if (UCS_PTR_IS_ERR(r)) is_lost_ = true;
      else c.request = r, sent += n;
    }
    return sent;
  }
  bool is_sending() const { return !std::all_of(chunks_.begin(), chunks_.end(), is_free); }
  /// Begins to find out whether all has arrived that was sent. Returns whether that is so already.
  bool flush() {
    ucp_request_param_t none{};
    if (!flushed_) flushed_ = ucx_.ep_flush(end_, &none);
    if (!UCS_PTR_IS_PTR(flushed_)) return true;
    if (ucx_.request_status(flushed_) == UCS_INPROGRESS) return false;
    ucx_.request_free(std::exchange(flushed_, nullptr));
    return true;
  }

 private:
  // Bytes that are being sent: UCX reads them where they lie.
  static constexpr std::size_t chunk_bytes = std::size_t{256} << 10;
  struct chunk {
    std::unique_ptr<char[]> bytes = std::make_unique_for_overwrite<char[]>(chunk_bytes);
    void* request = nullptr;  // while it is sent
  };
  static bool is_free(chunk const& c) { return c.request == nullptr; }
  void finish(void* request) {
    if (request == nullptr || !UCS_PTR_IS_PTR(request)) return;
    while (ucx_.request_status(request) == UCS_INPROGRESS) ucx_.worker_progress(worker_);
    ucx_.request_free(request);
  }

  ucx_library const& ucx_ = ucx_library::here();
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h end_ = nullptr;
  int event_ = -1;
  bool is_lost_ = false;
  std::array<chunk, 8> chunks_;
  void* flushed_ = nullptr;
  // What has come and was not taken.
  void* came_ = nullptr;
  char const* at_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace detail

/// A connection by UCX.
class ucx_stream final : public byte_stream {
 public:
  /// `beside`: the connection on which both sides have said where they are.
  ucx_stream(stream_socket beside, std::unique_ptr<detail::ucx_end> end)
      : of_(std::make_shared<shared>(std::move(beside), std::move(end))) {
    of_->beside.non_blocking(true);
    asio::co_spawn(executor(), watch(of_), asio::detached);
  }
  ~ucx_stream() override {
    if (!is_closed_) asio::dispatch(executor(), [of = of_] { over(*of); });
  }

  asio::any_io_executor executor() override { return of_->beside.get_executor(); }
  asio::awaitable<std::size_t> read(asio::mutable_buffer to) override {
    std::size_t n = 0;
    co_await wait(of_, [&](detail::ucx_end& end) {
      n = end.take(to.data(), to.size());
      return n > 0;
    });
    co_return n;
  }
  std::size_t write(std::span<asio::const_buffer const> from, std::error_code& e) override {
    std::lock_guard lock(of_->mutex);
    auto& end = *of_->end;
    bool any = end.progress();
    auto const n = end.send(from);
    any = end.progress() || any;
    if (end.is_lost() || of_->is_over) e = asio::error::connection_reset;
    else if (any || end.is_sending()) end.wake();  // the connection's thread would not hear of it
    return n;
  }
  asio::awaitable<void> writable() override {
    co_await wait(of_, [](detail::ucx_end& end) { return end.has_room(); });
  }
  std::string state() override { return state_of(of_->beside.native_handle()); }
  void close() override {
    if (std::exchange(is_closed_, true)) return;
    asio::co_spawn(executor(), end(of_), asio::detached);
  }

 private:
  // Lives as long as somebody waits.
  struct shared {
    shared(stream_socket s, std::unique_ptr<detail::ucx_end> e)
        : beside(std::move(s)), event(beside.get_executor(), e->event()), end(std::move(e)) {}
    ~shared() { event.release(); }  // the descriptor is UCX's
    stream_socket beside;
    asio::posix::stream_descriptor event;
    std::mutex mutex;  // of what is below
    std::unique_ptr<detail::ucx_end> end;
    bool is_over = false;  // no more comes than has come
    int waiting = 0;       // on the connection's thread
  };
  // On the connection's thread.
  static void over(shared& of) {
    std::lock_guard lock(of.mutex);
    std::error_code ignored;
    of.is_over = true;
    of.beside.close(ignored);
    of.event.cancel(ignored);
  }

  // Waits until `is_done(end)`. Throws std::system_error at the end of the stream.
  template <class F> static asio::awaitable<void> wait(std::shared_ptr<shared> of, F is_done) {
    for (;;) {
      {
        std::lock_guard lock(of->mutex);
        bool const is_over = of->is_over;
        std::error_code ignored;
        // What this one has done, another may wait for.
        if (of->end->progress() && of->waiting > 0) of->event.cancel(ignored);
        if (is_done(*of->end)) co_return;
        if (is_over || of->end->is_lost()) throw std::system_error(make_error_code(asio::error::eof));
        if (!of->end->may_wait()) continue;
      }
      std::error_code ignored;
      ++of->waiting;
      co_await of->event.async_wait(asio::posix::descriptor_base::wait_read,
                                    asio::redirect_error(asio::use_awaitable, ignored));
      --of->waiting;
    }
  }
  // Nothing comes beside UCX but the end.
  static asio::awaitable<void> watch(std::shared_ptr<shared> of) {
    std::error_code e;
    char one = 0;
    co_await of->beside.async_read_some(asio::buffer(&one, 1), asio::redirect_error(asio::use_awaitable, e));
    over(*of);
  }
  // Tells the other side when all has arrived that was sent, but waits no longer than a second for that.
  static asio::awaitable<void> end(std::shared_ptr<shared> of) {
    auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    asio::steady_timer timer(of->beside.get_executor());
    try {
      while (!of->is_over && std::chrono::steady_clock::now() < until) {
        {
          std::lock_guard lock(of->mutex);
          of->end->progress();
          if (of->end->is_lost() || (!of->end->is_sending() && of->end->flush())) break;
        }
        timer.expires_after(std::chrono::microseconds(200));
        co_await timer.async_wait(asio::use_awaitable);
      }
    } catch (std::exception const&) {  // it has not arrived
    }
    over(*of);
  }

  std::shared_ptr<shared> of_;
  bool is_closed_ = false;
};

namespace detail {

// Both sides say this, and where they are: a number of bytes (4) and these. No frame is as long as its first bytes say.
inline constexpr std::string_view ucx_greeting = "rill-ucx";
inline constexpr std::uint32_t most_ucx_address = 1 << 16;

inline asio::awaitable<void> say_where(stream_socket& s, ucx_end const& end) {
  auto const at = end.address();
  auto const n = static_cast<std::uint32_t>(at.size());
  std::string text(ucx_greeting);
  text.append(reinterpret_cast<char const*>(&n), sizeof n).append(at);
  co_await asio::async_write(s, asio::buffer(text), asio::use_awaitable);
}
inline asio::awaitable<std::string> hear_where(stream_socket& s) {
  char head[12];
  std::uint32_t n = 0;
  co_await asio::async_read(s, asio::buffer(head), asio::use_awaitable);
  std::memcpy(&n, head + 8, sizeof n);
  if (std::string_view(head, 8) != ucx_greeting || n == 0 || n > most_ucx_address)
    throw error(code::data_loss, "what came is no offer of UCX");
  std::string at(n, '\0');
  co_await asio::async_read(s, asio::buffer(at), asio::use_awaitable);
  co_return at;
}

}  // namespace detail

inline void require_ucx() { detail::ucx_context(); }
inline asio::awaitable<std::unique_ptr<byte_stream>> offer_ucx(stream_socket& s) {
  auto end = std::make_unique<detail::ucx_end>();
  try {
    co_await detail::say_where(s, *end);
    end->connect(co_await detail::hear_where(s));
  } catch (std::system_error const&) {  // it has hung up
    co_return nullptr;
  } catch (error const& e) {  // it knows no UCX, and has said first that it is there
    if (e.code() != code::data_loss) throw;
    co_return nullptr;
  }
  co_return std::make_unique<ucx_stream>(std::move(s), std::move(end));
}
inline asio::awaitable<bool> is_offered_ucx(stream_socket& s) {
  asio::steady_timer timer(s.get_executor());
  for (;;) {
    co_await s.async_wait(asio::socket_base::wait_read, asio::use_awaitable);
    char first[8];
    std::error_code e;
    auto const n = s.receive(asio::buffer(first), asio::socket_base::message_peek, e);
    if (e || n == 0 || std::string_view(first, n) != detail::ucx_greeting.substr(0, n)) co_return false;
    if (n == sizeof first) co_return true;
    timer.expires_after(std::chrono::milliseconds(1));  // the rest is on its way
    co_await timer.async_wait(asio::use_awaitable);
  }
}
inline asio::awaitable<std::unique_ptr<byte_stream>> take_ucx(stream_socket& s) {
  auto end = std::make_unique<detail::ucx_end>();
  auto const at = co_await detail::hear_where(s);
  end->connect(at);
  co_await detail::say_where(s, *end);
  co_return std::make_unique<ucx_stream>(std::move(s), std::move(end));
}

#else

inline void require_ucx() {
  throw error(code::unimplemented,
              "net_options::ucx needs a program that was built with UCX: install libucx-dev, and define RILL_UCX=1 "
              "(CMake does)");
}
inline asio::awaitable<std::unique_ptr<byte_stream>> offer_ucx(stream_socket&) { co_return nullptr; }
inline asio::awaitable<bool> is_offered_ucx(stream_socket&) { co_return false; }
inline asio::awaitable<std::unique_ptr<byte_stream>> take_ucx(stream_socket&) { co_return nullptr; }

#endif

}  // namespace rill::net
