// Where the values of a plan lie: in its arena, in each other's place, or with those who fetch them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rill/run/plan/plan.hpp"

namespace rill {

#if RILL_RUNTIME
RILL_INLINE void plan::mark_outputs(subgraph const& sub) {
  for (auto& made : instructions_)
    if (made.run.allocates_outputs) {
      made.owned = static_cast<std::uint32_t>(owned_slots_.size());
      for (auto s : slots_of_[made.node]) {
        slots_[s].where = place::owned;
        slots_[s].index = static_cast<std::uint32_t>(owned_slots_.size());
        owned_slots_.push_back(s);
      }
    }
  auto const end = static_cast<std::uint32_t>(instructions_.size());
  std::vector<std::uint32_t> fetched(slots_.size(), none);  // which fetch has a slot first
  for (auto e : sub.outputs) {
    auto const s = slot_of(e);
    auto& from = slots_[s];
    from.last = end;
    if (!from.of.is_known()) {
      fetches_.push_back({s, {}, false});
      continue;
    }
    if (from.where == place::arena) {
      from.where = place::output;
      from.index = static_cast<std::uint32_t>(output_slots_.size());
      output_slots_.push_back(s);
    }
    auto const number = static_cast<std::uint32_t>(fetches_.size());
    auto const before = std::exchange(fetched[s], fetched[s] == none ? number : fetched[s]);
    bool const twice = before != none && from.where == place::output;
    bool const direct = !twice && from.where == place::output;
    if (!direct)
      copies_.push_back(
          {number, twice ? before : none, from.of.element, static_cast<std::size_t>(elements(from.of.shape()))});
    fetches_.push_back({s, sub.type_of(e).shape(), direct, from.where == place::fed ? from.index : std::int64_t{-1}});
  }
  for (auto s : owned_slots_)
    if (slots_[s].last < end) drops_.push_back({slots_[s].last, slots_[s].index});
  std::sort(drops_.begin(), drops_.end(), [](drop const& a, drop const& b) { return a.after < b.after; });
}

// Where results are made by writing over values again and again, those lie where the result is to be; and if the first
// of them came from outside, the caller may want the result in its place.
RILL_INLINE void plan::take_over(subgraph const& sub, forking* forked) {
  if (std::all_of(instructions_.begin(), instructions_.end(),
                  [](auto const& i) { return i.run.updates_in_place.empty(); }))
    return;
  std::vector<std::vector<std::uint32_t*>> names(slots_.size());  // where a slot is named
  for (auto& list : slots_of_)
    for (auto& s : list) names[s].push_back(&s);
  std::vector<fetch*> direct(output_slots_.size());
  for (auto& f : fetches_)
    if (f.direct) direct[slots_[f.slot].index] = &f;
  for (auto at = static_cast<std::uint32_t>(instructions_.size()); at-- > 0;) {
    auto const& n = sub[instructions_[at].node];
    for (auto const& pair : instructions_[at].run.updates_in_place) {
      auto const out = slots_of_[instructions_[at].node][pair.output], in = slot_of(n.inputs[pair.input]);
      auto& from = slots_[in];
      if (slots_[out].where != place::output || from.last != at || from.of != slots_[out].of) continue;
      if (forked && !std::all_of(forked->users[in].begin(), forked->users[in].end(),
                                 [&](auto user) { return user == at || forked->before(user, at); }))
        continue;
      if (from.where == place::fed) {
        direct[slots_[out].index]->over = from.index;
      } else if (from.where == place::arena) {
        slots_[out].first = from.first;
        for (auto* name : names[in]) *name = out, names[out].push_back(name);
        names[in].clear();
        from.index = none;
        if (forked) {
          auto& users = forked->users[out];
          users.insert(users.end(), forked->users[in].begin(), forked->users[in].end());
        }
      }
    }
  }
}

// Blocks of the arena; an output takes over the block of an input that ends here where the kernel allows it. In the
// parallel execution, values share memory only where one is always done with before the other is made.
RILL_INLINE void plan::place_values(subgraph const& sub, forking* forked, step_context const* step) {
  std::vector<std::vector<std::uint32_t>> users;  // of each block, in parallel execution
  auto const ended_before = [&](std::vector<std::uint32_t> const& list, std::uint32_t at) {
    return std::all_of(list.begin(), list.end(), [&](auto user) { return forked->before(user, at); });
  };
  auto const bytes = [&](slot const& s) { return s.of.bytes(); };
  for (std::uint32_t at = 0; at < instructions_.size(); ++at) {
    if (at % checked_each == 0) check(step);
    auto const& made = instructions_[at];
    auto const& n = sub[made.node];
    std::vector<std::uint32_t> taken;
    for (std::uint32_t o = 0; o < lines_[at].outputs; ++o) {
      auto& s = slots_[slots_of_[made.node][o]];
      if (s.where != place::arena) continue;
      if (s.of.element == dtype::string) {
        s.where = place::held;
        s.index = static_cast<std::uint32_t>(held_slots_.size());
        held_slots_.push_back(slots_of_[made.node][o]);
        continue;
      }
      s.index = none;
      for (auto const& pair : made.run.input_output_aliases) {
        if (pair.output != o) continue;
        auto const& in = slots_[slot_of(n.inputs[pair.input])];
        if (in.where != place::arena || in.last != at || bytes(in) != bytes(s)) continue;
        if (std::find(taken.begin(), taken.end(), in.index) != taken.end()) continue;
        if (forked && !std::all_of(users[in.index].begin(), users[in.index].end(),
                                   [&](auto user) { return user == at || forked->before(user, at); }))
          continue;
        s.index = in.index;
        taken.push_back(in.index);
        blocks_[s.index].last = s.last;
        if (forked) users[s.index] = forked->users[slots_of_[made.node][o]];  // who used it before is done
        break;
      }
      if (s.index != none) continue;
      s.index = static_cast<std::uint32_t>(blocks_.size());
      blocks_.push_back({bytes(s), at, s.last, 0});
      if (forked) users.push_back(forked->users[slots_of_[made.node][o]]);
    }
    scratch_.push_back(none);
    if (made.run.scratch() != 0) {
      scratch_.back() = static_cast<std::uint32_t>(blocks_.size());
      blocks_.push_back({made.run.scratch(), at, at, 0});
      if (forked) users.push_back({at});
    }
  }
  if (!forked) memory_.arena = plan_memory(blocks_);
  else if (forked->arrivals) {
    std::vector<arrivals::set> ends;
    for (auto const& list : users) {
      auto& end = ends.emplace_back(arrivals::nothing);
      for (auto user : list) end = forked->arrivals->joined(end, forked->arrivals->before_end(user));
    }
    memory_.arena = plan_memory(blocks_, ends, *forked->arrivals);
  } else
    memory_.arena = detail::place_by_size(blocks_, [&](auto a, auto b) {
      return !ended_before(users[a], blocks_[b].first) && !ended_before(users[b], blocks_[a].first);
    });
  std::vector<std::size_t> change(instructions_.size() + 2);
  for (auto const& b : blocks_) change[b.first] += b.bytes, change[b.last + 1] -= b.bytes;
  for (std::size_t i = 0, alive = 0; i < change.size(); ++i)
    memory_.least = std::max(memory_.least, alive += change[i]);
}

RILL_INLINE void plan::place_apart() {
  for (std::uint32_t at = 0; at < instructions_.size(); ++at) {
    auto const& made = instructions_[at];
    auto const block = [&](std::size_t size) {
      blocks_.push_back({size, at, at, memory_.arena});
      memory_.arena = detail::add_bytes(memory_.arena, detail::aligned_bytes(size));
      return static_cast<std::uint32_t>(blocks_.size() - 1);
    };
    for (auto number : slots_of_[made.node]) {
      auto& s = slots_[number];
      if (s.where != place::arena) continue;
      bool const apart = s.of.element == dtype::string;
      s.where = apart ? place::held : place::arena;
      s.index = apart ? static_cast<std::uint32_t>(held_slots_.size()) : block(s.of.bytes());
      if (apart) held_slots_.push_back(number);
    }
    scratch_.push_back(made.run.scratch() != 0 ? block(made.run.scratch()) : none);
  }
}

RILL_INLINE void plan::lay_pointers(subgraph const& sub) {
  for (std::size_t at = 0; at < instructions_.size(); ++at) {
    lines_[at].pointers = static_cast<std::uint32_t>(pointers_);
    auto const add = [&](std::uint32_t s) { slots_[s].positions.push_back(static_cast<std::uint32_t>(pointers_++)); };
    for (auto e : sub[instructions_[at].node].inputs) {
      if (sub[e.node].op->name == "variable" && slots_[slot_of(e)].where != place::owned)
        ++pointers_;  // by reference alone
      else add(slot_of(e));
    }
    for (auto s : slots_of_[instructions_[at].node]) add(s);
    ++pointers_;  // the scratch
  }
  kept_first_ = pointers_;
  for (auto s : kept_) slots_[s].positions.push_back(static_cast<std::uint32_t>(pointers_++));
}

RILL_INLINE void plan::mark_plain() {
  std::vector<bool> more(instructions_.size());
  for (auto const& d : drops_) more[d.after] = true;
  for (std::size_t at = 0; at < instructions_.size(); ++at) {
    auto const& made = instructions_[at];
    if (!more[at] && !made.run.waits && made.owned == none) lines_[at].plain = made.run.called();
  }
}
#endif

}  // namespace rill
