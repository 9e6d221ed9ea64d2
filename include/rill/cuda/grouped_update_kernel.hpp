// Fused updates of several variables by the same program, as few kernels.
#pragma once
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Returns the kernel of grouped updates: one launch for those whose operands lie alike, or several if the table of
/// their addresses is larger than a kernel's parameters. Updates with strided operands have a launch each.
kernel grouped_update_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "rill/cuda/launch.hpp"
#include "rill/cuda/map_kernel.hpp"
#include "rill/cuda/map_text.hpp"
#include "rill/cuda/update_kernel.hpp"
#include "rill/ops/state/grouped_update.hpp"

namespace rill::cuda {

namespace detail {

/// The updates of a group, and where the inputs of each are among the node's: all variables come first.
struct update_group {
  std::shared_ptr<program const> what;
  std::vector<type> inputs;
  std::size_t variables, operands;  // of each update

  update_group(ops::grouped_update_op::attributes const& a, std::span<type const> of)
      : what(a.what),
        inputs(of.begin(), of.end()),
        variables(what->outputs.size()),
        operands(what->inputs.size() - variables) {
    expects(!what->inputs.empty() && variables <= what->inputs.size(),
            "grouped_update: the program has fewer inputs than results");
    expects(static_cast<std::size_t>(a.references) == updates() * variables &&
                inputs.size() == updates() * what->inputs.size(),
            "grouped_update: the program does not fit the inputs");
  }
  std::size_t updates() const { return inputs.size() / what->inputs.size(); }
  std::size_t place(std::size_t update, std::size_t input) const {
    return input < variables ? update * variables + input
                             : updates() * variables + update * operands + input - variables;
  }
  shape extents(std::size_t update) const { return inputs[place(update, 0)].shape(); }
  collapsed_axes axes(std::size_t update) const {
    std::vector<type> all;
    for (std::size_t k = 0; k < what->inputs.size(); ++k) all.push_back(inputs[place(update, k)]);
    return collapse(expect_extents_of_update(all, variables), extents(update));
  }
};

/// Some updates of a group as one kernel.
class update_launch {
 public:
  /// `room`: for how many updates the kernel is compiled.
  update_launch(gpu_device const& on, update_group const& g, collapsed_axes const& axes,
                std::span<std::size_t const> updates, std::size_t room)
      : on_(on), count_(static_cast<unsigned>(updates.size())) {
    auto const inputs = g.what->inputs.size();
    table_.resize(room * words_of(*g.what));
    auto* word = table_.data();
    for (auto u : updates) {
      for (std::size_t k = 0; k < inputs; ++k) addresses_.emplace_back(word++ - table_.data(), g.place(u, k));
      for (std::size_t v = 0; v < g.variables; ++v) addresses_.emplace_back(word++ - table_.data(), g.place(u, v));
      auto const n = static_cast<std::uint32_t>(elements(g.extents(u)));
      std::uint32_t const numbers[] = {n, blocks_};
      std::copy_n(reinterpret_cast<std::byte const*>(numbers), sizeof numbers, reinterpret_cast<std::byte*>(word++));
      blocks_ += (n + threads - 1) / threads;
    }
    run_ = on.find(update_text(*g.what, axes, room), "update");
  }
  /// Puts the kernel on the stream of kernels; `pointers` holds the inputs of the node.
  void operator()(void* const* pointers) const {
    auto table = table_;
    for (auto const& [word, input] : addresses_)
      table[static_cast<std::size_t>(word)] = reinterpret_cast<std::uintptr_t>(pointers[input]);
    auto count = count_;
    void* parameters[] = {table.data(), &count};
    on_.launch(*run_, {blocks_, threads}, parameters);
  }
  /// Returns the most updates of a launch.
  static std::size_t most(program const& p) {
    return (most_parameter_bytes - sizeof(unsigned)) / (words_of(p) * sizeof(std::uint64_t));
  }

 private:
  static constexpr std::uint32_t threads = 256;
  static std::size_t words_of(program const& p) { return p.inputs.size() + p.outputs.size() + 1; }

  gpu_device const& on_;
  unsigned count_, blocks_ = 0;
  std::vector<std::uint64_t> table_;                               // as the kernel's text has it
  std::vector<std::pair<std::ptrdiff_t, std::size_t>> addresses_;  // the words of inputs
  std::shared_ptr<gpu_device::function const> run_;
};

/// An update that is a kernel of its own.
struct update_alone {
  bound_map run;
  std::vector<std::size_t> inputs;  // and the variables again, as results

  update_alone(gpu_device const& on, update_group const& g, std::size_t update)
      : run(on, *g.what, g.axes(update), static_cast<std::size_t>(elements(g.extents(update)))) {
    for (std::size_t k = 0; k < g.what->inputs.size(); ++k) inputs.push_back(g.place(update, k));
    for (std::size_t v = 0; v < g.variables; ++v) inputs.push_back(g.place(update, v));
  }
  void operator()(void* const* pointers) const {
    std::vector<void*> addresses;
    for (auto i : inputs) addresses.push_back(pointers[i]);
    run(addresses.data());
  }
};

/// All launches of a group.
class group_launches {
 public:
  group_launches(gpu_device const& on, update_group const& g) {
    std::map<std::vector<access>, std::vector<std::size_t>> alike;
    std::vector<std::size_t> of_one_element;  // for which all ways of reading are the same
    for (std::size_t u = 0; u < g.updates(); ++u) {
      std::vector<access> how;
      for (auto const& o : g.axes(u).operands) how.push_back(o.how);
      auto const n = elements(g.extents(u));
      if (n == 0) continue;
      if (n == 1) of_one_element.push_back(u);
      else if (n > most_elements || update_launch::most(*g.what) == 0 ||
               std::find(how.begin(), how.end(), access::strided) != how.end())
        alone_.emplace_back(on, g, u);
      else alike[how].push_back(u);
    }
    if (alike.empty()) alike.emplace();
    auto& first = alike.begin()->second;
    first.insert(first.end(), of_one_element.begin(), of_one_element.end());
    for (auto const& [_, updates] : alike) add(on, g, updates);
  }
  void operator()(void* const* pointers) const {
    for (auto const& each : together_) each(pointers);
    for (auto const& each : alone_) each(pointers);
  }

 private:
  static constexpr std::int64_t most_elements = 1 << 24;  // in a table: blocks are counted in 32 bits

  // Launches of about equal size need only one text.
  void add(gpu_device const& on, update_group const& g, std::span<std::size_t const> updates) {
    if (updates.empty()) return;
    auto const launches = (updates.size() - 1) / update_launch::most(*g.what) + 1;
    auto const room = (updates.size() - 1) / launches + 1;
    auto const axes = g.axes(updates[0]);
    for (; !updates.empty(); updates = updates.subspan(std::min(room, updates.size())))
      together_.emplace_back(on, g, axes, updates.first(std::min(room, updates.size())), room);
  }

  std::vector<update_launch> together_;
  std::vector<update_alone> alone_;
};

}  // namespace detail

RILL_CUDA_INLINE kernel grouped_update_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  detail::update_group const group(decode<ops::grouped_update_op::attributes>(r.at.attributes), r.inputs);
  auto const count = group.updates() * group.variables;
  std::vector<shape> extents;
  for (std::size_t i = 0; i < count; ++i) extents.push_back(r.inputs[i].shape());
  return kernel([&on, variables = detail::updated_variables(r, count, std::move(extents)),
                 run = detail::group_launches(on, group)](kernel_call const& call) {
    std::vector<void*> pointers(call.pointers, call.pointers + call.inputs);
    auto const locked = variables.lock(call, [&](std::size_t at, tensor& t) { pointers[at] = t.mutable_raw(); });
    run(pointers.data());
    on.order_copies_after_kernels();
  });
}

}  // namespace rill::cuda
#endif
