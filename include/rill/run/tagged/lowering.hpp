// Lowers control flow to primitives (EuroSys'18 §4.2): the nodes of bodies are copied into one flat subgraph, and
// values enter and leave bodies through primitives. Branches and calls are here, loops in lower_loop.hpp.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rill/graph/order.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/control/call.hpp"
#include "rill/ops/control/cond.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/control/loop.hpp"
#include "rill/ops/control/primitives.hpp"
#include "rill/pass/bind.hpp"
#include "rill/pass/options.hpp"
#include "rill/pass/passes.hpp"
#include "rill/run/tagged/can_lower.hpp"
#include "rill/run/tagged/lowered.hpp"
#include "rill/state/container.hpp"

#if RILL_RUNTIME
namespace rill::detail {

/// Builds the subgraph. In it a value is *guarded* if it is dead whenever the body that it is made in does not run.
class lowering {
 public:
  lowering(container& state, pass_options const& passes) : state_(state), passes_(passes) {}

  lowered run(node const& n, std::span<type const> inputs) {
    std::vector<endpoint> in(inputs.size());
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (takes_reference(n, k)) continue;
      rill::node fed;
      fed.op = &fed_op;
      fed.name = "input";
      fed.outputs = {inputs[k]};
      in[k] = {append(std::move(fed), none), 0};
      out_.subgraph.inputs.push_back(in[k].node);
    }
    out_.subgraph.outputs = structure(n, in, std::vector<bool>(in.size(), true), {}, {}).values;
    verify(out_.subgraph);
    return std::move(out_);
  }

 private:
  static constexpr auto none = lowered::none;
  using nodes = std::vector<std::uint32_t>;
  /// The body into which nodes are copied. `pivot` is a node that is dead when the body does not run; nodes without a
  /// guarded input wait for it. Nodes with an effect also wait for `turn`, which is live when the effects of the
  /// iteration before are done, and for `stream`, which sets the iteration's random stream.
  struct scope {
    std::uint32_t pivot = none, turn = none, stream = none, place = none;
  };
  struct results {
    std::vector<endpoint> values;
    nodes done;  ///< have all run when the loop, branch or call has
  };
  struct spliced {
    std::vector<endpoint> values;
    std::vector<bool> guarded;
    nodes effects;  ///< the nodes with an effect
  };

  std::uint32_t append(node n, std::uint32_t place) {
    out_.subgraph.nodes.push_back(std::move(n));
    out_.subgraph.origin.push_back(0);
    out_.within.push_back(place);
    return static_cast<std::uint32_t>(out_.subgraph.size() - 1);
  }
  template <class Op>
  std::uint32_t add(std::vector<endpoint> inputs, nodes controls, std::uint32_t place,
                    rill::attributes_of<Op> const& attributes = {}) {
    node n;
    n.op = &definition<Op>();
    n.name = std::string(Op::name);
    n.attributes = encode(attributes);
    std::vector<type> in;
    for (auto e : inputs) in.push_back(out_.subgraph.type_of(e));
    n.op->infer(n.attributes, in, n.outputs);
    n.inputs = std::move(inputs);
    n.controls = std::move(controls);
    return append(std::move(n), place);
  }
  std::uint32_t constant(tensor t) {
    node n;
    n.op = &definition<ops::constant_op>();
    n.name = "constant";
    n.outputs = {t.type()};
    n.attributes = {{"value", std::move(t)}};
    return append(std::move(n), none);
  }
  bool is_constant(endpoint e) const { return rill::is_constant(out_.subgraph[e.node]); }

  static nodes joined(nodes a, std::uint32_t b) {
    if (b != none && std::find(a.begin(), a.end(), b) == a.end()) a.push_back(b);
    return a;
  }
  static nodes joined(nodes a, nodes const& b) {
    for (auto each : b) a = joined(std::move(a), each);
    return a;
  }

  // Returns the body, bound to the types of its arguments and rewritten, as for a plan of its own.
  subgraph bound(subgraph body, std::vector<type> const& arguments) const {
    bind_extents(body, arguments, state_);
    rewrite(body, passes_, state_, nullptr);
    return body;
  }
  static std::vector<bool> inputs_used(subgraph const& body) {
    std::vector<bool> used(body.size()), inputs;
    for (auto const& n : body.nodes)
      for (auto e : n.inputs) used[e.node] = true;
    for (auto e : body.outputs) used[e.node] = true;
    for (auto i : body.inputs) inputs.push_back(used[i]);
    return inputs;
  }

  // Copies a body's nodes in the order in which one thread runs them. `from_guarded`: which arguments are guarded.
  spliced splice(subgraph const& body, std::vector<endpoint> const& arguments, std::vector<bool> const& from_guarded,
                 scope s) {
    return body_copy(*this, body, s).run(arguments, from_guarded);
  }
  class body_copy {
   public:
    body_copy(lowering& l, subgraph const& body, scope s)
        : lower_(l),
          body_(body),
          scope_(s),
          sequence_(order(body)),
          before_(body.size()),
          done_(body.size()),
          values_(body.size()),
          guarded_(body.size()),
          updates_(std::any_of(body.nodes.begin(), body.nodes.end(),
                               [](node const& n) { return n.op->effect == effect::writes; })) {
      for (std::uint32_t i = 0; i < body.size(); ++i)
        for (auto later : sequence_.after[i]) before_[later].push_back(i);
    }

    spliced run(std::vector<endpoint> const& arguments, std::vector<bool> const& from_guarded) {
      for (std::size_t k = 0; k < arguments.size(); ++k) {
        values_[body_.inputs[k]] = {arguments[k]};
        guarded_[body_.inputs[k]] = from_guarded[k];
      }
      spliced made;
      for (auto i : sequence_.nodes) {
        if (body_[i].op == &fed_op) continue;
        auto r = copy(i);
        guarded_[i] = !rill::is_constant(body_[i]);
        if (body_[i].op->effect != effect::none) made.effects = joined(std::move(made.effects), r.done);
        values_[i] = std::move(r.values);
        done_[i] = std::move(r.done);
      }
      for (auto e : body_.outputs) {
        made.values.push_back(values_[e.node][e.port]);
        made.guarded.push_back(guarded_[e.node]);
      }
      return made;
    }

   private:
    results copy(std::uint32_t i) {
      auto const& n = body_[i];
      std::vector<endpoint> in;
      std::vector<bool> in_guarded;
      for (auto e : n.inputs) {
        in.push_back(values_[e.node][e.port]);
        in_guarded.push_back(guarded_[e.node]);
      }
      auto controls = controls_of(i);
      if (is_lowered(n)) return lower_.structure(n, in, in_guarded, std::move(controls), scope_);
      results r;
      bool const free = rill::is_constant(n);
      node copied = n;
      copied.inputs = std::move(in);
      copied.controls = free ? nodes{} : controls;
      auto const at = lower_.append(std::move(copied), scope_.place);
      for (std::uint32_t p = 0; p < n.outputs.size(); ++p) r.values.push_back({at, p});
      r.done = free ? std::move(controls) : nodes{at};
      return r;
    }
    // Returns the nodes that the copy of node i waits for, besides its inputs.
    nodes controls_of(std::uint32_t i) const {
      auto const& n = body_[i];
      nodes controls;
      bool waits_for_guarded = false;
      for (auto b : before_[i]) {
        // A loop or branch may have its values before its effects are done, and need not use its inputs. So if the body
        // has updates, it waits for all of its predecessors, and its successors for all of it.
        bool const whole = updates_ && (has_bodies(n) || has_bodies(body_[b]));
        // A constant brings no token, so its readers wait for its predecessors.
        bool const data = !rill::is_constant(body_[b]) &&
                          std::any_of(n.inputs.begin(), n.inputs.end(), [&](endpoint e) { return e.node == b; });
        waits_for_guarded = waits_for_guarded || guarded_[b];
        if (whole || !data) controls = joined(std::move(controls), done_[b]);
      }
      if (n.op->effect != effect::none)
        for (auto c : {scope_.pivot, scope_.turn, scope_.stream}) controls = joined(std::move(controls), c);
      else if (!rill::is_constant(n) && !is_lowered(n) && !waits_for_guarded)
        controls = joined(std::move(controls), scope_.pivot);
      return controls;
    }

    lowering& lower_;
    subgraph const& body_;
    scope scope_;
    step_order sequence_;
    std::vector<nodes> before_,
        done_;  // by node of the body: its predecessors; the nodes that have run when its copy has
    std::vector<std::vector<endpoint>> values_;  // by node and port
    std::vector<bool> guarded_;                  // by node
    bool updates_;                               // whether a node of the body writes
  };

  results structure(node const& n, std::vector<endpoint> const& in, std::vector<bool> const& guarded, nodes controls,
                    scope s) {
    if (called_by(n)) return call(n, in, guarded, std::move(controls), s);
    return is_branch(n) ? branch(n, in, guarded, std::move(controls), s) : loop(n, in, guarded, std::move(controls), s);
  }

  /// The frame that values enter.
  struct entrance {
    std::string frame;
    std::uint32_t place;
    std::int64_t parallel;
    nodes controls;
    std::uint32_t pivot;
  };
  // Lets a value enter a frame, for all iterations if `constant`, otherwise for the first.
  endpoint enter(entrance const& to, endpoint e, bool guarded, bool constant) {
    if (constant && is_constant(e)) return e;
    auto const waits = guarded ? to.controls : joined(to.controls, to.pivot);
    return {add<ops::enter_op>({e}, waits, to.place, {to.frame, constant, to.parallel}), 0};
  }
  std::uint32_t enter_token(entrance const& to) { return enter(to, {constant(tensor(false)), 0}, false, false).node; }
  std::string frame_of(node const& n) { return n.name + " " + std::to_string(frames_++); }

  // Lowers a call to a frame of one iteration with a random stream of its own.
  results call(node const& n, std::vector<endpoint> const& in, std::vector<bool> const& guarded, nodes controls,
               scope s) {
    auto const& f = *called_by(n);
    auto const first = f.references.size();
    std::vector<type> types;
    for (auto k = first; k < in.size(); ++k) types.push_back(out_.subgraph.type_of(in[k]));
    auto const body = bound(*f.body, types);
    std::int64_t depth = 1;
    for (auto at = s.place; at != none; at = out_.places[at].outer)
      depth += out_.places[at].body == lowered::body::function;
    auto const here = place(s, n, lowered::body::function, ops::calls::place_in(f, depth));
    entrance const to{frame_of(n), here, 1, std::move(controls), s.pivot};
    auto const pivot = enter_token(to);
    auto const stream =
        add<ops::drawn_by_row_op>({}, {pivot}, here, {decode<ops::call_rules::attributes>(n.attributes).key});
    auto const used = inputs_used(body);
    std::vector<endpoint> arguments;
    std::vector<bool> safe;
    for (std::size_t k = 0; k < types.size(); ++k) {
      auto const from = in[first + k];
      safe.push_back(used[k] && !is_constant(from));
      arguments.push_back(safe[k] ? enter(to, from, guarded[first + k], true) : from);
    }
    auto const made = splice(body, arguments, safe, {pivot, none, stream, here});
    results r;
    for (std::size_t o = 0; o < made.values.size(); ++o) {
      auto const v =
          made.guarded[o] ? made.values[o] : endpoint{add<ops::identity_op>({made.values[o]}, {pivot}, here), 0};
      r.values.push_back({add<ops::exit_op>({v}, {}, here), 0});
      r.done.push_back(r.values.back().node);
    }
    auto const done = add<ops::identity_op>({{pivot, 0}}, made.effects, here);
    r.done.push_back(add<ops::exit_op>({{done, 0}}, {}, here));
    return r;
  }

  // Lowers a branch: inputs of the bodies come through switches, and their results through merges.
  results branch(node const& n, std::vector<endpoint> const& in, std::vector<bool> const& guarded, nodes controls,
                 scope s) {
    auto const a = decode<ops::branch::attributes>(n.attributes);
    auto const own = static_cast<std::size_t>(a.references);
    auto const predicate = in[own];
    if (!guarded[own]) controls = joined(std::move(controls), s.pivot);
    auto const chosen = add<ops::switch_op>({predicate, predicate}, controls, s.place);
    std::vector<type> types;
    for (auto k = own + 1; k < in.size(); ++k) types.push_back(out_.subgraph.type_of(in[k]));
    std::vector<std::uint32_t> switches(types.size(), none);
    auto const side = [&](subgraph const& body, std::uint32_t port) {
      auto const sub = bound(body, types);
      auto const used = inputs_used(sub);
      std::vector<endpoint> arguments;
      std::vector<bool> safe;
      for (std::size_t k = 0; k < types.size(); ++k) {
        auto const from = in[own + 1 + k];
        safe.push_back(used[k] && !is_constant(from));
        if (safe[k] && switches[k] == none) switches[k] = add<ops::switch_op>({from, predicate}, controls, s.place);
        arguments.push_back(safe[k] ? endpoint{switches[k], port} : from);
      }
      scope inner = s;
      inner.place = place(s, n, lowered::body::branch, a.place_of(port != 0));
      inner.pivot = add<ops::identity_op>({{chosen, port}}, {}, inner.place);
      auto made = splice(sub, arguments, safe, inner);
      for (std::size_t o = 0; o < made.values.size(); ++o)
        if (!made.guarded[o]) made.values[o] = {add<ops::identity_op>({made.values[o]}, {inner.pivot}, inner.place), 0};
      if (n.op->effect != effect::none)
        made.effects = {add<ops::identity_op>({{inner.pivot, 0}}, made.effects, inner.place)};
      return made;
    };
    auto const no = side(*a.otherwise, 0), yes = side(*a.then, 1);
    results r;
    for (std::size_t o = 0; o < yes.values.size(); ++o) {
      r.values.push_back({add<ops::merge_op>({no.values[o], yes.values[o]}, {}, s.place), 0});
      r.done.push_back(r.values.back().node);
    }
    if (n.op->effect != effect::none)
      r.done.push_back(add<ops::merge_op>({{no.effects[0], 0}, {yes.effects[0], 0}}, {}, s.place));
    return r;
  }

  std::uint32_t place(scope const& s, node const& n, lowered::body body, std::string text = {}) {
    out_.places.push_back({s.place, n.name, body, std::move(text)});
    return static_cast<std::uint32_t>(out_.places.size() - 1);
  }

  class loop_lowering;  // lower_loop.hpp
  results loop(node const& n, std::vector<endpoint> const& in, std::vector<bool> const& guarded, nodes controls,
               scope s);

  container& state_;
  pass_options const& passes_;
  lowered out_;
  std::uint32_t frames_ = 0;
};

}  // namespace rill::detail
#endif
