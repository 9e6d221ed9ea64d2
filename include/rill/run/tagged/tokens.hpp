// The tokens of a tagged plan (EuroSys'18 §4.3). A token is live or dead, and has a tag: an iteration of a frame, which
// lies in an iteration of the frame around it. One thread at a time uses them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "rill/run/tagged/frame_runs.hpp"
#include "rill/run/tagged/plan.hpp"

#if RILL_RUNTIME
namespace rill::detail {

/// Copies a value.
inline void copy_elements(void* to, void const* from, tagged_plan::move const& m) {
  if (m.strings)
    std::copy_n(static_cast<std::string const*>(from), m.bytes / sizeof(std::string), static_cast<std::string*>(to));
  else if (m.bytes == 4) std::memcpy(to, from, 4);  // with a constant size this is one instruction
  else if (m.bytes == 8) std::memcpy(to, from, 8);
  else if (m.bytes != 0) std::memcpy(to, from, m.bytes);
}

/// The tokens of one run, and the queues of blocks that are ready to run.
class tokens {
 public:
  using iteration = frame_runs::iteration;
  using frame_run = frame_runs::frame_run;
  using block_id = tagged_plan::block_id;
  using operation_id = tagged_plan::operation_id;
  using kept_id = tagged_plan::kept_id;
  struct token {
    iteration* at;
    block_id block;
    bool live;
  };

  explicit tokens(tagged_plan const& p) : plan_(p), runs_(p), room_for_(p.source.subgraph.size(), 8) {}

  /// Begins a run. The first `references` inputs are variables, the others tokens. `apart`: all kernels run without the
  /// lock.
  void begin(kernel_call const& call, std::size_t references, bool apart) {
    step_ = &call.step;
    apart_ = apart;
    root_ = new_iteration(*runs_.new_frame(tagged_plan::outermost, nullptr));
    for (std::size_t k = references; k < call.inputs; ++k)
      root_->memory.argument(k - references, const_cast<void*>(call.in(k)));
    root_->outstanding = 1;
    for (auto b : root_->layout->sources) push(*root_, b, true);
    done_ = --root_->outstanding == 0;
  }
  bool done() const { return done_; }
  iteration const& outermost() const { return *root_; }
  void const* read(kept_id kept) const { return read(*root_, kept); }
  bool is_dead(tagged_plan::output const& o) const {
    if (o.block == no_index<block_id>) return false;
    auto const state = root_->left[o.block];
    return (state & fired) == 0 || (state & dead) != 0 || !takes(*root_, o.way);
  }

  // There are two queues of ready blocks: short blocks, the newest first, and slow blocks, the oldest first.

  bool ready() const { return !ready_.empty(); }
  std::size_t slow() const { return slow_.size(); }
  token next() const { return ready() ? ready_.back() : slow_.front(); }
  token pop() {
    auto const t = ready_.back();
    ready_.pop_back();
    return t;
  }
  token pop_slow() {
    auto const t = slow_.front();
    slow_.pop_front();
    return t;
  }
  void drop_all() { ready_.clear(), slow_.clear(); }

  /// Runs a block's operations from `first` on, kernels by `call(token, operation)`, which returns whether to go on.
  /// Then sends tokens to the blocks behind it.
  template <class Call> void fire(token t, operation_id first, Call const& call) {
    auto& i = *t.at;
    auto const& b = i.layout->blocks[t.block];
    if (t.live || b.enters)
      for (auto o : index_range(first, b.last)) {
        auto const& does = i.layout->operations[o];
        if (does.what == act::enter) enter(i, does, t.live);
        else if (!t.live) continue;
        else if (does.what == act::call) {
          if (!call(t, does)) return;
        } else leave(i, does);
      }
    send(i, b, t.live);
    if (--i.outstanding == 0) retire(&i);
  }

  /// Calls an operation's kernel, which must not wait.
  static void call(token t, tagged_plan::operation const& o, parallel const& threads) {
    t.at->memory.call(o.value.instruction, threads, t.at->step);
  }

  /// Drops all tokens, frames and iterations of a run.
  void reset() {
    drop_all();
    runs_.reset();
  }

 private:
  using act = tagged_plan::act;
  static constexpr auto one = tagged_plan::token;
  enum : std::uint32_t { dead = 1, fired = 2 };  // flags of a block, in the lowest bits of its count

  static void* read(iteration const& i, kept_id kept) { return i.memory.kept(kept); }
  static bool takes(iteration const& i, tagged_plan::edge const& e) {
    return e.port == tagged_plan::either || *static_cast<bool const*>(read(i, e.asked)) == (e.port != 0);
  }

  // Frames and iterations.
  // Gives a frame's constant to an iteration.
  void arrive(iteration& i, tagged_plan::constant_id number) {
    auto const& c = i.layout->constants[number];
    auto const& a = i.frame->constants[number];
    if (a.came == a.not_yet) return;
    if (a.came == a.alive) i.memory.argument(as_integer(c.argument), a.at);
    if (c.block != no_index<block_id>) push(i, c.block, a.came == a.alive);
  }
  iteration* new_iteration(frame_run& of) {
    auto* const made = runs_.new_iteration(of, *step_);
    if (made->constants_of == of.number && of.layout->gated) return made;
    made->constants_of = of.number;
    for (auto c : of.constants.indices()) arrive(*made, c);
    return made;
  }
  frame_run& frame_within(iteration& i, tagged_plan::frame_id of) {
    for (auto* f : i.within)
      if (f->of == of) return *f;
    auto* const made = runs_.new_frame(of, &i);
    new_iteration(*made);
    return *made;
  }

  // Ends iterations that are done, the oldest first, which makes room for new ones; then frames that are done. A frame
  // counts as a token of the iteration around it, so that iteration may be done too.
  void retire(iteration* i) {
    for (;;) {
      auto& f = *i->frame;
      if (!f.outer) {
        done_ = i->outstanding == 0;
        return;
      }
      while (!f.live.empty() && f.live.front()->outstanding == 0 && f.arrived == f.layout->enters) {
        auto* const done = f.live.front();
        f.live.pop_front();
        if (!f.deferred.empty()) {
          auto* const next = new_iteration(f);
          for (auto const& [from, by] : std::exchange(f.deferred, {})) enter_merge(*from, *by, *next);
        }
        runs_.recycle(*done);
      }
      if (!f.live.empty()) return;
      auto* const outer = f.outer;
      leave(f);
      runs_.recycle(f);
      if (--outer->outstanding != 0) return;
      i = outer;
    }
  }
  // Sends the tokens that leave a frame when it is done: rows, counts, and dead tokens for values that have not left.
  void leave(frame_run& f) {
    auto& there = *f.outer;
    for (auto k : f.left.indices()) {
      auto const& does = f.layout->operations[f.layout->leaving[k]];
      auto const at = does.value.instruction;
      if (does.what == act::exit) {
        if (f.left[k] == 0) push(there, does.block, false);
        continue;
      }
      if (!f.is_dead && does.what == act::count) *static_cast<std::int64_t*>(there.memory.output(at)) = f.left[k];
      if (!f.is_dead && does.what == act::collect && there.memory.allocates(at)) {
        auto& rows = f.made[k];
        if (!rows.all) make_room(rows, does, 0);
        room_for_[does.node] = rows.end;
        there.memory.give(at, rows.all.rows(0, rows.end));
      }
      push(there, does.block, !f.is_dead);
    }
  }

  // Tokens.
  void push(iteration& i, block_id b, bool live) {
    ++i.outstanding;
    auto const& to = i.layout->blocks[b];
    i.left[b] |= live ? fired : fired | dead;
    if (live && (to.slow || (apart_ && to.first != to.last))) slow_.push_back({&i, b, live});
    else ready_.push_back({&i, b, live});
  }
  // Sends a block's token along its edges. A merge is queued with its first live token, or when all tokens were dead.
  // Any other block is queued when all its tokens have come, as dead if one of them was dead.
  void send(iteration& i, tagged_plan::block const& b, bool live) {
    auto const& f = *i.layout;
    for (auto k : index_range(b.first_edge, b.last_edge)) {
      auto const& e = f.edges[k];
      auto const& to = f.blocks[e.to];
      bool const comes = live && takes(i, e);
      auto& left = i.left[e.to];
      left -= one;
      if (to.merge != no_index<tagged_plan::merge_id>) {
        if ((left & fired) != 0) continue;
        auto const& m = f.merges[to.merge];
        if (comes) merge(i, e.to, m.value, read(i, m.reads[e.input]), e.input);
        else if (left < one) push(i, e.to, false);
        continue;
      }
      if (!comes) left |= dead;
      if (left >= one) continue;
      if ((left & dead) == 0) push(i, e.to, true);
      else if (to.ends) left |= fired;
      else push(i, e.to, false);
    }
  }
  void merge(iteration& i, block_id b, tagged_plan::move const& to, void const* from, std::uint32_t which) {
    copy_elements(i.memory.output(to.instruction), from, to);
    *static_cast<std::int32_t*>(i.memory.output(to.instruction, 1)) = static_cast<std::int32_t>(which);
    push(i, b, true);
  }
  // Sends a token to the merge of the next iteration.
  void enter_merge(iteration const& from, tagged_plan::operation const& by, iteration& to) {
    if ((to.left[by.block] & fired) == 0) merge(to, by.block, by.value, read(from, by.value.read), 1);
  }

  void enter(iteration& i, tagged_plan::operation const& does, bool live) {
    auto& f = frame_within(i, does.frame);
    frame_run::arrival const a{live ? frame_run::arrival::alive : frame_run::arrival::dead,
                               live ? read(i, does.value.read) : nullptr};
    f.is_dead = f.is_dead || !live;
    ++f.arrived;
    if (does.constant) {
      f.constants[does.number] = a;
      --f.constants_due;
      for (auto* each : f.live) arrive(*each, does.number);
    } else f.held.emplace_back(&does, a);
    if (!f.layout->gated || f.constants_due == 0)
      for (auto const& [by, came] : std::exchange(f.held, {})) {
        auto& first = *f.live.front();
        if (came.at) first.memory.argument(as_integer(by->argument), came.at);
        push(first, by->block, came.came == came.alive);
      }
    if (f.live.front()->outstanding == 0) retire(f.live.front());
  }
  void leave(iteration& i, tagged_plan::operation const& does) {
    switch (does.what) {
      case act::next:
        return next(i, does);
      case act::count:
        ++i.frame->left[does.place];
        return;
      case act::exit:
        return exit(i, does);
      default:
        return collect(i, does);
    }
  }
  void next(iteration& i, tagged_plan::operation const& does) {
    auto& f = *i.frame;
    if (i.index + 1 < f.next)
      return enter_merge(i, does, *f.live[static_cast<std::size_t>(i.index + 1 - f.live.front()->index)]);
    if (static_cast<std::int64_t>(f.live.size()) < f.layout->parallel) return enter_merge(i, does, *new_iteration(f));
    f.deferred.push_back({&i, &does});
  }
  [[noreturn, gnu::cold]] void refuse(code why, std::string sentence, tagged_plan::operation const& does) const {
    throw error(why, std::move(sentence), plan_.source.subgraph[does.node].name);
  }
  void exit(iteration& i, tagged_plan::operation const& does) {
    auto& f = *i.frame;
    if (++f.left[does.place] != 1)
      refuse(code::failed_precondition, "exit: tokens of two iterations leave the frame: let a switch choose one",
             does);
    copy_elements(f.outer->memory.output(does.value.instruction), read(i, does.value.read), does.value);
    push(*f.outer, does.block, true);
  }
  void collect(iteration& i, tagged_plan::operation const& does) {
    auto& f = *i.frame;
    auto const row = does.backwards ? *static_cast<std::int64_t const*>(read(i, does.rows)) - 1 - i.index : i.index;
    auto const& rows_are = plan_.source.subgraph[does.node].outputs[0][0];
    if (row < 0 || (rows_are.known() && row >= rows_are.extent))
      refuse(code::invalid_argument, "collect: there is no row " + std::to_string(row), does);
    std::byte* all;
    if (f.outer->memory.allocates(does.value.instruction)) {
      auto& rows = f.made[does.place];
      if (row >= rows.room) make_room(rows, does, row + 1);
      rows.end = std::max(rows.end, row + 1);
      all = static_cast<std::byte*>(rows.all.mutable_raw());
    } else all = static_cast<std::byte*>(f.outer->memory.output(does.value.instruction));
    copy_elements(all + static_cast<std::size_t>(row) * does.value.bytes, read(i, does.value.read), does.value);
  }
  void make_room(frame_run::rows& r, tagged_plan::operation const& does, std::int64_t wanted) {
    auto const before = r.room;
    r.room = std::max({wanted, before + before / 2, before == 0 ? room_for_[does.node] : 0});
    auto const& of = plan_.source.subgraph[does.node].outputs[0];
    tensor wider(of.element, stacked(row_of(of), r.room).shape(), does.saved ? plan_.memory->saved() : *plan_.memory);
    auto all = does.value;
    all.bytes *= static_cast<std::size_t>(before);
    if (r.all) copy_elements(wider.mutable_raw(), r.all.raw(), all);
    r.all = std::move(wider);
  }

  tagged_plan const& plan_;
  step_context const* step_ = nullptr;
  bool apart_ = false;  // whether all blocks with operations count as slow
  bool done_ = false;
  iteration* root_ = nullptr;
  std::vector<token> ready_;
  std::deque<token> slow_;
  frame_runs runs_;
  std::vector<std::int64_t> room_for_;  // of each node: the number of rows that it collected last
};

}  // namespace rill::detail
#endif
