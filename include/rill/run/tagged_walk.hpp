// The tagged gear (EuroSys'18 §4.3): tokens of a value, dead or not, and a tag, which is an iteration of a frame within
// an iteration of the frame around it. Iterations run at once as far as their tokens come; each has memory of its own,
// which is used again when it is done.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rill/run/activation.hpp"
#include "rill/run/frames.hpp"

namespace rill {

#if RILL_RUNTIME
namespace detail {

/// One run of a tagged plan at a time. Whoever works on it holds its lock, but for kernels that take long.
class tagged_walk : public std::enable_shared_from_this<tagged_walk> {
 public:
  tagged_walk(std::shared_ptr<tagged_plan const> p, std::size_t references)
      : plan_(std::move(p)),
        references_(references),
        room_for_(plan_->source.part.size(), 8),
        idle_(plan_->frames.size()),
        idle_frames_(plan_->frames.size()) {}

  /// Begins; `call.later` is told when it has ended, perhaps before this returns.
  void start(kernel_call const& call) {
    auto const self = shared_from_this();
    {
      std::unique_lock lock(mutex_);
      self_ = self;
      call_.emplace(call);
      later_ = call.later;
      may_end_ = call.step.can_end_early();
      watched_ = call.step.watch != nullptr;  // whom nobody calls under a lock
      ended_ = false;
      failure_ = nullptr;
      met_nowhere_ = false;
      auto const run = ++run_;
      later_->on_give_up([self, run](failure why) { self->give_up(run, std::move(why)); });
      guarded([&] { begin(); });
    }
    work();
  }

  /// Does what there is to do.
  void work() {
    auto const self = shared_from_this();
    std::unique_lock lock(mutex_, std::defer_lock);
    acquire(lock);
    if (offered_ != 0) --offered_;
    go_on(lock);
  }

 private:
  using act = tagged_plan::act;
  using station = tagged_plan::station;
  static constexpr auto none = tagged_plan::none;

  struct frame_run;
  struct iteration {
    explicit iteration(plan const& p) : memory(p) {}
    activation memory;
    step_context step;
    bool used = false;  // in this run
    frame_run* frame = nullptr;
    std::int64_t index = 0;
    std::size_t outstanding = 0;       // tokens that are being worked on, and frames within
    std::vector<std::uint32_t> waits;  // of each station: tokens still to come
    std::vector<std::uint8_t> state;   // of each station
  };
  enum : std::uint8_t { dead = 1, fired = 2 };
  struct token {
    iteration* at;
    std::uint32_t station;
    bool live;
  };
  struct frame_run {
    std::uint32_t of = 0;
    iteration* outer = nullptr;
    std::deque<iteration*> live;  // oldest first
    std::int64_t next = 0;        // index of the next iteration
    std::uint32_t arrived = 0;    // tokens that entered
    bool dead = false;            // one of them was
    enum class came : std::uint8_t { not_yet, alive, dead };
    std::vector<std::pair<void*, came>> constants;               // and where they lie
    std::vector<std::pair<iteration*, std::uint32_t>> deferred;  // tokens for an iteration that can't begin yet
    std::vector<std::uint8_t> left;                              // of the stations that leave: whether a token has
    std::vector<std::int64_t> counts;                            // and how many
    struct rows {
      tensor all;
      std::int64_t room = 0, end = 0;
    };
    std::vector<rows> made;
  };
  struct pending final : continuation {
    pending(tagged_walk& w, token t, std::chrono::steady_clock::time_point b) : walk(w), at(t), begin(b) {}
    void resume(failure why) noexcept override { walk.resume(*this, std::move(why)); }
    void offer(std::function<void()> f) override { walk.later_->offer(std::move(f)); }
    auto& give_up() { return give_up_; }
    tagged_walk& walk;
    token at;
    std::chrono::steady_clock::time_point begin;
    enum { called, asleep, resumed, done } state = called;
    failure cause;
  };

  tagged_plan::frame const& frame_of(iteration const& i) const { return plan_->frames[i.frame->of]; }
  void* read(iteration const& i, std::uint32_t kept) const { return i.memory.kept(kept); }

  // Begin and end.
  void begin() {
    auto* const outermost = new_frame(0, nullptr);
    auto* const first = new_iteration(*outermost);
    for (std::size_t k = references_; k < call_->inputs; ++k)
      first->memory.argument(k - references_, const_cast<void*>(call_->in(k)));
    first->outstanding = 1;
    for (auto s : plan_->frames[0].sources) push(*first, s, true);
    --first->outstanding;
    root_ = first;
    root_done_ = first->outstanding == 0;
  }
  bool over() const { return running_ == 0 && (failure_ || root_done_); }

  // Hands the results over, or the failure. Nothing of this may be touched after it.
  void conclude(std::unique_lock<std::mutex>& lock) {
    if (ended_ || !over()) return lock.unlock();
    ended_ = true;
    if (!failure_) try {
        hand_over();
      } catch (...) {
        failure_ = caught_failure();
      }
    auto why = std::move(failure_);
    reset();
    auto* const later = later_;
    auto const self = std::move(self_);
    lock.unlock();
    later->resume(std::move(why));
  }
  void hand_over() {
    for (std::size_t o = 0; o < plan_->outputs.size(); ++o) {
      auto const from = plan_->from[o];
      if (from != none && is_dead(from, plan_->ports[o]))
        throw error(code::failed_precondition, "its value is dead: the branch that makes it was not taken",
                    plan_->source.part[plan_->source.part.outputs[o].node].name);
      auto const& t = plan_->output_types[o];
      if (!t.is_known()) {
        call_->give(o, root_->memory.kept_tensor(plan_->outputs[o]));
        continue;
      }
      void* to = nullptr;
      if (call_->owned) {
        tensor made(t.element, t.shape(), *plan_->memory);
        to = made.mutable_raw();
        call_->give(o, std::move(made));
      } else to = call_->out(o);
      auto const* const at = read(*root_, plan_->outputs[o]);
      if (t.element == dtype::string) {
        auto const count = static_cast<std::size_t>(elements(t.shape()));
        std::copy_n(static_cast<std::string const*>(at), count, static_cast<std::string*>(to));
      } else if (auto const bytes = static_cast<std::size_t>(elements(t.shape())) * size_of(t.element); bytes != 0)
        std::memcpy(to, at, bytes);
    }
  }
  bool is_dead(std::uint32_t s, std::uint8_t port) const {
    if ((root_->state[s] & fired) == 0 || (root_->state[s] & dead) != 0) return true;
    auto const& st = plan_->frames[0].stations[s];
    return st.what == act::choose && port < 2 && *static_cast<bool const*>(read(*root_, st.read)) != (port == 1);
  }
  void reset() {
    ready_.clear(), slow_.clear();
    pending_.clear(), inner_.clear();
    call_.reset();
    for (std::size_t f = 0; f < idle_.size(); ++f) idle_[f].clear(), idle_frames_[f].clear();
    offered_ = 0;
    for (auto& i : iterations_) {
      i.memory.release();
      i.step = {};
      i.used = false;
      idle_[i.frame->of].push_back(&i);
    }
    for (auto& f : frame_runs_) idle_frames_[f.of].push_back(&f);
  }

  // Frames and iterations.
  frame_run* new_frame(std::uint32_t of, iteration* outer) {
    frame_run* made;
    auto const& f = plan_->frames[of];
    if (idle_frames_[of].empty()) made = &frame_runs_.emplace_back();
    else made = idle_frames_[of].back(), idle_frames_[of].pop_back();
    made->of = of;
    made->outer = outer;
    made->live.clear();
    made->next = 0;
    made->arrived = 0;
    made->dead = false;
    made->constants.assign(f.constants, {});
    made->deferred.clear();
    made->left.assign(f.leaving.size(), 0);
    made->counts.assign(f.leaving.size(), 0);
    made->made.clear();
    made->made.resize(f.leaving.size());
    if (outer) ++outer->outstanding, inner_.push_back(made);
    return made;
  }
  iteration* new_iteration(frame_run& of) {
    auto const& f = plan_->frames[of.of];
    iteration* made;
    if (idle_[of.of].empty()) made = &iterations_.emplace_back(*f.plan);
    else made = idle_[of.of].back(), idle_[of.of].pop_back();
    if (!made->used) made->step = call_->step;
    made->used = true;
    made->frame = &of;
    made->index = of.next++;
    made->step.stream = of.outer ? of.outer->step.stream : call_->step.stream;
    made->step.iteration = of.outer ? made->index : call_->step.iteration;
    made->outstanding = 0;
    made->waits = f.counts;
    made->state.assign(f.stations.size(), 0);
    of.live.push_back(made);
    if (!of.outer) return made;
    for (std::uint32_t s = 0; s < f.stations.size() && f.constants != 0; ++s)
      if (auto const& st = f.stations[s];
          st.arrival && st.constant && of.constants[st.number].second != frame_run::came::not_yet)
        arrive_constant(*made, s, st);
    return made;
  }
  void arrive_constant(iteration& i, std::uint32_t s, station const& st) {
    auto const [at, came] = i.frame->constants[st.number];
    if (at) i.memory.argument(st.instruction, at);
    push(i, s, came == frame_run::came::alive);
  }
  frame_run& frame_within(iteration& i, std::uint32_t of) {
    for (auto* f : inner_)
      if (f->outer == &i && f->of == of) return *f;
    auto* const made = new_frame(of, &i);
    new_iteration(*made);
    return *made;
  }
  void recycle(iteration& i) {
    i.memory.release();
    idle_[i.frame->of].push_back(&i);
  }

  // Iterations that are done make room for the next; a frame that is done tells the iteration around it.
  void settle(iteration* i) {
    while (i && !failure_) {
      auto& f = *i->frame;
      if (!f.outer) {
        root_done_ = i->outstanding == 0;
        return;
      }
      auto const entering = plan_->frames[f.of].enters;
      while (!f.live.empty() && f.live.front()->outstanding == 0 && f.arrived == entering) {
        auto* const done = f.live.front();
        f.live.pop_front();
        if (!f.deferred.empty()) {
          auto* const next = new_iteration(f);
          for (auto [from, s] : std::exchange(f.deferred, {})) hand_on(*from, s, *next);
        }
        recycle(*done);
      }
      if (!f.live.empty()) return;
      auto* const outer = f.outer;
      leave(f);
      inner_.erase(std::find(inner_.begin(), inner_.end(), &f));
      idle_frames_[f.of].push_back(&f);
      --outer->outstanding;
      i = outer;
    }
  }
  // What a frame that is done still owes the one around it: rows, counts, and that what has not left is dead.
  void leave(frame_run& f) {
    auto const& stations = plan_->frames[f.of].stations;
    for (std::size_t k = 0; k < f.left.size(); ++k) {
      auto const& st = stations[plan_->frames[f.of].leaving[k]];
      auto& there = *f.outer;
      if (st.what == act::exit) {
        if (!f.left[k]) push(there, st.partner, false);
        continue;
      }
      auto const& to = plan_->frames[st.frame].stations[st.partner];
      if (!f.dead && st.what == act::count)
        *static_cast<std::int64_t*>(there.memory.output(to.instruction)) = f.counts[k];
      if (!f.dead && st.what == act::collect && there.memory.brings(to.instruction)) {
        auto& rows = f.made[k];
        if (!rows.all) make_room(rows, st, 0);
        room_for_[st.node] = rows.end;
        there.memory.bring(to.instruction, rows.all.rows(0, rows.end));
      }
      push(there, st.partner, !f.dead);
    }
  }

  // Tokens.
  void push(iteration& i, std::uint32_t s, bool live) {
    ++i.outstanding;
    auto const& st = frame_of(i).stations[s];
    i.state[s] = static_cast<std::uint8_t>(fired | (live ? 0 : dead));
    bool const slow = st.what == act::call_out || st.waits || (watched_ && st.what == act::call);
    if (live && slow) slow_.push_back({&i, s, live});
    else ready_.push_back({&i, s, live});
  }
  // What station s handed on comes to those who wait for it.
  void pass_on(iteration& i, std::uint32_t s, bool live, std::uint8_t chosen = 2) {
    auto const& f = frame_of(i);
    auto const& st = f.stations[s];
    for (auto k = st.first; k < st.end; ++k) {
      auto const& e = f.edges[k];
      bool const comes = live && (e.port == 2 || e.port == chosen);
      auto& waits = i.waits[e.to];
      if (f.stations[e.to].what == act::merge) {
        --waits;
        if ((i.state[e.to] & fired) != 0) continue;
        if (comes) merge(i, e.to, read(i, f.merge_reads[f.merge_first[e.to] + e.input]), e.input);
        else if (waits == 0) push(i, e.to, false);
        continue;
      }
      if (!comes) i.state[e.to] |= dead;
      if (--waits == 0) push(i, e.to, (i.state[e.to] & dead) == 0);
    }
  }
  void merge(iteration& i, std::uint32_t s, void const* from, std::uint32_t which) {
    auto const& st = frame_of(i).stations[s];
    if (st.bytes != 0) std::memcpy(i.memory.output(st.instruction), from, st.bytes);
    *static_cast<std::int32_t*>(i.memory.output(st.instruction, 1)) = static_cast<std::int32_t>(which);
    push(i, s, true);
  }
  // A token of `from` comes to the merge of the next iteration.
  void hand_on(iteration const& from, std::uint32_t s, iteration& to) {
    auto const& st = frame_of(from).stations[s];
    if ((to.state[st.partner] & fired) == 0) merge(to, st.partner, read(from, st.read), 1);
  }

  void enter(iteration& i, station const& st, bool live) {
    auto& f = frame_within(i, st.frame);
    auto* const at = live ? read(i, st.read) : nullptr;
    ++f.arrived;
    f.dead = f.dead || !live;
    auto const& to = plan_->frames[st.frame].stations[st.partner];
    if (st.constant) {
      f.constants[st.number] = {at, live ? frame_run::came::alive : frame_run::came::dead};
      for (auto* each : f.live) arrive_constant(*each, st.partner, to);
    } else {
      auto& first = *f.live.front();
      if (at) first.memory.argument(to.instruction, at);
      push(first, st.partner, live);
    }
    settle(f.live.front());
  }
  void next(iteration& i, std::uint32_t s) {
    auto& f = *i.frame;
    if (i.index + 1 < f.next)
      return hand_on(i, s, *f.live[static_cast<std::size_t>(i.index + 1 - f.live.front()->index)]);
    if (static_cast<std::int64_t>(f.live.size()) < plan_->frames[f.of].parallel)
      return hand_on(i, s, *new_iteration(f));
    f.deferred.emplace_back(&i, s);
  }
  std::size_t place_of_leaving(iteration const& i, std::uint32_t s) const {
    auto const& all = frame_of(i).leaving;
    return static_cast<std::size_t>(std::lower_bound(all.begin(), all.end(), s) - all.begin());
  }
  void exit(iteration& i, std::uint32_t s, station const& st) {
    auto& f = *i.frame;
    if (std::exchange(f.left[place_of_leaving(i, s)], std::uint8_t{1}) != 0)
      throw error(code::failed_precondition, "exit: tokens of two iterations leave the frame: let a switch choose one",
                  plan_->source.part[st.node].name);
    auto& there = *f.outer;
    auto const& to = plan_->frames[st.frame].stations[st.partner];
    if (st.bytes != 0) std::memcpy(there.memory.output(to.instruction), read(i, st.read), st.bytes);
    push(there, st.partner, true);
  }
  void make_room(frame_run::rows& r, station const& st, std::int64_t wanted) {
    auto const before = r.room;
    r.room = std::max({wanted, before + before / 2, before == 0 ? room_for_[st.node] : 0});
    auto const& of = plan_->source.part[st.node].outputs[0];
    tensor wider(of.element, stacked(row_of(of), r.room).shape(), *plan_->memory);
    if (r.all && st.bytes != 0)
      std::memcpy(wider.mutable_raw(), r.all.raw(), static_cast<std::size_t>(before) * st.bytes);
    r.all = std::move(wider);
  }
  void collect(iteration& i, std::uint32_t s, station const& st) {
    auto& f = *i.frame;
    auto const row = st.backwards ? *static_cast<std::int64_t const*>(read(i, st.number)) - 1 - i.index : i.index;
    auto const& to = plan_->frames[st.frame].stations[st.partner];
    auto const& collected = plan_->source.part[st.node].outputs[0];
    if (row < 0 || (collected[0].known() && row >= collected[0].extent))
      throw error(code::out_of_range, "collect: there is no row " + std::to_string(row),
                  plan_->source.part[st.node].name);
    std::byte* all;
    if (f.outer->memory.brings(to.instruction)) {
      auto& rows = f.made[place_of_leaving(i, s)];
      if (row >= rows.room) make_room(rows, st, row + 1);
      rows.end = std::max(rows.end, row + 1);
      all = static_cast<std::byte*>(rows.all.mutable_raw());
    } else all = static_cast<std::byte*>(f.outer->memory.output(to.instruction));
    if (st.bytes != 0) std::memcpy(all + static_cast<std::size_t>(row) * st.bytes, read(i, st.read), st.bytes);
  }

  // One token.
  void fire(token t) {
    auto& i = *t.at;
    auto const& st = frame_of(i).stations[t.station];
    switch (st.what) {
      case act::call:
        if (t.live) {
          if (auto failed = attempt(t, nullptr)) return fail(std::move(failed));
        }
        [[fallthrough]];
      case act::call_out:
      case act::pass:
      case act::merge:
        pass_on(i, t.station, t.live);
        break;
      case act::choose:
        pass_on(i, t.station, t.live, t.live && *static_cast<bool const*>(read(i, st.read)) ? 1 : 0);
        break;
      case act::enter:
        enter(i, st, t.live);
        break;
      case act::exit:
        if (t.live) exit(i, t.station, st);
        break;
      case act::collect:
        if (t.live) collect(i, t.station, st);
        break;
      case act::count:
        if (t.live) ++i.frame->counts[place_of_leaving(i, t.station)];
        break;
      case act::next:
        if (t.live) next(i, t.station);
        break;
    }
    if (--i.outstanding == 0) settle(&i);
  }
  failure attempt(token t, pending* wait) {
    auto const& st = frame_of(*t.at).stations[t.station];
    return caught(t, [&] {
      if (wait) t.at->memory.start(st.instruction, call_->threads, t.at->step, wait);
      else t.at->memory.call(st.instruction, call_->threads, t.at->step);
    });
  }
  template <class F> failure caught(token t, F const& f) const {
    try {
      try {
        f();
      } catch (...) {
        t.at->memory.name_failure(frame_of(*t.at).stations[t.station].instruction);
      }
    } catch (error const& e) {
      return placed(e, t);
    } catch (...) {
      return caught_failure();
    }
    return nullptr;
  }
  // The sentence that the straight gear would say.
  failure placed(error const& e, token t) const {
    auto const& from = plan_->source;
    auto const* i = t.at;
    auto at = from.within.empty() ? lowered::none : from.within[frame_of(*i).stations[t.station].node];
    if (at == lowered::none) {
      if (!i->frame->outer) return std::make_shared<error const>(e);
      return std::make_shared<error const>(
          e.code(),
          "in iteration " + std::to_string(i->index) + " of frame '" + frame_of(*i).name + "': " + e.message(),
          e.node());
    }
    auto text = ops::is_primitive(from.part[frame_of(*i).stations[t.station].node]) ? ": " + e.message() : place_of(e);
    for (; at != lowered::none; at = from.places[at].outer) {
      auto const& p = from.places[at];
      if (p.body == lowered::body::iteration || p.body == lowered::body::condition) {
        bool const after = p.body == lowered::body::condition && i->index > 0;  // it was asked after that iteration
        text = "in iteration " + std::to_string(i->index - after) + text;
        if (i->frame->outer) i = i->frame->outer;
      } else text = p.text + text;
      if (p.body == lowered::body::function && i->frame->outer) i = i->frame->outer;
      if (p.outer != lowered::none) text = ", node '" + p.name + "': " + text;
    }
    return std::make_shared<error const>(e.code(), std::move(text));
  }

  // Works until there is nothing to do, then lets go of the lock.
  void go_on(std::unique_lock<std::mutex>& lock) {
    constexpr unsigned between_looks = 32;
    for (unsigned n = 1; !failure_ && (!ready_.empty() || !slow_.empty()); ++n) {
      if (n % between_looks == 0) {
        if (may_end_ && ends()) break;
        if (wanted_.load(std::memory_order_relaxed) != 0) {
          lock.unlock();
          std::this_thread::yield();
          acquire(lock);
          continue;
        }
      }
      if (!ready_.empty()) {
        auto const t = ready_.back();
        ready_.pop_back();
        guarded([&] { fire(t); });
      } else call_out(lock);
    }
    ask(lock);
    conclude(lock);
  }
  bool ends() {
    auto const t = ready_.empty() ? slow_.front() : ready_.back();
    try {
      call_->step.check();
    } catch (error const& e) {
      auto const& n = plan_->source.part[frame_of(*t.at).stations[t.station].node];
      fail(placed(error(e.code(), e.message(), n.name), t));
      return true;
    }
    return false;
  }
  void acquire(std::unique_lock<std::mutex>& lock) {
    wanted_.fetch_add(1, std::memory_order_relaxed);
    lock.lock();
    wanted_.fetch_sub(1, std::memory_order_relaxed);
  }

  // Runs a kernel without the lock.
  void call_out(std::unique_lock<std::mutex>& lock) {
    auto const t = slow_.front();
    slow_.pop_front();
    auto const& st = frame_of(*t.at).stations[t.station];
    pending* wait = nullptr;
    if (st.waits) {
      std::erase_if(pending_, [](auto const& p) { return p->state == pending::done; });
      pending_.push_back(std::make_unique<pending>(*this, t, activation::now(t.at->step)));
      wait = pending_.back().get();
    }
    ++running_;
    auto const helpers = wait ? 0 : helpers_wanted();
    auto* const later = later_;
    lock.unlock();
    for (std::size_t k = 0; k < helpers; ++k) later->offer([self = shared_from_this()] { self->work(); });
    auto failed = attempt(t, wait);
    acquire(lock);
    if (!failed && wait && wait->state == pending::called) {
      wait->state = pending::asleep;
      ++waiting_;
      if (failure_) {
        auto const give_up = wait->give_up();
        auto const why = failure_;
        lock.unlock();
        if (give_up) give_up(why);
        acquire(lock);
      }
      return;
    }
    if (!failed && wait) failed = brought(*wait);
    if (wait) wait->state = pending::done;
    finish(t, std::move(failed));
  }
  std::size_t helpers_wanted() {
    auto const threads = static_cast<std::size_t>(call_->threads.threads);
    auto const busy = running_ - waiting_ + offered_;
    auto const more = std::min(slow_.size(), threads > busy ? threads - busy : 0);
    offered_ += more;
    return more;
  }
  failure brought(pending& p) {
    return caught(p.at, [&] {
      if (p.cause) throw error(*p.cause);
      auto const& st = frame_of(*p.at.at).stations[p.at.station];
      p.at.at->memory.bring(st.instruction);
      p.at.at->memory.report(st.instruction, p.begin, p.at.at->step);
    });
  }
  void finish(token t, failure failed) {
    --running_;
    if (failed) fail(std::move(failed));
    if (failure_) return;
    guarded([&] {
      pass_on(*t.at, t.station, true);
      if (--t.at->outstanding == 0) settle(t.at);
    });
  }
  // Tokens need memory: where there is none the step fails, and this can be used again.
  template <class F> void guarded(F const& f) {
    try {
      f();
    } catch (...) {
      fail(caught_failure());
    }
  }
  void resume(pending& p, failure why) {
    auto const self = shared_from_this();
    std::unique_lock lock(mutex_, std::defer_lock);
    acquire(lock);
    p.cause = std::move(why);
    bool const by_itself = p.state == pending::called;
    p.state = pending::resumed;
    if (by_itself) return;  // who called the kernel goes on
    --waiting_;
    auto failed = brought(p);
    auto const t = p.at;
    p.state = pending::done;
    finish(t, std::move(failed));
    ask(lock);
    if (failure_ || (ready_.empty() && slow_.empty())) return conclude(lock);
    ++offered_;
    auto* const later = later_;
    lock.unlock();
    later->offer([self] { self->work(); });
  }

  using asks = std::vector<std::function<void()>>;
  void fail(failure why) {
    if (!take_failure(failure_, met_nowhere_, std::move(why))) return;
    ready_.clear(), slow_.clear();
    for (auto& p : pending_)
      if (p->state == pending::asleep && p->give_up())
        to_ask_.push_back([give_up = p->give_up(), why = failure_] { give_up(why); });
  }
  // Those that wait are asked to give up, without the lock.
  void ask(std::unique_lock<std::mutex>& lock) {
    auto const all = std::exchange(to_ask_, {});
    if (all.empty()) return;
    lock.unlock();
    for (auto const& each : all) each();
    acquire(lock);
  }
  void give_up(std::uint64_t run, failure why) {
    auto const self = shared_from_this();
    std::unique_lock lock(mutex_, std::defer_lock);
    acquire(lock);
    if (run != run_ || ended_) return;
    if (!failure_) {
      fail(std::move(why));
      met_nowhere_ = true;
    }
    ask(lock);
    conclude(lock);
  }

  std::shared_ptr<tagged_plan const> plan_;
  std::size_t references_;
  std::mutex mutex_;
  std::atomic<unsigned> wanted_{0};
  std::shared_ptr<tagged_walk> self_;  // while it runs
  std::optional<kernel_call> call_;
  continuation* later_ = nullptr;
  bool may_end_ = false, watched_ = false, ended_ = true, root_done_ = false;
  bool met_nowhere_ = false;  // the failure came from outside
  std::uint64_t run_ = 0;
  failure failure_;
  std::vector<token> ready_;
  std::deque<token> slow_;
  std::size_t running_ = 0, waiting_ = 0, offered_ = 0;
  std::vector<std::unique_ptr<pending>> pending_;
  asks to_ask_;
  iteration* root_ = nullptr;
  std::deque<iteration> iterations_;
  std::deque<frame_run> frame_runs_;
  std::vector<frame_run*> inner_;
  std::vector<std::int64_t> room_for_;  // how many rows each node collected last
  std::vector<std::vector<iteration*>> idle_;
  std::vector<std::vector<frame_run*>> idle_frames_;
};

/// The walks of one plan: each step that runs at the same time has one of its own.
class tagged_walks {
 public:
  tagged_walks(std::shared_ptr<tagged_plan const> p, std::size_t references)
      : plan_(std::move(p)), references_(references) {}
  std::shared_ptr<tagged_walk> find() {
    std::lock_guard lock(mutex_);
    for (auto& w : all_)
      if (w.use_count() == 1) return w;
    return all_.emplace_back(std::make_shared<tagged_walk>(plan_, references_));
  }

 private:
  std::shared_ptr<tagged_plan const> plan_;
  std::size_t references_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<tagged_walk>> all_;
};

}  // namespace detail

RILL_INLINE kernel tagged_kernel(kernel_request const& r) {
  std::size_t references = 0;
  while (references < r.inputs.size() && takes_reference(r.at, references)) ++references;
  auto part = is_region(r.at) ? lowered{*std::get<std::shared_ptr<subgraph const>>(r.at.attributes[0].second)}
                              : lower(r.at, r.inputs, r.state, *r.passes);
  auto p = std::make_shared<tagged_plan const>(std::move(part), r.state, r.seed, *r.memory, r.threads, *r.passes,
                                               r.functions);
  bool const open =
      std::any_of(p->output_types.begin(), p->output_types.end(), [](auto const& t) { return !t.is_known(); });
  kernel k([walks = std::make_shared<detail::tagged_walks>(std::move(p), references)](kernel_call const& call) {
    walks->find()->start(call);
  });
  k.waits = true;
  k.owns_outputs = open;
  return k;
}
#endif

}  // namespace rill
