// Lowers a loop, a branch or a call that waits to the primitives (EuroSys'18 §4.2): one flat part, for the tagged gear.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rill/graph/subgraph.hpp"
#include "rill/pass/options.hpp"
#include "rill/state/container.hpp"

namespace rill {

/// A part of primitives, and where each of its nodes stood before, which is what errors say.
struct lowered {
  static constexpr std::uint32_t none = UINT32_MAX;
  enum class body : std::uint8_t { condition, iteration, branch, function };
  struct place {
    std::uint32_t outer;  ///< the place of the loop, branch or call; none: it is the outermost
    std::string name;     ///< its own
    rill::lowered::body body;
    std::string text;  ///< of a branch or a function: which; empty where a branch within says so
    bool hands_on() const { return body == rill::lowered::body::branch && text.empty(); }
  };
  subgraph part;
  std::vector<std::uint32_t> within = {};  ///< of each node: its place, or none
  std::vector<place> places = {};
};

/// Lowers a bound loop, branch or call and all within it. The inputs of the part are the node's, without its variables;
/// its outputs are the node's.
lowered lower(node const& n, std::span<type const> inputs, container& state, pass_options const& passes);

}  // namespace rill

#if RILL_RUNTIME
#include "rill/graph/order.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/control/call.hpp"
#include "rill/ops/control/cond.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/control/loop.hpp"
#include "rill/ops/control/primitives.hpp"
#include "rill/pass/bind.hpp"
#include "rill/pass/passes.hpp"
#include "rill/run/can_lower.hpp"

namespace rill {

namespace detail {

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
      out_.part.inputs.push_back(in[k].node);
    }
    out_.part.outputs = structure(n, in, std::vector<bool>(in.size(), true), {}, {}).values;
    verify(out_.part);
    return std::move(out_);
  }

 private:
  static constexpr auto none = lowered::none;
  using nodes = std::vector<std::uint32_t>;
  /// Where nodes are lowered to. `pivot` is dead when the body does not run: nodes without an input that is dead then
  /// wait for it. What has an effect waits for `turn`, which comes when the iteration before is done with its effects,
  /// and for `stream`, by which it draws.
  struct scope {
    std::uint32_t pivot = none, turn = none, stream = none, place = none;
  };
  struct results {
    std::vector<endpoint> values;
    nodes done;  ///< have run when it has
  };
  struct spliced {
    std::vector<endpoint> values;
    std::vector<bool> guarded;  ///< dead when the body does not run
    nodes effects;
  };

  std::uint32_t append(node n, std::uint32_t place) {
    out_.part.nodes.push_back(std::move(n));
    out_.part.origin.push_back(0);
    out_.within.push_back(place);
    return static_cast<std::uint32_t>(out_.part.size() - 1);
  }
  template <class Op>
  std::uint32_t add(std::vector<endpoint> inputs, nodes controls, std::uint32_t place,
                    rill::attributes_of<Op> const& attributes = {}) {
    node n;
    n.op = &definition<Op>();
    n.name = std::string(Op::name);
    n.attributes = encode(attributes);
    std::vector<type> in;
    for (auto e : inputs) in.push_back(out_.part.type_of(e));
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
  bool is_constant(endpoint e) const { return out_.part[e.node].op->name == ops::constant_op::name; }

  static nodes joined(nodes a, std::uint32_t b) {
    if (b != none && std::find(a.begin(), a.end(), b) == a.end()) a.push_back(b);
    return a;
  }
  static nodes joined(nodes a, nodes const& b) {
    for (auto each : b) a = joined(std::move(a), each);
    return a;
  }

  // The body, bound to the types of its arguments and rewritten, as it would be for a plan of its own.
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

  // Copies a body's nodes in the order in which one thread runs them.
  spliced splice(subgraph const& body, std::vector<endpoint> const& arguments, std::vector<bool> const& safe, scope s) {
    auto const sequence = order(body);
    std::vector<nodes> before(body.size()), done(body.size());
    for (std::uint32_t i = 0; i < body.size(); ++i)
      for (auto later : sequence.after[i]) before[later].push_back(i);
    std::vector<std::vector<endpoint>> values(body.size());
    std::vector<bool> guarded(body.size());
    for (std::size_t k = 0; k < arguments.size(); ++k) {
      values[body.inputs[k]] = {arguments[k]};
      guarded[body.inputs[k]] = safe[k];
    }
    bool const updates =
        std::any_of(body.nodes.begin(), body.nodes.end(), [](node const& n) { return n.op->effect == effect::writes; });
    spliced made;
    for (auto i : sequence.nodes) {
      auto const& n = body[i];
      if (n.op == &fed_op) continue;
      std::vector<endpoint> in;
      std::vector<bool> in_guarded;
      for (auto e : n.inputs) {
        in.push_back(values[e.node][e.port]);
        in_guarded.push_back(guarded[e.node]);
      }
      nodes controls;
      bool anchored = false;
      for (auto b : before[i]) {
        // Loops and branches have values before they are done with their effects, and need not use what they are given:
        // where there are updates, they wait for all that comes before them, and others for all of them.
        bool const whole = updates && (has_bodies(n) || has_bodies(body[b]));
        bool const data = std::any_of(n.inputs.begin(), n.inputs.end(), [&](endpoint e) { return e.node == b; });
        anchored = anchored || guarded[b];
        if (whole || !data) controls = joined(std::move(controls), done[b]);
      }
      if (n.op->effect != effect::none)
        for (auto c : {s.pivot, s.turn, s.stream}) controls = joined(std::move(controls), c);
      results r;
      if (is_lowered(n)) r = structure(n, in, in_guarded, std::move(controls), s);
      else {
        bool const free = n.op->name == ops::constant_op::name;
        if (!free && !anchored && n.op->effect == effect::none) controls = joined(std::move(controls), s.pivot);
        node copy = n;
        copy.inputs = std::move(in);
        copy.controls = free ? nodes{} : std::move(controls);
        auto const at = append(std::move(copy), s.place);
        for (std::uint32_t p = 0; p < n.outputs.size(); ++p) r.values.push_back({at, p});
        if (!free) r.done = {at};
      }
      guarded[i] = n.op->name != ops::constant_op::name;
      if (n.op->effect != effect::none) made.effects = joined(std::move(made.effects), r.done);
      values[i] = std::move(r.values);
      done[i] = std::move(r.done);
    }
    for (auto e : body.outputs) {
      made.values.push_back(values[e.node][e.port]);
      made.guarded.push_back(guarded[e.node]);
    }
    return made;
  }

  results structure(node const& n, std::vector<endpoint> const& in, std::vector<bool> const& guarded, nodes controls,
                    scope s) {
    if (called_by(n)) return call(n, in, guarded, std::move(controls), s);
    return is_branch(n) ? branch(n, in, guarded, std::move(controls), s) : loop(n, in, guarded, std::move(controls), s);
  }

  /// How values enter a frame.
  struct entrance {
    std::string frame;
    std::uint32_t place;
    std::int64_t parallel;
    nodes controls;
    std::uint32_t pivot;
  };
  // What from outside enters, once for all iterations or as a variable's first value.
  endpoint enter(entrance const& to, endpoint e, bool safe, bool constant) {
    if (constant && is_constant(e)) return e;
    auto const waits = safe ? to.controls : joined(to.controls, to.pivot);
    return {add<ops::enter_op>({e}, waits, to.place, {to.frame, constant, to.parallel}), 0};
  }
  std::uint32_t enter_token(entrance const& to) { return enter(to, {constant(tensor(false)), 0}, false, false).node; }
  std::string frame_of(node const& n) { return n.name + " " + std::to_string(frames_++); }

  // A frame of one iteration, in which random numbers are the call's own.
  results call(node const& n, std::vector<endpoint> const& in, std::vector<bool> const& guarded, nodes controls,
               scope s) {
    auto const& f = *called_by(n);
    auto const first = f.references.size();
    std::vector<type> types;
    for (auto k = first; k < in.size(); ++k) types.push_back(out_.part.type_of(in[k]));
    auto const body = bound(*f.body, types);
    std::int64_t depth = 1;
    for (auto at = s.place; at != none; at = out_.places[at].outer)
      depth += out_.places[at].body == lowered::body::function;
    auto const here = place(s, n, lowered::body::function, ops::calls::place_in(f, depth));
    entrance const to{frame_of(n), here, 1, std::move(controls), s.pivot};
    auto const pivot = enter_token(to);
    auto const stream =
        add<ops::drawn_by_row_op>({}, {pivot}, here, {decode<ops::calling::attributes>(n.attributes).key});
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

  // Everything from outside comes through a switch, and what the bodies return goes through a merge.
  results branch(node const& n, std::vector<endpoint> const& in, std::vector<bool> const& guarded, nodes controls,
                 scope s) {
    auto const a = decode<ops::branch::attributes>(n.attributes);
    auto const own = static_cast<std::size_t>(a.references);
    auto const predicate = in[own];
    if (!guarded[own]) controls = joined(std::move(controls), s.pivot);
    auto const chosen = add<ops::switch_op>({predicate, predicate}, controls, s.place);
    std::vector<type> types;
    for (auto k = own + 1; k < in.size(); ++k) types.push_back(out_.part.type_of(in[k]));
    std::vector<std::uint32_t> switches(types.size(), none);
    auto const side = [&](subgraph const& body, std::uint32_t port) {
      auto const part = bound(body, types);
      auto const used = inputs_used(part);
      std::vector<endpoint> arguments;
      std::vector<bool> safe;
      for (std::size_t k = 0; k < types.size(); ++k) {
        auto const from = in[own + 1 + k];
        safe.push_back(used[k] && !is_constant(from));
        if (safe[k] && switches[k] == none) switches[k] = add<ops::switch_op>({from, predicate}, controls, s.place);
        arguments.push_back(safe[k] ? endpoint{switches[k], port} : from);
      }
      scope inner = s;
      inner.place = place(s, n, lowered::body::branch, a.side(port != 0));
      inner.pivot = add<ops::identity_op>({{chosen, port}}, {}, inner.place);
      auto made = splice(part, arguments, safe, inner);
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

  results loop(node const& n, std::vector<endpoint> const& in, std::vector<bool> const& guarded, nodes controls,
               scope s) {
    auto const a = decode<ops::looping::attributes>(n.attributes);
    auto const variables = static_cast<std::size_t>(a.variables), rows = static_cast<std::size_t>(a.rows);
    auto const first = a.first_variable();
    std::vector<type> types(in.size());
    for (auto k = static_cast<std::size_t>(a.references); k < in.size(); ++k) types[k] = out_.part.type_of(in[k]);
    auto const count = ops::looping::arguments(a, types).second;
    auto const given = ops::looping::given(a, types, n.outputs);
    auto const body = bound(*a.body, given);
    auto const here = place(s, n, lowered::body::iteration);
    entrance const to{frame_of(n), here, a.parallel, std::move(controls), s.pivot};
    auto const invariant = [&](std::size_t k) { return enter(to, in[k], guarded[k], true); };
    bool const draws = n.op->effect != effect::none;
    std::vector<bool> kept(variables);
    for (std::size_t i = 0; i < variables; ++i) kept[i] = body.outputs[i] == endpoint{body.inputs[i], 0};
    bool const ordered = n.op->effect == effect::writes || std::find(kept.begin(), kept.end(), false) == kept.end();

    std::vector<endpoint> merges(variables);
    std::uint32_t top = none, turn = none;
    if (ordered) {
      top = turn = add<ops::merge_op>({{enter_token(to), 0}}, {}, here);
    }
    for (std::size_t i = 0; i < variables; ++i) {
      merges[i] =
          kept[i] ? invariant(first + i)
                  : endpoint{add<ops::merge_op>({enter(to, in[first + i], guarded[first + i], false)}, {}, here), 0};
      if (!kept[i] && top == none) top = merges[i].node;
    }
    endpoint number{none, 0};
    if (a.given_count) number = invariant(static_cast<std::size_t>(a.references));
    else if (a.counted()) number = {constant(tensor(count.extent)), 0};
    std::uint32_t stream = none;
    if (draws)
      stream = add<ops::drawn_by_row_op>(a.backwards ? std::vector<endpoint>{number} : std::vector<endpoint>{}, {top},
                                         here, {a.key, a.backwards});

    std::vector<endpoint> captures;
    for (auto k = a.first_capture(); k < in.size(); ++k) captures.push_back(invariant(k));
    endpoint verdict;
    if (a.counted()) verdict = {add<ops::goes_on_op>({number}, {top}, here, {count.known() ? count.extent : -1}), 0};
    else {
      auto arguments = merges;
      auto safe = flipped(kept);
      arguments.insert(arguments.end(), captures.begin(), captures.end());
      safe.resize(arguments.size());
      auto const condition = bound(*a.condition, ops::looping::without_rows(a, given));
      auto const made = splice(condition, arguments, safe, {top, turn, stream, place(s, n, lowered::body::condition)});
      verdict = made.values[0];
      if (!made.guarded[0] || !made.effects.empty())  // the body comes after the condition's effects
        verdict = {add<ops::identity_op>({verdict}, joined(made.effects, top), here), 0};
    }
    verdict = {add<ops::loop_cond_op>({verdict}, {}, here), 0};

    // The body is dead in the iteration in which the loop ends.
    std::vector<std::uint32_t> switches(variables, none);
    for (std::size_t i = 0; i < variables; ++i)
      if (!kept[i]) switches[i] = add<ops::switch_op>({merges[i], verdict}, {}, here);
    auto const goes = add<ops::switch_op>({ordered ? endpoint{turn, 0} : verdict, verdict}, {}, here);
    auto const pivot = add<ops::identity_op>({{goes, 1}}, {}, here);
    std::vector<endpoint> arguments;
    std::vector<bool> safe = flipped(kept);
    for (std::size_t i = 0; i < variables; ++i) arguments.push_back(kept[i] ? merges[i] : endpoint{switches[i], 1});
    auto const used = inputs_used(body);
    for (std::size_t k = 0; k < rows; ++k) {
      safe.push_back(used[variables + k]);
      arguments.push_back(
          !safe.back()
              ? number
              : endpoint{add<ops::row_op>({invariant(a.first_row() + k), number}, {pivot}, here, {a.backwards}), 0});
    }
    arguments.insert(arguments.end(), captures.begin(), captures.end());
    safe.resize(arguments.size());
    auto const made = splice(body, arguments, safe, {pivot, ordered ? pivot : none, stream, here});

    results r;
    for (std::size_t i = 0; i < variables; ++i) {
      if (kept[i]) {
        auto const same = in[first + i];
        r.values.push_back(guarded[first + i] || s.pivot == none
                               ? same
                               : endpoint{add<ops::identity_op>({same}, {s.pivot}, s.place), 0});
        continue;
      }
      add<ops::next_iteration_op>({made.values[i], merges[i]}, {pivot}, here);
      r.values.push_back({add<ops::exit_op>({{switches[i], 0}}, {}, here), 0});
      r.done.push_back(r.values.back().node);
    }
    if (ordered) {
      auto const done = add<ops::identity_op>({{goes, 1}}, made.effects, here);
      add<ops::next_iteration_op>({{done, 0}, {turn, 0}}, {}, here);
    }
    r.values.push_back({add<ops::iterations_op>({{pivot, 0}}, {}, here), 0});
    r.done.push_back(r.values.back().node);
    for (std::size_t i = variables; i < body.outputs.size(); ++i) {
      std::vector<endpoint> from{made.values[i]};
      if (a.backwards) from.push_back(number);
      r.values.push_back(
          {add<ops::collect_op>(from, {pivot}, here,
                                {count.known() ? count.extent : -1, a.backwards, a.is_saved(i - variables)}),
           0});
      r.done.push_back(r.values.back().node);
    }
    return r;
  }
  static std::vector<bool> flipped(std::vector<bool> v) {
    v.flip();
    return v;
  }

  container& state_;
  pass_options const& passes_;
  lowered out_;
  std::uint32_t frames_ = 0;
};

}  // namespace detail

RILL_INLINE lowered lower(node const& n, std::span<type const> inputs, container& state, pass_options const& passes) {
  return detail::lowering(state, passes).run(n, inputs);
}

}  // namespace rill
#endif
