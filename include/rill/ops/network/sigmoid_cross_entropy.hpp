// The elementwise cross entropy of sigmoid(logits) and labels as one operation: the loss of multi-label classifiers.
#pragma once
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/network/operands.hpp"

namespace rill::ops {

/// Returns log(1 + e) for 0 <= e <= 1, corrected for the rounding of 1 + e.
template <class S> S log_of_1_and(S e) {
  S const sum = S(1) + e;
  return log(sum) + (e - (sum - S(1))) / sum;
}

/// Returns -w z log sigmoid(x) - (1 - z) log(1 - sigmoid(x)), as terms that are nonnegative for labels z from 0 to 1. A
/// term with a factor 0 is 0, however large the logit.
template <class S> S sigmoid_entropy(S x, S z, S w) {
  S const rest = log_of_1_and(exp(-abs(x))), factor = w * z;
  S const missed = factor * (maximum(-x, S(0)) + rest), wrong = (S(1) - z) * (maximum(x, S(0)) + rest);
  return select(factor == S(0), S(0), missed) + select(z == S(1), S(0), wrong);
}

struct sigmoid_cross_entropy_op : elementwise<sigmoid_cross_entropy_op, 2> {
  using library = void;
  static constexpr std::string_view name = "sigmoid_cross_entropy",
                                    doc =
                                        "-z log sigmoid(x) - (1 - z) log(1 - sigmoid(x)) for logits x and labels z, "
                                        "broadcast, without overflow";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 24;
  template <class S> static S apply(S x, S z) {
    return rill::detail::in_wide([](auto a, auto b) { return sigmoid_entropy(a, b, decltype(a)(1)); }, x, z);
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = r.in(0), z = r.in(1), dy = r.dy();
    return binary_gradients(r, [&] { return dy * (sigmoid(x) - z); }, [&] { return -(dy * x); });
  }
};

struct weighted_sigmoid_cross_entropy_op : elementwise<weighted_sigmoid_cross_entropy_op, 3> {
  using library = void;
  static constexpr std::string_view name = "weighted_sigmoid_cross_entropy",
                                    doc =
                                        "-w z log sigmoid(x) - (1 - z) log(1 - sigmoid(x)) for logits x, labels z and "
                                        "weights w of positive labels, broadcast";
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 26;
  static constexpr type infer(no_attributes, type const& x, type const& z, type const& w, checks expects = {}) {
    expects(x.element == z.element && x.element == w.element,
            "sigmoid_cross_entropy: logits, labels and weights have different element types; cast them");
    expects(elements.contains(x.element), "sigmoid_cross_entropy: the logits are not floats; cast them");
    return broadcast(x, broadcast(z, w, expects), expects);
  }
  template <class S> static S apply(S x, S z, S w) {
    return rill::detail::in_wide([](auto a, auto b, auto c) { return sigmoid_entropy(a, b, c); }, x, z, w);
  }
  // The loss is w z times the loss of label 1, plus 1 - z times the loss of label 0.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V x = r.in(0), z = r.in(1), w = r.in(2), dy = r.dy();
    auto const of_label = [&](int label) { return V(sigmoid_cross_entropy(x, like(x, label))); };
    std::vector<gradient> all(3);
    if (r.wanted[0]) all[0] = sum_like(dy * ((1 - z + w * z) * sigmoid(x) - w * z), r.in(0));
    if (r.wanted[1]) all[1] = sum_like(dy * (rill::detail::weighted(of_label(1), w) - of_label(0)), r.in(1));
    if (r.wanted[2]) all[2] = sum_like(dy * rill::detail::weighted(of_label(1), z), r.in(2));
    return all;
  }
};

}  // namespace rill::ops

namespace rill {

/// Returns for each logit x and its label z (from 0 to 1, of the logits' element type; they broadcast) -z log
/// sigmoid(x) - (1 - z) log(1 - sigmoid(x)). Its derivative is sigmoid(x) - z.
template <operand X, operand Z> auto sigmoid_cross_entropy(X logits, Z labels) {
  return record<ops::sigmoid_cross_entropy_op>(logits, labels);
}
/// Returns the same with a weight of positive labels, for rare classes: the first term is multiplied by `weights`, a
/// number or, for example, a value for each class.
template <operand X, operand Z, operand W> auto sigmoid_cross_entropy(X logits, Z labels, W weights) {
  return record<ops::weighted_sigmoid_cross_entropy_op>(logits, labels, weights);
}
template <operand X, operand Z, number W> auto sigmoid_cross_entropy(X logits, Z labels, W weight) {
  return detail::in_wide([weight](auto x, auto z) { return sigmoid_cross_entropy(x, z, like(x, weight)); }, logits,
                         labels);
}

}  // namespace rill
