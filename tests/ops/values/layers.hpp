// How the cases of record_layers.py are recorded in a graph.
#pragma once
#include "recorded.hpp"
#include "rill/ops/network/glu.hpp"
#include "rill/ops/network/margin_losses.hpp"
#include "rill/ops/network/normalization.hpp"
#include "rill/train/attention.hpp"

namespace rill::test {

inline recorder_map layer_recorders() {
  recorder_map r;
  r["hardtanh"] = [](call const& c) { return hardtanh(c.x[0]); };
  r["hardtanh of 0.5"] = [](call const& c) { return hardtanh(c.x[0], -0.5, 0.5); };
  r["hardsigmoid"] = [](call const& c) { return hardsigmoid(c.x[0]); };
  r["hardswish"] = [](call const& c) { return hardswish(c.x[0]); };
  r["log_sigmoid"] = [](call const& c) { return log_sigmoid(c.x[0]); };
  r["mish"] = [](call const& c) { return mish(c.x[0]); };
  r["softsign"] = [](call const& c) { return softsign(c.x[0]); };
  r["celu"] = [](call const& c) { return celu(c.x[0]); };
  r["celu of 2"] = [](call const& c) { return celu(c.x[0], 2); };
  r["prelu"] = [](call const& c) { return prelu(c.x[0], c.x[1]); };
  r["glu"] = [](call const& c) { return glu(c.x[0]); };
  r["glu of rows"] = [](call const& c) { return glu(c.x[0], 0); };
  r["nll"] = [](call const& c) { return nll(c.x[0], c.x[1]); };
  r["multi_margin"] = [](call const& c) { return multi_margin(c.x[0], c.x[1]); };
  r["binary_cross_entropy"] = [](call const& c) { return binary_cross_entropy(c.x[0], c.x[1]); };
  r["poisson_nll"] = [](call const& c) { return poisson_nll(c.x[0], c.x[1]); };
  r["gaussian_nll"] = [](call const& c) { return gaussian_nll(c.x[0], c.x[1], c.x[2]); };
  r["squared_hinge"] = [](call const& c) { return squared_hinge(c.x[0], c.x[1]); };
  r["soft_margin"] = [](call const& c) { return soft_margin(c.x[0], c.x[1]); };
  r["hinge_embedding"] = [](call const& c) { return hinge_embedding(c.x[0], c.x[1], 0.5); };
  r["margin_ranking"] = [](call const& c) { return margin_ranking(c.x[0], c.x[1], c.x[2], 0.5); };
  r["cosine_similarity"] = [](call const& c) { return cosine_similarity(c.x[0], c.x[1]); };
  r["cosine_embedding"] = [](call const& c) { return cosine_embedding(c.x[0], c.x[1], c.x[2], 0.1); };
  r["triplet_margin"] = [](call const& c) { return triplet_margin(c.x[0], c.x[1], c.x[2], 0.5); };
  r["layer_norm"] = [](call const& c) { return layer_norm(c.x[0]); };
  r["rms_norm"] = [](call const& c) { return rms_norm(c.x[0]); };
  r["group_norm"] = r["group_norm of rows"] = [](call const& c) { return group_norm(c.x[0], 3); };
  r["instance_norm"] = [](call const& c) { return instance_norm(c.x[0]); };
  r["attention seen"] = [](call const& c) { return attention(c.x[0], c.x[1], c.x[2], {.seen = c.x[3]}); };
  r["attention biased"] = [](call const& c) { return attention(c.x[0], c.x[1], c.x[2], {.bias = c.x[3]}); };
  r["attention causal and seen"] = [](call const& c) {
    return attention(c.x[0], c.x[1], c.x[2], {.causal = true, .seen = c.x[3]});
  };
  return r;
}

inline bound_map layer_bounds() {
  return {{"triplet_margin", {16, true}}};  // the difference of two lengths
}

}  // namespace rill::test
