// The frames of a run, and their iterations (EuroSys'18 §4.3). New ones reuse the memory of finished ones.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "rill/run/plan/plan_instance.hpp"
#include "rill/run/tagged/plan.hpp"

#if RILL_RUNTIME
namespace rill::detail {

/// The frames and iterations of one run of a tagged plan.
class frame_runs {
 public:
  struct frame_run;
  struct iteration {
    explicit iteration(plan const& p) : memory(p) {}
    plan_instance memory;
    step_context step;
    tagged_plan::frame const* layout = nullptr;
    frame_run* frame = nullptr;
    std::int64_t index = 0;
    std::size_t outstanding = 0;                         // tokens under way, and frames within it
    indexed<tagged_plan::block_id, std::uint32_t> left;  // the number of tokens still to come, and flags
    std::vector<frame_run*> within;
    std::uint64_t constants_of = 0;  // the number of the frame_run whose constants its pointers have
    bool used = false;               // whether this run has used it
  };
  struct frame_run {
    tagged_plan::frame_id of = tagged_plan::outermost;
    tagged_plan::frame const* layout = nullptr;
    iteration* outer = nullptr;
    std::uint64_t number = 0;
    std::deque<iteration*> live;      // oldest first
    std::int64_t next = 0;            // index of the next iteration
    std::uint32_t arrived = 0;        // tokens that entered
    std::uint32_t constants_due = 0;  // constants still to come
    bool is_dead = false;             // whether a token that entered was dead
    struct arrival {
      enum : std::uint8_t { not_yet, alive, dead } came = not_yet;
      void* at = nullptr;
    };
    indexed<tagged_plan::constant_id, arrival> constants;
    std::vector<std::pair<tagged_plan::operation const*, arrival>> held;  // before the gate
    struct deferred_token {
      iteration* from;
      tagged_plan::operation const* next;
    };
    std::vector<deferred_token> deferred;                 // tokens for an iteration that can't begin yet
    indexed<tagged_plan::leaving_id, std::int64_t> left;  // how many tokens left by each
    struct rows {
      tensor all;
      std::int64_t room = 0, end = 0;
    };
    indexed<tagged_plan::leaving_id, rows> made;
  };

  explicit frame_runs(tagged_plan const& p) : plan_(p), idle_(p.frames.size()), idle_frames_(p.frames.size()) {}

  /// Returns a frame within an iteration, or the outermost, without iterations.
  frame_run* new_frame(tagged_plan::frame_id of, iteration* outer) {
    auto const& f = plan_.frames[of];
    auto* const made = reuse_or_make(idle_frames_[of], frames_);
    made->of = of;
    made->layout = &f;
    made->outer = outer;
    made->number = ++numbers_;
    made->live.clear();
    made->next = 0;
    made->arrived = 0;
    made->constants_due = static_cast<std::uint32_t>(f.constants.size());
    made->is_dead = false;
    made->constants.all().assign(f.constants.size(), {});
    made->held.clear();
    made->deferred.clear();
    made->left.all().assign(f.leaving.size(), 0);
    made->made.all().clear();
    made->made.resize(f.leaving.size());
    if (outer) ++outer->outstanding, outer->within.push_back(made);
    return made;
  }
  /// Returns the next iteration of a frame.
  iteration* new_iteration(frame_run& of, step_context const& step) {
    auto const& f = *of.layout;
    auto* const made = reuse_or_make(idle_[of.of], iterations_, *f.plan);
    if (!made->used) made->step = step;
    made->used = true;
    made->layout = &f;
    made->frame = &of;
    made->index = of.next++;
    made->step.stream = of.outer ? of.outer->step.stream : step.stream;
    made->step.iteration = of.outer ? made->index : step.iteration;
    made->step.calls = of.outer ? of.outer->step.calls + f.calls : step.calls;
    made->outstanding = 0;
    made->left = f.counts;
    made->memory.borrow_arena(step);
    of.live.push_back(made);
    return made;
  }
  /// Takes back an iteration that is done.
  void recycle(iteration& i) {
    i.memory.release();
    idle_[i.frame->of].push_back(&i);
  }
  /// Takes back a frame that is done.
  void recycle(frame_run& f) {
    std::erase(f.outer->within, &f);
    idle_frames_[f.of].push_back(&f);
  }
  /// Takes back all frames and iterations.
  void reset() {
    for (auto f : idle_.indices()) idle_[f].clear(), idle_frames_[f].clear();
    for (auto& i : iterations_) {
      i.memory.release();
      i.memory.give_back_arena();
      i.within.clear();
      i.step = {};
      i.used = false;
      idle_[i.frame->of].push_back(&i);
    }
    for (auto& f : frames_) {
      f.made.all().clear();
      idle_frames_[f.of].push_back(&f);
    }
  }

 private:
  // Returns an idle object, or makes one. Keeps room in the list for all objects, so that `reset` needs no memory.
  template <class T, class... Args>
  static T* reuse_or_make(std::vector<T*>& idle, std::deque<T>& all, Args const&... args) {
    if (idle.empty()) {
      if (idle.capacity() <= all.size()) idle.reserve(2 * all.size() + 1);
      return &all.emplace_back(args...);
    }
    auto* const taken = idle.back();
    idle.pop_back();
    return taken;
  }

  tagged_plan const& plan_;
  std::uint64_t numbers_ = 0;
  std::deque<iteration> iterations_;
  std::deque<frame_run> frames_;
  indexed<tagged_plan::frame_id, std::vector<iteration*>> idle_;
  indexed<tagged_plan::frame_id, std::vector<frame_run*>> idle_frames_;
};

}  // namespace rill::detail
#endif
