// Random numbers in the first values of variables. They depend on the graph's seed and the variable's name alone, not
// on the number of the step or on the nodes that were recorded before. So graphs with the same variables start equal,
// and a variable that gets its first value again gets the same one.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "rill/base/philox.hpp"
#include "rill/graph/subgraph.hpp"

namespace rill {

/// Takes the place of the step's number in the random streams of a step that gives first values.
inline constexpr std::uint64_t first_values_stream = UINT64_MAX;

/// If `sub`, a subgraph of `g`, assigns first values, gives the nodes that draw for them the keys of their variables. A
/// node that several first values depend on gets the key of the variable that was declared first. Returns whether `sub`
/// assigns first values.
bool key_first_draws(graph const& g, subgraph& sub);

#if RILL_RUNTIME
namespace detail {

/// Maps the keys of random nodes to the keys that they have in first values. Nodes that share a key, such as a loop and
/// its derivative, still share one.
class first_draws {
 public:
  explicit first_draws(graph const& g) : graph_(g), seen_(g.size()) {}

  void add(graph::initial const& i) {
    name_ = 0, drawn_ = 0;
    for (char c : graph_[i.variable].name) name_ = random_stream::key_of(name_, static_cast<unsigned char>(c));
    for (auto n : unseen_before(graph_[i.assignment].inputs[1].node)) add(graph_[n]);
  }

  void rename(node& n) const {
    for (auto& [_, attribute] : n.attributes)
      if (auto* body = std::get_if<std::shared_ptr<subgraph const>>(&attribute)) {
        auto other = std::make_shared<subgraph>(**body);
        for (auto& each : other->nodes) rename(each);
        *body = std::move(other);
      }
    if (!draws_random(n)) return;
    if (auto const at = keys_.find(random_key(n)); at != keys_.end()) set_random_key(n, at->second);
  }

 private:
  // Returns the nodes that a value depends on, without those that an earlier first value depends on, in the order of
  // recording.
  std::vector<std::uint32_t> unseen_before(std::uint32_t value) {
    std::vector<std::uint32_t> found, open{value};
    while (!open.empty()) {
      auto const n = open.back();
      open.pop_back();
      if (seen_[n]) continue;
      seen_[n] = true;
      found.push_back(n);
      for (auto e : graph_[n].inputs) open.push_back(e.node);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  void add(node const& n) {
    for_each_body(n, [&](subgraph const& body) {
      for (auto const& each : body.nodes) add(each);
    });
    if (!draws_random(n)) return;
    auto const key = static_cast<std::int64_t>(random_stream::key_of(name_, drawn_) >> 1);
    drawn_ += keys_.try_emplace(random_key(n), key).second;
  }

  graph const& graph_;
  std::vector<bool> seen_;
  std::unordered_map<std::int64_t, std::int64_t> keys_;
  std::uint64_t name_ = 0, drawn_ = 0;  // of the current variable: its name's hash, and the number of its draws so far
};

}  // namespace detail

RILL_INLINE bool key_first_draws(graph const& g, subgraph& sub) {
  auto const initials = g.initials();
  std::unordered_set<std::uint32_t> assignments;
  for (auto const& i : initials) assignments.insert(i.assignment);
  bool assigns = false;
  for (std::uint32_t i = 0; i < sub.size(); ++i)
    assigns = assigns || sub[i].op->kind == op_kind::initialize ||
              (sub[i].op != &fed_op && assignments.contains(sub.origin[i]));
  if (!assigns) return false;
  detail::first_draws draws(g);
  for (auto const& i : initials) draws.add(i);
  for (auto& n : sub.nodes) draws.rename(n);
  return true;
}
#endif

}  // namespace rill
