// Attention: averages of values, weighted by how well their keys match a query (A. Vaswani et al., Attention Is All You
// Need, NIPS 2017).
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "rill/ops/array/expand_dims.hpp"
#include "rill/ops/array/positions.hpp"
#include "rill/ops/array/transpose.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/network/softmax.hpp"
#include "rill/ops/reduction/all.hpp"
#include "rill/train/dense.hpp"
#include "rill/train/lengths.hpp"

namespace rill {

/// Which keys a query sees, and how much it looks at them. A query that sees no key, because of the mask or because its
/// scores with their bias are all -inf, has zeros as its result.
struct attention_mask {
  bool causal = false;  ///< whether a query sees no keys after its own position
  value lengths = {};   ///< integers [batch]; a query sees no keys after the end of its sequence
  value seen = {};      ///< bools that broadcast to the scores [batch, …, n, m]: whether a query sees a key
  value bias = {};      ///< numbers that broadcast to the scores, and are added to them before softmax
};

namespace detail {

/// Returns bools [batch, …, queries, keys] for scores of these extents: whether a query sees a key, because the mask
/// shows it and its score with the bias is not -inf. Returns an empty handle if there is neither a mask nor a bias.
value seen_keys(value scores, attention_mask const& mask);
/// Adds the bias to the scores, and sets the scores of keys that are not seen to -inf, so that softmax gives 0. If a
/// query sees no key, sets all its scores to 0, because softmax would give NaN.
value mask_scores(value scores, value seen, attention_mask const& mask);
/// Sets the results [batch, …, queries, features] of queries that see no keys to 0.
value mask_empty(value results, value seen);

template <class Q> double score_scale(Q q) try {
  if constexpr (typed<Q>)
    static_assert(Q::static_type.has_rank() && Q::static_type.rank >= 2 &&
                      Q::static_type[Q::static_type.rank - std::size_t{1}].known(),
                  "attention: expected queries [batch, …, n, features] with a known number of features");
  type const t = q.type();
  if (!t.has_rank() || t.rank < 2 || !t[t.rank - std::size_t{1}].known())
    throw error(code::invalid_argument,
                "attention: expected queries [batch, …, n, features] with a known number of features, got " + t.text(),
                value(q).name());
  return 1 / std::sqrt(static_cast<double>(t[t.rank - std::size_t{1}].extent));
} catch (...) {
  rethrow_as_error();
}

/// Returns the mask, with its bias as float32 if the queries have 16-bit floats: their scores are computed in float32.
attention_mask widened_mask(attention_mask mask, dtype queries);

/// Returns the attention of operands that are not of 16-bit floats.
template <operand Q, operand K, operand V> auto attend(Q q, K k, V v, attention_mask const& mask) {
  auto const scores = matmul<transposed{.b = true}>(q * score_scale(q), k);
  value const seen = seen_keys(scores, mask);
  auto const weights = softmax(std::remove_const_t<decltype(scores)>{mask_scores(scores, seen, mask)});
  auto const results = matmul(weights, v);
  return std::remove_const_t<decltype(results)>{mask_empty(results, seen)};
}

}  // namespace detail

/// Returns softmax(Q Kᵀ / √d) V (§3.2.1), [batch, …, n, e], for queries [batch, …, n, d], keys [batch, …, m, d] and
/// values [batch, …, m, e]. `attention(q, k, v, {.causal = true, .lengths = l})` masks keys, and so do bools as `seen`;
/// numbers as `bias` are added to Q Kᵀ / √d. 16-bit floats are computed as float32 and rounded once. Throws
/// error(invalid_argument) if the types don't fit; a length below 0 or above m fails the step.
template <operand Q, operand K, operand V> auto attention(Q q, K k, V v, attention_mask const& mask = {}) {
  auto const wide = detail::widened_mask(mask, q.type().element);
  return detail::in_wide(
      [&wide](auto queries, auto keys, auto values) { return detail::attend(queries, keys, values, wide); }, q, k, v);
}

namespace detail {

/// The weights of several heads: for their queries, keys and values, and for the combined result.
struct head_weights {
  std::string name;
  std::int64_t heads;
  affine query, key, content, output;

  /// Creates the variables, for queries with features of the type `features` and a memory of the type `memory`.
  head_weights(graph& g, type const& features, type const& memory, std::int64_t count, std::string_view called);
  value operator()(value queries, value memory, attention_mask const& mask) const;
  std::vector<variable_value> variables() const;
};

/// Returns the type of the features of an operand [batch, time, features].
type sequence_features(type const& x);

}  // namespace detail

/// Multi-head attention (§3.2.2): queries [batch, n, features] attend to a memory [batch, m, …]. Each head gives
/// features / Heads numbers, and their combination is [batch, n, features]. All calls share the weights:
/// `auto look = multi_head_attention_layer<8>(g, 64, "look"); look(x);`. The variables query/weights, key/weights,
/// value/weights, output/weights and four biases are in the scope `name`.
template <std::int64_t Heads = 0, element T = float> class multi_head_attention_layer {
 public:
  static_assert(Heads >= 0, "multi_head_attention: the number of heads must be above 0");

  /// Creates the variables, for queries and a memory of `features` features each.
  multi_head_attention_layer(graph& g, std::int64_t features, std::string_view name)
    requires(Heads > 0)
      : multi_head_attention_layer(g, features, features, name) {}
  /// Creates the variables, for queries of `features` features and a memory of `memory` features.
  multi_head_attention_layer(graph& g, std::int64_t features, std::int64_t memory, std::string_view name)
    requires(Heads > 0)
      : weights_(g, type(dtype_of<T>, {dim(features)}), type(dtype_of<T>, {dim(memory)}), Heads, name) {}
  /// Creates the variables where the numbers are known only when the program runs. The types are the types of one
  /// position's features: `multi_head_attention_layer(g, of<float, 64>, of<float, 32>, 8, "look")`.
  multi_head_attention_layer(graph& g, type const& features, type const& memory, std::int64_t heads,
                             std::string_view name)
    requires(Heads == 0)
      : weights_(g, features, memory, heads, name) {}

  /// Returns the attention of the queries to the memory, [batch, n, features].
  template <typed Q, typed M> auto operator()(Q queries, M memory, attention_mask const& mask = {}) const {
    constexpr type q = Q::static_type, m = M::static_type;
    static_assert(q.has_rank() && q.rank == 3 && m.has_rank() && m.rank == 3,
                  "multi_head_attention: expected operands [batch, time, features]");
    static_assert(may_equal(q[0], m[0]),
                  "multi_head_attention: the queries and the memory must have equal batch extents");
    return expr<q>{weights_(queries, memory, mask)};
  }
  /// Returns the attention of a sequence to itself.
  template <typed X> auto operator()(X x, attention_mask const& mask = {}) const { return (*this)(x, x, mask); }
  value operator()(value queries, value memory, attention_mask const& mask = {}) const {
    return weights_(queries, memory, mask);
  }

  /// Returns the variables that training changes.
  std::vector<variable_value> variables() const { return weights_.variables(); }

 private:
  detail::head_weights weights_;
};

/// Creates a multi_head_attention_layer and calls it once.
template <std::int64_t Heads, typed Q, typed M>
auto multi_head_attention(Q queries, M memory, std::string_view name, attention_mask const& mask = {}) {
  constexpr type q = Q::static_type, m = M::static_type;
  constexpr bool are_sequences =
      q.has_rank() && q.rank == 3 && m.has_rank() && m.rank == 3 && q[2].known() && m[2].known();
  constexpr bool divides = Heads > 0 && q[2].extent % Heads == 0;
  static_assert(are_sequences,
                "multi_head_attention: expected operands [batch, time, features] with a known number of features");
  static_assert(divides, "multi_head_attention: the number of features must be divisible by the number of heads");
  if constexpr (are_sequences && divides)
    return multi_head_attention_layer<Heads, element_of<q.element>>(detail::graph_of(queries), q[2].extent, m[2].extent,
                                                                    name)(queries, memory, mask);
  else return detail::refused{};
}
/// Creates a multi_head_attention_layer and calls it once, for a sequence that attends to itself.
template <std::int64_t Heads, typed X>
auto multi_head_attention(X x, std::string_view name, attention_mask const& mask = {}) {
  return multi_head_attention<Heads>(x, x, name, mask);
}
/// Does the same where the types and the number of heads are known only when the program runs.
inline value multi_head_attention(value queries, value memory, std::int64_t heads, std::string_view name,
                                  attention_mask const& mask = {}) {
  return multi_head_attention_layer<>(detail::graph_of(queries), detail::sequence_features(queries.type()),
                                      detail::sequence_features(memory.type()), heads, name)(queries, memory, mask);
}

#if RILL_RUNTIME
namespace detail {

/// Returns the lengths as int32 or int64, with axes of extent 1 appended so that they broadcast to x.
inline value lengths_like(value lengths, value x) try {
  type const t = lengths.type();
  if (!t.has_rank() || t.rank != 1 || !dtypes::integers.contains(t.element))
    throw error(code::invalid_argument, "attention: expected lengths [batch] of integers, got " + t.text(),
                lengths.name());
  if (!dtypes::indices.contains(t.element)) lengths = cast(lengths, dtype::int64);
  for (std::int64_t i = 1; i < x.type().rank; ++i) lengths = expand_dims(lengths, i);
  return lengths;
} catch (...) {
  rethrow_as_error();
}

/// Throws error(invalid_argument) unless a part of a mask has this element type and broadcasts to the scores.
inline void check_mask(value part, dtype element, value scores, std::string_view name) try {
  type const t = part.type(), to = scores.type();
  bool fits = t.element == element && (!t.has_rank() || !to.has_rank() || (t.rank > 0 && t.rank <= to.rank));
  for (std::size_t i = 1; fits && t.has_rank() && to.has_rank() && i <= t.rank; ++i)
    fits = t[t.rank - i] == dim(1) || may_equal(t[t.rank - i], to[to.rank - i]);
  if (fits) return;
  throw error(code::invalid_argument,
              "attention: expected a mask's `" + std::string(name) + "` of " + std::string(rill::name(element)) +
                  " that broadcasts to the scores " + to.text() + ", got " + t.text(),
              part.name());
} catch (...) {
  rethrow_as_error();
}

/// Returns the scores with the bias.
inline value biased(value scores, attention_mask const& mask) {
  if (!mask.bias) return scores;
  check_mask(mask.bias, scores.type().element, scores, "bias");
  return add(scores, mask.bias);
}
inline value lowest_score(value scores) { return like(scores, -std::numeric_limits<double>::infinity()); }

RILL_INLINE value seen_keys(value scores, attention_mask const& mask) try {
  type const t = scores.type();
  if ((mask.causal || mask.lengths) && (!t.has_rank() || t.rank <= (mask.lengths ? 2 : 1)))
    throw error(code::invalid_argument,
                "attention: a mask with lengths needs operands [batch, …, n, features], got scores " + t.text(),
                scores.name());
  value all = mask.seen;
  if (all) check_mask(all, dtype::boolean, scores, "seen");
  auto const restrict_to = [&](value seen) { all = all ? value(logical_and(all, seen)) : seen; };
  if (mask.causal) restrict_to(less_equal(positions(scores, -1), expand_dims(positions(scores, -2), 1)));
  if (mask.lengths) {
    auto const lengths = checked_lengths(lengths_like(mask.lengths, scores), scores, -1);
    restrict_to(less(positions(scores, -1, lengths.type().element), lengths));
  }
  if (all || mask.bias) restrict_to(not_equal(biased(scores, mask), lowest_score(scores)));
  return all;
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE attention_mask widened_mask(attention_mask mask, dtype queries) {
  if (wide_element(queries) != queries) mask.bias = widened(mask.bias);
  return mask;
}

RILL_INLINE value mask_scores(value scores, value seen, attention_mask const& mask) {
  scores = biased(scores, mask);
  if (!seen) return scores;
  return select(any(seen, extents{-1}, true), select(seen, scores, lowest_score(scores)), zero(scores));
}

RILL_INLINE value mask_empty(value results, value seen) {
  return seen ? value(select(any(seen, extents{-1}, true), results, zero(results))) : results;
}

/// Returns x [batch, time, heads · d] as [batch, heads, time, d].
inline value to_heads(value x, std::int64_t heads) {
  type const t = x.type();
  type const apart(t.element, {t[0], t[1], dim(heads), dim(t[2].extent / heads)});
  return transpose(record_erased<ops::reshape_op>(graph_of(x), {apart}, {x}), extents{0, 2, 1, 3});
}

RILL_INLINE type sequence_features(type const& x) try {
  if (!x.has_rank() || x.rank != 3 || !x[2].known())
    throw error(
        code::invalid_argument,
        "multi_head_attention: expected [batch, time, features] with a known number of features, got " + x.text());
  return {x.element, {x[2]}};
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE type const& features_for(type const& features, std::int64_t heads) {
  if (!features.has_rank() || features.rank != 1 || heads <= 0 || features[0].extent % heads != 0)
    throw error(code::invalid_argument,
                "multi_head_attention: expected features divisible by the number of heads, got " + features.text() +
                    " and " + std::to_string(heads) + " heads");
  return features;
}

RILL_INLINE head_weights::head_weights(graph& g, type const& features, type const& memory, std::int64_t count,
                                       std::string_view called) try
    : name(called),
      heads(count),
      query(g, features_for(features, count), features[0].extent, name + "/query"),
      key(g, memory, features[0].extent, name + "/key"),
      content(g, memory, features[0].extent, name + "/value"),
      output(g, features, features[0].extent, name + "/output") {
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE value head_weights::operator()(value queries, value memory, attention_mask const& mask) const try {
  auto& g = graph_of(queries);
  type const q = queries.type();
  sequence_features(q), sequence_features(memory.type());
  return g.scope(name, [&] {
    auto const part = [&](affine const& weights, value x, std::string_view which) {
      return to_heads(g.scope(which, [&] { return weights(x); }), heads);
    };
    auto const found =
        attention(part(query, queries, "query"), part(key, memory, "key"), part(content, memory, "value"), mask);
    auto const together = record_erased<ops::reshape_op>(g, {q}, {transpose(found, extents{0, 2, 1, 3})});
    return g.scope("output", [&] { return output(together); });
  });
} catch (...) {
  rethrow_as_error();
}

RILL_INLINE std::vector<variable_value> head_weights::variables() const try {
  std::vector<variable_value> all;
  for (auto const* part : {&query, &key, &content, &output})
    for (auto const& v : part->variables()) all.push_back(v);
  return all;
} catch (...) {
  rethrow_as_error();
}

}  // namespace detail
#endif

}  // namespace rill
