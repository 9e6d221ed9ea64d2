// Partial derivatives on their way through a graph, and what an operation's gradient rule is handed.
#pragma once
#include <string>
#include <vector>

#include "rill/graph/graph.hpp"

namespace rill {

/// A partial derivative on its way: dense, or the rows `indices` of a zero tensor like the input it belongs to.
struct gradient {
  value dense;          ///< empty if there is none, or if it is sparse
  value indices, rows;  ///< of a sparse one: which rows, and their values; the same row may come twice

  gradient() = default;
  gradient(value v) : dense(v) {}
  gradient(value which, value what) : indices(which), rows(what) {}
  explicit operator bool() const { return dense || rows; }
  bool sparse() const { return static_cast<bool>(rows); }
};

/// What a user's rule gives for a node whose value is `y`: a derivative, perhaps empty, for each x, of x's type;
/// error(invalid_argument) otherwise.
std::vector<value> derivatives(graph::rule const& by, std::vector<value> const& x, value y, value dy);

/// What an operation's gradient rule is handed.
struct gradient_request {
  rill::graph& graph;
  std::uint32_t at;
  std::vector<value> const& outer;  ///< for each output the derivative of the target with respect to it; empty: none
  std::vector<bool> const& wanted;  ///< for each input whether its gradient is asked for
  /// The differentiator, for operations made of others: it is handed in so that operations stay below gradients.
  std::vector<gradient> (*derive)(std::vector<value> const& y, std::vector<value> const& x,
                                  std::vector<value> const& dy) = nullptr;

  /// The node, its inputs and outputs, and what the target's derivative with respect to an output is.
  node const& origin() const { return graph[at]; }
  value in(std::size_t i) const {
    auto const e = origin().inputs[i];
    return {&graph, e.node, e.port};
  }
  value out(std::size_t i = 0) const { return {&graph, at, static_cast<std::uint32_t>(i)}; }
  value dy(std::size_t i = 0) const { return outer[i]; }
  std::size_t inputs() const { return origin().inputs.size(); }
  /// For each x the sum over the y of their derivatives times dy; where a dy is empty, its y is passed over.
  std::vector<gradient> differentiate(std::vector<value> const& y, std::vector<value> const& x,
                                      std::vector<value> const& dy) const {
    return derive(y, x, dy);
  }
};

#if RILL_RUNTIME
RILL_INLINE std::vector<value> derivatives(graph::rule const& by, std::vector<value> const& x, value y, value dy) {
  auto const fail = [&](std::string const& why) {
    throw error(code::invalid_argument, "the gradient rule that was given for it: " + why, y.origin().name);
  };
  auto d = by(x, y, dy);
  if (d.size() != x.size())
    fail("it gave " + std::to_string(d.size()) + " derivatives for " + std::to_string(x.size()) + " inputs");
  for (std::size_t i = 0; i < d.size(); ++i)
    if (d[i] && !accepts(x[i].type(), d[i].type()))
      fail("derivative " + std::to_string(i) + " is a " + d[i].type().text() + ", its input a " + x[i].type().text());
  return d;
}
#endif

}  // namespace rill
