// The values of a step on their way between this task and others.
//
// A small value is pushed: its sender hands it over at once. Any other is pulled: its receiver asks for it, and the
// sender keeps it until then. Whoever loses a value tells the step's master: of one that is pushed that is its sender,
// whose run stays open until the receiver has it or the step has ended.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

#include "rill/net/movements.hpp"
#include "rill/net/peers.hpp"
#include "rill/run/tasks/exchange.hpp"
#include "rill/run/tasks/step_id.hpp"

namespace rill::net {

/// The exchange of one step on one task.
class step_exchange final : public exchange {
 public:
  using pulled = std::function<void(failure, tensor)>;
  using clock = std::chrono::steady_clock;

  /// `moved`: keeps what is sent and received.
  step_exchange(step_id id, std::shared_ptr<peers> others, std::shared_ptr<recent_movements> moved)
      : id_(id), peers_(std::move(others)), moved_(std::move(moved)) {}

  /// Sets the tasks of the session, whose numbers edges have, and what is to be stopped when a value is lost.
  void begin(std::vector<device_name> tasks, std::stop_source stop) {
    std::lock_guard lock(mutex_);
    tasks_ = std::move(tasks);
    stop_ = std::move(stop);
    if (why_) stop_.request_stop();
  }
  /// Returns why it has ended; null: it has not.
  failure why() const {
    std::lock_guard lock(mutex_);
    return why_;
  }

  void send(cut_edge const& edge, std::uint64_t path, tensor value) override {
    edge_key const key{edge.number, path};
    if (edge.pushed) {
      push_body const body{id_, key};
      auto const to = begin_push(edge);
      if (!to) return;  // nobody waits for it any more
      note(movement_kind::sent, key, edge.peer, value.bytes());
      to->push({.kind = message_kind::push, .body = body_of(body), .tensors = {std::move(value)}},
               [self = std::static_pointer_cast<step_exchange>(shared_from_this()), edge, key](failure why) {
                 if (!why) self->note(movement_kind::acknowledged, key, edge.peer);
                 self->end_push(std::move(why));
               });
      return;
    }
    pulled waiting;
    {
      std::lock_guard lock(mutex_);
      if (why_) return;
      if (auto const at = pulls_.find(key); at != pulls_.end()) waiting = std::move(pulls_.extract(at).mapped().then);
      else kept_.emplace(key, std::move(value));
    }
    if (!waiting) return;
    note(movement_kind::sent, key, edge.peer, value.bytes());
    waiting(nullptr, std::move(value));
  }
  bool copies() const override { return true; }
  std::optional<tensor> try_receive(edge_key key) override {
    std::lock_guard lock(mutex_);
    return take(arrived_, key);
  }
  void took(cut_edge const& e) override {
    std::unique_lock lock(mutex_);
    auto const n = taken_.took(e.number, e.window);
    if (n == 0 || why_) return;
    auto const to = find_locked(e);
    lock.unlock();
    took_body const body{to->next_call(), id_, e.number, n};
    to->ask(body.call, {.kind = message_kind::took, .body = body_of(body)},
            [self = std::static_pointer_cast<step_exchange>(shared_from_this())](failure why, message const&) {
              if (why) self->end(std::move(why));  // the sender would wait for ever
            });
  }
  void receive(std::shared_ptr<receive_request> const& r) override {
    auto const key = r->key();
    std::unique_lock lock(mutex_);
    auto why = why_;
    if (auto came = take(arrived_, key)) {
      lock.unlock();
      r->came = std::move(*came);
      return r->finished(*r, nullptr);
    }
    if (why) {
      lock.unlock();
      return r->finished(*r, why);
    }
    auto const from = r->edge.pushed ? nullptr : find_locked(r->edge);
    auto const call = from ? from->next_call() : 0;
    requests_.emplace(key, request{r, from, call, clock::now()});
    lock.unlock();
    if (from) note(movement_kind::asked_for, key, r->edge.peer);
    if (from) try {
        pull(*from, call, key);
      } catch (...) {
        fail(key, caught_failure());
      }
  }
  void give_up(receive_request const& wanted, failure why) override {
    std::unique_lock lock(mutex_);
    auto const at = requests_.find(wanted.key());
    if (at == requests_.end() || at->second.of.get() != &wanted) return;
    auto const mine = std::move(requests_.extract(at).mapped());
    lock.unlock();
    withdraw(mine);
    mine.of->finished(*mine.of, std::move(why));
  }
  /// Calls `then` when all values that were pushed have come, with null, or with why one has not. Calls `meanwhile`
  /// before, if that is not known yet.
  void when_delivered(std::function<void()> const& meanwhile, std::function<void(failure)> then) {
    std::unique_lock lock(mutex_);
    if (pushing_ > 0) {
      lock.unlock();
      meanwhile();
      lock.lock();
    }
    if (pushing_ > 0) {
      delivered_ = std::move(then);
      return;
    }
    auto const why = why_;
    lock.unlock();
    then(why);
  }

  /// A value has come from another task.
  void arrive(edge_key key, tensor value) {
    std::unique_lock lock(mutex_);
    if (why_) return;
    auto const at = requests_.find(key);
    note_locked(movement_kind::received, key, at == requests_.end() ? no_task : at->second.of->edge.peer,
                value.bytes());
    if (at == requests_.end()) {
      arrived_.emplace(key, std::move(value));
      return;
    }
    auto const mine = std::move(requests_.extract(at).mapped());
    lock.unlock();
    mine.of->came = std::move(value);
    mine.of->finished(*mine.of, nullptr);
  }
  /// Another task asks for a value, under a number: hands it over when it is there.
  void ask(edge_key key, std::uint64_t by, pulled then) {
    std::unique_lock lock(mutex_);
    auto const why = why_;
    auto value = take(kept_, key);
    if (!why && !value) {
      pulls_.insert_or_assign(key, waiting_pull{by, std::move(then)});
      return;
    }
    if (value) note_locked(movement_kind::sent, key, no_task, value->bytes());
    lock.unlock();
    then(value ? nullptr : why, value ? std::move(*value) : tensor());
  }
  void forget_ask(edge_key key, std::uint64_t by) {
    std::lock_guard lock(mutex_);
    if (auto const at = pulls_.find(key); at != pulls_.end() && at->second.by == by) pulls_.erase(at);
  }

  /// Returns what has been waited for here for at least `least`, as far as that is not too much to tell. On the
  /// network's thread.
  std::vector<lasting> sample(clock::time_point now, std::chrono::nanoseconds least) const {
    std::vector<lasting> all;
    std::lock_guard lock(mutex_);
    for (auto const& [key, r] : requests_)
      if (now - r.since >= least && all.size() < most_told) all.push_back({waits_for(key, *r.of), now - r.since});
    return all;
  }
  /// Ends the exchange: whoever waits fails for this reason, and what was kept is let go.
  void end(failure why) {
    std::map<edge_key, request> requests;
    std::map<edge_key, waiting_pull> pulls;
    std::map<edge_key, tensor> kept, arrived;
    std::stop_source stop{std::nostopstate};
    {
      std::lock_guard lock(mutex_);
      if (why_) return;
      why_ = why;
      requests.swap(requests_), pulls.swap(pulls_), kept.swap(kept_), arrived.swap(arrived_);
      stop = stop_;
    }
    stop.request_stop();
    windows()->end(why);
    std::vector<tensor> gone;
    for (auto* const all : {&kept, &arrived})
      for (auto& [_, value] : *all) gone.push_back(std::move(value));
    if (!gone.empty()) peers_->net()->let_go_of(std::move(gone));
    for (auto const& [_, p] : pulls) p.then(why, {});
    for (auto const& [_, r] : requests) {
      withdraw(r);
      r.of->finished(*r.of, why);
    }
  }

 private:
  struct request {
    std::shared_ptr<receive_request> of;
    std::shared_ptr<peer> from;  // whom it was asked for; null: it is pushed
    std::uint64_t call = 0;
    clock::time_point since;
  };
  struct waiting_pull {
    std::uint64_t by;
    pulled then;
  };

  static constexpr std::size_t most_told = 8;
  static constexpr std::uint32_t no_task = UINT32_MAX;  // it is not known which

  void note(movement_kind kind, edge_key key, std::uint32_t peer, std::uint64_t bytes = 0) const {
    std::lock_guard lock(mutex_);
    note_locked(kind, key, peer, bytes);
  }
  void note_locked(movement_kind kind, edge_key key, std::uint32_t peer, std::uint64_t bytes) const {
    moved_->add({.step = id_,
                 .key = key,
                 .kind = kind,
                 .peer = peer < tasks_.size() ? tasks_[peer] : device_name(),
                 .bytes = bytes});
  }

  // "'receive y' waits for edge 3 (path 0) from /job:ps/task:0".
  std::string waits_for(edge_key key, receive_request const& r) const {
    auto const known = r.edge.peer < tasks_.size();
    auto const from = known ? tasks_[r.edge.peer].text() : "a task";
    auto const silence = known ? peers_->silence(tasks_[r.edge.peer]) : "";
    return "'" + (r.node ? *r.node : "") + "' waits for a value of " + from + " (edge " + std::to_string(key.edge) +
           ", path " + std::to_string(key.path) + ")" + (silence.empty() ? "" : ": " + silence);
  }
  static std::optional<tensor> take(std::map<edge_key, tensor>& from, edge_key key) {
    auto const at = from.find(key);
    if (at == from.end()) return {};
    return std::move(from.extract(at).mapped());
  }
  std::shared_ptr<peer> begin_push(cut_edge const& e) {
    std::lock_guard lock(mutex_);
    if (why_) return nullptr;
    auto const to = find_locked(e);
    ++pushing_;
    return to;
  }
  void end_push(failure why) {
    if (why) end(std::move(why));
    std::function<void(failure)> then;
    {
      std::lock_guard lock(mutex_);
      if (--pushing_ == 0) then = std::exchange(delivered_, {});
      why = why_;
    }
    if (then) then(why);
  }
  // The other task need not send what this one has asked it for.
  static void withdraw(request const& r) {
    if (!r.from) return;
    r.from->forget(r.call);
    call_body const body{r.call};
    r.from->tell({.kind = message_kind::give_up, .body = body_of(body)});
  }
  std::shared_ptr<peer> find_locked(cut_edge const& e) const {
    if (e.peer >= tasks_.size()) throw error(code::data_loss, "an edge of a share leads to a task that is not there");
    return peers_->find(tasks_[e.peer]);
  }
  void pull(peer& from, std::uint64_t call, edge_key key) {
    pull_body const body{call, id_, key};
    from.ask(call, {.kind = message_kind::pull, .body = body_of(body)},
             [self = std::static_pointer_cast<step_exchange>(shared_from_this()), key](failure why, message m) {
               if (!why && m.tensors.size() != 1)
                 why = failed({code::data_loss, cause::lost}, "an answer has no value");
               if (why) self->fail(key, std::move(why));
               else self->arrive(key, std::move(m.tensors[0]));
             });
  }
  void fail(edge_key key, failure why) {
    std::unique_lock lock(mutex_);
    auto const at = requests_.find(key);
    if (at == requests_.end()) return;
    auto const mine = std::move(requests_.extract(at).mapped());
    lock.unlock();
    mine.of->finished(*mine.of, std::move(why));
  }

  step_id const id_;
  std::shared_ptr<peers> const peers_;
  std::shared_ptr<recent_movements> const moved_;
  mutable std::mutex mutex_;
  std::vector<device_name> tasks_;
  std::stop_source stop_{std::nostopstate};
  std::map<edge_key, tensor> kept_;     // to be pulled
  std::map<edge_key, tensor> arrived_;  // to be received
  std::map<edge_key, waiting_pull> pulls_;
  std::map<edge_key, request> requests_;
  taken_counts taken_;
  std::size_t pushing_ = 0;  // values of which the receiver has not said that it has them
  std::function<void(failure)> delivered_;
  failure why_;
};

/// The steps that a task takes part in, by their masters. A neighbour's values may arrive before their master has
/// connected or after it has left. Values for an absent master are dropped after `patience`, or earlier if they exceed
/// a limit.
class step_table : public std::enable_shared_from_this<step_table> {
 public:
  using clock = std::chrono::steady_clock;
  /// The most absent masters that are remembered, and the most bytes of values that have come for these.
  static constexpr std::size_t most_absent = 1000;
  static constexpr std::uint64_t most_absent_bytes = std::uint64_t{256} << 20;
  /// The most steps of a master that are known to have failed before anything of them has come.
  static constexpr std::size_t most_steps = 10'000;

  explicit step_table(std::shared_ptr<peers> others) : peers_(std::move(others)) {}

  /// A process may be the master of steps from now on. It may have several connections.
  void add_master(std::uint64_t process) {
    std::lock_guard lock(mutex_);
    auto const [at, fresh] = masters_.try_emplace(process);
    auto& m = at->second;
    absent_ -= !fresh && m.connections == 0;
    ++m.connections;
    absent_bytes_ -= std::exchange(m.absent_bytes, 0);
  }
  /// A connection of a master was lost. Its steps end if that was the last.
  void drop_master(std::uint64_t process, failure const& why) {
    ended_steps gone;
    {
      std::lock_guard lock(mutex_);
      auto const at = masters_.find(process);
      if (at == masters_.end() || at->second.connections == 0 || --at->second.connections != 0) return;
      ++absent_;
      at->second.since = clock::now();
      end_steps(at->second, gone);  // others may still send values for these
      limit_absent(gone);
    }
    end(gone, why);
  }
  /// Returns the exchange of a step, which may not have begun here; null if it has ended.
  std::shared_ptr<step_exchange> find(step_id id) {
    ended_steps gone;
    std::shared_ptr<step_exchange> step;
    {
      std::lock_guard lock(mutex_);
      step = find_locked(id);
      limit_absent(gone);
    }
    end(gone, absent());
    return step;
  }
  /// A value has come from another task.
  void arrive(step_id id, edge_key key, tensor value) {
    ended_steps gone;
    std::shared_ptr<step_exchange> step;
    {
      std::lock_guard lock(mutex_);
      step = find_locked(id);
      if (!step) return;
      auto& m = masters_.at(id.master);
      if (m.connections == 0) {
        m.absent_bytes += value.bytes();
        absent_bytes_ += value.bytes();
        limit_absent(gone);
      }
    }
    step->arrive(key, std::move(value));
    end(gone, absent());
  }
  /// All steps of a master with lower numbers have ended.
  void ended_before(step_id oldest) {
    ended_steps gone;
    {
      std::lock_guard lock(mutex_);
      auto const at = masters_.find(oldest.master);
      if (at == masters_.end() || oldest.number <= at->second.oldest) return;
      at->second.oldest = oldest.number;
      auto& steps = at->second.steps;
      for (auto s = steps.begin(); s != steps.end() && s->first < oldest.number; s = steps.erase(s))
        gone.push_back(std::move(s->second));
    }
    end(gone, over());
  }
  /// A step has failed and ended on all tasks.
  void forget(step_id id) {
    std::shared_ptr<step_exchange> step;
    {
      std::lock_guard lock(mutex_);
      auto const at = masters_.find(id.master);
      if (at == masters_.end()) return;
      if (at->second.steps.contains(id.number) || at->second.steps.size() < most_steps) step = find_locked(id);
    }
    if (step) step->end(over());
  }
  /// Lets go of what has come for masters that were not there before `latest`, and are not there now. Is done after
  /// `patience` by itself.
  void forget_absent(clock::time_point latest) {
    ended_steps gone;
    {
      std::lock_guard lock(mutex_);
      drop_absent(latest, gone);
    }
    end(gone, absent());
  }
  /// The number of steps that have begun here and of which nobody has said that they have ended.
  std::size_t size() const {
    std::lock_guard lock(mutex_);
    std::size_t n = 0;
    for (auto const& [_, m] : masters_) n += m.steps.size();
    return n;
  }
  /// The number of connected and remembered masters.
  std::size_t masters() const {
    std::lock_guard lock(mutex_);
    return masters_.size();
  }

  /// What this task has sent and received last.
  recent_movements const& moved() const { return *moved_; }

  static failure over() { return failed({code::aborted, cause::derived}, "the step has ended"); }

 private:
  using ended_steps = std::vector<std::shared_ptr<step_exchange>>;
  struct master {
    clock::time_point since = clock::now();  // it is not there, or steps come while it is not
    std::size_t connections = 0;
    std::uint64_t oldest = 0;
    std::map<std::uint64_t, std::shared_ptr<step_exchange>> steps = {};
    std::uint64_t absent_bytes = 0;  // of values that came while it was not there
  };

  static failure absent() {
    return failed({code::unavailable, cause::lost},
                  {"the process that has begun the step is not connected to this one"});
  }
  // Until then a master may still connect, or a task may not know yet that it has left.
  std::chrono::nanoseconds patience() const {
    auto const& o = peers_->net()->options();
    return o.silence + 2 * o.connect_timeout;
  }
  std::shared_ptr<step_exchange> find_locked(step_id id) {
    auto const [at, fresh] = masters_.try_emplace(id.master);
    absent_ += fresh;
    auto& m = at->second;
    if (id.number < m.oldest) return nullptr;
    if (m.connections == 0) {
      if (m.steps.empty()) m.since = clock::now();
      look_later();
    }
    auto& step = m.steps[id.number];
    if (!step) step = std::make_shared<step_exchange>(id, peers_, moved_);
    return step;
  }
  // Ends all steps of a master: what comes for them later is dropped.
  void end_steps(master& m, ended_steps& gone) {
    if (!m.steps.empty()) m.oldest = std::max(m.oldest, m.steps.rbegin()->first + 1);
    for (auto& [_, s] : m.steps) gone.push_back(std::move(s));
    m.steps.clear();
    absent_bytes_ -= std::exchange(m.absent_bytes, 0);
  }
  // Ends the steps of masters absent since before `latest`; if there are too many, forgets those absent the longest.
  void drop_absent(clock::time_point latest, ended_steps& gone) {
    std::vector<std::pair<clock::time_point, std::uint64_t>> all;
    for (auto& [process, m] : masters_) {
      if (m.connections > 0) continue;
      if (m.since < latest) end_steps(m, gone);
      all.emplace_back(m.since, process);
    }
    if (!is_too_much()) return;
    std::ranges::sort(all);
    for (auto const& [_, process] : all) {
      if (absent_ <= most_absent / 2 && absent_bytes_ <= most_absent_bytes) break;
      end_steps(masters_.at(process), gone);
      if (absent_ > most_absent / 2) absent_ -= masters_.erase(process);
    }
  }
  bool is_too_much() const { return absent_ > most_absent || absent_bytes_ > most_absent_bytes; }
  void limit_absent(ended_steps& gone) {
    if (is_too_much()) drop_absent(clock::now() - patience(), gone);
  }
  static void end(ended_steps const& gone, failure const& why) {
    for (auto const& x : gone) x->end(why);
  }
  // The caller holds the lock.
  void look_later() {
    auto const mine = weak_from_this();
    if (mine.expired() || std::exchange(looks_, true)) return;
    auto& io = peers_->net()->io();
    asio::post(io, [&io, mine, after = patience()] {  // its thread alone uses the timer
      auto const timer = std::make_shared<asio::steady_timer>(io, after + std::chrono::milliseconds(1));
      timer->async_wait([mine, timer](std::error_code) {
        if (auto const self = mine.lock()) self->look();
      });
    });
  }
  void look() {
    ended_steps gone;
    {
      std::lock_guard lock(mutex_);
      drop_absent(clock::now() - patience(), gone);
      looks_ = false;
      if (std::ranges::any_of(masters_,
                              [](auto const& m) { return m.second.connections == 0 && !m.second.steps.empty(); }))
        look_later();
    }
    end(gone, absent());
  }

  std::shared_ptr<peers> const peers_;
  std::shared_ptr<recent_movements> const moved_ = std::make_shared<recent_movements>();
  mutable std::mutex mutex_;
  std::map<std::uint64_t, master> masters_;
  std::size_t absent_ = 0;  // masters that are not there
  std::uint64_t absent_bytes_ = 0;
  bool looks_ = false;  // whether a timer runs
};

}  // namespace rill::net
