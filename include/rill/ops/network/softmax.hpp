// Softmax over the last axis, and its logarithm.
#pragma once
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill::ops {

/// What softmax and its logarithm share. `Op::logarithm` says which of the two it is.
template <class Op> struct over_last_axis {
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 24;
  static constexpr bool wide_gradient = true;
  struct kernels {
    std::array<void (*)(std::size_t rows, std::size_t n, void const* from, void* to, parallel const&), dtype_count>
        run{};
  };
  static constexpr type infer(no_attributes, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "softmax: the operand is not of floats; cast it");
    expects(!x.has_rank() || x.rank > 0, "softmax: the operand is a scalar");
    return x;
  }
  template <dtypes Set> static constexpr kernels make_kernels();
  static kernel cpu(kernel_request const& r);
};

struct softmax_op : over_last_axis<softmax_op> {
  using library = void;
  static constexpr std::string_view name = "softmax", doc = "exp(x) / sum of exp(x), over the last axis";
  static constexpr bool logarithm = false;
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V y = r.out(), dy = r.dy();  // dx = y (dy - sum of dy y)
    return {y * (dy - sum(dy * y, extents{-1}, true))};
  }
};

struct log_softmax_op : over_last_axis<log_softmax_op> {
  using library = void;
  static constexpr std::string_view name = "log_softmax", doc = "x - log(sum of exp(x)), over the last axis";
  static constexpr bool logarithm = true;
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V y = r.out(), dy = r.dy();  // dx = dy - exp(y) sum of dy
    return {dy - exp(y) * sum(dy, extents{-1}, true)};
  }
};

}  // namespace rill::ops

namespace rill {

/// Returns exp(x) / sum of exp(x), over the last axis.
template <operand X> auto softmax(X x) { return record<ops::softmax_op>(x); }
/// Returns x - log(sum of exp(x)), over the last axis: the logarithm of softmax, accurate even where softmax would
/// round to 0.
template <operand X> auto log_softmax(X x) { return record<ops::log_softmax_op>(x); }

}  // namespace rill

#if RILL_KERNELS
#include "rill/ops/network/softmax_kernels.hpp"

namespace rill::ops {

template <class Op>
template <dtypes Set>
constexpr typename over_last_axis<Op>::kernels over_last_axis<Op>::make_kernels() {
  kernels k;
  for_each_type<elements & Set>([&]<class T>(std::size_t d) {
    if constexpr (Op::logarithm) k.run[d] = rill::kernels::log_softmax<T>;
    else k.run[d] = rill::kernels::softmax<T>;
  });
  return k;
}

}  // namespace rill::ops
#endif

#if RILL_DEFINITIONS
namespace rill::ops {

template <class Op> kernel over_last_axis<Op>::cpu(kernel_request const& r) {
  auto const element = r.inputs[0].element;
  auto const run = kernels_of<Op>(element).run[static_cast<std::size_t>(element)];
  auto const x = r.inputs[0].shape();
  auto const n = static_cast<std::size_t>(x[x.rank() - 1]);
  auto const rows = n == 0 ? 0 : static_cast<std::size_t>(rill::elements(x)) / n;
  kernel k([=](kernel_call const& call) { run(rows, n, call.in(0), call.out(0), call.threads); });
  if (!Op::logarithm) k.input_output_aliases = {{0, 0}};
  return k;
}

}  // namespace rill::ops
#endif
