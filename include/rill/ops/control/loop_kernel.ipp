// A loop in sequential execution: its bodies are nested plans.
#pragma once
#include "rill/ops/control/loop_course.hpp"

#if RILL_RUNTIME
#include <algorithm>
#include <atomic>

#include "rill/tensor/elements.hpp"

namespace rill::ops {

/// Each loop variable is double-buffered. A variable that the body returns unchanged stays in place; an array of which
/// the body writes rows lies in the memory of the loop's result.
class loop_kernel {
 public:
  loop_kernel(kernel_request const& r, loop_rules::attributes const& a)
      : course_(r, a, loop_rules::arguments(a, r.inputs).second),
        first_variable_(a.first_variable()),
        rows_(static_cast<std::size_t>(a.rows)),
        outputs_(r.outputs.begin(), r.outputs.end()),
        memory_(r.memory) {
    auto const variables = static_cast<std::size_t>(a.variables);
    auto const given = loop_rules::given(a, r.inputs, r.outputs);
    for (std::size_t i = variables; i < variables + rows_; ++i) row_bytes_.push_back(given[i].bytes());
    for (std::size_t i = variables + 1; i < r.outputs.size(); ++i) made_bytes_.push_back(row_of(r.outputs[i]).bytes());
    open_ = !all_known(outputs_);
    for (std::size_t k = 0; k < made_bytes_.size(); ++k)
      made_in_.push_back(a.is_saved(k) ? &memory_->saved() : memory_);
    brings_ = open_ || std::any_of(made_in_.begin(), made_in_.end(), [&](auto const* m) { return m != memory_; });
    if (open_) room_for_ = std::make_shared<std::atomic<std::int64_t>>(0);
    body_ = r.compile(r, *a.body, given);
    if (body_->open()) return;
    if (!a.counted()) {
      auto const tested = loop_rules::without_rows(a, given);
      condition_ = r.compile(r, *a.condition, tested);
      if (condition_->open()) return;
      if (joinable(*a.body, *a.condition)) step_ = r.compile(r, joined(*a.body, *a.condition, variables), given);
    }
    for (std::size_t i = 0; i < variables; ++i) {
      bool const kept = a.body->outputs[i].node == a.body->inputs[i];
      bool const in_place = !kept && (step_ ? step_ : body_)->overwritten(i) == static_cast<std::int64_t>(i);
      add_variable({given[i].element, static_cast<std::size_t>(elements(given[i].shape())), kept, in_place});
    }
  }

  /// Whether a body has unknown extents, which this kernel does not support.
  bool has_open_extents() const { return body_->open() || (condition_ && condition_->open()); }

  /// Returns the bytes of scratch that a call needs.
  std::size_t scratch() const { return detail::add_bytes(room_, room_); }

  /// Whether the kernel allocates its outputs: the number of rows is known only after it has run, or they are in
  /// another memory.
  bool brings() const { return brings_; }

  /// Returns the loop variables whose last values may share memory with the first ones.
  std::vector<kernel::shared_memory> updates_in_place() const {
    std::vector<kernel::shared_memory> all;
    for (std::uint32_t i = 0; i < variables_.size(); ++i)
      if (variables_[i].kept || variables_[i].in_place)
        all.push_back({static_cast<std::uint32_t>(first_variable_) + i, i});
    return all;
  }

  void operator()(kernel_call const& call) const {
    step_context step = call.step;
    walk w{call, step};
    for (auto count : of_strings_)
      for (auto& places : w.strings) places.emplace_back(dtype::string, shape{count});
    for (std::size_t k = 0; k < variables_.size(); ++k) w.stay.push_back(where_it_stays(w, k));
    w.made.resize(made_bytes_.size());
    if (!brings_)
      for (std::size_t k = 0; k < w.made.size(); ++k) w.made[k] = call.out<std::byte>(variables_.size() + 1 + k);
    else if (!open_ && !w.made.empty()) make_room(w, course_.count(call));
    std::int64_t done = 0;
    course_.locating(step, [&] { done = condition_ ? while_true(w) : count_up(w); });
    hand_over(w, done);
  }

 private:
  struct variable {
    dtype element;
    std::size_t count;   // of elements
    bool kept;           // the body returns it as it came
    bool in_place;       // the body writes rows of it, where nobody reads the others any more
    std::size_t at = 0;  // in each half of the scratch; of strings: which of them
  };
  void add_variable(variable v) {
    bool const strings = v.element == dtype::string;
    v.at = strings ? of_strings_.size() : room_;
    if (!v.kept && !v.in_place && strings) of_strings_.push_back(v.count);
    else if (!v.kept && !v.in_place)
      room_ = detail::add_bytes(room_, detail::aligned_bytes(v.count * size_of(v.element)));
    variables_.push_back(v);
  }

  // The condition does not depend on when it is computed.
  static bool joinable(subgraph const& body, subgraph const& condition) {
    auto const pure = [](node const& n) { return n.op->effect == effect::none; };
    return std::all_of(condition.nodes.begin(), condition.nodes.end(), pure) && !body.nodes.empty();
  }
  // The body, followed by the condition of its results.
  static subgraph joined(subgraph sub, subgraph const& condition, std::size_t variables);

  // One run of the loop: the current positions of its variables, and the destinations of its rows.
  struct walk {
    kernel_call const& call;
    step_context& step;
    std::vector<void*> stay = {};         // where the variables are that don't move
    std::vector<tensor> strings[2] = {};  // the places of those that are no bytes
    std::vector<std::byte*> made = {};
    std::vector<tensor> stacks = {};  // of outputs that the kernel allocates
    std::int64_t room = 0;            // of those, in rows
  };

  void captures(body_run& run, walk const& w, std::size_t at) const {
    for (auto i = first_variable_ + variables_.size() + rows_; i < w.call.inputs; ++i) run.argument(at++, w.call.in(i));
  }
  static void* moved(void const* from, void* to, variable const& v) {
    if (to != from) copy_elements(v.element, to, from, v.count);
    return to;
  }
  // Returns the memory of output o.
  void* output(walk const& w, std::size_t o) const {
    if (!brings_) return w.call.out(o);
    w.call.owned[o] = tensor(outputs_[o].element, outputs_[o].shape(), *memory_);
    return w.call.owned[o].mutable_raw();
  }
  void* given(walk const& w, std::size_t k) const { return w.call.pointers[first_variable_ + k]; }
  void* where_it_stays(walk const& w, std::size_t k) const {
    auto const& v = variables_[k];
    if (v.in_place) return moved(given(w, k), output(w, k), v);
    return v.kept ? given(w, k) : nullptr;
  }
  // Returns where iteration i writes a loop variable; iteration -1 is the loop's input.
  void* place(walk const& w, std::size_t k, std::int64_t i) const {
    auto const& v = variables_[k];
    if (v.kept || v.in_place) return w.stay[k];
    if (i < 0) return given(w, k);
    bool const odd = i % 2 != 0;
    if (v.element == dtype::string) return const_cast<void*>(w.strings[odd][v.at].raw());
    return static_cast<std::byte*>(w.call.scratch()) + (odd ? room_ : 0) + v.at;
  }
  // The pointers of an iteration. The first iteration reads the loop's inputs; from the third on, all pointers have
  // been used before, so the run knows them.
  static constexpr std::int64_t last_pointed = 2;
  void turn(body_run& run, walk const& w, std::int64_t i) const {
    if (i > 0) run.flip();
    if (i <= last_pointed) point(run, w, i);
  }
  void point(body_run& run, walk const& w, std::int64_t i) const {
    for (std::size_t k = 0; k < variables_.size(); ++k) {
      run.argument(k, place(w, k, i - 1));
      if (!variables_[k].kept) run.result(k, place(w, k, i));
    }
  }
  void rows(body_run& run, walk& w, std::int64_t at) const {
    auto const row = static_cast<std::size_t>(at);
    for (std::size_t k = 0; k < rows_; ++k)
      run.argument(variables_.size() + k,
                   w.call.in<std::byte>(first_variable_ + variables_.size() + k) + row * row_bytes_[k]);
    for (std::size_t k = 0; k < made_bytes_.size(); ++k)
      run.result(variables_.size() + k, w.made[k] + row * made_bytes_[k]);
  }
  // Grows to the wanted number of rows, at least to the number of the last run and to 1.5 times the current one.
  void make_room(walk& w, std::int64_t wanted) const {
    auto const before = w.room;
    w.room = open_ ? std::max({wanted, before + before / 2, room_for_->load(std::memory_order_relaxed)}) : wanted;
    w.stacks.resize(made_bytes_.size());
    for (std::size_t k = 0; k < w.stacks.size(); ++k) {
      auto const& of = outputs_[variables_.size() + 1 + k];
      tensor wider(of.element, stacked(row_of(of), w.room).shape(), *made_in_[k]);
      copy_elements(of.element, wider.mutable_raw(), w.made[k],
                    static_cast<std::size_t>(before) * made_bytes_[k] / size_of(of.element));
      w.stacks[k] = std::move(wider);
      w.made[k] = static_cast<std::byte*>(w.stacks[k].mutable_raw());
    }
  }
  void hand_over(walk& w, std::int64_t done) const {
    for (std::size_t k = 0; k < variables_.size(); ++k)
      if (!variables_[k].in_place) moved(place(w, k, done - 1), output(w, k), variables_[k]);
    *static_cast<std::int64_t*>(output(w, variables_.size())) = done;
    if (!brings_) return;
    if (w.stacks.empty()) make_room(w, 0);
    for (std::size_t k = 0; k < w.stacks.size(); ++k) w.call.give(variables_.size() + 1 + k, w.stacks[k].rows(0, done));
    if (open_) room_for_->store(done, std::memory_order_relaxed);
  }

  // Evaluates the condition after iteration i.
  bool holds(walk& w, std::int64_t done) const {
    bool verdict = false;
    auto const run = condition_->start();
    for (std::size_t k = 0; k < variables_.size(); ++k) run->argument(k, place(w, k, done - 1));
    captures(*run, w, variables_.size());
    run->result(0, &verdict);
    run->run(w.call.threads, w.step);
    return verdict;
  }

  std::int64_t while_true(walk& w) const {
    course_.enter(w.call, w.step, 0, 0);
    bool go_on = holds(w, 0);
    auto const run = (step_ ? step_ : body_)->start();
    captures(*run, w, variables_.size());
    if (step_) run->result(variables_.size() + made_bytes_.size(), &go_on);
    bool const alike = step_ && rows_ == 0 && made_bytes_.empty() && !course_.draws() && !w.step.watch;
    return course_.while_true(w.call, w.step, go_on, [&](std::int64_t i) {
      turn(*run, w, i);
      if (open_ && i >= w.room) make_room(w, std::max<std::int64_t>(i + 1, 8));
      rows(*run, w, i);
      run->run(w.call.threads, w.step);
      if (alike && i == last_pointed) run->run_while(go_on, w.call.threads, w.step);
      if (step_) return go_on;
      course_.enter_condition(w.call, w.step, i);
      return holds(w, i + 1);
    });
  }

  std::int64_t count_up(walk& w) const {
    auto const run = body_->start();
    captures(*run, w, variables_.size() + rows_);
    auto const count = course_.count(w.call);
    if (open_) make_room(w, count);
    course_.count_up(w.call, w.step, count, [&](std::int64_t i, std::int64_t row) {
      turn(*run, w, i);
      rows(*run, w, row);
      run->run(w.call.threads, w.step);
    });
    return count;
  }

  loop_course course_;
  std::size_t first_variable_, rows_, room_ = 0;
  bool open_ = false, brings_ = false;
  std::vector<type> outputs_;
  allocator* memory_;
  std::vector<allocator*> made_in_;                      // the memory of each kind of rows
  std::shared_ptr<std::atomic<std::int64_t>> room_for_;  // of open loops: how many rows the last run made
  std::vector<variable> variables_;
  std::vector<std::size_t> of_strings_;  // those that have two places: how many each has
  std::vector<std::size_t> row_bytes_, made_bytes_;
  std::shared_ptr<compiled_body> body_, condition_, step_;
};

RILL_INLINE subgraph loop_kernel::joined(subgraph sub, subgraph const& condition, std::size_t variables) {
  std::vector<endpoint> place(condition.size());
  for (std::size_t i = 0; i < condition.inputs.size(); ++i)
    place[condition.inputs[i]] = i < variables ? sub.outputs[i] : endpoint{sub.inputs[i], 0};
  for (std::uint32_t i = 0; i < condition.size(); ++i) {
    auto n = condition[i];
    if (n.op == &fed_op) continue;
    for (auto& e : n.inputs) {
      auto const& at = place[e.node];
      e = condition[e.node].op == &fed_op ? at : endpoint{at.node, e.port};
    }
    for (auto& c : n.controls) c = place[c].node;
    place[i] = {static_cast<std::uint32_t>(sub.size()), 0};
    sub.nodes.push_back(std::move(n));
    sub.origin.push_back(condition.origin[i]);
  }
  auto const verdict = condition.outputs[0];
  auto const& at = place[verdict.node];
  sub.outputs.push_back(condition[verdict.node].op == &fed_op ? at : endpoint{at.node, verdict.port});
  return sub;
}

RILL_INLINE kernel loop_rules::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  if (opens(a, r.outputs) || never_runs(a, r.inputs) || !all_known(given(a, r.inputs, r.outputs)))
    return open_cpu(r, a);
  loop_kernel made(r, a);
  if (made.has_open_extents()) return open_cpu(r, a);
  auto const scratch = made.scratch();
  auto updates_in_place = made.updates_in_place();
  bool const brings = made.brings();
  kernel k(std::move(made), scratch);
  k.allocates_outputs = brings;
  k.updates_in_place = std::move(updates_in_place);
  return k;
}

}  // namespace rill::ops
#endif
