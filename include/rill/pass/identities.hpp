// Removes operations that return an input unchanged: x - 0, x * 1, a sum to the extents that the input has.
#pragma once
#include <cstring>
#include <optional>

#include "rill/pass/fold_constants.hpp"

#if RILL_RUNTIME
#include "rill/ops/array/truncated.hpp"
#include "rill/ops/math/add_n.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/sum/sum.hpp"
#endif

namespace rill {

/// Replaces nodes without control edges by an input that they equal, unless they ask for another place than the input.
/// Returns whether it changed the subgraph.
bool remove_identities(subgraph& sub, pass_report* report);

#if RILL_RUNTIME
namespace detail {

// Whether a value is a constant of one element that has the bits of `wanted`.
inline bool is_number(subgraph const& sub, endpoint e, double wanted) {
  auto const& n = sub[e.node];
  if (!is_free_constant(n)) return false;
  auto const& t = constant_value(n);
  if (t.elements() != 1 || t.element() == dtype::string) return false;
  return visit(t.element(), [&]<class T>() {
    if constexpr (std::same_as<T, std::string>) return false;
    else {
      auto const number = static_cast<T>(static_cast<float>(wanted));
      return std::memcmp(t.raw(), &number, sizeof(T)) == 0;  // -0 is not 0
    }
  });
}

/// Returns the input that the node equals, if any. The caller checks that the types are equal.
using identity_rule = std::optional<std::size_t> (*)(subgraph const&, node const&);

struct named_identity {
  std::string_view name;
  bool (*about)(op_def const&);
  identity_rule rule;
};

template <class... Op> bool is_one_of(op_def const& op) { return ((&op == &definition<Op>()) || ...); }
// What is to be truncated between tasks is known by its node until the step is split over them.
inline bool aliases(op_def const& op) {
  return op.aliases_input && op.effect == effect::none && &op != &definition<ops::truncated_op>();
}

inline std::optional<std::size_t> if_number(subgraph const& p, node const& n, std::size_t k, double v) {
  return is_number(p, n.inputs[k], v) ? std::optional(1 - k) : std::nullopt;
}

inline std::optional<std::size_t> if_one(subgraph const& p, node const& n, std::size_t k) {
  return dtypes::complexes.contains(n.outputs[0].element) ? std::nullopt : if_number(p, n, k, 1);
}

// x + 0 holds for integers only, because -0 + 0 is +0 in IEEE arithmetic. x - 0 holds for all types. x * 1 does not
// hold for complex numbers: (inf + 2i) * (1 + 0i) has a NaN.
inline constexpr named_identity identities[] = {
    {"x + 0", is_one_of<ops::add_op>,
     [](auto const& p, auto const& n) {
       return dtypes::integers.contains(n.outputs[0].element) ? if_number(p, n, 1, 0) : std::nullopt;
     }},
    {"0 + x", is_one_of<ops::add_op>,
     [](auto const& p, auto const& n) {
       return dtypes::integers.contains(n.outputs[0].element) ? if_number(p, n, 0, 0) : std::nullopt;
     }},
    {"x - 0", is_one_of<ops::sub_op>, [](auto const& p, auto const& n) { return if_number(p, n, 1, 0); }},
    {"x * 1", is_one_of<ops::mul_op>, [](auto const& p, auto const& n) { return if_one(p, n, 1); }},
    {"1 * x", is_one_of<ops::mul_op>, [](auto const& p, auto const& n) { return if_one(p, n, 0); }},
    {"x / 1", is_one_of<ops::div_op>, [](auto const& p, auto const& n) { return if_one(p, n, 1); }},
    {"its input", aliases, [](auto const&, auto const&) { return std::optional<std::size_t>(0); }},
    {"sum or broadcast to the same extents", is_one_of<ops::sum_like_op, ops::broadcast_like_op>,
     [](auto const&, auto const&) { return std::optional<std::size_t>(0); }},
    {"cast to the same type", is_one_of<ops::cast_op>,
     [](auto const&, auto const&) { return std::optional<std::size_t>(0); }},
    {"sum of one", is_one_of<ops::add_n_op>,
     [](auto const&, auto const& n) { return n.inputs.size() == 1 ? std::optional<std::size_t>(0) : std::nullopt; }},
};

// Whether a node is a broadcast that neither inserts axes nor divides.
inline bool is_plain_broadcast(node const& n) {
  if (n.op != &definition<ops::broadcast_like_op>()) return false;
  auto const a = decode<ops::broadcast_like_op::attributes>(n.attributes);
  return a.axes.empty() && !a.mean;
}

// Whether `by` can stand for a node that is left out: that one asks for no other place.
inline bool can_stand_for(node const& by, node const& left_out) {
  return !asks_for_place(left_out) || same_place(by, left_out);
}

/// Makes an elementwise node read the input of a broadcast, because it broadcasts by itself.
inline void read_through_broadcasts(subgraph& sub, std::uint32_t i, rewriter& r) {
  auto& n = sub[i];
  if (n.op->elementwise == nullptr || !n.outputs[0].is_known()) return;
  for (std::size_t k = 0; k < n.inputs.size(); ++k) {
    auto const& from = sub[n.inputs[k].node];
    if (!from.controls.empty() || !is_plain_broadcast(from) || !can_stand_for(n, from)) continue;
    auto const source = from.inputs[0];
    type y{sub.type_of(source).element};
    for (std::size_t j = 0; j < n.inputs.size(); ++j) y = broadcast(y, sub.type_of(j == k ? source : n.inputs[j]));
    if (y.dims != n.outputs[0].dims || y.rank != n.outputs[0].rank) continue;
    n.inputs[k] = source;
    r.log("reads what was broadcast", i);
  }
}

}  // namespace detail

RILL_INLINE bool remove_identities(subgraph& sub, pass_report* report) {
  rewriter r(sub, "identities", report);
  for (std::uint32_t i = 0; i < sub.size(); ++i) {
    r.refresh(i);
    auto const& n = sub[i];
    if (!n.controls.empty()) continue;
    detail::read_through_broadcasts(sub, i, r);
    for (auto const& rule : detail::identities) {
      if (!rule.about(*n.op)) continue;
      auto const k = rule.rule(sub, n);
      if (!k || sub.type_of(n.inputs[*k]) != n.outputs[0]) continue;
      if (!detail::can_stand_for(sub[n.inputs[*k].node], n)) continue;
      r.replace({i, 0}, n.inputs[*k], rule.name);
      break;
    }
  }
  return r.finish();
}
#endif

}  // namespace rill
