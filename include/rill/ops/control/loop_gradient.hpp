// The gradient of a loop is a loop that runs backwards over what the forward loop hands out as extra rows
// (architecture.md, idea 7; EuroSys'18 §5). With vₜ₊₁ = f(vₜ, rowₜ, c): v̄ₜ = v̄ₜ₊₁ ∂f/∂v, c̄ = Σₜ v̄ₜ₊₁ ∂f/∂c, and the
// derivative of row t is v̄ₜ₊₁ ∂f/∂row, stacked.
#pragma once
#include "rill/ops/control/loop.hpp"
#include "rill/ops/control/replay.hpp"

#if RILL_RUNTIME
#include <map>

namespace rill::detail {

/// For each node of a body: whether it depends on some of the body's inputs, or on nodes that `also` names.
template <class Also>
std::vector<bool> dependent(subgraph const& body, std::vector<bool> const& inputs, Also const& also) {
  std::vector<bool> found(body.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) found[body.inputs[i]] = inputs[i];
  for (std::uint32_t i = 0; i < body.size(); ++i)
    found[i] = found[i] || also(body[i]) ||
               std::any_of(body[i].inputs.begin(), body[i].inputs.end(), [&](endpoint e) { return found[e.node]; });
  return found;
}

/// Whether extents of what a node makes are settled when it runs, whatever it is given.
inline bool brings_open_extents(node const& n) {
  if (all_known(n.outputs)) return false;
  auto const inside = [](subgraph const& body) {
    return std::any_of(body.nodes.begin(), body.nodes.end(), brings_open_extents);
  };
  if (auto const* f = called_by(n)) return f->recursive || !f->body || inside(*f->body);
  if (ops::is_loop(n)) {  // it has made as many rows as it had iterations
    auto const a = decode<ops::looping::attributes>(n.attributes);
    if (a.made_rows() > 0 && (a.given_count || !a.counted())) return true;
  }
  bool found = n.op->brings_extents && !has_bodies(n);
  for_each_body(n, [&](subgraph const& body) { found = found || inside(body); });
  return found;
}

/// The backwards loop of one loop, while it is made.
class backwards_loop {
 public:
  explicit backwards_loop(gradient_request const& r)
      : r_(r), a_(decode<ops::looping::attributes>(r.origin().attributes)), body_(*a_.body) {
    refuse_updated_reads(body_, r.origin().name);
    find_active();
  }

  std::vector<gradient> record() {
    loop_request made{.counted = true, .backwards = !a_.backwards, .key = a_.key, .parallel = a_.parallel};
    if (a_.given_count || !a_.counted()) made.count = r_.out(a_.count_port());
    made.body = record_body(r_.graph, "gradient", {}, [&](std::vector<value>& given) { return derive(given); });
    for (auto const& [outer, like] : first_) made.variables.push_back(outer ? outer : zeros_like(like));
    made.rows = std::move(rows_);
    for (auto e : hand_out(saved_)) made.rows.push_back(e);
    auto const node = record_loop(std::move(made));
    std::vector<gradient> all(r_.inputs());
    std::uint32_t port = 0;
    for (auto i : carried_) {
      if (r_.wanted[i]) all[i] = value{node.graph, node.node, port};
      ++port;
    }
    for (auto i : derived_rows_) all[i] = value{node.graph, node.node, ++port};
    return all;
  }

 private:
  std::size_t variable(std::size_t i) const { return a_.first_variable() + i; }
  std::size_t variables() const { return static_cast<std::size_t>(a_.variables); }

  // A variable takes part if its first value does, or if the body makes it from what takes part.
  void find_active() {
    std::vector<bool> inputs;
    for (auto i = a_.first_variable(); i < r_.inputs(); ++i) inputs.push_back(r_.wanted[i]);
    auto const wanted = [&](node const& n) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(a_.references); ++i)
        if (r_.wanted[i] && n.op->name == "variable" && r_.in(i).origin().name == n.name) return true;
      return false;
    };
    for (bool settled = false; !settled;) {
      settled = true;
      auto const reached = dependent(body_, inputs, wanted);
      for (std::size_t i = 0; i < variables(); ++i)
        if (!inputs[i] && reached[body_.outputs[i].node] && is_differentiable(r_.in(variable(i)).type().element))
          inputs[i] = true, settled = false;
    }
    active_.assign(inputs.begin(), inputs.begin() + a_.variables);
  }

  // Records the body again, and its derivatives; returns the next derivatives of the variables, the next sums, and the
  // rows.
  std::vector<value> derive(std::vector<value>& given) {
    auto& here = r_.graph.innermost();
    std::vector<value> arguments, references, x, y, dy, rows;
    std::vector<std::size_t> x_of;  // the input of each x
    auto const differentiate_by = [&](std::size_t input, value v, bool wanted) {
      if (wanted) x.push_back(v), x_of.push_back(input);
      return v;
    };
    for (std::size_t i = 0; i < static_cast<std::size_t>(a_.references); ++i)
      references.push_back(differentiate_by(i, here.inside(r_.in(i)), r_.wanted[i]));
    for (std::size_t i = a_.first_variable(); i < r_.inputs(); ++i) {
      auto const place = i - a_.first_variable();
      value const v = i >= a_.first_capture() ? here.inside(r_.in(i))
                                              : here.argument(body_[body_.inputs[place]].outputs[0], "forward");
      arguments.push_back(differentiate_by(i, v, i < a_.first_row() ? active_[place] : r_.wanted[i]));
    }
    replay const again(here, body_, arguments, references);

    for (std::size_t i = 0; i < variables(); ++i) {
      if (!active_[i]) continue;
      auto const outside = r_.out(i);
      carried_.push_back(variable(i));
      first_.emplace_back(r_.dy(i), outside);
      given.push_back(here.argument(outside.type(), "derivative"));
      y.push_back(again.of(body_.outputs[i]));
      dy.push_back(given.back());
    }
    for (std::size_t i = 0; i < a_.made_rows(); ++i) {
      auto const outer = r_.dy(a_.row_port(i));
      if (!outer) continue;
      rows_.push_back(outer);
      rows.push_back(here.argument(row_of(outer.type()), "derivative"));
      y.push_back(again.of(body_.outputs[variables() + i]));
      dy.push_back(rows.back());
    }
    auto const parts = derivatives_of(r_, y, dy, x);

    std::vector<value> next, made;
    for (std::size_t k = 0, at = 0; k < x.size(); ++k)
      if (is_variable(x_of[k])) next.push_back(parts[k] ? densify(parts[k], given[at]) : zeros_like(given[at])), ++at;
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (!parts[k] || is_variable(x_of[k])) continue;
      if (is_row(x_of[k])) {
        derived_rows_.push_back(x_of[k]);
        made.push_back(densify(parts[k], x[k]));
        continue;
      }
      carried_.push_back(x_of[k]);
      first_.emplace_back(value(), r_.in(x_of[k]));
      given.push_back(here.argument(parts[k].sparse() ? x[k].type() : parts[k].dense.type(), "sum"));
      next.push_back(parts[k].sparse() ? add_rows(given.back(), parts[k].indices, parts[k].rows)
                                       : add(given.back(), parts[k].dense));
    }
    next.insert(next.end(), made.begin(), made.end());
    save(here, again, next);
    for (auto const& [inside, endpoint] : saved_) rows.push_back(inside);
    if (rows.empty() && a_.rows > 0 && !a_.given_count) {  // they count
      rows_.push_back(r_.in(a_.first_row()));
      rows.push_back(here.argument(row_of(rows_.back().type()), "forward"));
    }
    given.insert(given.end(), rows.begin(), rows.end());
    return next;
  }
  bool is_variable(std::size_t input) const { return input >= a_.first_variable() && input < a_.first_row(); }
  bool is_row(std::size_t input) const { return input >= a_.first_row() && input < a_.first_capture(); }

  // A name is one extent in all iterations.
  static bool has_one_extent_each(type const& t) {
    return t.has_rank() &&
           std::all_of(t.dims.begin(), t.dims.begin() + t.rank, [](dim const& d) { return d != unknown; });
  }
  // Which nodes of the body have extents that change from iteration to iteration, where their types leave them open.
  std::vector<bool> changing() const {
    std::vector<bool> inputs(body_.inputs.size());
    for (std::size_t i = 0; i < variables(); ++i)
      inputs[i] = r_.in(variable(i)).type().is_known() && !r_.out(i).type().is_known();
    return dependent(body_, inputs, brings_open_extents);
  }

  // Finds the values of the forward body that its derivatives read. What is the same in each iteration is computed
  // again, and so are values of which rows would not be alike, and a loop within: it hands out rows of its own.
  void save(graph& here, replay const& again, std::vector<value> const& results) {
    std::vector<bool> inputs(body_.inputs.size());
    std::fill_n(inputs.begin(), variables() + static_cast<std::size_t>(a_.rows), true);
    auto const varying = dependent(
        body_, inputs, [](node const& n) { return n.op->effect != effect::none && n.op->name != "variable"; });
    auto const changes = changing();
    std::map<endpoint, endpoint> forward;  // of values here
    for (std::uint32_t i = 0; i < body_.size(); ++i)
      for (std::uint32_t port = 0; port < again.of(i).size() && port < body_[i].outputs.size(); ++port) {
        auto const& t = body_[i].outputs[port];
        bool const alike = has_one_extent_each(t) || !changes[i] || body_[i].op == &fed_op;
        if (varying[i] && alike) forward.try_emplace(again.of(i)[port].endpoint(), endpoint{i, port});
      }
    std::vector<bool> seen(here.size());
    std::vector<endpoint> todo;
    for (auto const& v : results) todo.push_back(v.endpoint());
    std::map<endpoint, bool> taken;
    while (!todo.empty()) {
      auto const e = todo.back();
      todo.pop_back();
      if (auto const at = forward.find(e); at != forward.end()) {
        if (body_[at->second.node].op == &fed_op && changes[at->second.node])
          throw error(code::unimplemented,
                      "the derivative of a loop would have to keep a variable whose extents change from iteration to "
                      "iteration, a " +
                          body_.type_of(at->second).text(),
                      r_.origin().name);
        if (!std::exchange(taken[e], true)) saved_.push_back({{&here, e.node, e.port}, at->second});
        continue;
      }
      if (seen[e.node]) continue;
      seen[e.node] = true;
      auto const& n = here[e.node];
      todo.insert(todo.end(), n.inputs.rbegin(), n.inputs.rend());
    }
  }

  // The rows that have these values: of the forward loop's inputs, or made by it, from now on if need be.
  std::vector<value> hand_out(std::vector<std::pair<value, endpoint>> const& saved) {
    auto body = body_;
    auto grown = a_;
    std::vector<value> rows;
    for (auto const& [inside, e] : saved) {
      auto const input =
          static_cast<std::size_t>(std::find(body.inputs.begin(), body.inputs.end(), e.node) - body.inputs.begin());
      if (input >= variables() && input < body.inputs.size()) {
        rows.push_back(r_.in(a_.first_variable() + input));
        continue;
      }
      auto at = std::find(body.outputs.begin() + a_.variables, body.outputs.end(), e);
      if (at == body.outputs.end()) at = body.outputs.insert(at, e), ++grown.saved;
      auto const row = static_cast<std::size_t>(at - body.outputs.begin() - a_.variables);
      rows.push_back({&r_.graph, r_.at, a_.row_port(row)});
    }
    if (body.outputs.size() > body_.outputs.size()) {
      grown.body = std::make_shared<subgraph const>(std::move(body));
      r_.graph.grow(r_.at, encode(grown));
    }
    return rows;
  }

  gradient_request const& r_;
  ops::looping::attributes const a_;
  subgraph const& body_;
  std::vector<bool> active_;                       // of the loop variables
  std::vector<std::size_t> carried_;               // the input whose derivative each variable of the new loop is
  std::vector<std::size_t> derived_rows_;          // the input whose derivative each of its rows is
  std::vector<std::pair<value, value>> first_;     // of each variable: its first value, or what it is a zero like
  std::vector<value> rows_;                        // of the new loop: outer derivatives
  std::vector<std::pair<value, endpoint>> saved_;  // values in the new body, and in the forward one
};

RILL_INLINE std::vector<gradient> loop_gradient(gradient_request const& r) { return backwards_loop(r).record(); }

}  // namespace rill::detail
#endif
