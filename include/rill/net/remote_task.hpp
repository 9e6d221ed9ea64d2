// A task in another process, as a session sees it.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "rill/base/deadline.hpp"
#include "rill/device/observer.hpp"
#include "rill/net/peers.hpp"
#include "rill/net/share_codec.hpp"
#include "rill/run/plan/stages.hpp"
#include "rill/run/tasks/task.hpp"

namespace rill::net {

/// One run of a share in another process. What comes of it in order, nodes for an observer and lines for the log, is
/// handed to the user's code by a thread that may wait.
class remote_run : public std::enable_shared_from_this<remote_run> {
 public:
  remote_run(std::shared_ptr<peer> at, std::shared_ptr<network> net, share_run with, registered_share::completion done)
      : at_(std::move(at)),
        net_(std::move(net)),
        with_(std::move(with)),
        done_(std::move(done)),
        call_(at_->next_call()),
        reported_(net_->steps().add({.id = with_.id, .step = with_.step, .task = at_->text(), .silence = [at = at_] {
                                       return at->silence();
                                     }})) {}
  ~remote_run() { stop_reporting(); }
  remote_run(remote_run const&) = delete;
  remote_run& operator=(remote_run const&) = delete;

  /// Ends when the step is stopped, from now on.
  void watch() { stops_.emplace(with_.stop, stopping{weak_from_this()}); }
  /// Is told of runs that have ended and that may still fail, until their step has ended: the step and the call.
  using open_run = std::function<void(step_id, std::uint64_t)>;
  /// Asks for the run, unless it was stopped meanwhile.
  void start(std::uint64_t share, open_run open) {
    run_body body{.call = call_,
                  .share = share,
                  .step = with_.id,
                  .oldest = rill::detail::running_steps::here().oldest(),
                  .number = with_.step,
                  .stream = with_.stream,
                  .generation = with_.generation};
    if (with_.deadline) {
      auto const left = *with_.deadline - std::chrono::steady_clock::now();
      body.time_left = std::max<std::int64_t>(0, std::chrono::nanoseconds(left).count());
    }
    body.watched = with_.watch != nullptr;
    body.logged = with_.log != nullptr && *with_.log;
    if (body.watched || body.logged) strand_.emplace(asio::make_strand(net_->work()));
    {
      std::lock_guard lock(mutex_);
      if (state_ == state::ended) return;
      state_ = state::asking;
    }
    at_->ask(
        call_, {.kind = message_kind::run, .body = body_of(body), .tensors = std::exchange(with_.fed, {})},
        [self = shared_from_this()](failure why, message m) {
          self->in_order([self, why = std::move(why), m = std::move(m)]() mutable {
            self->end(std::move(m.tensors), std::move(why));
          });
        },
        [self = shared_from_this(), open = std::move(open)](message const& m) {
          if (m.kind != message_kind::ended) return self->take_note(m);
          open(self->with_.id, self->call_);
          self->in_order([self, results = m.tensors]() mutable { self->end(std::move(results), nullptr); });
        });
    std::unique_lock lock(mutex_);
    if (state_ != state::asking) return;
    state_ = state::asked;
    if (!std::exchange(is_to_stop_, false)) return;
    lock.unlock();
    tell_to_stop();
  }
  /// It has ended, or could not be started.
  void end(std::vector<tensor> results, failure why) {
    bool had_ended = false;
    {
      std::lock_guard lock(mutex_);
      had_ended = std::exchange(state_, state::ended) == state::ended;
    }
    if (had_ended) {
      if (why && with_.failing) with_.failing(std::move(why));  // a value that it has sent is lost
      return;
    }
    stops_.reset();
    stop_reporting();
    if (why && why->cause() == cause::lost) net_->steps().fail_on_wire(with_.id, with_.step, why);
    if (!why) why = std::move(note_failed_);
    std::exchange(done_, {})(std::move(results), std::move(why));
  }

 private:
  enum class state : std::uint8_t { waiting, asking, asked, ended };
  struct stopping {
    std::weak_ptr<remote_run> of;
    void operator()() const {
      if (auto const run = of.lock()) run->stop();
    }
  };

  void stop() {
    std::unique_lock lock(mutex_);
    is_to_stop_ = state_ == state::asking;  // behind the run, or the other side would not know what to stop
    auto const now = state_;
    if (now == state::waiting) state_ = state::ended;
    lock.unlock();
    if (now == state::asked) tell_to_stop();
    else if (now == state::waiting) std::exchange(done_, {})({}, as_failure(step_cancelled()));
  }
  void tell_to_stop() {
    call_body const body{call_};
    at_->tell({.kind = message_kind::stop, .body = body_of(body)});
    auto const timer = std::make_shared<asio::steady_timer>(net_->io(), net_->options().stop_timeout);
    timer->async_wait([mine = weak_from_this(), timer](std::error_code) {
      if (auto const self = mine.lock()) self->abandon();
    });
  }
  // A task whose kernel does not return does not hold up the step, whose end it was told.
  void abandon() {
    std::string words;
    {
      std::lock_guard lock(mutex_);
      if (state_ == state::ended) return;
      words = net_->steps().last_words(*reported_);
    }
    at_->forget(call_);
    auto const why =
        failed(step_cancelled().kind(),
               {step_cancelled().message(), ", and ", at_->text(), " has not ended its share within ",
                seconds_text(net_->options().stop_timeout), words.empty() ? "" : ": it says that it ", words});
    in_order([self = shared_from_this(), why] { self->end({}, why); });
  }
  void stop_reporting() {
    std::lock_guard lock(mutex_);
    if (reported_) net_->steps().remove(*std::exchange(reported_, {}));
  }
  template <class F> void in_order(F f) {
    if (strand_) asio::post(*strand_, std::move(f));
    else f();
  }
  // Reads it on the network's thread, which hangs up if it is no message.
  void take_note(message const& m) {
    if (m.kind == message_kind::print) {
      print_body body;
      read_body(m.body, body);
      return call_user([self = shared_from_this(), line = std::move(body.line)] {
        if (self->with_.log && *self->with_.log) (*self->with_.log)(line);
      });
    }
    if (m.kind == message_kind::status) return take_status(m);
    ran_body body;
    read_body(m.body, body);
    call_user([self = shared_from_this(), body = std::move(body), now = std::chrono::steady_clock::now()] {
      auto const before = [&](std::int64_t n) {
        return now - std::chrono::nanoseconds(std::clamp<std::int64_t>(n, 0, std::int64_t{1} << 60));
      };
      for (auto const& n : body.nodes)
        if (self->with_.watch)
          self->with_.watch->node_ran({n.name, n.operation, body.step, before(n.begin), before(n.end)});
    });
  }
  void take_status(message const& m) {
    status_body body;
    read_body(m.body, body);
    if (body.failed.code != 0 && with_.failing) with_.failing(as_failure(as_error(body.failed)));
    std::lock_guard lock(mutex_);
    if (reported_) net_->steps().take(*reported_, lasting_of(body));
  }
  // What the user's code throws is what the run fails with.
  template <class F> void call_user(F f) {
    in_order([self = shared_from_this(), f = std::move(f)] {
      try {
        f();
      } catch (...) {
        if (!self->note_failed_) self->note_failed_ = caught_failure();
      }
    });
  }

  std::shared_ptr<peer> at_;
  std::shared_ptr<network> net_;
  share_run with_;
  registered_share::completion done_;
  std::uint64_t const call_;
  std::optional<monitor::asked_place> reported_;
  std::optional<asio::strand<asio::thread_pool::executor_type>> strand_;
  failure note_failed_;
  std::mutex mutex_;
  state state_ = state::waiting;
  bool is_to_stop_ = false;
  std::optional<std::stop_callback<stopping>> stops_;
};

/// A share that another process has compiled. If that process was started anew, it compiles it again.
class remote_share final : public registered_share, public std::enable_shared_from_this<remote_share> {
 public:
  remote_share(std::shared_ptr<peer> at, std::shared_ptr<network> net, std::string bytes)
      : at_(std::move(at)), net_(std::move(net)), bytes_(std::move(bytes)), number_(at_->next_call()) {}
  ~remote_share() override {
    share_body const body{number_};
    if (added_.load() == at_->connections()) at_->tell({.kind = message_kind::drop, .body = body_of(body)});
  }

  /// Has it compiled. The answer throws what compiling it throws.
  task_answer<std::shared_ptr<registered_share>> add() {
    auto const call = at_->next_call();
    return at_->ask(call, addition(call), [self = shared_from_this()] { self->is_added(); })
        .then([self = shared_from_this()](message) -> std::shared_ptr<registered_share> { return self; });
  }
  void start(share_run with, completion done) override {
    auto const run = std::make_shared<remote_run>(at_, net_, std::move(with), std::move(done));
    run->watch();
    if (added_.load() == at_->connections()) return run->start(number_, opening());
    auto const call = at_->next_call();
    at_->ask(call, addition(call), [self = shared_from_this(), run](failure why, message) {
      if (why) return run->end({}, std::move(why));
      self->is_added();
      run->start(self->number_, self->opening());
    });
  }
  task_answer<std::string> ask_to_explain(stages which) const override {
    auto const ask = [this, which] {
      explain_body const body{at_->next_call(), number_, static_cast<std::uint32_t>(which)};
      return at_->ask(body.call, {.kind = message_kind::explain, .body = body_of(body)}).then([](message m) {
        print_body text;
        read_body(m.body, text);
        return text.line;
      });
    };
    if (added_.load() == at_->connections()) return ask();
    auto const call = at_->next_call();
    return at_->ask(call, addition(call)).then([ask](message) { return ask().get(); });
  }
  void trim() override {
    share_body const body{number_};
    if (added_.load() == at_->connections()) at_->tell({.kind = message_kind::trim, .body = body_of(body)});
  }
  void ended(step_id id) override {
    std::uint64_t call = 0;
    {
      std::lock_guard lock(mutex_);
      auto const at = open_.find(id.number);
      if (at == open_.end()) return;
      call = open_.extract(at).mapped();
    }
    at_->forget(call);
  }
  void forget(step_id id) override {
    ended(id);
    auto const all = net_->steps().gather(id);
    if (added_.load() != at_->connections()) return;
    if (all) ask_what_moved(id, all);
    forget_body const body{id};
    at_->tell({.kind = message_kind::forget, .body = body_of(body)});
  }

 private:
  void ask_what_moved(step_id id, std::shared_ptr<gathered_movements> const& to) {
    step_body const body{at_->next_call(), id};
    at_->ask(body.call, {.kind = message_kind::moved, .body = body_of(body)},
             [to, task = at_->text()](failure why, message m) {
               if (!why) to->add(task, movements_of(m.body));
             });
  }
  void is_added() { added_ = at_->connections(); }
  remote_run::open_run opening() {
    return [self = shared_from_this()](step_id of, std::uint64_t call) {
      std::lock_guard lock(self->mutex_);
      self->open_.insert_or_assign(of.number, call);
    };
  }
  message addition(std::uint64_t call) const {
    add_body const body{call, number_, bytes_};
    return {.kind = message_kind::add, .body = body_of(body)};
  }

  std::shared_ptr<peer> at_;
  std::shared_ptr<network> net_;
  std::string const bytes_;
  std::uint64_t const number_;
  std::atomic<std::uint64_t> added_ = 0;  // by which of the peer's connections
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> open_;  // calls by step: runs that have ended and may still fail
};

/// A task in another process.
class remote_task final : public task {
 public:
  /// `others`: which it is one of.
  remote_task(device_name name, std::shared_ptr<peers> others)
      : name_(std::move(name)), peers_(std::move(others)), at_(peers_->find(name_)) {}

  device_name const& name() const override { return name_; }
  /// The answer waits until the process is there, for `net_options::start_timeout`.
  task_answer<std::vector<device_name>> ask_devices() const override {
    std::lock_guard lock(mutex_);
    if (!devices_.empty()) return task_answer<std::vector<device_name>>::ready(devices_);
    auto const latest = deadline_after(peers_->net()->options().start_timeout);
    at_->reach(latest);
    return task_answer<std::vector<device_name>>([this, latest] {
      auto there = at_->wait_for_hello(latest).devices;
      std::lock_guard again(mutex_);
      if (devices_.empty()) devices_ = std::move(there);
      return devices_;
    });
  }
  task_answer<std::vector<bool>> ask_values(std::vector<std::string> const& variables) const override {
    values_body const body{at_->next_call(), variables};
    return at_->ask(body.call, {.kind = message_kind::have_values, .body = body_of(body)})
        .then([n = variables.size()](message m) {
          std::uint64_t call = 0;
          std::vector<bool> have;
          read_body(m.body, call, have);
          if (have.size() != n) wire::fail("an answer has other variables than were asked for");
          return have;
        });
  }
  task_answer<std::shared_ptr<registered_share>> ask_to_add(subgraph share, std::vector<type> const& fed,
                                                            share_setting const& how) override {
    return std::make_shared<remote_share>(at_, peers_->net(), share_as_bytes(share, fed, how))->add();
  }

 private:
  device_name const name_;
  std::shared_ptr<peers> peers_;
  std::shared_ptr<peer> at_;
  mutable std::mutex mutex_;
  mutable std::vector<device_name> devices_;  // as they were when it was first there
};

}  // namespace rill::net
