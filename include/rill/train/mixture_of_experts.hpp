// Mixtures of experts: for each example, a gate chooses which of many networks compute it (OSDI'16 §1, EuroSys'18 §2.1;
// N. Shazeer et al., Outrageously Large Neural Networks, ICLR 2017).
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rill/ops/array/concat.hpp"
#include "rill/ops/array/expand_dims.hpp"
#include "rill/ops/array/fill.hpp"
#include "rill/ops/array/one_hot.hpp"
#include "rill/ops/array/positions.hpp"
#include "rill/ops/array/where.hpp"
#include "rill/ops/control/cond.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/relu.hpp"
#include "rill/ops/network/softmax.hpp"
#include "rill/ops/reduction/argmax.hpp"
#include "rill/ops/sort/sort.hpp"
#include "rill/ops/table/gather.hpp"
#include "rill/train/dense.hpp"

namespace rill {

/// The result of a mixture of experts.
struct mixture {
  value result;  ///< [rows, out]
  value gates;   ///< the gate's softmax over all experts [rows, experts], for a loss that balances the experts
  value choice;  ///< the indices of the chosen experts [rows, top]
};

/// An expert of a mixture: maps rows [n, in] to rows [n, out]. It is recorded as a branch, so create its variables
/// before the call of `mix_experts`.
using expert = std::function<value(value rows)>;

/// Computes each row of x [rows, in] by the `top` experts with the largest `logits` [rows, experts], and returns the
/// weighted sum of the experts' results. For top = 1 the weight is the expert's share of softmax(logits) (W. Fedus et
/// al., Switch Transformers, 2021); otherwise it is softmax over the chosen experts' logits (Shazeer §2.1). An expert
/// computes only the rows that chose it, and does not run without rows. Throws error(invalid_argument) if the types
/// don't fit or `top` is not from 1 to the number of experts.
mixture mix_experts(value x, value logits, std::vector<expert> const& experts, std::int64_t top = 1);

namespace detail {

/// Computes relu(x W + b) V + c.
struct two_layers {
  affine hidden, out;
  two_layers(graph& g, type const& row, std::int64_t units, std::int64_t results, std::string_view name)
      : hidden(g, row, units, std::string(name) + "/hidden"),
        out(g, type(row.element, {dim(units)}), results, std::string(name) + "/out") {}
  value operator()(value x) const { return out(relu(hidden(x))); }
  std::vector<variable_value> variables() const { return {hidden.weights, hidden.bias, out.weights, out.bias}; }
};

}  // namespace detail

/// A network of two layers, relu(x W + b) V + c, for rows of the type `Row`. All calls share the weights.
template <type Row, dim Hidden, dim Units> class feed_forward {
 public:
  static_assert(Row.has_rank() && Row.rank == 1 && Row.is_known() && Hidden.known() && Units.known(),
                "feed_forward: expected rows [features] and numbers of units that are all known");

  /// Creates the variables hidden/weights, hidden/bias, out/weights and out/bias in the scope `name`.
  feed_forward(graph& g, std::string_view name) try : layers_(g, Row, Hidden.extent, Units.extent, name) {
  } catch (...) {
    rethrow_as_error();
  }

  /// Returns [n, units] for rows [n, features].
  value operator()(value rows) const try { return layers_(rows); } catch (...) {
    rethrow_as_error();
  }
  /// Returns the variables that training changes.
  std::vector<variable_value> variables() const try { return layers_.variables(); } catch (...) {
    rethrow_as_error();
  }

 private:
  detail::two_layers layers_;
};

/// A mixture of feed_forward networks with its gate. All calls share the weights:
/// `auto mixture = mixture_of_experts_layer<8, 256>(g, 64, "mixture"); mixture(x);` sends each row of x [..., 64]
/// through the best `top` of 8 networks with 256 hidden units; the result has x's type. The experts' variables,
/// expert_0/hidden/weights and so on, and the variable gate [features, 8] are in the scope `name`.
template <std::int64_t Experts, dim Hidden, element T = float> class mixture_of_experts_layer {
 public:
  static_assert(Experts > 0, "mixture_of_experts: the number of experts must be above 0");
  static_assert(Hidden.known(), "mixture_of_experts: the number of hidden units must be a number");

  /// Creates the variables, for rows of `features` features.
  mixture_of_experts_layer(graph& g, std::int64_t features, std::string_view name, std::int64_t top = 1) try
      : name_(name), top_(top) {
    type const row(dtype_of<T>, {dim(features)});
    for (std::int64_t i = 0; i < Experts; ++i)
      experts_.emplace_back(g, row, Hidden.extent, features, name_ + "/expert_" + std::to_string(i));
    gate_ = variable(g, type(dtype_of<T>, {dim(features), dim(Experts)}), name_ + "/gate", glorot());
  } catch (...) {
    rethrow_as_error();
  }

  /// Returns the mixture's result, of x's extents, for x [..., features]; gates and choice have a row for each row of
  /// x.
  mixture operator()(value x) const try {
    return detail::graph_of(x).scope(name_, [&] {
      auto const rows = x.type().has_rank() && x.type().rank == 2 ? x : value(flatten_rows(x));
      auto mixed =
          mix_experts(rows, matmul(rows, value(gate_)), std::vector<expert>(experts_.begin(), experts_.end()), top_);
      mixed.result = reshape_like(mixed.result, x);
      return mixed;
    });
  } catch (...) {
    rethrow_as_error();
  }
  /// Returns the variables that training changes.
  std::vector<variable_value> variables() const try {
    std::vector<variable_value> all{gate_};
    for (auto const& e : experts_)
      for (auto const& v : e.variables()) all.push_back(v);
    return all;
  } catch (...) {
    rethrow_as_error();
  }

 private:
  std::string name_;
  std::int64_t top_;
  std::vector<detail::two_layers> experts_;
  variable_value gate_;
};

/// Creates a mixture_of_experts_layer and calls it once: `mixture_of_experts<8, 256>(x, "mixture")` for x [batch, ...,
/// features].
template <std::int64_t Experts, dim Hidden, typed X>
mixture mixture_of_experts(X x, std::string_view name, std::int64_t top = 1) {
  constexpr type in = X::static_type;
  static_assert(in.has_rank() && in.rank >= 2 && in[in.rank - std::size_t{1}].known(),
                "mixture_of_experts: expected [batch, ..., features] with a known number of features");
  return mixture_of_experts_layer<Experts, Hidden, element_of<in.element>>(
      detail::graph_of(x), in[in.rank - std::size_t{1}].extent, name, top)(x);
}

#if RILL_RUNTIME
namespace detail {

/// Runs an expert on its rows; without rows, returns an empty result and does not run the expert.
inline value run_expert(expert const& network, value rows, value taken, value chosen) {
  auto const number = sum(cast(chosen, dtype::int64), extents{});
  dim units;
  return cond(
      less(zero(number), number),
      [&] {
        auto const y = network(rows);
        if (!y.type().has_rank() || y.type().rank != 2 || !y.type()[1].known())
          throw error(
              code::invalid_argument,
              "mix_experts: expected a matrix with a known number of columns from an expert, got " + y.type().text(),
              y.name());
        units = y.type()[1];
        return y;
      },
      [&] { return gather(fill(zero(rows), shape{1, units.extent}), taken); });
}

}  // namespace detail

RILL_INLINE mixture mix_experts(value x, value logits, std::vector<expert> const& experts, std::int64_t top) try {
  type const in = x.type(), t = logits.type();
  auto const count = static_cast<std::int64_t>(experts.size());
  if (!in.has_rank() || in.rank != 2 || !in[1].known())
    throw error(code::invalid_argument,
                "mix_experts: expected a matrix with a known number of columns, got " + in.text(), x.name());
  if (!t.has_rank() || t.rank != 2 || t[1] != dim(count))
    throw error(
        code::invalid_argument,
        "mix_experts: expected logits [rows, " + std::to_string(count) + "], a column for each expert, got " + t.text(),
        logits.name());
  if (top <= 0 || top > count)
    throw error(code::invalid_argument, "mix_experts: expected 1 to " + std::to_string(count) +
                                            " experts for a row, got " + std::to_string(top));
  mixture m;
  auto const gates = softmax(detail::widened(logits));
  m.gates = detail::narrowed_to(logits, gates);
  value chosen_logits, first;  // first: the best expert of each row
  if (top == 1) {
    first = argmax(logits, 1, dtype::int64);
    m.choice = expand_dims(first, 1);
  } else {
    auto const best = top_k(logits, top, 1, dtype::int64);
    chosen_logits = best[0], m.choice = best[1];
  }
  // One slot per row and chosen expert. Each expert computes the rows of its slots, and its results return to them.
  auto const slot_experts = top == 1 ? first : reshape(m.choice, extents{-1});
  std::vector<value> taken, results;
  for (std::int64_t i = 0; i < count; ++i) {
    auto const chosen = equal(slot_experts, like(slot_experts, i));
    taken.push_back(where(chosen));
    auto const rows = gather(x, top == 1 ? taken.back() : div(taken.back(), like(taken.back(), top)));
    results.push_back(detail::run_expert(experts[static_cast<std::size_t>(i)], rows, taken.back(), chosen));
  }
  auto const order = concat(taken, 0);
  auto const back = scatter_like(order, positions(order, 0, dtype::int64), slot_experts);
  auto const all = gather(concat(results, 0), back);
  if (top == 1) {
    auto const share = sum(select(one_hot(first, count, dtype::boolean), gates, zero(gates)), extents{1}, true);
    m.result = detail::narrowed_to(x, mul(detail::widened(all), share));
    return m;
  }
  auto const units = all.type()[1];
  auto const apart =
      record_erased<ops::reshape_op>(detail::graph_of(x), {type(in.element, {t[0], dim(top), units})}, {all});
  auto const share = expand_dims(softmax(detail::widened(chosen_logits)), 2);
  m.result = detail::narrowed_to(x, sum(mul(detail::widened(apart), share), extents{1}));
  return m;
} catch (...) {
  rethrow_as_error();
}
#endif

}  // namespace rill
