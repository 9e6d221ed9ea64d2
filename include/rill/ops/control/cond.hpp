// cond runs one of two bodies, which a predicate chooses (white paper §4.4).
#pragma once
#include <array>
#include <optional>
#include <string>

#include "rill/ops/control/body.hpp"
#include "rill/ops/control/replay.hpp"
#include "rill/ops/math/comparison.hpp"

namespace rill::detail {
std::vector<gradient> branch_gradient(gradient_request const& r);
}

namespace rill::ops {

/// What the operations of a branch share. Their inputs are variables, the predicate, and the captures of the bodies.
struct branch {
  static constexpr std::int8_t arity = -1;
  static constexpr op_kind kind = op_kind::cond;
  static constexpr std::string_view counts_references = "references";
  static constexpr std::string_view counts_updates = "updates";
  static constexpr bool dynamic_output_shape = true;
  struct attributes {
    std::shared_ptr<subgraph const> then, otherwise;
    std::int64_t references = 0, updates = 0;
    std::int64_t number = -1;  ///< of a case_: which of its branches `then` is
    bool last = false;         ///< of a case_: `otherwise` is the branch after that; else it holds all that come after
    static constexpr auto fields(auto const& take) {
      return take(field{"then", &attributes::then}, field{"otherwise", &attributes::otherwise},
                  field{"references", &attributes::references}, field{"updates", &attributes::updates},
                  field{"number", &attributes::number}, field{"last", &attributes::last});
    }
    void check(std::size_t inputs) const;
    /// Returns how an error names the body for the predicate `verdict`; empty if a branch within the body names it.
    std::string place_of(bool verdict) const;
  };
  static std::vector<type> infer(attributes const& a, std::span<type const> inputs);
  /// Returns the types of a body's results; or, if the body can't run with arguments of these types, the error to throw
  /// when it is chosen.
  struct branch_types {
    std::vector<type> results = {};
    std::optional<error> refusal = {};
    branch_types(subgraph const& body, std::span<type const> arguments);
  };
  template <class> static std::vector<gradient> grad(gradient_request const& r) { return detail::branch_gradient(r); }
  static value without_updates(graph& here, node const& n, std::vector<value> const& inputs);
  static path_table paths(node const& n, std::span<std::string_view const> names, path_finder& finder);
  static kernel cpu(kernel_request const& r);
};

struct cond_op : branch {
  using library = void;
  static constexpr std::string_view name = "cond", doc = "runs one of two bodies, which a predicate chooses";
};
struct reading_cond_op : branch {
  using library = void;
  static constexpr std::string_view name = "reading_cond",
                                    doc = "a cond whose bodies read variables or draw random numbers";
  static constexpr rill::effect effect = rill::effect::reads;
};
struct updating_cond_op : branch {
  using library = void;
  static constexpr std::string_view name = "updating_cond", doc = "a cond whose bodies update variables";
  static constexpr rill::effect effect = rill::effect::writes;
};

#if RILL_RUNTIME
RILL_INLINE void branch::attributes::check(std::size_t inputs) const {
  expects(then && otherwise, "cond: a body is missing");
  expects(references >= 0 && updates >= 0 && updates <= references, "cond: the number of variables is wrong");
  expects(number >= -1 && number < INT32_MAX, "cond: the number of its branch is out of range");
  auto const own = static_cast<std::size_t>(references) + 1;
  expects(inputs >= own && then->inputs.size() == inputs - own && otherwise->inputs.size() == inputs - own,
          "cond: the bodies take a different number of values");
  expects(then->outputs.size() == otherwise->outputs.size(), "cond: the branches return different numbers of values");
}

RILL_INLINE std::string branch::attributes::place_of(bool verdict) const {
  if (number < 0) return verdict ? "in the branch for true" : "in the branch for false";
  if (verdict) return "in branch " + std::to_string(number);
  return last ? "in branch " + std::to_string(number + 1) : "";
}

RILL_INLINE std::vector<type> branch::infer(attributes const& a, std::span<type const> inputs) {
  a.check(inputs.size());
  auto const own = static_cast<std::size_t>(a.references);
  expects(accepts(of<bool>, inputs[own]), "cond: the predicate must be a scalar of bool");
  // With extents known only in the step, one branch may be valid and the other not.
  auto const arguments = inputs.subspan(own + 1);
  branch_types const then(*a.then, arguments), otherwise(*a.otherwise, arguments);
  bool const one_may_do = all_known(arguments) && !(then.refusal && otherwise.refusal);
  for (auto const* s : {&then, &otherwise})
    if (s->refusal && !one_may_do) throw error(*s->refusal);
  auto types = (then.refusal ? otherwise : then).results;
  auto const& others = (otherwise.refusal ? then : otherwise).results;
  for (std::size_t i = 0; i < types.size(); ++i)
    types[i] = detail::common_type(types[i], others[i], "cond: the branches must return values of the same types");
  return types;
}

RILL_INLINE branch::branch_types::branch_types(subgraph const& body, std::span<type const> arguments) {
  try {
    results = rill::infer(body, arguments);
  } catch (error const& e) {
    refusal = e;
  }
}

RILL_INLINE path_table branch::paths(node const& n, std::span<std::string_view const> names, path_finder& finder) {
  auto const a = decode<attributes>(n.attributes);
  auto table = detail::no_paths(n.outputs.size(), n.inputs.size());
  for (auto const& body : {a.then, a.otherwise}) {
    auto const own = static_cast<std::size_t>(a.references);
    if (!detail::add_paths(table, finder.through(body), names.first(own), own + 1)) return {};
  }
  return table;
}

RILL_INLINE kernel branch::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  auto const own = static_cast<std::size_t>(a.references);
  auto const arguments = r.inputs.subspan(own + 1);
  struct compiled_branch {
    std::optional<error> refusal;
    std::shared_ptr<compiled_body> body;
  };
  auto const compiled = [&](subgraph const& body) {
    auto refusal = branch_types(body, arguments).refusal;
    return compiled_branch{refusal, refusal ? nullptr : r.compile(r, body, arguments)};
  };
  compiled_branch const then = compiled(*a.then), otherwise = compiled(*a.otherwise);
  detail::body_call const run(r, own + 1);
  kernel k([=, sides = std::array{a.place_of(false), a.place_of(true)}](kernel_call const& call) {
    bool const verdict = *call.in<bool>(own);
    auto const& taken = verdict ? then : otherwise;
    try {
      if (taken.refusal) throw error(*taken.refusal);
      step_context step = call.step;  // other threads see that one
      step.carried = call.carried;
      run(*taken.body, call, step);
    } catch (error const& e) {
      if (detail::placed_errors::holds(e) && call.carried) {
        *call.carried = as_failure(e);
        return;
      }
      if (detail::placed_errors::holds(e)) throw;
      auto const& side = sides[verdict];
      throw error(e.kind(), side.empty() ? std::string(e.message()) : side + detail::place_of(e), {}, e.device());
    }
  });
  k.allocates_outputs = run.open();
  k.carries_failures = true;
  if (then.body && otherwise.body) k.updates_in_place = run.updates_in_place({then.body.get(), otherwise.body.get()});
  return k;
}
#endif

}  // namespace rill::ops

namespace rill {

namespace detail {

/// Records a branch of two bodies without arguments, with the position of `like` in a case_.
value record_branch(value predicate, recorded_body then, recorded_body otherwise,
                    ops::branch::attributes const& like = {});

#if RILL_RUNTIME
RILL_INLINE value record_branch(value predicate, recorded_body then, recorded_body otherwise,
                                ops::branch::attributes const& like) {
  auto const all = merge_captures({{&then, 0}, {&otherwise, 0}});
  auto inputs = all.references;
  inputs.push_back(predicate);
  inputs.insert(inputs.end(), all.captures.begin(), all.captures.end());
  auto const& op = definition_for<ops::cond_op, ops::reading_cond_op, ops::updating_cond_op>(all.effect);
  ops::branch::attributes a = like;
  a.then = std::make_shared<subgraph const>(std::move(then.subgraph));
  a.otherwise = std::make_shared<subgraph const>(std::move(otherwise.subgraph));
  a.references = static_cast<std::int64_t>(all.references.size());
  a.updates = static_cast<std::int64_t>(all.updates);
  auto const* const name = a.number < 0 ? "cond" : "case";
  return predicate.graph->after(all.waits, [&] { return predicate.graph->add(op, encode(a), inputs, name); });
}

// A branch with the same predicate, whose bodies compute the derivatives of the bodies and the values that they need.
RILL_INLINE std::vector<gradient> branch_gradient(gradient_request const& r) {
  auto const a = decode<ops::branch::attributes>(r.origin().attributes);
  auto const own = static_cast<std::size_t>(a.references);
  auto const derived = [&](subgraph const& body) {
    refuse_updated_reads(body, r.origin().name);
    return record_body(r.graph, "gradient", {}, [&](auto const&) {
      auto& here = r.graph.innermost();
      std::vector<value> captures, variables, x, y, dy;
      for (std::size_t i = 0; i < r.inputs(); ++i) {
        if (i == own) continue;
        auto const inside = here.inside(r.in(i));
        (i < own ? variables : captures).push_back(inside);
        if (r.wanted[i]) x.push_back(inside);
      }
      replay const again(here, body, captures, variables);
      for (std::size_t o = 0; o < body.outputs.size(); ++o) {
        y.push_back(r.dy(o) ? again.of(body.outputs[o]) : value());
        dy.push_back(r.dy(o) ? here.inside(r.dy(o)) : value());
      }
      auto sums = dense_derivatives(r, y, dy, x);
      for (std::size_t k = 0; k < x.size(); ++k)
        if (!sums[k]) sums[k] = zeros_like(x[k]);
      return sums;
    });
  };
  auto const node = record_branch(r.in(own), derived(*a.then), derived(*a.otherwise), a);
  std::vector<gradient> all(r.inputs());
  for (std::uint32_t i = 0, next = 0; i < r.inputs(); ++i)
    if (r.wanted[i]) all[i] = value{node.graph, node.node, next++};
  return all;
}
#endif

}  // namespace detail

namespace detail {

template <operand P, class Then, class Otherwise>
auto record_either(P predicate, Then const& then, Otherwise const& otherwise, ops::branch::attributes const& like) {
  using A = typename handle_outside<decltype(then())>::type;
  using B = typename handle_outside<decltype(otherwise())>::type;
  constexpr bool of_graph = are_of_graph<A> && are_of_graph<B>;
  static_assert(of_graph, "cond: the lambdas must return values of the graph: one, or a tuple of them");
  if constexpr (!may_be<P, of<bool>>) {
    constexpr auto said = sentence_of_types("cond: the predicate must be a scalar of bool", P::static_type, of<bool>);
    named<said>().compiles();
  }
  if constexpr (of_graph && !std::same_as<A, B>) {
    constexpr auto said = sentence_of_handles<A, B>("cond: the two branches must return values of the same types");
    named<said>().compiles();
  }
  if constexpr (of_graph) {
    auto& g = graph_of(predicate);
    auto first = record_body(g, "then", {}, [&](auto const&) { return results_of(then); });
    auto second = record_body(g, "otherwise", {}, [&](auto const&) { return results_of(otherwise); });
    auto const node = record_branch(predicate, std::move(first), std::move(second), like);
    if constexpr (std::same_as<A, std::tuple<>>) return operation(node);
    else return handles_from<A>(node);
  } else return refused{};
}

}  // namespace detail

/// Runs `then()` if the predicate is true, else `otherwise()`; the other body is not computed and makes no updates.
/// Both return the same types: a handle, a tuple of handles, or nothing. Values captured from outside are computed
/// before the branch; variables are read and updated when it runs.
template <operand P, class Then, class Otherwise>
auto cond(P predicate, Then const& then, Otherwise const& otherwise) try {
  return detail::record_either(predicate, then, otherwise, {});
} catch (...) {
  rethrow_as_error();
}

}  // namespace rill

#if RILL_RUNTIME
namespace rill::ops {

RILL_INLINE value branch::without_updates(graph& here, node const& n, std::vector<value> const& inputs) {
  auto const a = decode<attributes>(n.attributes);
  auto const own = static_cast<std::size_t>(a.references);
  auto const variables = detail::between(inputs, 0, own), captures = detail::between(inputs, own + 1, inputs.size());
  auto const body = [&](subgraph const& sub) {
    return detail::body_without_updates(here, n.name, sub, 0, captures, variables);
  };
  auto then = body(*a.then);
  return detail::record_branch(inputs[own], std::move(then), body(*a.otherwise), a);
}

}  // namespace rill::ops
#endif
