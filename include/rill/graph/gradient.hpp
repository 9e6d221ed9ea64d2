// Partial derivatives, and the request that an operation's gradient rule gets.
#pragma once
#include <string>
#include <vector>

#include "rill/graph/graph.hpp"

namespace rill {

/// A partial derivative with respect to an input: dense, or sparse: some rows of a tensor of the input's type that is
/// zero elsewhere.
struct gradient {
  value dense;          ///< empty if there is no derivative, or a sparse one
  value indices, rows;  ///< of a sparse derivative: which rows, and their values; an index may occur more than once

  gradient() = default;
  gradient(value v) : dense(v) {}
  gradient(value which, value what) : indices(which), rows(what) {}
  explicit operator bool() const { return dense || rows; }
  bool sparse() const { return static_cast<bool>(rows); }
};

/// Applies a user's rule to a node whose inputs are `x` and whose output is `y`. Returns a derivative for each x,
/// perhaps empty. Throws error(invalid_argument) if their number or a type is wrong.
std::vector<value> derivatives(graph::rule const& by, std::vector<value> const& x, value y, value dy);

/// The arguments of an operation's gradient rule.
struct gradient_request {
  rill::graph& graph;
  std::uint32_t at;                 ///< the node
  std::vector<value> const& outer;  ///< the target's derivative with respect to each output; empty: none
  std::vector<bool> const& wanted;  ///< for each input whether its derivative is needed
  /// The differentiator, for operations that consist of others. A pointer, so that operations need not include
  /// gradients.
  std::vector<gradient> (*derive)(std::vector<value> const& y, std::vector<value> const& x,
                                  std::vector<value> const& dy) = nullptr;
  /// Returns what the rule reads in place of an earlier value; empty: the value itself.
  std::function<value(value const&)> saved = {};

  /// Returns the node; the functions below return its inputs, its outputs and its outer derivatives.
  node const& origin() const { return graph[at]; }
  value in(std::size_t i) const {
    auto const e = origin().inputs[i];
    return read({&graph, e.node, e.port});
  }
  value out(std::size_t i = 0) const { return read({&graph, at, static_cast<std::uint32_t>(i)}); }
  value dy(std::size_t i = 0) const { return outer[i]; }
  std::size_t inputs() const { return origin().inputs.size(); }
  /// Returns for each x the sum of dy ∂y/∂x over all y whose dy is not empty.
  std::vector<gradient> differentiate(std::vector<value> const& y, std::vector<value> const& x,
                                      std::vector<value> const& dy) const {
    return derive(y, x, dy);
  }

 private:
  value read(value const& v) const { return saved ? saved(v) : v; }
};

#if RILL_RUNTIME
RILL_INLINE std::vector<value> derivatives(graph::rule const& by, std::vector<value> const& x, value y, value dy) {
  auto const fail = [&](std::string const& why) {
    throw error(code::invalid_argument, "the gradient rule that was given for it: " + why, y.origin().name);
  };
  auto d = by(x, y, dy);
  if (d.size() != x.size())
    fail("expected " + std::to_string(x.size()) + " derivatives, one for each input, got " + std::to_string(d.size()));
  for (std::size_t i = 0; i < d.size(); ++i)
    if (d[i] && !accepts(x[i].type(), d[i].type()))
      fail("derivative " + std::to_string(i) + " is " + with_article(d[i].type()) + ", its input " +
           with_article(x[i].type()));
  return d;
}
#endif

}  // namespace rill
