// The loop behind while_loop, map, scan and fold: a body that is run again and again, over variables that it hands on
// and rows that it takes and makes (EuroSys'18 §4).
#pragma once
#include <cstring>

#include "rill/base/philox.hpp"
#include "rill/device/step.hpp"
#include "rill/ops/control/body.hpp"

namespace rill::ops {

/// What the operations of a loop share. Inputs: variables (by reference), the loop variables' first values, tensors
/// whose rows are taken one an iteration, and what the bodies took from outside. Outputs: the loop variables' last
/// values, the rows that were made, stacked, and the number of iterations.
struct looping {
  static constexpr std::int8_t arity = -1;
  static constexpr std::uint32_t by_reference = counted_references;
  struct attributes {
    std::shared_ptr<subgraph const> body;       ///< from variables, rows and captures to variables and rows
    std::shared_ptr<subgraph const> condition;  ///< from variables and captures to a bool; without outputs: rows count
    std::int64_t variables = 0, rows = 0, references = 0, updates = 0;
    bool backwards = false;  ///< the last row first
    std::int64_t key = 0;    ///< tells the random numbers of this loop from those of others
    static constexpr auto fields() {
      return std::tuple{field{"body", &attributes::body},
                        field{"condition", &attributes::condition},
                        field{"variables", &attributes::variables},
                        field{"rows", &attributes::rows},
                        field{"references", &attributes::references},
                        field{"updates", &attributes::updates},
                        field{"backwards", &attributes::backwards},
                        field{"key", &attributes::key}};
    }
    bool counted() const { return condition->outputs.empty(); }
    void check(std::size_t inputs) const;
  };
  static std::vector<type> infer(attributes const& a, std::span<type const> inputs);
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r);
#endif
};

struct loop_op : looping {
  using library = void;
  static constexpr std::string_view name = "loop", doc = "runs a body again and again (while_loop, map, scan, fold)";
};
struct reading_loop_op : looping {
  using library = void;
  static constexpr std::string_view name = "reading_loop", doc = "a loop that reads variables or draws numbers";
  static constexpr rill::effect effect = rill::effect::reads;
};
struct updating_loop_op : looping {
  using library = void;
  static constexpr std::string_view name = "updating_loop", doc = "a loop that updates variables";
  static constexpr rill::effect effect = rill::effect::writes;
};

inline void looping::attributes::check(std::size_t inputs) const {
  expects(body && condition, "loop: a body is missing");
  expects(references >= 0 && updates >= 0 && updates <= references && variables >= 0 && rows >= 0 &&
              std::max({references, variables, rows}) <= std::int64_t{UINT16_MAX} &&
              static_cast<std::size_t>(references + variables + rows) <= inputs,
          "loop: its inputs are miscounted");
  auto const captures = inputs - static_cast<std::size_t>(references + variables + rows);
  expects(body->inputs.size() == static_cast<std::size_t>(variables + rows) + captures,
          "loop: the body takes another number of values");
  expects(body->outputs.size() >= static_cast<std::size_t>(variables),
          "loop: the body must return as many values as there are loop variables");
  if (counted()) expects(rows > 0, "loop: nothing ends it: it has neither a condition nor rows");
  else {
    expects(
        condition->outputs.size() == 1 && condition->inputs.size() == static_cast<std::size_t>(variables) + captures,
        "loop: the condition takes the loop variables and returns one value");
    expects(rows == 0 && body->outputs.size() == static_cast<std::size_t>(variables),
            "loop: one with a condition has no rows");
  }
}

inline std::vector<type> looping::infer(attributes const& a, std::span<type const> inputs) {
  a.check(inputs.size());
  auto const variables = static_cast<std::size_t>(a.variables), rows = static_cast<std::size_t>(a.rows);
  auto const own = inputs.subspan(static_cast<std::size_t>(a.references));
  std::vector<type> given(own.begin(), own.end());
  dim count = unknown;
  for (std::size_t i = variables; i < variables + rows; ++i) {
    expects(given[i].has_rank() && given[i].rank > 0, "loop: what has rows is of rank 1 or more");
    count = agree(count, given[i][0], "loop: the tensors have different numbers of rows");
    given[i] = row_of(given[i]);
  }
  // A variable's extent that the body changes is unknown; each time around at least one more is.
  std::vector<type> made;
  for (bool settled = false; !settled;) {
    made = rill::infer(*a.body, given);
    settled = true;
    for (std::size_t i = 0; i < variables; ++i) {
      expects(given[i].element != dtype::string, "loop: a loop variable can't be a string");
      auto const both =
          detail::common_type(given[i], made[i], "loop: the body must return the loop variables' own types");
      if (both != given[i]) given[i] = both, settled = false;
    }
  }
  if (!a.counted()) {
    given.erase(given.begin() + static_cast<std::ptrdiff_t>(variables),
                given.begin() + static_cast<std::ptrdiff_t>(variables + rows));
    auto const verdict = rill::infer(*a.condition, given)[0];
    expects(verdict.element == dtype::boolean && (verdict.rank == 0 || !verdict.has_rank()),
            "loop: the condition must be a scalar of bool");
  }
  for (std::size_t i = 0; i < variables; ++i) made[i] = given[i];
  for (std::size_t i = variables; i < made.size(); ++i) {
    expects(made[i].element != dtype::string, "loop: the body can't make rows of strings");
    made[i] = stacked(made[i], count);
  }
  made.push_back(dtype::int64);
  return made;
}

#if RILL_DEFINITIONS
/// A loop in the straight gear: bodies as nested plans, and two places for each variable, which take turns.
class loop_kernel {
 public:
  loop_kernel(kernel_request const& r, looping::attributes const& a)
      : references_(static_cast<std::size_t>(a.references)),
        rows_(static_cast<std::size_t>(a.rows)),
        backwards_(a.backwards),
        key_(static_cast<std::uint64_t>(a.key)) {
    auto const own = r.inputs.subspan(references_);
    auto const variables = static_cast<std::size_t>(a.variables);
    std::vector<type> given(own.begin(), own.end());
    for (std::size_t i = 0; i < variables; ++i) {
      given[i] = r.outputs[i];
      auto const from = a.body->outputs[i];
      auto const bytes = bytes_of(given[i]);
      variables_.push_back({bytes, room_, from.node == a.body->inputs[i]});
      if (!variables_.back().kept) room_ += (bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
    }
    for (std::size_t i = variables; i < variables + rows_; ++i) {
      count_ = given[i][0].extent;
      given[i] = row_of(given[i]);
      row_bytes_.push_back(bytes_of(given[i]));
    }
    for (std::size_t i = variables; i + 1 < r.outputs.size(); ++i)
      made_bytes_.push_back(bytes_of(row_of(r.outputs[i])));
    body_ = r.compile(r, *a.body, given);
    if (a.counted()) return;
    condition_ = r.compile(r, *a.condition, given);
    step_ = joinable(*a.body, *a.condition) ? r.compile(r, joined(*a.body, *a.condition), given) : nullptr;
  }

  /// Bytes of scratch that a call needs.
  std::size_t scratch() const { return 2 * room_; }

  void operator()(kernel_call const& call) const {
    step_context step = call.step;
    std::vector<void const*> now(variables_.size());
    for (std::size_t i = 0; i < now.size(); ++i) now[i] = call.in(references_ + i);
    std::int64_t done = 0;
    try {
      done = condition_ ? while_true(call, step, now) : over_rows(call, step, now);
    } catch (error const& e) {
      throw error(e.code(), "in iteration " + std::to_string(step.iteration) + detail::place_of(e));
    }
    for (std::size_t i = 0; i < now.size(); ++i)
      if (variables_[i].bytes != 0) std::memcpy(call.out(i), now[i], variables_[i].bytes);
    *call.out<std::int64_t>(call.outputs - 1) = done;
  }

 private:
  struct variable {
    std::size_t bytes, at;
    bool kept;  // the body returns it as it came
  };
  static std::size_t bytes_of(type const& t) {
    return static_cast<std::size_t>(elements(t.shape())) * size_of(t.element);
  }

  // Nothing in the condition depends on when it is computed.
  static bool joinable(subgraph const& body, subgraph const& condition) {
    auto const pure = [](node const& n) { return n.op->effect == effect::none; };
    return std::all_of(condition.nodes.begin(), condition.nodes.end(), pure) && !body.nodes.empty();
  }
  // The body, and the condition of what it returns.
  static subgraph joined(subgraph part, subgraph const& condition);

  // What the random numbers of an iteration are drawn by.
  void enter(step_context& step, kernel_call const& call, std::int64_t iteration) const {
    step.iteration = iteration;
    step.stream =
        random_stream::key_of(random_stream::key_of(call.step.stream, key_), static_cast<std::uint64_t>(iteration));
  }

  void captures(body_run& run, kernel_call const& call, std::size_t at) const {
    for (std::size_t i = references_ + variables_.size() + rows_; i < call.inputs; ++i) run.argument(at++, call.in(i));
  }
  // Points a run's variables at where they are, and its results at where they are to be.
  void turn(body_run& run, kernel_call const& call, std::vector<void const*>& now, bool odd) const {
    auto* const room = static_cast<std::byte*>(call.scratch()) + (odd ? room_ : 0);
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      run.argument(i, now[i]);
      if (variables_[i].kept) continue;
      run.result(i, room + variables_[i].at);
      now[i] = room + variables_[i].at;
    }
  }
  bool holds(kernel_call const& call, step_context& step, std::vector<void const*> const& now) const {
    bool verdict = false;
    auto const run = condition_->start();
    for (std::size_t i = 0; i < now.size(); ++i) run->argument(i, now[i]);
    captures(*run, call, now.size());
    run->result(0, &verdict);
    run->run(call.threads, step);
    return verdict;
  }

  std::int64_t while_true(kernel_call const& call, step_context& step, std::vector<void const*>& now) const {
    enter(step, call, 0);
    bool go_on = holds(call, step, now);
    auto const run = (step_ ? step_ : body_)->start();
    captures(*run, call, variables_.size());
    if (step_) run->result(variables_.size(), &go_on);
    std::int64_t i = 0;
    for (; go_on; ++i) {
      enter(step, call, i);
      if (step.can_end_early()) step.check();
      turn(*run, call, now, i % 2 != 0);
      run->run(call.threads, step);
      if (step_) continue;
      enter(step, call, i + 1);  // the first condition has had the numbers of iteration 0
      step.iteration = i;        // as an error says where the condition is one with the body
      go_on = holds(call, step, now);
    }
    return i;
  }

  std::int64_t over_rows(kernel_call const& call, step_context& step, std::vector<void const*>& now) const {
    auto const variables = variables_.size();
    auto const run = body_->start();
    captures(*run, call, variables + rows_);
    for (std::int64_t i = 0; i < count_; ++i) {
      enter(step, call, i);
      auto const row = static_cast<std::size_t>(backwards_ ? count_ - 1 - i : i);
      turn(*run, call, now, i % 2 != 0);
      for (std::size_t k = 0; k < rows_; ++k)
        run->argument(variables + k, call.in<std::byte>(references_ + variables + k) + row * row_bytes_[k]);
      for (std::size_t k = 0; k < made_bytes_.size(); ++k)
        run->result(variables + k, call.out<std::byte>(variables + k) + row * made_bytes_[k]);
      run->run(call.threads, step);
    }
    return count_;
  }

  std::size_t references_, rows_, room_ = 0;
  bool backwards_;
  std::uint64_t key_;
  std::int64_t count_ = 0;
  std::vector<variable> variables_;
  std::vector<std::size_t> row_bytes_, made_bytes_;
  std::shared_ptr<compiled_body> body_, condition_, step_;
};

inline subgraph loop_kernel::joined(subgraph part, subgraph const& condition) {
  auto const variables = part.outputs.size();
  std::vector<endpoint> place(condition.size());
  for (std::size_t i = 0; i < condition.inputs.size(); ++i)
    place[condition.inputs[i]] = i < variables ? part.outputs[i] : endpoint{part.inputs[i], 0};
  for (std::uint32_t i = 0; i < condition.size(); ++i) {
    auto n = condition[i];
    if (n.op == &fed_op) continue;
    for (auto& e : n.inputs) {
      auto const& at = place[e.node];
      e = condition[e.node].op == &fed_op ? at : endpoint{at.node, e.port};
    }
    for (auto& c : n.controls) c = place[c].node;
    place[i] = {static_cast<std::uint32_t>(part.size()), 0};
    part.nodes.push_back(std::move(n));
    part.origin.push_back(condition.origin[i]);
  }
  auto const verdict = condition.outputs[0];
  auto const& at = place[verdict.node];
  part.outputs.push_back(condition[verdict.node].op == &fed_op ? at : endpoint{at.node, verdict.port});
  return part;
}

inline kernel looping::cpu(kernel_request const& r) {
  loop_kernel made(r, decode<attributes>(r.at.attributes));
  auto const scratch = made.scratch();
  return kernel(std::move(made), scratch);
}
#endif

}  // namespace rill::ops

namespace rill {

namespace detail {

/// What a loop is recorded from.
struct loop_request {
  std::vector<value> variables = {}, rows = {};
  recorded_body condition = {}, body = {};  ///< the condition may be empty
  bool counted = false, backwards = false;
};
value record_loop(loop_request r);

#if RILL_RUNTIME
RILL_INLINE value record_loop(loop_request r) {
  auto& g = *(r.variables.empty() ? r.rows : r.variables)[0].graph;
  std::vector<std::pair<recorded_body*, std::size_t>> bodies{{&r.body, r.variables.size() + r.rows.size()}};
  if (!r.counted) bodies.push_back({&r.condition, r.variables.size()});
  auto const all = unite(bodies);
  auto inputs = all.references;
  for (auto const& list : {r.variables, r.rows, all.captures}) inputs.insert(inputs.end(), list.begin(), list.end());
  auto const& op = all.effect == effect::none    ? definition<ops::loop_op>()
                   : all.effect == effect::reads ? definition<ops::reading_loop_op>()
                                                 : definition<ops::updating_loop_op>();
  ops::looping::attributes a;
  a.variables = static_cast<std::int64_t>(r.variables.size());
  a.rows = static_cast<std::int64_t>(r.rows.size());
  a.references = static_cast<std::int64_t>(all.references.size());
  a.updates = static_cast<std::int64_t>(all.updates);
  a.backwards = r.backwards;
  a.key = static_cast<std::int64_t>(g.recorded());
  a.body = std::make_shared<subgraph const>(std::move(r.body.part));
  a.condition = std::make_shared<subgraph const>(std::move(r.condition.part));
  return g.after(all.waits, [&] { return g.add(op, encode(a), inputs, "loop"); });
}
#endif

}  // namespace detail

}  // namespace rill
