// A connection to another process: messages go both ways, and tensors beside them.
//
// Each message is whole or lost; small messages pass large tensors, chunk by chunk. One thread reads, writes what the
// stream does not take at once, and watches the time: a process that says nothing for `silence` is lost.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "rill/base/c_locale.hpp"
#include "rill/base/process.hpp"
#include "rill/net/asio.hpp"
#include "rill/net/byte_stream.hpp"
#include "rill/net/incoming.hpp"
#include "rill/net/messages.hpp"
#include "rill/net/options.hpp"
#include "rill/net/outgoing.hpp"
#include "rill/net/turns.hpp"

namespace rill::net {

/// What a connection does for the other side, which may be anybody.
struct link_limits {
  incoming_limits incoming = {};
  /// Closes the connection when more bytes of messages (without tensors) wait to be sent.
  std::uint64_t unread = std::numeric_limits<std::uint64_t>::max();
  /// Reads nothing while more of these bytes wait to be sent: the other side has to read its answers first.
  std::uint64_t unread_when_it_asks = std::numeric_limits<std::uint64_t>::max();
  bool has_to_read() const { return unread_when_it_asks < std::numeric_limits<std::uint64_t>::max(); }
};

/// One end of a connection.
class link : public std::enable_shared_from_this<link> {
 public:
  /// `long_work`: threads for decoding, whose cost grows with what the other side sends.
  link(std::unique_ptr<byte_stream> s, net_options const& options, std::shared_ptr<traffic_count> traffic,
       std::shared_ptr<receive_memory> memory = std::make_shared<receive_memory>(),
       std::shared_ptr<turns> long_work = std::make_shared<turns>(1))
      : stream_(std::move(s)),
        timer_(stream_->executor()),
        drained_(stream_->executor()),
        long_work_(std::move(long_work)),
        options_(options),
        traffic_(std::move(traffic)),
        in_(traffic_, std::move(memory)),
        heard_(clock::now()),
        sent_(clock::now()) {}

  /// Begins to read. On the link's thread.
  void start(std::shared_ptr<link_handler> handler) {
    handler_ = std::move(handler);
    asio::co_spawn(stream_->executor(), read(shared_from_this()), asio::detached);
    watch();
  }
  /// From now on takes tensors and long messages, for the other side has said who it is. On the link's thread.
  void trust(link_limits const& limits) {
    in_.trust(limits.incoming);
    std::lock_guard lock(mutex_);
    limits_ = limits;
  }
  void trust() { trust({.incoming = {options_.most_incoming, options_.most_share}}); }
  /// Uses other threads for decoding, whose cost grows with what the other side sends, and queues there under this
  /// name. On the link's thread.
  void use(std::shared_ptr<turns> long_work, std::string name) {
    long_work_ = std::move(long_work);
    name_ = std::move(name);
  }
  /// Sends a message; on any thread, and without waiting. What is sent on a closed link is lost.
  void send(message m) {
    if (started_in_ != rill::detail::forks() || closed_) return;
    send(parcel(std::move(m)));  // without the lock
  }
  void send(parcel p) { (void)send_within(std::move(p), std::numeric_limits<std::uint64_t>::max()); }
  /// The same, unless the tensors that have not left this process yet have `most` bytes already: returns whether it is
  /// sent.
  bool send_within(parcel p, std::uint64_t most) {
    if (started_in_ != rill::detail::forks()) return true;  // in a child process it is the parent's
    std::unique_lock lock(mutex_);
    if (closed_) return true;
    if (out_.unsent().tensors >= most) return false;
    if (out_.unsent().messages > limits_.unread) {
      lock.unlock();
      close(failed(code::resource_exhausted, {"it has left more than ", std::to_string(limits_.unread),
                                              " bytes of messages unread (client_limits::outgoing)"}));
      return true;
    }
    try {
      out_.add(std::move(p));
    } catch (...) {  // a part of it may have been announced
      lock.unlock();
      close(caught_failure());
      throw;
    }
    ++traffic_->messages_sent;
    if (std::exchange(writing_, true)) return true;
    if (is_burst()) write_later();
    else write_at_once();
    return true;
  }
  /// Returns what has not left this process.
  unsent_bytes unsent() {
    std::lock_guard lock(mutex_);
    return out_.unsent();
  }
  /// Returns for how long nothing has come. On the link's thread.
  std::chrono::nanoseconds quiet_for() const { return clock::now() - heard_; }
  /// Returns what the system knows of a side that says nothing (byte_stream::state). On the link's thread.
  std::string state() const { return stream_->state(); }
  /// Whether something that was sent has not left this process.
  bool is_writing() {
    std::lock_guard lock(mutex_);
    return writing_;
  }
  /// Closes the connection; on any thread.
  void close(failure why) {
    asio::dispatch(stream_->executor(), [self = shared_from_this(), why = std::move(why)] { self->end(why); });
  }
  /// Closes the connection when all that was sent has left this process and, where the kind of connection knows, the
  /// other side has hung up or options.connect_timeout is over. No message that begins to come after that is taken.
  void close_when_sent(failure why) {
    asio::dispatch(stream_->executor(), [self = shared_from_this(), why = std::move(why)] {
      std::unique_lock lock(self->mutex_);
      if (self->end_when_sent_) return;
      self->end_when_sent_ = why;
      if (std::exchange(self->writing_, true)) return;
      lock.unlock();
      self->finish();
    });
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr std::uint64_t large = std::uint64_t{1} << 20;  // to free it is left to another thread

  // --------------------------------------------------------------------------------------------------------------------
  // Sending. Whoever has set `writing_` writes, and nobody else.

  // Whether so many messages are sent that the link's thread, which writes all that have gathered, is the faster.
  bool is_burst() {
    static constexpr std::chrono::microseconds apart{20};  // about as long as it takes to wake a thread
    static constexpr int most_in_a_row = 4;
    if (clock::now() - sent_.load() > apart) in_a_row_ = 0;
    return ++in_a_row_ > most_in_a_row;
  }
  // Writes the messages that the stream takes now, so that a small one needs no other thread. The caller holds the
  // lock, so that nobody closes the stream meanwhile.
  void write_at_once() {
    std::error_code e;
    out_.take(batch_, false);
    write_batch(e);
    writing_ = e || !batch_.empty() || !out_.empty();
    if (writing_) write_later();
    else batch_.clear();
  }
  void write_later() {
    asio::post(stream_->executor(), [self = shared_from_this()] {  // later, for the lock is held
      asio::co_spawn(self->stream_->executor(), write(self), asio::detached);
    });
  }
  // Writes all there is; on the link's thread.
  static asio::awaitable<void> write(std::shared_ptr<link> self) {
    failure why;
    try {
      while (co_await self->write_next()) {
      }
      self->finish();
    } catch (std::system_error const& e) {
      why = lost(e);
    } catch (...) {
      why = caught_failure();
    }
    if (why) self->end(std::move(why));
  }
  // Returns whether there may be more to write.
  asio::awaitable<bool> write_next() {
    while (!batch_.empty()) {
      std::error_code e;
      if (write_batch(e) == 0 && !e) co_await stream_->writable();
      if (e) throw std::system_error(e);
    }
    if (auto last = batch_.take_large()) let_go(std::move(last));
    batch_.clear();  // without the lock: a Send may wait for that
    {
      std::lock_guard lock(mutex_);
      if (closed_ || out_.empty()) {
        writing_ = end_when_sent_ != nullptr;  // then nobody writes any more
        if (waits_for_room_) drained_.cancel();
        co_return false;
      }
      out_.take(batch_, true);
      if (waits_for_room_ && out_.unsent().messages <= limits_.unread_when_it_asks) drained_.cancel();
    }
    co_await asio::post(asio::use_awaitable);  // whatever else this thread has to do comes in between
    co_return true;
  }
  // Ends the connection when all is sent, if that was wished. On the link's thread.
  void finish() {
    if (!end_when_sent_ || closed_) return;
    if (!stream_->finish()) return end(end_when_sent_);
    take_no_more();
  }
  std::size_t write_batch(std::error_code& e) {
    auto const n = stream_->write(batch_.left(), e);
    batch_.wrote(n);
    traffic_->bytes_sent += n;
    if (n > 0) sent_ = clock::now();
    return n;
  }

  // --------------------------------------------------------------------------------------------------------------------
  // Receiving

  static asio::awaitable<void> read(std::shared_ptr<link> self) {
    failure why;
    try {
      while (!self->closed_ && !self->end_by_) {
        co_await self->read_frame_or_refuse();
        co_await self->make_room();
      }
      while (!self->closed_) (void)co_await self->read_some(asio::buffer(self->buffer_));
    } catch (std::system_error const& e) {
      why = self->end_by_ ? self->end_when_sent_ : lost(e);
    } catch (...) {
      why = caught_failure();
    }
    self->end(std::move(why));
    if (self->in_.bytes() > large) self->let_go(std::make_shared<incoming>(std::move(self->in_)));
  }
  // Lets others go on: whatever else this thread has to do, and the other side, which is to read what it has asked for.
  asio::awaitable<void> make_room() {
    static constexpr std::size_t most_in_a_row = std::size_t{1} << 20;
    if (in_a_row_read_ > most_in_a_row) {
      in_a_row_read_ = 0;
      co_await asio::post(asio::use_awaitable);
    }
    while (!closed_ && limits_.has_to_read() && unsent().messages > limits_.unread_when_it_asks) {
      drained_.expires_at(clock::time_point::max());
      std::error_code cancelled;
      waits_for_room_ = true;
      co_await drained_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
      waits_for_room_ = false;
      heard_ = clock::now();
    }
  }
  // From now on passes over what comes, and ends the connection if the other side does not hang up in time (`watch`).
  void take_no_more() {
    if (!end_by_) end_by_ = clock::now() + options_.connect_timeout;
  }
  // Tells the other side why the connection ends.
  asio::awaitable<void> read_frame_or_refuse() {
    try {
      co_await read_frame();
    } catch (over_limit const& e) {
      take_no_more();  // now, for a side that is refused may not read what is sent to it
      auto const why = as_failure(e);
      send({.kind = message_kind::refused, .body = body_of(as_body(0, *why))});
      close_when_sent(why);
    }
  }
  asio::awaitable<void> read_frame() {
    char bytes[sizeof(frame_head)];
    co_await read_exactly(bytes, sizeof bytes);
    auto const head = head_of(bytes);
    if (head.kind == frame_kind::chunk) {
      co_await read_exactly(in_.place(head), head.bytes);
      if (auto const all = in_.placed(head)) co_await finish_stream(all);
      co_return;
    }
    std::string text(head.bytes, '\0');
    co_await read_exactly(text.data(), text.size());
    in_.take(head, text, handler_);
  }
  // Nothing else is read meanwhile: messages keep their order, and a connection has one such piece of work at a time.
  asio::awaitable<void> finish_stream(std::shared_ptr<incoming::unread> all) {
    std::function<void()> const reads = [all] { all->read(); };
    if (all->is_long()) co_await do_slowly(reads);
    else reads();
    if (closed_) let_go(std::move(all));
    else in_.done(*all, handler_);
  }
  // Runs `f` on a decoding thread.
  asio::awaitable<void> do_slowly(std::function<void()> f) {
    auto const done = std::make_shared<asio::steady_timer>(stream_->executor(), clock::time_point::max());
    auto const why = std::make_shared<std::exception_ptr>();
    long_work_->post(name_, [f = std::move(f), done, why] {
      try {
        f();
      } catch (...) {
        *why = std::current_exception();
      }
      asio::post(done->get_executor(), [done] { done->cancel(); });
    });
    is_busy_ = true;
    std::error_code cancelled;
    co_await done->async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    is_busy_ = false;
    heard_ = clock::now();
    // Taken, so that this thread alone lets go of the exception: the thread sanitizer doesn't see its counter.
    if (auto const thrown = std::exchange(*why, nullptr)) std::rethrow_exception(thrown);
  }
  asio::awaitable<void> read_exactly(char* to, std::size_t n) {
    while (n > 0) {
      auto const have = std::min(n, buffered_end_ - buffered_at_);
      std::copy_n(buffer_.data() + buffered_at_, have, to);
      buffered_at_ += have;
      to += have, n -= have;
      if (n >= buffer_.size()) {
        auto const came = co_await read_some(asio::buffer(to, n));
        to += came, n -= came;
      } else if (n > 0) {
        buffered_at_ = 0, buffered_end_ = 0;
        buffered_end_ = co_await read_some(asio::buffer(buffer_));
      }
    }
  }
  asio::awaitable<std::size_t> read_some(asio::mutable_buffer to) {
    auto const came = co_await stream_->read(to);
    traffic_->bytes_received += came;
    in_a_row_read_ += came;
    heard_ = clock::now();
    co_return came;
  }

  // --------------------------------------------------------------------------------------------------------------------
  // Its end

  static failure lost(std::system_error const& why) {
    auto const& e = why.code();
    auto const ended = e == asio::error::eof || e == asio::error::connection_reset || e == asio::error::broken_pipe;
    return failed(code::unavailable, {"the connection was ",
                                      ended ? "closed by the other side" : "lost: ", ended ? "" : system_text(why)});
  }
  void watch() {
    auto const planned = clock::now() + options_.heartbeat;
    timer_.expires_at(planned);
    timer_.async_wait([self = shared_from_this(), planned](std::error_code e) {
      if (e || self->closed_) return;
      auto const now = clock::now();
      // Whoever was stopped itself, and goes on, has heard nothing meanwhile and is not to blame others.
      if (now - planned > self->options_.heartbeat || self->is_busy_) self->heard_ = now;
      if (self->waits_for_room_) self->heard_ = std::max(self->heard_, self->sent_.load());  // it reads, then
      if (now - self->heard_ > self->options_.silence) return self->end(self->silent());
      if (self->end_by_ && now > *self->end_by_) return self->end(self->end_when_sent_);
      if (now - self->sent_.load() >= self->options_.heartbeat) self->beat();
      self->watch();
    });
  }
  failure silent() const {
    auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(options_.silence).count();
    auto const state = stream_->state();
    return failed(
        code::unavailable,
        {waits_for_room_ ? "it has not read its messages within " : "nothing was heard for ", std::to_string(ms), " ms",
         waits_for_room_ ? " (net_options::silence)" : "", state.empty() ? "" : ": ", state});
  }
  void beat() {
    std::lock_guard lock(mutex_);
    if (closed_ || std::exchange(writing_, true)) return;  // what is being written says it, too
    out_.add_beat();
    write_at_once();
  }
  // Frees it on a thread for long work.
  void let_go(std::shared_ptr<void> what) noexcept try {
    long_work_->post(name_, [what = std::move(what)] {});
  } catch (...) {  // no memory: it is freed here
  }
  // On the link's thread.
  void end(failure why) {
    outgoing gone;  // outlives the lock
    {
      std::lock_guard lock(mutex_);
      if (closed_) return;
      closed_ = true;
      std::swap(gone, out_);
      stream_->close();
    }
    timer_.cancel();
    drained_.cancel();
    if (gone.unsent().tensors + gone.unsent().messages > large) let_go(std::make_shared<outgoing>(std::move(gone)));
    if (auto const handler = std::move(handler_)) handler->closed(std::move(why));
  }

  unsigned const started_in_ = rill::detail::forks();
  std::unique_ptr<byte_stream> stream_;
  asio::steady_timer timer_;
  asio::steady_timer drained_;  // is cancelled when the other side has read what it asked for
  std::shared_ptr<turns> long_work_;
  std::string name_ = std::to_string(reinterpret_cast<std::uintptr_t>(this));  // by which it takes turns
  net_options const options_;
  link_limits limits_;
  std::shared_ptr<traffic_count> traffic_;

  std::mutex mutex_;
  outgoing out_;
  bool writing_ = false;  // whether a thread writes, or is to
  int in_a_row_ = 0;      // messages that were written in short succession
  std::atomic<bool> closed_ = false;
  failure end_when_sent_;

  batch batch_;  // of the thread that writes

  // Of the link's thread.
  std::shared_ptr<link_handler> handler_;
  incoming in_;
  std::string buffer_ = std::string(16 << 10, '\0');
  std::size_t buffered_at_ = 0, buffered_end_ = 0;
  std::size_t in_a_row_read_ = 0;  // bytes since others could go on
  bool is_busy_ = false;           // it does not read, for what has come is being read
  bool waits_for_room_ = false;    // it does not read, for the other side does not
  clock::time_point heard_;
  std::optional<clock::time_point> end_by_;  // set when nothing is taken any more
  std::atomic<clock::time_point> sent_;
};

}  // namespace rill::net
