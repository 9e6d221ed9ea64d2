// The rectified linear unit.
#pragma once
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/select.hpp"

namespace rill::ops {

struct relu_op : elementwise<relu_op, 1> {
  using library = void;
  static constexpr std::string_view name = "relu", doc = "max(x, 0); its gradient at 0 is 0", cuda = "maximum($0, 0)";
  static constexpr dtypes elements = reals;
  template <class S> static S apply(S x) { return maximum(x, S(0)); }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V y = r.out(), dy = r.dy();
    return {select(y > 0, dy, zero(dy))};
  }
};

}  // namespace rill::ops

namespace rill {

/// max(x, 0), element by element (OSDI'16 §2: the unit of its convolutional models).
template <operand X> auto relu(X x) { return record<ops::relu_op>(x); }

}  // namespace rill
