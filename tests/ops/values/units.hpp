// How the cases of record_units.py are recorded.
#pragma once
#include "recorded.hpp"
#include "rill/ops/math/smooth_units.hpp"

namespace rill::test {

inline recorder_map unit_recorders() {
  recorder_map r;
  r["silu"] = [](call const& c) { return silu(c.x[0]); };
  r["gelu"] = [](call const& c) { return gelu(c.x[0]); };
  r["gelu_tanh"] = [](call const& c) { return gelu_tanh(c.x[0]); };
  r["mish"] = [](call const& c) { return mish(c.x[0]); };
  r["normal_cdf"] = [](call const& c) { return normal_cdf(c.x[0]); };
  return r;
}

inline bound_map unit_bounds() { return {{"silu", {2.4}}, {"gelu", {2.4}}, {"gelu_tanh", {2.4}}, {"normal_cdf", {3}}}; }

}  // namespace rill::test
