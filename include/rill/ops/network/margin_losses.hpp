// Losses with a margin: of labels, of rankings, and of pairs and triplets of embeddings. Each returns one loss for each
// element or example.
#pragma once
#include "rill/ops/network/likelihood_losses.hpp"
#include "rill/ops/network/losses.hpp"
#include "rill/ops/network/square_units.hpp"

namespace rill {

/// Returns max(0, 1 - label x)² for each pair of elements. Labels are -1 or 1.
template <operand X, operand L> auto squared_hinge(X x, L labels) {
  detail::expect_floats(x);
  return detail::in_wide([](auto a, auto z) { return square(relu(1 - a * z)); }, x, labels);
}
/// Returns log(1 + exp(-label x)) for each pair of elements, a hinge without a corner. Labels are -1 or 1.
template <operand X, operand L> auto soft_margin(X x, L labels) {
  return detail::in_wide([](auto a, auto z) { return softplus(-(a * z)); }, x, labels);
}
/// Returns x for label 1 and max(0, margin - x) for label -1, for each pair of elements: x is a distance that is to be
/// small, or larger than the margin.
template <operand X, operand L> auto hinge_embedding(X x, L labels, double margin = 1) {
  detail::expect_floats(x);
  return detail::in_wide([margin](auto a, auto z) { return select(z > 0, a, relu(margin - a)); }, x, labels);
}
/// Returns max(0, margin - label (x - y)) for each x and y: for label 1, x is to be larger than y by the margin; for
/// label -1, smaller.
template <operand X, operand Y, operand L> auto margin_ranking(X x, Y y, L labels, double margin = 0) {
  detail::expect_floats(x);
  return detail::in_wide([margin](auto a, auto b, auto z) { return relu(margin - z * (a - b)); }, x, y, labels);
}
/// Returns the mean over all classes of max(0, margin - x[label] + x[class]), without the label's own, for scores x
/// [..., classes] and labels [...], int32 or int64. The step fails with error(invalid_argument) if a label is out of
/// range.
template <operand X, operand L> auto multi_margin(X x, L labels, double margin = 1) {
  return detail::in_wide(
      [margin](auto a, auto z) {
        auto const own = detail::is_label(a, z);
        auto const score = sum<-1>(select(own, a, 0), keep);
        return mean<-1>(select(own, 0, relu(a - score + margin)));
      },
      x, labels);
}

/// Returns the cosines [...] of the angles between vectors [..., n], which broadcast, of any magnitude (of float32
/// from 1e-43 on); 0 with derivative 0 for a vector of zeros.
template <operand X, operand Y> auto cosine_similarity(X x, Y y) {
  return detail::in_wide([](auto a, auto b) { return sum<-1>(detail::direction(a) * detail::direction(b)); }, x, y);
}
/// Returns for vectors [..., n] and labels [...] 1 - cosine_similarity(x, y) where the label is 1, and max(0,
/// cosine_similarity(x, y) - margin) where the label is -1.
template <operand X, operand Y, operand L> auto cosine_embedding(X x, Y y, L labels, double margin = 0) {
  return detail::in_wide(
      [margin](auto a, auto b, auto z) {
        auto const cosine = cosine_similarity(a, b);
        return select(z > 0, 1 - cosine, relu(cosine - margin));
      },
      x, y, labels);
}
/// Returns max(0, |anchor - positive| - |anchor - negative| + margin) [...] for vectors [..., n]: the anchor is to be
/// nearer to the positive example than to the negative one, by the margin (F. Schroff et al., FaceNet, CVPR 2015). The
/// derivative of a distance of 0 is 0.
template <operand A, operand P, operand N> auto triplet_margin(A anchor, P positive, N negative, double margin = 1) {
  return detail::in_wide(
      [margin](auto a, auto p, auto n) {
        return relu(detail::vector_length(a - p) - detail::vector_length(a - n) + margin);
      },
      anchor, positive, negative);
}

}  // namespace rill
