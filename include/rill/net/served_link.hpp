// A connection that another process has made to this one: what it asks for is done here, and answered.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/net/served_task.hpp"
#include "rill/net/share_codec.hpp"
#include "rill/run/plan/stages.hpp"

namespace rill::net {

/// What a connection asks of this process.
class served_link final : public link_handler, public std::enable_shared_from_this<served_link> {
 public:
  /// `who`: who the other side has proved to be.
  served_link(std::shared_ptr<served_task const> of, std::shared_ptr<link> l, identity who)
      : of_(std::move(of)), link_(std::move(l)), proved_(std::move(who)) {}

  void start() {
    link_->start(shared_from_this());
    auto const timer = std::make_shared<asio::steady_timer>(of_->net->io(), of_->net->options().connect_timeout);
    timer->async_wait([mine = weak_from_this(), timer](std::error_code) {
      auto const self = mine.lock();
      if (self && !self->greeted_) self->link_->close(failed(code::unauthenticated, "it did not say who it is"));
    });
  }
  void close(failure why) { link_->close(std::move(why)); }
  /// Whether something that was sent has not left this process.
  bool is_writing() const { return link_->is_writing(); }
  /// Whether it has said who it is.
  bool is_greeted() const { return greeted_; }
  /// Closes the connection if it is of another process that was the same task.
  void replace_by(hello_body const& other) {
    if (!greeted_ || who_.task != other.task || who_.process == other.process) return;
    link_->close(failed(code::unavailable, "another process has taken its place"));
  }
  /// Is called on the network's thread when a process says that it is a task, in the place of another process.
  std::function<void(hello_body const&)> when_replaced;
  /// Is called on the network's thread when the connection has ended.
  std::function<void()> when_closed;

 private:
  struct share {
    coded_share from;
    std::shared_ptr<registered_share> compiled;
  };
  struct run {
    std::stop_source stop;
  };
  struct waiting_pull {
    std::shared_ptr<step_exchange> at;
    edge_key key;
  };
  // A run counts as one until its results have left. `what` keeps the worker alive. The worker's destructor waits for
  // its steps, so none of their threads may drop the last reference.
  struct ending {
    ending(std::shared_ptr<served_link> l, std::uint64_t c, std::shared_ptr<share> w)
        : of(std::move(l)), call(c), what(std::move(w)) {}
    ~ending() {
      auto& io = of->of_->net->io();
      asio::post(io, [of = std::move(of), call = call, what = std::move(what)]() mutable {
        of->runs_.erase(call);
        if (what.use_count() == 1) of->of_->net->let_go(std::move(what));
      });
    }
    ending(ending const&) = delete;
    ending& operator=(ending const&) = delete;
    std::shared_ptr<served_link> of;
    std::uint64_t call;
    std::shared_ptr<share> what;
  };
  // A request of a client counts as one until its answer has left.
  struct held_request {
    held_request(std::shared_ptr<served_link> l, std::uint64_t n) : of(std::move(l)), bytes(n) {
      ++of->requests_;
      of->request_bytes_ += bytes;
    }
    ~held_request() {
      --of->requests_;
      of->request_bytes_ -= bytes;
    }
    held_request(held_request const&) = delete;
    held_request& operator=(held_request const&) = delete;
    std::shared_ptr<served_link> of;
    std::uint64_t bytes;
  };

  bool is_client() const { return who_.task.empty(); }

  void begins(message const& m) override {
    if (m.kind != message_kind::run || !greeted_) return;
    // Registered now, so that a stop that arrives before the run's fed tensors finds it. It counts towards the limit
    // from here on.
    if (!runs_.try_emplace(call_of(m), std::make_shared<run>()).second)
      throw error(code::data_loss, "two runs have one number");
  }
  void came(message m) override {
    if (!greeted_) return greet(m);
    struct unused {  // what nobody takes is freed by another thread, for it may be large
      message& of;
      network& net;
      ~unused() { net.let_go_of(std::move(of.tensors)); }
    } const at_end{m, *of_->net};
    if (is_client() && is_refused(m)) return;
    switch (m.kind) {
      case message_kind::have_values:
        return have_values(std::move(m));
      case message_kind::add:
        return add(std::move(m));
      case message_kind::drop:
        return drop(m);
      case message_kind::run:
        return start_run(m);
      case message_kind::stop:
        return stop(m);
      case message_kind::forget:
        return forget(m);
      case message_kind::moved:
        return moved(m);
      case message_kind::explain:
        return explain(std::move(m));
      case message_kind::trim:
        return trim(m);
      case message_kind::pull:
        return pull(m);
      case message_kind::give_up:
        return give_up(m);
      case message_kind::took:
        return took(m);
      case message_kind::push:
        return push(m);
      case message_kind::refused:
        throw refusal_of(m);
      default:
        throw error(code::data_loss, "it sent an answer to no question");
    }
  }
  void closed(failure why) override {
    told_pushed_.cancel();
    for (auto& [_, r] : runs_) r->stop.request_stop();
    for (auto const& [_, p] : std::exchange(pulls_, {}))
      p.at->forget_ask(p.key, reinterpret_cast<std::uintptr_t>(this));
    {
      std::lock_guard lock(mutex_);
      if (!shares_.empty()) of_->net->let_go(std::exchange(shares_, {}));
    }
    if (greeted_) {
      of_->connected_clients -= is_client();
      auto const named = failed({why->code(), cause::lost}, {name_of_other(), ": ", why->message()});
      of_->steps->drop_master(who_.process, named);
      if (!is_client()) of_->guests.left(who_.task);
    }
    when_replaced = {};
    if (when_closed) std::exchange(when_closed, {})();
  }

  void greet(message const& m) {
    if (m.kind != message_kind::hello) throw error(code::unauthenticated, "it did not say who it is");
    hello_body said;
    try {
      read_body(m.body, said);
      of_->net->check(said);
      check_identity(said);
      if (!said.task.empty() && of_->processes.greet(said.task, said.process)) replace(said);
    } catch (error const& e) {
      link_->send({.kind = message_kind::refused, .body = body_of(as_body(0, e))});
      return link_->close_when_sent(as_failure(e));
    }
    who_ = std::move(said);
    greeted_ = true;
    if (is_client()) trust_client();
    else link_->trust();
    of_->connected_clients += is_client();
    if (!is_client()) of_->guests.came(who_.task);
    of_->steps->add_master(who_.process);
    auto hello = of_->hello;
    if (is_client()) hello.process = 0;  // by which one could pass for this process, and end its steps
    link_->send({.kind = message_kind::hello, .body = body_of(hello)});
  }
  // Clients have limits of their own, and threads apart from those of tasks.
  void trust_client() {
    static constexpr std::uint64_t most_answers = std::uint64_t{1} << 20;
    auto const& most = of_->clients;
    client_ = proved_.name.empty() ? std::to_string(who_.process) : proved_.name;
    link_->use(of_->net->client_reading(), client_);
    link_->trust({.incoming = {.bytes = most.incoming, .share = most.share},
                  .unread = most.outgoing,
                  .unread_when_it_asks = std::min(most.outgoing, most_answers)});
  }
  // Throws what a process is refused for that says it is another than it has proved to be.
  void check_identity(hello_body const& said) {
    if (proved_.is_client && !said.task.empty())
      throw error(code::permission_denied,
                  "'" + proved_.name + "' is a client, and no client is a task of the cluster");
    if (!said.task.empty() && !of_->others->knows(said.task))
      throw error(code::failed_precondition, of_->net->task().text() + " knows no task " + said.task.text() +
                                                 ", or is that task itself: are the tasks of the cluster the same in "
                                                 "all processes?");
    if (said.task.empty() && of_->connected_clients >= of_->clients.connections)
      throw error(code::resource_exhausted, "clients have " + std::to_string(of_->clients.connections) +
                                                " connections to this process already (client_limits::connections)");
  }
  // Whether a client may not ask for this, or for no more of it: tells it so.
  bool is_refused(message const& m) {
    if (m.kind == message_kind::pull || m.kind == message_kind::give_up || m.kind == message_kind::push ||
        m.kind == message_kind::took)
      throw error(code::permission_denied, "values of steps are sent between tasks alone, and it is a client");
    auto const& most = of_->clients;
    std::size_t shares = 0;
    {
      std::lock_guard lock(mutex_);
      shares = shares_.size() + adding_;
    }
    bool const is_request =
        m.kind == message_kind::have_values || m.kind == message_kind::add || m.kind == message_kind::explain;
    auto const* const why = m.kind == message_kind::run && runs_.size() > most.steps       ? "client_limits::steps"
                            : m.kind == message_kind::add && shares >= most.shares         ? "client_limits::shares"
                            : is_request && requests_ >= most.requests                     ? "client_limits::requests"
                            : is_request && request_bytes_ + m.body.size() > most.incoming ? "client_limits::incoming"
                                                                                           : nullptr;
    if (why == nullptr) return false;
    if (m.kind == message_kind::run) runs_.erase(call_of(m));
    fail(call_of(m), error(code::resource_exhausted, std::string("a client may have no more at once (") + why + ")"));
    return true;
  }
  // Steps are those of the process that has made the connection.
  void check_master(step_id const& step) const {
    if (step.master != who_.process) throw error(code::permission_denied, "the step is another process's");
  }
  void replace(hello_body const& by) {
    of_->others->replace(by);
    if (when_replaced) when_replaced(by);
  }
  void have_values(message m) {
    slowly(std::move(m), [](served_link const& of, message const& asking) {
      auto const asked = read_request<values_body>(asking);
      return body_of(asked.call, of.of_->here->have_values(asked.variables));
    });
  }
  void add(message m) {
    ++adding_;
    slowly(std::move(m), [](served_link& of, message const& asking) {
      struct done {
        std::atomic<std::size_t>& adding;
        ~done() { --adding; }
      } const at_end{of.adding_};
      auto const asked = read_request<add_body>(asking);
      operation_registry const allowed = !of.is_client() ? operation_registry(of.of_->task_operations)
                                         : of.of_->clients.operations.empty() ? of.of_->operations
                                                                              : of.of_->clients.operations;
      auto made = std::make_shared<share>();
      made->from = of.read_share(asked.bytes, allowed);
      made->compiled = of.of_->here->add(std::exchange(made->from.nodes, {}), made->from.fed, made->from.how);
      std::lock_guard lock(of.mutex_);
      of.shares_.insert_or_assign(asked.share, std::move(made));
      return body_of(asked.call);
    });
  }
  coded_share read_share(std::string_view bytes, operation_registry allowed) const {
    try {
      return share_from_bytes(bytes, allowed);
    } catch (error const& e) {
      throw error(e.kind(), e.message() + ", on " + of_->here->name().text(), e.node());
    }
  }
  void drop(message const& m) {
    share_body said;
    read_body(m.body, said);
    std::lock_guard lock(mutex_);
    if (auto const at = shares_.find(said.share); at != shares_.end())
      of_->net->let_go(std::move(shares_.extract(at).mapped()));
  }
  std::shared_ptr<share> find(std::uint64_t number) {
    std::lock_guard lock(mutex_);
    if (auto const at = shares_.find(number); at != shares_.end()) return at->second;
    throw error(code::not_found, "no share of a step has this number here");
  }
  void start_run(message& m) {
    run_body asked;
    read_body(m.body, asked);
    check_master(asked.step);
    of_->steps->ended_before({asked.step.master, asked.oldest});
    auto const mine = runs_.at(asked.call);
    ++of_->runs;
    try {
      if (of_->is_to_end)
        throw error({code::unavailable, cause::lost}, "the task " + of_->here->name().text() + " is about to end");
      auto const what = find(asked.share);
      auto begin = [self = shared_from_this(), asked, what, mine, fed = std::move(m.tensors)]() mutable {
        self->start_run(asked, what, mine, std::move(fed));
      };
      if (what->compiled->is_ready()) begin();
      else do_later(std::move(begin));
    } catch (...) {
      ended(asked.call, {}, caught_failure(), nullptr);
    }
  }
  void start_run(run_body const& asked, std::shared_ptr<share> const& what, std::shared_ptr<run> const& mine,
                 std::vector<tensor> fed) {
    try {
      auto const step = of_->steps->find(asked.step);
      if (!step) throw error(*step_table::over());
      step->begin(what->from.how.tasks, mine->stop);
      share_run with{.id = asked.step,
                     .step = asked.number,
                     .stream = asked.stream,
                     .generation = asked.generation,
                     .fed = std::move(fed),
                     .exchange = step,
                     .stop = mine->stop.get_token()};
      if (asked.time_left >= 0) with.deadline = rill::deadline_after(std::chrono::nanoseconds(asked.time_left));
      if (is_client() && of_->clients.step_time.count() > 0) {
        auto const latest = rill::deadline_after(of_->clients.step_time);
        with.deadline = std::min(with.deadline.value_or(latest), latest);
      }
      with.progress = progress_of(asked.number, name_of_other());
      auto const reported = of_->net->steps().add(reported_share(
          with.progress, step, [self = shared_from_this(), call = asked.call, of = with.progress](auto all) {
            self->tell_status(call, all, of->why());
          }));
      auto const watch = asked.watched ? std::make_shared<distant_observer>(link_, asked.call, asked.number) : nullptr;
      with.watch = watch.get();
      auto const log = std::make_shared<log_callback>();
      if (asked.logged)
        *log = [to = link_, call = asked.call](std::string_view line) {
          print_body const body{call, std::string(line.substr(0, print_body::most_bytes))};
          to->send({.kind = message_kind::print, .body = body_of(body)});
        };
      with.log = log.get();
      auto& compiled = *what->compiled;
      try {
        compiled.start(std::move(with), [self = shared_from_this(), what, step, watch, log, reported,
                                         call = asked.call](std::vector<tensor> results, failure why) mutable {
          if (watch) watch->flush();
          auto const end = [self, reported, call, what](std::vector<tensor> all, failure cause, bool is_open) {
            self->of_->net->steps().remove(reported);
            self->ended(call, std::move(all), std::move(cause), what, is_open);
          };
          if (!why) why = bring_to_host(results, self->of_->here->name());
          if (why) return end({}, cause_of(std::move(why), *step), false);
          end_run(*step, std::move(results), end, [self, call](failure lost) {
            if (lost) self->fail(call, *lost);
            --self->of_->runs;
          });
        });
      } catch (...) {
        of_->net->steps().remove(reported);
        throw;
      }
    } catch (...) {
      ended(asked.call, {}, caught_failure(), nullptr);
    }
  }
  std::string name_of_other() const { return who_.task.empty() ? "a client" : who_.task.text(); }
  // `is_open`: whether a failure may follow.
  void ended(std::uint64_t call, std::vector<tensor> results, failure why, std::shared_ptr<share> what,
             bool is_open = false) noexcept {
    auto const kind = is_open ? message_kind::ended : message_kind::answer;
    try {
      auto const until_sent = std::make_shared<ending>(shared_from_this(), call, std::move(what));
      if (why) fail(call, *why, until_sent);
      else send_results(call, {.kind = kind, .body = body_of(call), .tensors = std::move(results)}, until_sent);
    } catch (...) {
      link_->close(caught_failure());
    }
    if (!is_open) --of_->runs;
  }
  // A client that does not read its results gets no more of them, but for small ones.
  void send_results(std::uint64_t call, message m, std::shared_ptr<ending> const& until_sent) {
    if (!is_client()) return link_->send(parcel(std::move(m), until_sent));
    auto const& most = of_->clients;
    parcel p(std::move(m), until_sent);
    if (p.tensor_bytes() <= most.outgoing / std::max<std::size_t>(most.steps, 1)) return link_->send(std::move(p));
    if (link_->send_within(std::move(p), most.outgoing)) return;
    fail(call,
         error(code::resource_exhausted, "the client has not read " + std::to_string(most.outgoing) +
                                             " bytes of results of earlier steps (client_limits::outgoing): run fewer "
                                             "steps with large results at once, or read their results"),
         until_sent);
  }
  void stop(message const& m) {
    call_body said;
    read_body(m.body, said);
    if (auto const at = runs_.find(said.call); at != runs_.end()) at->second->stop.request_stop();
  }
  void forget(message const& m) {
    forget_body said;
    read_body(m.body, said);
    check_master(said.step);
    of_->steps->forget(said.step);
  }
  void moved(message const& m) {
    step_body asked;
    read_body(m.body, asked);
    answer(body_of_movements(asked.call, of_->steps->moved().of(asked.step)));
  }
  void explain(message m) {
    slowly(std::move(m), [](served_link& of, message const& asking) {
      auto const asked = read_request<explain_body>(asking);
      auto const text = of.find(asked.share)->compiled->explain(stages{asked.stages});
      return body_of(print_body{asked.call, text.substr(0, print_body::most_bytes)});
    });
  }
  void trim(message const& m) {
    share_body said;
    read_body(m.body, said);
    std::lock_guard lock(mutex_);
    auto const at = shares_.find(said.share);
    if (at == shares_.end() || (is_client() && requests_ >= of_->clients.requests)) return;  // trim is only a hint
    do_later([what = at->second, held = is_client() ? hold(0) : nullptr] { what->compiled->trim(); });
  }
  void pull(message const& m) {
    pull_body asked;
    read_body(m.body, asked);
    auto const step = of_->steps->find(asked.step);
    if (!step) return fail(asked.call, *step_table::over());
    pulls_[asked.call] = {step, asked.key};
    step->ask(asked.key, reinterpret_cast<std::uintptr_t>(this),
              [self = shared_from_this(), call = asked.call](failure why, tensor value) {
                if (why) self->fail(call, *why);
                else self->send_pulled(call, std::move(value));
                asio::post(self->of_->net->io(), [self, call] { self->pulls_.erase(call); });
              });
  }
  // This may be the network's thread, which does not make one text of strings.
  void send_pulled(std::uint64_t call, tensor value) {
    auto const is_text = value.element() == dtype::string;
    message m{.kind = message_kind::answer, .body = body_of(call), .tensors = {std::move(value)}};
    if (!is_text) return link_->send(std::move(m));
    of_->net->reading()->post(name_of_other(), [self = shared_from_this(), m = std::move(m)]() mutable {
      try {
        self->link_->send(std::move(m));
      } catch (...) {
        self->link_->close(caught_failure());
      }
    });
  }
  void took(message const& m) {
    took_body said;
    read_body(m.body, said);
    if (auto const step = of_->steps->find(said.step)) step->windows()->took(said.edge, said.values);
    answer(body_of(said.call));
  }
  void give_up(message const& m) {
    call_body said;
    read_body(m.body, said);
    auto const at = pulls_.find(said.call);
    if (at == pulls_.end()) return;
    at->second.at->forget_ask(at->second.key, reinterpret_cast<std::uintptr_t>(this));
    pulls_.erase(at);
  }
  void push(message& m) {
    push_body said;
    read_body(m.body, said);
    if (m.tensors.size() != 1) wire::fail("what is pushed is not one value");
    of_->steps->arrive(said.step, said.key, std::move(m.tensors[0]));
    if (++pushed_ == most_pushed) return tell_pushed();
    if (pushed_ != 1) return;
    told_pushed_.expires_after(std::chrono::milliseconds(2));
    told_pushed_.async_wait([self = shared_from_this()](std::error_code e) {
      if (!e) self->tell_pushed();
    });
  }

  void tell_status(std::uint64_t call, std::vector<lasting> const& all, failure why) {
    if (why) {
      auto const where = why->device().empty() ? of_->here->name().text() : why->device();
      why = as_failure(error(why->kind(), why->message() + ", on " + where, why->node()));
    }
    link_->send({.kind = message_kind::status, .body = body_of(as_status(call, all, why))});
  }
  // One answer for all that have come. Nobody waits for it: it tells the sender that it need not report a loss.
  void tell_pushed() {
    if (pushed_ == 0) return;
    call_body const body{std::exchange(pushed_, 0)};
    told_pushed_.cancel();
    link_->send({.kind = message_kind::pushed, .body = body_of(body)});
  }

  void answer(std::string body, std::shared_ptr<void> until_sent = {}) {
    link_->send(parcel({.kind = message_kind::answer, .body = std::move(body)}, std::move(until_sent)));
  }
  void fail(std::uint64_t call, error const& why, std::shared_ptr<void> until_sent = {}) {
    link_->send(parcel({.kind = message_kind::failed, .body = body_of(as_body(call, why))}, std::move(until_sent)));
  }
  std::shared_ptr<held_request> hold(std::uint64_t bytes) {
    return std::make_shared<held_request>(shared_from_this(), bytes);
  }
  // Does what may take long on a thread for that.
  void do_later(std::function<void()> f) {
    if (is_client()) of_->net->client_work().post(client_, std::move(f));
    else asio::post(of_->net->work(), std::move(f));
  }
  // A malformed request closes the connection; a refused one does not.
  struct no_request {
    failure why;
  };
  template <class T> static T read_request(message const& m) try {
    T asked;
    if constexpr (std::same_as<T, values_body>) asked.check_number(m.body);
    read_body(m.body, asked);
    return asked;
  } catch (error const& e) {
    if (e.code() == code::data_loss) throw no_request{as_failure(e)};
    throw;
  }
  // Answers with what `f` returns for a message.
  template <class F> void slowly(message m, F f) {
    auto const call = call_of(m);
    do_later([self = shared_from_this(), call, held = is_client() ? hold(m.body.size()) : nullptr,
              m = std::make_shared<message const>(std::move(m)), f = std::move(f)] {
      try {
        try {
          self->answer(f(*self, *m), held);
        } catch (no_request const& e) {
          self->link_->close(e.why);
        } catch (...) {
          self->fail(call, *caught_failure(), held);
        }
      } catch (...) {  // no memory to say so: the asker hears that the connection has ended
        self->link_->close(caught_failure());
      }
    });
  }

  std::shared_ptr<served_task const> of_;
  std::shared_ptr<link> link_;
  identity const proved_;
  hello_body who_;
  bool greeted_ = false;
  std::string client_;                   // by which it takes turns with other clients
  std::atomic<std::size_t> adding_ = 0;  // shares that are being compiled
  std::atomic<std::size_t> requests_ = 0;
  std::atomic<std::uint64_t> request_bytes_ = 0;
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<share>> shares_;
  // Of the network's thread.
  std::map<std::uint64_t, std::shared_ptr<run>> runs_;
  std::map<std::uint64_t, waiting_pull> pulls_;
  static constexpr std::uint64_t most_pushed = 1024;
  std::uint64_t pushed_ = 0;  // values that have come and of which the sender does not know that
  asio::steady_timer told_pushed_{of_->net->io()};
};

}  // namespace rill::net
