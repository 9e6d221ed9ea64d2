// Deferred pieces: connected deferred nodes that begin when their own inputs have come, rather than when all other
// nodes have run.
#pragma once
#include "rill/pass/rewriter.hpp"
#include "rill/run/plan/deferred_nodes.hpp"

#if RILL_RUNTIME
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "rill/ops/control/body.hpp"
#endif

namespace rill {

namespace detail {
void infer_deferred_piece(attribute_list const& attributes, std::span<type const> inputs, std::vector<type>& outputs);
kernel deferred_piece_kernel(kernel_request const& r);
}  // namespace detail

/// The operation of a node that runs a piece, its body. The piece contains the nodes that produce its open extents. The
/// inputs are the variables that the piece takes by reference, then the values that it reads.
inline constexpr op_def deferred_piece_op{
    .name = "deferred_piece",
    .doc = "a connected piece of a step that is planned when its extents are known",
    .arity = -2,
    .effect = effect::writes,
    .dynamic_output_shape = true,
    .counts_references = "references",
    .infer = detail::infer_deferred_piece,
    .work = [](attribute_list const&, std::span<type const>, std::span<type const>) { return cost{}; },
    .cpu = detail::deferred_piece_kernel};
/// Whether a node runs a deferred piece.
inline bool is_deferred_piece(node const& n) { return n.op == &deferred_piece_op; }

/// Makes a node of each connected piece of deferred nodes that another step may be waiting for, while a node that the
/// piece does not need waits: otherwise the two steps could wait for each other. Returns which nodes are still
/// deferred, as `deferred_nodes` does. A piece stays deferred if its nodes that wait or give have no order, because one
/// thread runs the piece; if nodes outside of it read the nodes that produce its extents; if it and other nodes take a
/// variable by reference that one of them updates; or if it names open axes.
std::vector<bool> join_deferred_pieces(subgraph& sub, pass_report* report);

#if RILL_RUNTIME
namespace detail {

RILL_INLINE void infer_deferred_piece(attribute_list const& attributes, std::span<type const> inputs,
                                      std::vector<type>& outputs) {
  auto const references = static_cast<std::size_t>(attribute_as<std::int64_t>(attributes, "references"));
  auto const& body = attribute_as<std::shared_ptr<subgraph const>>(attributes, "body");
  outputs = infer(*body, inputs.subspan(references));
}

RILL_INLINE kernel deferred_piece_kernel(kernel_request const& r) {
  auto const references = static_cast<std::size_t>(attribute_as<std::int64_t>(r.at.attributes, "references"));
  auto const& piece = attribute_as<std::shared_ptr<subgraph const>>(r.at.attributes, "body");
  auto const body = r.compile(r, *piece, r.inputs.subspan(references));
  body_call const run(r, references);
  kernel k([=](kernel_call const& call) {
    step_context step = call.step;  // other threads see that one
    run(*body, call, step);
  });
  k.allocates_outputs = run.open();
  return k;
}

/// Joins pieces of a subgraph to nodes.
class piece_joiner {
 public:
  piece_joiner(subgraph& sub, std::vector<bool> const& deferred)
      : subgraph_(sub),
        deferred_(deferred),
        produces_extents_(sub.size()),
        after_(edges_of(sub)),
        met_(sub),
        piece_(sub.size()),
        last_meeting_(sub.size()) {
    std::iota(piece_.begin(), piece_.end(), 0u);
  }

  bool run(pass_report* report) {
    connect();
    find_references();
    find_behind_waits();
    std::map<std::uint32_t, node_list> pieces;
    for (std::uint32_t i = 0; i < subgraph_.size(); ++i)
      if (deferred_[i] || produces_extents_[i]) pieces[of(i)].push_back(i);
    std::erase_if(pieces, [&](auto const& each) { return !is_to_join(each.second); });
    if (pieces.empty()) return false;
    rewriter r(subgraph_, "deferred pieces", report);
    for (auto const& [_, nodes] : pieces) join(nodes, r);
    for (auto& [at, whole] : joined_) subgraph_[at] = std::move(whole);
    return r.finish();
  }

 private:
  using node_list = std::vector<std::uint32_t>;
  using marks = std::vector<bool>;

  std::uint32_t of(std::uint32_t i) {
    while (piece_[i] != i) i = piece_[i] = piece_[piece_[i]];
    return i;
  }
  // Connects deferred nodes along edges, and with the nodes that produce the extents that they read.
  void connect() {
    for (std::uint32_t i = 0; i < subgraph_.size(); ++i) {
      if (!deferred_[i]) continue;
      for (std::size_t k = 0; k < subgraph_[i].inputs.size(); ++k) {
        auto const from = subgraph_[i].inputs[k].node;
        if (!deferred_[from] && !reads_open(subgraph_, i, k)) continue;
        produces_extents_[from] = !deferred_[from];
        piece_[of(from)] = of(i);
      }
      for (auto c : subgraph_[i].controls)
        if (deferred_[c]) piece_[of(c)] = of(i);
    }
  }
  bool is_same_piece(std::uint32_t i, std::uint32_t other) { return of(i) == of(other); }

  // Finds for each variable whether several pieces take it by reference, and whether one updates it.
  void find_references() {
    for (std::uint32_t i = 0; i < subgraph_.size(); ++i)
      for (std::size_t k = 0; k < subgraph_[i].inputs.size(); ++k) {
        if (!takes_reference(subgraph_[i], k)) continue;
        auto& v = references_.try_emplace(subgraph_[i].inputs[k].node, references{i}).first->second;
        v.several = v.several || !is_same_piece(v.first, i);
        v.updated = v.updated || updates_reference(subgraph_[i], k);
      }
  }
  // Marks the nodes that come after all waiting nodes that are not deferred, 64 of these at a time.
  void find_behind_waits() {
    behind_.assign(subgraph_.size(), true);
    node_list waits;
    for (std::uint32_t i = 0; i < subgraph_.size(); ++i)
      if (!deferred_[i] && may_wait(subgraph_[i])) waits.push_back(i);
    std::vector<std::uint64_t> bits(subgraph_.size());
    for (std::size_t first = 0; first < waits.size(); first += 64) {
      auto const count = std::min<std::size_t>(64, waits.size() - first);
      std::fill(bits.begin(), bits.end(), 0);
      for (std::size_t w = 0; w < count; ++w) bits[waits[first + w]] = std::uint64_t{1} << w;
      for (std::uint32_t i = 0; i < subgraph_.size(); ++i) {
        for (auto e : subgraph_[i].inputs) bits[i] |= bits[e.node];
        for (auto c : subgraph_[i].controls) bits[i] |= bits[c];
        if (bits[i] != ~std::uint64_t{0} >> (64 - count)) behind_[i] = false;
      }
    }
  }

  bool is_to_join(node_list const& nodes) {
    return std::any_of(nodes.begin(), nodes.end(), [&](auto i) { return produces_extents_[i]; }) &&
           std::any_of(nodes.begin(), nodes.end(), [&](auto i) { return gives(i) && !behind_[i]; }) &&
           std::all_of(nodes.begin(), nodes.end(), [&](auto i) { return stands_alone(i); }) && has_an_order(nodes);
  }
  static bool has_names(type const& t) {
    return t.has_rank() && std::any_of(&t[0], &t[0] + t.rank, [](dim const& d) { return d.named(); });
  }
  // Whether a node can be part of a piece: no node outside of the piece reads it or uses its variables, values from
  // outside have known extents, and it names no axis, because the names in a body are separate from the step's.
  bool stands_alone(std::uint32_t i) {
    auto const& n = subgraph_[i];
    if (is_variable(n) || std::any_of(n.outputs.begin(), n.outputs.end(), has_names)) return false;
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      auto const from = n.inputs[k].node;
      if (!takes_reference(n, k)) {
        if (!is_same_piece(from, i) && !subgraph_.type_of(n.inputs[k]).is_known()) return false;
        continue;
      }
      auto const& v = references_.at(from);
      if (deferred_[from] || !is_variable(subgraph_[from]) || (v.several && v.updated)) return false;
    }
    return std::all_of(after_[i].begin(), after_[i].end(), [&](auto next) { return is_same_piece(i, next); });
  }
  bool gives(std::uint32_t i) const {
    return std::any_of(met_[i].begin(), met_[i].end(), [](meeting const& m) {
      return m.role != rendezvous_kind::takes && m.role != rendezvous_kind::locks;
    });
  }
  // Whether each node of a piece that gives or waits comes after the one before, because one thread runs the piece and
  // waits in it.
  bool has_an_order(node_list const& nodes) {
    std::uint32_t count = 0;
    for (auto i : nodes) {
      auto& last = last_meeting_[i];  // of those before it, and itself, counted from 1
      auto const pass_on = [&](std::uint32_t from) {
        if (is_same_piece(from, i)) last = std::max(last, last_meeting_[from]);
      };
      for (auto e : subgraph_[i].inputs) pass_on(e.node);
      for (auto c : subgraph_[i].controls) pass_on(c);
      if (met_[i].empty() && !may_wait(subgraph_[i])) continue;
      if (last != count) return false;
      last = ++count;
    }
    return true;
  }

  // Makes the node for a piece, in the place of its first node that waits.
  void join(node_list const& nodes, rewriter& r) {
    auto const waits = std::find_if(nodes.begin(), nodes.end(), [&](auto i) { return may_wait(subgraph_[i]); });
    auto const at = waits == nodes.end() ? nodes.front() : *waits;
    subgraph body;
    node whole;
    whole.op = &deferred_piece_op;
    whole.name = "deferred_piece/" + subgraph_[at].name;
    std::map<std::uint32_t, std::uint32_t> place;  // in the body
    auto const add = [&](node n, std::uint32_t from) {
      body.nodes.push_back(std::move(n));
      body.origin.push_back(subgraph_.origin[from]);
      return static_cast<std::uint32_t>(body.size() - 1);
    };
    auto const copied = [&](std::uint32_t from) {
      auto n = subgraph_[from];
      n.controls.clear();
      return add(std::move(n), from);
    };
    auto const variables = references_of(nodes);
    for (auto const& [v, _] : variables) {
      whole.inputs.push_back({v, 0});
      place[v] = copied(v);
    }
    std::map<endpoint, endpoint> arguments;
    auto const argument = [&](endpoint e) {
      auto const [known, fresh] = arguments.try_emplace(e);
      if (!fresh) return known->second;
      whole.inputs.push_back(e);
      node n;
      n.op = &fed_op;
      n.name = subgraph_[e.node].name;
      n.outputs = {subgraph_.type_of(e)};
      body.inputs.push_back(add(std::move(n), e.node));
      return known->second = {body.inputs.back(), 0};
    };
    auto const inside = [&](endpoint e, bool reference) {
      if (reference || is_same_piece(e.node, at)) return endpoint{place.at(e.node), e.port};
      if (!is_constant(subgraph_[e.node])) return argument(e);
      auto const [known, fresh] = place.try_emplace(e.node);
      if (fresh) known->second = copied(e.node);
      return endpoint{known->second, e.port};
    };
    for (auto i : nodes) {
      auto n = subgraph_[i];
      for (std::size_t k = 0; k < n.inputs.size(); ++k)
        n.inputs[k] = inside(n.inputs[k], takes_reference(subgraph_[i], k));
      n.controls.clear();
      for (auto c : subgraph_[i].controls)
        if (is_same_piece(c, at)) n.controls.push_back(place.at(c));
        else whole.controls.push_back(c);
      place[i] = add(std::move(n), i);
    }
    for (auto& e : subgraph_.outputs)
      if (std::binary_search(nodes.begin(), nodes.end(), e.node)) {
        whole.outputs.push_back(subgraph_[e.node].outputs[e.port]);
        body.outputs.push_back({place.at(e.node), e.port});
        e = {at, static_cast<std::uint32_t>(whole.outputs.size() - 1)};
      }
    for (auto& t : subgraph_.targets)
      if (std::binary_search(nodes.begin(), nodes.end(), t)) {
        body.targets.push_back(place.at(t));
        t = at;
      }
    body.axes = subgraph_.axes;
    whole.attributes = {{"body", std::make_shared<subgraph const>(std::move(body))},
                        {"references", static_cast<std::int64_t>(variables.size())},
                        {"updates", static_cast<std::int64_t>(std::count_if(variables.begin(), variables.end(),
                                                                            [](auto const& v) { return v.second; }))}};
    for (auto i : nodes)
      if (i != at) r.drop(i);
    joined_.emplace_back(at, std::move(whole));
    r.log("begins when its inputs have come", at);
  }
  // Returns the variables that a piece takes by reference, and whether it updates each; updated ones first.
  std::vector<std::pair<std::uint32_t, bool>> references_of(node_list const& nodes) const {
    std::map<std::uint32_t, bool> all;
    for (auto i : nodes)
      for (std::size_t k = 0; k < subgraph_[i].inputs.size(); ++k)
        if (takes_reference(subgraph_[i], k)) {
          auto& updated = all[subgraph_[i].inputs[k].node];
          updated = updated || updates_reference(subgraph_[i], k);
        }
    std::vector<std::pair<std::uint32_t, bool>> sorted(all.begin(), all.end());
    std::partition(sorted.begin(), sorted.end(), [](auto const& v) { return v.second; });
    return sorted;
  }

  subgraph& subgraph_;
  marks const& deferred_;
  marks produces_extents_, behind_;
  node_edges after_;
  meetings met_;
  node_list piece_;         // of each node: another node of its piece, or itself (union-find)
  node_list last_meeting_;  // of each node: the number of meetings in its piece before it, and its own
  struct references {
    std::uint32_t first;  // a node
    bool several = false, updated = false;
  };
  std::map<std::uint32_t, references> references_;  // to each variable
  std::vector<std::pair<std::uint32_t, node>> joined_;
};

}  // namespace detail

RILL_INLINE std::vector<bool> join_deferred_pieces(subgraph& sub, pass_report* report) {
  auto deferred = deferred_nodes(sub);
  while (!deferred.empty() && detail::piece_joiner(sub, deferred).run(report)) deferred = deferred_nodes(sub);
  return deferred;
}
#endif

}  // namespace rill
