// The second stage of a plan: which nodes compute, and by which kernels.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rill/run/plan/deferred_pieces.hpp"
#include "rill/run/plan/primitive_region.hpp"
#include "rill/run/plan/request.hpp"
#include "rill/run/plan/session_devices.hpp"
#include "rill/run/plan/slots.hpp"
#include "rill/run/wait/fiber_call.hpp"

#if RILL_RUNTIME
namespace rill::planning {

/// Whether a node takes an input as a variable, rather than its value.
inline bool takes_variable(subgraph const& sub, node const& n, std::size_t input) {
  return takes_reference(n, input) && is_variable(sub[n.inputs[input].node]);
}

/// Returns which nodes a step computes. It leaves out nodes of which others read only the extents, and variables that
/// others only take by reference.
inline std::vector<bool> nodes_to_compute(subgraph const& sub, std::vector<std::uint32_t> const& order) {
  std::vector<bool> wanted(sub.size());
  auto const run = [&](std::uint32_t i) { wanted[i] = wanted[i] || !is_variable(sub[i]); };
  for (auto e : sub.outputs) wanted[e.node] = true;
  for (auto t : sub.targets) run(t);
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    auto const& n = sub[*i];
    wanted[*i] = wanted[*i] || n.op == &fed_op || n.op->effect == effect::writes;
    if (!wanted[*i]) continue;
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (!takes_reference(n, k) && !reads_extents_alone(n, k)) wanted[n.inputs[k].node] = true;
    for (auto c : n.controls) run(c);
  }
  return wanted;
}

/// Returns which nodes an iteration of a frame computes: all but variables of which no node reads the value.
inline std::vector<bool> nodes_to_compute_in_frame(subgraph const& iteration, std::vector<endpoint> const& kept) {
  std::vector<bool> wanted(iteration.size());
  for (std::uint32_t i = 0; i < iteration.size(); ++i) {
    auto const& n = iteration[i];
    wanted[i] = wanted[i] || !is_variable(n);
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (!takes_reference(n, k)) wanted[n.inputs[k].node] = true;
  }
  for (auto e : kept) wanted[e.node] = true;
  return wanted;
}

/// The kernels of a plan.
struct kernel_list {
  indexed<plan::instruction_id, plan::instruction> instructions;
  indexed<plan::constant_id, tensor> constants;
  assumptions assumed;
  std::vector<std::shared_ptr<keeps_memory>> bodies;
  std::vector<plan::instruction_id> body_of;  // of each body: the instruction whose kernel runs it
  std::size_t waiting = 0;                    // the number of kernels that may wait; for tasks count twice
  bool tagged = false;                        // a node runs in tagged execution
};

/// Makes the kernels of a plan's nodes.
class kernel_selector {
 public:
  kernel_selector(subgraph const& sub, slot_layout& layout, plan_request const& with, compiled_functions* functions)
      : subgraph_(sub), slots_(layout), with_(with), functions_(functions), resized_(nodes_resized(sub)) {}

  kernel_list select(std::vector<std::uint32_t> const& order, std::vector<bool> const& computed) {
    for (auto i : order) {
      auto const& n = subgraph_[i];
      if (i % checked_each == 0 || has_bodies(n)) check(with_.step);
      if (n.op == &fed_op || n.op->aliases_input || !computed[i]) continue;
      if (is_constant(n)) add_constant(n, slots_.at({i, 0}));
      else add(i, n);
    }
    return std::move(list_);
  }

 private:
  // The types of a node's inputs, and the variables that it takes by reference.
  struct kernel_inputs {
    std::vector<type> types;
    std::vector<std::shared_ptr<variable_state>> variables;

    bool has_variable() const {
      return std::any_of(variables.begin(), variables.end(), [](auto const& v) { return v != nullptr; });
    }
  };

  void add_constant(node const& n, plan::slot& s) { s.where = list_.constants.push_back(constant_value(n)); }
  void add(std::uint32_t i, node const& n) {
    if (is_variable(n)) {
      list_.assumed.add(n, with_.state);
      expect_home(with_.state.variable(n.name, declared_type(n)), n);
    }
    auto const inputs = inputs_of(n);
    bool const defer_bodies = detail::defers_bodies(n, resized_);
    if (!defer_bodies) list_.assumed.add_bodies(n, with_.state);
    auto run = make_kernel(n, inputs, defer_bodies);
    list_.body_of.resize(list_.bodies.size(), list_.instructions.end_index());
    declare_aliases(run, n);
    list_.waiting += run.waits + run.waits_for_tasks;
    bool const shares = is_variable(n) || (run.outputs_on < 0 && inputs.has_variable());
    list_.instructions.push_back({std::move(run), no_index<plan::owned_id>, i, shares});
  }

  // A variable's value must lie in the memory of the node that uses it, now and when the step runs.
  void expect_home(std::shared_ptr<variable_state> const& v, node const& user) {
    if (with_.on != nullptr) return;  // it was asked for the whole region
    auto const now = v->home();
    auto* const wanted = with_.devices ? with_.devices->space_of(user) : nullptr;
    if (has_bodies(user) && wanted == nullptr) {  // the nodes in its bodies have places of their own
      if (has_devices(with_.devices) && now) list_.assumed.add_home(v, *now);
      return;
    }
    if (now && *now != wanted)
      throw error(code::failed_precondition,
                  "the variable '" + v->name() + "' lies in the memory of " + name_of(*now) +
                      " and would be used in that of " + name_of(wanted) +
                      ": give the session its device (session_options::devices); primitives of control flow use no "
                      "variables of devices",
                  user.name);
    if (has_devices(with_.devices)) list_.assumed.add_home(v, wanted);
  }
  static std::string name_of(memory_space const* s) { return s ? "'" + std::string(s->name()) + "'" : "the host"; }

  kernel_inputs inputs_of(node const& n) {
    kernel_inputs all;
    all.variables.resize(n.inputs.size());
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      all.types.push_back(subgraph_.type_of(n.inputs[k]));
      auto const& from = subgraph_[n.inputs[k].node];
      if (takes_variable(subgraph_, n, k)) {
        all.variables[k] = with_.state.variable(from.name, declared_type(from));
        expect_home(all.variables[k], n);
        if (detail::meets_present(n, k, resized_)) list_.assumed.add(from, with_.state);
        else if (n.op->reference_or_value) all.types.back() = declared_type(from);
      } else if (takes_reference(n, k) && n.op->effect == effect::writes)
        throw error(code::invalid_argument, "input " + std::to_string(k) + " must be a variable", n.name);
    }
    return all;
  }

  kernel make_kernel(node const& n, kernel_inputs const& inputs, bool defer_bodies) {
    auto const factory = factory_of(n, inputs.types);
    if (factory == nullptr && !is_primitive_region(n))
      throw error(code::unimplemented,
                  "the operation " + std::string(n.op->name) + " has no kernel for " +
                      (with_.on ? "'" + with_.on->name() + "'" : "the host"),
                  n.name);
    try {
      kernel_request const request{n,          inputs.types,  n.outputs,     inputs.variables, with_.state,
                                   with_.seed, with_.threads, &with_.memory, &with_.passes,    compile_body,
                                   functions_, &list_.bodies, defer_bodies,  with_.step,       with_.devices,
                                   with_.on,   with_.tasks};
      bool const tagged = !defer_bodies && runs_tagged(n, inputs.types, with_);
      list_.tagged = list_.tagged || tagged;
      auto made = tagged ? tagged_kernel(request) : factory(request);
      bool const waits_within = !made.waits && !n.op->waits && may_wait(n);  // an operation's own kernel knows itself
      return waits_within ? detail::on_fiber(std::move(made)) : made;
    } catch (error const& e) {
      if (is_whole_step(n) || (is_deferred_piece(n) && !e.node().empty())) throw;  // it names a node that a user wrote
      auto const where = has_bodies(n) ? "in a body, node '" : "'";
      throw error(e.kind(), (e.node().empty() ? "" : where + e.node() + "': ") + e.message(), n.name, e.device());
    }
  }

  // The factory of a node's kernel on the device that the plan is for; null: it has none.
  kernel_factory factory_of(node const& n, std::span<type const> inputs) const {
    // A variable and what only gives its input another type touch no bytes.
    return with_.on && !is_variable(n) && !n.op->aliases_input ? detail::factory_on(*with_.on, n, inputs) : n.op->cpu;
  }

  // What the operation declares is added to what its kernel says.
  void declare_aliases(kernel& of, node const& n) const {
    for (std::uint32_t k = 0; n.op->updates_in_place >> k != 0; ++k)
      if (n.op->updates_in_place >> k & 1) of.updates_in_place.push_back({k, k});
    drop_ambiguous(of.updates_in_place, n);
    drop_ambiguous(of.input_output_aliases, n);
    of.input_output_aliases.insert(of.input_output_aliases.end(), of.updates_in_place.begin(),
                                   of.updates_in_place.end());
  }
  // If a kernel reads a slot as two inputs, a value and its reshape, it may write the slot only if it may write both.
  void drop_ambiguous(std::vector<kernel::shared_memory>& pairs, node const& n) const {
    std::vector<plan::slot_id> read;
    for (auto e : n.inputs) read.push_back(slots_.of(e));
    auto sorted = read;
    std::sort(sorted.begin(), sorted.end());
    if (pairs.empty() || std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end()) return;
    std::map<std::pair<plan::slot_id, std::uint32_t>, std::set<std::uint32_t>> written;  // by slot and output
    for (auto const& pair : pairs) written[{read[pair.input], pair.output}].insert(pair.input);
    std::erase_if(pairs, [&](auto const& pair) {
      auto const names = std::equal_range(sorted.begin(), sorted.end(), read[pair.input]);
      return written[{read[pair.input], pair.output}].size() != static_cast<std::size_t>(names.second - names.first);
    });
  }
  subgraph const& subgraph_;
  slot_layout& slots_;
  plan_request const& with_;
  compiled_functions* functions_;
  std::vector<bool> resized_;
  kernel_list list_;
};

/// Makes a kernel for each computed node, in order, and places the constants.
inline kernel_list select_kernels(subgraph const& sub, std::vector<std::uint32_t> const& order,
                                  std::vector<bool> const& computed, slot_layout& layout, plan_request const& with,
                                  compiled_functions* functions) {
  return kernel_selector(sub, layout, with, functions).select(order, computed);
}

}  // namespace rill::planning
#endif
