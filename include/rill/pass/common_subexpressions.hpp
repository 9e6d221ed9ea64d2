// Merges nodes that compute the same value: value numbering (white paper §5.1).
#pragma once
#include <unordered_map>

#include "rill/pass/rewriter.hpp"

namespace rill {

/// Merges nodes that have the same operation, attributes, inputs (in either order if the operation commutes), control
/// edges and place. Returns whether it changed the subgraph.
bool merge_common_subexpressions(subgraph& sub, pass_report* report);

#if RILL_RUNTIME
namespace detail {

inline std::uint64_t mix(std::uint64_t h, std::uint64_t v) { return (h ^ v) * 0x9e3779b97f4a7c15u + (h >> 29); }

inline std::uint64_t number_of(attribute const& a) {
  if (auto* t = std::get_if<tensor>(&a)) {
    std::uint64_t h = static_cast<std::uint64_t>(t->elements());
    if (t->element() != dtype::string)
      for (std::size_t i = 0; i < std::min<std::size_t>(t->bytes(), 64); ++i)
        h = mix(h, static_cast<unsigned char const*>(t->raw())[i]);
    return h;
  }
  if (auto* e = std::get_if<extents>(&a)) {
    std::uint64_t h = e->count;
    for (auto v : *e) h = mix(h, static_cast<std::uint64_t>(v));
    return h;
  }
  if (auto* i = std::get_if<std::int64_t>(&a)) return static_cast<std::uint64_t>(*i);
  return a.index();
}

inline std::uint64_t number_of(node const& n, std::vector<endpoint> const& inputs) {
  auto h = reinterpret_cast<std::uintptr_t>(n.op) + n.controls.size();
  for (auto e : inputs) h = mix(h, std::uint64_t{e.node} << 8 | e.port);
  for (auto c : n.controls) h = mix(h, c);
  for (auto const& [name, a] : n.attributes) h = mix(h, number_of(a));
  return h;
}

inline bool same_node(node const& a, std::vector<endpoint> const& a_inputs, node const& b,
                      std::vector<endpoint> const& b_inputs) {
  if (a.op != b.op || a_inputs != b_inputs || a.controls != b.controls || a.outputs != b.outputs || !same_place(a, b))
    return false;
  for (std::size_t i = 0; i < a.attributes.size(); ++i)
    if (!same(a.attributes[i].second, b.attributes[i].second)) return false;
  return true;
}

}  // namespace detail

RILL_INLINE bool merge_common_subexpressions(subgraph& sub, pass_report* report) {
  rewriter r(sub, "common subexpressions", report);
  std::unordered_multimap<std::uint64_t, std::uint32_t> seen;
  std::vector<std::vector<endpoint>> inputs(sub.size());
  for (std::uint32_t i = 0; i < sub.size(); ++i) {
    r.refresh(i);
    auto const& n = sub[i];
    if (n.op->effect != effect::none || n.op == &fed_op) continue;
    inputs[i] = n.inputs;
    if (n.op->commutes) std::sort(inputs[i].begin(), inputs[i].end());
    auto const h = detail::number_of(n, inputs[i]);
    auto const [from, to] = seen.equal_range(h);
    auto const twin = std::find_if(
        from, to, [&](auto const& s) { return detail::same_node(n, inputs[i], sub[s.second], inputs[s.second]); });
    if (twin == to) seen.emplace(h, i);
    else
      for (std::uint32_t port = 0; port < n.outputs.size(); ++port)
        r.replace({i, port}, {twin->second, port}, "already computed");
  }
  return r.finish();
}
#endif

}  // namespace rill
