// The cross entropy of softmax(logits) and labels, as one operation: the loss of classifiers.
#pragma once
#include "rill/ops/array/reshape.hpp"
#include "rill/ops/math/cast.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/network/operands.hpp"
#include "rill/ops/network/softmax.hpp"
#include "rill/ops/table/gather.hpp"

namespace rill::ops {

/// Returns values, one for each row, as a column that broadcasts to `rows`.
template <class V> V beside(V each, value rows) {
  return each.type().has_rank() && each.type().rank == 1 ? V(reshape(each, extents{-1, 1}))
                                                         : V(broadcast_like(each, rows, extents{-1}));
}

/// Returns the derivative of the sum of d * softmax(x) with respect to x, from y = softmax(x).
template <class V> V through_softmax(V y, V d) { return y * (d - sum(d * y, extents{-1}, true)); }

struct softmax_cross_entropy_op {
  using library = void;
  static constexpr std::string_view
      name = "softmax_cross_entropy",
      doc = "-log softmax(logits) at the label of each row; and its derivative with respect to the logits";
  static constexpr std::int8_t arity = 2;
  static constexpr std::size_t outputs = 2;
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 24;
  static constexpr bool wide_gradient = true;
  struct kernels {
    std::array<void (*)(std::size_t rows, std::size_t n, void const* logits, void const* labels, bool wide,
                        void* losses, void* derivative, parallel const&),
               dtype_count>
        run{};
  };
  static constexpr std::array<type, 2> infer(no_attributes, type const& logits, type const& labels,
                                             checks expects = {}) {
    expects(elements.contains(logits.element), "softmax_cross_entropy: the logits are not floats; cast them");
    expects(dtypes::indices.contains(labels.element), "softmax_cross_entropy: the labels are neither int32 nor int64");
    if (!logits.has_rank()) return {labels.with(logits.element), logits};
    if (!expects(logits.rank > 0, "softmax_cross_entropy: the logits have no axis of classes")) return {logits, logits};
    type losses = logits;
    losses[--losses.rank] = dim();
    if (!expects(!labels.has_rank() || labels.rank == losses.rank,
                 "softmax_cross_entropy: there is not one label for each row"))
      return {losses, logits};
    for (std::size_t i = 0; labels.has_rank() && i < losses.rank; ++i)
      losses[i] = agree(losses[i], labels[i], "softmax_cross_entropy: there is not one label for each row", expects);
    return {losses, logits};
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(2);
    if (!r.wanted[0]) return all;
    V dx;
    if (r.dy(0)) dx = V(r.out(1)) * beside(V(r.dy(0)), r.out(1));
    if (r.dy(1)) {  // a second derivative
      V through = through_softmax(V(softmax(V(r.in(0)))), V(r.dy(1)));
      dx = dx ? dx + through : through;
    }
    all[0] = dx;
    return all;
  }
  template <dtypes Set> static constexpr kernels make_kernels();
  static kernel cpu(kernel_request const& r);
};

struct softmax_cross_entropy_dense_op {
  using library = void;
  static constexpr std::string_view
      name = "softmax_cross_entropy_dense",
      doc = "the sum of -p log softmax(logits) over each row; and its derivative with respect to the logits";
  static constexpr std::int8_t arity = 2;
  static constexpr std::size_t outputs = 2;
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 28;
  static constexpr bool wide_gradient = true;
  struct kernels {
    std::array<void (*)(std::size_t rows, std::size_t n, void const* logits, void const* distributions, void* losses,
                        void* derivative, parallel const&),
               dtype_count>
        run{};
  };
  static constexpr std::array<type, 2> infer(no_attributes, type const& logits, type const& p, checks expects = {}) {
    expects(elements.contains(logits.element), "softmax_cross_entropy: the logits are not floats; cast them");
    expects(p.element == logits.element,
            "softmax_cross_entropy: the distributions have another element type than the logits");
    type x = logits.has_rank() ? logits : p;
    if (!expects(!x.has_rank() || x.rank > 0, "softmax_cross_entropy: the logits have no axis of classes") ||
        !expects(!p.has_rank() || p.rank == x.rank,
                 "softmax_cross_entropy: there is not one probability for each logit"))
      return {x, x};
    if (!x.has_rank()) return {x, x};
    for (std::size_t i = 0; p.has_rank() && i < x.rank; ++i)
      x[i] = agree(x[i], p[i], "softmax_cross_entropy: there is not one probability for each logit", expects);
    type losses = x;
    losses[--losses.rank] = dim();
    return {losses, x};
  }
  // With s = softmax(x), m = sum of p and l = log s: the loss is -sum of p l, its derivatives are m s - p (output 1)
  // with respect to x and -l with respect to p.
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    std::vector<gradient> all(2);
    V x = r.in(0), p = r.in(1), dx, dp;
    if (r.dy(0)) {
      V each = beside(V(r.dy(0)), r.out(1));
      dx = V(r.out(1)) * each;
      if (r.wanted[1]) dp = -(each * log_softmax(x));
    }
    if (r.dy(1)) {  // a second derivative
      V d = r.dy(1), s = softmax(x);
      V further_x = through_softmax(s, d) * sum(p, extents{-1}, true), further_p = sum(d * s, extents{-1}, true) - d;
      dx = dx ? dx + further_x : further_x;
      dp = dp ? dp + further_p : further_p;
    }
    if (r.wanted[0]) all[0] = dx;
    if (r.wanted[1]) all[1] = dp;
    return all;
  }
  template <dtypes Set> static constexpr kernels make_kernels();
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Returns for each row of logits [..., classes] the cross entropy of its softmax and its label. Labels are int32 or
/// int64 [...], or a distribution over the classes for each row, of the logits' type. The step fails with
/// error(invalid_argument) that names the row if a label is not a class.
template <operand X, operand L> auto softmax_cross_entropy(X logits, L labels) {
  if constexpr (typed<X> && typed<L>) {
    if constexpr (dtypes::integers.contains(L::static_type.element))
      return std::get<0>(record<ops::softmax_cross_entropy_op>(logits, labels));
    else return std::get<0>(record<ops::softmax_cross_entropy_dense_op>(logits, labels));
  } else {
    bool const classes = dtypes::integers.contains(labels.type().element);
    return classes ? record_erased<ops::softmax_cross_entropy_op>(detail::graph_of(logits), {}, {logits, labels})
                   : record_erased<ops::softmax_cross_entropy_dense_op>(detail::graph_of(logits), {}, {logits, labels});
  }
}

/// The fraction of each label, from 0 to 1, that is distributed evenly over all classes (C. Szegedy et al., Rethinking
/// the Inception Architecture for Computer Vision, 2016, section 7): `softmax_cross_entropy(logits, labels,
/// label_smoothing{0.1})`.
struct label_smoothing {
  double part = 0;
};

namespace detail {

/// Returns the cross entropy with smoothed labels from the `losses` of the unsmoothed labels; `weigh` weights log
/// softmax by class. A term with a factor of 0 is left out, because its other factor may be infinite.
template <class X, class Losses, class F> auto smoothed(X logits, Losses losses, label_smoothing how, F const& weigh) {
  expects(how.part >= 0 && how.part <= 1, "softmax_cross_entropy: label_smoothing must be from 0 to 1");
  auto const even = [&] {
    auto const each = weigh(log_softmax(logits));
    if constexpr (typed<X>) return mean<-1>(each) * -how.part;
    else return mean(value(each), extents{-1}) * -how.part;
  };
  auto const own = [&] { return losses * (1 - how.part); };
  using result = decltype(own() + even());
  if (how.part == 0) return result{losses};
  if (how.part == 1) return result{even()};
  return own() + even();
}

}  // namespace detail

/// Returns the cross entropy with smoothed labels.
template <operand X, operand L> auto softmax_cross_entropy(X logits, L labels, label_smoothing how) {
  return detail::in_wide(
      [&how](auto x, auto z) {
        return detail::smoothed(x, softmax_cross_entropy(x, z), how, [](auto each) { return each; });
      },
      logits, labels);
}

/// Returns the cross entropy with a weight for each class, [classes], of the logits' element type: the loss of an
/// example is multiplied by the weight of its label; for a distribution or a smoothed label, each term by the weight of
/// its class. To weight examples, multiply: `weights * softmax_cross_entropy(logits, labels)`.
template <operand X, operand L, operand W> auto softmax_cross_entropy(X logits, L labels, W class_weights) {
  return detail::in_wide(
      [](auto x, auto z, auto w) {
        if constexpr (typed<L>) {
          if constexpr (dtypes::integers.contains(L::static_type.element))
            return detail::weighted(softmax_cross_entropy(x, z), gather(w, z));
          else return softmax_cross_entropy(x, z * w);
        } else if (dtypes::integers.contains(z.type().element)) {
          return value(detail::weighted(softmax_cross_entropy(value(x), z), value(gather(value(w), z))));
        } else return value(softmax_cross_entropy(value(x), value(z * value(w))));
      },
      logits, labels, class_weights);
}
/// Returns the same with smoothed labels.
template <operand X, operand L, operand W>
auto softmax_cross_entropy(X logits, L labels, W class_weights, label_smoothing how) {
  return detail::in_wide(
      [&how](auto x, auto z, auto w) {
        return detail::smoothed(x, softmax_cross_entropy(x, z, w), how,
                                [&](auto each) { return detail::weighted(each, w); });
      },
      logits, labels, class_weights);
}

}  // namespace rill

#include "rill/ops/network/softmax_cross_entropy.ipp"
