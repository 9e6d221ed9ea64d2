// Goes backwards through a graph and records the gradient rule of each node on the way.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rill/graph/paths.hpp"
#include "rill/graph/subgraph.hpp"
#include "rill/ops/array/concat.hpp"
#include "rill/ops/array/reshape.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/math/add_n.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/sum/sum.hpp"
#include "rill/ops/table/scatter.hpp"

#if RILL_RUNTIME

namespace rill::detail {

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
  /// Derivatives end at the values in `held`.
  differentiator(std::vector<value> const& y, std::vector<value> const& x, std::vector<value> const& held = {})
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
    for (auto const& v : held) {
      if (v.graph != &graph_)
        throw error(code::invalid_argument,
                    "gradients: expected values of the target's graph to be held constant, got one of another graph or "
                    "body",
                    v ? v.name() : std::string());
      held_.insert(v.endpoint());
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
    return derive_holding(y, x, dy, {});
  }
  static std::vector<gradient> derive_holding(std::vector<value> const& y, std::vector<value> const& x,
                                              std::vector<value> const& dy, std::vector<value> const& held) {
    return y.empty() ? std::vector<gradient>(x.size()) : differentiator(y, x, held).run(y, x, dy);
  }

 private:
  value at(endpoint e) const { return {&graph_, e.node, e.port}; }
  bool is_held(std::uint32_t node, std::uint32_t port) const {
    return !held_.empty() && held_.contains(endpoint{node, port});
  }
  bool is_reached(endpoint e) const { return e.port < reached_[e.node].size() && reached_[e.node][e.port]; }

  // Marks the values that depend on an x. Nodes come after their inputs, so one pass is enough.
  void reach() {
    for (std::uint32_t i = 0; i <= last_; ++i) {
      auto const& n = graph_[i];
      bool const inside = std::any_of(n.inputs.begin(), n.inputs.end(), [&](endpoint e) { return is_reached(e); });
      if (!inside || n.outputs.empty()) continue;
      reached_[i].resize(n.outputs.size());
      auto const table = paths_.of(graph_, n);
      for (std::uint32_t o = 0; o < n.outputs.size(); ++o)
        for (std::size_t k = 0; k < n.inputs.size() && is_differentiable(n.outputs[o].element) && !is_held(i, o); ++k)
          if (is_reached(n.inputs[k]) && is_path(n, k) && (table.empty() || table[o][k])) reached_[i][o] = true;
    }
  }
  // Returns which inputs get a derivative from the outputs that have one.
  std::vector<bool> wanted(std::uint32_t i) {
    auto const& n = graph_[i];
    auto const table = paths_.of(graph_, n);
    std::vector<bool> all(n.inputs.size());
    for (std::size_t k = 0; k < all.size(); ++k)
      for (std::uint32_t o = 0; o < partial_[i].size(); ++o)
        if (!partial_[i][o].empty() && !is_held(i, o) && is_reached(n.inputs[k]) && (table.empty() || table[o][k]))
          all[k] = true;
    return all;
  }

  void add(endpoint to, gradient g) {
    auto& ports = partial_[to.node];
    if (ports.size() <= to.port) ports.resize(to.port + 1);
    ports[to.port].push_back(std::move(g));
  }
  // Records the derivatives of a node where that runs, if they are to.
  template <class F> auto beside(std::uint32_t i, F const& f) {
    if (!graph_.innermost().places_gradients_beside() || has_bodies(graph_[i])) return f();
    return graph_.near(at({i, 0}), f);
  }

  gradient total(endpoint e) {
    auto& ports = partial_[e.node];
    if (e.port >= ports.size() || ports[e.port].empty()) return {};
    auto const element = at(e).type().element;
    auto& parts = ports[e.port];
    if (parts.size() > 1 || is_wider(parts[0], element))
      parts = {beside(e.node, [&] { return rounded_sum(parts, element); })};
    return parts[0];
  }

  // Whether a derivative of a 16-bit float is float32.
  static bool is_wider(gradient const& g, dtype element) {
    return wide_element(element) != element && (g.sparse() ? g.rows : g.dense).type().element == wide_element(element);
  }
  // Returns the sum of partial derivatives. If a derivative of 16-bit floats is float32, all are added as float32.
  static gradient rounded_sum(std::vector<gradient> parts, dtype element) {
    bool const wide = std::any_of(parts.begin(), parts.end(), [&](auto const& p) { return is_wider(p, element); });
    if (!wide) return sum_of(parts);
    for (auto& p : parts)
      for (auto* v : {&p.dense, &p.rows}) *v = widened(*v);
    auto sum = sum_of(parts);
    for (auto* v : {&sum.dense, &sum.rows})
      if (*v) *v = cast(*v, element);
    return sum;
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
      auto const g = is_held(i, o) ? gradient() : total({i, o});
      alive = alive || g;
      if (g) outer.push_back(g.sparse() ? beside(i, [&] { return densify(g, at({i, o})); }) : g.dense);
      else outer.emplace_back();  // a rule of several outputs checks for empty ones; a rule of one output is not called
    }
    if (!alive) return;
    if (auto const rule = graph_.rule_of(n); rule >= 0)
      return beside(i, [&] { apply_rule(n, i, graph_.find_rule(rule), outer); });
    // A derivative that comes back through a cast to float32 stays float32 until `total` rounds the sum.
    if (n.op == &definition<ops::cast_op>() && is_wider(outer[0], at(n.inputs[0]).type().element))
      return add(n.inputs[0], outer[0]);
    if (n.op->grad == nullptr) throw error(code::unimplemented, why_no_gradient(*n.op), n.name);
    auto const parts = beside(i, [&] {
      auto const self = recomputes(n) ? recomputed(i, outer) : i;
      if (n.op->wide_gradient && n.outputs[0].element != wide_element(n.outputs[0].element))
        return wide_parts(n, self, outer, wanted);
      return n.op->grad({graph_, self, outer, wanted, derive, saved()});
    });
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      if (k < parts.size() && wanted[k] && parts[k]) add(n.inputs[k], parts[k]);
  }

  // Calls the rule of a node of 16-bit floats with float32 numbers; `total` rounds its results. The node is computed
  // again in float32 if the rule reads its outputs: 1 - tanh(x)² would be 0 if tanh(x) were rounded to 1.
  std::vector<gradient> wide_parts(node const& n, std::uint32_t self, std::vector<value> outer,
                                   std::vector<bool> const& wanted) {
    for (auto& v : outer) v = widened(v);
    auto const wide = [read = saved()](value const& v) { return widened(read ? read(v) : v); };
    value again;
    auto const read = [&](value const& v) -> value {
      if (v.node != self) return wide(v);
      if (!again) {
        std::vector<value> inputs;
        for (auto e : std::vector(graph_[self].inputs)) inputs.push_back(wide(at(e)));  // a copy: the graph grows
        again = graph_.add(*n.op, n.attributes, inputs, n.op->name);
      }
      return {again.graph, again.node, v.port};
    };
    return n.op->grad({graph_, self, outer, wanted, derive, read});
  }

  // Returns how rules read earlier values from the host's memory, if they are to.
  std::function<value(value const&)> saved() {
    if (!graph_.offloads_saved() || graph_.is_body() || records_inside()) return {};
    return [this](value const& v) { return offloaded(v); };
  }
  // Variables, constants and what is fed lie where they are; a single number is not worth a copy.
  value offloaded(value const& v) {
    auto const& n = v.origin();
    if (v.node > last_ || n.inputs.empty() || has_bodies(n) || v.type().is_scalar() ||
        v.type().element == dtype::string)
      return v;
    auto const [known, fresh] = offloaded_.try_emplace(v.endpoint());
    if (fresh) known->second = graph_.placed_as("/device:cpu:0", {}, [&] { return identity(v); });
    return known->second;
  }

  // Applies a user's rule instead of the operation's own.
  void apply_rule(node const& n, std::uint32_t i, graph::rule const& rule, std::vector<value> const& outer) {
    if (n.outputs.size() != 1)
      throw error(code::invalid_argument,
                  "gradients: a user's gradient rule needs an operation with one output, and this one has " +
                      std::to_string(n.outputs.size()),
                  n.name);
    std::vector<value> x;
    auto const self = recomputes(n) ? recomputed(i, outer) : i;
    for (auto e : graph_[self].inputs) x.push_back(at(e));
    auto const parts = derivatives(rule, x, at({self, 0}), outer[0]);
    for (std::size_t k = 0; k < x.size(); ++k)
      if (parts[k] && is_reached(n.inputs[k])) add(n.inputs[k], parts[k]);
  }

  // Whether derivatives are recorded in a body within the target's graph, as the rows of a Jacobian are. The body
  // captures earlier values, so that all of its iterations share them.
  bool records_inside() const { return &graph_.innermost() != &graph_; }
  bool recomputes(node const& n) const { return n.recompute != 0 && !records_inside(); }

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
  std::uint32_t last_;  // the last target's node
  std::map<endpoint, value> offloaded_;
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> copies_;  // per recompute region: node to copy
  std::vector<std::vector<std::vector<gradient>>> partial_;                 // by node and port
  std::vector<std::vector<bool>> reached_;
  std::set<endpoint> held_;
  path_finder paths_;
};

}  // namespace rill::detail

#endif
