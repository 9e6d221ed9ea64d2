// A loop with extents known only at run time, possibly changing between iterations. Its variables are passed as
// tensors; the bodies are compiled for the extents that occur.
#pragma once
#include "rill/ops/control/loop_course.hpp"

#if RILL_RUNTIME
#include <map>

#include "rill/tensor/elements.hpp"

namespace rill::ops {

/// The kernel of such a loop. It allocates its outputs.
class open_loop_kernel {
 public:
  open_loop_kernel(kernel_request const& r, loop_rules::attributes const& a)
      : course_(r, a, loop_rules::arguments(a, r.inputs).second),
        first_(a.first_variable()),
        rows_(static_cast<std::size_t>(a.rows)),
        inputs_(r.inputs.begin() + static_cast<std::ptrdiff_t>(first_), r.inputs.end()),
        memory_(r.memory) {
    auto const given = loop_rules::given(a, r.inputs, r.outputs);
    for (std::size_t j = 0, row = a.first_uneven() - first_; row < a.first_capture() - first_; ++j, ++row)
      if (!given[row].is_known()) uneven_.push_back({row, a.first_extents() + j, r.inputs[a.first_extents() + j]});
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.variables); ++i) {
      auto const input = a.body->inputs[i];
      kept_.push_back(a.body->outputs[i] == endpoint{input, 0});
      declared_.push_back((*a.body)[input].outputs[0]);
    }
    for (auto o = a.row_port(0); o < r.outputs.size(); ++o) {
      made_.push_back(r.outputs[o]);
      saved_.push_back(a.is_saved(o - a.row_port(0)));
      made_in_.push_back(saved_.back() ? &memory_->saved() : memory_);
    }
    if (!loop_rules::never_runs(a, r.inputs)) body_ = r.compile(r, without_kept(*a.body), given);
    if (!a.counted()) condition_ = r.compile(r, *a.condition, loop_rules::without_rows(a, given));
  }

  void operator()(kernel_call const& call) const {
    step_context step = call.step;
    walk w{call, step};
    auto const borrow = [&](type t, std::size_t input) {
      if (!t.is_known()) t[0] = dim(course_.count(call));  // rows of another loop, as many as this has iterations
      return tensor::borrow(t, call.in(input));
    };
    for (std::size_t i = 0; i < inputs_.size(); ++i) w.inputs.push_back(borrow(inputs_[i], first_ + i));
    for (auto const& u : uneven_)
      w.pieces[u.row] = pieces_of(w.inputs[u.row], borrow(u.extents, u.input), course_.count(call));
    w.now.assign(w.inputs.begin(), w.inputs.begin() + static_cast<std::ptrdiff_t>(kept_.size()));
    w.made.resize(made_.size());
    std::int64_t done = 0;
    course_.locating(step, [&] { done = condition_ ? while_true(w) : count_up(w); });
    hand_over(w, done);
  }

 private:
  // A variable that the body returns unchanged stays in place.
  subgraph without_kept(subgraph body) const {
    for (auto i = kept_.size(); i-- > 0;)
      if (kept_[i]) body.outputs.erase(body.outputs.begin() + static_cast<std::ptrdiff_t>(i));
    return body;
  }

  // One run of the loop: its inputs, its variables, and the rows so far.
  struct walk {
    kernel_call const& call;
    step_context& step;
    std::vector<tensor> inputs = {}, now = {};
    std::vector<std::vector<tensor>> made = {};
    std::map<std::size_t, std::vector<tensor>> pieces = {};  // the uneven rows of each list of them
  };

  // Rows stored end to end in a list. In an empty list, only the extents of the rows are read.
  std::vector<tensor> pieces_of(tensor list, tensor const& all, std::int64_t count) const {
    std::vector<shape> shapes(static_cast<std::size_t>(count));
    auto const rank = all.elements() / std::max<std::int64_t>(count, 1);
    bool fits = rank * count == all.elements();
    std::int64_t total = 0, most = 0;
    auto const* next = all.data<std::int64_t>();
    for (auto& s : shapes) {
      for (std::int64_t k = 0; k < rank; ++k) s.push_back(*next++);
      most = std::max(most, elements(s));
      fits = fits && total <= list.elements();  // stops before the sum can overflow
      total += fits ? elements(s) : 0;
    }
    bool const unread = list.elements() == 0;
    if (!unread && !(fits && total == list.elements()))
      throw error(code::invalid_argument, "loop: the extents of uneven rows are not those of " + std::to_string(count) +
                                              " rows of " + std::to_string(list.elements()) + " elements together");
    if (unread) {
      list = tensor(list.element(), {most}, *memory_);
      clear_elements(list.element(), list.mutable_raw(), static_cast<std::size_t>(most));
    }
    std::vector<tensor> pieces;
    std::int64_t at = 0;
    for (auto const& s : shapes) {
      pieces.push_back(list.rows(at, at + elements(s)).reshaped(s));
      at += unread ? 0 : elements(s);
    }
    return pieces;
  }

  bool holds(walk& w) const {
    auto given = w.now;
    append_captures(given, w);
    return condition_->run(given, w.call.threads, w.step)[0].item<bool>();
  }
  void append_captures(std::vector<tensor>& to, walk const& w) const {
    to.insert(to.end(), w.inputs.begin() + static_cast<std::ptrdiff_t>(kept_.size() + rows_), w.inputs.end());
  }

  std::int64_t while_true(walk& w) const {
    course_.enter(w.call, w.step, 0, 0);
    return course_.while_true(w.call, w.step, holds(w), [&](std::int64_t i) {
      turn(w, i);
      course_.enter_condition(w.call, w.step, i);
      return holds(w);
    });
  }
  std::int64_t count_up(walk& w) const {
    auto const count = course_.count(w.call);
    course_.count_up(w.call, w.step, count, [&](std::int64_t, std::int64_t row) { turn(w, row); });
    return count;
  }

  void turn(walk& w, std::int64_t row) const {
    auto given = w.now;
    for (std::size_t k = kept_.size(); k < kept_.size() + rows_; ++k) {
      auto const uneven = w.pieces.find(k);
      given.push_back(uneven == w.pieces.end() ? w.inputs[k].rows(row, row + 1).reshaped(row_of(inputs_[k]).shape())
                                               : uneven->second[static_cast<std::size_t>(row)]);
    }
    append_captures(given, w);
    auto made = body_->run(given, w.call.threads, w.step);
    auto next = made.begin();
    for (std::size_t i = 0; i < kept_.size(); ++i)
      if (!kept_[i]) w.now[i] = fitting(i, std::move(*next++));
    for (std::size_t k = 0; k < made_.size(); ++k) keep_row(w.made[k], std::move(*next++), is_even(k));
  }
  // Saved rows are uneven if their extents were not known before.
  bool is_even(std::size_t k) const { return made_[k].has_rank() || !saved_[k]; }
  tensor fitting(std::size_t i, tensor t) const {
    if (!accepts(declared_[i], t.type()))
      throw error(code::invalid_argument, "loop: variable " + std::to_string(i) + " was declared as " +
                                              with_article(declared_[i]) + " and became " + with_article(t.type()));
    return t;
  }
  static void keep_row(std::vector<tensor>& list, tensor row, bool even) {
    if (even && !list.empty() && list[0].shape() != row.shape())
      throw error(code::invalid_argument, "loop: the rows that its body makes have one type, and here come " +
                                              with_article(list[0].type()) + " and " + with_article(row.type()));
    list.push_back(std::move(row));
  }

  void hand_over(walk& w, std::int64_t done) const {
    for (std::size_t i = 0; i < w.now.size(); ++i)
      w.call.give(i, kept_[i] || done == 0 ? w.now[i].clone(*memory_) : std::move(w.now[i]));
    w.call.give(w.now.size(), tensor(done));
    for (std::size_t k = 0; k < made_.size(); ++k)
      w.call.give(w.now.size() + 1 + k, is_even(k) ? stack(w.made[k], made_[k], *made_in_[k], done)
                                                   : lay(w.made[k], made_[k].element, *made_in_[k]));
  }
  // An unknown extent of rows that were never produced is 0.
  tensor stack(std::vector<tensor>& list, type const& as, allocator& in, std::int64_t done) const {
    auto row = !list.empty() ? list[0].type() : as.has_rank() ? row_of(as) : type(as.element);
    for (std::size_t k = 0; k < row.rank; ++k)
      if (!row[k].known()) row[k] = dim(0);
    tensor all(row.element, stacked(row, done).shape(), in);
    for (std::int64_t r = 0; r < done; ++r)
      move_row(list, static_cast<std::size_t>(r), all.rows(r, r + 1).reshaped(row.shape()));
    return all;
  }
  // End to end.
  tensor lay(std::vector<tensor>& list, dtype element, allocator& in) const {
    std::int64_t total = 0, at = 0;
    for (auto const& row : list) total += row.elements();
    tensor all(element, {total}, in);
    for (std::size_t r = 0; r < list.size(); ++r) {
      auto const& row = list[place(list, r)];
      auto const end = at + row.elements();
      move_row(list, r, all.rows(at, end).reshaped(row.shape()));
      at = end;
    }
    return all;
  }
  // In a backward loop, row r belongs to another iteration.
  std::size_t place(std::vector<tensor> const& list, std::size_t r) const {
    return course_.backwards() ? list.size() - 1 - r : r;
  }
  void move_row(std::vector<tensor>& list, std::size_t r, tensor to) const {
    auto& row = list[place(list, r)];
    to.assign(row);
    row = tensor();
  }

  // A list of uneven rows: their argument of the body, and the input with their extents.
  struct uneven_rows {
    std::size_t row, input;
    type extents;
  };

  loop_course course_;
  std::size_t first_, rows_;
  std::vector<type> inputs_, declared_, made_;  // from the first variable on, of the variables, of the rows
  std::vector<bool> kept_;                      // variables that the body returns as they came
  std::vector<uneven_rows> uneven_;
  std::vector<bool> saved_;  // which rows are saved for a derivative
  allocator* memory_;
  std::vector<allocator*> made_in_;  // the memory of each kind of rows
  std::shared_ptr<compiled_body> body_, condition_;
};

RILL_INLINE kernel loop_rules::open_cpu(kernel_request const& r, attributes const& a) {
  kernel k(open_loop_kernel(r, a));
  k.allocates_outputs = true;
  return k;
}

}  // namespace rill::ops
#endif
