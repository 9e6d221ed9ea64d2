// The stages of a plan as text, a function for each.
#pragma once
#include <string>

#include "rill/run/plan/plan.hpp"
#include "rill/run/plan/stages.hpp"

namespace rill {

/// Returns the values, their types and the numbers of the pointers to them.
std::string slots_text(plan const& p);
/// Returns the instructions: node, operation, what it reads and writes, the device that it runs on, or copies from or
/// to, and what is special about its kernel.
std::string kernels_text(plan const& p);
/// Returns the execution and the reason for it; in parallel execution also which instructions each one waits for, and
/// which it lets begin where those are several.
std::string schedule_text(plan const& p);
/// Returns where each value lies in the arena and outside of it, how many bytes it takes, between which instructions it
/// is needed, and whose place it takes; and where the results come from.
std::string memory_text(plan const& p);
/// Returns the stages of the plans of the bodies and functions that the instructions run.
std::string bodies_text(plan const& p, stages which);
/// Returns those of these stages that are in `which`, each below its name.
std::string text(plan const& p, stages which);

}  // namespace rill

#if RILL_RUNTIME
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "rill/run/plan/costs.hpp"
#include "rill/run/plan/text_table.hpp"

namespace rill {

namespace detail {

/// Prints one plan.
class plan_printer {
 public:
  explicit plan_printer(plan const& p) : plan_(p), makers_(p.all_slots.size()) {
    for (auto at : instructions())
      for (std::size_t o = 0; o < p.lines[at].outputs; ++o) makers_[p.pointed[p.lines[at].output(o)]].push_back(at);
  }

  std::string slot_table() const {
    text_table all;
    for (auto id : plan_.all_slots.indices()) {
      auto const& s = plan_.all_slots[id];
      std::vector<std::string> pointers;
      for (auto p : s.positions) pointers.push_back(number(p));
      auto const where = pointers.empty() ? "no pointers" : "pointers " + comma_list(pointers);
      all.add({number(id), name(id), s.of.text(), where});
    }
    return all.text();
  }

  std::string kernels() const {
    text_table all;
    for (auto at : instructions()) {
      auto const& line = plan_.lines[at];
      std::vector<std::string> read, made;
      for (std::size_t k = 0; k < line.inputs; ++k) read.push_back(name(plan_.pointed[line.input(k)]));
      for (std::size_t o = 0; o < line.outputs; ++o)
        made.push_back(plan_.all_slots[plan_.pointed[line.output(o)]].of.text());
      all.add({number(at), plan_.name(at), std::string(plan_.operations[at]), "(" + comma_list(read) + ")",
               made.empty() ? "" : "-> " + comma_list(made), about_kernel(at)});
    }
    return all.text();
  }

  std::string schedule() const {
    auto const& s = plan_.schedule;
    auto text = std::string(execution_name()) + ": " + reason() + "\n";
    if (s.empty()) return text;
    if (s.alone) text += "one thread runs all; the others are for its kernels' own loops\n";
    if (s.one_at_a_time) text += "an instruction begins when no other runs; one that waits does not count\n";
    indexed<instruction_id, list> before(plan_.instructions.size());
    for (auto at : instructions())
      for (auto next : s.after(at)) before[next].push_back(at);
    text_table all;
    for (auto at : instructions()) {
      auto const next = s.after(at);
      all.add({number(at), plan_.name(at), numbers_or("after ", before[at], "begins at once"),
               next.size() > 1 ? numbers_or("then forks to ", {next.begin(), next.end()}, "") : ""});
    }
    return text + all.text();
  }

  std::string memory() const {
    auto const& m = plan_.memory;
    auto text = m.arena == 0 ? "no arena" : "arena of " + bytes(m.arena);
    if (is_frame()) text += ", in which no values share memory";
    else if (m.arena != 0) text += ", at most " + bytes(m.least) + " of it in use at once";
    if (m.held != 0) text += "; constants of " + bytes(m.held);
    return text + "\n" + paragraph("in the arena", arena()) + paragraph("outside the arena", outside()) +
           paragraph("results", results());
  }

  std::string bodies(stages which) const {
    std::string text;
    for (std::size_t b = 0; b < plan_.bodies.size(); ++b)
      text += paragraph("a body of " + plan_.name(plan_.body_of[b]), plan_.bodies[b]->explain(which));
    return plan_.functions ? text + plan_.functions->explain(which) : text;
  }

 private:
  using instruction_id = plan::instruction_id;
  using list = std::vector<instruction_id>;

  index_range<plan::instruction_id> instructions() const { return plan_.instructions.indices(); }
  template <index_type Id> static std::string number(Id i) { return std::to_string(as_integer(i)); }
  static std::string bytes(std::size_t n) { return std::to_string(n) + (n == 1 ? " byte" : " bytes"); }
  // Whether it is an iteration in tagged execution, whose instructions have no order.
  bool is_frame() const { return plan_.why.why == schedule_reason::tokens; }
  std::string name(plan::slot_id id) const {
    auto const e = plan_.all_slots[id].value;
    return plan_.nodes[e.node] + (e.port == 0 ? "" : ":" + std::to_string(e.port));
  }
  static std::string numbers_or(std::string_view before, list const& all, std::string_view none) {
    std::vector<std::string> texts;
    for (auto at : all) texts.push_back(number(at));
    return all.empty() ? std::string(none) : std::string(before) + comma_list(texts);
  }

  std::string about_kernel(instruction_id at) const {
    auto const& k = plan_.instructions[at].run;
    std::vector<std::string> all;
    if (auto const on = device(at); !on.empty()) all.push_back(on);
    if (k.scratch() != 0) all.push_back("scratch of " + bytes(k.scratch()));
    if (k.waits) all.push_back("may wait");
    if (k.allocates_outputs) all.push_back("allocates its outputs");
    return comma_list(all);
  }

  // The device that an instruction runs on, or copies from or to.
  std::string device(instruction_id at) const {
    auto const& k = plan_.instructions[at].run;
    auto const name = [&](std::int32_t d) { return plan_.devices.at(static_cast<std::size_t>(d)); };
    auto const copies = "copies " + bytes(k.copied);
    if (k.inputs_on >= 0)
      return copies + " from " + name(k.inputs_on) + (k.outputs_on >= 0 ? " to " + name(k.outputs_on) : "");
    if (k.outputs_on < 0) return {};
    return (k.copied != 0 ? copies + " to " : "on ") + name(k.outputs_on);
  }

  char const* execution_name() const {
    if (is_frame()) return "tagged";
    return plan_.forks() ? "parallel" : "sequential";
  }
  std::string reason() const {
    auto const microseconds = [](double ns) { return std::to_string(static_cast<long>(ns / 1000)) + " us"; };
    switch (plan_.why.why) {
      case schedule_reason::wish:
        return "the session asks for it";
      case schedule_reason::body:
        return "one thread goes through a body";
      case schedule_reason::one_thread:
        return "there is one thread";
      case schedule_reason::too_many:
        return "there are more than " + std::to_string(costs::most_parallel) + " instructions";
      case schedule_reason::several_wait:
        return "several kernels may wait, and one of them for another";
      case schedule_reason::tagged_node:
        return "a kernel runs in tagged execution";
      case schedule_reason::tokens:
        return "an instruction runs when its tokens have come";
      default:
        return "forking saves about " + microseconds(plan_.why.gain_ns) + ", and is done from " +
               microseconds(costs::least_parallel_gain) + " on";
    }
  }
  std::string life(instruction_id first, instruction_id last) const {
    if (is_frame()) return {};
    auto const end = last == plan_.instructions.end_index();
    return "from " + number(first) + (end ? " to the end" : " to " + number(last));
  }
  std::string at_offset(plan::block_id b) const { return "at " + std::to_string(plan_.blocks[b].offset); }
  std::string arena() const {
    text_table all;
    indexed<plan::block_id, plan::slot_id> last_in(plan_.blocks.size(), no_index<plan::slot_id>);
    for (auto id : plan_.all_slots.indices()) {
      auto const& s = plan_.all_slots[id];
      auto const* const b = std::get_if<plan::block_id>(&s.where);
      if (!b) continue;
      auto const before = std::exchange(last_in[*b], id);
      auto const shares = before == no_index<plan::slot_id> ? "" : "in the place of " + name(before);
      all.add({name(id), at_offset(*b), bytes(s.of.bytes()), life(s.first, s.last), shares});
    }
    for (auto at : instructions()) {
      auto const b = plan_.scratch[at];
      if (b == no_index<plan::block_id>) continue;
      all.add({"scratch of " + plan_.name(at), at_offset(b), bytes(plan_.blocks[b].bytes), life(at, at)});
    }
    return all.text();
  }
  std::string outside() const {
    text_table all;
    for (auto id : plan_.all_slots.indices()) {
      auto const& s = plan_.all_slots[id];
      if (std::holds_alternative<plan::block_id>(s.where)) continue;
      auto const* const c = std::get_if<plan::constant_id>(&s.where);
      auto const size = c ? plan_.constants[*c].bytes() : s.of.is_known() ? s.of.bytes() : 0;
      all.add({name(id), place(s.where), s.of.is_known() ? bytes(size) : "open",
               std::holds_alternative<std::monostate>(s.where) ? "" : life(s.first, s.last), in_place(id)});
    }
    return all.text();
  }
  static std::string place(plan::location const& where) {
    if (auto const* const id = std::get_if<plan::feed_id>(&where)) return "feed " + std::to_string(as_integer(*id));
    if (std::holds_alternative<plan::constant_id>(where)) return "constant";
    if (std::holds_alternative<plan::owned_id>(where)) return "allocated by its kernel";
    if (std::holds_alternative<plan::output_id>(where)) return "tensor of a result";
    if (std::holds_alternative<plan::held_id>(where)) return "strings, kept for the next step";
    return "nowhere: no kernel reads its elements";
  }
  std::string in_place(plan::slot_id id) const {
    std::vector<std::string> names;
    for (std::size_t k = 1; k < makers_[id].size(); ++k) names.push_back(plan_.name(makers_[id][k]));
    return names.empty() ? "" : "updated in place by " + comma_list(names);
  }
  std::string results() const {
    text_table all;
    for (auto id : plan_.fetches.indices()) {
      auto const& f = plan_.fetches[id];
      auto const& where = plan_.all_slots[f.slot].where;
      std::string how;
      if (std::holds_alternative<plan::feed_id>(where)) how = "a copy of what is fed";
      else if (std::holds_alternative<plan::constant_id>(where)) how = "a copy of the constant";
      else if (f.over >= 0) how = "in a body, may overwrite feed " + std::to_string(f.over);
      all.add({number(id), name(f.slot), how});
    }
    return all.text();
  }

  plan const& plan_;
  indexed<plan::slot_id, list> makers_;  // the instructions that write each value
};

}  // namespace detail

RILL_INLINE std::string slots_text(plan const& p) { return detail::plan_printer(p).slot_table(); }
RILL_INLINE std::string kernels_text(plan const& p) { return detail::plan_printer(p).kernels(); }
RILL_INLINE std::string schedule_text(plan const& p) { return detail::plan_printer(p).schedule(); }
RILL_INLINE std::string memory_text(plan const& p) { return detail::plan_printer(p).memory(); }
RILL_INLINE std::string bodies_text(plan const& p, stages which) { return detail::plan_printer(p).bodies(which); }

RILL_INLINE std::string text(plan const& p, stages which) try {
  detail::plan_printer const print(p);
  std::string all;
  if (has(which, stages::values)) all += detail::paragraph("values", print.slot_table());
  if (has(which, stages::kernels)) all += detail::paragraph("kernels", print.kernels());
  if (has(which, stages::schedule)) all += detail::paragraph("schedule", print.schedule());
  if (has(which, stages::memory)) all += detail::paragraph("memory", print.memory());
  if (has(which, stages::bodies)) all += detail::paragraph("bodies", print.bodies(which));
  return all;
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill
#endif
