// The derivative of a call is a call of the derivative of its function: name/gradient, recorded once, and once more
// within graph::gradients_beside, as name/gradient/beside. It takes the function's arguments and the outer derivatives
// dy, computes again what it needs of the function, and returns Σₒ dyₒ ∂yₒ/∂x for each x. A function that calls itself
// has a derivative that calls itself.
#pragma once
#include "rill/ops/control/replay.hpp"

#if RILL_RUNTIME
namespace rill::detail {

/// The derivative of one function with respect to some inputs of its calls.
class derivative {
 public:
  derivative(gradient_request const& r, function_definition const& f)
      : r_(r), root_(r.graph.outermost()), f_(f), variables_(f.references.size()) {
    if (!f.body)
      throw error(code::unimplemented, "the function '" + f.name + "' is differentiated while it is recorded",
                  r.origin().name);
    refuse_updated_reads(*f.body, r.origin().name);
    choose();
  }

  /// The inputs of the call whose derivative is computed.
  std::vector<std::size_t> const& inputs() const { return x_; }

  function_definition const& function() const {
    auto const beside = r_.graph.innermost().places_gradients_beside();
    auto const name = f_.name + "/gradient" + (beside ? "/beside" : "") + chosen_;
    if (auto const* known = root_.functions().find(name)) return *known;
    function_request made{.name = name,
                          .arguments = f_.arguments,
                          .results = std::vector<type>{},
                          .captures = f_.captures,
                          .most = f_.most};
    for (auto const& t : f_.results)
      if (is_differentiable(t.element)) made.arguments.push_back(t);
    for (auto i : x_) {
      made.results->push_back(type_of(i));
      made.like.push_back(like(i, made.arguments.size()));
    }
    return record_function(root_, std::move(made),
                           [&](function_definition const&, std::vector<value> const& given) { return record(given); });
  }

 private:
  std::size_t arguments() const { return f_.arguments.size(); }

  // The derivative of a recursive function is with respect to all inputs, so that its own calls find it; of other
  // functions, with respect to the wanted inputs.
  void choose() {
    bool all = true;
    for (std::size_t i = 0; i < r_.inputs(); ++i) {
      if (!is_differentiable(type_of(i).element)) continue;
      if (f_.recursive || r_.wanted[i]) x_.push_back(i), chosen_ += (chosen_.empty() ? "/" : "_") + std::to_string(i);
      else all = false;
    }
    if (all) chosen_.clear();
  }
  type const& type_of(std::size_t input) const {
    if (input < variables_) return value{&root_, f_.references[input], 0}.type();
    if (input < variables_ + arguments()) return f_.arguments[input - variables_];
    auto const e = f_.captures[input - variables_ - arguments()];
    return value{&root_, e.node, e.port}.type();
  }
  // Finds an input among the arguments of the derivative and its captures, which begin with the captures of f.
  std::int32_t like(std::size_t input, std::size_t own) const {
    if (input < variables_) return -1;
    auto const place = input - variables_;
    return static_cast<std::int32_t>(place < arguments() ? place : place - arguments() + own);
  }

  std::vector<value> record(std::vector<value> const& given) const {
    auto& here = *given.at(0).graph;
    std::vector<value> x, taken(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(arguments())), variables;
    for (auto v : f_.references) variables.push_back(here.inside({&root_, v, 0}));
    for (auto e : f_.captures) taken.push_back(here.inside({&root_, e.node, e.port}));
    for (auto i : x_) x.push_back(i < variables_ ? variables[i] : taken[i - variables_]);
    replay const again(here, *f_.body, taken, variables);
    std::vector<value> y, dy;
    auto next = given.begin() + static_cast<std::ptrdiff_t>(arguments());
    for (auto e : f_.body->outputs) {
      y.push_back(again.of(e));
      dy.push_back(is_differentiable(y.back().type().element) ? *next++ : value());
    }
    auto sums = dense_derivatives(r_, y, dy, x);
    for (std::size_t k = 0; k < x.size(); ++k)
      if (!sums[k]) sums[k] = zeros_like(x[k]);
    return sums;
  }

  gradient_request const& r_;
  graph& root_;
  function_definition const& f_;
  std::size_t variables_;
  std::vector<std::size_t> x_;
  std::string chosen_;
};

RILL_INLINE std::vector<gradient> call_gradient(gradient_request const& r) {
  auto const a = decode<ops::call_rules::attributes>(r.origin().attributes);
  auto const& f = *a.function;
  derivative const made(r, f);
  std::vector<value> arguments;
  for (std::size_t i = 0; i < f.arguments.size(); ++i) arguments.push_back(r.in(f.references.size() + i));
  for (std::size_t o = 0; o < f.results.size(); ++o)
    if (is_differentiable(f.results[o].element)) arguments.push_back(r.dy(o) ? r.dy(o) : zeros_like(r.out(o)));
  auto const node =
      record_call(r.graph, made.function(), arguments, a.key);  // draws the same random numbers as the call
  std::vector<gradient> all(r.inputs());
  for (std::uint32_t k = 0; k < made.inputs().size(); ++k)
    if (auto const i = made.inputs()[k]; r.wanted[i]) all[i] = value{node.graph, node.node, k};
  return all;
}

}  // namespace rill::detail
#endif

#if RILL_RUNTIME
namespace rill::detail {

// The function name/without_updates, recorded once; for a recursive function it is recursive, too.
inline function_definition const& function_without_updates(graph& here, node const& n, function_definition const& f) {
  if (!f.body)
    throw error(code::unimplemented, "the function '" + f.name + "' is differentiated while it is recorded", n.name);
  auto& root = here.outermost();
  auto const name = f.name + "/without_updates";
  if (auto const* known = root.functions().find(name)) return *known;
  refuse_updated_reads(*f.body, n.name);
  function_request again{.name = name,
                         .arguments = f.arguments,
                         .results = f.results,
                         .like = f.like,
                         .captures = f.captures,
                         .most = f.most};
  return record_function(root, std::move(again), [&](function_definition const&, std::vector<value> given) {
    auto& inner = root.innermost();
    std::vector<value> variables;
    for (auto v : f.references) variables.push_back(inner.inside({&root, v, 0}));
    for (auto e : f.captures) given.push_back(inner.inside({&root, e.node, e.port}));
    return record_again(inner, *f.body, given, variables);
  });
}

}  // namespace rill::detail

namespace rill::ops {

RILL_INLINE value call_rules::without_updates(graph& here, node const& n, std::vector<value> const& inputs) {
  auto const a = decode<attributes>(n.attributes);
  auto const own = static_cast<std::size_t>(a.references);
  auto const& f = detail::function_without_updates(here, n, *a.function);
  return detail::record_call(here, f, detail::between(inputs, own, own + a.function->arguments.size()), a.key);
}

}  // namespace rill::ops
#endif
