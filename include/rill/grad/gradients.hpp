// Reverse-mode differentiation, which extends the graph (white paper §4.1): it goes backwards from the target and adds
// partial derivatives where paths meet.
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "rill/graph/paths.hpp"
#include "rill/graph/prune.hpp"
#include "rill/graph/subgraph.hpp"
#include "rill/ops/array/concat.hpp"
#include "rill/ops/array/reshape.hpp"
#include "rill/ops/math/add_n.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/sum/sum.hpp"
#include "rill/ops/table/scatter.hpp"

#if RILL_RUNTIME
#include "rill/ops/list/operations.hpp"
#endif

namespace rill {

/// Returns the derivatives of the sum of y's elements with respect to each x, for optimizers: dense, sparse, or empty
/// if y does not depend on x. Throws error(invalid_argument) if y or an x has integers, bools or strings, or an x
/// belongs to another graph or body, error(unimplemented) if an operation on the way has no gradient, and
/// error(not_found) if the graph has a gradient rule for an unknown operation.
std::vector<gradient> partial_gradients(value y, std::vector<value> const& x);

/// Returns the dense derivatives of the sum of y's elements with respect to each x. If y does not depend on an x,
/// throws error(invalid_argument), or returns zeros if `zeros`; other errors are the errors of `partial_gradients`. In
/// the body of a branch, loop or function, x may also be a value from outside that the body mentions. For complex
/// values, it returns dL/d(Re x) + i dL/d(Im x) with L = Re(sum of y), the direction in which L grows fastest, as in
/// PyTorch and TensorFlow.
std::vector<value> gradients(value y, std::vector<value> const& x, bool zeros = false);

namespace detail {

template <class... X, std::size_t... I> auto typed_gradients(std::vector<value> const& d, std::index_sequence<I...>) {
  return std::tuple{[&] {
    if constexpr (typed<X>) return expr<X::static_type>{d[I]};
    else return d[I];
  }()...};
}

}  // namespace detail

/// Returns the derivatives of the sum of y's elements with respect to each x, with x's type:
/// `auto [dw, db] = gradients(loss, w, b)`. Throws error(invalid_argument) if y does not depend on an x.
template <operand Y, operand... X> auto gradients(Y y, X... x) {
  if constexpr (typed<Y>)
    static_assert(is_differentiable(Y::static_type.element),
                  "gradients: the target must have floats or complex numbers");
  return detail::typed_gradients<X...>(gradients(static_cast<value>(y), std::vector<value>{x...}),
                                       std::index_sequence_for<X...>{});
}
/// Returns the derivatives as `gradients` does, with zeros for an x on which y does not depend.
template <operand Y, operand... X> auto gradients_or_zeros(Y y, X... x) {
  return detail::typed_gradients<X...>(gradients(static_cast<value>(y), std::vector<value>{x...}, true),
                                       std::index_sequence_for<X...>{});
}

#if RILL_RUNTIME

namespace detail {

/// Returns the sum of partial derivatives. The sum of sparse ones is sparse; beside a dense one they are added to its
/// rows.
inline gradient sum_of(std::vector<gradient> const& parts) {
  if (parts.size() == 1) return parts[0];
  std::vector<value> dense, indices, rows;
  for (auto const& p : parts) {
    if (p.sparse()) indices.push_back(p.indices), rows.push_back(p.rows);
    else dense.push_back(p.dense);
  }
  for (auto& i : indices)  // one table may have lookups by int32 and by int64
    if (i.type().element != indices[0].type().element) {
      for (auto& each : indices) each = cast(each, dtype::int64);
      break;
    }
  if (dense.empty()) return {concat(indices, 0), concat(rows, 0)};
  auto const sum = dense.size() == 1 ? dense[0] : add_n(dense);
  return indices.empty() ? sum : add_rows(sum, concat(indices, 0), concat(rows, 0));
}

inline std::string why_no_gradient(op_def const& op) {
  if (!op.no_gradient.empty()) return std::string(op.no_gradient);
  return "the operation " + std::string(op.name) + " has no gradient; stop_gradient excludes it from the derivative";
}

class differentiator {
 public:
  differentiator(std::vector<value> const& y, std::vector<value> const& x)
      : graph_(*y[0].graph),
        last_(std::max_element(y.begin(), y.end(), [](auto a, auto b) { return a.node < b.node; })->node),
        partial_(last_ + 1),
        reached_(last_ + 1) {
    for (auto const& v : x) {
      if (v.graph != &graph_)
        throw error(
            code::invalid_argument,
            v && v.graph->is_body()
                ? "gradients: expected a value of the target's body, got one of another body: differentiate there"
                : "gradients: expected values of the target's graph, got one of another graph",
            v.name());
      if (!is_differentiable(v.type().element))
        throw error(code::invalid_argument, "gradients: expected floats or complex numbers, got " + v.type().text(),
                    v.name());
      if (v.node <= last_)
        reached_[v.node].resize(std::max<std::size_t>(reached_[v.node].size(), v.port + 1)),
            reached_[v.node][v.port] = true;
    }
  }

  std::vector<gradient> run(std::vector<value> const& y, std::vector<value> const& x, std::vector<value> const& outer) {
    reach();
    for (std::size_t k = 0; k < y.size(); ++k)
      if (outer[k]) add(y[k].endpoint(), outer[k]);
    for (auto i = last_ + 1; i-- > 0;)
      if (!partial_[i].empty()) visit(i);
    std::vector<gradient> result;
    for (auto const& v : x) result.push_back(v.node > last_ ? gradient() : total(v.endpoint()));
    return result;
  }

  static std::vector<gradient> derive(std::vector<value> const& y, std::vector<value> const& x,
                                      std::vector<value> const& dy) {
    return y.empty() ? std::vector<gradient>(x.size()) : differentiator(y, x).run(y, x, dy);
  }

 private:
  value at(endpoint e) const { return {&graph_, e.node, e.port}; }
  bool is_reached(endpoint e) const { return e.port < reached_[e.node].size() && reached_[e.node][e.port]; }

  // Marks the values that depend on an x. Nodes come after their inputs, so one pass is enough.
  void reach() {
    for (std::uint32_t i = 0; i <= last_; ++i) {
      auto const& n = graph_[i];
      bool const inside = std::any_of(n.inputs.begin(), n.inputs.end(), [&](endpoint e) { return is_reached(e); });
      if (!inside || n.outputs.empty()) continue;
      reached_[i].resize(n.outputs.size());
      auto const table = paths_.of(graph_, n);
      for (std::size_t o = 0; o < n.outputs.size(); ++o)
        for (std::size_t k = 0; k < n.inputs.size() && is_differentiable(n.outputs[o].element); ++k)
          if (is_reached(n.inputs[k]) && is_path(n, k) && (table.empty() || table[o][k])) reached_[i][o] = true;
    }
  }
  // Returns which inputs get a derivative from the outputs that have one.
  std::vector<bool> wanted(std::uint32_t i) {
    auto const& n = graph_[i];
    auto const table = paths_.of(graph_, n);
    std::vector<bool> all(n.inputs.size());
    for (std::size_t k = 0; k < all.size(); ++k)
      for (std::size_t o = 0; o < partial_[i].size(); ++o)
        if (!partial_[i][o].empty() && is_reached(n.inputs[k]) && (table.empty() || table[o][k])) all[k] = true;
    return all;
  }

  void add(endpoint to, gradient g) {
    auto& ports = partial_[to.node];
    if (ports.size() <= to.port) ports.resize(to.port + 1);
    ports[to.port].push_back(std::move(g));
  }
  gradient total(endpoint e) {
    auto& ports = partial_[e.node];
    if (e.port >= ports.size() || ports[e.port].empty()) return {};
    if (ports[e.port].size() > 1) ports[e.port] = {sum_of(ports[e.port])};
    return ports[e.port][0];
  }

  // Whether a node's output equals its input, so that a sparse derivative passes unchanged.
  bool is_identity(node const& n) const {
    return (n.op->kind == op_kind::identity || n.op->kind == op_kind::as) && graph_.rule_of(n) < 0;
  }

  void visit(std::uint32_t i) {
    auto const n = graph_[i];  // a copy: the rules extend the graph
    auto const wanted = this->wanted(i);
    if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return;
    std::vector<value> outer;
    bool alive = false;
    if (auto const g = total({i, 0}); g.sparse() && is_identity(n)) return add(n.inputs[0], g);
    for (std::uint32_t o = 0; o < n.outputs.size(); ++o) {
      auto const g = total({i, o});
      alive = alive || g;
      if (g) outer.push_back(g.sparse() ? densify(g, at({i, o})) : g.dense);
      else outer.emplace_back();  // a rule of several outputs checks for empty ones; a rule of one output is not called
    }
    if (!alive) return;
    if (auto const rule = graph_.rule_of(n); rule >= 0) return apply_rule(n, i, graph_.find_rule(rule), outer);
    if (n.op->grad == nullptr) throw error(code::unimplemented, why_no_gradient(*n.op), n.name);
    auto const parts = n.op->grad({graph_, n.recompute ? recomputed(i, outer) : i, outer, wanted, derive});
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (k < parts.size() && wanted[k] && parts[k]) add(n.inputs[k], parts[k]);
  }

  // Applies a user's rule instead of the operation's own.
  void apply_rule(node const& n, std::uint32_t i, graph::rule const& rule, std::vector<value> const& outer) {
    if (n.outputs.size() != 1)
      throw error(code::invalid_argument,
                  "gradients: a user's gradient rule needs an operation with one output, and this one has " +
                      std::to_string(n.outputs.size()),
                  n.name);
    std::vector<value> x;
    auto const self = n.recompute ? recomputed(i, outer) : i;
    for (auto e : graph_[self].inputs) x.push_back(at(e));
    auto const parts = derivatives(rule, x, at({self, 0}), outer[0]);
    for (std::size_t k = 0; k < x.size(); ++k)
      if (parts[k] && is_reached(n.inputs[k])) add(n.inputs[k], parts[k]);
  }

  // Returns the copy of the node that the derivative computes again. Copies the node's recompute region once, with
  // control edges after the outer derivatives. Nodes without inputs (variables, constants, placeholders), and nodes
  // that read state or draw are not copied, because a copy could have another value.
  std::uint32_t recomputed(std::uint32_t i, std::vector<value> const& outer) {
    auto const region = graph_[i].recompute;
    if (auto const known = copies_.find(region); known != copies_.end()) return copy_or_self(known->second, i);
    std::vector<operation> after;
    for (auto const& v : outer)
      if (v) after.emplace_back(v);
    auto& copy = copies_[region];
    graph_.after(after, [&] {
      for (std::uint32_t k = 0; k <= last_; ++k) {
        auto const n = graph_[k];
        if (n.recompute != region || n.op->effect != effect::none || n.inputs.empty()) continue;
        std::vector<value> inputs;
        for (auto e : n.inputs) inputs.push_back({&graph_, copy_or_self(copy, e.node), e.port});
        copy[k] = graph_.again(k, [&] { return graph_.add(*n.op, n.attributes, inputs, n.op->name); }).node;
      }
    });
    return copy_or_self(copy, i);
  }
  static std::uint32_t copy_or_self(std::map<std::uint32_t, std::uint32_t> const& copies, std::uint32_t i) {
    auto const found = copies.find(i);
    return found == copies.end() ? i : found->second;
  }

  graph& graph_;
  std::uint32_t last_;                                                      // the last target's node
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> copies_;  // per recompute region: node to copy
  std::vector<std::vector<std::vector<gradient>>> partial_;                 // by node and port
  std::vector<std::vector<bool>> reached_;
  path_finder paths_;
};

// Whether a value depends on an earlier value of the same graph.
inline bool depends(value const& v, value const& on) {
  auto const& g = *v.graph;
  auto const all = needed(g, {g, {}}, {v.endpoint()}, {});
  return std::binary_search(all.begin(), all.end(), on.node);
}

// Returns the value in the target's body that stands for x from outside. Derivatives end at a body's edge, so the body
// must mention x itself, not a value that is computed from x outside.
inline value inside_of(value const& y, value const& x) {
  auto& body = *y.graph;
  if (!x || x.graph == &body || !body.is_within(*x.graph)) return x;
  auto const here = body.inside(x);
  for (auto const& c : body.captures())
    if (c.inside.endpoint() != here.endpoint() && c.outside.graph == x.graph && depends(c.outside, x) &&
        depends(y, c.inside))
      throw error(code::invalid_argument,
                  "gradients: in a body, the target depends on '" + x.name() + "' through '" + c.outside.name() +
                      "', which is computed outside: compute it in the body, or differentiate the body's result",
                  y.name());
  return here;
}

template <class... Op> constexpr bool any_is(std::string_view name, type_list<Op...>) {
  return ((Op::name == name) || ...);
}

inline bool has_operation(subgraph const& s, std::string_view name) {
  return std::any_of(s.nodes.begin(), s.nodes.end(), [&](node const& n) {
    bool found = n.op->name == name;
    for_each_body(n, [&](subgraph const& body) { found = found || has_operation(body, name); });
    return found;
  });
}
/// Whether rill or the graph has the operation. It also looks into bodies, which in a loaded graph exist only in nodes.
inline bool is_operation(graph const& g, std::string_view name) {
  if (any_is(name, operations()) || g.has_operation(name)) return true;
  bool found = false;
  for (std::size_t i = 0; i < g.size() && !found; ++i)
    for_each_body(g[i], [&](subgraph const& body) { found = found || has_operation(body, name); });
  return found;
}
/// Throws error(not_found) if a rule's operation does not exist; the rule would be ignored silently.
inline void check_rules(graph const& g) {
  for (auto const& name : g.ruled_operations())
    if (!is_operation(g, name))
      throw error(code::not_found, "gradients: the graph has a gradient rule for the operation '" + name +
                                       "', but neither rill nor this graph has that operation");
}

}  // namespace detail

RILL_INLINE std::vector<gradient> partial_gradients(value y, std::vector<value> const& of) try {
  std::vector<value> x;
  for (auto const& v : of) x.push_back(detail::inside_of(y, v));
  detail::check_rules(y.graph->outermost());
  if (!is_differentiable(y.type().element))
    throw error(code::invalid_argument,
                "gradients: expected a target of floats or complex numbers, got " + y.type().text(), y.name());
  return y.graph->scope("gradients", [&] {
    auto const one = like(y, std::int8_t{1});
    return detail::differentiator::derive({y}, x, {y.type().is_scalar() ? value(one) : broadcast_like(one, y)});
  });
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::vector<value> gradients(value y, std::vector<value> const& of, bool zeros) try {
  std::vector<value> dense, x;
  for (auto const& v : of) x.push_back(detail::inside_of(y, v));
  auto const parts = partial_gradients(y, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!parts[i] && !zeros)
      throw error(code::invalid_argument,
                  "gradients: '" + y.name() + "' does not depend on '" + x[i].name() +
                      "'; gradients_or_zeros gives zeros for it",
                  x[i].name());
    if (!parts[i]) dense.push_back(broadcast_like(zero(x[i]), x[i]));
    else dense.push_back(parts[i].sparse() ? densify(parts[i], x[i]) : parts[i].dense);
  }
  return dense;
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
