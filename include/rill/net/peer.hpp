// A connection that this process makes to another, to ask it for something. It is made when it is first needed, and
// again after it was lost.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rill/base/deadline.hpp"
#include "rill/net/network.hpp"
#include "rill/run/tasks/task_answer.hpp"

namespace rill::net {

/// Called once, by the network's thread: with an answer, or with the reason why none came.
using answered = std::function<void(failure, message)>;
/// Called with each message that belongs to a call and precedes its answer.
using noted = std::function<void(message const&)>;

/// What a peer is to the network, which may use it longer than this process does.
class peer_connection final : public link_handler, public std::enable_shared_from_this<peer_connection> {
 public:
  peer_connection(std::shared_ptr<network> n, address at, device_name task)
      : network_(std::move(n)), at_(std::move(at)), task_(std::move(task)) {}

  void ask(std::uint64_t call, message m, answered done, noted note) {
    check_process();
    parcel p(std::move(m));  // without the lock: it costs time proportional to its strings
    std::unique_lock lock(mutex_);
    if (made == 0) patient_until_ = std::max(patient_until_, first_there_);
    calls_.emplace(call, pending{std::move(done), std::move(note)});
    try {
      send(std::move(p), {}, lock);
    } catch (...) {
      if (lock) lock.unlock();
      forget(call);
      throw;
    }
  }
  // Nobody waits for the answer any more.
  void forget(std::uint64_t call) {
    decltype(calls_)::node_type gone;  // outlives the lock
    std::lock_guard lock(mutex_);
    gone = calls_.extract(call);
  }
  // Sends a value. `done` is called when the other side has it, or why it has not.
  void push(message m, std::function<void(failure)> done) {
    check_process();
    parcel p(std::move(m));
    std::unique_lock lock(mutex_);
    if (ready_) pushes_.push_back(done);  // in the order of the messages on the link
    send(std::move(p), std::move(done), lock);
  }
  void tell(message m) {
    if (network_->is_parents()) return;
    parcel p(std::move(m));
    std::unique_lock lock(mutex_);
    send(std::move(p), {}, lock);
  }
  void reach(std::chrono::steady_clock::time_point deadline) {
    check_process();
    std::unique_lock lock(mutex_);
    if (ready_) return;  // one that was there and is lost is not waited for
    patient_until_ = std::max(patient_until_, deadline);
    connect(lock);
  }
  hello_body wait(std::chrono::steady_clock::time_point deadline) {
    reach(deadline);
    std::unique_lock lock(mutex_);
    auto const latest = deadline + 2 * network_->options().connect_timeout;  // of the attempt that is under way then
    if (!changed_.wait_until(lock, latest, [&] { return ready_ || !connecting_; }))
      throw error({code::unavailable, cause::lost}, text() + ": it did not answer in time");
    if (!ready_) throw error(*why_);
    return hello_;
  }
  // Another process has taken the place of the one at the other end.
  void replace(std::uint64_t by) {
    std::unique_lock lock(mutex_);
    auto const l = ready_ && hello_.process != by ? link_ : nullptr;
    lock.unlock();
    if (l) l->close(failed(code::unavailable, "another process has taken its place"));
  }
  // The last user is gone.
  void leave() {
    std::unique_lock lock(mutex_);
    left_ = true;
    patient_until_ = {};
    auto const l = link_;
    lock.unlock();
    if (l) l->close(not_needed());
  }
  // On the network's thread.
  std::string silence() {
    std::unique_lock lock(mutex_);
    auto const l = link_;
    auto const is_ready = ready_;
    lock.unlock();
    auto const& o = network_->options();
    if (!is_ready) return connecting_ ? "there is no connection to it yet" : "";
    auto const quiet = l->quiet_for();
    if (quiet <= 2 * std::max(o.heartbeat, o.report_after / 2)) return {};
    auto const state = l->state();
    return "nothing was heard from it for " + seconds_text(quiet) + (state.empty() ? "" : "; " + state);
  }
  net_options const& options() const { return network_->options(); }
  std::string text() const { return task_.empty() ? at_.text() : task_.text() + " (" + at_.text() + ")"; }

  std::atomic<std::uint64_t> calls{1}, made{0};

 private:
  using clock = std::chrono::steady_clock;
  struct pending {
    answered done;
    noted note;
  };
  struct waiting_message {
    parcel m;
    std::function<void(failure)> pushed;
  };

  void check_process() const {
    if (network_->is_parents())
      throw error(code::failed_precondition, "a connection that was made before fork() is not there in the child");
  }

  void send(parcel m, std::function<void(failure)> pushed, std::unique_lock<std::mutex>& lock) {
    if (!ready_) {
      unsent_.push_back({std::move(m), std::move(pushed)});
      return connect(lock);
    }
    auto const l = link_;
    if (!pushed) lock.unlock();  // pushes keep their order
    l->send(std::move(m));
  }
  void connect(std::unique_lock<std::mutex>&) {
    if (std::exchange(connecting_, true)) return;
    asio::post(network_->io(), [self = shared_from_this()] { self->try_to_connect(); });
  }
  void try_to_connect() {
    if (is_left()) return closed(not_needed());
    auto begin = [self = shared_from_this()](std::unique_ptr<byte_stream> s, failure why) {
      if (why) return self->closed(std::move(why));
      auto const l = std::make_shared<link>(std::move(s), self->network_->options(), self->network_->traffic(),
                                            self->network_->memory(), self->network_->reading());
      if (self->is_left()) return self->closed(not_needed());
      {
        std::lock_guard lock(self->mutex_);
        self->link_ = l;
      }
      l->trust();  // it was asked for
      l->start(self);
      auto hello = self->network_->hello();
      l->send({.kind = message_kind::hello, .body = body_of(hello)});
      self->expect_hello(l);
    };
    network_->connect(at_, std::move(begin), in_vain_);
  }
  bool is_left() {
    std::lock_guard lock(mutex_);
    return left_;
  }
  static failure not_needed() { return failed({code::cancelled, cause::derived}, "it is not needed any more"); }
  void expect_hello(std::shared_ptr<link> const& l) {
    auto const timer = std::make_shared<asio::steady_timer>(network_->io(), network_->options().connect_timeout);
    timer->async_wait([mine = weak_from_this(), timer, of = std::weak_ptr(l)](std::error_code) {
      auto const self = mine.lock();
      auto const still = of.lock();
      if (!self || !still) return;
      std::unique_lock lock(self->mutex_);
      if (self->ready_ || self->link_ != still) return;
      lock.unlock();
      still->close(failed(code::unavailable, "it did not answer in time"));
    });
  }

  // On the network's thread.
  void came(message m) override {
    switch (m.kind) {
      case message_kind::hello:
        return greet(m);
      case message_kind::refused:
        throw refusal_of(m);
      case message_kind::answer:
      case message_kind::failed:
        return answer(std::move(m));
      case message_kind::ran:
      case message_kind::print:
      case message_kind::ended:
      case message_kind::status:
        return note(m);
      case message_kind::pushed:
        return take_pushed(m);
      default:
        throw error(code::data_loss, "it sent what nobody had asked it for");
    }
  }
  void greet(message const& m) {
    hello_body said;
    read_body(m.body, said);
    network_->check(said);
    if (!task_.empty() && said.task != task_)
      throw error(code::failed_precondition, "at this address is " +
                                                 (said.task.empty() ? "no task" : said.task.text()) +
                                                 ": are the addresses of "
                                                 "the cluster the same in all processes?");
    std::unique_lock lock(mutex_);
    hello_ = std::move(said);
    ready_ = true;
    connecting_ = false;
    ++made;
    auto const l = link_;
    patient_until_ = {};
    for (auto& u : std::exchange(unsent_, {})) {  // before others send
      if (u.pushed) pushes_.push_back(std::move(u.pushed));
      l->send(std::move(u.m));
    }
    changed_.notify_all();
  }
  void answer(message m) {
    auto const call = call_of(m);
    failure why;
    if (m.kind == message_kind::failed) {  // read before the call is taken, which hears of bytes that say nothing, too
      error_body body;
      read_body(m.body, body);
      why = as_failure(as_error(body));
    }
    std::unique_lock lock(mutex_);
    auto const at = calls_.find(call);
    if (at == calls_.end()) {
      lock.unlock();
      return network_->let_go_of(std::move(m.tensors));
    }
    auto const done = std::move(at->second.done);
    calls_.erase(at);
    lock.unlock();
    if (why) done(std::move(why), {});
    else done(nullptr, std::move(m));
  }
  // The other side says how many more pushed values it has received.
  void take_pushed(message const& m) {
    call_body body;
    read_body(m.body, body);
    for (auto n = body.call; n > 0; --n) {
      std::unique_lock lock(mutex_);
      if (pushes_.empty()) throw error(code::data_loss, "it has got values that were not sent");
      auto const done = std::move(pushes_.front());
      pushes_.pop_front();
      lock.unlock();
      done(nullptr);
    }
  }
  void note(message const& m) {
    std::unique_lock lock(mutex_);
    auto const at = calls_.find(call_of(m));
    if (at == calls_.end() || !at->second.note) return;
    auto const note_it = at->second.note;
    lock.unlock();
    note_it(m);
  }
  // The connection was lost, or none could be made.
  void closed(failure why) override {
    std::unique_lock lock(mutex_);
    bool const was_ready = std::exchange(ready_, false);
    made += was_ready;       // what was registered is gone
    in_vain_ += !was_ready;  // an address that takes connections and says nothing is not tried first again
    link_ = nullptr;
    if (!was_ready && !left_ && why->code() == code::unavailable && clock::now() < patient_until_) return again();
    connecting_ = false;
    why_ = named(*why);
    auto const asked = std::exchange(calls_, {});
    auto const unsent = std::exchange(unsent_, {});
    auto const pushed = std::exchange(pushes_, {});
    changed_.notify_all();
    auto const named_why = why_;
    lock.unlock();
    auto const each = [](auto const& f) {
      try {
        f();
      } catch (...) {  // the others have to hear of it, too
      }
    };
    for (auto const& p : pushed) each([&] { p(named_why); });
    for (auto const& u : unsent)
      if (u.pushed) each([&] { u.pushed(named_why); });
    for (auto const& [_, c] : asked) each([&] { c.done(named_why, {}); });
  }
  void again() {
    auto const timer = std::make_shared<asio::steady_timer>(network_->io(), std::chrono::milliseconds(50));
    timer->async_wait([self = shared_from_this(), timer](std::error_code) { self->try_to_connect(); });
  }
  // The end of a connection is the loss of the other process, unless that was refused, or nobody needs it.
  failure named(error const& why) const noexcept try {
    bool const is_loss = why.code() == code::unavailable || why.code() == code::data_loss;
    auto const of = is_loss && why.cause() != cause::derived ? cause::lost : why.cause();
    return as_failure(error({why.code(), of}, text() + ": " + why.message(), why.node()));
  } catch (...) {
    return caught_failure();
  }

  std::shared_ptr<network> network_;
  address const at_;
  device_name const task_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<link> link_;
  bool ready_ = false, connecting_ = false, left_ = false;
  std::size_t in_vain_ = 0;  // attempts
  clock::time_point const first_there_ = deadline_after(network_->options().start_timeout);
  clock::time_point patient_until_ = {};  // a process that is not there yet may still come
  hello_body hello_;
  failure why_;
  std::vector<waiting_message> unsent_;
  std::deque<std::function<void(failure)>> pushes_;  // of which the other side has not said that it has them
  std::map<std::uint64_t, pending> calls_;
};

/// An answer that may be on its way. When it is destroyed, nobody waits for it any more.
class waiting_answer {
 public:
  waiting_answer(std::shared_ptr<peer_connection> from, std::uint64_t call)
      : from_(std::move(from)), call_(call), latest_(deadline_after(from_->options().answer_timeout)) {}
  ~waiting_answer() {
    if (!is_over_) from_->forget(call_);
  }
  waiting_answer(waiting_answer const&) = delete;
  waiting_answer& operator=(waiting_answer const&) = delete;

  /// Returns what takes it, on the network's thread.
  answered taker(std::function<void()> when_answered) const {
    return [o = outcome_, when_answered = std::move(when_answered)](failure why, message got) {
      if (!why && when_answered) when_answered();
      std::lock_guard lock(o->mutex);
      o->is_there = true, o->why = std::move(why), o->got = std::move(got);
      o->came.notify_all();
    };
  }
  message wait() {
    std::unique_lock lock(outcome_->mutex);
    if (!outcome_->came.wait_until(lock, latest_, [&] { return outcome_->is_there; })) {
      auto const most = from_->options().answer_timeout;
      throw error(code::deadline_exceeded,
                  from_->text() + ": it is connected but did not answer within " +
                      std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(most).count()) +
                      " ms (net_options::answer_timeout); it may be compiling, or an observer or a log of its sessions "
                      "may be blocking it");
    }
    is_over_ = true;
    if (outcome_->why) throw error(*outcome_->why);
    return std::move(outcome_->got);
  }

 private:
  struct outcome {
    std::mutex mutex;
    std::condition_variable came;
    bool is_there = false;
    failure why;
    message got;
  };
  std::shared_ptr<peer_connection> from_;
  std::uint64_t const call_;
  std::chrono::steady_clock::time_point const latest_;
  std::shared_ptr<outcome> outcome_ = std::make_shared<outcome>();
  bool is_over_ = false;
};

/// Another process, as this one asks it. Any thread may ask.
class peer {
 public:
  /// `task`: the task that must answer at this address; empty: any process.
  peer(std::shared_ptr<network> n, address at, device_name task)
      : connection_(std::make_shared<peer_connection>(std::move(n), std::move(at), std::move(task))) {}
  ~peer() { connection_->leave(); }
  peer(peer const&) = delete;
  peer& operator=(peer const&) = delete;

  std::uint64_t next_call() { return connection_->calls.fetch_add(1); }
  /// Sends a message that asks for something, under the number of its call.
  void ask(std::uint64_t call, message m, answered done, noted note = {}) {
    connection_->ask(call, std::move(m), std::move(done), std::move(note));
  }
  /// Sends a message that has no answer.
  void tell(message m) { connection_->tell(std::move(m)); }
  /// Sends a value. `done` is called once: when the other side has it, or with why it has not.
  void push(message m, std::function<void(failure)> done) { connection_->push(std::move(m), std::move(done)); }
  /// Another process has become the task: a connection to the one before is closed.
  void replace(std::uint64_t by) { connection_->replace(by); }
  /// Nobody waits for the answer of a call any more.
  void forget(std::uint64_t call) { connection_->forget(call); }
  /// Asks, and returns the answer, which is waited for by another thread than the network's. It throws what the call
  /// fails with, and error(deadline_exceeded) if nothing comes within `net_options::answer_timeout`. The network's
  /// thread calls `when_answered`. If the answer is destroyed before it has come, nobody waits for it any more.
  task_answer<message> ask(std::uint64_t call, message m, std::function<void()> when_answered = {}) {
    auto const it = std::make_shared<waiting_answer>(connection_, call);
    ask(call, std::move(m), it->taker(std::move(when_answered)));
    return task_answer<message>([it] { return it->wait(); });
  }
  /// Asks, and waits for the answer as `ask` says.
  message ask_and_wait(std::uint64_t call, message m) { return ask(call, std::move(m)).get(); }
  /// Begins to connect with the other process, which may come until `deadline`.
  void reach(std::chrono::steady_clock::time_point deadline) { connection_->reach(deadline); }
  /// Returns what the other process said first, and waits until it is there, until `deadline` at the latest.
  hello_body wait_for_hello(std::chrono::steady_clock::time_point deadline) { return connection_->wait(deadline); }
  /// Changes when a connection is made, and when it is lost: what was registered before is gone.
  std::uint64_t connections() const { return connection_->made.load(); }
  /// Returns how long nothing was heard from it, and what that means; empty: it was heard of lately, or nobody has
  /// asked it for anything. On the network's thread.
  std::string silence() const { return connection_->silence(); }
  /// "/job:ps/task:0 (127.0.0.1:7000)".
  std::string text() const { return connection_->text(); }

 private:
  std::shared_ptr<peer_connection> connection_;
};

}  // namespace rill::net
