// Adds a bias to each channel.
#pragma once
#include "rill/ops/math/arithmetic.hpp"

namespace rill::ops {

struct bias_add_op : elementwise<bias_add_op, 2> {
  using library = void;
  static constexpr std::string_view name = "bias_add", doc = "x with a bias added to each channel, the last axis";
  static constexpr dtypes elements = dtypes::numbers;
  static constexpr type infer(no_attributes, type const& x, type const& bias, checks expects = {}) {
    expects(x.element == bias.element, "bias_add: the bias has another element type; cast one of them");
    expects(elements.contains(x.element), "bias_add: the operands are not numbers");
    if (!expects(!x.has_rank() || x.rank > 0, "bias_add: a scalar has no channels") ||
        !expects(!bias.has_rank() || bias.rank == 1, "bias_add: the bias is not a vector"))
      return x;
    if (!x.has_rank() || !bias.has_rank()) return x;
    type y = x;
    y[y.rank - 1] = agree(x[x.rank - 1], bias[0], "bias_add: there is not one bias for each channel", expects);
    return y;
  }
  template <class S> static S apply(S x, S y) { return x + y; }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return binary_gradients(r, [&] { return r.dy(); }, [&] { return r.dy(); });
  }
};

}  // namespace rill::ops

namespace rill {

/// Returns x with a bias added to each channel, the last axis.
template <operand X, operand B> auto bias_add(X x, B bias) { return record<ops::bias_add_op>(x, bias); }

}  // namespace rill
