// Cuts the deferred nodes off a step or body: nodes that depend on extents which are known only when other nodes have
// run. They are planned then.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "rill/pass/passes.hpp"
#include "rill/run/plan/deferred_nodes.hpp"
#include "rill/run/plan/deferred_pieces.hpp"

namespace rill {

/// The part of a step or body that is planned when the rest has run, and the sources of its inputs and of all results.
struct deferred_subgraph {
  /// Where a tensor comes from: a feed of the whole, a result of the first subgraph, or of the deferred one.
  enum class origin : std::uint8_t { feed, first, deferred };
  struct source {
    origin from;
    std::uint32_t index;
  };
  rill::subgraph subgraph;
  std::vector<source> inputs;   ///< of the deferred subgraph
  std::vector<source> results;  ///< of the whole step or body

  /// Returns the inputs of the deferred subgraph, from the feeds of the whole and the results of the first subgraph.
  std::vector<tensor> given(std::span<tensor const> fed, std::span<tensor const> first) const {
    std::vector<tensor> all;
    for (auto const& in : inputs) all.push_back(in.from == origin::feed ? fed[in.index] : first[in.index]);
    return all;
  }
  /// Returns result i of the whole.
  tensor const& result(std::size_t i, std::span<tensor const> first, std::span<tensor const> deferred) const {
    return (results[i].from == origin::first ? first : deferred)[results[i].index];
  }
};

/// Cuts the deferred nodes off `sub`, and returns them; nullopt if there are none. `sub` then also returns the values
/// that the deferred nodes read, behind its own results.
std::optional<deferred_subgraph> cut_deferred(subgraph& sub, std::vector<bool> deferred);

/// An LRU cache of compiled subgraphs, keyed by the types of their inputs. Only the most recently used one keeps memory
/// for its next run.
template <class Compiled> class deferred_cache {
 public:
  explicit deferred_cache(std::size_t most) : most_(most) {}

  /// Returns the subgraph compiled for these inputs; calls `compile` with their types if there is none.
  template <class Compile> std::shared_ptr<Compiled> find(std::span<tensor const> inputs, Compile&& compile) {
    std::vector<type> types;
    for (auto const& t : inputs) types.push_back(t.type());
    if (auto known = find(types)) return known;
    std::shared_ptr<Compiled> made = compile(types);
    std::lock_guard lock(mutex_);
    std::erase_if(all_, [&](auto const& c) { return c.first == types; });
    make_room();
    all_.emplace_front(std::move(types), made);
    return made;
  }

  /// Frees the memory that no run uses now.
  void trim() {
    std::lock_guard lock(mutex_);
    if (!all_.empty()) all_.front().second->trim();  // the others have none
  }

 private:
  std::shared_ptr<Compiled> find(std::vector<type> const& types) {
    std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].first != types || !all_[i].second->holds()) continue;
      if (i != 0) {
        all_.front().second->trim();
        std::rotate(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(i),
                    all_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
      return all_.front().second;
    }
    return nullptr;
  }
  void make_room() {
    if (!all_.empty()) all_.front().second->trim();
    while (all_.size() >= most_) all_.pop_back();
  }

  std::size_t most_;
  std::mutex mutex_;
  std::deque<std::pair<std::vector<type>, std::shared_ptr<Compiled>>> all_;  // most recently used first
};

#if RILL_RUNTIME
namespace detail {

/// Cuts a subgraph in two.
class cutter {
 public:
  cutter(subgraph& whole, std::vector<bool> deferred)
      : first_(whole), is_deferred_(std::move(deferred)), place_(whole.size(), none) {
    for (std::uint32_t i = 0; i < whole.inputs.size(); ++i) feeds_.try_emplace(whole.inputs[i], i);
  }

  deferred_subgraph run() {
    auto const outputs = std::exchange(first_.outputs, {});
    auto const targets = std::exchange(first_.targets, {});
    for (std::uint32_t i = 0; i < first_.size(); ++i)
      if (is_deferred_[i]) copy(i);
    for (auto e : outputs) {
      auto& from = is_deferred_[e.node] ? deferred_.subgraph : first_;
      deferred_.results.push_back(
          {is_deferred_[e.node] ? deferred_subgraph::origin::deferred : deferred_subgraph::origin::first,
           static_cast<std::uint32_t>(from.outputs.size())});
      from.outputs.push_back(is_deferred_[e.node] ? endpoint{place_[e.node], e.port} : e);
    }
    for (auto t : targets)
      if (is_deferred_[t]) deferred_.subgraph.targets.push_back(place_[t]);
      else first_.targets.push_back(t);
    rewriter r(first_, "deferred", nullptr);
    for (std::uint32_t i = 0; i < first_.size(); ++i)
      if (is_deferred_[i]) r.drop(i);
    deferred_.subgraph.axes = first_.axes;
    r.log("cut", 0);
    r.finish();
    return std::move(deferred_);
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  std::uint32_t add(node n, std::uint32_t from) {
    deferred_.subgraph.nodes.push_back(std::move(n));
    deferred_.subgraph.origin.push_back(first_.origin[from]);
    return static_cast<std::uint32_t>(deferred_.subgraph.size() - 1);
  }
  void copy(std::uint32_t i) {
    auto n = first_[i];
    for (std::size_t k = 0; k < n.inputs.size(); ++k) n.inputs[k] = deferred_input(first_[i], k);
    std::erase_if(n.controls, [&](auto c) { return !is_deferred_[c]; });
    for (auto& c : n.controls) c = place_[c];
    place_[i] = add(std::move(n), i);
  }
  endpoint deferred_input(node const& n, std::size_t k) {
    auto const e = n.inputs[k];
    auto const& from = first_[e.node];
    bool const same = is_deferred_[e.node] || is_constant(from) || (is_variable(from) && takes_reference(n, k));
    if (!same) return input_for(e);
    if (place_[e.node] == none) {
      auto copied = from;
      copied.controls.clear();
      place_[e.node] = add(std::move(copied), e.node);
    }
    return {place_[e.node], e.port};
  }
  // Returns the input of the deferred subgraph for a value of the first: a feed, or a result that is added to the
  // first.
  endpoint input_for(endpoint e) {
    if (auto const known = inputs_.find(e); known != inputs_.end()) return known->second;
    if (auto const fed = feeds_.find(e.node); fed != feeds_.end())
      deferred_.inputs.push_back({deferred_subgraph::origin::feed, fed->second});
    else {
      deferred_.inputs.push_back({deferred_subgraph::origin::first, static_cast<std::uint32_t>(first_.outputs.size())});
      first_.outputs.push_back(e);
    }
    node n;
    n.op = &fed_op;
    n.name = first_[e.node].name;
    n.outputs = {first_.type_of(e)};
    auto const at = add(std::move(n), e.node);
    deferred_.subgraph.inputs.push_back(at);
    return inputs_[e] = {at, 0};
  }

  subgraph& first_;
  std::vector<bool> is_deferred_;
  std::vector<std::uint32_t> place_;  // of each node its number in the deferred subgraph
  std::map<endpoint, endpoint> inputs_;
  std::map<std::uint32_t, std::uint32_t> feeds_;  // fed nodes, and their numbers among the inputs
  deferred_subgraph deferred_;
};

}  // namespace detail

RILL_INLINE std::optional<deferred_subgraph> cut_deferred(subgraph& sub, std::vector<bool> deferred) {
  if (deferred.empty()) return std::nullopt;
  return detail::cutter(sub, std::move(deferred)).run();
}

#endif

}  // namespace rill
