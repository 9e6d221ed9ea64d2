// Recurrent layers over sequences: cells, and the loop that runs them (EuroSys'18 §6). The first axis of sequences is
// time: [time, batch, features].
#pragma once
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "rill/ops/array/concat.hpp"
#include "rill/ops/array/fill.hpp"
#include "rill/ops/array/positions.hpp"
#include "rill/ops/array/slice.hpp"
#include "rill/ops/control/custom_gradient.hpp"
#include "rill/ops/control/while_loop.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/math/select.hpp"
#include "rill/train/dense.hpp"
#include "rill/train/lengths.hpp"

namespace rill {

namespace detail {

/// The variables of a recurrent layer: the weights and biases of the input and of the state.
struct recurrent_weights {
  value input, state, bias, state_bias;

  std::vector<variable_value> variables() const {
    std::vector<variable_value> all;
    for (auto const& v : {input, state, bias, state_bias})
      if (v) all.push_back({v});
    return all;
  }
  /// Returns the weights for a cell, 16-bit floats as float32.
  recurrent_weights wide() const { return {widened(input), widened(state), widened(bias), widened(state_bias)}; }
};

/// Returns the columns of `count` gates from gate i on, `units` columns each.
inline value gate(value gates, std::int64_t i, std::int64_t units, std::int64_t count = 1) {
  return slice(gates, {0, i * units}, {-1, count * units});
}

}  // namespace detail

/// Computes h' = tanh(x W + h U + b) (J. L. Elman, Cognitive Science 14, 1990).
template <dim Units> struct rnn_cell {
  static constexpr dim units = Units;
  static constexpr std::int64_t gates = 1;
  static constexpr std::size_t states = 1;
  static constexpr bool biases_state = false;
  std::vector<value> step(value x, std::vector<value> const& s, detail::recurrent_weights const& w) const {
    return {tanh(add(x, matmul(s[0], w.state)))};
  }
};

/// A gated recurrent unit: r, z = σ(x W + h U + b), n = tanh(x Wₙ + bₙ + r (h Uₙ + b'ₙ)), h' = n + z (h - n) (K. Cho et
/// al., EMNLP 2014; the reset gate applies after the product, as in cuDNN).
template <dim Units> struct gru_cell {
  static constexpr dim units = Units;
  static constexpr std::int64_t gates = 3;
  static constexpr std::size_t states = 1;
  static constexpr bool biases_state = true;
  std::vector<value> step(value x, std::vector<value> const& s, detail::recurrent_weights const& w) const {
    constexpr auto u = Units.extent;
    auto const h = add(matmul(s[0], w.state), w.state_bias);
    auto const rz = sigmoid(add(detail::gate(x, 0, u, 2), detail::gate(h, 0, u, 2)));
    auto const n = tanh(add(detail::gate(x, 2, u), mul(detail::gate(rz, 0, u), detail::gate(h, 2, u))));
    return {add(n, mul(detail::gate(rz, 1, u), sub(s[0], n)))};
  }
};

/// A long short-term memory: i, j, f, o = x W + h U + b, c' = c σ(f + forget_bias) + σ(i) tanh(j), h' = tanh(c') σ(o)
/// (S. Hochreiter and J. Schmidhuber, Neural Computation 9, 1997; with the forget gate of F. Gers et al., 2000).
template <dim Units> struct lstm_cell {
  static constexpr dim units = Units;
  static constexpr std::int64_t gates = 4;
  static constexpr std::size_t states = 2;
  static constexpr bool biases_state = false;
  double forget_bias = 1;
  std::vector<value> step(value x, std::vector<value> const& s, detail::recurrent_weights const& w) const {
    auto const all = add(x, matmul(s[0], w.state));
    auto const at = [&](std::int64_t i) { return detail::gate(all, i, Units.extent); };
    auto const kept = sigmoid(add(at(2), like(at(2), forget_bias)));
    auto const c = add(mul(s[1], kept), mul(sigmoid(at(0)), tanh(at(1))));
    return {mul(tanh(c), sigmoid(at(3))), c};
  }
};

/// The result of a recurrent layer: the outputs of all steps, and the last state, which is one value, or (h, c) for an
/// lstm_cell.
template <class Outputs, class State> struct recurrent {
  Outputs outputs;
  State state;
};

namespace detail {

template <class Cell>
concept recurrent_cell = requires(Cell const& c, value x, std::vector<value> s, recurrent_weights w) {
  { c.step(x, s, w) } -> std::same_as<std::vector<value>>;
  Cell::units, Cell::gates, Cell::states, Cell::biases_state;
};

/// Multiplies all steps of x by the input's weights in one product and adds the bias. Returns x itself if both time and
/// batch are open, because the product could not be reshaped.
value project(value x, recurrent_weights const& w, std::int64_t columns);
/// Returns zeros [batch, units].
value first_state(value x, std::int64_t units);
/// Returns bools [time, batch, 1]: whether a time is before the end of the sequence.
value within(value x, value lengths);

/// Creates the weights in the current scope, for rows of that type.
recurrent_weights make_weights(graph& g, type const& row, std::int64_t units, std::int64_t gates, bool two_biases);

/// Runs a cell over the steps of x. 16-bit floats are computed as float32, because the state adds up many small
/// changes.
template <recurrent_cell Cell>
std::vector<value> run_recurrent(Cell const& cell, recurrent_weights const& of, value in, value lengths,
                                 bool backwards) {
  auto const w = of.wide();
  auto const x = widened(in);
  auto& g = graph_of(x);
  constexpr auto units = Cell::units.extent;
  std::vector<value> const state(Cell::states, first_state(x, units));
  auto const projected = project(x, w, units * Cell::gates);
  bool const inside = projected.endpoint() == x.endpoint();
  loop_request r{.variables = state, .rows = {projected}, .counted = true, .backwards = backwards};
  if (lengths) r.rows.push_back(within(x, lengths));
  std::vector<type> arguments;
  for (auto const& s : state) arguments.push_back(s.type());
  for (auto const& rows : r.rows) arguments.push_back(row_of(rows.type()));
  r.body = record_body(g, "step", arguments, [&](std::vector<value> const& given) {
    std::vector<value> const now(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(state.size()));
    auto const row = given[state.size()];
    auto next = cell.step(inside ? value(add(matmul(row, w.input), w.bias)) : row, now, w);
    auto out = next[0];
    if (lengths) {
      for (std::size_t i = 0; i < next.size(); ++i) next[i] = select(given.back(), next[i], now[i]);
      out = select(given.back(), out, zero(out));
    }
    next.push_back(out);
    return next;
  });
  auto const node = record_loop(std::move(r));
  std::vector<value> all;  // the outputs, then the last state
  all.push_back({node.graph, node.node, static_cast<std::uint32_t>(state.size()) + 1});
  for (std::uint32_t i = 0; i < state.size(); ++i) all.push_back({node.graph, node.node, i});
  for (auto& each : all) each = narrowed_to(in, each);
  return all;
}

constexpr type state_type(type const& x, dim const& units) { return {x.element, {x[1], units}}; }
constexpr type outputs_type(type const& x, dim const& units) { return {x.element, {x[0], x[1], units}}; }

/// Returns a cell's state as typed handles: one handle, or a tuple.
template <type T, class Cell> auto typed_state(std::vector<value> const& all, std::size_t first) {
  if constexpr (Cell::states == 1) return expr<T>{all[first]};
  else
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      return std::tuple{expr<T>{all[first + Index]}...};
    }(std::make_index_sequence<Cell::states>{});
}

}  // namespace detail

/// A cell with its weights, which are variables in the scope `name`. `Row` is the type of one step's features, such as
/// of<float, 64>. All calls share the weights.
template <detail::recurrent_cell Cell, type Row> class recurrent_layer {
 public:
  static_assert(Row.has_rank() && Row.rank == 1 && Row.is_known(),
                "a recurrent layer: expected rows [features] with a known number of features");
  static_assert(Cell::units.known(), "a recurrent layer: the number of units must be a number");

  /// Creates the weights in the scope `name`.
  recurrent_layer(graph& g, std::string_view name, Cell cell = {}) try
      : cell_(cell), weights_(g.scope(name, [&] {
          return detail::make_weights(g, Row, Cell::units.extent, Cell::gates, Cell::biases_state);
        })) {
  } catch (...) {
    rethrow_as_error();
  }

  /// Runs the cell over the steps of x [time, batch, features]; the first state is zeros. Returns outputs [time, batch,
  /// units] and the last state.
  template <typed X> auto operator()(X x) const { return run(x, {}, false); }
  /// Runs the cell over a padded batch. Sequence b has `lengths[b]` steps; a length below 0 or above the time fails the
  /// session's step with error(invalid_argument). After a sequence's end its outputs are zeros and its state stays.
  /// `backwards` starts at each sequence's end.
  template <typed X, typed Lengths> auto operator()(X x, Lengths lengths, bool backwards = false) const {
    static_assert(Lengths::static_type.rank == 1 && dtypes::integers.contains(Lengths::static_type.element),
                  "a recurrent layer: expected lengths [batch] of integers");
    return run(x, lengths, backwards);
  }
  /// Runs one step for x [batch, features] from a state of this layer, and returns the next state.
  template <typed X, class State> auto step(X x, State const& state) const try {
    check_row<X, 2>();
    auto const w = weights_.wide();
    auto const projected = add(matmul(detail::widened(value(x)), w.input), w.bias);
    constexpr type t{Row.element, {X::static_type[0], Cell::units}};
    std::vector<value> now = detail::listed(state);
    for (auto& each : now) each = detail::widened(each);
    auto next = cell_.step(projected, now, w);
    for (auto& each : next) each = detail::narrowed_to(value(x), each);
    return detail::typed_state<t, Cell>(next, 0);
  } catch (...) {
    rethrow_as_error();
  }
  /// Returns the variables that training changes.
  std::vector<variable_value> variables() const try { return weights_.variables(); } catch (...) {
    rethrow_as_error();
  }

 private:
  template <class X, std::size_t Rank> static constexpr void check_row() {
    static_assert(
        X::static_type.has_rank() && X::static_type.rank == Rank &&
            accepts(Row, type{X::static_type.element, {X::static_type[Rank - 1]}}),
        "a recurrent layer: expected [time, batch, features] (step: [batch, features]) with the layer's features");
  }
  template <class X> auto run(X x, value lengths, bool backwards) const try {
    check_row<X, 3>();
    constexpr type in = X::static_type;
    auto const all = detail::run_recurrent(cell_, weights_, x, lengths, backwards);
    auto const state = detail::typed_state<type{in.element, {in[1], Cell::units}}, Cell>(all, 1);
    return recurrent{expr<type{in.element, {in[0], in[1], Cell::units}}>{all[0]}, state};
  } catch (...) {
    rethrow_as_error();
  }

  Cell cell_;
  detail::recurrent_weights weights_;
};

/// Two recurrent layers over a padded batch, one forwards and one backwards. All calls share the weights.
template <detail::recurrent_cell Cell, type Row> class bidirectional_layer {
 public:
  /// Creates the weights in the scopes `name`/forward and `name`/backward.
  bidirectional_layer(graph& g, std::string_view name, Cell cell = {}) try
      : forward_(g, std::string(name) + "/forward", cell), backward_(g, std::string(name) + "/backward", cell) {
  } catch (...) {
    rethrow_as_error();
  }

  /// Returns the concatenated outputs [time, batch, 2 units] and a tuple of both last states.
  template <typed X, typed Lengths> auto operator()(X x, Lengths lengths) const {
    auto const there = forward_(x, lengths), back = backward_(x, lengths, true);
    return recurrent{concat<2>(there.outputs, back.outputs), std::tuple{there.state, back.state}};
  }
  /// Returns the variables that training changes.
  std::vector<variable_value> variables() const try {
    auto all = forward_.variables();
    for (auto const& v : backward_.variables()) all.push_back(v);
    return all;
  } catch (...) {
    rethrow_as_error();
  }

 private:
  recurrent_layer<Cell, Row> forward_, backward_;
};

namespace detail {

template <class X> constexpr type features_of() {
  static_assert(X::static_type.has_rank() && X::static_type.rank == 3, "dynamic_rnn: expected [time, batch, features]");
  return {X::static_type.element, {X::static_type[2]}};
}

}  // namespace detail

/// Runs a cell over the steps of x [time, batch, features]; time and batch may be open:
/// `auto [h, last] = dynamic_rnn(lstm_cell<256>{}, x, "lstm");`. The loop is one node, and one product multiplies the
/// inputs of all steps unless both time and batch are open.
template <detail::recurrent_cell Cell, typed X> auto dynamic_rnn(Cell const& cell, X x, std::string_view name) {
  return recurrent_layer<Cell, detail::features_of<X>()>(detail::graph_of(x), name, cell)(x);
}
/// Runs a cell over a padded batch; `lengths` [batch] has each sequence's number of steps.
template <detail::recurrent_cell Cell, typed X, typed Lengths>
auto dynamic_rnn(Cell const& cell, X x, Lengths lengths, std::string_view name) {
  return recurrent_layer<Cell, detail::features_of<X>()>(detail::graph_of(x), name, cell)(x, lengths);
}
/// Runs two cells over a padded batch, one forwards and one backwards. Returns the concatenated outputs [time, batch,
/// 2 units] and a tuple of both last states.
template <detail::recurrent_cell Cell, typed X, typed Lengths>
auto bidirectional_rnn(Cell const& cell, X x, Lengths lengths, std::string_view name) {
  return bidirectional_layer<Cell, detail::features_of<X>()>(detail::graph_of(x), name, cell)(x, lengths);
}

#if RILL_RUNTIME
namespace detail {

RILL_INLINE recurrent_weights make_weights(graph& g, type const& row, std::int64_t units, std::int64_t gates,
                                           bool two_biases) {
  auto const make = [&](std::initializer_list<dim> extents, std::string_view name, auto const& init) {
    return value(variable(g, type(row.element, extents), name, init));
  };
  auto const columns = units * gates;
  recurrent_weights w;
  w.input = make({row[0], dim(columns)}, "input", glorot());
  w.state = make({dim(units), dim(columns)}, "state", glorot());
  w.bias = make({dim(columns)}, "bias", zeros());
  if (two_biases) w.state_bias = make({dim(columns)}, "state_bias", zeros());
  return w;
}

RILL_INLINE value project(value x, recurrent_weights const& w, std::int64_t columns) {
  auto const t = x.type();
  if (!t[0].known() && !t[1].known()) return x;
  auto const rows = matmul(reshape(x, {-1, t[2].extent}), w.input);
  return reshape(add(rows, w.bias), {t[0].known() ? t[0].extent : -1, t[1].known() ? t[1].extent : -1, columns});
}

RILL_INLINE value first_state(value x, std::int64_t units) {
  auto const t = x.type();
  auto const zero_of = [&](shape const& extents) { return fill(zero(x), extents); };
  if (t[1].known()) return zero_of({t[1].extent, units});
  auto const batch = sum(cast(less(x, x), t.element), extents{0, 2});  // zeros for every x, NaN too
  return add(reshape(batch, {-1, 1}), zero_of({units}));
}

RILL_INLINE value within(value x, value lengths) {
  auto const number = positions(x, 0, dtype::int64);
  return less(reshape(number, {-1, 1, 1}), reshape(checked_lengths(lengths, x, 0), {-1, 1}));
}

}  // namespace detail
#endif

}  // namespace rill
