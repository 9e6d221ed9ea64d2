// The derivative of a loop is a backward loop over values that the forward loop saves as extra rows
// (docs/architecture/gradients.md; EuroSys'18 §5). With vₜ₊₁ = f(vₜ, rowₜ, c): v̄ₜ = v̄ₜ₊₁ ∂f/∂v, c̄ = Σₜ v̄ₜ₊₁ ∂f/∂c,
// and the derivative of row t is v̄ₜ₊₁ ∂f/∂row, stacked.
#pragma once
#include "rill/ops/array/extents_of.hpp"
#include "rill/ops/control/replay.hpp"
#include "rill/ops/math/cast.hpp"

#if RILL_RUNTIME
#include <map>

namespace rill::detail {

/// Returns for each node of a body whether it depends on the given inputs, or on nodes in `also`.
template <class Also>
std::vector<bool> dependent(subgraph const& body, std::vector<bool> const& inputs, Also const& also) {
  std::vector<bool> found(body.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) found[body.inputs[i]] = inputs[i];
  for (std::uint32_t i = 0; i < body.size(); ++i)
    found[i] = found[i] || also(body[i]) ||
               std::any_of(body[i].inputs.begin(), body[i].inputs.end(), [&](endpoint e) { return found[e.node]; });
  return found;
}

/// Builds the backward loop of a loop.
class backwards_loop {
 public:
  explicit backwards_loop(gradient_request const& r)
      : r_(r), a_(decode<ops::loop_rules::attributes>(r.origin().attributes)), body_(*a_.body), grown_(body_) {
    refuse_updated_reads(body_, r.origin().name);
    find_active();
  }

  std::vector<gradient> record() {
    loop_request made{.counted = true, .backwards = !a_.backwards, .key = a_.key, .parallel = a_.parallel};
    if (a_.given_count || !a_.counted()) made.count = r_.out(a_.count_port());
    made.body = record_body(r_.graph, "gradient", {}, [&](std::vector<value>& given) { return derive(given); });
    for (std::size_t k = 0; k < first_.size(); ++k) {
      auto const& [outer, like] = first_[k];
      value const first = outer ? outer : zeros_like(like);
      made.variables.push_back(is_loop_variable(carried_[k]) && !is_sum(carried_[k]) ? first : widened(first));
    }
    for (auto const& row : even_) made.rows.push_back(outside(row));
    for (auto const& row : uneven_) made.rows.push_back(outside(row)), made.extents.push_back(extents(row));
    made.saved = derived_uneven_;
    hand_out();
    auto const node = record_loop(std::move(made));
    std::vector<gradient> all(r_.inputs());
    std::uint32_t port = 0;
    for (auto i : carried_) {
      if (r_.wanted[i]) all[i] = narrowed_to(r_.in(i), value{node.graph, node.node, port});
      ++port;
    }
    for (auto i : derived_rows_) all[i] = value{node.graph, node.node, ++port};
    return all;
  }

 private:
  /// Rows that the new loop reads: as a value of its body; outside, as a derivative or an input of the forward loop;
  /// and as a value of the forward body.
  struct taken {
    value inside, outside;
    endpoint forward;
  };

  std::size_t variable(std::size_t i) const { return a_.first_variable() + i; }
  std::size_t variables() const { return static_cast<std::size_t>(a_.variables); }

  // A loop variable is active if its first value is, or if the body computes it from active values.
  void find_active() {
    std::vector<bool> inputs;
    for (auto i = a_.first_variable(); i < r_.inputs(); ++i) inputs.push_back(r_.wanted[i]);
    auto const wanted = [&](node const& n) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(a_.references); ++i)
        if (r_.wanted[i] && is_variable(n) && r_.in(i).origin().name == n.name) return true;
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

  // Records the body again with its derivatives. Returns the next derivatives of the loop variables, the next sums, and
  // the rows.
  std::vector<value> derive(std::vector<value>& given) {
    auto& here = r_.graph.innermost();
    std::vector<value> x, y, dy;
    auto const again = record_again(here, x);
    take_derivatives(here, again, given, y, dy);
    auto next = hand_on(here, derivatives_of(r_, y, dy, x), x, given);
    save(here, again, next);
    if (even_.empty() && a_.rows > a_.uneven && !a_.given_count) {  // they count
      auto const rows = r_.in(a_.first_row());
      even_.push_back({here.argument(row_of(rows.type()), "forward"), rows, {}});
    }
    for (auto const* list : {&even_, &uneven_})
      for (auto const& row : *list) given.push_back(row.inside);
    return next;
  }

  // Records the body; `x` are the values with respect to which it is differentiated.
  replay record_again(graph& here, std::vector<value>& x) {
    std::vector<value> arguments, references;
    auto const differentiate_by = [&](std::size_t input, value v, bool wanted) {
      if (wanted) x.push_back(v), x_of_.push_back(input);
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
    return replay(here, body_, arguments, references, true);
  }

  // The results of an iteration and their derivatives: of a loop variable, from the next iteration; of a row, from
  // outside.
  void take_derivatives(graph& here, replay const& again, std::vector<value>& given, std::vector<value>& y,
                        std::vector<value>& dy) {
    for (std::size_t i = 0; i < variables(); ++i) {
      if (!active_[i]) continue;
      auto const outside = r_.out(i);
      carried_.push_back(variable(i));
      first_.emplace_back(r_.dy(i), outside);
      if (is_sum(variable(i))) {
        given.push_back(here.argument(outside.type().with(wide_element(outside.type().element)), "sum"));
        continue;
      }
      given.push_back(here.argument(outside.type(), "derivative"));
      y.push_back(again.of(body_.outputs[i]));
      dy.push_back(given.back());
    }
    for (std::size_t i = 0; i < a_.made_rows(); ++i) {
      auto const outer = r_.dy(a_.row_port(i));
      if (!outer) continue;
      auto const e = body_.outputs[variables() + i];
      bool const uneven = !r_.out(a_.row_port(i)).type().has_rank();
      dy.push_back(here.argument(uneven ? body_.type_of(e) : row_of(outer.type()), "derivative"));
      y.push_back(again.of(e));
      (uneven ? uneven_ : even_).push_back({dy.back(), outer, e});
    }
  }

  // Turns the derivatives with respect to x into the next derivatives of the loop variables, the next sums, and the
  // rows.
  std::vector<value> hand_on(graph& here, std::vector<gradient> const& parts, std::vector<value> const& x,
                             std::vector<value>& given) {
    std::vector<value> next, made, made_uneven;
    std::vector<std::size_t> derived_uneven;
    for (std::size_t k = 0, at = 0; k < x.size(); ++k)
      if (is_loop_variable(x_of_[k])) {
        if (is_sum(x_of_[k])) next.push_back(parts[k] ? add_to(given[at], parts[k]) : given[at]);
        else next.push_back(parts[k] ? densify(parts[k], given[at]) : zeros_like(given[at]));
        ++at;
      }
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (!parts[k] || is_loop_variable(x_of_[k])) continue;
      if (is_row(x_of_[k])) {
        bool const uneven = x_of_[k] >= a_.first_uneven();
        (uneven ? derived_uneven : derived_rows_).push_back(x_of_[k]);
        auto const derived = densify(parts[k], x[k]);
        if (uneven) made_uneven.push_back(reshape_like(derived, x[k]));  // where those are alike, these are
        else made.push_back(derived);
        continue;
      }
      carried_.push_back(x_of_[k]);
      first_.emplace_back(value(), r_.in(x_of_[k]));
      // The addends of 16-bit floats, one for each iteration, are added as float32.
      type const sum = parts[k].sparse() ? x[k].type() : parts[k].dense.type();
      given.push_back(here.argument(sum.with(wide_element(sum.element)), "sum"));
      next.push_back(add_to(given.back(), parts[k]));
    }
    derived_uneven_ = static_cast<std::int64_t>(derived_uneven.size());
    derived_rows_.insert(derived_rows_.end(), derived_uneven.begin(), derived_uneven.end());
    for (auto const& list : {made, made_uneven}) next.insert(next.end(), list.begin(), list.end());
    return next;
  }
  static value add_to(value sum, gradient const& part) {
    return part.sparse() ? add_rows(sum, part.indices, widened(part.rows)) : add(sum, widened(part.dense));
  }
  // Whether an input is a loop variable of 16-bit floats that no iteration changes. Its derivative is a sum like that
  // of a value from outside.
  bool is_sum(std::size_t input) const {
    if (!is_loop_variable(input)) return false;
    auto const at = input - a_.first_variable();
    auto const element = r_.in(input).type().element;
    return body_.outputs[at] == endpoint{body_.inputs[at], 0} && wide_element(element) != element;
  }
  bool is_loop_variable(std::size_t input) const { return input >= a_.first_variable() && input < a_.first_row(); }
  bool is_row(std::size_t input) const { return input >= a_.first_row() && input < a_.first_capture(); }

  // Finds the values of the forward body that its derivatives read. Values that are equal in all iterations are
  // computed again, and so are inner loops with an unknown number of rows: saving those would require plans of both
  // bodies for every number.
  void save(graph& here, replay const& again, std::vector<value> const& results) {
    std::vector<bool> inputs(body_.inputs.size());
    std::fill_n(inputs.begin(), variables() + static_cast<std::size_t>(a_.rows), true);
    auto const varying =
        dependent(body_, inputs, [](node const& n) { return n.op->effect != effect::none && !is_variable(n); });
    std::map<endpoint, endpoint> forward;  // of values here
    for (std::uint32_t i = 0; i < body_.size(); ++i) {
      auto const& same = again.of(i);
      if (!varying[i] || same.empty() || (ops::is_loop(body_[i]) && !follow(grown_[i], same[0].origin()))) continue;
      for (std::uint32_t port = 0; port < grown_[i].outputs.size(); ++port)
        forward.try_emplace(port < same.size() ? same[port].endpoint() : endpoint{same[0].node, port},
                            endpoint{i, port});
    }
    std::vector<bool> seen(here.size());
    std::vector<endpoint> todo;
    for (auto const& v : results) todo.push_back(v.endpoint());
    std::map<endpoint, endpoint> saved;
    while (!todo.empty()) {
      auto const e = todo.back();
      todo.pop_back();
      if (auto const at = forward.find(e); at != forward.end()) {
        saved.insert(*at);
        continue;
      }
      if (seen[e.node]) continue;
      seen[e.node] = true;
      auto const& n = here[e.node];
      todo.insert(todo.end(), n.inputs.rbegin(), n.inputs.rend());
    }
    auto probe = grown_;
    probe.outputs.clear();
    for (auto const& [e, from] : saved) probe.outputs.push_back(from);
    auto const types = infer(probe, ops::loop_rules::given(a_, types_of_inputs(), r_.origin().outputs));
    auto next = types.begin();
    for (auto const& [e, from] : saved)
      (is_uneven(from, *next++) ? uneven_ : even_).push_back({{&here, e.node, e.port}, {}, from});
  }
  // A loop in the body must also produce the rows that its copy produces by now.
  static bool follow(node& n, node const& copy) {
    auto const a = decode<ops::loop_rules::attributes>(copy.attributes);
    if (n.op->effect == effect::writes || (a.made_rows() > 0 && (a.given_count || !a.counted()))) return false;
    n.attributes = copy.attributes;
    n.outputs = copy.outputs;
    return true;
  }
  std::vector<type> types_of_inputs() const {
    std::vector<type> all;
    for (std::size_t i = 0; i < r_.inputs(); ++i) all.push_back(r_.in(i).type());
    return all;
  }
  // Returns the position of the loop's input that is this value of its body; past the last one if there is none.
  std::size_t input_of(endpoint e) const {
    return a_.first_variable() +
           static_cast<std::size_t>(std::find(body_.inputs.begin(), body_.inputs.end(), e.node) - body_.inputs.begin());
  }
  bool is_uneven(endpoint e, type const& t) const {
    return is_row(input_of(e)) ? input_of(e) >= a_.first_uneven() : !ops::loop_rules::is_alike(t);
  }

  // Returns the rows with a value of the forward body: an input of the forward loop, or rows that it produces, if
  // necessary from now on.
  value handed(endpoint e) {
    if (is_row(input_of(e))) return r_.in(input_of(e));
    auto& made = grown_.outputs;
    auto at = std::find(made.begin() + a_.variables, made.end(), e);
    if (at == made.end()) at = made.insert(at, e);
    return r_.out(a_.row_port(static_cast<std::size_t>(at - made.begin() - a_.variables)));
  }
  value outside(taken const& row) { return row.outside ? row.outside : handed(row.forward); }
  value extents(taken const& row) {
    auto const input = input_of(row.forward);
    if (is_row(input)) return r_.in(a_.first_extents() + input - a_.first_uneven());
    return handed(extents_of(row.forward));
  }
  endpoint extents_of(endpoint e) {
    auto const& op = definition<ops::extents_of_op>();
    for (std::uint32_t i = 0; i < grown_.size(); ++i)
      if (grown_[i].op == &op && grown_[i].inputs[0] == e) return {i, 0};
    node n;
    n.op = &op;
    n.name = grown_[e.node].name + "/extents";
    n.inputs = {e};
    n.outputs = {ops::extents_of_op::infer({}, grown_.type_of(e))};
    grown_.nodes.push_back(std::move(n));
    grown_.origin.push_back(grown_.origin[e.node]);
    return {static_cast<std::uint32_t>(grown_.size() - 1), 0};
  }
  void hand_out() {
    auto const more = grown_.outputs.size() - body_.outputs.size();
    if (more == 0) return;
    auto a = a_;
    a.saved += static_cast<std::int64_t>(more);
    a.body = std::make_shared<subgraph const>(grown_);
    r_.graph.grow(r_.at, encode(a));
  }

  gradient_request const& r_;
  ops::loop_rules::attributes const a_;
  subgraph const& body_;
  std::vector<bool> active_;                    // of the loop variables
  std::vector<std::size_t> x_of_;               // the input that each value is which its body is differentiated by
  std::vector<std::size_t> carried_;            // the input whose derivative each variable of the new loop is
  std::vector<std::size_t> derived_rows_;       // the input whose derivative each of its rows is
  std::vector<std::pair<value, value>> first_;  // of each variable: its first value, or what it is a zero like
  std::vector<taken> even_, uneven_;            // rows of the new loop
  std::int64_t derived_uneven_ = 0;             // of derived_rows_, the last
  subgraph grown_;                              // the forward body, with more results
};

RILL_INLINE std::vector<gradient> loop_gradient(gradient_request const& r) { return backwards_loop(r).record(); }

}  // namespace rill::detail
#endif
