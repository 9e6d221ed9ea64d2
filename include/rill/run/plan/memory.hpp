// The fifth stage of a plan: places the intermediate values in the arena, where they may share memory.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "rill/run/plan/parallel_order.hpp"

#if RILL_RUNTIME
namespace rill::planning {

/// The blocks of the arena, and the values outside of it.
struct memory_layout {
  indexed<plan::block_id, memory_block> blocks;
  indexed<plan::instruction_id, plan::block_id> scratch;  // `no_index`: none
  indexed<plan::held_id, plan::slot_id> held;
  std::size_t arena = 0;  // bytes

  /// Places a value of strings in a tensor of its own, because its elements own memory.
  void hold(plan::slot_id id, plan::slot& s) { s.where = held.push_back(id); }
};

// Joins chains of values that are updated in place. From the last instruction to the first: if an instruction updates
// an input in place, and no instruction reads the input later, then the input is computed in the memory of the output.
class in_place_chains {
 public:
  in_place_chains(subgraph const& sub, kernel_list const& kernels, slot_layout& layout, result_list& results,
                  parallel_order* order)
      : subgraph_(sub),
        kernels_(kernels),
        slots_(layout),
        order_(order),
        names_(layout.all.size()),
        direct_(results.outputs.size()) {
    for (auto& list : layout.of_node)
      for (auto& s : list) names_[s].push_back(&s);
    for (auto& f : results.fetches)
      if (f.direct) direct_[std::get<plan::output_id>(layout.all[f.slot].where)] = &f;
  }

  void run() {
    for (auto i = kernels_.instructions.size(); i-- > 0;) {
      auto const at = as_index<plan::instruction_id>(i);
      for (auto const& pair : kernels_.instructions[at].run.updates_in_place) {
        auto const node = kernels_.instructions[at].node;
        join(at, slots_.of(subgraph_[node].inputs[pair.input]), slots_.of_node[node][pair.output]);
      }
    }
  }

 private:
  void join(plan::instruction_id at, plan::slot_id in, plan::slot_id out) {
    auto &from = slots_.all[in], &to = slots_.all[out];
    auto const* const output = std::get_if<plan::output_id>(&to.where);
    if (!output || from.last != at || from.of != to.of) return;
    if (order_ && !order_->end_with(order_->users[in], at)) return;
    if (auto const* const fed = std::get_if<plan::feed_id>(&from.where)) {
      direct_[*output]->over = as_integer(*fed);
    } else if (std::holds_alternative<std::monostate>(from.where)) {
      to.first = from.first;
      for (auto* name : names_[in]) *name = out, names_[out].push_back(name);
      names_[in].clear();
      if (!order_) return;
      auto& users = order_->users[out];
      users.insert(users.end(), order_->users[in].begin(), order_->users[in].end());
    }
  }

  subgraph const& subgraph_;
  kernel_list const& kernels_;
  slot_layout& slots_;
  parallel_order* order_;
  indexed<plan::slot_id, std::vector<plan::slot_id*>> names_;  // of each slot its entries in slot_layout
  indexed<plan::output_id, plan::fetch*> direct_;              // of each output its fetch
};

// Gives each value a new block, or the block of an input that is not needed any more and whose memory the kernel may
// write.
class block_assignment {
 public:
  block_assignment(subgraph const& sub, kernel_list const& kernels, slot_layout& layout, parallel_order const* order)
      : subgraph_(sub), kernels_(kernels), slots_(layout), order_(order) {}

  memory_layout run(step_context const* step) {
    for (auto at : kernels_.instructions.indices()) {
      if (as_integer(at) % checked_each == 0) check(step);
      auto const& made = kernels_.instructions[at];
      taken_.clear();
      auto const& outputs = slots_.of_node[made.node];
      for (std::uint32_t port = 0; port < outputs.size(); ++port) place(at, port, outputs[port]);
      all_.scratch.push_back(made.run.scratch() != 0 ? add({made.run.scratch(), at, at}, {at})
                                                     : no_index<plan::block_id>);
    }
    return std::move(all_);
  }
  /// The instructions that use each block, where they run in parallel.
  indexed<plan::block_id, std::vector<plan::instruction_id>> const& users() const { return users_; }

 private:
  void place(plan::instruction_id at, std::uint32_t port, plan::slot_id id) {
    auto& s = slots_.all[id];
    if (!std::holds_alternative<std::monostate>(s.where)) return;
    if (s.of.element == dtype::string) return all_.hold(id, s);
    auto const shared = block_of_input(at, port, s);
    if (shared == no_index<plan::block_id>) {
      s.where = add({s.of.bytes(), at, s.last}, order_ ? order_->users[id] : std::vector<plan::instruction_id>());
      return;
    }
    s.where = shared;
    taken_.push_back(shared);
    all_.blocks[shared].last = s.last;
    if (order_) users_[shared] = order_->users[id];  // the earlier users are done
  }
  plan::block_id block_of_input(plan::instruction_id at, std::uint32_t port, plan::slot const& s) const {
    auto const& made = kernels_.instructions[at];
    for (auto const& pair : made.run.input_output_aliases) {
      if (pair.output != port) continue;
      auto const& in = slots_.all[slots_.of(subgraph_[made.node].inputs[pair.input])];
      auto const* const block = std::get_if<plan::block_id>(&in.where);
      if (!block || in.last != at || in.of.bytes() != s.of.bytes()) continue;
      if (std::find(taken_.begin(), taken_.end(), *block) != taken_.end()) continue;
      if (order_ && !order_->end_with(users_[*block], at)) continue;
      return *block;
    }
    return no_index<plan::block_id>;
  }
  plan::block_id add(memory_block b, std::vector<plan::instruction_id> users) {
    if (order_) users_.push_back(std::move(users));
    return all_.blocks.push_back(b);
  }

  subgraph const& subgraph_;
  kernel_list const& kernels_;
  slot_layout& slots_;
  parallel_order const* order_;
  memory_layout all_;
  indexed<plan::block_id, std::vector<plan::instruction_id>> users_;
  std::vector<plan::block_id> taken_;  // by other outputs of the current instruction
};

// Gives the blocks their offsets. Returns the size of the arena in bytes.
inline std::size_t place_blocks(std::vector<memory_block>& blocks,
                                std::vector<std::vector<plan::instruction_id>> const& users, parallel_order* order) {
  if (!order) return plan_memory(blocks);
  if (order->arrivals) {
    std::vector<arrivals::set> ends;
    for (auto const& list : users) {
      auto& end = ends.emplace_back(arrivals::nothing);
      for (auto user : list) end = order->arrivals->joined(end, order->arrivals->before_end(user));
    }
    return plan_memory(blocks, ends, *order->arrivals);
  }
  auto const ended_before = [&](std::vector<plan::instruction_id> const& list, plan::instruction_id at) {
    return std::all_of(list.begin(), list.end(), [&](auto user) { return order->before(user, at); });
  };
  return detail::place_by_size(blocks, [&](auto a, auto b) {
    return !ended_before(users[a], blocks[b].first) && !ended_before(users[b], blocks[a].first);
  });
}

/// Gives a chain of values that are updated in place one place, the place of the result. If the first value is a feed,
/// its fetch notes that the result may overwrite the feed. `order` is null in sequential execution.
inline void update_in_place(subgraph const& sub, kernel_list const& kernels, slot_layout& layout, result_list& results,
                            parallel_order* order) {
  if (std::any_of(kernels.instructions.begin(), kernels.instructions.end(),
                  [](auto const& i) { return !i.run.updates_in_place.empty(); }))
    in_place_chains(sub, kernels, layout, results, order).run();
}

/// Lays out the arena. In parallel execution, two values share memory only if all users of one always run before the
/// other is made.
inline memory_layout assign_memory(subgraph const& sub, kernel_list const& kernels, slot_layout& layout,
                                   parallel_order* order, step_context const* step) {
  block_assignment blocks(sub, kernels, layout, order);
  auto all = blocks.run(step);
  all.arena = place_blocks(all.blocks.all(), blocks.users().all(), order);
  return all;
}

/// Lays out the arena of an iteration in tagged execution. Values share no memory, because their order is not known.
inline memory_layout assign_memory_apart(kernel_list const& kernels, slot_layout& layout) {
  memory_layout all;
  for (auto at : kernels.instructions.indices()) {
    auto const& made = kernels.instructions[at];
    auto const block = [&](std::size_t bytes) {
      memory_block const b{bytes, at, at, all.arena};
      all.arena = detail::add_bytes(all.arena, detail::aligned_bytes(bytes));
      return all.blocks.push_back(b);
    };
    for (auto id : layout.of_node[made.node]) {
      auto& s = layout.all[id];
      if (!std::holds_alternative<std::monostate>(s.where)) continue;
      if (s.of.element == dtype::string) all.hold(id, s);
      else s.where = block(s.of.bytes());
    }
    all.scratch.push_back(made.run.scratch() != 0 ? block(made.run.scratch()) : no_index<plan::block_id>);
  }
  return all;
}

/// Returns the most bytes of blocks that are alive at one of `n` instructions: no arena can be smaller.
inline std::size_t most_alive(indexed<plan::block_id, memory_block> const& blocks, std::size_t n) {
  indexed<plan::instruction_id, std::size_t> change(n + 2);
  for (auto const& b : blocks) change[b.first] += b.bytes, change[next(b.last)] -= b.bytes;
  std::size_t most = 0, alive = 0;
  for (auto c : change) most = std::max(most, alive += c);
  return most;
}

}  // namespace rill::planning
#endif
