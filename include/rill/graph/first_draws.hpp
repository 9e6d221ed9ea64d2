// The random numbers in the first values of variables. They are drawn by the graph's seed and the variable's name
// alone: not by the number of the step, nor by what else was recorded before. So graphs with the same variables start
// equal, and a variable that gets its first value again starts as before.
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

/// What a step that gives first values draws by, in the place of its number.
inline constexpr std::uint64_t first_values_stream = UINT64_MAX;

/// If a part of `g` assigns first values, gives what is drawn for them the keys of their variables: a draw that several
/// first values are computed from has the key of the variable that was declared first. Returns whether it does.
bool key_first_draws(graph const& g, subgraph& sub);

#if RILL_RUNTIME
namespace detail {

/// The keys of random nodes, and those that they have in first values. Nodes with one key, such as a loop and its
/// derivative, have one key there as well.
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
  // What a value is computed from and no earlier first value was, in order of recording.
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
  std::uint64_t name_ = 0, drawn_ = 0;  // of the variable whose first value is looked at
};

}  // namespace detail

RILL_INLINE bool key_first_draws(graph const& g, subgraph& sub) {
  auto const initials = g.initials();
  std::unordered_set<std::uint32_t> assignments;
  for (auto const& i : initials) assignments.insert(i.assignment);
  bool assigns = false;
  for (std::uint32_t i = 0; i < sub.size(); ++i)
    assigns = assigns || (sub[i].op != &fed_op && assignments.contains(sub.origin[i]));
  if (!assigns) return false;
  detail::first_draws draws(g);
  for (auto const& i : initials) draws.add(i);
  for (auto& n : sub.nodes) draws.rename(n);
  return true;
}
#endif

}  // namespace rill
