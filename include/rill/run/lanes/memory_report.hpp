// What a step needs of each memory, before it runs.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "rill/run/lanes/transfer.hpp"
#include "rill/run/plan/plan.hpp"
#include "rill/run/plan/session_devices.hpp"
#include "rill/state/container.hpp"

namespace rill {

/// What a step needs of one memory, when its nodes run in the order of its plan.
struct memory_need {
  /// The bytes that the step has while a node runs; for nodes at which they change.
  struct moment {
    std::string node;
    std::size_t bytes;
  };
  std::string where;              ///< the name of the device
  std::size_t variables = 0;      ///< bytes of variables, which stay
  std::size_t constants = 0;      ///< bytes of constants, which stay for as long as the session knows the step
  std::size_t arena = 0;          ///< bytes for values within regions of nodes, kept from step to step
  std::size_t peak = 0;           ///< the most bytes at once, with variables, constants and arena
  std::size_t limit = 0;          ///< bytes that there are; 0: no limit is known
  std::vector<moment> over_time;  ///< of values that pass from node to node
  std::vector<std::string> open;  ///< nodes whose values' extents are known only when they run, or that run bodies

  /// Whether `peak` is exact; otherwise it is the least.
  bool exact() const { return open.empty(); }
};

/// What a step needs of each memory.
struct memory_report {
  std::vector<memory_need> spaces;  ///< the host's first

  /// Returns the need of the device of that name; throws error(not_found).
  memory_need const& of(std::string_view device) const;
  /// Returns it as text: a paragraph for each memory.
  std::string text() const;
};

/// Returns what a plan needs. `devices` may be null.
memory_report report_memory(plan const& p, container const& state, session_devices* devices);
/// Throws error(resource_exhausted), which names the node that needs most, if a memory is too small for a step.
void check_memory(memory_report const& r);

}  // namespace rill

#if RILL_RUNTIME
#include <algorithm>
#include <utility>

#include "rill/base/error.hpp"
#include "rill/run/plan/text_table.hpp"

namespace rill {

namespace detail {

/// Adds up the needs of a plan, instruction by instruction.
class memory_counter {
 public:
  memory_counter(plan const& p, container const& state, session_devices* devices)
      : plan_(p), devices_(devices), now_(devices ? devices->size() + 1 : 1), largest_(now_.size()) {
    all_.spaces.resize(now_.size());
    host().where = host_name;
    for (std::size_t d = 1; d < now_.size(); ++d) {
      all_.spaces[d].where = (*devices)[d - 1].name;
      all_.spaces[d].limit = (*devices)[d - 1].on->memory_limit();
    }
    add_variables(state);
    host().arena = p.memory.arena;
    for (auto s : p.output_slots) now_[0] += bytes_of(p.all_slots[s]);
    for (auto s : p.held_slots) now_[0] += bytes_of(p.all_slots[s]);
  }

  memory_report run() {
    find_bodies();
    auto drop = plan_.drops.begin();
    for (auto at : plan_.instructions.indices()) {
      allocate(at);
      for (; drop != plan_.drops.end() && drop->after == at; ++drop) release(drop->owned);
    }
    for (std::size_t d = 0; d < now_.size(); ++d) {
      auto& s = all_.spaces[d];
      s.peak = s.variables + s.constants + s.arena + largest_[d];
    }
    return std::move(all_);
  }

 private:
  using instruction_id = plan::instruction_id;

  memory_need& host() { return all_.spaces[0]; }
  static std::size_t bytes_of(plan::slot const& s) {
    return s.of.is_known() && s.of.element != dtype::string ? detail::aligned_bytes(s.of.bytes()) : 0;
  }
  std::size_t number_of(memory_space const* space) const {
    for (std::size_t d = 1; d < now_.size(); ++d)
      if (space != nullptr && (*devices_)[d - 1].space() == space) return d;
    return 0;
  }
  void add_variables(container const& state) {
    std::vector<std::shared_ptr<variable_state>> counted;
    auto const add = [&](std::shared_ptr<variable_state> const& v, memory_space const* space) {
      if (std::find(counted.begin(), counted.end(), v) != counted.end()) return;
      counted.push_back(v);
      if (v->type().is_known() && v->type().element != dtype::string)
        all_.spaces[number_of(space)].variables += detail::aligned_bytes(v->type().bytes());
    };
    for (auto const& v : state.variables())
      if (auto const home = v->home()) add(v, *home);
    for (auto const& [v, home] : plan_.assumed.homes()) add(v, home);
  }
  // The plans of regions, by instruction; nodes with other bodies need more than is counted.
  void find_bodies() {
    body_of_.resize(plan_.instructions.size());
    for (std::size_t b = 0; b < plan_.bodies.size(); ++b) {
      auto const at = plan_.body_of[b];
      auto const* const planned = plan_.bodies[b]->planned();
      if (plan_.instructions[at].run.outputs_on >= 0 && planned) body_of_[as_integer(at)] = planned;
      else host().open.push_back(plan_.name(at));
    }
  }

  std::size_t space_of(instruction_id at) const {
    auto const d = plan_.instructions[at].run.outputs_on;
    return d < 0 || !devices_ ? 0 : number_of((*devices_)[static_cast<std::size_t>(d)].space());
  }
  template <class F> void for_each_owned(instruction_id at, F const& f) const {
    auto const& i = plan_.instructions[at];
    if (i.owned == no_index<plan::owned_id> || i.shares_variables) return;
    for (std::size_t o = 0; o < plan_.lines[at].outputs; ++o) f(as_index<plan::owned_id>(as_integer(i.owned) + o));
  }
  void allocate(instruction_id at) {
    auto const d = space_of(at);
    if (plan_.operations[at] == device_constant_op.name) {
      for_each_owned(at,
                     [&](auto id) { all_.spaces[d].constants += bytes_of(plan_.all_slots[plan_.owned_slots[id]]); });
      return;
    }
    auto const before = now_[d];
    for_each_owned(at, [&](plan::owned_id id) {
      auto const& s = plan_.all_slots[plan_.owned_slots[id]];
      if (!s.of.is_known()) all_.spaces[d].open.push_back(plan_.name(at));
      now_[d] += bytes_of(s);
      held_.resize(plan_.owned_slots.size(), none);
      held_[as_integer(id)] = d;
    });
    auto within = now_[d];
    if (auto const* const body = body_of_[as_integer(at)]) {
      all_.spaces[d].arena = std::max(all_.spaces[d].arena, body->memory.arena);
      within += inside(*body, d);
    }
    largest_[d] = std::max(largest_[d], within);
    if (now_[d] != before || within != now_[d]) all_.spaces[d].over_time.push_back({plan_.name(at), within});
  }
  // The most bytes of a region's values that lie neither in its arena nor in its results.
  std::size_t inside(plan const& body, std::size_t d) {
    std::size_t sum = 0, most = 0;
    auto drop = body.drops.begin();
    for (auto at : body.instructions.indices()) {
      auto const& i = body.instructions[at];
      bool const counts = i.owned != no_index<plan::owned_id> && !i.shares_variables;
      for (std::size_t o = 0; counts && o < body.lines[at].outputs; ++o) {
        auto const& s = body.all_slots[body.owned_slots[as_index<plan::owned_id>(as_integer(i.owned) + o)]];
        if (!s.of.is_known()) all_.spaces[d].open.push_back(body.name(at));
        sum += bytes_of(s);
      }
      most = std::max(most, sum);
      for (; drop != body.drops.end() && drop->after == at; ++drop)
        sum -= std::min(sum, bytes_of(body.all_slots[body.owned_slots[drop->owned]]));
    }
    return most;
  }
  void release(plan::owned_id id) {
    auto const d = held_.empty() ? none : std::exchange(held_[as_integer(id)], none);
    if (d == none) return;
    now_[d] -= bytes_of(plan_.all_slots[plan_.owned_slots[id]]);
  }

  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  plan const& plan_;
  session_devices* devices_;
  std::vector<std::size_t> now_, largest_;  // by memory
  std::vector<std::size_t> held_;           // of each owned value the memory that it lies in
  std::vector<plan const*> body_of_;
  memory_report all_;
};

}  // namespace detail

RILL_INLINE memory_report report_memory(plan const& p, container const& state, session_devices* devices) {
  return detail::memory_counter(p, state, devices).run();
}

RILL_INLINE memory_need const& memory_report::of(std::string_view device) const {
  auto const name = device_name::parse(device).text();
  for (auto const& s : spaces)
    if (s.where == name) return s;
  throw error(code::not_found, "the session has no device '" + std::string(device) + "'");
}

RILL_INLINE std::string memory_report::text() const try {
  std::string all;
  for (auto const& s : spaces) {
    auto text = (s.exact() ? "" : "at least ") + std::to_string(s.peak) + " bytes" +
                (s.limit ? " of " + std::to_string(s.limit) : "") + ": variables " + std::to_string(s.variables) +
                ", constants " + std::to_string(s.constants) + ", arena " + std::to_string(s.arena) + "\n";
    detail::text_table moments;
    for (auto const& m : s.over_time) moments.add({m.node, std::to_string(m.bytes)});
    text += detail::paragraph("values over time", moments.text());
    if (!s.exact()) text += "open: " + detail::comma_list(s.open) + "\n";
    all += detail::paragraph(s.where, text);
  }
  return all;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE void check_memory(memory_report const& r) {
  for (auto const& s : r.spaces) {
    if (s.limit == 0 || s.peak <= s.limit) continue;
    auto const most = std::max_element(s.over_time.begin(), s.over_time.end(),
                                       [](auto const& a, auto const& b) { return a.bytes < b.bytes; });
    throw error(code::resource_exhausted,
                "the step needs " + std::string(s.exact() ? "" : "at least ") + std::to_string(s.peak) +
                    " bytes of the memory of '" + s.where + "', which has " + std::to_string(s.limit) +
                    ": variables take " + std::to_string(s.variables) + ", values within regions " +
                    std::to_string(s.arena) +
                    (most == s.over_time.end() ? "" : ", values between nodes up to " + std::to_string(most->bytes)) +
                    "; feed smaller batches, or put some nodes on another device",
                most == s.over_time.end() ? "" : most->node);
  }
}

}  // namespace rill
#endif
