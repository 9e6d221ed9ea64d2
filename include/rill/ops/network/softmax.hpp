// Softmax over the last axis, and its logarithm.
#pragma once
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/math/exponential.hpp"
#include "rill/ops/sum/sum.hpp"

#if RILL_KERNELS
#include "rill/ops/network/softmax_kernels.hpp"
#endif

namespace rill::ops {

/// What both share. Op's `run<T>` computes it for elements of type T.
template <class Op> struct over_last_axis {
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = dtypes::floats;
  static constexpr double flops = 24;
  struct kernels {
    std::array<void (*)(std::size_t rows, std::size_t n, void const* from, void* to, parallel const&), dtype_count>
        run{};
  };
  static constexpr type infer(no_attributes, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "softmax: the operand is not of floats; cast it");
    expects(!x.has_rank() || x.rank > 0, "softmax: a scalar has no axis to go over");
    return x;
  }
#if RILL_KERNELS
  template <dtypes Set> static constexpr kernels make_kernels() {
    kernels k;
    for_each_type<elements & Set>([&]<class T>(std::size_t d) { k.run[d] = Op::template run<T>; });
    return k;
  }
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto const element = r.inputs[0].element;
    auto const run = kernels_of<Op>(element).run[static_cast<std::size_t>(element)];
    auto const x = r.inputs[0].shape();
    auto const n = static_cast<std::size_t>(x[x.rank() - 1]);
    auto const rows = n == 0 ? 0 : static_cast<std::size_t>(rill::elements(x)) / n;
    return kernel([=](kernel_call const& call) { run(rows, n, call.in(0), call.out(0), call.threads); });
  }
#endif
};

struct softmax_op : over_last_axis<softmax_op> {
  using library = void;
  static constexpr std::string_view name = "softmax", doc = "exp(x) / sum of exp(x), over the last axis";
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V y = r.out(), dy = r.dy();  // dx = y (dy - sum of dy y)
    return {y * (dy - sum(dy * y, extents{-1}, true))};
  }
#if RILL_KERNELS
  template <class T> static constexpr auto run = rill::kernels::softmax<T>;
#endif
#if RILL_DEFINITIONS
  static kernel cpu(kernel_request const& r) {
    auto k = over_last_axis::cpu(r);
    k.input_output_aliases = {{0, 0}};
    return k;
  }
#endif
};

struct log_softmax_op : over_last_axis<log_softmax_op> {
  using library = void;
  static constexpr std::string_view name = "log_softmax", doc = "x - log(sum of exp(x)), over the last axis";
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    V y = r.out(), dy = r.dy();  // dx = dy - exp(y) sum of dy
    return {dy - exp(y) * sum(dy, extents{-1}, true)};
  }
#if RILL_KERNELS
  template <class T> static constexpr auto run = rill::kernels::log_softmax<T>;
#endif
};

}  // namespace rill::ops

namespace rill {

/// exp(x) / sum of exp(x), over the last axis.
template <operand X> auto softmax(X x) { return record<ops::softmax_op>(x); }
/// x - log(sum of exp(x)), over the last axis: the logarithm of softmax where that itself would round to 0.
template <operand X> auto log_softmax(X x) { return record<ops::log_softmax_op>(x); }

}  // namespace rill
